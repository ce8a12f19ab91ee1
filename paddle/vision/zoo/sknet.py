"""SKNet (Li et al., "Selective kernel networks", 2019), with the input split between the kernels as in timm; keys
of the weights as there."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn, stack
from ...nn import functional as F
from . import blocks
from .blocks import classifier, make_divisible, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"))


class Select(nn.Layer):
    """Weights of two pictures, for each channel, from the means of their sum."""

    def __init__(self, width: int, reduced: int):
        super().__init__()
        self.fc_reduce = nn.Conv2D(width, reduced, 1, bias_attr=False)
        self.bn = nn.BatchNorm2D(reduced)
        self.fc_select = nn.Conv2D(reduced, 2 * width, 1, bias_attr=False)

    def forward(self, x: Any) -> Any:
        y = F.relu(self.bn(self.fc_reduce(x.sum(1).mean([2, 3], keepdim=True))))
        return F.softmax(self.fc_select(y).reshape([x.shape[0], 2, -1, 1, 1]), axis=1)


class SelectiveKernel(nn.Layer):
    """Convolutions with a near and a far reach, of halves of the channels or each of all, summed with weights.

    Args:
        inputs, outputs: channels.
        stride, groups: of both.
        split: each has half of the channels.
        ratio, divisor: width of the squeezed means.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        stride: int,
        groups: int = 1,
        split: bool = True,
        ratio: int = 16,
        divisor: int = 8,
    ):
        super().__init__()
        self.split = split
        width = inputs // 2 if split else inputs
        paths = [conv_bn(width, outputs, 3, stride, groups, dilation=d) for d in (1, 2)]
        self.paths = nn.LayerList(paths)
        self.attn = Select(outputs, make_divisible(outputs / ratio, divisor))

    def forward(self, x: Any) -> Any:
        parts = x.chunk(2, axis=1) if self.split else (x, x)
        y = stack([path(part) for path, part in zip(self.paths, parts)], axis=1)
        return (y * self.attn(y)).sum(1)


class Block(nn.Layer):
    """Two or three convolutions, one of them with selected kernels, beside a shortcut."""

    def __init__(self, inputs: int, planes: int, stride: int, basic: bool, shortcut: nn.Layer, options: dict[str, Any]):
        super().__init__()
        self.basic = basic
        if basic:
            self.conv1: nn.Layer = SelectiveKernel(inputs, planes, stride, **options)
            self.conv2: nn.Layer = conv_bn(planes, planes, 3, act=None)
        else:
            width = planes * 4 // 64 * options["groups"] if "groups" in options else planes
            self.conv1 = conv_bn(inputs, width)
            self.conv2 = SelectiveKernel(width, width, stride, **options)
            self.conv3 = conv_bn(width, 4 * planes, act=None)
        self.downsample = shortcut

    def forward(self, x: Any) -> Any:
        y = self.conv2(self.conv1(x))
        return F.relu((y if self.basic else self.conv3(y)) + self.downsample(x))


class SKNet(nn.Layer):
    """Four residual stages.

    Args:
        depths: blocks of the stages.
        basic: blocks of two convolutions.
        deep: three convolutions at the start and shortcuts that average (the D variant).
        num_classes: outputs.
        options: of `SelectiveKernel`.
    """

    def __init__(
        self, depths: tuple[int, ...], basic: bool = False, deep: bool = False, num_classes: int = 1000, **options: Any
    ):
        super().__init__()
        if deep:
            last = nn.Conv2D(32, 64, 3, padding=1, bias_attr=False)
            self.conv1: nn.Layer = nn.Sequential(*blocks.conv_bn(3, 32, 3, 2), *blocks.conv_bn(32, 32, 3), last)
        else:
            self.conv1 = nn.Conv2D(3, 64, 7, 2, 3, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(64)
        self.maxpool = nn.MaxPool2D(3, 2, padding=1)
        inputs = 64
        for stage, depth in enumerate(depths):
            planes, chain = 64 * 2**stage, []
            outputs = planes if basic else 4 * planes
            for i in range(depth):
                stride = 2 if stage > 0 and i == 0 else 1
                shortcut: nn.Layer = nn.Identity()
                if stride > 1 or inputs != outputs:
                    conv = blocks.conv_bn(inputs, outputs, 1, 1 if deep else stride, act=None)
                    average = nn.AvgPool2D(2, stride, ceil_mode=True) if stride > 1 else nn.Identity()
                    shortcut = nn.Sequential(average, *conv) if deep else conv
                chain.append(Block(inputs, planes, stride, basic, shortcut, options))
                inputs = outputs
            self.add_sublayer(f"layer{stage + 1}", nn.Sequential(*chain))
        self.fc = classifier(inputs, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        return self.fc(pool(self.layer4(self.layer3(self.layer2(self.layer1(x))))))


_BASIC = {"basic": True, "ratio": 8, "divisor": 16}
D50 = (3, 4, 6, 3)
register(
    "sknet",
    SKNet,
    {
        "skresnet18": {"depths": (2, 2, 2, 2), **_BASIC},
        "skresnet34": {"depths": D50, **_BASIC},
        "skresnet50": {"depths": D50},
        "skresnet50d": {"depths": D50, "deep": True},
        "skresnext50_32x4d": {"depths": D50, "groups": 32, "split": False, "divisor": 32},
    },
)
