"""Pyramid vision transformer V2 (Wang et al., "PVT v2: improved baselines with pyramid vision transformer", 2021);
keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn import functional as F
from .blocks import classifier
from .registry import register


def _map(x: Any, height: int, width: int) -> Any:
    """Tokens [N, L, C] as a picture [N, C, H, W]."""
    return x.transpose([0, 2, 1]).reshape([x.shape[0], x.shape[2], height, width])


def _tokens(x: Any) -> Any:
    return x.flatten(2).transpose([0, 2, 1])


class ReducedAttention(nn.Layer):
    """Attention whose keys and values come from a smaller picture: by a convolution of this stride, or means of 7x7 places
    and a convolution (`pooled`)."""

    def __init__(self, width: int, heads: int, reduction: int, pooled: bool):
        super().__init__()
        self.heads, self.pooled = heads, pooled
        self.small = pooled or reduction > 1
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.proj = nn.Linear(width, width)
        if self.small:
            stride = 1 if pooled else reduction
            self.sr = nn.Conv2D(width, width, stride, stride=stride)
            self.norm = nn.LayerNorm(width)

    def forward(self, x: Any, height: int, width: int) -> Any:
        n, length, channels = x.shape
        size = channels // self.heads
        q = self.q(x).reshape([n, length, self.heads, size])
        if self.small:
            x = _map(x, height, width)
            x = self.norm(_tokens(self.sr(F.adaptive_avg_pool2d(x, 7) if self.pooled else x)))
            x = F.gelu(x) if self.pooled else x
        k, v = self.kv(x).reshape([n, -1, 2, self.heads, size]).unbind(2)
        return self.proj(F.scaled_dot_product_attention(q, k, v).reshape([n, length, channels]))


class Depthwise(nn.Layer):
    """A convolution 3x3 by each channel of tokens."""

    def __init__(self, width: int):
        super().__init__()
        self.dwconv = nn.Conv2D(width, width, 3, padding=1, groups=width)

    def forward(self, x: Any, height: int, width: int) -> Any:
        return _tokens(self.dwconv(_map(x, height, width)))


class ConvMlp(nn.Layer):
    """A small network whose hidden values also see their neighbours; with `relu` only the positive ones."""

    def __init__(self, width: int, hidden: int, relu: bool):
        super().__init__()
        self.relu = relu
        self.fc1 = nn.Linear(width, hidden)
        self.dwconv = Depthwise(hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: Any, height: int, width: int) -> Any:
        x = self.fc1(x)
        x = self.dwconv(F.relu(x) if self.relu else x, height, width)
        return self.fc2(F.gelu(x))


class Block(nn.Layer):
    """Attention and a small network, each beside a shortcut."""

    def __init__(self, width: int, heads: int, ratio: int, reduction: int, pooled: bool):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, epsilon=1e-6)
        self.attn = ReducedAttention(width, heads, reduction, pooled)
        self.norm2 = nn.LayerNorm(width, epsilon=1e-6)
        self.mlp = ConvMlp(width, width * ratio, pooled)

    def forward(self, x: Any, height: int, width: int) -> Any:
        x = x + self.attn(self.norm1(x), height, width)
        return x + self.mlp(self.norm2(x), height, width)


class Patches(nn.Layer):
    """Overlapping patches of a picture as normalised tokens, with its height and width."""

    def __init__(self, inputs: int, width: int, kernel: int, stride: int):
        super().__init__()
        self.proj = nn.Conv2D(inputs, width, kernel, stride, padding=kernel // 2)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Any) -> tuple[Any, int, int]:
        x = self.proj(x)
        return self.norm(_tokens(x)), x.shape[2], x.shape[3]


class PVTv2(nn.Layer):
    """Four stages.

    Args:
        widths, depths: of the stages.
        ratios: hidden widths of the small networks.
        pooled: keys and values from means of 7x7 places: the cost grows with the places only ("linear").
        num_classes: outputs.
    """

    def __init__(
        self,
        widths: tuple[int, ...],
        depths: tuple[int, ...],
        ratios: tuple[int, ...] = (8, 8, 4, 4),
        pooled: bool = False,
        num_classes: int = 1000,
    ):
        super().__init__()
        rows = zip((3, *widths), widths, depths, (1, 2, 5, 8), ratios, (8, 4, 2, 1))
        for i, (inputs, width, depth, heads, ratio, reduction) in enumerate(rows, 1):
            kernel, stride = (7, 4) if i == 1 else (3, 2)
            setattr(self, f"patch_embed{i}", Patches(inputs, width, kernel, stride))
            blocks = nn.LayerList([Block(width, heads, ratio, reduction, pooled) for _ in range(depth)])
            setattr(self, f"block{i}", blocks)
            setattr(self, f"norm{i}", nn.LayerNorm(width, epsilon=1e-6))
        self.head = classifier(widths[-1], num_classes)

    def forward(self, x: Any) -> Any:
        for i in range(1, 5):
            x, height, width = getattr(self, f"patch_embed{i}")(x)
            for block in getattr(self, f"block{i}"):
                x = block(x, height, width)
            x = _map(getattr(self, f"norm{i}")(x), height, width)
        return self.head(x.mean([2, 3]))


_WIDE = (64, 128, 320, 512)
register(
    "pvt",
    PVTv2,
    {
        "pvt_v2_b0": {"widths": (32, 64, 160, 256), "depths": (2, 2, 2, 2)},
        "pvt_v2_b1": {"widths": _WIDE, "depths": (2, 2, 2, 2)},
        "pvt_v2_b2": {"widths": _WIDE, "depths": (3, 4, 6, 3)},
        "pvt_v2_b2_linear": {"widths": _WIDE, "depths": (3, 4, 6, 3), "pooled": True},
        "pvt_v2_b3": {"widths": _WIDE, "depths": (3, 4, 18, 3)},
        "pvt_v2_b4": {"widths": _WIDE, "depths": (3, 8, 27, 3)},
        "pvt_v2_b5": {"widths": _WIDE, "depths": (3, 6, 40, 3), "ratios": (4, 4, 4, 4)},
    },
)
