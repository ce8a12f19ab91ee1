"""PP-LCNet (Cui et al., "PP-LCNet: a lightweight CPU convolutional neural network", 2021)."""

from __future__ import annotations

from typing import Any

from ... import nn
from .blocks import SqueezeExcite, classifier, conv_bn, make_divisible
from .registry import register

# kernel, channels, stride, squeeze and excitation
TABLE = (
    (3, 32, 1, False),
    (3, 64, 2, False),
    (3, 64, 1, False),
    (3, 128, 2, False),
    (3, 128, 1, False),
    (3, 256, 2, False),
    *((5, 256, 1, False),) * 5,
    (5, 512, 2, True),
    (5, 512, 1, True),
)


class Block(nn.Layer):
    """By each channel, squeeze and excitation, of all channels."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, squeeze: bool):
        super().__init__()
        self.depthwise = conv_bn(inputs, inputs, kernel, stride, inputs, act=nn.Hardswish)
        self.se = SqueezeExcite(inputs, inputs // 4, gate=nn.Hardsigmoid) if squeeze else nn.Identity()
        self.pointwise = conv_bn(inputs, outputs, act=nn.Hardswish)

    def forward(self, x: Any) -> Any:
        return self.pointwise(self.se(self.depthwise(x)))


class PPLCNet(nn.Layer):
    """Depthwise separable convolutions; `width` is a factor of all channels."""

    def __init__(self, width: float = 1.0, num_classes: int = 1000):
        super().__init__()
        inputs = make_divisible(16 * width)
        self.stem = conv_bn(3, inputs, 3, 2, act=nn.Hardswish)
        blocks: list[nn.Layer] = []
        for kernel, channels, stride, squeeze in TABLE:
            blocks.append(Block(inputs, make_divisible(channels * width), kernel, stride, squeeze))
            inputs = make_divisible(channels * width)
        self.blocks = nn.Sequential(*blocks)
        self.features = nn.Sequential(nn.Conv2D(inputs, 1280, 1, bias_attr=False), nn.Hardswish(), nn.Dropout(0.2))
        self.head = classifier(1280, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.blocks(self.stem(x)).mean([2, 3], keepdim=True)
        return self.head(self.features(x).flatten(1))


SCALES = ("0_25", "0_35", "0_5", "0_75", "1_0", "1_5", "2_0", "2_5")
register("pplcnet", PPLCNet, {f"pplcnet_x{n}": {"width": float(n.replace("_", "."))} for n in SCALES})
