"""PP-LCNetV2 of PaddleClas, as it is trained; keys of the weights as there."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier, make_divisible
from .esnet import SqueezeExcite
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"))


class Block(nn.Layer):
    """By each channel, then of all.

    Args:
        inputs, outputs: channels.
        kernel, stride: of the convolution by each channel.
        split: two convolutions of all channels.
        several: the convolution by each channel is a sum of several kernels.
        squeeze: squeeze and excitation.
        skip: a shortcut, where the shape stays.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int,
        split: bool = False,
        several: bool = False,
        squeeze: bool = False,
        skip: bool = False,
    ):
        super().__init__()
        self.several, self.skip = several, skip and stride == 1 and inputs == outputs
        if several:
            kernels = [k for k in range(kernel, 0, -2) if k > 1 or stride == 1]
            self.dw_conv_list = nn.LayerList([conv_bn(inputs, inputs, k, stride, inputs, None) for k in kernels])
            # holds the sum of the kernels where a trained network has been merged
            self.dw_conv = nn.Conv2D(inputs, inputs, kernel, stride, kernel // 2, groups=inputs)
        else:
            self.dw_conv = conv_bn(inputs, inputs, kernel, stride, inputs)
        self.se = SqueezeExcite(inputs, gate=nn.Sigmoid) if squeeze else nn.Identity()
        if split:
            half = outputs // 2
            self.pw_conv_1, self.pw_conv_2 = conv_bn(inputs, half), conv_bn(half, outputs)
        else:
            self.pw_conv = conv_bn(inputs, outputs)
        self.split = split

    def forward(self, x: Any) -> Any:
        y = F.relu(sum(conv(x) for conv in self.dw_conv_list)) if self.several else self.dw_conv(x)
        y = self.se(y)
        y = self.pw_conv_2(self.pw_conv_1(y)) if self.split else self.pw_conv(y)
        return x + y if self.skip else y


# channels, kernel, further options of the blocks
STAGES = (
    (64, 3, {}),
    (128, 3, {}),
    (256, 5, {"split": True, "several": True, "squeeze": True}),
    (512, 5, {"several": True, "skip": True}),
)


class PPLCNetV2(nn.Layer):
    """Four stages; `width` is a factor of all channels, `depths` are the blocks of the stages."""

    def __init__(self, width: float, depths: tuple[int, ...], num_classes: int = 1000):
        super().__init__()
        inputs = make_divisible(32 * width)
        outputs = make_divisible(64 * width)
        self.stem = nn.Sequential(conv_bn(3, inputs, 3, 2), Block(inputs, outputs, 3, 1))
        self.stages = nn.LayerList()
        for (channels, kernel, options), depth in zip(STAGES, depths):
            chain = []
            for i in range(depth):
                inputs, outputs = outputs, make_divisible(2 * channels * width)
                chain.append(Block(inputs, outputs, kernel, 2 if i == 0 else 1, **options))
            self.stages.append(nn.Sequential(*chain))
        self.last_conv = nn.Conv2D(outputs, 1280, 1, bias_attr=False)
        self.dropout = nn.Dropout(0.2, mode="downscale_in_infer")
        self.fc = classifier(1280, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.fc(self.dropout(F.relu(self.last_conv(x.mean([2, 3], keepdim=True)))).flatten(1))


register(
    "pplcnetv2",
    PPLCNetV2,
    {
        "pplcnetv2_small": {"width": 0.75, "depths": (2, 2, 4, 2)},
        "pplcnetv2_base": {"width": 1.0, "depths": (2, 2, 6, 2)},
        "pplcnetv2_large": {"width": 1.25, "depths": (2, 2, 8, 2)},
    },
)
