"""ResNeSt (Zhang et al., "ResNeSt: split-attention networks", 2020); keys of the weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("_conv", "_batch_norm"))


class SplitAttention(nn.Layer):
    """A convolution 3x3 to `radix` pictures, summed with weights that follow from the means of all.

    Args:
        width: channels.
        groups: of the convolution.
        radix: number of pictures.
    """

    def __init__(self, width: int, groups: int, radix: int):
        super().__init__()
        self.groups, self.radix = groups, radix
        reduced = max(width * radix // 4, 32)
        self.conv1 = conv_bn(width, width * radix, 3, groups=groups * radix)
        self.conv2 = conv_bn(width, reduced, groups=groups)
        self.conv3 = nn.Conv2D(reduced, width * radix, 1, groups=groups)

    def forward(self, x: Any) -> Any:
        x = self.conv1(x)
        n, channels, height, width = x.shape
        parts = x.reshape([n, self.radix, channels // self.radix, height, width])
        weights = self.conv3(self.conv2(parts.sum(1).mean([2, 3], keepdim=True)))
        if self.radix == 1:
            return x * F.sigmoid(weights)
        weights = F.softmax(weights.reshape([n, self.groups, self.radix, -1]).transpose([0, 2, 1, 3]), axis=1)
        return (parts * weights.reshape([n, self.radix, -1, 1, 1])).sum(1)


class Bottleneck(nn.Layer):
    """Convolutions 1x1, 3x3 with split attention, and 1x1 beside a shortcut.

    Args:
        inputs, planes: channels before, a quarter of those after.
        stride: of an averaging beside the convolution 3x3.
        average: whether it is there also with stride 1.
        before: it comes before the convolution 3x3, else after.
        groups, width, radix: of the convolution 3x3.
    """

    def __init__(
        self,
        inputs: int,
        planes: int,
        stride: int,
        average: bool,
        before: bool,
        groups: int,
        width: int,
        radix: int,
    ):
        super().__init__()
        middle = int(planes * (width / 64)) * groups
        self.conv1 = conv_bn(inputs, middle)
        self.average = nn.AvgPool2D(3, stride, padding=1) if stride > 1 or average else None
        self.before = before
        self.conv2 = SplitAttention(middle, groups, radix)
        self.conv3 = conv_bn(middle, 4 * planes, act=None)
        self.project = stride > 1 or inputs != 4 * planes
        if self.project:
            self.avg_pool2d_3 = nn.AvgPool2D(stride, stride)
            self.conv4 = nn.Conv2D(inputs, 4 * planes, 1, bias_attr=False)
            self._batch_norm = nn.BatchNorm2D(4 * planes)

    def forward(self, x: Any) -> Any:
        y = self.conv1(x)
        if self.average is None:
            y = self.conv2(y)
        elif self.before:
            y = self.conv2(self.average(y))
        else:
            y = self.average(self.conv2(y))
        y = self.conv3(y)
        return F.relu(y + (self._batch_norm(self.conv4(self.avg_pool2d_3(x))) if self.project else x))


class ResNeSt(nn.Layer):
    """Four stages.

    Args:
        depths: blocks of the stages.
        stem: channels of the first convolutions.
        before, groups, width, radix: of the blocks.
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        stem: int = 32,
        before: bool = False,
        groups: int = 1,
        width: int = 64,
        radix: int = 2,
        num_classes: int = 1000,
    ):
        super().__init__()
        self.stem = nn.Sequential(
            ("conv1", conv_bn(3, stem, 3, 2)), ("conv2", conv_bn(stem, stem, 3)), ("conv3", conv_bn(stem, 2 * stem, 3))
        )
        self.max_pool2d = nn.MaxPool2D(3, 2, padding=1)
        inputs = 2 * stem
        for stage, depth in enumerate(depths):
            name, planes, chain = f"layer{stage + 1}", 64 * 2**stage, []
            for i in range(depth):
                first = stage > 0 and i == 0
                block = Bottleneck(inputs, planes, 2 if first else 1, first, before, groups, width, radix)
                chain.append((f"{name}_bottleneck_{i}", block))
                inputs = 4 * planes
            self.add_sublayer(name, nn.Sequential(*chain))
        self.out = classifier(inputs, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.max_pool2d(self.stem(x))
        return self.out(pool(self.layer4(self.layer3(self.layer2(self.layer1(x))))))


DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 200: (3, 24, 36, 3), 269: (3, 30, 48, 8)}
register(
    "resnest",
    ResNeSt,
    {f"resnest{n}": {"depths": depths, "stem": 32 if n == 50 else 64} for n, depths in DEPTHS.items()},
)
register(
    "resnest",
    ResNeSt,
    {
        "resnest14": {"depths": (1, 1, 1, 1)},
        "resnest26": {"depths": (2, 2, 2, 2)},
        "resnest50_fast_1s1x64d": {"depths": DEPTHS[50], "before": True, "radix": 1},
        "resnest50_fast_1s4x24d": {"depths": DEPTHS[50], "before": True, "radix": 1, "groups": 4, "width": 24},
        "resnest50_fast_4s2x40d": {"depths": DEPTHS[50], "before": True, "radix": 4, "groups": 2, "width": 40},
    },
)
