"""StarNet (Ma et al., "Rewrite the stars", 2024); keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn import functional as F
from .blocks import classifier, pool
from .registry import register


def conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1, norm: bool = True) -> nn.Layer:
    """A convolution, perhaps normalised."""
    layers = [("conv", nn.Conv2D(inputs, outputs, kernel, stride, kernel // 2, groups=groups))]
    return nn.Sequential(*layers, *([("bn", nn.BatchNorm2D(outputs))] if norm else []))


class Block(nn.Layer):
    """The product of two projections, beside a shortcut; wide convolutions by each channel before and after."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.dwconv = conv(width, width, 7, groups=width)
        self.f1 = conv(width, hidden, norm=False)
        self.f2 = conv(width, hidden, norm=False)
        self.g = conv(hidden, width)
        self.dwconv2 = conv(width, width, 7, groups=width, norm=False)

    def forward(self, x: Any) -> Any:
        y = self.dwconv(x)
        return x + self.dwconv2(self.g(F.relu6(self.f1(y)) * self.f2(y)))


class StarNet(nn.Layer):
    """Four stages; `width` is the channels of the first, which double, `depths` their blocks."""

    def __init__(self, width: int, depths: tuple[int, ...], num_classes: int = 1000):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 32, 3, 2), nn.ReLU6())
        self.stages = nn.LayerList()
        inputs = 32
        for stage, depth in enumerate(depths):
            outputs = width * 2**stage
            chain = [conv(inputs, outputs, 3, 2), *(Block(outputs, 4 * outputs) for _ in range(depth))]
            self.stages.append(nn.Sequential(*chain))
            inputs = outputs
        self.norm = nn.BatchNorm2D(inputs)
        self.head = classifier(inputs, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(pool(self.norm(x)))


SIZES = {"s1": (24, (2, 2, 8, 3)), "s2": (32, (1, 2, 6, 2)), "s3": (32, (2, 2, 8, 4)), "s4": (32, (3, 3, 12, 5))}
register("starnet", StarNet, {f"starnet_{n}": {"width": w, "depths": depths} for n, (w, depths) in SIZES.items()})
