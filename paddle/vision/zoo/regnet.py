"""RegNet (Radosavovic et al., "Designing network design spaces", 2020); keys of the weights as in
PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import nn
from . import blocks
from .blocks import SqueezeExcite, classifier
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("_conv", "_batch_norm"))


def stages(start: int, slope: float, factor: float, depth: int, group: int) -> list[tuple[int, int]]:
    """The quantised linear rule: width and number of blocks of each stage."""
    linear = start + slope * np.arange(depth)
    powers = np.round(np.log(linear / start) / np.log(factor))
    widths = np.round(start * factor**powers / 8).astype(int) * 8
    found, counts = np.unique(widths, return_counts=True)
    groups = [min(group, int(w)) for w in found]
    return [(int(round(w / g) * g), int(c)) for w, g, c in zip(found, groups, counts)]


class Block(nn.Layer):
    """Convolutions 1x1, 3x3 in groups, and 1x1, all of one width, beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int, group: int, squeeze: bool):
        super().__init__()
        self.conv0 = conv_bn(inputs, outputs)
        self.conv1 = conv_bn(outputs, outputs, 3, stride, outputs // min(group, outputs))
        self.se = SqueezeExcite(outputs, int(round(inputs * 0.25))) if squeeze else nn.Identity()
        self.conv2 = conv_bn(outputs, outputs, act=None)
        same = inputs == outputs and stride == 1
        self.short = nn.Identity() if same else conv_bn(inputs, outputs, 1, stride, act=None)
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.act(self.conv2(self.se(self.conv1(self.conv0(x)))) + self.short(x))


class RegNet(nn.Sequential):
    """Widths by a linear rule; `squeeze` for the Y variant."""

    def __init__(self, rule: tuple, squeeze: bool = False, num_classes: int = 1000):
        layers: list = [("conv", conv_bn(3, 32, 3, 2))]
        inputs = 32
        for stage, (width, count) in enumerate(stages(*rule), 1):
            for i in range(count):
                block = Block(inputs, width, 2 if i == 0 else 1, rule[-1], squeeze)
                layers.append((f"s{stage}_b{i + 1}", block))
                inputs = width
        layers += [("pool2d_avg", nn.AdaptiveAvgPool2D(1)), ("flatten", nn.Flatten())]
        super().__init__(*layers, ("out", classifier(inputs, num_classes)))


# start, slope and factor of the widths, depth, channels of a group
X = {
    "002": (24, 36.44, 2.49, 13, 8),
    "004": (24, 24.48, 2.54, 22, 16),
    "006": (48, 36.97, 2.24, 16, 24),
    "008": (56, 35.73, 2.28, 16, 16),
    "016": (80, 34.01, 2.25, 18, 24),
    "032": (88, 26.31, 2.25, 25, 48),
    "040": (96, 38.65, 2.43, 23, 40),
    "064": (184, 60.83, 2.07, 17, 56),
    "080": (80, 49.56, 2.88, 23, 120),
    "120": (168, 73.36, 2.37, 19, 112),
    "160": (216, 55.59, 2.1, 22, 128),
    "320": (320, 69.86, 2.0, 23, 168),
}
Y = {
    "002": (24, 36.44, 2.49, 13, 8),
    "004": (48, 27.89, 2.09, 16, 8),
    "006": (48, 32.54, 2.32, 15, 16),
    "008": (56, 38.84, 2.4, 14, 16),
    "016": (48, 20.71, 2.65, 27, 24),
    "032": (80, 42.63, 2.66, 21, 24),
    "040": (96, 31.41, 2.24, 22, 64),
    "064": (112, 33.22, 2.27, 25, 72),
    "080": (192, 76.82, 2.19, 17, 56),
    "120": (168, 73.36, 2.37, 19, 112),
    "160": (200, 106.23, 2.48, 18, 112),
    "320": (232, 115.89, 2.53, 20, 232),
}
register("regnet", RegNet, {f"regnetx_{size}": {"rule": rule} for size, rule in X.items()})
register("regnet", RegNet, {f"regnety_{size}": {"rule": rule, "squeeze": True} for size, rule in Y.items()})
