"""PoolFormer (Yu et al., "MetaFormer is actually what you need for vision", 2021); PoolFormer V2, ConvFormer and CAFormer (Yu
et al., "MetaFormer baselines for vision", 2022)."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn import functional as F
from ...nn.initializer import Constant
from .blocks import LayerNorm2D, classifier
from .registry import register


class Pooling(nn.Layer):
    """The difference between the mean of the neighbours and the place itself."""

    def __init__(self, width: int):
        super().__init__()
        self.pool = nn.AvgPool2D(3, 1, padding=1)

    def forward(self, x: Any) -> Any:
        return self.pool(x) - x


class StarReLU(nn.Layer):
    """The square of what is positive, with a learnt factor and a learnt addend."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = self.create_parameter([1], default_initializer=Constant(1.0))
        self.bias = self.create_parameter([1], is_bias=True)

    def forward(self, x: Any) -> Any:
        return F.relu(x).square() * self.scale + self.bias


class SquaredReLU(nn.Layer):
    """The square of what is positive."""

    def forward(self, x: Any) -> Any:
        return F.relu(x).square()


class SeparableConv(nn.Sequential):
    """To twice the width, a convolution 7x7 by each channel, and back."""

    def __init__(self, width: int):
        hidden = 2 * width
        super().__init__(
            ("pwconv1", nn.Conv2D(width, hidden, 1, bias_attr=False)),
            ("act1", StarReLU()),
            ("dwconv", nn.Conv2D(hidden, hidden, 7, padding=3, groups=hidden, bias_attr=False)),
            ("pwconv2", nn.Conv2D(hidden, width, 1, bias_attr=False)),
        )


class Attention(nn.Layer):
    """Self-attention of a picture [N, C, H, W] whose heads are 32 wide; its layers have no biases."""

    def __init__(self, width: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias_attr=False)
        self.proj = nn.Linear(width, width, bias_attr=False)

    def forward(self, x: Any) -> Any:
        n, width = x.shape[:2]
        qkv = self.qkv(x.flatten(2).transpose([0, 2, 1]))
        q, k, v = qkv.reshape([n, -1, 3, width // 32, 32]).unbind(2)
        y = self.proj(F.scaled_dot_product_attention(q, k, v).flatten(2))
        return y.transpose([0, 2, 1]).reshape(x.shape)


class PlacesMlp(nn.Layer):
    """A small network of linear layers for the channels of every place of [N, C, H, W]."""

    def __init__(self, width: int, act: Any):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width, bias_attr=False)
        self.act = act()
        self.fc2 = nn.Linear(4 * width, width, bias_attr=False)

    def forward(self, x: Any) -> Any:
        return self.fc2(self.act(self.fc1(x.transpose([0, 2, 3, 1])))).transpose([0, 3, 1, 2])


class ConvMlp(nn.Sequential):
    """A small network of convolutions 1x1."""

    def __init__(self, width: int, act: Any, bias: bool):
        attr = None if bias else False
        super().__init__(
            ("fc1", nn.Conv2D(width, 4 * width, 1, bias_attr=attr)),
            ("act", act()),
            ("fc2", nn.Conv2D(4 * width, width, 1, bias_attr=attr)),
        )


class Scale(nn.Layer):
    """Multiplies each channel of a picture by a learnt number."""

    def __init__(self, width: int, value: float):
        super().__init__()
        self.scale = self.create_parameter([width], default_initializer=Constant(value))

    def forward(self, x: Any) -> Any:
        return x * self.scale.reshape([-1, 1, 1])


class NoBiasNorm(LayerNorm2D):
    """Layer normalisation over the channels of pictures, without an addend."""

    def __init__(self, width: int):
        nn.LayerNorm.__init__(self, width, epsilon=1e-6, bias_attr=False)


def picture_norm(width: int) -> nn.Layer:
    """Normalisation over a whole picture."""
    return nn.GroupNorm(1, width)


def picture_norm_without_bias(width: int) -> nn.Layer:
    """Normalisation over a whole picture, without an addend."""
    return nn.GroupNorm(1, width, epsilon=1e-6, bias_attr=False)


class Block(nn.Layer):
    """A mixer of the places and a small network, each beside a shortcut.

    Args:
        width: of the picture.
        mixer, norm: constructors by the width.
        first: of PoolFormer: GELU, biases, learnt factors that start so.
        shortcut: learnt factors of the shortcuts.
    """

    def __init__(self, width: int, mixer: Any, norm: Any, first: float | None, shortcut: bool):
        super().__init__()
        act = StarReLU if first is None else nn.GELU
        for i in (1, 2):
            setattr(self, f"norm{i}", norm(width))
            setattr(self, f"layer_scale{i}", nn.Identity() if first is None else Scale(width, first))
            setattr(self, f"res_scale{i}", Scale(width, 1.0) if shortcut else nn.Identity())
        self.token_mixer = mixer(width)
        self.mlp = PlacesMlp(width, act) if mixer is Attention else ConvMlp(width, act, first is not None)

    def forward(self, x: Any) -> Any:
        x = self.res_scale1(x) + self.layer_scale1(self.token_mixer(self.norm1(x)))
        return self.res_scale2(x) + self.layer_scale2(self.mlp(self.norm2(x)))


class Stage(nn.Layer):
    """A smaller picture and blocks."""

    def __init__(self, inputs: int, width: int, depth: int, first: float | None, **options: Any):
        super().__init__()
        self.downsample = nn.Identity()
        if inputs != width:
            norm = NoBiasNorm(inputs) if first is None else nn.Identity()
            conv = nn.Conv2D(inputs, width, 3, 2, padding=1)
            self.downsample = nn.Sequential(("norm", norm), ("conv", conv))
        self.blocks = nn.Sequential(*(Block(width, first=first, **options) for _ in range(depth)))

    def forward(self, x: Any) -> Any:
        return self.blocks(self.downsample(x))


class MetaFormer(nn.Layer):
    """Four stages.

    Args:
        depths, widths: of the stages.
        mixers: of the stages: "pool", "conv" or "attention".
        first: of PoolFormer, the start of its learnt factors; None: the later networks.
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        widths: tuple[int, ...],
        mixers: tuple[str, ...],
        first: float | None = None,
        num_classes: int = 1000,
    ):
        super().__init__()
        stem_norm = NoBiasNorm(widths[0]) if first is None else nn.Identity()
        self.stem = nn.Sequential(("conv", nn.Conv2D(3, widths[0], 7, 4, padding=2)), ("norm", stem_norm))
        kinds = {"pool": Pooling, "conv": SeparableConv, "attention": Attention}
        stages = []
        for i, (inputs, width, depth, mixer) in enumerate(zip((widths[0], *widths), widths, depths, mixers)):
            pooled = picture_norm if first is not None else picture_norm_without_bias
            norm = pooled if mixer == "pool" else NoBiasNorm
            shortcut = first is None and i > 1
            stages.append(Stage(inputs, width, depth, first, mixer=kinds[mixer], norm=norm, shortcut=shortcut))
        self.stages = nn.Sequential(*stages)
        last = widths[-1]
        head: nn.Layer = classifier(last, num_classes)
        if num_classes > 0 and mixers[0] != "pool":
            head = nn.Sequential(
                ("fc1", nn.Linear(last, 4 * last)),
                ("act", SquaredReLU()),
                ("norm", nn.LayerNorm(4 * last, epsilon=1e-6)),
                ("fc2", nn.Linear(4 * last, num_classes)),
            )
        self.head = nn.Sequential(("norm", nn.LayerNorm(last, epsilon=1e-6)), ("fc", head))

    def forward(self, x: Any) -> Any:
        return self.head(self.stages(self.stem(x)).mean([2, 3]))


_WIDTHS = {"s": (64, 128, 320, 512), "m": (96, 192, 384, 768)}
for _name, _depths in {
    "s12": (2, 2, 6, 2),
    "s24": (4, 4, 12, 4),
    "s36": (6, 6, 18, 6),
    "m36": (6, 6, 18, 6),
    "m48": (8, 8, 24, 8),
}.items():
    _options = {"depths": _depths, "widths": _WIDTHS[_name[0]], "mixers": ("pool",) * 4}
    _first = 1e-5 if _name in ("s12", "s24") else 1e-6
    register("metaformer", MetaFormer, {f"poolformer_{_name}": {**_options, "first": _first}})
    register("metaformer", MetaFormer, {f"poolformerv2_{_name}": _options})
for _name, _widths in {
    "s18": (64, 128, 320, 512),
    "s36": (64, 128, 320, 512),
    "m36": (96, 192, 384, 576),
    "b36": (128, 256, 512, 768),
}.items():
    _options = {"depths": (3, 3, 9, 3) if _name == "s18" else (3, 12, 18, 3), "widths": _widths}
    register("metaformer", MetaFormer, {f"convformer_{_name}": {**_options, "mixers": ("conv",) * 4}})
    _mixers = ("conv", "conv", "attention", "attention")
    register("metaformer", MetaFormer, {f"caformer_{_name}": {**_options, "mixers": _mixers}})
