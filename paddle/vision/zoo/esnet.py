"""ESNet, the backbone of PP-PicoDet (Yu et al., "PP-PicoDet: a better real-time object detector on mobile devices",
2021); keys of the weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import concat, nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier, make_divisible
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"), act=nn.Hardswish)


class SqueezeExcite(nn.Layer):
    """`blocks.SqueezeExcite` with the keys of PaddleClas.

    Args:
        width: channels.
        act: activation of the reduced channels.
        gate: of the factors.
    """

    def __init__(self, width: int, act: Any = nn.ReLU, gate: Any = nn.Hardsigmoid):
        super().__init__()
        self.conv1 = nn.Conv2D(width, width // 4, 1)
        self.act = act()
        self.conv2 = nn.Conv2D(width // 4, width, 1)
        self.gate = gate()

    def forward(self, x: Any) -> Any:
        return x * self.gate(self.conv2(self.act(self.conv1(x.mean([2, 3], keepdim=True)))))


class Shuffled(nn.Layer):
    """One half of the channels stays; then both halves are mixed."""

    def __init__(self, width: int):
        super().__init__()
        half = width // 2
        self.pw_1_1 = conv_bn(half, half)
        self.dw_1 = conv_bn(half, half, 3, 1, half, act=None)
        self.se = SqueezeExcite(width)
        self.pw_1_2 = conv_bn(width, half)

    def forward(self, x: Any) -> Any:
        left, right = x.chunk(2, axis=1)
        right = self.pw_1_1(right)
        right = self.pw_1_2(self.se(concat([right, self.dw_1(right)], axis=1)))
        return F.channel_shuffle(concat([left, right], axis=1), 2)


class Halving(nn.Layer):
    """Two branches that halve the edges, joined."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        half = outputs // 2
        self.dw_1 = conv_bn(inputs, inputs, 3, 2, inputs, act=None)
        self.pw_1 = conv_bn(inputs, half)
        self.pw_2_1 = conv_bn(inputs, half)
        self.dw_2 = conv_bn(half, half, 3, 2, half, act=None)
        self.se = SqueezeExcite(half)
        self.pw_2_2 = conv_bn(half, half)
        self.concat_dw = conv_bn(outputs, outputs, 3, 1, outputs)
        self.concat_pw = conv_bn(outputs, outputs)

    def forward(self, x: Any) -> Any:
        left, right = self.pw_1(self.dw_1(x)), self.pw_2_2(self.se(self.dw_2(self.pw_2_1(x))))
        return self.concat_pw(self.concat_dw(concat([left, right], axis=1)))


class ESNet(nn.Layer):
    """Three stages; `width` is a factor of their channels."""

    def __init__(self, width: float = 1.0, num_classes: int = 1000):
        super().__init__()
        self.conv1 = conv_bn(3, 24, 3, 2)
        self.max_pool = nn.MaxPool2D(3, 2, padding=1)
        layers: list[nn.Layer] = []
        inputs = 24
        for channels, depth in ((116, 3), (232, 7), (464, 3)):
            outputs = make_divisible(channels * width)
            layers += [Halving(inputs, outputs), *(Shuffled(outputs) for _ in range(depth - 1))]
            inputs = outputs
        self.blocks = nn.Sequential(*layers)
        self.conv2 = conv_bn(inputs, 1024)
        self.last_conv = nn.Conv2D(1024, 1280, 1, bias_attr=False)
        self.dropout = nn.Dropout(0.2, mode="downscale_in_infer")
        self.fc = classifier(1280, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.conv2(self.blocks(self.max_pool(self.conv1(x)))).mean([2, 3], keepdim=True)
        return self.fc(self.dropout(F.hardswish(self.last_conv(x))).flatten(1))


SCALES = ("0_25", "0_5", "0_75", "1_0")
register("esnet", ESNet, {f"esnet_x{n}": {"width": float(n.replace("_", "."))} for n in SCALES})
