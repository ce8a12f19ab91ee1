"""FocalNet (Yang et al., "Focal modulation networks", 2022)."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn import functional as F
from .blocks import ConvMlp, LayerNorm2D, Scale, classifier, pool
from .registry import register


def norm(width: int) -> nn.Layer:
    return LayerNorm2D(width, epsilon=1e-5)


class Modulation(nn.Layer):
    """Each place times what lies around it, seen at growing distances, and the mean of the picture.

    Args:
        width: of the picture.
        levels: number of distances.
        window: edge of the first convolution; it grows by two.
        normed: normalisation of the result.
    """

    def __init__(self, width: int, levels: int, window: int, normed: bool):
        super().__init__()
        self.width, self.levels = width, levels
        self.f = nn.Conv2D(width, 2 * width + levels + 1, 1)
        self.h = nn.Conv2D(width, width, 1)
        self.proj = nn.Conv2D(width, width, 1)
        self.focal_layers = nn.LayerList(
            nn.Sequential(nn.Conv2D(width, width, size, padding=size // 2, groups=width, bias_attr=False), nn.GELU())
            for size in range(window, window + 2 * levels, 2)
        )
        self.norm = norm(width) if normed else nn.Identity()

    def forward(self, x: Any) -> Any:
        query, context, gates = self.f(x).split([self.width, self.width, self.levels + 1], axis=1)
        total = 0
        for i, layer in enumerate(self.focal_layers):
            context = layer(context)
            total = total + context * gates[:, i : i + 1]
        total = total + F.gelu(context.mean([2, 3], keepdim=True)) * gates[:, self.levels :]
        return self.proj(self.norm(query * self.h(total)))


class Block(nn.Layer):
    """Modulation and a small network, each beside a shortcut.

    Args:
        width, levels, window: see `Modulation`.
        post: the results, not the inputs, are normalised and have learnt factors.
        normed: see `Modulation`.
    """

    def __init__(self, width: int, levels: int, window: int, post: bool, normed: bool):
        super().__init__()
        keep = nn.Identity
        self.norm1 = keep() if post else norm(width)
        self.modulation = Modulation(width, levels, window, normed)
        self.norm1_post = norm(width) if post else keep()
        self.ls1 = Scale(width, 1e-4, pictures=True) if post else keep()
        self.norm2 = keep() if post else norm(width)
        self.mlp = ConvMlp(width, 4 * width)
        self.norm2_post = norm(width) if post else keep()
        self.ls2 = Scale(width, 1e-4, pictures=True) if post else keep()

    def forward(self, x: Any) -> Any:
        x = x + self.ls1(self.norm1_post(self.modulation(self.norm1(x))))
        return x + self.ls2(self.norm2_post(self.mlp(self.norm2(x))))


def patches(inputs: int, outputs: int, stride: int, overlapping: bool) -> nn.Sequential:
    """A smaller picture, normalised."""
    kernel, padding = (stride, 0) if not overlapping else (7, 2) if stride == 4 else (3, 1)
    return nn.Sequential(("proj", nn.Conv2D(inputs, outputs, kernel, stride, padding)), ("norm", norm(outputs)))


class Stage(nn.Layer):
    """A smaller picture, except in the first stage, and blocks."""

    def __init__(self, inputs: int, width: int, depth: int, overlapping: bool, **options: Any):
        super().__init__()
        self.downsample = nn.Identity() if inputs == width else patches(inputs, width, 2, overlapping)
        self.blocks = nn.Sequential(*(Block(width, **options) for _ in range(depth)))

    def forward(self, x: Any) -> Any:
        return self.blocks(self.downsample(x))


class FocalNet(nn.Layer):
    """Four stages.

    Args:
        width: of the first stage; it doubles.
        depths: of the stages.
        levels, window: see `Modulation`.
        post: of large networks: overlapping patches, and see `Block`.
        normed: see `Modulation`.
        num_classes: outputs.
    """

    def __init__(
        self,
        width: int,
        depths: tuple[int, ...],
        levels: int = 2,
        window: int = 3,
        post: bool = False,
        normed: bool = False,
        num_classes: int = 1000,
    ):
        super().__init__()
        self.stem = patches(3, width, 4, post)
        options = {"levels": levels, "window": window, "post": post, "normed": normed}
        self.layers = nn.Sequential(
            *(Stage(width * 2 ** max(i - 1, 0), width * 2**i, depth, post, **options) for i, depth in enumerate(depths))
        )
        self.norm = norm(8 * width)
        self.head = nn.Sequential(("fc", classifier(8 * width, num_classes)))

    def forward(self, x: Any) -> Any:
        return self.head(pool(self.norm(self.layers(self.stem(x)))))


for _name, (_width, _third) in {"tiny": (96, 6), "small": (96, 18), "base": (128, 18)}.items():
    _options = {"width": _width, "depths": (2, 2, _third, 2)}
    register("focalnet", FocalNet, {f"focalnet_{_name}_srf": _options})
    register("focalnet", FocalNet, {f"focalnet_{_name}_lrf": {**_options, "levels": 3}})
for _name, (_width, _window) in {"large": (192, 5), "xlarge": (256, 5), "huge": (352, 3)}.items():
    _options = {"width": _width, "depths": (2, 2, 18, 2), "post": True, "normed": _name == "huge"}
    register("focalnet", FocalNet, {f"focalnet_{_name}_fl3": {**_options, "levels": 3, "window": _window}})
    register("focalnet", FocalNet, {f"focalnet_{_name}_fl4": {**_options, "levels": 4}})
