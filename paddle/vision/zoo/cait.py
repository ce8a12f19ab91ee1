"""CaiT (Touvron et al., "Going deeper with image transformers", 2021)."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn import functional as F
from ...nn.initializer import Constant
from .blocks import Mlp, PatchEmbed, classifier, token
from .registry import register


class ClassAttention(nn.Layer):
    """The class token, the first, asks all tokens: [N, L, C] to [N, 1, C]."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        for name in ("q", "k", "v", "proj"):
            setattr(self, name, nn.Linear(width, width))

    def forward(self, x: Any) -> Any:
        n, _, width = x.shape
        split = lambda t: t.reshape([n, -1, self.heads, width // self.heads])
        y = F.scaled_dot_product_attention(split(self.q(x[:, :1])), split(self.k(x)), split(self.v(x)))
        return self.proj(y.reshape([n, 1, width]))


class TalkingAttention(nn.Layer):
    """Attention that mixes the scores of the heads, and the weights of the heads, by linear layers."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.proj_l = nn.Linear(heads, heads)
        self.proj_w = nn.Linear(heads, heads)

    def forward(self, x: Any) -> Any:
        n, length, width = x.shape
        size = width // self.heads
        q, k, v = self.qkv(x).reshape([n, length, 3, self.heads, size]).transpose([2, 0, 3, 1, 4]).unbind(0)
        scores = self.proj_l((q @ k.transpose([0, 1, 3, 2]) * size**-0.5).transpose([0, 2, 3, 1]))
        weights = self.proj_w(F.softmax(scores, axis=2)).transpose([0, 3, 1, 2])
        return self.proj((weights @ v).transpose([0, 2, 1, 3]).reshape([n, length, width]))


class Block(nn.Layer):
    """Attention and a small network, each with learnt factors and beside a shortcut.

    Args:
        width, heads: of the tokens.
        scale: start of the factors.
        last: only the class token learns, `forward(patches, class token)`.
    """

    def __init__(self, width: int, heads: int, scale: float, last: bool = False):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, epsilon=1e-6)
        self.attn = ClassAttention(width, heads) if last else TalkingAttention(width, heads)
        self.norm2 = nn.LayerNorm(width, epsilon=1e-6)
        self.mlp = Mlp(width, 4 * width)
        self.gamma_1 = self.create_parameter([width], default_initializer=Constant(scale))
        self.gamma_2 = self.create_parameter([width], default_initializer=Constant(scale))

    def forward(self, x: Any, cls: Any = None) -> Any:
        seen, x = (x, x) if cls is None else (concat([cls, x], axis=1), cls)
        x = x + self.gamma_1 * self.attn(self.norm1(seen))
        return x + self.gamma_2 * self.mlp(self.norm2(x))


class CaiT(nn.Layer):
    """Blocks of patches, then two blocks of the class token.

    Args:
        width, depth, heads: of the transformer.
        scale: start of the learnt factors.
        img_size: edge of the picture.
        num_classes: outputs.
    """

    def __init__(
        self, width: int, depth: int, heads: int, scale: float = 1e-5, img_size: int = 224, num_classes: int = 1000
    ):
        super().__init__()
        self.cls_token = token(self, 1, 1, width)
        self.pos_embed = token(self, 1, (img_size // 16) ** 2, width)
        self.patch_embed = PatchEmbed(16, width)
        self.blocks = nn.Sequential(*(Block(width, heads, scale) for _ in range(depth)))
        self.blocks_token_only = nn.LayerList([Block(width, heads, scale, last=True) for _ in range(2)])
        self.norm = nn.LayerNorm(width, epsilon=1e-6)
        self.head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.blocks(self.patch_embed(x) + self.pos_embed)
        cls = self.cls_token.expand([x.shape[0], -1, -1])
        for block in self.blocks_token_only:
            cls = block(x, cls)
        return self.head(self.norm(cls[:, 0]))


# width, depth, heads, start of the factors, edges of pictures
SIZES = {
    "xxs24": (192, 24, 4, 1e-5, (224, 384)),
    "xxs36": (192, 36, 4, 1e-5, (224, 384)),
    "xs24": (288, 24, 6, 1e-5, (384,)),
    "s24": (384, 24, 8, 1e-5, (224, 384)),
    "s36": (384, 36, 8, 1e-6, (384,)),
    "m36": (768, 36, 16, 1e-6, (384,)),
    "m48": (768, 48, 16, 1e-6, (448,)),
}
for _name, (_width, _depth, _heads, _scale, _edges) in SIZES.items():
    for _edge in _edges:
        _options = {"width": _width, "depth": _depth, "heads": _heads, "scale": _scale, "img_size": _edge}
        register("cait", CaiT, {f"cait_{_name}_{_edge}": _options})
