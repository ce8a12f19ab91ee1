"""MobileOne (Vasu et al., "MobileOne: an improved one millisecond mobile backbone", 2022), as it is trained; keys
of the weights as in timm."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier, make_divisible, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"), act=None)


class SqueezeExcite(nn.Layer):
    """`blocks.SqueezeExcite` with the keys of timm."""

    def __init__(self, width: int):
        super().__init__()
        reduced = make_divisible(width / 16)
        self.fc1 = nn.Conv2D(width, reduced, 1)
        self.fc2 = nn.Conv2D(reduced, width, 1)

    def forward(self, x: Any) -> Any:
        return x * F.sigmoid(self.fc2(F.relu(self.fc1(x.mean([2, 3], keepdim=True)))))


class Block(nn.Layer):
    """The sum of the input, some equal convolutions and one 1x1, each normalised.

    Args:
        inputs, outputs: channels.
        kernel, stride, groups: of the equal convolutions.
        branches: their number.
        squeeze: squeeze and excitation of the sum.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel: int, stride: int, groups: int, branches: int, squeeze: bool = False
    ):
        super().__init__()
        self.identity = nn.BatchNorm2D(inputs) if stride == 1 and inputs == outputs else None
        convs = [conv_bn(inputs, outputs, kernel, stride, groups) for _ in range(branches)]
        self.conv_kxk = nn.LayerList(convs)
        self.conv_scale = conv_bn(inputs, outputs, 1, stride, groups) if kernel > 1 else None
        self.attn = SqueezeExcite(outputs) if squeeze else nn.Identity()

    def forward(self, x: Any) -> Any:
        y = sum(conv(x) for conv in self.conv_kxk)
        y = y if self.conv_scale is None else y + self.conv_scale(x)
        return F.relu(self.attn(y if self.identity is None else y + self.identity(x)))


class MobileOne(nn.Layer):
    """Four stages of pairs: by each channel, then of all.

    Args:
        factors: of the widths 64, 128, 256 and 512 of the stages.
        stem: channels of the first block.
        branches: of the blocks.
        squeezed: how many pairs at the end of each stage have squeeze and excitation.
        num_classes: outputs.
    """

    def __init__(
        self,
        factors: tuple[float, ...],
        stem: int = 64,
        branches: int = 1,
        squeezed: tuple[int, ...] = (0, 0, 0, 0),
        num_classes: int = 1000,
    ):
        super().__init__()
        self.stem = Block(3, stem, 3, 2, 1, 1)
        self.stages = nn.LayerList()
        inputs = stem
        for stage, (depth, factor, last) in enumerate(zip((2, 8, 10, 1), factors, squeezed)):
            outputs, chain = int(64 * 2**stage * factor), []
            for i in range(depth):
                squeeze = i >= depth - last
                chain.append(Block(inputs, inputs, 3, 2 if i == 0 else 1, inputs, branches, squeeze))
                chain.append(Block(inputs, outputs, 1, 1, 1, branches, squeeze))
                inputs = outputs
            self.stages.append(nn.Sequential(*chain))
        self.head = nn.Sequential(("fc", classifier(inputs, num_classes)))

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(pool(x))


register(
    "mobileone",
    MobileOne,
    {
        "mobileone_s0": {"factors": (0.75, 1.0, 1.0, 2.0), "stem": 48, "branches": 4},
        "mobileone_s1": {"factors": (1.5, 1.5, 2.0, 2.5)},
        "mobileone_s2": {"factors": (1.5, 2.0, 2.5, 4.0)},
        "mobileone_s3": {"factors": (2.0, 2.5, 3.0, 4.0)},
        "mobileone_s4": {"factors": (3.0, 3.5, 3.5, 4.0), "squeezed": (0, 0, 5, 1)},
    },
)
