"""RepVGG (Ding et al., "RepVGG: making VGG-style ConvNets great again", 2021), as it is trained."""

from __future__ import annotations

from typing import Any

from ... import nn
from .blocks import classifier, conv_bn, pool
from .registry import register


class Block(nn.Layer):
    """The sum of the input, a convolution 1x1 and one 3x3, each normalised."""

    def __init__(self, inputs: int, outputs: int, stride: int, groups: int):
        super().__init__()
        self.identity = nn.BatchNorm2D(inputs) if stride == 1 and inputs == outputs else None
        self.conv3 = conv_bn(inputs, outputs, 3, stride, groups, act=None)
        self.conv1 = conv_bn(inputs, outputs, 1, stride, groups, act=None)
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        y = self.conv3(x) + self.conv1(x)
        return self.act(y if self.identity is None else y + self.identity(x))


class RepVGG(nn.Layer):
    """Four stages.

    Args:
        depths: blocks of the stages.
        factors: of their widths 64, 128, 256, 512.
        groups: of every second convolution.
        num_classes: outputs.
    """

    def __init__(self, depths: tuple[int, ...], factors: tuple[float, ...], groups: int = 1, num_classes: int = 1000):
        super().__init__()
        inputs = min(64, int(64 * factors[0]))
        blocks: list[nn.Layer] = [Block(3, inputs, 2, 1)]
        for stage, (depth, factor) in enumerate(zip(depths, factors)):
            width = int(64 * 2**stage * factor)
            for i in range(depth):
                blocks.append(Block(inputs, width, 2 if i == 0 else 1, groups if len(blocks) % 2 == 0 else 1))
                inputs = width
        self.blocks = nn.Sequential(*blocks)
        self.head = classifier(inputs, num_classes)

    def forward(self, x: Any) -> Any:
        return self.head(pool(self.blocks(x)))


SIZES = {
    "a0": (0.75, 0.75, 0.75, 2.5),
    "a1": (1, 1, 1, 2.5),
    "a2": (1.5, 1.5, 1.5, 2.75),
    "b0": (1, 1, 1, 2.5),
    "b1": (2, 2, 2, 4),
    "b2": (2.5, 2.5, 2.5, 5),
    "b3": (3, 3, 3, 5),
}
for _name, _factors in SIZES.items():
    _options = {"depths": (2, 4, 14, 1) if _name[0] == "a" else (4, 6, 16, 1), "factors": _factors}
    register("repvgg", RepVGG, {f"repvgg_{_name}": _options})
    if _name in ("b1", "b2", "b3"):
        register("repvgg", RepVGG, {f"repvgg_{_name}g{g}": {**_options, "groups": g} for g in (2, 4)})
