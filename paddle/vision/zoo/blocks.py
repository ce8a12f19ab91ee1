"""What the families share: convolutions with normalisation, attention to channels, transformer blocks, heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import nn
from ...nn import functional as F
from ...nn.initializer import Constant, TruncatedNormal
from ..models._utils import _make_divisible

make_divisible = _make_divisible
Act = Callable[..., nn.Layer] | None


def conv_bn(
    inputs: int,
    outputs: int,
    kernel: Any = 1,
    stride: Any = 1,
    groups: int = 1,
    act: Act = nn.ReLU,
    padding: Any = None,
    dilation: int = 1,
    names: tuple[str, str] = ("0", "1"),
    bias: bool = False,
    epsilon: float = 1e-5,
) -> nn.Sequential:
    """A convolution, batch normalisation and an activation.

    Args:
        padding: default: the size stays as it is for stride 1.
        names: of the convolution and the normalisation in keys of weights.
        bias: of the convolution.
        epsilon: of the normalisation.
    """
    if padding is None:
        sides = [(k - 1) // 2 * dilation for k in (kernel if isinstance(kernel, tuple) else (kernel, kernel))]
        padding = sides if sides[0] != sides[1] else sides[0]
    bias_attr = None if bias else False
    conv = nn.Conv2D(inputs, outputs, kernel, stride, padding, dilation, groups, bias_attr=bias_attr)
    layers = [(names[0], conv), (names[1], nn.BatchNorm2D(outputs, epsilon=epsilon))]
    return nn.Sequential(*layers, *([] if act is None else [("2" if names[0] == "0" else "act", act())]))


class SqueezeExcite(nn.Layer):
    """Scales each channel by a number found from the means of all (Hu et al., "Squeeze-and-excitation networks")."""

    def __init__(self, channels: int, reduced: int, act: Any = nn.ReLU, gate: Any = nn.Sigmoid):
        super().__init__()
        self.reduce = nn.Conv2D(channels, reduced, 1)
        self.act = act()
        self.expand = nn.Conv2D(reduced, channels, 1)
        self.gate = gate()

    def forward(self, x: Any) -> Any:
        return x * self.gate(self.expand(self.act(self.reduce(x.mean([2, 3], keepdim=True)))))


class EffectiveSqueezeExcite(nn.Layer):
    """Squeeze and excitation by one full convolution (Lee and Park, "CenterMask", 2019)."""

    def __init__(self, channels: int, gate: Any = nn.Hardsigmoid):
        super().__init__()
        self.fc = nn.Conv2D(channels, channels, 1)
        self.gate = gate()

    def forward(self, x: Any) -> Any:
        return x * self.gate(self.fc(x.mean([2, 3], keepdim=True)))


class EfficientChannelAttention(nn.Layer):
    """Scales each channel by a number found from the means of its neighbours (Wang et al., "ECA-Net", 2019)."""

    def __init__(self, channels: int, gamma: int = 2, beta: int = 1):
        super().__init__()
        import math

        size = int(abs(math.log2(channels) + beta) / gamma)
        size = max(size if size % 2 else size + 1, 3)
        self.conv = nn.Conv1D(1, 1, size, padding=size // 2, bias_attr=False)

    def forward(self, x: Any) -> Any:
        means = self.conv(x.mean([2, 3]).unsqueeze(1)).squeeze(1)
        return x * F.sigmoid(means).unsqueeze([2, 3])


class LayerNorm2D(nn.LayerNorm):
    """Layer normalisation over the channels of [N, C, H, W]."""

    def __init__(self, channels: int, epsilon: float = 1e-6):
        super().__init__(channels, epsilon=epsilon)

    def forward(self, x: Any) -> Any:
        return super().forward(x.transpose([0, 2, 3, 1])).transpose([0, 3, 1, 2])


class Scale(nn.Layer):
    """Multiplies each channel, the last axis or axis 1 of pictures, by a learnt number."""

    def __init__(self, channels: int, value: float, pictures: bool = False):
        super().__init__()
        self.gamma = self.create_parameter([channels], default_initializer=Constant(value))
        self.pictures = pictures

    def forward(self, x: Any) -> Any:
        return x * (self.gamma.reshape([-1, 1, 1]) if self.pictures else self.gamma)


class Affine(nn.Layer):
    """Multiplies each channel by a learnt number and adds one."""

    def __init__(self, channels: int):
        super().__init__()
        self.alpha = self.create_parameter([channels], default_initializer=Constant(1.0))
        self.beta = self.create_parameter([channels], is_bias=True)

    def forward(self, x: Any) -> Any:
        return x * self.alpha + self.beta


class Mlp(nn.Sequential):
    """Two linear layers with an activation between them."""

    def __init__(self, width: int, hidden: int, act: Any = nn.GELU):
        super().__init__(("fc1", nn.Linear(width, hidden)), ("act", act()), ("fc2", nn.Linear(hidden, width)))


class ConvMlp(nn.Sequential):
    """`Mlp` for pictures: convolutions 1x1."""

    def __init__(self, width: int, hidden: int, act: Any = nn.GELU):
        super().__init__(("fc1", nn.Conv2D(width, hidden, 1)), ("act", act()), ("fc2", nn.Conv2D(hidden, width, 1)))


class Attention(nn.Layer):
    """Self-attention of tokens [N, L, C] with one projection for queries, keys and values.

    Args:
        width: C.
        heads: number of heads.
        bias: of the projection.
    """

    def __init__(self, width: int, heads: int, bias: bool = True):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias_attr=None if bias else False)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        n, length, width = x.shape
        q, k, v = self.qkv(x).reshape([n, length, 3, self.heads, width // self.heads]).unbind(2)
        return self.proj(F.scaled_dot_product_attention(q, k, v).reshape([n, length, width]))


class PatchEmbed(nn.Layer):
    """Square patches of a picture as tokens [N, L, width]."""

    def __init__(self, patch: int, width: int, inputs: int = 3, norm: bool = False):
        super().__init__()
        self.proj = nn.Conv2D(inputs, width, patch, stride=patch)
        self.norm = nn.LayerNorm(width) if norm else None

    def forward(self, x: Any) -> Any:
        x = self.proj(x).flatten(2).transpose([0, 2, 1])
        return x if self.norm is None else self.norm(x)


def token(layer: nn.Layer, *shape: int) -> Any:
    """A learnt parameter for tokens or positions, normally distributed."""
    return layer.create_parameter(list(shape), default_initializer=TruncatedNormal(std=0.02))


def classifier(width: int, num_classes: int) -> nn.Layer:
    """The last linear layer; without classes nothing."""
    return nn.Linear(width, num_classes) if num_classes > 0 else nn.Identity()


def pool(x: Any) -> Any:
    """The means over a picture: [N, C, H, W] to [N, C]."""
    return x.mean([2, 3])


class Pyramid(nn.Layer):
    """Four stages, `blocks1` ... behind `patch_embed1` ..., then a normalisation and a classifier, which `end` makes."""

    def end(self, width: int, num_classes: int) -> None:
        self.norm = nn.BatchNorm2D(width)
        self.head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        for i in range(1, 5):
            x = getattr(self, f"blocks{i}")(getattr(self, f"patch_embed{i}")(x))
        return self.head(pool(self.norm(x)))
