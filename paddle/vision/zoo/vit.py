"""Vision transformers: ViT (Dosovitskiy et al., "An image is worth 16x16 words", 2020), DeiT (Touvron et al., 2020), BEiT (Bao
et al., 2021)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import concat, nn, to_tensor
from ...nn import functional as F
from .blocks import Attention, Mlp, PatchEmbed, Scale, classifier, token
from .registry import register


class Block(nn.Layer):
    """Attention and a small network, each beside a shortcut.

    Args:
        width, heads: of the tokens.
        ratio: hidden width of the small network.
        attention: in place of `Attention(width, heads)`.
        scale: start of a learnt factor of both; None: no factor.
    """

    def __init__(
        self, width: int, heads: int, ratio: float = 4, attention: nn.Layer | None = None, scale: float | None = None
    ):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, epsilon=1e-6)
        self.attn = attention or Attention(width, heads)
        self.ls1 = nn.Identity() if scale is None else Scale(width, scale)
        self.norm2 = nn.LayerNorm(width, epsilon=1e-6)
        self.mlp = Mlp(width, int(width * ratio))
        self.ls2 = nn.Identity() if scale is None else Scale(width, scale)

    def forward(self, x: Any) -> Any:
        x = x + self.ls1(self.attn(self.norm1(x)))
        return x + self.ls2(self.mlp(self.norm2(x)))


class ViT(nn.Layer):
    """Patches and a class token through transformer blocks.

    Args:
        patch: edge of a patch.
        width, depth, heads: of the transformer.
        img_size: edge of the picture.
        distilled: a second token with a classifier of its own (DeiT); the mean of both is the result.
        scale: layer scale, see `Block`.
        num_classes: outputs.
    """

    def __init__(
        self,
        patch: int,
        width: int,
        depth: int,
        heads: int,
        img_size: int = 224,
        distilled: bool = False,
        scale: float | None = None,
        num_classes: int = 1000,
    ):
        super().__init__()
        extra = 1 + distilled
        self.pos_embed = token(self, 1, (img_size // patch) ** 2 + extra, width)
        self.cls_token = token(self, 1, 1, width)
        self.dist_token = token(self, 1, 1, width) if distilled else None
        self.patch_embed = PatchEmbed(patch, width)
        self.blocks = nn.Sequential(*(Block(width, heads, scale=scale) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, epsilon=1e-6)
        self.head = classifier(width, num_classes)
        self.head_dist = classifier(width, num_classes) if distilled else None

    def forward(self, x: Any) -> Any:
        x = self.patch_embed(x)
        tokens = [self.cls_token] if self.dist_token is None else [self.cls_token, self.dist_token]
        x = concat([*(t.expand([x.shape[0], -1, -1]) for t in tokens), x], axis=1) + self.pos_embed
        x = self.norm(self.blocks(x))
        if self.head_dist is None:
            return self.head(x[:, 0])
        return (self.head(x[:, 0]) + self.head_dist(x[:, 1])) / 2


def relative_index(edge: int) -> np.ndarray:
    """For each pair of positions of a square the number of their difference, counted over both directions."""
    place = np.stack(np.meshgrid(np.arange(edge), np.arange(edge), indexing="ij")).reshape(2, -1)
    difference = place[:, :, None] - place[:, None, :] + edge - 1
    return difference[0] * (2 * edge - 1) + difference[1]


class RelativeAttention(nn.Layer):
    """Attention with a learnt bias for each difference of positions; the class token has three entries of its own."""

    def __init__(self, width: int, heads: int, edge: int):
        super().__init__()
        self.heads = heads
        self.q_bias = self.create_parameter([width], is_bias=True)
        self.v_bias = self.create_parameter([width], is_bias=True)
        count = (2 * edge - 1) ** 2
        self.table = token(self, count + 3, heads)
        self.qkv = nn.Linear(width, 3 * width, bias_attr=False)
        self.proj = nn.Linear(width, width)
        index = np.empty((edge**2 + 1,) * 2, dtype="int64")
        index[1:, 1:] = relative_index(edge)
        index[0, :], index[:, 0], index[0, 0] = count, count + 1, count + 2
        self.register_buffer("index", to_tensor(index.ravel()), persistable=False)

    def forward(self, x: Any) -> Any:
        n, length, width = x.shape
        bias = concat([self.q_bias, self.v_bias * 0, self.v_bias])
        q, k, v = (self.qkv(x) + bias).reshape([n, length, 3, self.heads, width // self.heads]).unbind(2)
        mask = self.table.index_select(self.index).reshape([length, length, self.heads]).transpose([2, 0, 1])
        x = F.scaled_dot_product_attention(q, k, v, mask.unsqueeze(0).expand([n, -1, -1, -1]))
        return self.proj(x.reshape([n, length, width]))


class BEiT(nn.Layer):
    """A vision transformer with relative positions and the mean of the patches as its result; options as of `ViT`."""

    def __init__(
        self,
        patch: int,
        width: int,
        depth: int,
        heads: int,
        img_size: int = 224,
        scale: float = 0.1,
        num_classes: int = 1000,
    ):
        super().__init__()
        edge = img_size // patch
        self.cls_token = token(self, 1, 1, width)
        self.patch_embed = PatchEmbed(patch, width)
        self.blocks = nn.Sequential(
            *(Block(width, heads, attention=RelativeAttention(width, heads, edge), scale=scale) for _ in range(depth))
        )
        self.norm = nn.LayerNorm(width, epsilon=1e-6)
        self.head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.patch_embed(x)
        x = self.blocks(concat([self.cls_token.expand([x.shape[0], -1, -1]), x], axis=1))
        return self.head(self.norm(x[:, 1:].mean(1)))


# width, depth, heads
SIZES = {
    "tiny": (192, 12, 3),
    "small": (384, 12, 6),
    "base": (768, 12, 12),
    "large": (1024, 24, 16),
    "huge": (1280, 32, 16),
}
PATCHES = {"tiny": (16,), "small": (8, 16, 32), "base": (8, 16, 32), "large": (14, 16, 32), "huge": (14,)}


def _size(name: str, patch: int = 16, **options: Any) -> dict[str, Any]:
    width, depth, heads = SIZES[name]
    return {"patch": patch, "width": width, "depth": depth, "heads": heads, **options}


for _name, _patches in PATCHES.items():
    for _patch in _patches:
        register("vit", ViT, {f"vit_{_name}_patch{_patch}_224": _size(_name, _patch)})
        if _patch >= 16:
            register("vit", ViT, {f"vit_{_name}_patch{_patch}_384": _size(_name, _patch, img_size=384)})
for _name in ("tiny", "small", "base"):
    register("deit", ViT, {f"deit_{_name}_patch16_224": _size(_name)})
    register("deit", ViT, {f"deit_{_name}_distilled_patch16_224": _size(_name, distilled=True)})
register("deit", ViT, {"deit_base_patch16_384": _size("base", img_size=384)})
register("deit", ViT, {"deit_base_distilled_patch16_384": _size("base", img_size=384, distilled=True)})
for _edge in (224, 384):
    register("beit", BEiT, {f"beit_base_patch16_{_edge}": _size("base", img_size=_edge)})
for _edge in (224, 384, 512):
    register("beit", BEiT, {f"beit_large_patch16_{_edge}": _size("large", img_size=_edge, scale=1e-5)})
