"""Inception-v4 and Inception-ResNet (Szegedy et al., "Inception-v4, Inception-ResNet and the impact of residual
connections on learning", 2016); keys of the weights of Inception-v4 as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import concat, nn
from . import blocks
from .blocks import classifier, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("_conv", "_batch_norm"))


class Branches(nn.Layer):
    """Several branches of convolutions, joined by channels.

    Args:
        inputs: channels.
        branches: sequences of convolutions (name, channels, kernel) or (name, channels, kernel, stride); a convolution
            with a stride has no padding, and neither has one with the stride 0, which counts as 1. "avg" and "max"
            stand for a pooling, a tuple of branches at the end of a branch for its fork.
        conv: makes a convolution.
    """

    def __init__(self, inputs: int, branches: tuple, conv: Any = conv_bn):
        super().__init__()
        self.branches = branches
        for branch in branches:
            self._add(inputs, branch, conv)

    def _add(self, width: int, branch: tuple, conv: Any) -> None:
        for part in branch:
            if isinstance(part, str):
                continue
            if isinstance(part[0], tuple):
                for fork in part:
                    self._add(width, fork, conv)
                return
            name, outputs, kernel, *stride = part
            padding = 0 if stride else None
            self.add_sublayer(name, conv(width, outputs, kernel, max(*stride, 1) if stride else 1, padding=padding))
            width = outputs

    def _run(self, x: Any, branch: tuple) -> list[Any]:
        for part in branch:
            if part == "avg":
                x = nn.functional.avg_pool2d(x, 3, 1, 1)
            elif part == "max":
                x = nn.functional.max_pool2d(x, 3, 2)
            elif isinstance(part[0], tuple):
                return [y for fork in part for y in self._run(x, fork)]
            else:
                x = getattr(self, part[0])(x)
        return [x]

    def forward(self, x: Any) -> Any:
        return concat([y for branch in self.branches for y in self._run(x, branch)], axis=1)


TALL, WIDE = (7, 1), (1, 7)
STEM_FORK = (
    (("_conv1_1", 64, 1), ("_conv1_2", 96, 3, 0)),
    (("_conv2_1", 64, 1), ("_conv2_2", 64, TALL), ("_conv2_3", 64, WIDE), ("_conv2_4", 96, 3, 0)),
)
A = (
    ("avg", ("_conv1", 96, 1)),
    (("_conv2", 96, 1),),
    (("_conv3_1", 64, 1), ("_conv3_2", 96, 3)),
    (("_conv4_1", 64, 1), ("_conv4_2", 96, 3), ("_conv4_3", 96, 3)),
)
REDUCTION_A = (
    ("max",),
    (("_conv2", 384, 3, 2),),
    (("_conv3_1", 192, 1), ("_conv3_2", 224, 3), ("_conv3_3", 256, 3, 2)),
)
B = (
    ("avg", ("_conv1", 128, 1)),
    (("_conv2", 384, 1),),
    (("_conv3_1", 192, 1), ("_conv3_2", 224, WIDE), ("_conv3_3", 256, TALL)),
    (
        ("_conv4_1", 192, 1),
        ("_conv4_2", 192, WIDE),
        ("_conv4_3", 224, TALL),
        ("_conv4_4", 224, WIDE),
        ("_conv4_5", 256, TALL),
    ),
)
REDUCTION_B = (
    ("max",),
    (("_conv2_1", 192, 1), ("_conv2_2", 192, 3, 2)),
    (("_conv3_1", 256, 1), ("_conv3_2", 256, WIDE), ("_conv3_3", 320, TALL), ("_conv3_4", 320, 3, 2)),
)
C = (
    ("avg", ("_conv1", 256, 1)),
    (("_conv2", 256, 1),),
    (("_conv3_0", 384, 1), ((("_conv3_1", 256, (1, 3)),), (("_conv3_2", 256, (3, 1)),))),
    (
        ("_conv4_0", 384, 1),
        ("_conv4_00", 448, (1, 3)),
        ("_conv4_000", 512, (3, 1)),
        ((("_conv4_1", 256, (1, 3)),), (("_conv4_2", 256, (3, 1)),)),
    ),
)


class Stem(nn.Layer):
    """To an eighth of the edges and 384 channels."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_1 = conv_bn(3, 32, 3, 2, padding=0)
        self._conv_2 = conv_bn(32, 32, 3, padding=0)
        self._conv_3 = conv_bn(32, 64, 3)
        self._conv2 = conv_bn(64, 96, 3, 2, padding=0)
        for name, layer in Branches(160, STEM_FORK).named_children():
            self.add_sublayer(name, layer)
        self._conv3 = conv_bn(192, 192, 3, 2, padding=0)
        self._pool = nn.MaxPool2D(3, 2)

    def forward(self, x: Any) -> Any:
        x = self._conv_3(self._conv_2(self._conv_1(x)))
        x = concat([self._pool(x), self._conv2(x)], axis=1)
        y = self._conv2_4(self._conv2_3(self._conv2_2(self._conv2_1(x))))
        x = concat([self._conv1_2(self._conv1_1(x)), y], axis=1)
        return concat([self._conv3(x), self._pool(x)], axis=1)


class InceptionV4(nn.Sequential):
    """Four, seven and three modules, with reductions between them."""

    def __init__(self, num_classes: int = 1000):
        layers: list = [("_inception_stem", Stem())]
        layers += [(f"_inceptionA_{i}", Branches(384, A)) for i in range(1, 5)]
        layers.append(("_reductionA", Branches(384, REDUCTION_A)))
        layers += [(f"_inceptionB_{i}", Branches(1024, B)) for i in range(1, 8)]
        layers.append(("_reductionB", Branches(1024, REDUCTION_B)))
        layers += [(f"_inceptionC_{i}", Branches(1536, C)) for i in range(1, 4)]
        layers += [("avg_pool", nn.AdaptiveAvgPool2D(1)), ("flatten", nn.Flatten())]
        layers.append(("_drop", nn.Dropout(0.2, mode="downscale_in_infer")))
        super().__init__(*layers, ("out", classifier(1536, num_classes)))


register("inception", InceptionV4, {"inception_v4": {}})
thin = functools.partial(blocks.conv_bn, names=("conv", "bn"), epsilon=1e-3)
# Inception-ResNet-v2: the branches of the three residual modules and of the reductions
MIXED = (
    (("branch0", 96, 1),),
    (("branch1_0", 48, 1), ("branch1_1", 64, 5)),
    (("branch2_0", 64, 1), ("branch2_1", 96, 3), ("branch2_2", 96, 3)),
    ("avg", ("branch3_1", 64, 1)),
)
R35 = (
    (("branch0", 32, 1),),
    (("branch1_0", 32, 1), ("branch1_1", 32, 3)),
    (("branch2_0", 32, 1), ("branch2_1", 48, 3), ("branch2_2", 64, 3)),
)
R17 = ((("branch0", 192, 1),), (("branch1_0", 128, 1), ("branch1_1", 160, WIDE), ("branch1_2", 192, TALL)))
R8 = ((("branch0", 192, 1),), (("branch1_0", 192, 1), ("branch1_1", 224, (1, 3)), ("branch1_2", 256, (3, 1))))
REDUCE_A = (
    (("branch0", 384, 3, 2),),
    (("branch1_0", 256, 1), ("branch1_1", 256, 3), ("branch1_2", 384, 3, 2)),
    ("max",),
)
REDUCE_B = (
    (("branch0_0", 256, 1), ("branch0_1", 384, 3, 2)),
    (("branch1_0", 256, 1), ("branch1_1", 288, 3, 2)),
    (("branch2_0", 256, 1), ("branch2_1", 288, 3), ("branch2_2", 320, 3, 2)),
    ("max",),
)


class Residual(nn.Layer):
    """Branches and a convolution 1x1, scaled, beside a shortcut."""

    def __init__(self, width: int, branches: tuple, middle: int, scale: float, act: bool = True):
        super().__init__()
        self.branches = Branches(width, branches, thin)
        self.conv2d = nn.Conv2D(middle, width, 1)
        self.scale, self.act = scale, act

    def forward(self, x: Any) -> Any:
        x = x + self.scale * self.conv2d(self.branches(x))
        return nn.functional.relu(x) if self.act else x


class InceptionResNet(nn.Layer):
    """Ten, twenty and ten residual modules."""

    def __init__(self, num_classes: int = 1000):
        super().__init__()
        self.stem = nn.Sequential(
            thin(3, 32, 3, 2, padding=0),
            thin(32, 32, 3, padding=0),
            thin(32, 64, 3),
            nn.MaxPool2D(3, 2),
            thin(64, 80, 1),
            thin(80, 192, 3, padding=0),
            nn.MaxPool2D(3, 2),
        )
        self.mixed_5b = Branches(192, MIXED, thin)
        self.repeat = nn.Sequential(*(Residual(320, R35, 128, 0.17) for _ in range(10)))
        self.mixed_6a = Branches(320, REDUCE_A, thin)
        self.repeat_1 = nn.Sequential(*(Residual(1088, R17, 384, 0.1) for _ in range(20)))
        self.mixed_7a = Branches(1088, REDUCE_B, thin)
        self.repeat_2 = nn.Sequential(*(Residual(2080, R8, 448, 0.2) for _ in range(9)))
        self.block8 = Residual(2080, R8, 448, 1.0, act=False)
        self.conv2d_7b = thin(2080, 1536)
        self.head = classifier(1536, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.repeat(self.mixed_5b(self.stem(x)))
        x = self.repeat_1(self.mixed_6a(x))
        x = self.block8(self.repeat_2(self.mixed_7a(x)))
        return self.head(pool(self.conv2d_7b(x)))


register("inception", InceptionResNet, {"inception_resnet_v2": {}})
