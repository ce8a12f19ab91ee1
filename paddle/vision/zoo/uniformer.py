"""UniFormer (Li et al., "UniFormer: unifying convolution and self-attention for visual recognition", 2022); keys of the
weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn.initializer import Constant
from .blocks import Attention, Mlp, Pyramid
from .registry import register


class ConvBlock(nn.Layer):
    """Convolutions in the place of attention, for what is near."""

    def __init__(self, width: int):
        super().__init__()
        self.pos_embed = nn.Conv2D(width, width, 3, padding=1, groups=width)
        self.norm1 = nn.BatchNorm2D(width)
        self.conv1 = nn.Conv2D(width, width, 1)
        self.conv2 = nn.Conv2D(width, width, 1)
        self.attn = nn.Conv2D(width, width, 5, padding=2, groups=width)
        self.norm2 = nn.BatchNorm2D(width)
        self.mlp = nn.Sequential(
            ("fc1_conv", nn.Conv2D(width, 4 * width, 1)),
            ("act", nn.GELU()),
            ("fc2_conv", nn.Conv2D(4 * width, width, 1)),
        )

    def forward(self, x: Any) -> Any:
        x = x + self.pos_embed(x)
        x = x + self.conv2(self.attn(self.conv1(self.norm1(x))))
        return x + self.mlp(self.norm2(x))


class AttentionBlock(nn.Layer):
    """Positions from the neighbours, attention and a small network, each beside a shortcut.

    Args:
        width, heads: of the picture.
        scale: start of learnt factors; None: no factors.
    """

    def __init__(self, width: int, heads: int, scale: float | None):
        super().__init__()
        self.pos_embed = nn.Conv2D(width, width, 3, padding=1, groups=width)
        self.norm1 = nn.LayerNorm(width, epsilon=1e-6)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, epsilon=1e-6)
        self.mlp = Mlp(width, 4 * width)
        self.gamma_1 = self.gamma_2 = None
        if scale is not None:
            self.gamma_1 = self.create_parameter([width], default_initializer=Constant(scale))
            self.gamma_2 = self.create_parameter([width], default_initializer=Constant(scale))

    def forward(self, x: Any) -> Any:
        x = x + self.pos_embed(x)
        shape = x.shape
        x = x.flatten(2).transpose([0, 2, 1])
        y = self.attn(self.norm1(x))
        x = x + (y if self.gamma_1 is None else self.gamma_1 * y)
        y = self.mlp(self.norm2(x))
        x = x + (y if self.gamma_2 is None else self.gamma_2 * y)
        return x.transpose([0, 2, 1]).reshape(shape)


class Patches(nn.Layer):
    """Square patches, normalised."""

    def __init__(self, inputs: int, width: int, patch: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.proj_conv = nn.Conv2D(inputs, width, patch, stride=patch)

    def forward(self, x: Any) -> Any:
        return self.norm(self.proj_conv(x).transpose([0, 2, 3, 1])).transpose([0, 3, 1, 2])


class Overlapping(nn.Layer):
    """Overlapping patches: one convolution with a stride, or two for the first stage."""

    def __init__(self, inputs: int, width: int, first: bool):
        super().__init__()
        layers: list[nn.Layer] = []
        if first:
            layers += [nn.Conv2D(inputs, width // 2, 3, 2, padding=1), nn.BatchNorm2D(width // 2), nn.GELU()]
            inputs = width // 2
        self.proj = nn.Sequential(*layers, nn.Conv2D(inputs, width, 3, 2, padding=1), nn.BatchNorm2D(width))

    def forward(self, x: Any) -> Any:
        return self.proj(x)


class UniFormer(Pyramid):
    """Four stages: two with convolutions, two with attention.

    Args:
        depths: of the stages.
        head: width of a head.
        overlapping: kind of the patches.
        scale: see `AttentionBlock`.
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        head: int = 64,
        overlapping: bool = False,
        scale: float | None = None,
        num_classes: int = 1000,
    ):
        super().__init__()
        widths = (64, 128, 320, 512)
        for i, (inputs, width) in enumerate(zip((3, *widths), widths)):
            patches = Overlapping(inputs, width, i == 0) if overlapping else Patches(inputs, width, 2 if i else 4)
            setattr(self, f"patch_embed{i + 1}", patches)
        for i, (width, depth) in enumerate(zip(widths, depths)):
            blocks = (AttentionBlock(width, width // head, scale) if i > 1 else ConvBlock(width) for _ in range(depth))
            setattr(self, f"blocks{i + 1}", nn.Sequential(*blocks))
        self.end(widths[-1], num_classes)


register(
    "uniformer",
    UniFormer,
    {
        "uniformer_small": {"depths": (3, 4, 8, 3)},
        "uniformer_small_plus": {"depths": (3, 5, 9, 3), "head": 32, "overlapping": True},
        "uniformer_small_plus_dim64": {"depths": (3, 5, 9, 3), "overlapping": True},
        "uniformer_base": {"depths": (5, 8, 20, 7)},
        "uniformer_base_ls": {"depths": (5, 8, 20, 7), "scale": 1e-6},
    },
)
