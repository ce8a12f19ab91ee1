"""RedNet (Li et al., "Involution: inverting the inherence of convolution for visual recognition", 2021); keys of
the weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"))


class Involution(nn.Layer):
    """A convolution whose kernel is found from each place of the picture, one for 16 channels.

    Args:
        width: channels.
        kernel: its edge.
        stride: of the result.
    """

    def __init__(self, width: int, kernel: int, stride: int):
        super().__init__()
        self.kernel, self.stride, self.groups = kernel, stride, width // 16
        self.conv1 = conv_bn(width, width // 4)
        self.conv2 = nn.Sequential(("conv", nn.Conv2D(width // 4, kernel**2 * self.groups, 1)))
        self.average = nn.AvgPool2D(stride, stride) if stride > 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        weights = self.conv2(self.conv1(self.average(x)))
        n, _, height, width = weights.shape
        parts = F.unfold(x, self.kernel, self.stride, self.kernel // 2)
        parts = parts.reshape([n, self.groups, 16, self.kernel**2, height, width])
        weights = weights.reshape([n, self.groups, 1, self.kernel**2, height, width])
        return (weights * parts).sum(3).reshape([n, 16 * self.groups, height, width])


class Bottleneck(nn.Layer):
    """A convolution 1x1, an involution and a convolution 1x1 beside a shortcut."""

    def __init__(self, inputs: int, planes: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2D(inputs, planes, 1, bias_attr=False)
        self.bn1 = nn.BatchNorm2D(planes)
        self.conv2 = Involution(planes, 7, stride)
        self.bn2 = nn.BatchNorm2D(planes)
        self.conv3 = nn.Conv2D(planes, 4 * planes, 1, bias_attr=False)
        self.bn3 = nn.BatchNorm2D(4 * planes)
        self.downsample: nn.Layer = nn.Identity()
        if stride > 1 or inputs != 4 * planes:
            self.downsample = blocks.conv_bn(inputs, 4 * planes, 1, stride, act=None)

    def forward(self, x: Any) -> Any:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class RedNet(nn.Layer):
    """Residual stages of involutions; `depths` are their blocks."""

    def __init__(self, depths: tuple[int, ...], num_classes: int = 1000):
        super().__init__()
        stages, inputs = [], 64
        for stage, depth in enumerate(depths):
            chain = []
            for i in range(depth):
                chain.append(Bottleneck(inputs, 64 * 2**stage, 2 if stage > 0 and i == 0 else 1))
                inputs = 256 * 2**stage
            stages.append(nn.Sequential(*chain))
        self.maxpool = nn.MaxPool2D(3, 2, padding=1)
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.fc = classifier(inputs, num_classes)
        self.stem = nn.Sequential(
            conv_bn(3, 32, 3, 2), Involution(32, 3, 1), nn.BatchNorm2D(32), nn.ReLU(), conv_bn(32, 64, 3)
        )

    def forward(self, x: Any) -> Any:
        x = self.maxpool(self.stem(x))
        return self.fc(pool(self.layer4(self.layer3(self.layer2(self.layer1(x))))))


DEPTHS = {26: (1, 2, 4, 1), 38: (2, 3, 5, 2), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
register("rednet", RedNet, {f"rednet{n}": {"depths": depths} for n, depths in DEPTHS.items()})
