"""ConvNeXt (Liu et al., "A ConvNet for the 2020s", 2022) and ConvNeXt V2 (Woo et al., 2023); keys of the weights
as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn.initializer import Constant
from .blocks import LayerNorm2D, classifier, pool
from .registry import register


class ResponseNorm(nn.Layer):
    """Global response normalisation: each channel by its norm over the picture, relative to the mean of the norms."""

    def __init__(self, channels: int):
        super().__init__()
        self.weight = self.create_parameter([channels], default_initializer=Constant(0.0))
        self.bias = self.create_parameter([channels], is_bias=True)

    def forward(self, x: Any) -> Any:
        norms = x.square().sum([1, 2], keepdim=True).sqrt()
        return x + x * (norms / (norms.mean(-1, keepdim=True) + 1e-6)) * self.weight + self.bias


class Block(nn.Layer):
    """By each channel 7x7, then a small network of the channels, beside a shortcut."""

    def __init__(self, width: int, scale: float | None):
        super().__init__()
        if scale is not None:
            self.gamma = self.create_parameter([width], default_initializer=Constant(scale))
        self.scaled = scale is not None
        self.dwconv = nn.Conv2D(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, epsilon=1e-6)
        self.pwconv1 = nn.Linear(width, 4 * width)
        self.act = nn.GELU()
        self.grn = nn.Identity() if self.scaled else ResponseNorm(4 * width)
        self.pwconv2 = nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        y = self.norm(self.dwconv(x).transpose([0, 2, 3, 1]))
        y = self.pwconv2(self.grn(self.act(self.pwconv1(y))))
        return x + (y * self.gamma if self.scaled else y).transpose([0, 3, 1, 2])


class ConvNeXt(nn.Layer):
    """Four stages.

    Args:
        depths, widths: of the stages.
        scale: layer scale; None: V2, with response normalisation.
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        widths: tuple[int, ...],
        scale: float | None = 1e-6,
        num_classes: int = 1000,
    ):
        super().__init__()
        stem = nn.Sequential(nn.Conv2D(3, widths[0], 4, stride=4), LayerNorm2D(widths[0]))
        smaller = (
            nn.Sequential(LayerNorm2D(inputs), nn.Conv2D(inputs, width, 2, stride=2))
            for inputs, width in zip(widths, widths[1:])
        )
        self.downsample_layers = nn.LayerList([stem, *smaller])
        self.stages = nn.LayerList(
            nn.Sequential(*(Block(width, scale) for _ in range(depth))) for depth, width in zip(depths, widths)
        )
        self.norm = nn.LayerNorm(widths[-1], epsilon=1e-6)
        self.head = classifier(widths[-1], num_classes)

    def forward(self, x: Any) -> Any:
        for smaller, stage in zip(self.downsample_layers, self.stages):
            x = stage(smaller(x))
        return self.head(self.norm(pool(x)))


SIZES = {
    "atto": ((2, 2, 6, 2), 40),
    "femto": ((2, 2, 6, 2), 48),
    "pico": ((2, 2, 6, 2), 64),
    "nano": ((2, 2, 8, 2), 80),
    "tiny": ((3, 3, 9, 3), 96),
    "small": ((3, 3, 27, 3), 96),
    "base": ((3, 3, 27, 3), 128),
    "large": ((3, 3, 27, 3), 192),
    "xlarge": ((3, 3, 27, 3), 256),
    "huge": ((3, 3, 27, 3), 352),
}


def _size(name: str, **options: Any) -> dict[str, Any]:
    depths, width = SIZES[name]
    return {"depths": depths, "widths": tuple(width * 2**i for i in range(4)), **options}


register("convnext", ConvNeXt, {f"convnext_{n}": _size(n) for n in SIZES if n != "huge"})
register("convnext", ConvNeXt, {f"convnextv2_{n}": _size(n, scale=None) for n in SIZES if n not in ("small", "xlarge")})
for _edge in (224, 384):  # the names of PaddleClas
    register("convnext", ConvNeXt, {f"convnext_{n}_{_edge}": _size(n) for n in ("base", "large")})
