"""EfficientNet (Tan and Le, "EfficientNet: rethinking model scaling for convolutional neural networks", 2019) and
TinyNet (Han et al., "Model Rubik's cube: twisting resolution, depth and width for TinyNets", 2020); keys of the
weights as in PaddleClas."""

from __future__ import annotations

import math
from typing import Any

from ... import nn
from ...nn import functional as F
from .blocks import classifier, make_divisible, pool
from .registry import register


def conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1, same: bool = False) -> nn.Layer:
    """A normalised convolution; `same`: padding grows at the end of rows and columns first, as in TensorFlow."""
    padding: Any = "SAME" if same and stride > 1 else (kernel - 1) // 2
    layer = nn.Conv2D(inputs, outputs, kernel, stride, padding, groups=groups, bias_attr=False)
    return nn.Sequential(("_conv", nn.Sequential(("_conv", layer))), ("_bn", nn.BatchNorm2D(outputs, epsilon=1e-3)))


def inner(*args: Any) -> nn.Layer:
    return nn.Sequential(("_conv", conv(*args)))


class SqueezeExcite(nn.Layer):
    """`blocks.SqueezeExcite` with the keys of PaddleClas."""

    def __init__(self, width: int, reduced: int):
        super().__init__()
        self._conv1 = nn.Sequential(("_conv", nn.Conv2D(width, reduced, 1)))
        self._conv2 = nn.Sequential(("_conv", nn.Conv2D(reduced, width, 1)))

    def forward(self, x: Any) -> Any:
        return x * F.sigmoid(self._conv2(F.silu(self._conv1(x.mean([2, 3], keepdim=True)))))


class Block(nn.Layer):
    """Wider, by each channel, squeeze and excitation, narrower."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expand: int, squeeze: bool, same: bool):
        super().__init__()
        hidden = inputs * expand
        self.wider = expand > 1
        if self.wider:
            self._ecn = inner(inputs, hidden)
        self._dcn = inner(hidden, hidden, kernel, stride, hidden, same)
        self._se = SqueezeExcite(hidden, max(1, inputs // 4)) if squeeze else nn.Identity()
        self._pcn = inner(hidden, outputs)
        self.skip = stride == 1 and inputs == outputs

    def forward(self, x: Any) -> Any:
        y = F.silu(self._ecn(x)) if self.wider else x
        y = self._pcn(self._se(F.silu(self._dcn(y))))
        return x + y if self.skip else y


# blocks, channels, kernel, stride, expansion
TABLE = (
    (1, 16, 3, 1, 1),
    (2, 24, 3, 2, 6),
    (2, 40, 5, 2, 6),
    (3, 80, 3, 2, 6),
    (3, 112, 5, 1, 6),
    (4, 192, 5, 2, 6),
    (1, 320, 3, 1, 6),
)


class EfficientNet(nn.Layer):
    """Inverted residuals.

    Args:
        width, depth: factors of channels and blocks.
        drop: probability before the classifier.
        squeeze: squeeze and excitation.
        same: padding, see `conv`.
        fixed: the first and the last convolution keep 32 and 1280 channels.
        num_classes: outputs.
    """

    def __init__(
        self,
        width: float,
        depth: float,
        drop: float = 0.2,
        squeeze: bool = True,
        same: bool = True,
        fixed: bool = False,
        num_classes: int = 1000,
    ):
        super().__init__()
        inputs = 32 if fixed else make_divisible(32 * width)
        layers: list = [("_conv_stem", inner(3, inputs, 3, 2, 1, same)), ("act", nn.Silu())]
        for count, channels, kernel, stride, expand in TABLE:
            outputs = make_divisible(channels * width)
            for i in range(math.ceil(count * depth)):
                step = stride if i == 0 else 1
                name = f"{'block' if i else '_blocks'}.{len(layers) - 2}."
                layers.append((name, Block(inputs, outputs, kernel, step, expand, squeeze, same)))
                inputs = outputs
        self._ef = nn.Sequential(*layers)
        features = 1280 if fixed else make_divisible(1280 * width)
        self._conv = conv(inputs, features)
        self._drop = nn.Dropout(drop)
        self._fc = classifier(features, num_classes)

    def forward(self, x: Any) -> Any:
        return self._fc(self._drop(pool(F.silu(self._conv(self._ef(x))))))


# factors of width and depth, dropout
SIZES = {
    "b0": (1.0, 1.0, 0.2),
    "b1": (1.0, 1.1, 0.2),
    "b2": (1.1, 1.2, 0.3),
    "b3": (1.2, 1.4, 0.3),
    "b4": (1.4, 1.8, 0.4),
    "b5": (1.6, 2.2, 0.4),
    "b6": (1.8, 2.6, 0.5),
    "b7": (2.0, 3.1, 0.5),
    "b8": (2.2, 3.6, 0.5),
    "l2": (4.3, 5.3, 0.5),
}
TINY = {"a": (1.0, 1.2), "b": (0.75, 1.1), "c": (0.54, 0.85), "d": (0.54, 0.695), "e": (0.51, 0.6)}
register(
    "efficientnet",
    EfficientNet,
    {f"efficientnet_{n}": {"width": w, "depth": d, "drop": drop} for n, (w, d, drop) in SIZES.items()},
)
register(
    "efficientnet", EfficientNet, {"efficientnet_b0_small": {"width": 1, "depth": 1, "squeeze": False, "same": False}}
)
register(
    "tinynet",
    EfficientNet,
    {f"tinynet_{n}": {"width": w, "depth": d, "same": False, "fixed": True} for n, (w, d) in TINY.items()},
)
