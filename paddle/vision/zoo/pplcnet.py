"""PP-LCNet (Cui et al., "PP-LCNet: a lightweight CPU convolutional neural network", 2021); keys of the weights as in
PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier, make_divisible
from .esnet import SqueezeExcite
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"), act=nn.Hardswish)
# blocks of each stage: kernel, channels, squeeze and excitation; the first block of all stages but one has stride 2
STAGES = (
    ((3, 32, False),),
    ((3, 64, False),) * 2,
    ((3, 128, False),) * 2,
    ((3, 256, False), *((5, 256, False),) * 5),
    ((5, 512, True),) * 2,
)


class Block(nn.Layer):
    """By each channel, squeeze and excitation, of all channels."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, squeeze: bool):
        super().__init__()
        self.dw_conv = conv_bn(inputs, inputs, kernel, stride, inputs)
        self.se = SqueezeExcite(inputs) if squeeze else nn.Identity()
        self.pw_conv = conv_bn(inputs, outputs)

    def forward(self, x: Any) -> Any:
        return self.pw_conv(self.se(self.dw_conv(x)))


class PPLCNet(nn.Layer):
    """Depthwise separable convolutions; `width` is a factor of all channels."""

    def __init__(self, width: float = 1.0, num_classes: int = 1000):
        super().__init__()
        inputs = make_divisible(16 * width)
        self.conv1 = conv_bn(3, inputs, 3, 2)
        for stage, rows in enumerate(STAGES, 2):
            chain: list[nn.Layer] = []
            for i, (kernel, channels, squeeze) in enumerate(rows):
                outputs = make_divisible(channels * width)
                chain.append(Block(inputs, outputs, kernel, 2 if i == 0 and stage > 2 else 1, squeeze))
                inputs = outputs
            self.add_sublayer(f"blocks{stage}", nn.Sequential(*chain))
        self.last_conv = nn.Conv2D(inputs, 1280, 1, bias_attr=False)
        self.dropout = nn.Dropout(0.2, mode="downscale_in_infer")
        self.fc = classifier(1280, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.blocks6(self.blocks5(self.blocks4(self.blocks3(self.blocks2(self.conv1(x))))))
        return self.fc(self.dropout(F.hardswish(self.last_conv(x.mean([2, 3], keepdim=True)))).flatten(1))


SCALES = ("0_25", "0_35", "0_5", "0_75", "1_0", "1_5", "2_0", "2_5")
register("pplcnet", PPLCNet, {f"pplcnet_x{n}": {"width": float(n.replace("_", "."))} for n in SCALES})
