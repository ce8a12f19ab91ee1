"""DeiT III (Touvron et al., "DeiT III: revenge of the ViT", 2022)."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from .blocks import PatchEmbed, classifier, token
from .registry import register
from .vit import Block


class DeiT3(nn.Layer):
    """A vision transformer whose class token has no position and whose blocks have learnt factors.

    Args:
        patch: edge of a patch.
        width, depth, heads: of the transformer.
        img_size: edge of the picture.
        num_classes: outputs.
    """

    def __init__(self, patch: int, width: int, depth: int, heads: int, img_size: int = 224, num_classes: int = 1000):
        super().__init__()
        self.cls_token = token(self, 1, 1, width)
        self.pos_embed = token(self, 1, (img_size // patch) ** 2, width)
        self.patch_embed = PatchEmbed(patch, width)
        self.blocks = nn.Sequential(*(Block(width, heads, scale=1e-6) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, epsilon=1e-6)
        self.head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.patch_embed(x) + self.pos_embed
        x = concat([self.cls_token.expand([x.shape[0], -1, -1]), x], axis=1)
        return self.head(self.norm(self.blocks(x)[:, 0]))


# width, depth, heads, patch, edges of pictures
SIZES = {
    "small": (384, 12, 6, 16, (224, 384)),
    "medium": (512, 12, 8, 16, (224,)),
    "base": (768, 12, 12, 16, (224, 384)),
    "large": (1024, 24, 16, 16, (224, 384)),
    "huge": (1280, 32, 16, 14, (224,)),
}
for _name, (_width, _depth, _heads, _patch, _edges) in SIZES.items():
    for _edge in _edges:
        _options = {"patch": _patch, "width": _width, "depth": _depth, "heads": _heads, "img_size": _edge}
        register("deit3", DeiT3, {f"deit3_{_name}_patch{_patch}_{_edge}": _options})
