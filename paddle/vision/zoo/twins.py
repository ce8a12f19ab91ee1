"""Twins (Chu et al., "Twins: revisiting the design of spatial attention in vision transformers", 2021) and PVT (Wang et
al., "Pyramid vision transformer", 2021); keys of the weights of Twins as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...engine import errors
from ...nn import functional as F
from .blocks import Attention, Mlp, classifier, token
from .registry import register
from .swin import join, windows


class GroupAttention(Attention):
    """Attention inside of square windows of a picture [N, H, W, C]."""

    def __init__(self, width: int, heads: int, window: int):
        super().__init__(width, heads)
        self.window = window

    def forward(self, x: Any) -> Any:
        height, width = x.shape[1:3]
        if height % self.window or width % self.window:
            raise errors.ValueError_(
                f"GroupAttention: a picture of {height}x{width} patches, which windows of {self.window} do not fill"
            )
        return join(super().forward(windows(x, self.window)), self.window, height, width)


class ReducedAttention(nn.Layer):
    """Attention of a picture [N, H, W, C] whose keys and values come from a smaller one; or of tokens [N, L, C]."""

    def __init__(self, width: int, heads: int, reduction: int):
        super().__init__()
        self.heads, self.reduction = heads, reduction
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.proj = nn.Linear(width, width)
        if reduction > 1:
            self.sr = nn.Conv2D(width, width, reduction, stride=reduction)
            self.norm = nn.LayerNorm(width)

    def forward(self, x: Any) -> Any:
        n, width = x.shape[0], x.shape[-1]
        size = width // self.heads
        q = self.q(x).reshape([n, -1, self.heads, size])
        small = self.norm(self.sr(x.transpose([0, 3, 1, 2])).transpose([0, 2, 3, 1])) if self.reduction > 1 else x
        k, v = self.kv(small).reshape([n, -1, 2, self.heads, size]).unbind(2)
        return self.proj(F.scaled_dot_product_attention(q, k, v).reshape(x.shape))


class Block(nn.Layer):
    """Attention and a small network, each beside a shortcut."""

    def __init__(self, width: int, attention: nn.Layer, ratio: int, last: bool = False):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, epsilon=1e-6)
        if not last:
            self.attn = attention
        self.norm2 = nn.LayerNorm(width, epsilon=1e-6)
        self.mlp = Mlp(width, width * ratio)
        if last:
            self.attn = attention

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Patches(nn.Layer):
    """Square patches of [N, H, W, C], normalised."""

    def __init__(self, inputs: int, width: int, patch: int):
        super().__init__()
        self.proj = nn.Conv2D(inputs, width, patch, stride=patch)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Any) -> Any:
        return self.norm(self.proj(x.transpose([0, 3, 1, 2])).transpose([0, 2, 3, 1]))


class Positions(nn.Layer):
    """Adds to [N, H, W, C] a convolution 3x3 of it by each channel: positions from what lies around."""

    def __init__(self, width: int):
        super().__init__()
        self.proj = nn.Sequential(nn.Conv2D(width, width, 3, padding=1, groups=width))

    def forward(self, x: Any) -> Any:
        return x + self.proj(x.transpose([0, 3, 1, 2])).transpose([0, 2, 3, 1])


class Twins(nn.Layer):
    """Four stages.

    Args:
        widths, depths, heads: of the stages.
        ratios: hidden widths of the small networks.
        window: edge of the windows of every other block (SVT); None: attention with reduced keys everywhere (PCPVT).
        num_classes: outputs.
    """

    def __init__(
        self,
        widths: tuple[int, ...],
        depths: tuple[int, ...],
        heads: tuple[int, ...],
        ratios: tuple[int, ...],
        window: int | None = None,
        num_classes: int = 1000,
    ):
        super().__init__()
        self.patch_embeds = nn.LayerList([Patches(i, o, 4 if i == 3 else 2) for i, o in zip((3, *widths), widths)])
        stages = []
        for width, depth, h, reduction in zip(widths, depths, heads, (8, 4, 2, 1)):
            local = [window is not None and i % 2 == 0 for i in range(depth)]
            stages.append(
                [
                    GroupAttention(width, h, window) if inside else ReducedAttention(width, h, reduction)
                    for inside in local
                ]
            )
        blocks = nn.LayerList(
            nn.LayerList([Block(width, attention, ratio, window is not None) for attention in stage])
            for width, ratio, stage in zip(widths, ratios, stages)
        )
        if window is None:
            self.blocks = blocks
        self.norm = nn.LayerNorm(widths[-1], epsilon=1e-6)
        self.head = classifier(widths[-1], num_classes)
        self.pos_block = nn.LayerList([Positions(width) for width in widths])
        if window is not None:
            self.blocks = blocks

    def forward(self, x: Any) -> Any:
        x = x.transpose([0, 2, 3, 1])
        for patches, positions, blocks in zip(self.patch_embeds, self.pos_block, self.blocks):
            x = patches(x)
            for i, block in enumerate(blocks):
                x = block(x)
                if i == 0:
                    x = positions(x)
        return self.head(self.norm(x).mean([1, 2]))


class PVT(nn.Layer):
    """Four stages with learnt positions; the last has a class token.

    Args:
        depths: of the stages.
        ratios: hidden widths of the small networks.
        img_size: edge of the picture.
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        ratios: tuple[int, ...] = (8, 8, 4, 4),
        img_size: int = 224,
        num_classes: int = 1000,
    ):
        super().__init__()
        widths = (64, 128, 320, 512)
        self.stages = len(depths)
        rows = zip((3, *widths), widths, depths, (1, 2, 5, 8), ratios, (8, 4, 2, 1))
        for i, (inputs, width, depth, heads, ratio, reduction) in enumerate(rows, 1):
            edge = img_size // 2 ** (i + 1)
            setattr(self, f"patch_embed{i}", Patches(inputs, width, 4 if i == 1 else 2))
            setattr(self, f"pos_embed{i}", token(self, 1, edge * edge + (i == 4), width))
            blocks = (Block(width, ReducedAttention(width, heads, reduction), ratio) for _ in range(depth))
            setattr(self, f"block{i}", nn.Sequential(*blocks))
        self.norm = nn.LayerNorm(widths[-1], epsilon=1e-6)
        self.cls_token = token(self, 1, 1, widths[-1])
        self.head = classifier(widths[-1], num_classes)

    def forward(self, x: Any) -> Any:
        x = x.transpose([0, 2, 3, 1])
        for i in range(1, self.stages):
            x = getattr(self, f"patch_embed{i}")(x)
            x = x + getattr(self, f"pos_embed{i}").reshape([1, *x.shape[1:]])
            x = getattr(self, f"block{i}")(x)
        x = self.patch_embed4(x).flatten(1, 2)
        x = concat([self.cls_token.expand([x.shape[0], -1, -1]), x], axis=1) + self.pos_embed4
        return self.head(self.norm(self.block4(x)[:, 0]))


for _name, _depths in {"small": (3, 4, 6, 3), "base": (3, 4, 18, 3), "large": (3, 8, 27, 3)}.items():
    _options = {"widths": (64, 128, 320, 512), "depths": _depths, "heads": (1, 2, 5, 8), "ratios": (8, 8, 4, 4)}
    register("twins", Twins, {f"pcpvt_{_name}": _options})
for _name, (_width, _head, _depths) in {
    "small": (64, 2, (2, 2, 10, 4)),
    "base": (96, 3, (2, 2, 18, 2)),
    "large": (128, 4, (2, 2, 18, 2)),
}.items():
    _options = {
        "widths": tuple(_width * 2**i for i in range(4)),
        "depths": _depths,
        "heads": tuple(_head * 2**i for i in range(4)),
        "ratios": (4, 4, 4, 4),
        "window": 7,
    }
    register("twins", Twins, {f"alt_gvt_{_name}": _options})
for _name, _depths in {
    "tiny": (2, 2, 2, 2),
    "small": (3, 4, 6, 3),
    "medium": (3, 4, 18, 3),
    "large": (3, 8, 27, 3),
}.items():
    register("pvt", PVT, {f"pvt_{_name}": {"depths": _depths}})
