"""PeleeNet (Wang et al., "Pelee: a real-time object detection system on mobile devices", 2018); keys of the weights
as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import concat, nn
from . import blocks
from .blocks import classifier, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "norm"))


class Dense(nn.Layer):
    """Two branches of convolutions, joined to the input; `grow` is what they add, `factor` sets the middle width."""

    def __init__(self, inputs: int, grow: int, factor: int):
        super().__init__()
        half = grow // 2
        middle = half * factor // 4 * 4
        if middle > inputs / 2:
            middle = inputs // 8 * 4
        self.branch1a = conv_bn(inputs, middle)
        self.branch1b = conv_bn(middle, half, 3)
        self.branch2a = conv_bn(inputs, middle)
        self.branch2b = conv_bn(middle, half, 3)
        self.branch2c = conv_bn(half, half, 3)

    def forward(self, x: Any) -> Any:
        second = self.branch2c(self.branch2b(self.branch2a(x)))
        return concat([x, self.branch1b(self.branch1a(x)), second], axis=1)


class Stem(nn.Layer):
    """A quarter of the edges by a convolution and by a pooling, joined."""

    def __init__(self, width: int):
        super().__init__()
        self.stem1 = conv_bn(3, width, 3, 2)
        self.stem2a = conv_bn(width, width // 2)
        self.stem2b = conv_bn(width // 2, width, 3, 2)
        self.stem3 = conv_bn(2 * width, width)
        self.pool = nn.MaxPool2D(2, 2)

    def forward(self, x: Any) -> Any:
        x = self.stem1(x)
        return self.stem3(concat([self.pool(x), self.stem2b(self.stem2a(x))], axis=1))


class PeleeNet(nn.Layer):
    """Four dense blocks; `depths` and `factors` give their layers and how wide these are."""

    def __init__(
        self,
        depths: tuple[int, ...] = (3, 4, 8, 6),
        factors: tuple[int, ...] = (1, 2, 4, 4),
        grow: int = 32,
        num_classes: int = 1000,
    ):
        super().__init__()
        width, layers = 32, [("stemblock", Stem(32))]
        for i, (depth, factor) in enumerate(zip(depths, factors), 1):
            chain = [(f"denselayer{j + 1}", Dense(width + j * grow, grow, factor)) for j in range(depth)]
            width += depth * grow
            layers += [(f"denseblock{i}", nn.Sequential(*chain)), (f"transition{i}", conv_bn(width, width))]
            if i < len(depths):
                layers.append((f"transition{i}_pool", nn.AvgPool2D(2, 2)))
        self.features = nn.Sequential(*layers)
        self.dropout = nn.Dropout(0.05)
        self.classifier = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        return self.classifier(self.dropout(pool(self.features(x))))


register("peleenet", PeleeNet, {"peleenet": {}})
