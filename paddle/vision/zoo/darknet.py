"""DarkNet-53 (Redmon and Farhadi, "YOLOv3", 2018) and its form with cross stages, CSPNet (Wang et al., "CSPNet: a
new backbone that can enhance learning capability of CNN", 2019); keys of the weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import concat, nn
from . import blocks
from .blocks import classifier, pool
from .registry import register

dark_conv = functools.partial(blocks.conv_bn, names=("_conv", "_bn"))


class Residual(nn.Layer):
    """Convolutions 1x1 and 3x3 beside a shortcut."""

    def __init__(self, width: int):
        super().__init__()
        self._conv1 = dark_conv(width, width // 2)
        self._conv2 = dark_conv(width // 2, width, 3)

    def forward(self, x: Any) -> Any:
        return x + self._conv2(self._conv1(x))


class DarkNet(nn.Sequential):
    """Five stages of residual blocks, each after a convolution that halves the edges."""

    def __init__(self, depths: tuple[int, ...] = (1, 2, 8, 8, 4), num_classes: int = 1000):
        layers: list = [("_conv1", dark_conv(3, 32, 3))]
        width = 32
        for stage, depth in enumerate(depths):
            name = f"_downsample_{stage - 1}" if stage > 0 else "_conv2"
            layers.append((name, dark_conv(width, 2 * width, 3, 2)))
            width *= 2
            layers += [(f"_basic_block_{stage}{i}", Residual(width)) for i in range(1, depth + 1)]
        layers += [("_pool", nn.AdaptiveAvgPool2D(1)), ("flatten", nn.Flatten())]
        super().__init__(*layers, ("_out", classifier(width, num_classes)))


register("darknet", DarkNet, {"darknet53": {}})
conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"), act=nn.LeakyReLU)


class DarkBlock(nn.Layer):
    """Convolutions 1x1 and 3x3 beside a shortcut."""

    def __init__(self, width: int, middle: int):
        super().__init__()
        self.conv1 = conv_bn(width, middle)
        self.conv2 = conv_bn(middle, width, 3)

    def forward(self, x: Any) -> Any:
        return x + self.conv2(self.conv1(x))


class Bottleneck(nn.Layer):
    """Convolutions 1x1, 3x3 in groups, and 1x1 beside a shortcut."""

    def __init__(self, width: int, middle: int, groups: int = 1):
        super().__init__()
        self.conv1 = conv_bn(width, middle)
        self.conv2 = conv_bn(middle, middle, 3, groups=groups)
        self.conv3 = conv_bn(middle, width, act=None)
        self.act3 = nn.LeakyReLU()

    def forward(self, x: Any) -> Any:
        return self.act3(x + self.conv3(self.conv2(self.conv1(x))))


class CrossStage(nn.Layer):
    """Half of the channels pass the blocks, the other half is joined after them.

    Args:
        inputs, outputs: channels.
        stride: of the convolution at the start; 1: there is none.
        down: its channels.
        expanded: channels of both halves.
        width: of the blocks, the second half.
        middle: of the blocks.
        depth: number of blocks.
        block: makes one of width and middle.
        linear: no activation where the halves are made.
        groups: of the convolution at the start.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        stride: int,
        down: int,
        expanded: int,
        width: int,
        middle: int,
        depth: int,
        block: Any,
        linear: bool,
        groups: int,
    ):
        super().__init__()
        self.conv_down = conv_bn(inputs, down, 3, stride, groups) if stride > 1 else nn.Identity()
        act = None if linear else nn.LeakyReLU
        self.conv_exp = conv_bn(down if stride > 1 else inputs, expanded, act=act)
        self.blocks = nn.Sequential(*(block(width, middle) for _ in range(depth)))
        self.conv_transition_b = conv_bn(width, expanded // 2)
        self.conv_transition = conv_bn(expanded, outputs)

    def forward(self, x: Any) -> Any:
        left, right = self.conv_exp(self.conv_down(x)).chunk(2, axis=1)
        return self.conv_transition(concat([left, self.conv_transition_b(self.blocks(right))], axis=1))


class CSPNet(nn.Layer):
    """A stem and stages.

    Args:
        stem: channels, kernel, stride of the first convolution; whether a pooling follows.
        stages: for each (inputs, outputs, stride, down, expanded, width, middle, depth) of `CrossStage`.
        bottleneck: groups of bottlenecks as blocks, in linear stages; 0: blocks of DarkNet.
        num_classes: outputs.
    """

    def __init__(self, stem: tuple, stages: tuple, bottleneck: int = 0, num_classes: int = 1000):
        super().__init__()
        width, kernel, stride, pooled = stem
        self.stem = nn.Sequential(("conv1", conv_bn(3, width, kernel, stride)))
        if pooled:
            self.stem.add_sublayer("pool", nn.MaxPool2D(3, 2, padding=1))
        block = functools.partial(Bottleneck, groups=bottleneck) if bottleneck else DarkBlock
        self.stages = nn.LayerList([CrossStage(*stage, block, bottleneck > 0, bottleneck or 1) for stage in stages])
        self.fc = classifier(stages[-1][1], num_classes)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.fc(pool(x))


DARK = (
    (32, 64, 2, 64, 128, 64, 32, 1),
    (64, 128, 2, 128, 128, 64, 64, 2),
    (128, 256, 2, 256, 256, 128, 128, 8),
    (256, 512, 2, 512, 512, 256, 256, 8),
    (512, 1024, 2, 1024, 1024, 512, 512, 4),
)


def _residual(first: int, expand: int, block: float, middle: float) -> tuple:
    """Four stages as in ResNet-50: channels of the first, factors of the channels of both halves together, of the
    blocks, and within the blocks."""
    stages, inputs = [], 64
    for i, depth in enumerate((3, 3, 5, 2)):
        width, stride = first * 2**i, 1 if i == 0 else 2
        inner = int(width * block)
        stages.append((inputs, width, stride, inputs, expand * width, inner, int(inner * middle), depth))
        inputs = width
    return tuple(stages)


register(
    "cspnet",
    CSPNet,
    {
        "cspdarknet53": {"stem": (32, 3, 1, False), "stages": DARK},
        "cspresnet50": {"stem": (64, 7, 2, True), "stages": _residual(128, 2, 1, 0.5), "bottleneck": 1},
        "cspresnext50": {"stem": (64, 7, 2, True), "stages": _residual(256, 1, 0.5, 1), "bottleneck": 32},
    },
)
