"""Swin Transformer (Liu et al., "Swin Transformer: hierarchical vision transformer using shifted windows", 2021);
keys of the weights as in PaddleClas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import concat, nn, to_tensor
from ...engine import errors
from ...nn import functional as F
from .blocks import Mlp, PatchEmbed, classifier, token
from .registry import register
from .vit import relative_index


def windows(x: Any, edge: int) -> Any:
    """[N, H, W, C] to the squares [N * H / edge * W / edge, edge * edge, C]."""
    n, height, width, channels = x.shape
    x = x.reshape([n, height // edge, edge, width // edge, edge, channels]).transpose([0, 1, 3, 2, 4, 5])
    return x.reshape([-1, edge * edge, channels])


def join(x: Any, edge: int, height: int, width: int) -> Any:
    """The inverse of `windows`."""
    x = x.reshape([-1, height // edge, width // edge, edge, edge, x.shape[-1]]).transpose([0, 1, 3, 2, 4, 5])
    return x.reshape([-1, height, width, x.shape[-1]])


def shifted_mask(height: int, width: int, edge: int, shift: int) -> np.ndarray:
    """[windows, L, L]: -100 where two places of a shifted window do not lie side by side in the picture."""
    part = lambda size: np.digitize(np.arange(size), [size - edge, size - shift])
    region = part(height)[:, None] * 3 + part(width)[None, :]
    region = region.reshape(height // edge, edge, width // edge, edge).transpose(0, 2, 1, 3).reshape(-1, edge * edge)
    return np.where(region[:, None, :] == region[:, :, None], 0, -100).astype("float32")


class WindowAttention(nn.Layer):
    """Attention inside of windows, with a learnt bias for each difference of positions."""

    def __init__(self, width: int, heads: int, edge: int):
        super().__init__()
        self.heads = heads
        self.relative_position_bias_table = token(self, (2 * edge - 1) ** 2, heads)
        self.register_buffer("relative_position_index", to_tensor(relative_index(edge)))
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Any, mask: Any = None) -> Any:
        n, length, width = x.shape
        q, k, v = self.qkv(x).reshape([n, length, 3, self.heads, width // self.heads]).unbind(2)
        bias = self.relative_position_bias_table.index_select(self.relative_position_index.flatten())
        bias = bias.reshape([1, length, length, self.heads]).transpose([0, 3, 1, 2])
        if mask is not None:
            bias = (bias + mask.unsqueeze(1)).tile([n // mask.shape[0], 1, 1, 1])
        else:
            bias = bias.expand([n, -1, -1, -1])
        return self.proj(F.scaled_dot_product_attention(q, k, v, bias).reshape([n, length, width]))


class Block(nn.Layer):
    """Attention in windows, perhaps shifted, and a small network, each beside a shortcut."""

    def __init__(self, width: int, heads: int, edge: int, shift: int, size: int):
        super().__init__()
        self.edge, self.shift = edge, shift
        self.norm1 = nn.LayerNorm(width)
        self.attn = WindowAttention(width, heads, edge)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, 4 * width)
        mask = to_tensor(shifted_mask(size, size, edge, shift)) if shift else None
        self.register_buffer("mask", mask, persistable=False)

    def forward(self, x: Any) -> Any:
        height, width = x.shape[1:3]
        y = self.norm1(x)
        if self.shift:
            y = y.roll([-self.shift, -self.shift], axis=[1, 2])
        y = join(self.attn(windows(y, self.edge), self.mask), self.edge, height, width)
        if self.shift:
            y = y.roll([self.shift, self.shift], axis=[1, 2])
        x = x + y
        return x + self.mlp(self.norm2(x))


class Merge(nn.Layer):
    """Four neighbours become one, of twice the width."""

    def __init__(self, width: int):
        super().__init__()
        self.reduction = nn.Linear(4 * width, 2 * width, bias_attr=False)
        self.norm = nn.LayerNorm(4 * width)

    def forward(self, x: Any) -> Any:
        corners = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        return self.reduction(self.norm(concat(corners, axis=-1)))


class Stage(nn.Layer):
    """Blocks, then a smaller picture."""

    def __init__(self, blocks: list, merge: Any):
        super().__init__()
        self.blocks = nn.Sequential(*blocks)
        self.downsample = merge

    def forward(self, x: Any) -> Any:
        return self.downsample(self.blocks(x))


class Windowed(nn.Layer):
    """Four stages of attention inside of windows.

    Args:
        block: a function (stage, width, heads, edge of a window, shift, size) -> a block.
        merge: a function width -> what makes the picture smaller.
        width: of the first stage; it doubles.
        depths, heads: of the stages.
        window: edge of a window.
        img_size: edge of the picture; windows must fill the picture of every stage.
        num_classes: outputs.
    """

    def __init__(
        self,
        block: Callable,
        merge: Callable,
        width: int,
        depths: tuple[int, ...],
        heads: tuple[int, ...],
        window: int,
        img_size: int,
        num_classes: int,
    ):
        super().__init__()
        self.patch_embed = PatchEmbed(4, width, norm=True)
        self.layers = nn.LayerList()
        size = self.size = img_size // 4
        for i, (depth, h) in enumerate(zip(depths, heads)):
            edge = min(window, size)
            if size % edge or (i < 3 and size % 2):
                raise errors.ValueError_(
                    f"{type(self).__name__}: img_size, {img_size} gives stage {i + 1} an edge of {size}, which windows of {window} do not fill"
                )
            shifts = [edge // 2 if j % 2 and size > edge else 0 for j in range(depth)]
            blocks = [block(i, width * 2**i, h, edge, shift, size) for shift in shifts]
            self.layers.append(Stage(blocks, nn.Identity() if i == 3 else merge(width * 2**i)))
            size //= 2
        self.norm = nn.LayerNorm(8 * width)
        self.head = classifier(8 * width, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.patch_embed(x).reshape([x.shape[0], self.size, self.size, -1])
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean([1, 2]))


class Swin(Windowed):
    """The first version: arguments as for `Windowed`."""

    def __init__(
        self,
        width: int,
        depths: tuple[int, ...],
        heads: tuple[int, ...],
        window: int = 7,
        img_size: int = 224,
        num_classes: int = 1000,
    ):
        super().__init__(lambda stage, *of: Block(*of), Merge, width, depths, heads, window, img_size, num_classes)


SIZES = {
    "tiny": (96, (2, 2, 6, 2), (3, 6, 12, 24)),
    "small": (96, (2, 2, 18, 2), (3, 6, 12, 24)),
    "base": (128, (2, 2, 18, 2), (4, 8, 16, 32)),
    "large": (192, (2, 2, 18, 2), (6, 12, 24, 48)),
}
for _name, (_width, _depths, _heads) in SIZES.items():
    _options = {"width": _width, "depths": _depths, "heads": _heads}
    for _family in ("swin", "swin_transformer"):  # the names of timm and of PaddleClas
        register("swin", Swin, {f"{_family}_{_name}_patch4_window7_224": _options})
        if _name in ("base", "large"):
            _wide = {**_options, "window": 12, "img_size": 384}
            register("swin", Swin, {f"{_family}_{_name}_patch4_window12_384": _wide})
