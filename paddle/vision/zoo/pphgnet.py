"""PP-HGNet and PP-HGNetV2, the high performance networks of PaddleClas; keys of the weights as there."""

from __future__ import annotations

import functools
from typing import Any

from ... import concat, nn
from ...nn import functional as F
from ...nn.initializer import Constant
from . import blocks
from .blocks import classifier
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"))


class Shift(nn.Layer):
    """Multiplies by a learnt number and adds one."""

    def __init__(self):
        super().__init__()
        self.scale = self.create_parameter([1], default_initializer=Constant(1.0))
        self.bias = self.create_parameter([1], is_bias=True)

    def forward(self, x: Any) -> Any:
        return x * self.scale + self.bias


class Attention(nn.Layer):
    """Squeeze and excitation by one full convolution."""

    def __init__(self, width: int):
        super().__init__()
        self.conv = nn.Conv2D(width, width, 1)

    def forward(self, x: Any) -> Any:
        return x * F.sigmoid(self.conv(x.mean([2, 3], keepdim=True)))


class Block(nn.Layer):
    """Convolutions one after the other; the results of all of them are aggregated.

    Args:
        inputs, middle, outputs: channels.
        layers: number of convolutions.
        kernel: of the convolutions.
        light: a convolution 1x1 and one by each channel in place of a full one.
        second: the aggregation of V2, two convolutions; else one with squeeze and excitation.
        residual: beside a shortcut.
        shift: a learnt `Shift` follows every activation.
    """

    def __init__(
        self,
        inputs: int,
        middle: int,
        outputs: int,
        layers: int,
        kernel: int,
        light: bool,
        second: bool,
        residual: bool,
        shift: bool,
    ):
        super().__init__()
        self.residual, self.second = residual, second
        self.layers = nn.LayerList()
        for i in range(layers):
            before = inputs if i == 0 else middle
            if light:
                self.layers.append(
                    nn.Sequential(
                        ("conv1", conv_bn(before, middle, act=None)),
                        ("conv2", _conv(middle, middle, kernel, 1, shift, groups=middle)),
                    )
                )
            else:
                self.layers.append(_conv(before, middle, kernel, 1, shift))
        total = inputs + layers * middle
        if second:
            self.aggregation_squeeze_conv = _conv(total, outputs // 2, 1, 1, shift)
            self.aggregation_excitation_conv = _conv(outputs // 2, outputs, 1, 1, shift)
        else:
            self.aggregation_conv = conv_bn(total, outputs)
            self.att = Attention(outputs)

    def forward(self, x: Any) -> Any:
        done = [x]
        for layer in self.layers:
            done.append(layer(done[-1]))
        y = concat(done, axis=1)
        if self.second:
            y = self.aggregation_excitation_conv(self.aggregation_squeeze_conv(y))
        else:
            y = self.att(self.aggregation_conv(y))
        return x + y if self.residual else y


def _conv(
    inputs: int, outputs: int, kernel: int, stride: int, shift: bool, groups: int = 1, padding: Any = None
) -> nn.Layer:
    conv = conv_bn(inputs, outputs, kernel, stride, groups, padding=padding)
    if shift:
        conv.add_sublayer("lab", Shift())
    return conv


class Stem(nn.Layer):
    """The beginning of V2: two branches, a quarter of the size."""

    def __init__(self, middle: int, outputs: int, shift: bool):
        super().__init__()
        self.stem1 = _conv(3, middle, 3, 2, shift)
        self.stem2a = _conv(middle, middle // 2, 2, 1, shift, padding=0)
        self.stem2b = _conv(middle // 2, middle, 2, 1, shift, padding=0)
        self.stem3 = _conv(2 * middle, middle, 3, 2, shift)
        self.stem4 = _conv(middle, outputs, 1, 1, shift)
        self.pool = nn.MaxPool2D(2, stride=1, padding="SAME")

    def forward(self, x: Any) -> Any:
        x = self.stem1(x)
        y = self.stem2b(F.pad(self.stem2a(F.pad(x, [0, 1, 0, 1])), [0, 1, 0, 1]))
        return self.stem4(self.stem3(concat([self.pool(x), y], axis=1)))


class PPHGNet(nn.Layer):
    """Four stages of blocks.

    Args:
        stem: channels of the first convolutions.
        stages: rows (middle channels, channels, blocks).
        layers: convolutions of a block.
        second: V2.
        shift: see `Block`.
        num_classes: outputs.
    """

    def __init__(
        self,
        stem: tuple[int, ...],
        stages: tuple,
        layers: int,
        second: bool = False,
        shift: bool = False,
        num_classes: int = 1000,
    ):
        super().__init__()
        if second:
            self.stem: nn.Layer = Stem(*stem, shift)
        else:
            first, *rest = stem
            convs = [conv_bn(3, first, 3, 2)]
            convs += [conv_bn(a, b, 3) for a, b in zip(stem, rest)]
            self.stem = nn.Sequential(*convs)
        self.pool = nn.Identity() if second else nn.MaxPool2D(3, 2, padding=1)
        inputs = stem[-1]
        self.stages = nn.LayerList()
        for i, (middle, outputs, count) in enumerate(stages):
            light = second and i > 1
            stage: list = [("downsample", conv_bn(inputs, inputs, 3, 2, inputs, act=None))] if i > 0 else []
            blocks: list[nn.Layer] = []
            for j in range(count):
                blocks.append(
                    Block(
                        inputs if j == 0 else outputs,
                        middle,
                        outputs,
                        layers,
                        5 if light else 3,
                        light,
                        second,
                        j > 0,
                        shift,
                    )
                )
            self.stages.append(nn.Sequential(*stage, ("blocks", nn.Sequential(*blocks))))
            inputs = outputs
        self.last_conv = nn.Conv2D(inputs, 2048, 1, bias_attr=False)
        self.lab = Shift() if shift else nn.Identity()
        self.fc = classifier(2048, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.pool(self.stem(x))
        for stage in self.stages:
            x = stage(x)
        return self.fc(self.lab(F.relu(self.last_conv(x.mean([2, 3], keepdim=True)))).flatten(1))


FIRST = {
    "tiny": ((48, 48, 96), ((96, 224, 1), (128, 448, 1), (160, 512, 2), (192, 768, 1)), 5),
    "small": ((64, 64, 128), ((128, 256, 1), (160, 512, 1), (192, 768, 2), (224, 1024, 1)), 6),
    "base": ((96, 96, 160), ((192, 320, 1), (224, 640, 2), (256, 960, 3), (288, 1280, 2)), 7),
}
SECOND = {
    "b0": ((16, 16), ((16, 64, 1), (32, 256, 1), (64, 512, 2), (128, 1024, 1)), 3),
    "b1": ((24, 32), ((32, 64, 1), (48, 256, 1), (96, 512, 2), (192, 1024, 1)), 3),
    "b2": ((24, 32), ((32, 96, 1), (64, 384, 1), (128, 768, 3), (256, 1536, 1)), 4),
    "b3": ((24, 32), ((32, 128, 1), (64, 512, 1), (128, 1024, 3), (256, 2048, 1)), 5),
    "b4": ((32, 48), ((48, 128, 1), (96, 512, 1), (192, 1024, 3), (384, 2048, 1)), 6),
    "b5": ((32, 64), ((64, 128, 1), (128, 512, 2), (256, 1024, 5), (512, 2048, 2)), 6),
    "b6": ((48, 96), ((96, 192, 2), (192, 512, 3), (384, 1024, 6), (768, 2048, 3)), 6),
}
register(
    "pphgnet",
    PPHGNet,
    {f"pphgnet_{n}": {"stem": stem, "stages": rows, "layers": layers} for n, (stem, rows, layers) in FIRST.items()},
)
register(
    "pphgnet",
    PPHGNet,
    {
        f"pphgnetv2_{n}": {
            "stem": stem,
            "stages": rows,
            "layers": layers,
            "second": True,
            "shift": n in ("b0", "b1", "b2", "b3"),
        }
        for n, (stem, rows, layers) in SECOND.items()
    },
)
