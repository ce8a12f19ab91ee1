"""VoVNet (Lee et al., "An energy and GPU-computation efficient backbone network for real-time object detection",
2019) and its second form with effective squeeze and excitation (Lee and Park, "CenterMask", 2019); keys of the
weights as in timm."""

from __future__ import annotations

import functools
from typing import Any

from ... import concat, nn
from . import blocks
from .blocks import EffectiveSqueezeExcite, EfficientChannelAttention, classifier, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"))
ATTENTION = {"ese": EffectiveSqueezeExcite, "eca": EfficientChannelAttention}


def separable(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    """By each channel, then of all, normalised once."""
    depthwise = nn.Conv2D(inputs, inputs, 3, stride, 1, groups=inputs, bias_attr=False)
    layers = [("conv_dw", depthwise), ("conv_pw", nn.Conv2D(inputs, outputs, 1, bias_attr=False))]
    return nn.Sequential(*layers, ("bn", nn.BatchNorm2D(outputs)), ("act", nn.ReLU()))


class Block(nn.Layer):
    """Convolutions in a row; the results of all are aggregated at once.

    Args:
        inputs, middle, outputs: channels.
        layers: number of convolutions.
        depthwise: they are separable.
        attention: of `ATTENTION`, or None.
        skip: beside a shortcut.
    """

    def __init__(
        self, inputs: int, middle: int, outputs: int, layers: int, depthwise: bool, attention: str | None, skip: bool
    ):
        super().__init__()
        reduce = depthwise and inputs != middle
        self.conv_reduction = conv_bn(inputs, middle) if reduce else nn.Identity()
        self.conv_mid = nn.LayerList()
        for i in range(layers):
            before = inputs if i == 0 and not reduce else middle
            self.conv_mid.append(separable(before, middle) if depthwise else conv_bn(before, middle, 3))
        self.conv_concat = conv_bn(inputs + layers * middle, outputs)
        self.attn = ATTENTION[attention](outputs) if attention else nn.Identity()
        self.skip = skip

    def forward(self, x: Any) -> Any:
        done, y = [x], self.conv_reduction(x)
        for conv in self.conv_mid:
            y = conv(y)
            done.append(y)
        y = self.attn(self.conv_concat(concat(done, axis=1)))
        return x + y if self.skip else y


class VoVNet(nn.Layer):
    """Four stages.

    Args:
        depths: blocks of the stages.
        layers: convolutions of a block.
        stem: channels of the first three convolutions.
        middle, widths: channels within and after the blocks.
        attention: of the last block of each stage.
        depthwise: see `Block`.
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        layers: int = 5,
        stem: tuple[int, ...] = (64, 64, 128),
        middle: tuple[int, ...] = (128, 160, 192, 224),
        widths: tuple[int, ...] = (256, 512, 768, 1024),
        attention: str | None = None,
        depthwise: bool = False,
        num_classes: int = 1000,
    ):
        super().__init__()
        first, second, inputs = stem
        if depthwise:
            rest = [separable(first, second), separable(second, inputs, 2)]
        else:
            rest = [conv_bn(first, second, 3), conv_bn(second, inputs, 3, 2)]
        self.stem = nn.Sequential(conv_bn(3, first, 3, 2), *rest)
        self.stages = nn.LayerList()
        for stage, (depth, inner, outputs) in enumerate(zip(depths, middle, widths)):
            chain = []
            for i in range(depth):
                last = attention if i == depth - 1 else None
                chain.append(Block(inputs, inner, outputs, layers, depthwise, last, attention is not None and i > 0))
                inputs = outputs
            reduce = [("pool", nn.MaxPool2D(3, 2, ceil_mode=True))] if stage > 0 else []
            self.stages.append(nn.Sequential(*reduce, ("blocks", nn.Sequential(*chain))))
        self.head = nn.Sequential(("fc", classifier(inputs, num_classes)))

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(pool(x))


SLIM = {"middle": (64, 80, 96, 112), "widths": (112, 256, 384, 512)}
V19 = {"depths": (1, 1, 1, 1), "layers": 3, "attention": "ese"}
DW = {"stem": (64, 64, 64), "depthwise": True}
register(
    "vovnet",
    VoVNet,
    {
        "vovnet39a": {"depths": (1, 1, 2, 2)},
        "vovnet57a": {"depths": (1, 1, 4, 3)},
        "ese_vovnet19b": V19,
        "ese_vovnet19b_dw": {**V19, **DW},
        "ese_vovnet19b_slim": {**V19, **SLIM},
        "ese_vovnet19b_slim_dw": {**V19, **SLIM, **DW},
        "ese_vovnet39b": {"depths": (1, 1, 2, 2), "attention": "ese"},
        "ese_vovnet57b": {"depths": (1, 1, 4, 3), "attention": "ese"},
        "ese_vovnet99b": {"depths": (1, 3, 9, 3), "attention": "ese"},
        "eca_vovnet39b": {"depths": (1, 1, 2, 2), "attention": "eca"},
    },
)
