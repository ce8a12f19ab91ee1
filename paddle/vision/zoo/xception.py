"""Xception (Chollet, "Xception: deep learning with depthwise separable convolutions", 2016), and its form of DeepLab
(Chen et al., "Encoder-decoder with atrous separable convolution", 2018); keys of the weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("_conv", "_batch_norm"), act=None)


class Separable(nn.Sequential):
    """Of all channels, then by each."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__(
            ("_pointwise_conv", conv_bn(inputs, outputs)),
            ("_depthwise_conv", conv_bn(outputs, outputs, 3, groups=outputs)),
        )


class Block(nn.Layer):
    """Separable convolutions, each after an activation, beside a shortcut.

    Args:
        widths: channels before and after every convolution.
        stride: of the shortcut, and of a pooling at the end; None: the shortcut is the input.
        first: number of the first convolution in the keys.
        name: of the convolutions in the keys.
        active: whether the first activation is there.
    """

    def __init__(
        self, widths: tuple[int, ...], stride: int | None, first: int, name: str = "_conv_", active: bool = True
    ):
        super().__init__()
        self.active = active
        if stride is not None:
            self._short = nn.Conv2D(widths[0], widths[-1], 1, stride, bias_attr=False)
        self.names = [f"{name}{i}" for i in range(first, first + len(widths) - 1)]
        for key, inputs, outputs in zip(self.names, widths, widths[1:]):
            self.add_sublayer(key, Separable(inputs, outputs))
        self.stride = stride
        if stride is not None:
            self._pool = nn.MaxPool2D(3, stride, padding=1)

    def forward(self, x: Any) -> Any:
        y = x
        for i, name in enumerate(self.names):
            y = getattr(self, name)(F.relu(y) if i > 0 or self.active else y)
        return x + y if self.stride is None else self._short(x) + self._pool(y)


class Exit(nn.Layer):
    """The last block, two separable convolutions and the classifier."""

    def __init__(self, num_classes: int):
        super().__init__()
        self._conv_0 = Block((728, 728, 1024), 2, 1)
        self._conv_1 = Separable(1024, 1536)
        self._conv_2 = Separable(1536, 2048)
        self._out = classifier(2048, num_classes)

    def forward(self, x: Any) -> Any:
        x = F.relu(self._conv_1(self._conv_0(x)))
        return self._out(pool(F.relu(self._conv_2(x))))


class Xception(nn.Layer):
    """Three flows of blocks.

    Args:
        entry: channels and stride of the blocks of the entry flow.
        middle: blocks of the middle flow.
        num_classes: outputs.
    """

    def __init__(self, entry: tuple, middle: int, num_classes: int = 1000):
        super().__init__()
        stem = [("_conv1", conv_bn(3, 32, 3, 2, act=nn.ReLU)), ("_conv2", conv_bn(32, 64, 3, act=nn.ReLU))]
        flow, inputs = [], 64
        for i, (width, stride) in enumerate(entry):
            flow.append((f"_conv_{i}", Block((inputs, width, width), stride, 1, "_conv", i > 0)))
            inputs = width
        self._entry_flow = nn.Sequential(*stem, *flow)
        self._middle_flow = nn.Sequential(*((f"_conv_{i}", Block((728,) * 4, None, 0)) for i in range(middle)))
        self._exit_flow = Exit(num_classes)

    def forward(self, x: Any) -> Any:
        return self._exit_flow(self._middle_flow(self._entry_flow(x)))


class DeepSeparable(nn.Layer):
    """By each channel, then of all, normalised twice."""

    def __init__(self, inputs: int, outputs: int, stride: int, dilation: int, act: bool):
        super().__init__()
        self.act = act
        self._conv1 = nn.Conv2D(inputs, inputs, 3, stride, dilation, dilation, inputs, bias_attr=False)
        self._bn1 = nn.BatchNorm2D(inputs, epsilon=1e-3)
        self._conv2 = nn.Conv2D(inputs, outputs, 1, bias_attr=False)
        self._bn2 = nn.BatchNorm2D(outputs, epsilon=1e-3)

    def forward(self, x: Any) -> Any:
        act = F.relu if self.act else lambda y: y
        return act(self._bn2(self._conv2(act(self._bn1(self._conv1(x))))))


class DeepBlock(nn.Layer):
    """Three separable convolutions, the last with the stride.

    Args:
        widths: channels before and after each.
        stride: of the last.
        shortcut: "conv", "same" or "none".
        dilation: of all.
    """

    def __init__(self, widths: tuple[int, ...], stride: int = 1, shortcut: str = "conv", dilation: int = 1):
        super().__init__()
        self.shortcut = shortcut
        inside = shortcut == "none"  # activations after the normalisations, else before the convolutions
        self._conv1 = DeepSeparable(widths[0], widths[1], 1, dilation, inside)
        self._conv2 = DeepSeparable(widths[1], widths[2], 1, dilation, inside)
        self._conv3 = DeepSeparable(widths[2], widths[3], stride, dilation, inside)
        if shortcut == "conv":
            self._short = deep_conv(widths[0], widths[-1], 1, stride, act=None)

    def forward(self, x: Any) -> Any:
        if self.shortcut == "none":
            return self._conv3(self._conv2(self._conv1(x)))
        y = self._conv3(F.relu(self._conv2(F.relu(self._conv1(F.relu(x))))))
        return y + (self._short(x) if self.shortcut == "conv" else x)


deep_conv = functools.partial(blocks.conv_bn, names=("_conv", "_bn"), epsilon=1e-3)


class DeepXception(nn.Sequential):
    """Xception with convolutions in place of the poolings, a sixteenth of the edges at the end of the entry flow."""

    def __init__(self, middle: int, name: str, num_classes: int = 1000):
        widths = (64, 128, 256, 728)
        layers = [("_conv1", deep_conv(3, 32, 3, 2)), ("_conv2", deep_conv(32, 64, 3))]
        for i, (inputs, width) in enumerate(zip(widths, widths[1:]), 1):
            layers.append((f"{name}/entry_flow/block{i}", DeepBlock((inputs, width, width, width), 2)))
        layers += [(f"{name}/middle_flow/block{i + 1}", DeepBlock((728,) * 4, 1, "same")) for i in range(middle)]
        layers.append(("_exit_flow_1", DeepBlock((728, 728, 1024, 1024), 2)))
        layers.append(("_exit_flow_2", DeepBlock((1024, 1536, 1536, 2048), 1, "none", 2)))
        layers += [("_drop", nn.Dropout(0.5, mode="downscale_in_infer")), ("_pool", nn.AdaptiveAvgPool2D(1))]
        super().__init__(*layers, ("flatten", nn.Flatten()), ("_fc", classifier(2048, num_classes)))


SHORT = ((128, 2), (256, 2), (728, 2))
LONG = ((128, 2), (256, 1), (256, 2), (728, 1), (728, 2))
register(
    "xception",
    Xception,
    {
        "xception41": {"entry": SHORT, "middle": 8},
        "xception65": {"entry": SHORT, "middle": 16},
        "xception71": {"entry": LONG, "middle": 16},
    },
)
for _size, _middle in ((41, 8), (65, 16)):
    register("xception", DeepXception, {f"xception{_size}_deeplab": {"middle": _middle, "name": f"xception_{_size}"}})
