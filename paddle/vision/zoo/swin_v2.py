"""Swin Transformer V2 (Liu et al., "Swin Transformer V2: scaling up capacity and resolution", 2021); keys of the weights as
in PaddleClas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import concat, nn, to_tensor
from ...nn import functional as F
from ...nn.initializer import Constant
from .blocks import Mlp
from .registry import register
from .swin import SIZES, Windowed, join, shifted_mask, windows
from .vit import relative_index


def log_places(edge: int, trained: int) -> np.ndarray:
    """[1, 2 edge - 1, 2 edge - 1, 2]: differences of places on a logarithmic scale, of windows trained with an edge."""
    place = np.arange(1 - edge, edge, dtype="float32") * 8 / ((trained or edge) - 1 or 1)
    place = np.sign(place) * np.log2(np.abs(place) + 1) / 3
    return np.stack(np.meshgrid(place, place, indexing="ij"), axis=-1)[None].astype("float32")


class WindowAttention(nn.Layer):
    """Attention inside of windows by the cosine of query and key, with a bias that a small network finds from the
    difference of places."""

    def __init__(self, width: int, heads: int, edge: int, trained: int):
        super().__init__()
        self.heads = heads
        self.logit_scale = self.create_parameter([heads, 1, 1], default_initializer=Constant(math.log(10)))
        self.cpb_mlp = nn.Sequential(nn.Linear(2, 512), nn.ReLU(), nn.Linear(512, heads, bias_attr=False))
        self.register_buffer("relative_coords_table", to_tensor(log_places(edge, trained)))
        self.register_buffer("relative_position_index", to_tensor(relative_index(edge)))
        self.qkv = nn.Linear(width, 3 * width, bias_attr=False)
        self.q_bias = self.create_parameter([width], is_bias=True)
        self.v_bias = self.create_parameter([width], is_bias=True)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Any, mask: Any = None) -> Any:
        n, length, width = x.shape
        qkv = self.qkv(x) + concat([self.q_bias, self.v_bias * 0, self.v_bias])
        q, k, v = qkv.reshape([n, length, 3, self.heads, width // self.heads]).transpose([2, 0, 3, 1, 4]).unbind(0)
        scores = F.normalize(q, axis=-1) @ F.normalize(k, axis=-1).transpose([0, 1, 3, 2])
        scores = scores * self.logit_scale.clip(max=math.log(100)).exp()
        table = self.cpb_mlp(self.relative_coords_table).reshape([-1, self.heads])
        bias = table.index_select(self.relative_position_index.flatten()).reshape([length, length, self.heads])
        scores = scores + 16 * F.sigmoid(bias.transpose([2, 0, 1]))
        if mask is not None:
            scores = scores.reshape([-1, mask.shape[0], self.heads, length, length]) + mask.unsqueeze(1)
            scores = scores.reshape([n, self.heads, length, length])
        return self.proj((F.softmax(scores, axis=-1) @ v).transpose([0, 2, 1, 3]).reshape([n, length, width]))


class Block(nn.Layer):
    """Attention in windows, perhaps shifted, and a small network; the results, not the inputs, are normalised."""

    def __init__(self, width: int, heads: int, edge: int, shift: int, size: int, trained: int):
        super().__init__()
        self.edge, self.shift = edge, shift
        self.norm1 = nn.LayerNorm(width)
        self.attn = WindowAttention(width, heads, edge, trained)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, 4 * width)
        mask = to_tensor(shifted_mask(size, size, edge, shift)) if shift else None
        self.register_buffer("mask", mask, persistable=False)

    def forward(self, x: Any) -> Any:
        height, width = x.shape[1:3]
        y = x.roll([-self.shift, -self.shift], axis=[1, 2]) if self.shift else x
        y = join(self.attn(windows(y, self.edge), self.mask), self.edge, height, width)
        if self.shift:
            y = y.roll([self.shift, self.shift], axis=[1, 2])
        x = x + self.norm1(y)
        return x + self.norm2(self.mlp(x))


class Merge(nn.Layer):
    """Four neighbours become one, of twice the width."""

    def __init__(self, width: int):
        super().__init__()
        self.reduction = nn.Linear(4 * width, 2 * width, bias_attr=False)
        self.norm = nn.LayerNorm(2 * width)

    def forward(self, x: Any) -> Any:
        corners = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        return self.norm(self.reduction(concat(corners, axis=-1)))


class SwinV2(Windowed):
    """Four stages of windowed attention.

    Args:
        width: of the first stage; it doubles.
        depths, heads: of the stages.
        window: edge of a window.
        trained: edges of the windows of each stage of which the biases were learnt; 0: the same as now.
        img_size: edge of the picture; windows must fill the picture of every stage.
        num_classes: outputs.
    """

    def __init__(
        self,
        width: int,
        depths: tuple[int, ...],
        heads: tuple[int, ...],
        window: int,
        trained: tuple[int, ...] = (0, 0, 0, 0),
        img_size: int = 256,
        num_classes: int = 1000,
    ):
        super().__init__(
            lambda stage, *of: Block(*of, trained[stage]), Merge, width, depths, heads, window, img_size, num_classes
        )


for _name, (_width, _depths, _heads) in SIZES.items():
    _options = {"width": _width, "depths": _depths, "heads": _heads}
    _trained = (12, 12, 12, 6)
    if _name != "large":
        register("swin_v2", SwinV2, {f"swin_transformer_v2_{_name}_patch4_window8_256": {**_options, "window": 8}})
    register(
        "swin_v2",
        SwinV2,
        {
            f"swin_transformer_v2_{_name}_patch4_window16_256": {
                **_options,
                "window": 16,
                "trained": _trained if _name == "large" else (0, 0, 0, 0),
            }
        },
    )
    if _name in ("base", "large"):
        _wide = {**_options, "window": 24, "trained": _trained, "img_size": 384}
        register("swin_v2", SwinV2, {f"swin_transformer_v2_{_name}_patch4_window24_384": _wide})
