"""Pyramid vision transformer V2 (Wang et al., "PVT v2: improved baselines with pyramid vision transformer", 2021)."""

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
    """Attention whose keys and values come from a smaller picture, by a convolution of this stride."""

    def __init__(self, width: int, heads: int, reduction: int):
        super().__init__()
        self.heads, self.reduction = heads, reduction
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.proj = nn.Linear(width, width)
        if reduction > 1:
            self.reduce = nn.Conv2D(width, width, reduction, stride=reduction)
            self.norm = nn.LayerNorm(width)

    def forward(self, x: Any, height: int, width: int) -> Any:
        n, length, channels = x.shape
        size = channels // self.heads
        q = self.q(x).reshape([n, length, self.heads, size])
        if self.reduction > 1:
            x = self.norm(_tokens(self.reduce(_map(x, height, width))))
        k, v = self.kv(x).reshape([n, -1, 2, self.heads, size]).unbind(2)
        return self.proj(F.scaled_dot_product_attention(q, k, v).reshape([n, length, channels]))


class ConvMlp(nn.Layer):
    """A small network whose hidden values also see their neighbours."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.depthwise = nn.Conv2D(hidden, hidden, 3, padding=1, groups=hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: Any, height: int, width: int) -> Any:
        x = _tokens(self.depthwise(_map(self.fc1(x), height, width)))
        return self.fc2(F.gelu(x))


class Block(nn.Layer):
    """Attention and a small network, each beside a shortcut."""

    def __init__(self, width: int, heads: int, ratio: int, reduction: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, epsilon=1e-6)
        self.attn = ReducedAttention(width, heads, reduction)
        self.norm2 = nn.LayerNorm(width, epsilon=1e-6)
        self.mlp = ConvMlp(width, width * ratio)

    def forward(self, x: Any, height: int, width: int) -> Any:
        x = x + self.attn(self.norm1(x), height, width)
        return x + self.mlp(self.norm2(x), height, width)


class Stage(nn.Layer):
    """A smaller picture of overlapping patches, then blocks."""

    def __init__(self, inputs: int, width: int, depth: int, heads: int, ratio: int, reduction: int, first: bool):
        super().__init__()
        kernel, stride = (7, 4) if first else (3, 2)
        self.proj = nn.Conv2D(inputs, width, kernel, stride, padding=kernel // 2)
        self.patch_norm = nn.LayerNorm(width)
        self.blocks = nn.LayerList([Block(width, heads, ratio, reduction) for _ in range(depth)])
        self.norm = nn.LayerNorm(width, epsilon=1e-6)

    def forward(self, x: Any) -> Any:
        x = self.proj(x)
        height, width = x.shape[2:]
        x = self.patch_norm(_tokens(x))
        for block in self.blocks:
            x = block(x, height, width)
        return _map(self.norm(x), height, width)


class PVTv2(nn.Layer):
    """Four stages.

    Args:
        widths, depths: of the stages.
        ratios: hidden widths of the small networks.
        num_classes: outputs.
    """

    def __init__(
        self,
        widths: tuple[int, ...],
        depths: tuple[int, ...],
        ratios: tuple[int, ...] = (8, 8, 4, 4),
        num_classes: int = 1000,
    ):
        super().__init__()
        rows = zip((3, *widths), widths, depths, (1, 2, 5, 8), ratios, (8, 4, 2, 1), (True, False, False, False))
        self.stages = nn.Sequential(*(Stage(*row) for row in rows))
        self.head = classifier(widths[-1], num_classes)

    def forward(self, x: Any) -> Any:
        return self.head(self.stages(x).mean([2, 3]))


_WIDE = (64, 128, 320, 512)
register(
    "pvt",
    PVTv2,
    {
        "pvt_v2_b0": {"widths": (32, 64, 160, 256), "depths": (2, 2, 2, 2)},
        "pvt_v2_b1": {"widths": _WIDE, "depths": (2, 2, 2, 2)},
        "pvt_v2_b2": {"widths": _WIDE, "depths": (3, 4, 6, 3)},
        "pvt_v2_b3": {"widths": _WIDE, "depths": (3, 4, 18, 3)},
        "pvt_v2_b4": {"widths": _WIDE, "depths": (3, 8, 27, 3)},
        "pvt_v2_b5": {"widths": _WIDE, "depths": (3, 6, 40, 3), "ratios": (4, 4, 4, 4)},
    },
)
