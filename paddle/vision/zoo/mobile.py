"""Networks of inverted residuals by tables: EfficientNet-Lite (2020), EfficientNetV2 (Tan and Le, 2021), MnasNet
(Tan et al., 2018)."""

from __future__ import annotations

import math
from typing import Any

from ... import nn
from .blocks import SqueezeExcite, classifier, conv_bn, make_divisible, pool
from .efficientnet import SIZES
from .registry import register


class Conv(nn.Layer):
    """One convolution, beside a shortcut where the shape stays and `skip`."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, act: Any, skip: bool = False, **_: Any):
        super().__init__()
        self.conv = conv_bn(inputs, outputs, kernel, stride, act=act)
        self.skip = skip and stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.skip else self.conv(x)


class Separable(nn.Layer):
    """By each channel, then of all channels."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int,
        act: Any,
        squeeze: float = 0,
        skip: bool = True,
        **_: Any,
    ):
        super().__init__()
        self.depthwise = conv_bn(inputs, inputs, kernel, stride, inputs, act=act)
        self.se = SqueezeExcite(inputs, int(inputs * squeeze), act) if squeeze else nn.Identity()
        self.project = conv_bn(inputs, outputs, act=None)
        self.skip = skip and stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        y = self.project(self.se(self.depthwise(x)))
        return x + y if self.skip else y


class Inverted(nn.Layer):
    """Wider, by each channel, squeeze and excitation, narrower."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int,
        act: Any,
        expand: float,
        squeeze: float = 0,
        skip: bool = True,
    ):
        super().__init__()
        hidden = make_divisible(inputs * expand)
        self.expand = conv_bn(inputs, hidden, act=act)
        self.depthwise = conv_bn(hidden, hidden, kernel, stride, hidden, act=act)
        self.se = SqueezeExcite(hidden, int(inputs * squeeze), act) if squeeze else nn.Identity()
        self.project = conv_bn(hidden, outputs, act=None)
        self.skip = skip and stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        y = self.project(self.se(self.depthwise(self.expand(x))))
        return x + y if self.skip else y


class Fused(nn.Layer):
    """Wider by a full convolution, narrower."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, act: Any, expand: float, **_: Any):
        super().__init__()
        hidden = make_divisible(inputs * expand)
        self.expand = conv_bn(inputs, hidden, kernel, stride, act=act)
        self.project = conv_bn(hidden, outputs, act=None)
        self.skip = stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        y = self.project(self.expand(x))
        return x + y if self.skip else y


BLOCKS = {"conv": Conv, "separable": Separable, "inverted": Inverted, "fused": Fused}


def round_half_up(v: float) -> int:
    """The nearest multiple of 8."""
    return int(v + 4) // 8 * 8


class MobileNet(nn.Layer):
    """Stages of blocks by a table.

    Args:
        stages: rows (block, repeats, channels, kernel, stride of the first, further options of the block).
        stem: channels of the first convolution.
        features: channels of the last convolution; None: 1280, scaled.
        width, depth: factors of the channels and repeats.
        act: activation.
        fixed: stem, last convolution and the repeats of the outer stages are not scaled.
        nearest: widths go to the nearest multiple of 8, however much they shrink.
        num_classes: outputs.
    """

    def __init__(
        self,
        stages: tuple,
        stem: int = 32,
        features: int | None = None,
        width: float = 1.0,
        depth: float = 1.0,
        act: Any = nn.Silu,
        fixed: bool = False,
        nearest: bool = False,
        num_classes: int = 1000,
    ):
        super().__init__()

        def scaled(channels: int) -> int:
            return max(8, round_half_up(channels * width)) if nearest else make_divisible(channels * width)

        stem = stem if fixed else scaled(stem)
        features = features or (1280 if fixed else scaled(1280))
        self.stem = conv_bn(3, stem, 3, 2, act=act)
        blocks: list[nn.Layer] = []
        inputs = stem
        for row, (kind, repeats, channels, kernel, stride, options) in enumerate(stages):
            outer = fixed and row in (0, len(stages) - 1)
            for i in range(repeats if outer else math.ceil(repeats * depth)):
                step = stride if i == 0 else 1
                blocks.append(BLOCKS[kind](inputs, scaled(channels), kernel, step, act, **options))
                inputs = scaled(channels)
        self.blocks = nn.Sequential(*blocks)
        self.features = conv_bn(inputs, features, act=act)
        self.head = classifier(features, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.blocks(self.stem(x))
        return self.head(pool(self.features(x)))


def _inverted(repeats: int, channels: int, kernel: int, stride: int, expand: float, squeeze: float = 0) -> tuple:
    return ("inverted", repeats, channels, kernel, stride, {"expand": expand, "squeeze": squeeze})


def _efficient(squeeze: float) -> tuple:
    return (
        ("separable", 1, 16, 3, 1, {"squeeze": squeeze}),
        _inverted(2, 24, 3, 2, 6, squeeze),
        _inverted(2, 40, 5, 2, 6, squeeze),
        _inverted(3, 80, 3, 2, 6, squeeze),
        _inverted(3, 112, 5, 1, 6, squeeze),
        _inverted(4, 192, 5, 2, 6, squeeze),
        _inverted(1, 320, 3, 1, 6, squeeze),
    )


LITE = {"lite0": "b0", "lite1": "b1", "lite2": "b2", "lite3": "b3", "lite4": "b4"}
register(
    "efficientnet",
    MobileNet,
    {
        f"efficientnet_{n}": {
            "stages": _efficient(0),
            "width": SIZES[b][0],
            "depth": SIZES[b][1],
            "act": nn.ReLU6,
            "fixed": True,
        }
        for n, b in LITE.items()
    },
)


def _second(fused: tuple, inverted: tuple) -> tuple:
    """EfficientNetV2: rows (repeats, channels, stride, expansion); the first fused one is a plain convolution."""
    (repeats, channels, _, _), *rest = fused
    return (
        ("conv", repeats, channels, 3, 1, {"skip": True}),
        *(("fused", r, c, 3, s, {"expand": e}) for r, c, s, e in rest),
        *(_inverted(r, c, 3, s, e, 0.25) for r, c, s, e in inverted),
    )


_V2B = _second(
    ((1, 16, 1, 1), (2, 32, 2, 4), (2, 48, 2, 4)),
    ((3, 96, 2, 4), (5, 112, 1, 6), (8, 192, 2, 6)),
)
V2 = {
    "s": (24, ((2, 24, 1, 1), (4, 48, 2, 4), (4, 64, 2, 4)), ((6, 128, 2, 4), (9, 160, 1, 6), (15, 256, 2, 6))),
    "m": (
        24,
        ((3, 24, 1, 1), (5, 48, 2, 4), (5, 80, 2, 4)),
        ((7, 160, 2, 4), (14, 176, 1, 6), (18, 304, 2, 6), (5, 512, 1, 6)),
    ),
    "l": (
        32,
        ((4, 32, 1, 1), (7, 64, 2, 4), (7, 96, 2, 4)),
        ((10, 192, 2, 4), (19, 224, 1, 6), (25, 384, 2, 6), (7, 640, 1, 6)),
    ),
    "xl": (
        32,
        ((4, 32, 1, 1), (8, 64, 2, 4), (8, 96, 2, 4)),
        ((16, 192, 2, 4), (24, 256, 1, 6), (32, 512, 2, 6), (8, 640, 1, 6)),
    ),
}
register(
    "efficientnetv2",
    MobileNet,
    {f"efficientnetv2_{n}": {"stages": _second(f, i), "stem": stem} for n, (stem, f, i) in V2.items()},
)
register(
    "efficientnetv2",
    MobileNet,
    {
        f"efficientnetv2_{n}": {"stages": _V2B, "width": SIZES[n][0], "depth": SIZES[n][1], "nearest": True}
        for n in ("b0", "b1", "b2", "b3")
    },
)

_MNAS_B1 = (
    ("separable", 1, 16, 3, 1, {"skip": False}),
    _inverted(3, 24, 3, 2, 3),
    _inverted(3, 40, 5, 2, 3),
    _inverted(3, 80, 5, 2, 6),
    _inverted(2, 96, 3, 1, 6),
    _inverted(4, 192, 5, 2, 6),
    _inverted(1, 320, 3, 1, 6),
)
_MNAS_A1 = (
    ("separable", 1, 16, 3, 1, {"skip": False}),
    _inverted(2, 24, 3, 2, 6),
    _inverted(3, 40, 5, 2, 3, 0.25),
    _inverted(4, 80, 3, 2, 6),
    _inverted(2, 112, 3, 1, 6, 0.25),
    _inverted(3, 160, 5, 2, 6, 0.25),
    _inverted(1, 320, 3, 1, 6),
)
for _name, _table in (("mnasnet", _MNAS_B1), ("semnasnet", _MNAS_A1)):
    register(
        "mnasnet",
        MobileNet,
        {
            f"{_name}_{n}": {"stages": _table, "width": int(n) / 100, "act": nn.ReLU, "features": 1280}
            for n in ("050", "075", "100", "140")
        },
    )
