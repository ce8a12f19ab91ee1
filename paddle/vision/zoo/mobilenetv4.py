"""MobileNetV4 (Qin et al., "MobileNetV4: universal models for the mobile ecosystem", 2024); keys of the weights as
in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn
from ...nn import functional as F
from . import blocks
from .blocks import Scale, classifier
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"))


class Fused(nn.Layer):
    """Wider by a full convolution, narrower."""

    def __init__(self, inputs: int, outputs: int, hidden: int, stride: int, act: Any):
        super().__init__()
        self.conv_exp = conv_bn(inputs, hidden, 3, stride, act=act)
        self.conv_pwl = conv_bn(hidden, outputs, act=None)

    def forward(self, x: Any) -> Any:
        return self.conv_pwl(self.conv_exp(x))


class Universal(nn.Layer):
    """The universal inverted bottleneck: convolutions by each channel before (`start`) and between (`kernel`), each
    optional."""

    def __init__(
        self, inputs: int, outputs: int, hidden: int, start: int, kernel: int, stride: int, act: Any, scale: bool
    ):
        super().__init__()
        self.dw_start = conv_bn(inputs, inputs, start, 1, inputs, act=None) if start else nn.Identity()
        self.pw_exp = conv_bn(inputs, hidden, act=act)
        self.dw_mid = conv_bn(hidden, hidden, kernel, stride, hidden, act=act) if kernel else nn.Identity()
        self.pw_proj = conv_bn(hidden, outputs, act=None)
        self.layer_scale = Scale(outputs, 1e-5, pictures=True) if scale else nn.Identity()
        self.skip = stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        y = self.layer_scale(self.pw_proj(self.dw_mid(self.pw_exp(self.dw_start(x)))))
        return x + y if self.skip else y


class Attention(nn.Layer):
    """Attention with many queries and one head of keys and values, which come from every second place where `stride`
    is 2."""

    def __init__(self, width: int, heads: int, head: int, stride: int):
        super().__init__()
        self.heads, self.head = heads, head
        self.norm = nn.BatchNorm2D(width)
        self.query_proj = nn.Conv2D(width, heads * head, 1, bias_attr=False)
        down = functools.partial(conv_bn, width, width, 3, stride, width, act=None)
        self.key_down_proj = down() if stride > 1 else nn.Identity()
        self.value_down_proj = down() if stride > 1 else nn.Identity()
        self.key_proj = nn.Conv2D(width, head, 1, bias_attr=False)
        self.value_proj = nn.Conv2D(width, head, 1, bias_attr=False)
        self.proj = nn.Conv2D(heads * head, width, 1, bias_attr=False)
        self.layer_scale = Scale(width, 1e-5, pictures=True)

    def forward(self, x: Any) -> Any:
        y = self.norm(x)
        n, _, height, width = y.shape
        queries = self.query_proj(y).reshape([n, self.heads, self.head, height * width])
        keys = self.key_proj(self.key_down_proj(y)).flatten(2).unsqueeze(1)
        values = self.value_proj(self.value_down_proj(y)).flatten(2).unsqueeze(1)
        # PaddleClas divides by the width of all heads together
        weights = F.softmax(queries.matmul(keys, transpose_x=True) * (self.heads * self.head) ** -0.5, axis=-1)
        found = values.matmul(weights, transpose_y=True).reshape([n, self.heads * self.head, height, width])
        return x + self.layer_scale(self.proj(found))


class MobileNetV4(nn.Layer):
    """Blocks by a table.

    Args:
        rows: ("conv", channels, kernel, stride), ("fused", channels, hidden, stride), ("attention", heads, channels of
            a head, stride of keys) or (channels, hidden, kernel before, kernel between, stride) of `Universal`.
        stem: channels of the first convolution.
        act: activation.
        hybrid: learnt scales in the universal blocks.
        num_classes: outputs.
    """

    def __init__(self, rows: tuple, stem: int = 32, act: Any = nn.ReLU, hybrid: bool = False, num_classes: int = 1000):
        super().__init__()
        self.conv_stem = conv_bn(3, stem, 3, 2, act=act)
        layers: list[nn.Layer] = []
        inputs = stem
        for row in rows:
            if row[0] == "attention":
                layers.append(Attention(inputs, *row[1:]))
                continue
            if row[0] == "conv":
                layers.append(conv_bn(inputs, row[1], row[2], row[3], act=act))
            elif row[0] == "fused":
                layers.append(Fused(inputs, *row[1:], act))
            else:
                layers.append(Universal(inputs, *row, act, hybrid))
            inputs = row[0] if isinstance(row[0], int) else row[1]
        self.blocks = nn.Sequential(*layers)
        self.conv_head = conv_bn(inputs, 1280, act=act)
        self.classifier = classifier(1280, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.blocks(self.conv_stem(x)).mean([2, 3], keepdim=True)
        return self.classifier(self.conv_head(x).flatten(1))


def _stage(width: int, *rows: tuple) -> tuple:
    """Universal blocks of one width, the first with stride 2: rows (hidden, kernel before, kernel between, repeats);
    a row that
    is a name with numbers stays."""
    found: list[tuple] = []
    for row in rows:
        if isinstance(row[0], str):
            found.append(row)
            continue
        hidden, start, kernel, *repeats = row
        for _ in range(*repeats or (1,)):
            found.append((width, hidden, start, kernel, 1 if found else 2))
    return tuple(found)


_LAST = ("conv", 960, 1, 1)
_A160, _A192 = ("attention", 4, 64, 2), ("attention", 8, 48, 2)
_A256, _A512 = ("attention", 4, 64, 1), ("attention", 8, 64, 1)
SMALL = (
    ("conv", 32, 3, 2),
    ("conv", 32, 1, 1),
    ("conv", 96, 3, 2),
    ("conv", 64, 1, 1),
    *_stage(96, (192, 5, 5), (192, 0, 3, 4), (384, 3, 0)),
    *_stage(128, (576, 3, 3), (512, 5, 5), (512, 0, 5), (384, 0, 5), (512, 0, 3, 2)),
    _LAST,
)
MEDIUM = (
    ("fused", 48, 128, 2),
    *_stage(80, (192, 3, 5), (160, 3, 3)),
    *_stage(160, (480, 3, 5), (640, 3, 3, 2), (640, 3, 5), (640, 3, 3), (640, 3, 0), (320, 0, 0), (640, 3, 0)),
    *_stage(
        256,
        (960, 5, 5),
        (1024, 5, 5),
        (1024, 3, 5, 2),
        (1024, 0, 0),
        (1024, 3, 0),
        (512, 3, 5),
        (1024, 5, 5),
        (1024, 0, 0, 2),
        (512, 5, 0),
    ),
    _LAST,
)
LARGE = (
    ("fused", 48, 96, 2),
    *_stage(96, (192, 3, 5), (384, 3, 3)),
    *_stage(192, (384, 3, 5), (768, 3, 3, 3), (768, 3, 5), (768, 5, 3, 5), (768, 3, 0)),
    *_stage(512, (768, 5, 5), (2048, 5, 5, 3), (2048, 5, 0), (2048, 5, 3), (2048, 5, 0, 2), (2048, 5, 3), (2048, 5, 5)),
    *((512, 2048, 5, 0, 1),) * 3,
    _LAST,
)
HYBRID_MEDIUM = (
    ("fused", 48, 128, 2),
    *_stage(80, (192, 3, 5), (160, 3, 3)),
    *_stage(160, (480, 3, 5), (320, 0, 0), (640, 3, 3), (640, 3, 5), _A160, (640, 3, 3), _A160, (640, 3, 0), _A160),
    *((160, 640, 3, 3, 1), _A160, (160, 640, 3, 0, 1)),
    *_stage(
        256, (960, 5, 5), (1024, 5, 5), (1024, 3, 5, 2), (512, 0, 0), (512, 3, 5), (512, 0, 0), (1024, 0, 0), _A256
    ),
    *((256, 1024, 3, 0, 1), _A256, (256, 1024, 5, 5, 1), _A256, (256, 1024, 5, 0, 1), _A256, (256, 1024, 5, 0, 1)),
    _LAST,
)
HYBRID_LARGE = (
    ("fused", 48, 96, 2),
    *_stage(96, (192, 3, 5), (384, 3, 3)),
    *_stage(192, (384, 3, 5), (768, 3, 3, 3), (768, 3, 5), (768, 5, 3, 2)),
    *(_A192, (192, 768, 5, 3, 1)) * 3,
    *(_A192, (192, 768, 3, 0, 1)),
    *_stage(512, (768, 5, 5), (2048, 5, 5, 3), (2048, 5, 0), (2048, 5, 3), (2048, 5, 0, 2), (2048, 5, 3), (2048, 5, 5)),
    *(_A512, (512, 2048, 5, 0, 1)) * 4,
    _LAST,
)
register(
    "mobilenetv4",
    MobileNetV4,
    {
        "mobilenetv4_conv_small": {"rows": SMALL},
        "mobilenetv4_conv_medium": {"rows": MEDIUM},
        "mobilenetv4_conv_large": {"rows": LARGE, "stem": 24},
        "mobilenetv4_hybrid_medium": {"rows": HYBRID_MEDIUM, "hybrid": True},
        "mobilenetv4_hybrid_large": {"rows": HYBRID_LARGE, "stem": 24, "act": nn.GELU, "hybrid": True},
    },
)
