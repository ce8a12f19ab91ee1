"""VAN (Guo et al., "Visual attention network", 2022); keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn.initializer import Constant
from .blocks import classifier
from .registry import register


class LargeKernelAttention(nn.Layer):
    """The picture times a wide convolution of it: 5x5, then 7x7 with gaps, by each channel, then all channels."""

    def __init__(self, width: int):
        super().__init__()
        self.conv0 = nn.Conv2D(width, width, 5, padding=2, groups=width)
        self.conv_spatial = nn.Conv2D(width, width, 7, padding=9, groups=width, dilation=3)
        self.conv1 = nn.Conv2D(width, width, 1)

    def forward(self, x: Any) -> Any:
        return x * self.conv1(self.conv_spatial(self.conv0(x)))


class Attention(nn.Layer):
    """`LargeKernelAttention` between two projections, beside a shortcut."""

    def __init__(self, width: int):
        super().__init__()
        self.proj_1 = nn.Conv2D(width, width, 1)
        self.activation = nn.GELU()
        self.spatial_gating_unit = LargeKernelAttention(width)
        self.proj_2 = nn.Conv2D(width, width, 1)

    def forward(self, x: Any) -> Any:
        return x + self.proj_2(self.spatial_gating_unit(self.activation(self.proj_1(x))))


class Depthwise(nn.Layer):
    """A convolution 3x3 by each channel."""

    def __init__(self, width: int):
        super().__init__()
        self.dwconv = nn.Conv2D(width, width, 3, padding=1, groups=width)

    def forward(self, x: Any) -> Any:
        return self.dwconv(x)


class Mlp(nn.Sequential):
    """A small network of the channels that also sees the neighbours."""

    def __init__(self, width: int, hidden: int):
        super().__init__(
            ("fc1", nn.Conv2D(width, hidden, 1)),
            ("dwconv", Depthwise(hidden)),
            ("act", nn.GELU()),
            ("fc2", nn.Conv2D(hidden, width, 1)),
        )


class Block(nn.Layer):
    """Attention and a small network, each scaled and beside a shortcut."""

    def __init__(self, width: int, ratio: int):
        super().__init__()
        self.norm1 = nn.BatchNorm2D(width)
        self.attn = Attention(width)
        self.norm2 = nn.BatchNorm2D(width)
        self.mlp = Mlp(width, width * ratio)
        self.layer_scale_1 = self.create_parameter([width, 1, 1], default_initializer=Constant(1e-2))
        self.layer_scale_2 = self.create_parameter([width, 1, 1], default_initializer=Constant(1e-2))

    def forward(self, x: Any) -> Any:
        x = x + self.layer_scale_1 * self.attn(self.norm1(x))
        return x + self.layer_scale_2 * self.mlp(self.norm2(x))


class VAN(nn.Layer):
    """Four stages.

    Args:
        widths, depths: of the stages.
        num_classes: outputs.
    """

    def __init__(self, widths: tuple[int, ...], depths: tuple[int, ...], num_classes: int = 1000):
        super().__init__()
        self.depths = depths
        inputs = 3
        for i, (width, depth, ratio) in enumerate(zip(widths, depths, (8, 8, 4, 4)), 1):
            kernel, stride = (7, 4) if i == 1 else (3, 2)
            patches = nn.Sequential(
                ("proj", nn.Conv2D(inputs, width, kernel, stride, padding=kernel // 2)), ("norm", nn.BatchNorm2D(width))
            )
            setattr(self, f"patch_embed{i}", patches)
            setattr(self, f"block{i}", nn.Sequential(*(Block(width, ratio) for _ in range(depth))))
            setattr(self, f"norm{i}", nn.LayerNorm(width, epsilon=1e-6))
            inputs = width
        self.head = classifier(inputs, num_classes)

    def forward(self, x: Any) -> Any:
        for i in range(1, len(self.depths) + 1):
            x = getattr(self, f"block{i}")(getattr(self, f"patch_embed{i}")(x))
            x = getattr(self, f"norm{i}")(x.transpose([0, 2, 3, 1])).transpose([0, 3, 1, 2])
        return self.head(x.mean([2, 3]))


_WIDE = (64, 128, 320, 512)
register(
    "van",
    VAN,
    {
        "van_b0": {"widths": (32, 64, 160, 256), "depths": (3, 3, 5, 2)},
        "van_b1": {"widths": _WIDE, "depths": (2, 2, 4, 2)},
        "van_b2": {"widths": _WIDE, "depths": (3, 3, 12, 3)},
        "van_b3": {"widths": _WIDE, "depths": (3, 5, 27, 3)},
    },
)
