"""TNT (Han et al., "Transformer in transformer", 2021); keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn import functional as F
from .blocks import Mlp, classifier, token
from .registry import register


class Attention(nn.Layer):
    """Self-attention whose projections have no bias; queries and keys together, values apart."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qk = nn.Linear(width, 2 * width, bias_attr=False)
        self.v = nn.Linear(width, width, bias_attr=False)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        n, length, width = x.shape
        size = width // self.heads
        q, k = self.qk(x).reshape([n, length, 2, self.heads, size]).unbind(2)
        v = self.v(x).reshape([n, length, self.heads, size])
        return self.proj(F.scaled_dot_product_attention(q, k, v).reshape([n, length, width]))


class Block(nn.Layer):
    """A transformer block for the pixels of every patch, whose result joins the patches, and one for the patches."""

    def __init__(self, inner: int, outer: int, heads: int, pixels: int):
        super().__init__()
        self.norm_in = nn.LayerNorm(inner)
        self.attn_in = Attention(inner, 4)
        self.norm_mlp_in = nn.LayerNorm(inner)
        self.mlp_in = Mlp(inner, 4 * inner)
        self.norm1_proj = nn.LayerNorm(inner * pixels)
        self.proj = nn.Linear(inner * pixels, outer, bias_attr=False)
        self.norm2_proj = nn.LayerNorm(outer)
        self.norm_out = nn.LayerNorm(outer)
        self.attn_out = Attention(outer, heads)
        self.norm_mlp = nn.LayerNorm(outer)
        self.mlp = Mlp(outer, 4 * outer)

    def forward(self, pair: Any) -> Any:
        pixel, patch = pair
        pixel = pixel + self.attn_in(self.norm_in(pixel))
        pixel = pixel + self.mlp_in(self.norm_mlp_in(pixel))
        n, length, _ = patch.shape
        joined = self.norm2_proj(self.proj(self.norm1_proj(pixel.reshape([n, length - 1, -1]))))
        patch = concat([patch[:, :1], patch[:, 1:] + joined], axis=1)
        patch = patch + self.attn_out(self.norm_out(patch))
        return pixel, patch + self.mlp(self.norm_mlp(patch))


class TNT(nn.Layer):
    """Transformers for patches of 16x16 and, inside of them, for their 4x4 parts.

    Args:
        width, heads: of the patches.
        inner: width of the parts.
        depth: number of blocks.
        img_size: edge of the picture.
        num_classes: outputs.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        inner: int,
        depth: int = 12,
        img_size: int = 224,
        num_classes: int = 1000,
    ):
        super().__init__()
        count, pixels = (img_size // 16) ** 2, 16
        self.cls_token = token(self, 1, 1, width)
        self.patch_pos = token(self, 1, count + 1, width)
        self.pixel_pos = token(self, 1, pixels, inner)
        self.pixel_embed = nn.Sequential(("proj", nn.Conv2D(3, inner, 7, stride=4, padding=3)))
        self.norm1_proj = nn.LayerNorm(pixels * inner)
        self.proj = nn.Linear(pixels * inner, width)
        self.norm2_proj = nn.LayerNorm(width)
        self.blocks = nn.Sequential(*(Block(inner, width, heads, pixels) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        n = x.shape[0]
        height, width = x.shape[2:]
        x = x.reshape([n, 3, height // 16, 16, width // 16, 16]).transpose([0, 2, 4, 1, 3, 5])
        x = self.pixel_embed(x.reshape([-1, 3, 16, 16]))
        pixel = x.flatten(2).transpose([0, 2, 1]) + self.pixel_pos
        patch = self.norm2_proj(self.proj(self.norm1_proj(pixel.reshape([n, -1, 16 * x.shape[1]]))))
        patch = concat([self.cls_token.expand([n, -1, -1]), patch], axis=1) + self.patch_pos
        _, patch = self.blocks((pixel, patch))
        return self.head(self.norm(patch)[:, 0])


for _size, _name, _options in (
    ("s", "small", {"width": 384, "heads": 6, "inner": 24}),
    ("b", "base", {"width": 640, "heads": 10, "inner": 40}),
):
    register("tnt", TNT, {f"tnt_{_size}_patch16_224": _options, f"tnt_{_name}": _options})  # of timm and of PaddleClas
