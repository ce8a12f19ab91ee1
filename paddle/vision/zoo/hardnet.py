"""HarDNet (Chao et al., "HarDNet: a low memory traffic network", 2019); keys of the weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import concat, nn
from . import blocks
from .blocks import classifier
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "norm"), act=nn.ReLU6)


def depthwise(width: int, stride: int = 1) -> nn.Sequential:
    return blocks.conv_bn(width, width, 3, stride, width, act=None, names=("dwconv", "norm"))


class Block(nn.Layer):
    """Convolutions in a row; each also sees those that lie a power of two before it.

    Args:
        inputs: channels.
        grow: channels of a convolution.
        factor: how much wider for each further link.
        layers: number of convolutions.
        light: a convolution 1x1 and one by each channel in place of a full one.
    """

    def __init__(self, inputs: int, grow: int, factor: float, layers: int, light: bool):
        super().__init__()
        widths, chain = [inputs], []
        self.links = []
        for i in range(1, layers + 1):
            powers = [p for p in range(10) if i % 2**p == 0]
            self.links.append([i - 2**p for p in powers])
            width = int(int(grow * factor ** (len(powers) - 1) + 1) / 2) * 2
            before = sum(widths[j] for j in self.links[-1])
            if light:
                chain.append(nn.Sequential(("layer1", conv_bn(before, width, 1)), ("layer2", depthwise(width))))
            else:
                chain.append(conv_bn(before, width, 3))
            widths.append(width)
        self.layers = nn.LayerList(chain)
        self.kept = [i for i in range(1, layers + 1) if i % 2 or i == layers]
        self.outputs = sum(widths[i] for i in self.kept)

    def forward(self, x: Any) -> Any:
        done = [x]
        for layer, links in zip(self.layers, self.links):
            done.append(layer(concat([done[i] for i in links], axis=1) if len(links) > 1 else done[links[0]]))
        return concat([done[i] for i in self.kept], axis=1)


class HarDNet(nn.Layer):
    """Blocks, each followed by a convolution 1x1.

    Args:
        stem: channels of the first two convolutions.
        blocks: rows (convolutions, channels that one has, channels after the block, whether the edges are halved then).
        factor: of `Block`.
        light: of `Block`; edges are halved by convolutions, else by poolings.
        drop: before the classifier.
        num_classes: outputs.
    """

    def __init__(
        self,
        stem: tuple[int, int],
        blocks: tuple,
        factor: float = 1.7,
        light: bool = False,
        drop: float = 0.1,
        num_classes: int = 1000,
    ):
        super().__init__()
        width = stem[1]
        layers: list[nn.Layer] = [conv_bn(3, stem[0], 3, 2), conv_bn(stem[0], width, 1 if light else 3)]
        layers.append(depthwise(width, 2) if light else nn.MaxPool2D(3, 2, padding=1))
        for i, (count, grow, outputs, halve) in enumerate(blocks):
            block = Block(width, grow, factor, count, light)
            layers.append(block)
            if i == len(blocks) - 1 == 5:
                layers.append(nn.Dropout(0.1))
            layers.append(conv_bn(block.outputs, outputs))
            width = outputs
            if halve:
                layers.append(depthwise(width, 2) if light else nn.MaxPool2D(2, 2))
        head = [nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Dropout(drop), classifier(width, num_classes)]
        self.base = nn.Sequential(*layers, nn.Sequential(*head))

    def forward(self, x: Any) -> Any:
        return self.base(x)


B39 = ((4, 16, 96, True), (16, 20, 320, True), (8, 64, 640, True), (4, 160, 1024, False))
B68 = ((8, 14, 128, True), (16, 16, 256, False), (16, 20, 320, True), (16, 40, 640, True), (4, 160, 1024, False))
B85 = (
    (8, 24, 192, True),
    (16, 24, 256, False),
    (16, 28, 320, True),
    (16, 36, 480, False),
    (16, 48, 720, True),
    (4, 256, 1280, False),
)
register(
    "hardnet",
    HarDNet,
    {
        "hardnet39_ds": {"stem": (24, 48), "blocks": B39, "factor": 1.6, "light": True, "drop": 0.05},
        "hardnet68": {"stem": (32, 64), "blocks": B68},
        "hardnet68_ds": {"stem": (32, 64), "blocks": B68, "light": True, "drop": 0.05},
        "hardnet85": {"stem": (48, 96), "blocks": B85, "drop": 0.2},
    },
)
