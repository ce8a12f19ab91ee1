"""XCiT (El-Nouby et al., "XCiT: cross-covariance image transformers", 2021)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import concat, nn, to_tensor
from ...nn import functional as F
from ...nn.initializer import Constant
from .blocks import Mlp, classifier, token
from .cait import ClassAttention
from .registry import register


def waves(height: int, width: int, count: int) -> np.ndarray:
    """[1, 2 count, height, width]: sines and cosines of the places, rows first."""
    speed = 10000.0 ** (2 * (np.arange(count) // 2) / count)
    parts = []
    for size in (height, width):
        angle = (np.arange(1, size + 1) / (size + 1e-6) * 2 * math.pi)[:, None] / speed
        parts.append(np.where(np.arange(count) % 2, np.cos(angle), np.sin(angle)).T)
    rows = np.broadcast_to(parts[0][:, :, None], (count, height, width))
    columns = np.broadcast_to(parts[1][:, None, :], (count, height, width))
    return np.concatenate([rows, columns])[None].astype("float32")


class Positions(nn.Layer):
    """A projection of `waves`."""

    def __init__(self, width: int):
        super().__init__()
        self.token_projection = nn.Conv2D(64, width, 1)

    def forward(self, height: int, width: int) -> Any:
        return self.token_projection(to_tensor(waves(height, width, 32)))


class ChannelAttention(nn.Layer):
    """Attention between the channels of a head, not between the places: its cost grows with their number only."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.temperature = self.create_parameter([heads, 1, 1], default_initializer=Constant(1.0))
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        n, length, width = x.shape
        qkv = self.qkv(x).reshape([n, length, 3, self.heads, width // self.heads])
        q, k, v = qkv.transpose([2, 0, 3, 4, 1]).unbind(0)
        scores = F.normalize(q, axis=-1) @ F.normalize(k, axis=-1).transpose([0, 1, 3, 2]) * self.temperature
        y = F.softmax(scores, axis=-1) @ v
        return self.proj(y.transpose([0, 3, 1, 2]).reshape([n, length, width]))


class Neighbours(nn.Layer):
    """Two convolutions 3x3 by each channel: what attention between channels does not see."""

    def __init__(self, width: int):
        super().__init__()
        self.conv1 = nn.Conv2D(width, width, 3, padding=1, groups=width)
        self.bn = nn.BatchNorm2D(width)
        self.conv2 = nn.Conv2D(width, width, 3, padding=1, groups=width)

    def forward(self, x: Any, height: int, width: int) -> Any:
        image = x.transpose([0, 2, 1]).reshape([x.shape[0], -1, height, width])
        return self.conv2(self.bn(F.gelu(self.conv1(image)))).flatten(2).transpose([0, 2, 1])


class Block(nn.Layer):
    """Attention, neighbours and a small network, each with learnt factors and beside a shortcut."""

    def __init__(self, width: int, heads: int, scale: float):
        super().__init__()
        for i in (1, 2, 3):
            setattr(self, f"norm{i}", nn.LayerNorm(width, epsilon=1e-6))
            setattr(self, f"gamma{i}", self.create_parameter([width], default_initializer=Constant(scale)))
        self.attn = ChannelAttention(width, heads)
        self.local_mp = Neighbours(width)
        self.mlp = Mlp(width, 4 * width)

    def forward(self, x: Any, height: int, width: int) -> Any:
        x = x + self.gamma1 * self.attn(self.norm1(x))
        x = x + self.gamma3 * self.local_mp(self.norm3(x), height, width)
        return x + self.gamma2 * self.mlp(self.norm2(x))


class ClassBlock(nn.Layer):
    """Attention and a small network for the class token; with `normed` the second normalisation is for all tokens."""

    def __init__(self, width: int, heads: int, scale: float, normed: bool):
        super().__init__()
        self.normed = normed
        self.norm1 = nn.LayerNorm(width, epsilon=1e-6)
        self.attn = ClassAttention(width, heads)
        self.norm2 = nn.LayerNorm(width, epsilon=1e-6)
        self.mlp = Mlp(width, 4 * width)
        self.gamma1 = self.create_parameter([width], default_initializer=Constant(scale))
        self.gamma2 = self.create_parameter([width], default_initializer=Constant(scale))

    def forward(self, x: Any) -> Any:
        y = self.norm1(x)
        x = x + self.gamma1 * concat([self.attn(y), y[:, 1:]], axis=1)
        x = self.norm2(x) if self.normed else concat([self.norm2(x[:, :1]), x[:, 1:]], axis=1)
        # the other tokens are added to themselves, as published
        return x + concat([self.gamma2 * self.mlp(x[:, :1]), x[:, 1:]], axis=1)


class Patches(nn.Layer):
    """Convolutions with strides instead of square patches."""

    def __init__(self, patch: int, width: int):
        super().__init__()
        widths = [width // 2**i for i in reversed(range(int(math.log2(patch))))]
        layers: list[nn.Layer] = []
        for inputs, outputs in zip((3, *widths), widths):
            conv = nn.Conv2D(inputs, outputs, 3, 2, padding=1, bias_attr=False)
            layers += [nn.Sequential(conv, nn.BatchNorm2D(outputs)), nn.GELU()]
        self.proj = nn.Sequential(*layers[:-1])

    def forward(self, x: Any) -> Any:
        return self.proj(x)


class XCiT(nn.Layer):
    """Blocks of patches, then two blocks of the class token.

    Args:
        patch: edge of a patch, a power of two.
        width, depth, heads: of the transformer.
        scale: start of the learnt factors.
        normed: see `ClassBlock`.
        num_classes: outputs.
    """

    def __init__(
        self,
        patch: int,
        width: int,
        depth: int,
        heads: int,
        scale: float = 1.0,
        normed: bool = True,
        num_classes: int = 1000,
    ):
        super().__init__()
        self.cls_token = token(self, 1, 1, width)
        self.patch_embed = Patches(patch, width)
        self.pos_embed = Positions(width)
        self.blocks = nn.LayerList([Block(width, heads, scale) for _ in range(depth)])
        self.cls_attn_blocks = nn.Sequential(*(ClassBlock(width, heads, scale, normed) for _ in range(2)))
        self.norm = nn.LayerNorm(width, epsilon=1e-6)
        self.head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.patch_embed(x)
        height, width = x.shape[2:]
        x = (x + self.pos_embed(height, width)).flatten(2).transpose([0, 2, 1])
        for block in self.blocks:
            x = block(x, height, width)
        x = concat([self.cls_token.expand([x.shape[0], -1, -1]), x], axis=1)
        return self.head(self.norm(self.cls_attn_blocks(x))[:, 0])


# width, depth, heads
SIZES = {
    "nano_12": (128, 12, 4),
    "tiny_12": (192, 12, 4),
    "tiny_24": (192, 24, 4),
    "small_12": (384, 12, 8),
    "small_24": (384, 24, 8),
    "medium_24": (512, 24, 8),
    "large_24": (768, 24, 16),
}
for _name, (_width, _depth, _heads) in SIZES.items():
    _options = {"width": _width, "depth": _depth, "heads": _heads, "scale": 1.0 if _depth == 12 else 1e-5}
    for _patch in (8, 16):
        for _edge in (224, 384):
            _row = {**_options, "patch": _patch, "normed": _name != "nano_12"}
            register("xcit", XCiT, {f"xcit_{_name}_p{_patch}_{_edge}": _row})
