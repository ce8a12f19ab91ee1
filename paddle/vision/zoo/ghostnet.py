"""GhostNet (Han et al., "GhostNet: more features from cheap operations", 2019)."""

from __future__ import annotations

import math
from typing import Any

from ... import concat, nn
from .blocks import SqueezeExcite, classifier, conv_bn, make_divisible
from .registry import register


class Ghost(nn.Layer):
    """Half of the channels by a convolution, the others from these, each by itself."""

    def __init__(self, inputs: int, outputs: int, act: Any = nn.ReLU):
        super().__init__()
        half = math.ceil(outputs / 2)
        self.outputs = outputs
        self.primary = conv_bn(inputs, half, act=act)
        self.cheap = conv_bn(half, half, 3, groups=half, act=act)

    def forward(self, x: Any) -> Any:
        x = self.primary(x)
        return concat([x, self.cheap(x)], axis=1)[:, : self.outputs]


class Bottleneck(nn.Layer):
    """Two ghost modules beside a shortcut."""

    def __init__(self, inputs: int, hidden: int, outputs: int, kernel: int, stride: int, squeeze: float):
        super().__init__()
        self.expand = Ghost(inputs, hidden)
        self.depthwise = conv_bn(hidden, hidden, kernel, stride, hidden, act=None) if stride > 1 else nn.Identity()
        reduced = make_divisible(hidden * squeeze, 4)
        self.se = SqueezeExcite(hidden, reduced, gate=nn.Hardsigmoid) if squeeze else nn.Identity()
        self.project = Ghost(hidden, outputs, act=None)
        self.shortcut: nn.Layer = nn.Identity()
        if inputs != outputs or stride > 1:
            self.shortcut = nn.Sequential(
                conv_bn(inputs, inputs, kernel, stride, inputs, act=None), conv_bn(inputs, outputs, act=None)
            )

    def forward(self, x: Any) -> Any:
        return self.project(self.se(self.depthwise(self.expand(x)))) + self.shortcut(x)


# kernel, hidden channels, channels, squeeze, stride
TABLE = (
    (3, 16, 16, 0, 1),
    (3, 48, 24, 0, 2),
    (3, 72, 24, 0, 1),
    (5, 72, 40, 0.25, 2),
    (5, 120, 40, 0.25, 1),
    (3, 240, 80, 0, 2),
    (3, 200, 80, 0, 1),
    (3, 184, 80, 0, 1),
    (3, 184, 80, 0, 1),
    (3, 480, 112, 0.25, 1),
    (3, 672, 112, 0.25, 1),
    (5, 672, 160, 0.25, 2),
    (5, 960, 160, 0, 1),
    (5, 960, 160, 0.25, 1),
    (5, 960, 160, 0, 1),
    (5, 960, 160, 0.25, 1),
)


class GhostNet(nn.Layer):
    """Ghost bottlenecks; `width` is a factor of all channels."""

    def __init__(self, width: float = 1.0, num_classes: int = 1000):
        super().__init__()

        def scaled(channels: int) -> int:
            return make_divisible(channels * width, 4)

        inputs = scaled(16)
        self.stem = conv_bn(3, inputs, 3, 2)
        blocks: list[nn.Layer] = []
        for kernel, hidden, outputs, squeeze, stride in TABLE:
            blocks.append(Bottleneck(inputs, scaled(hidden), scaled(outputs), kernel, stride, squeeze))
            inputs = scaled(outputs)
        blocks.append(conv_bn(inputs, scaled(960)))
        self.blocks = nn.Sequential(*blocks)
        self.features = nn.Sequential(nn.Conv2D(scaled(960), 1280, 1), nn.ReLU())
        self.head = classifier(1280, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.blocks(self.stem(x)).mean([2, 3], keepdim=True)
        return self.head(self.features(x).flatten(1))


register("ghostnet", GhostNet, {f"ghostnet_x{n}": {"width": float(n.replace("_", "."))} for n in ("0_5", "1_0", "1_3")})
