"""RepVGG (Ding et al., "RepVGG: making VGG-style ConvNets great again", 2021), as it is trained; keys of the
weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"), act=None)


class SqueezeExcite(nn.Layer):
    """`blocks.SqueezeExcite` with the keys of PaddleClas."""

    def __init__(self, width: int):
        super().__init__()
        self.down = nn.Conv2D(width, width // 16, 1)
        self.up = nn.Conv2D(width // 16, width, 1)

    def forward(self, x: Any) -> Any:
        return x * F.sigmoid(self.up(F.relu(self.down(x.mean([2, 3], keepdim=True)))))


class Block(nn.Layer):
    """The sum of the input, a convolution 1x1 and one 3x3, each normalised."""

    def __init__(self, inputs: int, outputs: int, stride: int, groups: int, squeeze: bool):
        super().__init__()
        self.se = SqueezeExcite(outputs) if squeeze else nn.Identity()
        self.rbr_identity = nn.BatchNorm2D(inputs) if stride == 1 and inputs == outputs else None
        self.rbr_dense = conv_bn(inputs, outputs, 3, stride, groups)
        self.rbr_1x1 = conv_bn(inputs, outputs, 1, stride, groups)

    def forward(self, x: Any) -> Any:
        y = self.rbr_dense(x) + self.rbr_1x1(x)
        return F.relu(self.se(y if self.rbr_identity is None else y + self.rbr_identity(x)))


class RepVGG(nn.Sequential):
    """Four stages.

    Args:
        depths: blocks of the stages.
        factors: of their widths 64, 128, 256, 512.
        groups: of every second convolution.
        squeeze: squeeze and excitation in every block.
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        factors: tuple[float, ...],
        groups: int = 1,
        squeeze: bool = False,
        num_classes: int = 1000,
    ):
        inputs = min(64, int(64 * factors[0]))
        layers: list = [("stage0", Block(3, inputs, 2, 1, squeeze))]
        count = 1
        for stage, (depth, factor) in enumerate(zip(depths, factors)):
            width, chain = int(64 * 2**stage * factor), []
            for i in range(depth):
                grouped = groups if count % 2 == 0 else 1
                chain.append(Block(inputs, width, 2 if i == 0 else 1, grouped, squeeze))
                inputs, count = width, count + 1
            layers.append((f"stage{stage + 1}", nn.Sequential(*chain)))
        layers += [("gap", nn.AdaptiveAvgPool2D(1)), ("flatten", nn.Flatten())]
        super().__init__(*layers, ("linear", classifier(inputs, num_classes)))


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
register(
    "repvgg",
    RepVGG,
    {"repvgg_d2se": {"depths": (8, 14, 24, 1), "factors": (2.5, 2.5, 2.5, 5), "squeeze": True}},
)
