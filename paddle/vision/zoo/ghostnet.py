"""GhostNet (Han et al., "GhostNet: more features from cheap operations", 2019) and GhostNetV2 (Tang et al.,
"GhostNetV2: enhance cheap operation with long-range attention", 2022); keys of the weights as in PaddleClas."""

from __future__ import annotations

import functools
import math
from typing import Any

from ... import concat, nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier, make_divisible
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("_conv", "_batch_norm"))


class SqueezeExcite(nn.Layer):
    """Squeeze and excitation by linear layers; factors are cut to the range from 0 to 1."""

    def __init__(self, width: int):
        super().__init__()
        self.squeeze = nn.Linear(width, width // 4)
        self.excitation = nn.Linear(width // 4, width)

    def forward(self, x: Any) -> Any:
        return x * self.excitation(F.relu(self.squeeze(x.mean([2, 3])))).clip(0, 1).unsqueeze([2, 3])


class Ghost(nn.Layer):
    """Half of the channels by a convolution, the others from these, each by itself.

    Args:
        inputs, outputs: channels.
        act: activation.
        far: times a picture of half the edges, from whole rows and columns (V2).
    """

    def __init__(self, inputs: int, outputs: int, act: Any = nn.ReLU, far: bool = False):
        super().__init__()
        half = math.ceil(outputs / 2)
        self.outputs, self.far = outputs, far
        self.primary_conv = conv_bn(inputs, half, act=act)
        self.cheap_operation = conv_bn(half, half, 3, groups=half, act=act)
        if far:
            self.short_conv = nn.Sequential(
                conv_bn(inputs, outputs, act=None),
                conv_bn(outputs, outputs, (1, 5), groups=outputs, act=None),
                conv_bn(outputs, outputs, (5, 1), groups=outputs, act=None),
            )

    def forward(self, x: Any) -> Any:
        y = self.primary_conv(x)
        y = concat([y, self.cheap_operation(y)], axis=1)[:, : self.outputs]
        if not self.far:
            return y
        gate = F.sigmoid(self.short_conv(F.avg_pool2d(x, 2, 2)))
        return y * F.interpolate(gate, size=y.shape[2:], mode="nearest")


class Bottleneck(nn.Layer):
    """Two ghost modules beside a shortcut; `far`: of the first."""

    def __init__(
        self, inputs: int, hidden: int, outputs: int, kernel: int, stride: int, squeeze: Any, far: bool = False
    ):
        super().__init__()
        self.ghost_module_1 = Ghost(inputs, hidden, far=far)
        depthwise = conv_bn(hidden, hidden, kernel, stride, hidden, act=None) if stride > 1 else nn.Identity()
        self.depthwise_conv = depthwise
        self.se_block = squeeze(hidden) if squeeze else nn.Identity()
        self.ghost_module_2 = Ghost(hidden, outputs, act=None)
        self.project = inputs != outputs or stride > 1
        if self.project:
            self.shortcut_depthwise = conv_bn(inputs, inputs, kernel, stride, inputs, act=None)
            self.shortcut_conv = conv_bn(inputs, outputs, act=None)

    def forward(self, x: Any) -> Any:
        y = self.ghost_module_2(self.se_block(self.depthwise_conv(self.ghost_module_1(x))))
        return y + (self.shortcut_conv(self.shortcut_depthwise(x)) if self.project else x)


# kernel, hidden channels, channels, squeeze and excitation, stride
TABLE = (
    (3, 16, 16, False, 1),
    (3, 48, 24, False, 2),
    (3, 72, 24, False, 1),
    (5, 72, 40, True, 2),
    (5, 120, 40, True, 1),
    (3, 240, 80, False, 2),
    (3, 200, 80, False, 1),
    (3, 184, 80, False, 1),
    (3, 184, 80, False, 1),
    (3, 480, 112, True, 1),
    (3, 672, 112, True, 1),
    (5, 672, 160, True, 2),
    (5, 960, 160, False, 1),
    (5, 960, 160, True, 1),
    (5, 960, 160, False, 1),
    (5, 960, 160, True, 1),
)


class GhostNet(nn.Layer):
    """Ghost bottlenecks.

    Args:
        width: factor of all channels.
        second: V2, as in its authors' code.
        num_classes: outputs.
    """

    def __init__(self, width: float = 1.0, second: bool = False, num_classes: int = 1000):
        super().__init__()

        def scaled(channels: int) -> int:
            return make_divisible(channels * width, 4)

        def squeezed(hidden: int) -> nn.Layer:
            return blocks.SqueezeExcite(hidden, make_divisible(hidden / 4, 4), gate=nn.Hardsigmoid)

        inputs = scaled(16)
        self.conv1 = conv_bn(3, inputs, 3, 2)
        self.names = [f"_ghostbottleneck_{i}" for i in range(len(TABLE))]
        for i, (kernel, hidden, outputs, squeeze, stride) in enumerate(TABLE):
            attention = (squeezed if second else SqueezeExcite) if squeeze else None
            block = Bottleneck(inputs, scaled(hidden), scaled(outputs), kernel, stride, attention, second and i > 1)
            self.add_sublayer(self.names[i], block)
            inputs = scaled(outputs)
        self.conv_last = conv_bn(inputs, scaled(960))
        if second:
            self.fc_0: nn.Layer = nn.Sequential(("_conv", nn.Conv2D(scaled(960), 1280, 1)), ("act", nn.ReLU()))
        else:
            self.fc_0 = conv_bn(scaled(960), 1280)
        self.dropout = nn.Dropout(0.2)
        self.fc_1 = classifier(1280, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.conv1(x)
        for name in self.names:
            x = getattr(self, name)(x)
        return self.fc_1(self.dropout(self.fc_0(self.conv_last(x).mean([2, 3], keepdim=True))).flatten(1))


register("ghostnet", GhostNet, {f"ghostnet_x{n}": {"width": float(n.replace("_", "."))} for n in ("0_5", "1_0", "1_3")})
register("ghostnet", GhostNet, {f"ghostnetv2_{n}": {"width": n / 100, "second": True} for n in (100, 130, 160)})
