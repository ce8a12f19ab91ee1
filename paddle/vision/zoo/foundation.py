"""Vision transformers trained without labels: CLIP (Radford et al., 2021), MoCo v3 (Chen et al., 2021), MAE (He et al.,
2021), BEiT v2 (Peng et al., 2022), CAE (Chen et al., 2022), EVA (Fang et al., 2022); keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ParamAttr, concat, nn, to_tensor
from ...nn import functional as F
from ...nn.initializer import Assign, Constant
from .blocks import Attention, Mlp, PatchEmbed, classifier, token
from .registry import register
from .vit import relative_index


class RelativeAttention(nn.Layer):
    """Attention with a learnt bias for each difference of positions; the class token has three entries of its own.

    Args:
        width, heads: of the tokens.
        edge: of the picture, in patches.
        apart: the biases of queries and values are parameters of their own, and keys have none.
    """

    def __init__(self, width: int, heads: int, edge: int, apart: bool = False):
        super().__init__()
        self.heads, self.apart = heads, apart
        if apart:
            self.q_bias = self.create_parameter([width], is_bias=True)
            self.v_bias = self.create_parameter([width], is_bias=True)
        count = (2 * edge - 1) ** 2
        self.relative_position_bias_table = self.create_parameter([count + 3, heads], default_initializer=Constant(0.0))
        index = np.empty((edge**2 + 1,) * 2, dtype="int64")
        index[1:, 1:] = relative_index(edge)
        index[0, :], index[:, 0], index[0, 0] = count, count + 1, count + 2
        self.register_buffer("relative_position_index", to_tensor(index))
        self.qkv = nn.Linear(width, 3 * width, bias_attr=False if apart else None)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        n, length, width = x.shape
        qkv = self.qkv(x)
        if self.apart:
            qkv = qkv + concat([self.q_bias, self.v_bias * 0, self.v_bias])
        q, k, v = qkv.reshape([n, length, 3, self.heads, width // self.heads]).unbind(2)
        bias = self.relative_position_bias_table.index_select(self.relative_position_index.flatten())
        bias = bias.reshape([1, length, length, self.heads]).transpose([0, 3, 1, 2]).expand([n, -1, -1, -1])
        return self.proj(F.scaled_dot_product_attention(q, k, v, bias).reshape(x.shape))


class Block(nn.Layer):
    """Attention and a small network, each beside a shortcut, perhaps with learnt factors."""

    def __init__(self, width: int, attention: nn.Layer, hidden: int, scale: float | None, epsilon: float):
        super().__init__()
        self.gamma_1 = self.gamma_2 = None
        if scale is not None:
            self.gamma_1 = self.create_parameter([width], default_initializer=Constant(scale))
            self.gamma_2 = self.create_parameter([width], default_initializer=Constant(scale))
        self.norm1 = nn.LayerNorm(width, epsilon=epsilon)
        self.attn = attention
        self.norm2 = nn.LayerNorm(width, epsilon=epsilon)
        self.mlp = Mlp(width, hidden)

    def forward(self, x: Any) -> Any:
        y = self.attn(self.norm1(x))
        x = x + (y if self.gamma_1 is None else self.gamma_1 * y)
        y = self.mlp(self.norm2(x))
        return x + (y if self.gamma_2 is None else self.gamma_2 * y)


class Head(nn.Layer):
    """The classifier; with `mean`, normalisation of the mean of the patches before it."""

    def __init__(self, width: int, mean: bool, num_classes: int):
        super().__init__()
        self.fc_norm = nn.LayerNorm(width) if mean else None
        self.fc_head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        return self.fc_head(x[:, 0] if self.fc_norm is None else self.fc_norm(x[:, 1:].mean(1)))


class FoundationViT(nn.Layer):
    """Patches and a class token through transformer blocks.

    Args:
        patch: edge of a patch.
        width, depth, heads: of the transformer.
        hidden: width of the small networks; None: four times the width.
        img_size: edge of the picture.
        positions: "absolute", "relative" or "both".
        scale: start of learnt factors of the blocks; None: no factors.
        normed: normalisation before the first block (CLIP).
        first_patch: the first patch, not the class token, is the result, as in PaddleClas for one of the networks.
        mean: the mean of the patches is the result.
        epsilon: of the normalisations.
        num_classes: outputs.
    """

    def __init__(
        self,
        patch: int,
        width: int,
        depth: int,
        heads: int,
        hidden: int | None = None,
        img_size: int = 224,
        positions: str = "absolute",
        scale: float | None = None,
        normed: bool = False,
        first_patch: bool = False,
        mean: bool = False,
        epsilon: float = 1e-5,
        num_classes: int = 1000,
    ):
        super().__init__()
        edge = img_size // patch
        self.first_patch = first_patch
        self.pos_embed = token(self, 1, edge**2 + 1, width) if positions != "relative" else None
        self.cls_token = token(self, 1, 1, width)
        self.proj = token(self, width, 512)
        self.patch_embed = nn.Sequential(("proj", nn.Conv2D(3, width, patch, stride=patch, bias_attr=False)))
        self.ln_pre = nn.LayerNorm(width) if normed else nn.Identity()
        attention = Attention if positions == "absolute" else RelativeAttention
        extra = () if positions == "absolute" else (edge,)
        self.blocks = nn.Sequential(
            *(Block(width, attention(width, heads, *extra), hidden or 4 * width, scale, epsilon) for _ in range(depth))
        )
        self.norm = nn.LayerNorm(width, epsilon=epsilon)
        self.head = Head(width, mean, num_classes)

    def tokens(self, x: Any) -> Any:
        """The normalised tokens, [N, L, width]."""
        x = self.patch_embed(x).flatten(2).transpose([0, 2, 1])
        x = concat([self.cls_token.expand([x.shape[0], -1, -1]), x], axis=1)
        x = self.blocks(self.ln_pre(x if self.pos_embed is None else x + self.pos_embed))
        return self.norm(x[:, 1:] if self.first_patch else x)

    def embed(self, x: Any) -> Any:
        """The tokens in the space that pictures and texts share, [N, L, 512]; `proj` serves only here."""
        return self.tokens(x) @ self.proj

    def forward(self, x: Any) -> Any:
        return self.head(self.tokens(x))


def wave_positions(edge: int, width: int) -> np.ndarray:
    """[1, edge * edge + 1, width]: sines and cosines of the places; zero for the class token."""
    rows, columns = np.meshgrid(np.arange(edge), np.arange(edge), indexing="ij")
    speed = 1 / 10000 ** (np.arange(width // 4) / (width // 4))
    rows, columns = rows.reshape(-1, 1) * speed, columns.reshape(-1, 1) * speed
    table = np.concatenate([np.sin(rows), np.cos(rows), np.sin(columns), np.cos(columns)], axis=1)
    return np.concatenate([np.zeros((1, width)), table])[None].astype("float32")


class CAE(nn.Layer):
    """A vision transformer with fixed and relative positions and the mean of the patches as its result.

    Args:
        patch: edge of a patch.
        width, depth, heads: of the transformer.
        img_size: edge of the picture.
        num_classes: outputs.
    """

    def __init__(self, patch: int, width: int, depth: int, heads: int, img_size: int = 224, num_classes: int = 1000):
        super().__init__()
        edge = img_size // patch
        self.cls_token = token(self, 1, 1, width)
        places = wave_positions(edge, width)
        fixed = ParamAttr(initializer=Assign(places), trainable=False)
        self.pos_embed = self.create_parameter(list(places.shape), attr=fixed)
        self.patch_embed = PatchEmbed(patch, width)
        self.blocks = nn.Sequential(
            *(
                Block(width, RelativeAttention(width, heads, edge, apart=True), 4 * width, 0.1, 1e-6)
                for _ in range(depth)
            )
        )
        self.fc_norm = nn.LayerNorm(width, epsilon=1e-6)
        self.head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.patch_embed(x)
        x = concat([self.cls_token.expand([x.shape[0], -1, -1]), x], axis=1) + self.pos_embed
        return self.head(self.fc_norm(self.blocks(x)[:, 1:].mean(1)))


_SMALL = {"width": 384, "depth": 12, "heads": 12}
_BASE = {"width": 768, "depth": 12, "heads": 12}
_LARGE = {"width": 1024, "depth": 24, "heads": 16}
_RELATIVE = {"patch": 16, "positions": "relative", "scale": 0.1, "epsilon": 1e-6}
register(
    "foundation",
    FoundationViT,
    {
        "clip_vit_base_patch32_224": {**_BASE, "patch": 32, "normed": True},
        "clip_vit_base_patch16_224": {**_BASE, "patch": 16, "normed": True, "first_patch": True},
        "clip_vit_large_patch14_224": {**_LARGE, "patch": 14, "normed": True},
        "clip_vit_large_patch14_336": {**_LARGE, "patch": 14, "normed": True, "img_size": 336},
        "beitv2_vit_base_patch16_224": {**_BASE, **_RELATIVE},
        "beitv2_vit_large_patch16_224": {**_LARGE, **_RELATIVE},
        "cae_vit_base_patch16_224": {**_BASE, **_RELATIVE, "positions": "both"},
        "mocov3_vit_small": {**_SMALL, "patch": 16},
        "mocov3_vit_base": {**_BASE, "patch": 16},
        "mae_vit_base_patch16": {**_BASE, "patch": 16},
        "mae_vit_large_patch16": {**_LARGE, "patch": 16},
        "mae_vit_huge_patch14": {"width": 1280, "depth": 32, "heads": 16, "patch": 14, "mean": True},
        "eva_vit_giant_patch14": {"width": 1408, "depth": 40, "heads": 16, "patch": 14, "hidden": 6144},
    },
)
register(
    "foundation",
    CAE,
    {"cae_base_patch16_224": {**_BASE, "patch": 16}, "cae_large_patch16_224": {**_LARGE, "patch": 16}},
)
