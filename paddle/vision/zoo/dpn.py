"""Dual path networks (Chen et al., "Dual path networks", 2017); keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn import functional as F
from .blocks import classifier, conv_bn, pool
from .registry import register


class Conv(nn.Layer):
    """Normalisation, an activation and a convolution."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1):
        super().__init__()
        self._batch_norm = nn.BatchNorm2D(inputs)
        self._conv = nn.Conv2D(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias_attr=False)

    def forward(self, x: Any) -> Any:
        return self._conv(F.relu(self._batch_norm(x)))


class Block(nn.Layer):
    """A bottleneck; a part of its result is added to the residual path, the rest joined to the dense path.

    Args:
        inputs: channels of both paths together.
        middle: of the convolution 3x3.
        width: channels of the residual path.
        grow: channels that the dense path gains.
        groups, stride: of the convolution 3x3.
        project: both paths start from a convolution.
    """

    def __init__(self, inputs: int, middle: int, width: int, grow: int, groups: int, stride: int, project: bool):
        super().__init__()
        self.width, self.project = width, project
        if project:
            self.c1x1_w_func = Conv(inputs, width + 2 * grow, 1, stride)
        self.c1x1_a_func = Conv(inputs, middle)
        self.c3x3_b_func = Conv(middle, middle, 3, stride, groups)
        self.c1x1_c_func = Conv(middle, width + grow)

    def forward(self, x: Any) -> Any:
        y = self.c1x1_c_func(self.c3x3_b_func(self.c1x1_a_func(x)))
        x, width = self.c1x1_w_func(x) if self.project else x, self.width
        return concat([x[:, :width] + y[:, :width], x[:, width:], y[:, width:]], axis=1)


class DPN(nn.Layer):
    """Four stages.

    Args:
        stem: channels and kernel of the first convolution.
        depths: blocks of the stages.
        grow: what the dense path gains in a block, by stages.
        width: channels of the residual path in the first stage; it doubles.
        middle: of the convolutions 3x3 in the first stage; it doubles.
        groups: of these.
        num_classes: outputs.
    """

    def __init__(
        self,
        stem: tuple[int, int],
        depths: tuple[int, ...],
        grow: tuple[int, ...],
        width: int,
        middle: int,
        groups: int,
        num_classes: int = 1000,
    ):
        super().__init__()
        inputs, kernel = stem
        self.conv1_x_1_func = conv_bn(3, inputs, kernel, 2, names=("_conv", "_batch_norm"))
        self.pool2d_max = nn.MaxPool2D(3, 2, padding=1)
        self.names = [f"dpn{i + 1}" for i in range(sum(depths))]
        names = iter(self.names)
        for stage, (depth, gain) in enumerate(zip(depths, grow)):
            for i in range(depth):
                stride = 2 if stage > 0 and i == 0 else 1
                block = Block(inputs, middle, width, gain, groups, stride, i == 0)
                self.add_sublayer(next(names), block)
                inputs = width + 3 * gain if i == 0 else inputs + gain
            width, middle = 2 * width, 2 * middle
        self.conv5_x_x_bn = nn.BatchNorm2D(inputs)
        self.out = classifier(inputs, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.pool2d_max(self.conv1_x_1_func(x))
        for name in self.names:
            x = getattr(self, name)(x)
        return self.out(pool(F.relu(self.conv5_x_x_bn(x))))


def _size(stem: tuple, depths: tuple, grow: tuple, width: int, middle: int, groups: int) -> dict[str, Any]:
    return {"stem": stem, "depths": depths, "grow": grow, "width": width, "middle": middle, "groups": groups}


register(
    "dpn",
    DPN,
    {
        "dpn68": _size((10, 3), (3, 4, 12, 3), (16, 32, 32, 64), 64, 128, 32),
        "dpn92": _size((64, 7), (3, 4, 20, 3), (16, 32, 24, 128), 256, 96, 32),
        "dpn98": _size((96, 7), (3, 6, 20, 3), (16, 32, 32, 128), 256, 160, 40),
        "dpn107": _size((128, 7), (4, 8, 20, 3), (20, 64, 64, 128), 256, 200, 50),
        "dpn131": _size((128, 7), (4, 8, 28, 3), (16, 32, 32, 128), 256, 160, 40),
    },
)
