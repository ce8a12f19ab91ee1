"""MicroNet (Li et al., "MicroNet: improving image recognition with extremely low FLOPs", 2021); keys of the weights
as in PaddleClas."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import maximum, nn, to_tensor
from ...nn import functional as F
from .blocks import make_divisible
from .registry import register


def conv(inputs: int, outputs: int, kernel: Any = 1, stride: Any = 1, groups: int = 1) -> list[nn.Layer]:
    padding = [k // 2 for k in kernel] if isinstance(kernel, tuple) else kernel // 2
    layer = nn.Conv2D(inputs, outputs, kernel, stride, padding, groups=groups, bias_attr=False)
    return [layer, nn.BatchNorm2D(outputs)]


def grouped(inputs: int, outputs: int, groups: int) -> nn.Sequential:
    """A convolution 1x1 in groups."""
    return nn.Sequential(("conv", nn.Sequential(*conv(inputs, outputs, 1, 1, groups))))


def spatial(inputs: int, expand: tuple[int, int], kernel: int, stride: int) -> nn.Sequential:
    """By each channel a column, then a row."""
    first = inputs * expand[0]
    layers = conv(inputs, first, (kernel, 1), (stride, 1), inputs)
    layers += conv(first, first * expand[1], (1, kernel), (1, stride), first)
    return nn.Sequential(("conv", nn.Sequential(*layers)))


class ShiftMax(nn.Layer):
    """Each channel and its neighbour, weighted by what the means of all channels say; the greatest of two sums or one.

    Args:
        width: channels.
        reduction: how much narrower the squeezed means are.
        two: two sums.
        start: weights of the channel and of its neighbour in the sums at the beginning.
        groups: the neighbour lies one group and one channel further.
    """

    def __init__(self, width: int, reduction: int, two: bool, start: tuple, groups: int):
        super().__init__()
        squeezed = max(make_divisible(width // reduction, 4), 4)
        outputs = width * (4 if two else 2)
        self.fc = nn.Sequential(nn.Linear(width, squeezed), nn.ReLU(), nn.Linear(squeezed, outputs), nn.Hardsigmoid())
        index = np.roll(np.arange(width).reshape(groups, -1), (-1, -1), (0, 1)).ravel()
        self.register_buffer("index", to_tensor(index), persistable=False)
        self.two, self.start = two, start

    def forward(self, x: Any) -> Any:
        neighbour = x.index_select(self.index, axis=1)
        weights = (self.fc(x.mean([2, 3])) - 0.5).unsqueeze([2, 3]) * 4
        own, other, *second = weights.split(4 if self.two else 2, axis=1)
        y = x * (own + self.start[0]) + neighbour * (other + self.start[1])
        if self.two:
            y = maximum(y, x * (second[0] + self.start[2]) + neighbour * (second[1] + self.start[3]))
        return y


class Block(nn.Layer):
    """Convolutions of columns and rows and convolutions in groups, with dynamic activations.

    Args:
        inputs, outputs: channels.
        kernel, stride: of columns and rows.
        expand: factors of the width.
        before, after: groups of the convolution before columns and rows, or 0, and after, or 0; groups of the shuffles.
        dynamic: kinds of the three activations; 0: a plain one, 1: one sum, 2: two sums.
        reduction: of the activations.
        start: of the activations with two sums.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int,
        expand: tuple[int, int],
        before: tuple[int, int],
        after: tuple[int, int],
        dynamic: tuple[int, int, int],
        reduction: int,
        start: tuple,
    ):
        super().__init__()
        self.skip = stride == 1 and inputs == outputs
        hidden = inputs * expand[0] * expand[1]
        first, second, third = dynamic
        shuffle = nn.ChannelShuffle

        def act(kind: int, groups: int) -> nn.Layer:
            return ShiftMax(hidden, reduction, kind == 2, start, groups) if kind else nn.ReLU6()

        def last(width: int, groups: int, reduction: int = reduction) -> nn.Layer:
            return ShiftMax(width, reduction, False, (1.0, 0.0), groups) if third else nn.Identity()

        if before[0] == 0:
            layers = [
                spatial(inputs, expand, kernel, stride),
                act(second, before[1]),
                shuffle(before[1]),
                shuffle(hidden // 2) if second else nn.Identity(),
                grouped(hidden, outputs, after[0]),
                last(outputs, after[1], reduction // 2),
                shuffle(after[1]),
                shuffle(outputs // 2) if third and outputs % 2 == 0 else nn.Identity(),
            ]
        elif after[1] == 0:
            layers = [grouped(inputs, hidden, before[0]), last(hidden, before[1])]
        else:
            middle = nn.Identity()
            if first or second:
                middle = shuffle(hidden // (4 if first and second else 2))
            layers = [
                grouped(inputs, hidden, before[0]),
                act(first, before[1]),
                shuffle(before[1]),
                spatial(hidden, (1, 1), kernel, stride),
                nn.Identity(),
                act(second, hidden // before[1] if before[1] > 1 else 1),
                middle,
                grouped(hidden, outputs, after[0]),
                last(outputs, after[1], reduction // 2 if outputs < hidden else reduction),
                shuffle(after[1]),
                shuffle(outputs // 2) if third else nn.Identity(),
            ]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        return x + self.layers(x) if self.skip else self.layers(x)


def linear(inputs: int, outputs: int) -> nn.Sequential:
    layers = [nn.Linear(inputs, outputs), nn.BatchNorm1D(outputs), nn.Hardswish()]
    return nn.Sequential(("linear", nn.Sequential(*layers)))


class MicroNet(nn.Layer):
    """Blocks by a table.

    Args:
        stem: channels of the columns, and how many rows follow each.
        rows: (stride, channels, kernel, expand, before, after, reduction / 8) of `Block`.
        dynamic: of all blocks.
        plain: the first block has no second dynamic activation.
        start: of `Block`.
        features: width before the classifier.
        drop: probability to drop it.
        num_classes: outputs.
    """

    def __init__(
        self,
        stem: tuple[int, int],
        rows: tuple,
        features: int,
        dynamic: tuple[int, int, int] = (2, 2, 1),
        plain: bool = True,
        start: tuple = (1.0, 0.0, 1.0, 0.0),
        drop: float = 0.05,
        num_classes: int = 1000,
    ):
        super().__init__()
        first, width = stem[0], stem[0] * stem[1]
        columns = conv(3, first, (3, 1), (2, 1)) + conv(first, width, (1, 3), (1, 2), first)
        start_conv = nn.Sequential(("conv", nn.Sequential(*columns, nn.ChannelShuffle(first))))
        layers: list[nn.Layer] = [nn.Sequential(("stem", nn.Sequential(start_conv, nn.ReLU6())))]
        for i, (stride, outputs, kernel, expand, before, after, ratio) in enumerate(rows):
            kinds = (dynamic[0], 0, dynamic[2]) if plain and i == 0 else dynamic
            layers.append(Block(width, outputs, kernel, stride, expand, before, after, kinds, 8 * ratio, start))
            width = outputs
        self.features = nn.Sequential(*layers)
        head = linear(features, num_classes) if num_classes > 0 else nn.Identity()
        self.classifier = nn.Sequential(linear(width, features), nn.Dropout(drop), head)

    def forward(self, x: Any) -> Any:
        return self.classifier(F.hardswish(F.relu6(self.features(x)).mean([2, 3])))


W = (2, 2)


def _end(factor: int, *rows: tuple) -> tuple:
    """Blocks with a convolution in groups before columns and rows: rows (stride, channels, kernel, groups, groups
    after,
    reduction)."""
    return tuple((s, c, k, (1, factor), (g, g), (a, a), r) for s, c, k, g, a, r in rows)


M0 = (
    (2, 8, 3, W, (0, 4), W, 1),
    (2, 12, 3, W, (0, 8), (4, 4), 1),
    (2, 16, 5, W, (0, 12), (4, 4), 1),
    *_end(4, (1, 32, 5, 4, 4, 1), (2, 64, 5, 8, 8, 1), (1, 96, 3, 8, 8, 2), (1, 384, 3, 12, 0, 2)),
)
M1 = (
    (2, 8, 3, W, (0, 6), W, 1),
    (2, 16, 3, W, (0, 8), (4, 4), 1),
    (2, 16, 5, W, (0, 16), (4, 4), 1),
    *_end(6, (1, 32, 5, 4, 4, 1), (2, 64, 5, 8, 8, 1), (1, 96, 3, 8, 8, 2), (1, 576, 3, 12, 0, 2)),
)
M2 = (
    (2, 12, 3, W, (0, 8), (4, 4), 1),
    (2, 16, 3, W, (0, 12), (4, 4), 1),
    (1, 24, 3, W, (0, 16), (4, 4), 1),
    *_end(6, (2, 32, 5, 6, 4, 1), (1, 32, 5, 8, 4, 2), (1, 64, 5, 8, 8, 2), (2, 96, 5, 8, 8, 2)),
    *_end(6, (1, 128, 3, 12, 8, 2), (1, 768, 3, 16, 0, 2)),
)
M3 = (
    (2, 16, 3, W, (0, 12), (4, 4), 1),
    (2, 24, 3, W, (0, 16), (4, 4), 1),
    (1, 24, 3, W, (0, 24), (4, 4), 1),
    *_end(6, (2, 32, 5, 6, 4, 1), (1, 32, 5, 8, 4, 2), (1, 64, 5, 8, 8, 2), (1, 80, 5, 8, 8, 2)),
    *_end(6, (1, 80, 5, 10, 8, 2), (2, 120, 5, 10, 10, 2), (1, 120, 5, 12, 10, 2), (1, 144, 3, 12, 12, 2)),
    *_end(6, (1, 864, 3, 12, 0, 2)),
)
register(
    "micronet",
    MicroNet,
    {
        "micronet_m0": {"stem": (2, 2), "rows": M0, "features": 640},
        "micronet_m1": {"stem": (3, 2), "rows": M1, "features": 960},
        "micronet_m2": {"stem": (4, 2), "rows": M2, "features": 1024, "drop": 0.1},
        "micronet_m3": {
            "stem": (4, 3),
            "rows": M3,
            "features": 1024,
            "drop": 0.1,
            "dynamic": (0, 2, 0),
            "plain": False,
            "start": (1.0, 0.0, 0.5, 0.5),
        },
    },
)
