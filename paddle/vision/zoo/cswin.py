"""CSWin (Dong et al., "CSWin transformer: a general vision transformer backbone with cross-shaped windows", 2021); keys of
the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...engine import errors
from ...nn import functional as F
from .blocks import Mlp, classifier
from .registry import register


class StripeAttention(nn.Layer):
    """Attention inside of windows of a picture [N, H, W, C]; a convolution of the values by each channel gives positions.

    Args:
        width, heads: of the picture.
        window: height and width of a window.
    """

    def __init__(self, width: int, heads: int, window: tuple[int, int]):
        super().__init__()
        self.heads, self.window = heads, window
        self.get_v = nn.Conv2D(width, width, 3, padding=1, groups=width)

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        n, height, width, channels = q.shape
        rows, columns = self.window
        grid = [n, height // rows, rows, width // columns, columns, channels]
        split = lambda x: x.reshape(grid).transpose([0, 1, 3, 2, 4, 5]).reshape([-1, rows, columns, channels])
        tokens = lambda x: x.reshape([-1, rows * columns, self.heads, channels // self.heads])
        v = split(v)
        positions = self.get_v(v.transpose([0, 3, 1, 2])).transpose([0, 2, 3, 1])
        x = F.scaled_dot_product_attention(tokens(split(q)), tokens(split(k)), tokens(v)) + tokens(positions)
        x = x.reshape([n, height // rows, width // columns, rows, columns, channels]).transpose([0, 1, 3, 2, 4, 5])
        return x.reshape([n, height, width, channels])


class Block(nn.Layer):
    """Attention, half of the channels in columns and half in rows, and a small network, each beside a shortcut.

    Args:
        width, heads: of the picture.
        edge: of the picture.
        stripe: width of a stripe; None: all channels see all.
    """

    def __init__(self, width: int, heads: int, edge: int, stripe: int | None):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        shapes = [(edge, edge)] if stripe is None else [(edge, stripe), (stripe, edge)]
        parts = len(shapes)
        self.attns = nn.LayerList([StripeAttention(width // parts, heads // parts, shape) for shape in shapes])
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, 4 * width)

    def forward(self, x: Any) -> Any:
        parts = len(self.attns)
        pieces = self.qkv(self.norm1(x)).chunk(3 * parts, axis=-1)
        x = x + self.proj(concat([a(*pieces[i::parts]) for i, a in enumerate(self.attns)], axis=-1))
        return x + self.mlp(self.norm2(x))


class Smaller(nn.Layer):
    """A convolution with a stride and normalisation; [N, H, W, C] to the same."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.conv = nn.Conv2D(inputs, outputs, 3, stride=2, padding=1)
        self.norm = nn.LayerNorm(outputs)

    def forward(self, x: Any) -> Any:
        return self.norm(self.conv(x.transpose([0, 3, 1, 2])).transpose([0, 2, 3, 1]))


class Patches(nn.Layer):
    """Overlapping patches of a picture [N, 3, H, W] as [N, H / 4, W / 4, C]."""

    def __init__(self, width: int):
        super().__init__()
        self.patch_embed = nn.Conv2D(3, width, 7, stride=4, padding=2)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Any) -> Any:
        return self.norm(self.patch_embed(x).transpose([0, 2, 3, 1]))


class Stage(nn.Layer):
    """Blocks, then a smaller picture."""

    def __init__(self, width: int, depth: int, heads: int, edge: int, stripe: int | None):
        super().__init__()
        self.blocks = nn.Sequential(*(Block(width, heads, edge, stripe) for _ in range(depth)))
        self.merge = nn.Identity() if stripe is None else Smaller(width, 2 * width)

    def forward(self, x: Any) -> Any:
        return self.merge(self.blocks(x))


class CSWin(nn.Layer):
    """Four stages.

    Args:
        width: of the first stage; it doubles.
        depths, heads: of the stages.
        stripes: widths of the stripes of the first three stages.
        img_size: edge of the picture.
        num_classes: outputs.
    """

    def __init__(
        self,
        width: int,
        depths: tuple[int, ...],
        heads: tuple[int, ...],
        stripes: tuple[int, ...] = (1, 2, 7),
        img_size: int = 224,
        num_classes: int = 1000,
    ):
        super().__init__()
        self.patch_embedding = Patches(width)
        self.stages = nn.LayerList()
        edge = img_size // 4
        for i, (depth, h, stripe) in enumerate(zip(depths, heads, (*stripes, None))):
            if stripe is not None and edge % stripe:
                raise errors.ValueError_(
                    f"CSWin: img_size, {img_size} gives stage {i + 1} an edge of {edge}, which stripes of {stripe} do not fill"
                )
            self.stages.append(Stage(width * 2**i, depth, h, edge, stripe))
            edge //= 2
        self.norm = nn.LayerNorm(8 * width)
        self.head = classifier(8 * width, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.patch_embedding(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(self.norm(x).mean([1, 2]))


_HEADS = {64: (2, 4, 8, 16), 96: (4, 8, 16, 32), 144: (6, 12, 24, 24)}
for _name, (_width, _depths) in {
    "tiny": (64, (1, 2, 21, 1)),
    "small": (64, (2, 4, 32, 2)),
    "base": (96, (2, 4, 32, 2)),
    "large": (144, (2, 4, 32, 2)),
}.items():
    _options = {"width": _width, "depths": _depths, "heads": _HEADS[_width]}
    register("cswin", CSWin, {f"cswin_transformer_{_name}_224": _options})
    if _name in ("base", "large"):
        _large = {**_options, "stripes": (1, 2, 12), "img_size": 384}
        register("cswin", CSWin, {f"cswin_transformer_{_name}_384": _large})
