"""MixNet (Tan and Le, "MixConv: mixed depthwise convolutional kernels", 2019); keys of the weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import concat, nn
from . import blocks
from .blocks import classifier, make_divisible, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"))


def split(channels: int, parts: int) -> list[int]:
    """Equal parts; the first takes the rest."""
    return [channels - (parts - 1) * (channels // parts), *[channels // parts] * (parts - 1)]


class MixConv(nn.Layer):
    """Parts of the channels, each with a convolution of its own kernel.

    Args:
        inputs, outputs: channels.
        kernels: of the parts.
        stride: of all.
        depthwise: by each channel.
    """

    def __init__(self, inputs: int, outputs: int, kernels: list[int], stride: int = 1, depthwise: bool = False):
        super().__init__()
        self.parts = split(inputs, len(kernels))
        for i, (a, b, kernel) in enumerate(zip(self.parts, split(outputs, len(kernels)), kernels)):
            conv = nn.Conv2D(a, b, kernel, stride, kernel // 2, groups=b if depthwise else 1, bias_attr=False)
            self.add_sublayer(str(i), conv)

    def forward(self, x: Any) -> Any:
        parts = x.split(self.parts, axis=1)
        return concat([conv(part) for conv, part in zip(self.children(), parts)], axis=1)


def mixed(inputs: int, outputs: int, kernels: list[int], stride: int = 1, act: Any = None, depthwise: bool = False):
    """A convolution, perhaps of several kernels, normalisation and an activation."""
    if len(kernels) == 1:
        return conv_bn(inputs, outputs, kernels[0], stride, outputs if depthwise else 1, act)
    layers = [("conv", MixConv(inputs, outputs, kernels, stride, depthwise)), ("bn", nn.BatchNorm2D(outputs))]
    return nn.Sequential(*layers, *([] if act is None else [("activ", act())]))


class SqueezeExcite(nn.Layer):
    """`blocks.SqueezeExcite` with the keys of PaddleClas."""

    def __init__(self, width: int, reduced: int, act: Any):
        super().__init__()
        self.conv1 = nn.Conv2D(width, reduced, 1)
        self.conv2 = nn.Conv2D(reduced, width, 1)
        self.act = act()

    def forward(self, x: Any) -> Any:
        return x * nn.functional.sigmoid(self.conv2(self.act(self.conv1(x.mean([2, 3], keepdim=True)))))


class Unit(nn.Layer):
    """Wider, by each channel, squeeze and excitation, narrower, beside a shortcut.

    Args:
        inputs, outputs: channels.
        stride: of the second convolution.
        expand: how much wider.
        counts: numbers of kernels of the three convolutions.
        squeeze: how much narrower than the input the squeezed channels are; 0: none.
        act: activation.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, expand: int, counts: tuple, squeeze: int, act: Any):
        super().__init__()
        first, second, third = counts
        hidden = expand * inputs
        self.exp_conv = mixed(inputs, hidden, [1] * first, act=act) if expand > 1 else nn.Identity()
        self.conv1 = mixed(hidden, hidden, [3 + 2 * i for i in range(second)], stride, act, True)
        self.se = SqueezeExcite(hidden, hidden // (expand * squeeze), act) if squeeze else nn.Identity()
        self.conv2 = mixed(hidden, outputs, [1] * third)
        self.residual = inputs == outputs and stride == 1

    def forward(self, x: Any) -> Any:
        y = self.conv2(self.se(self.conv1(self.exp_conv(x))))
        return x + y if self.residual else y


class MixNet(nn.Layer):
    """Four stages.

    Args:
        stem: channels of the first convolution.
        stages: rows of units (outputs, expand, kernels of the convolutions, squeeze).
        width: factor of the channels.
        num_classes: outputs.
    """

    def __init__(self, stem: int, stages: tuple, width: float = 1.0, num_classes: int = 1000):
        super().__init__()
        inputs = make_divisible(stem * width)
        start = [("conv1", conv_bn(3, inputs, 3, 2)), ("conv2", Unit(inputs, inputs, 1, 1, (1, 1, 1), 0, nn.ReLU))]
        layers: list = [("init_block", nn.Sequential(*start))]
        for stage, rows in enumerate(stages):
            units, halved = [], len(rows) // 2 if stage == 3 else 0
            for i, (outputs, expand, counts, squeeze) in enumerate(rows):
                outputs = make_divisible(outputs * width)
                stride = 2 if i == halved else 1
                act = nn.ReLU if stage == 0 else nn.Silu
                units.append((f"unit{i + 1}", Unit(inputs, outputs, stride, expand, counts, squeeze, act)))
                inputs = outputs
            layers.append((f"stage{stage + 1}", nn.Sequential(*units)))
        self.features = nn.Sequential(*layers, ("final_block", conv_bn(inputs, 1536)))
        self.output = classifier(1536, num_classes)

    def forward(self, x: Any) -> Any:
        return self.output(pool(self.features(x)))


def _rows(*rows: tuple) -> tuple:
    """A row with a repeat at its end stands for several."""
    return tuple(row[:4] for row in rows for _ in range(row[4] if len(row) > 4 else 1))


S = (
    _rows((24, 6, (2, 1, 2), 0), (24, 3, (2, 1, 2), 0)),
    _rows((40, 6, (1, 3, 1), 2), (40, 6, (2, 2, 2), 2, 3)),
    _rows((80, 6, (1, 3, 2), 4), (80, 6, (1, 2, 2), 4, 2)),
    _rows(
        (120, 6, (2, 3, 2), 2),
        (120, 3, (2, 4, 2), 2, 2),
        (200, 6, (1, 5, 1), 2),
        (200, 6, (1, 4, 2), 2, 2),
    ),
)
M = (
    _rows((32, 6, (2, 3, 2), 0), (32, 3, (2, 1, 2), 0)),
    _rows((40, 6, (1, 4, 1), 2), (40, 6, (2, 2, 2), 2, 3)),
    _rows((80, 6, (1, 3, 1), 4), (80, 6, (2, 4, 2), 4, 3)),
    _rows(
        (120, 6, (1, 1, 1), 2),
        (120, 3, (2, 4, 2), 2, 3),
        (200, 6, (1, 4, 1), 2),
        (200, 6, (1, 4, 2), 2, 3),
    ),
)
register(
    "mixnet",
    MixNet,
    {
        "mixnet_s": {"stem": 16, "stages": S},
        "mixnet_m": {"stem": 24, "stages": M},
        "mixnet_l": {"stem": 24, "stages": M, "width": 1.3},
    },
)
