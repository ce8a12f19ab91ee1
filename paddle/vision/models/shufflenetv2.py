"""ShuffleNetV2 (Ma et al., "ShuffleNet V2: practical guidelines for efficient CNN architecture design", 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import concat, nn
from ...engine import errors
from ...nn import functional as F
from ._utils import ConvNormActivation, Weights, load_weights

__all__ = [
    "ShuffleNetV2",
    "shufflenet_v2_x0_25",
    "shufflenet_v2_x0_33",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
    "shufflenet_v2_swish",
]

_HAPI = "https://paddle-hapi.bj.bcebos.com/models"
model_urls: Weights = {
    "shufflenet_v2_x0_25": (f"{_HAPI}/shufflenet_v2_x0_25.pdparams", "1e509b4c140eeb096bb16e214796d03b"),
    "shufflenet_v2_x0_33": (f"{_HAPI}/shufflenet_v2_x0_33.pdparams", "3d7b3ab0eaa5c0927ff1026d31b729bd"),
    "shufflenet_v2_x0_5": (f"{_HAPI}/shufflenet_v2_x0_5.pdparams", "5e5cee182a7793c4e4c73949b1a71bd4"),
    "shufflenet_v2_x1_0": (f"{_HAPI}/shufflenet_v2_x1_0.pdparams", "122d42478b9e81eb49f8a9ede327b1a4"),
    "shufflenet_v2_x1_5": (f"{_HAPI}/shufflenet_v2_x1_5.pdparams", "faced5827380d73531d0ee027c67826d"),
    "shufflenet_v2_x2_0": (f"{_HAPI}/shufflenet_v2_x2_0.pdparams", "cd3dddcd8305e7bcd8ad14d1c69a5784"),
    "shufflenet_v2_swish": (f"{_HAPI}/shufflenet_v2_swish.pdparams", "adde0aa3b023e5b0c94a68be1c394b84"),
}

# scale: channels of the three stages and of the last convolution
WIDTHS = {
    0.25: (24, 48, 96, 512),
    0.33: (32, 64, 128, 512),
    0.5: (48, 96, 192, 1024),
    1.0: (116, 232, 464, 1024),
    1.5: (176, 352, 704, 1024),
    2.0: (224, 488, 976, 2048),
}
REPEATS = (4, 8, 4)
_ACTIVATIONS: dict[str | None, Callable[..., nn.Layer] | None] = {"swish": nn.Swish, "relu": nn.ReLU, None: None}


def channel_shuffle(x: Any, groups: int) -> Any:
    """The channels in another order: the first of every group, then the second of every group, ..."""
    return F.channel_shuffle(x, groups)


class InvertedResidual(nn.Layer):
    """Half of the channels pass, the other half are convolved; then they are mixed."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        stride: Any,
        activation_layer: Callable[..., nn.Layer] | None = nn.ReLU,
    ):
        super().__init__()
        half, act = out_channels // 2, activation_layer
        self._conv_pw = ConvNormActivation(in_channels // 2, half, 1, activation_layer=act)
        self._conv_dw = ConvNormActivation(half, half, 3, stride, groups=half, activation_layer=None)
        self._conv_linear = ConvNormActivation(half, half, 1, activation_layer=act)

    def forward(self, inputs: Any) -> Any:
        passed, x = inputs.chunk(2, axis=1)
        x = self._conv_linear(self._conv_dw(self._conv_pw(x)))
        return channel_shuffle(concat([passed, x], axis=1), 2)


class InvertedResidualDS(nn.Layer):
    """Two convolved branches, each with half of the resulting channels, half the size."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        stride: Any,
        activation_layer: Callable[..., nn.Layer] | None = nn.ReLU,
    ):
        super().__init__()
        half, act = out_channels // 2, activation_layer
        self._conv_dw_1 = ConvNormActivation(
            in_channels, in_channels, 3, stride, groups=in_channels, activation_layer=None
        )
        self._conv_linear_1 = ConvNormActivation(in_channels, half, 1, activation_layer=act)
        self._conv_pw_2 = ConvNormActivation(in_channels, half, 1, activation_layer=act)
        self._conv_dw_2 = ConvNormActivation(half, half, 3, stride, groups=half, activation_layer=None)
        self._conv_linear_2 = ConvNormActivation(half, half, 1, activation_layer=act)

    def forward(self, inputs: Any) -> Any:
        first = self._conv_linear_1(self._conv_dw_1(inputs))
        second = self._conv_linear_2(self._conv_dw_2(self._conv_pw_2(inputs)))
        return channel_shuffle(concat([first, second], axis=1), 2)


class ShuffleNetV2(nn.Layer):
    """Three stages of blocks whose channels are split, convolved and mixed.

    Args:
        scale: 0.25, 0.33, 0.5, 1.0, 1.5 or 2.0.
        act: "relu", "swish" or None.
        num_classes: outputs; 0 leaves out the linear layer.
        with_pool: average the features over the picture.

    Example:
        >>> paddle.vision.models.ShuffleNetV2(scale=0.25, num_classes=5)(paddle.zeros([1, 3, 32, 32])).shape
        [1, 5]
    """

    def __init__(self, scale: float = 1.0, act: str | None = "relu", num_classes: int = 1000, with_pool: bool = True):
        super().__init__()
        if scale not in WIDTHS:
            raise errors.NotImplemented_(f"ShuffleNetV2: scale must be one of {list(WIDTHS)}, got {scale!r}")
        if act not in _ACTIVATIONS:
            raise errors.RuntimeError_(f"ShuffleNetV2: act must be one of {list(_ACTIVATIONS)}, got {act!r}")
        activation = _ACTIVATIONS[act]
        *stages, last = WIDTHS[scale]
        self.scale = scale
        self.num_classes = num_classes
        self.with_pool = with_pool
        self._conv1 = ConvNormActivation(3, 24, 3, 2, activation_layer=activation)
        self._max_pool = nn.MaxPool2D(3, stride=2, padding=1)
        self._block_list: list[nn.Layer] = []
        channels = 24
        for stage, (width, repeats) in enumerate(zip(stages, REPEATS), 2):
            for i in range(1, repeats + 1):
                block = InvertedResidualDS if i == 1 else InvertedResidual
                layer = block(channels, width, 2 if i == 1 else 1, activation)
                self._block_list.append(self.add_sublayer(f"{stage}_{i}", layer))
                channels = width
        self._last_conv = ConvNormActivation(channels, last, 1, activation_layer=activation)
        if with_pool:
            self._pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self._fc = nn.Linear(last, num_classes)

    def forward(self, inputs: Any) -> Any:
        x = self._max_pool(self._conv1(inputs))
        for block in self._block_list:
            x = block(x)
        x = self._last_conv(x)
        if self.with_pool:
            x = self._pool2d_avg(x)
        return self._fc(x.flatten(1)) if self.num_classes > 0 else x


def _shufflenet_v2(arch: str, pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> ShuffleNetV2:
    model = ShuffleNetV2(scale=scale, **kwargs)
    if pretrained:
        load_weights(model, arch, model_urls)
    return model


def shufflenet_v2_x0_25(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 0.25, see `ShuffleNetV2` for `kwargs`; `pretrained` loads the published weights."""
    return _shufflenet_v2("shufflenet_v2_x0_25", pretrained, scale=0.25, **kwargs)


def shufflenet_v2_x0_33(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 0.33, see `ShuffleNetV2` for `kwargs`; `pretrained` loads the published weights."""
    return _shufflenet_v2("shufflenet_v2_x0_33", pretrained, scale=0.33, **kwargs)


def shufflenet_v2_x0_5(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 0.5, see `ShuffleNetV2` for `kwargs`; `pretrained` loads the published weights."""
    return _shufflenet_v2("shufflenet_v2_x0_5", pretrained, scale=0.5, **kwargs)


def shufflenet_v2_x1_0(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 1.0, see `ShuffleNetV2` for `kwargs`; `pretrained` loads the published weights."""
    return _shufflenet_v2("shufflenet_v2_x1_0", pretrained, scale=1.0, **kwargs)


def shufflenet_v2_x1_5(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 1.5, see `ShuffleNetV2` for `kwargs`; `pretrained` loads the published weights."""
    return _shufflenet_v2("shufflenet_v2_x1_5", pretrained, scale=1.5, **kwargs)


def shufflenet_v2_x2_0(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 2.0, see `ShuffleNetV2` for `kwargs`; `pretrained` loads the published weights."""
    return _shufflenet_v2("shufflenet_v2_x2_0", pretrained, scale=2.0, **kwargs)


def shufflenet_v2_swish(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 1.0 with swish, see `ShuffleNetV2` for `kwargs`; `pretrained` loads the published weights."""
    return _shufflenet_v2("shufflenet_v2_swish", pretrained, scale=1.0, act="swish", **kwargs)
