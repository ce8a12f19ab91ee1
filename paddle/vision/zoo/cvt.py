"""CvT (Wu et al., "CvT: introducing convolutions to vision transformers", 2021); keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn import functional as F
from .blocks import Mlp, classifier, token
from .registry import register


class QuickGELU(nn.Layer):
    """An approximation of GELU by the logistic function."""

    def forward(self, x: Any) -> Any:
        return x * F.sigmoid(1.702 * x)


class Attention(nn.Layer):
    """Attention whose queries, keys and values come from convolutions; those of keys and values thin out.

    The scores are divided by the root of the whole width, not of a head's.
    """

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        for name, stride in (("q", 1), ("k", 2), ("v", 2)):
            conv = nn.Conv2D(width, width, 3, stride, padding=1, groups=width, bias_attr=False)
            setattr(self, f"conv_proj_{name}", nn.Sequential(("conv", conv), ("bn", nn.BatchNorm2D(width))))
        for name in ("proj_q", "proj_k", "proj_v", "proj"):
            setattr(self, name, nn.Linear(width, width))

    def forward(self, x: Any, height: int, width: int) -> Any:
        n, length, channels = x.shape
        extra = length - height * width
        image = x[:, extra:].transpose([0, 2, 1]).reshape([n, channels, height, width])

        def part(conv: nn.Layer, proj: nn.Layer) -> Any:
            tokens = conv(image).flatten(2).transpose([0, 2, 1])
            tokens = concat([x[:, :extra], tokens], axis=1) if extra else tokens
            return proj(tokens).reshape([n, -1, self.heads, channels // self.heads])

        q = part(self.conv_proj_q, self.proj_q) * self.heads**-0.5
        k, v = part(self.conv_proj_k, self.proj_k), part(self.conv_proj_v, self.proj_v)
        return self.proj(F.scaled_dot_product_attention(q, k, v).reshape(x.shape))


class Block(nn.Layer):
    """Attention and a small network, each beside a shortcut."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, 4 * width, QuickGELU)

    def forward(self, x: Any, height: int, width: int) -> Any:
        x = x + self.attn(self.norm1(x), height, width)
        return x + self.mlp(self.norm2(x))


class Patches(nn.Layer):
    """Overlapping patches of [N, C, H, W] as normalised tokens."""

    def __init__(self, inputs: int, width: int, kernel: int, stride: int, padding: int):
        super().__init__()
        self.proj = nn.Conv2D(inputs, width, kernel, stride, padding)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Any) -> tuple[Any, int, int]:
        x = self.proj(x)
        return self.norm(x.flatten(2).transpose([0, 2, 1])), x.shape[2], x.shape[3]


class Stage(nn.Layer):
    """Patches and blocks; the last stage has a class token, and gives it."""

    def __init__(self, inputs: int, width: int, depth: int, heads: int, patch: tuple[int, int, int], last: bool):
        super().__init__()
        self.patch_embed = Patches(inputs, width, *patch)
        self.cls_token = token(self, 1, 1, width) if last else None
        self.blocks = nn.LayerList([Block(width, heads) for _ in range(depth)])

    def forward(self, x: Any) -> Any:
        x, height, width = self.patch_embed(x)
        if self.cls_token is not None:
            x = concat([self.cls_token.expand([x.shape[0], -1, -1]), x], axis=1)
        for block in self.blocks:
            x = block(x, height, width)
        return x.transpose([0, 2, 1]).reshape([x.shape[0], -1, height, width]) if self.cls_token is None else x[:, 0]


class CvT(nn.Layer):
    """Three stages.

    Args:
        depths, widths, heads: of the stages.
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        widths: tuple[int, ...] = (64, 192, 384),
        heads: tuple[int, ...] = (1, 3, 6),
        num_classes: int = 1000,
    ):
        super().__init__()
        rows = zip((3, *widths), widths, depths, heads, ((7, 4, 2), (3, 2, 1), (3, 2, 1)), (False, False, True))
        for i, row in enumerate(rows):
            setattr(self, f"stage{i}", Stage(*row))
        self.norm = nn.LayerNorm(widths[-1])
        self.head = classifier(widths[-1], num_classes)

    def forward(self, x: Any) -> Any:
        return self.head(self.norm(self.stage2(self.stage1(self.stage0(x)))))


for _edge in (224, 384):
    register("cvt", CvT, {f"cvt_13_{_edge}": {"depths": (1, 2, 10)}, f"cvt_21_{_edge}": {"depths": (1, 4, 16)}})
register("cvt", CvT, {"cvt_w24_384": {"depths": (2, 2, 20), "widths": (192, 768, 1024), "heads": (3, 12, 16)}})
