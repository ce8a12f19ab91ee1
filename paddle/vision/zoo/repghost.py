"""RepGhost (Chen et al., "RepGhost: a hardware-efficient ghost module via re-parameterization", 2022), as it is
trained; keys of the weights as in timm."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn import functional as F
from .blocks import classifier, make_divisible
from .registry import register


def conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Layer]:
    layer = nn.Conv2D(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias_attr=False)
    return [layer, nn.BatchNorm2D(outputs)]


class Ghost(nn.Layer):
    """A convolution 1x1; to its result one of each channel and a normalised copy are added."""

    def __init__(self, inputs: int, outputs: int, act: bool):
        super().__init__()
        self.primary_conv = nn.Sequential(*conv(inputs, outputs), *([nn.ReLU()] if act else []))
        self.fusion_bn = nn.Sequential(nn.BatchNorm2D(outputs))
        self.cheap_operation = nn.Sequential(*conv(outputs, outputs, 3, 1, outputs))
        self.act = act

    def forward(self, x: Any) -> Any:
        x = self.primary_conv(x)
        y = self.cheap_operation(x) + self.fusion_bn(x)
        return F.relu(y) if self.act else y


class SqueezeExcite(nn.Layer):
    """`blocks.SqueezeExcite` with the keys of timm."""

    def __init__(self, width: int):
        super().__init__()
        reduced = make_divisible(width / 4, 4)
        self.conv_reduce = nn.Conv2D(width, reduced, 1)
        self.conv_expand = nn.Conv2D(reduced, width, 1)

    def forward(self, x: Any) -> Any:
        y = self.conv_expand(F.relu(self.conv_reduce(x.mean([2, 3], keepdim=True))))
        return x * F.relu6(y + 3) / 6


class Block(nn.Layer):
    """Two ghost modules beside a shortcut."""

    def __init__(self, inputs: int, hidden: int, outputs: int, kernel: int, stride: int, squeeze: bool):
        super().__init__()
        self.ghost1 = Ghost(inputs, hidden, True)
        self.stride = stride
        if stride > 1:
            self.conv_dw, self.bn_dw = conv(hidden, hidden, kernel, stride, hidden)
        self.se = SqueezeExcite(hidden) if squeeze else nn.Identity()
        self.ghost2 = Ghost(hidden, outputs, False)
        self.shortcut = nn.Sequential()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(*conv(inputs, inputs, kernel, stride, inputs), *conv(inputs, outputs))

    def forward(self, x: Any) -> Any:
        y = self.ghost1(x)
        y = self.bn_dw(self.conv_dw(y)) if self.stride > 1 else y
        return self.ghost2(self.se(y)) + self.shortcut(x)


# stages of blocks: kernel, hidden channels, channels, squeeze and excitation, stride
TABLE = (
    ((3, 8, 16, False, 1),),
    ((3, 24, 24, False, 2),),
    ((3, 36, 24, False, 1),),
    ((5, 36, 40, True, 2),),
    ((5, 60, 40, True, 1),),
    ((3, 120, 80, False, 2),),
    (
        (3, 100, 80, False, 1),
        (3, 120, 80, False, 1),
        (3, 120, 80, False, 1),
        (3, 240, 112, True, 1),
        (3, 336, 112, True, 1),
    ),
    ((5, 336, 160, True, 2),),
    ((5, 480, 160, False, 1), (5, 480, 160, True, 1)) * 2,
)


class RepGhostNet(nn.Layer):
    """Blocks by a table; `width` is a factor of all channels."""

    def __init__(self, width: float = 1.0, num_classes: int = 1000):
        super().__init__()
        inputs = make_divisible(16 * width, 4)
        self.conv_stem, self.bn1 = conv(3, inputs, 3, 2)
        stages: list[nn.Layer] = []
        for rows in TABLE:
            chain = []
            for kernel, hidden, outputs, squeeze, stride in rows:
                outputs, hidden = make_divisible(outputs * width, 4), make_divisible(hidden * width, 4)
                chain.append(Block(inputs, hidden, outputs, kernel, stride, squeeze))
                inputs = outputs
            stages.append(nn.Sequential(*chain))
        last = make_divisible(960 * width, 4)
        layers = [("conv", nn.Conv2D(inputs, last, 1, bias_attr=False)), ("bn1", nn.BatchNorm2D(last))]
        stages.append(nn.Sequential(nn.Sequential(*layers, ("act", nn.ReLU()))))
        self.blocks = nn.Sequential(*stages)
        self.conv_head = nn.Conv2D(last, 1280, 1)
        self.dropout = nn.Dropout(0.2)
        self.classifier = classifier(1280, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.blocks(F.relu(self.bn1(self.conv_stem(x)))).mean([2, 3], keepdim=True)
        return self.classifier(self.dropout(F.relu(self.conv_head(x)).flatten(1)))


WIDTHS = ("050", "058", "080", "100", "111", "130", "150", "200")
register("repghost", RepGhostNet, {f"repghostnet_{n}": {"width": int(n) / 100} for n in WIDTHS})
