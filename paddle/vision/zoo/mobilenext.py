"""MobileNeXt (Zhou et al., "Rethinking bottleneck structure for efficient mobile network design", 2020); keys of
the weights as in PaddleClas."""

from __future__ import annotations

import math
from typing import Any

from ... import nn
from .blocks import classifier, make_divisible, pool
from .registry import register


class Sandglass(nn.Layer):
    """Narrower and wider again, with convolutions by each channel at the wide ends.

    Args:
        inputs, outputs: channels.
        stride: of the last convolution.
        reduce: how much narrower.
        alone: there is no shortcut, though the shape stays, and both convolutions by each channel are there.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, reduce: int, alone: bool):
        super().__init__()
        hidden = inputs // reduce
        if hidden < outputs / 6:
            hidden = make_divisible(math.ceil(outputs / 6), 16)
        both = reduce == 2 or alone or inputs == outputs
        self.skip = reduce != 2 and inputs == outputs and not alone
        layers = [*self._depthwise(inputs, 1), nn.ReLU6()] if both else []
        layers += [nn.Conv2D(inputs, hidden, 1, bias_attr=False), nn.BatchNorm2D(hidden)]
        layers += [nn.Conv2D(hidden, outputs, 1, bias_attr=False), nn.BatchNorm2D(outputs), nn.ReLU6()]
        if both or stride == 2:
            layers += self._depthwise(outputs, stride)
        self.conv = nn.Sequential(*layers)

    @staticmethod
    def _depthwise(width: int, stride: int) -> list[nn.Layer]:
        return [nn.Conv2D(width, width, 3, stride, 1, groups=width, bias_attr=False), nn.BatchNorm2D(width)]

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.skip else self.conv(x)


# reduce, channels, blocks, stride
TABLE = (
    (2, 96, 1, 2),
    (6, 144, 1, 1),
    (6, 192, 3, 2),
    (6, 288, 3, 2),
    (6, 384, 4, 1),
    (6, 576, 4, 2),
    (6, 960, 3, 1),
    (6, 1280, 1, 1),
)


class MobileNeXt(nn.Layer):
    """Sandglass blocks; `width` is a factor of all channels."""

    def __init__(self, width: float = 1.0, num_classes: int = 1000):
        super().__init__()
        inputs = make_divisible(32 * width)
        stem = [nn.Conv2D(3, inputs, 3, 2, 1, bias_attr=False), nn.BatchNorm2D(inputs), nn.ReLU6()]
        layers: list[nn.Layer] = [nn.Sequential(*stem)]
        for reduce, channels, depth, stride in TABLE:
            outputs = 1280 if channels == 1280 and width < 1 else make_divisible(channels * width)
            for i in range(depth):
                layers.append(Sandglass(inputs, outputs, stride if i == 0 else 1, reduce, depth == 1 and stride == 1))
                inputs = outputs
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), classifier(inputs, num_classes))

    def forward(self, x: Any) -> Any:
        return self.classifier(pool(self.features(x)))


SCALES = ("0_35", "0_5", "0_75", "1_0", "1_4")
register("mobilenext", MobileNeXt, {f"mobilenext_x{n}": {"width": float(n.replace("_", "."))} for n in SCALES})
