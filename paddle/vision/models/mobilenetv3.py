"""MobileNetV3 (Howard et al., "Searching for MobileNetV3", 2019)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ... import nn
from ._utils import ConvNormActivation, Weights, _make_divisible, load_weights

__all__ = ["MobileNetV3Small", "MobileNetV3Large", "mobilenet_v3_small", "mobilenet_v3_large"]

_HAPI = "https://paddle-hapi.bj.bcebos.com/models"
model_urls: Weights = {
    "mobilenet_v3_small_x1.0": (f"{_HAPI}/mobilenet_v3_small_x1.0.pdparams", "34fe0e7c1f8b00b2b056ad6788d0590c"),
    "mobilenet_v3_large_x1.0": (f"{_HAPI}/mobilenet_v3_large_x1.0.pdparams", "118db5792b4e183b925d8e8e334db3df"),
}

# channels of the input, kernel, expanded channels, channels of the result, squeeze and excitation, activation, stride
SMALL = (
    (16, 3, 16, 16, True, "relu", 2),
    (16, 3, 72, 24, False, "relu", 2),
    (24, 3, 88, 24, False, "relu", 1),
    (24, 5, 96, 40, True, "hardswish", 2),
    (40, 5, 240, 40, True, "hardswish", 1),
    (40, 5, 240, 40, True, "hardswish", 1),
    (40, 5, 120, 48, True, "hardswish", 1),
    (48, 5, 144, 48, True, "hardswish", 1),
    (48, 5, 288, 96, True, "hardswish", 2),
    (96, 5, 576, 96, True, "hardswish", 1),
    (96, 5, 576, 96, True, "hardswish", 1),
)
LARGE = (
    (16, 3, 16, 16, False, "relu", 1),
    (16, 3, 64, 24, False, "relu", 2),
    (24, 3, 72, 24, False, "relu", 1),
    (24, 5, 72, 40, True, "relu", 2),
    (40, 5, 120, 40, True, "relu", 1),
    (40, 5, 120, 40, True, "relu", 1),
    (40, 3, 240, 80, False, "hardswish", 2),
    (80, 3, 200, 80, False, "hardswish", 1),
    (80, 3, 184, 80, False, "hardswish", 1),
    (80, 3, 184, 80, False, "hardswish", 1),
    (80, 3, 480, 112, True, "hardswish", 1),
    (112, 3, 672, 112, True, "hardswish", 1),
    (112, 5, 672, 160, True, "hardswish", 2),
    (160, 5, 960, 160, True, "hardswish", 1),
    (160, 5, 960, 160, True, "hardswish", 1),
)


class SqueezeExcitation(nn.Layer):
    """Scales each channel by a number that a small network finds from the means of all channels."""

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Callable[..., nn.Layer] = nn.ReLU,
        scale_activation: Callable[..., nn.Layer] = nn.Sigmoid,
    ):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2D(1)
        self.fc1 = nn.Conv2D(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2D(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Any) -> Any:
        return input * self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(input)))))


class InvertedResidualConfig:
    """One row of the tables above, with the widths scaled."""

    def __init__(
        self,
        in_channels: int,
        kernel: int,
        expanded_channels: int,
        out_channels: int,
        use_se: bool,
        activation: str,
        stride: int,
        scale: float = 1.0,
    ):
        self.in_channels = self.adjust_channels(in_channels, scale)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, scale)
        self.out_channels = self.adjust_channels(out_channels, scale)
        self.use_se = use_se
        self.activation_layer = {"relu": nn.ReLU, "hardswish": nn.Hardswish}[activation]
        self.stride = stride

    @staticmethod
    def adjust_channels(channels: int, scale: float = 1.0) -> int:
        """A width, scaled."""
        return _make_divisible(channels * scale, 8)


class InvertedResidual(nn.Layer):
    """Wider, by each channel, squeeze and excitation, narrower again, beside a shortcut where the shape stays."""

    def __init__(
        self,
        in_channels: int,
        expanded_channels: int,
        out_channels: int,
        filter_size: int,
        stride: int,
        use_se: bool,
        activation_layer: Callable[..., nn.Layer],
        norm_layer: Callable[..., nn.Layer],
    ):
        super().__init__()
        self.use_res_connect = stride == 1 and in_channels == out_channels
        self.use_se = use_se
        self.expand = in_channels != expanded_channels
        if self.expand:
            self.expand_conv = ConvNormActivation(
                in_channels, expanded_channels, 1, norm_layer=norm_layer, activation_layer=activation_layer
            )
        self.bottleneck_conv = ConvNormActivation(
            expanded_channels,
            expanded_channels,
            filter_size,
            stride,
            groups=expanded_channels,
            norm_layer=norm_layer,
            activation_layer=activation_layer,
        )
        if use_se:
            squeeze = _make_divisible(expanded_channels // 4)
            self.mid_se = SqueezeExcitation(expanded_channels, squeeze, scale_activation=nn.Hardsigmoid)
        self.linear_conv = ConvNormActivation(
            expanded_channels, out_channels, 1, norm_layer=norm_layer, activation_layer=None
        )

    def forward(self, x: Any) -> Any:
        y = self.bottleneck_conv(self.expand_conv(x) if self.expand else x)
        if self.use_se:
            y = self.mid_se(y)
        y = self.linear_conv(y)
        return x + y if self.use_res_connect else y


class MobileNetV3(nn.Layer):
    """Inverted residual blocks by a table.

    Args:
        config: the blocks.
        last_channel: width of the hidden linear layer, already scaled.
        scale: of the other widths.
        num_classes: outputs; 0 leaves out the linear layers.
        with_pool: average the features over the picture.
    """

    def __init__(
        self,
        config: list[InvertedResidualConfig],
        last_channel: int,
        scale: float = 1.0,
        num_classes: int = 1000,
        with_pool: bool = True,
    ):
        super().__init__()
        self.config = config
        self.scale = scale
        self.last_channel = last_channel
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.firstconv_in_channels = config[0].in_channels
        self.lastconv_in_channels = config[-1].out_channels
        self.lastconv_out_channels = self.lastconv_in_channels * 6
        norm = partial(nn.BatchNorm2D, epsilon=0.001, momentum=0.99)
        swish = nn.Hardswish
        self.conv = ConvNormActivation(3, self.firstconv_in_channels, 3, 2, 1, norm_layer=norm, activation_layer=swish)
        self.blocks = nn.Sequential(
            *(
                InvertedResidual(
                    row.in_channels,
                    row.expanded_channels,
                    row.out_channels,
                    row.kernel,
                    row.stride,
                    row.use_se,
                    row.activation_layer,
                    norm,
                )
                for row in config
            )
        )
        self.lastconv = ConvNormActivation(
            self.lastconv_in_channels, self.lastconv_out_channels, 1, norm_layer=norm, activation_layer=swish
        )
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(self.lastconv_out_channels, last_channel),
                nn.Hardswish(),
                nn.Dropout(0.2),
                nn.Linear(last_channel, num_classes),
            )

    def forward(self, x: Any) -> Any:
        x = self.lastconv(self.blocks(self.conv(x)))
        if self.with_pool:
            x = self.avgpool(x)
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


class MobileNetV3Small(MobileNetV3):
    """The smaller MobileNetV3.

    Args:
        scale: of all widths.
        num_classes: outputs; 0 leaves out the linear layers.
        with_pool: average the features over the picture.

    Example:
        >>> paddle.vision.models.MobileNetV3Small(scale=0.35, num_classes=5)(paddle.zeros([1, 3, 32, 32])).shape
        [1, 5]
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True):
        config = [InvertedResidualConfig(*row, scale) for row in SMALL]
        super().__init__(config, _make_divisible(1024 * scale), scale, num_classes, with_pool)


class MobileNetV3Large(MobileNetV3):
    """The larger MobileNetV3.

    Args:
        scale: of all widths.
        num_classes: outputs; 0 leaves out the linear layers.
        with_pool: average the features over the picture.

    Example:
        >>> paddle.vision.models.MobileNetV3Large(scale=0.35, num_classes=5)(paddle.zeros([1, 3, 32, 32])).shape
        [1, 5]
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True):
        config = [InvertedResidualConfig(*row, scale) for row in LARGE]
        super().__init__(config, _make_divisible(1280 * scale), scale, num_classes, with_pool)


def mobilenet_v3_small(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV3Small:
    """The smaller MobileNetV3, see `MobileNetV3Small`; `pretrained` loads the published weights."""
    model = MobileNetV3Small(scale=scale, **kwargs)
    if pretrained:
        load_weights(model, f"mobilenet_v3_small_x{scale}", model_urls)
    return model


def mobilenet_v3_large(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV3Large:
    """The larger MobileNetV3, see `MobileNetV3Large`; `pretrained` loads the published weights."""
    model = MobileNetV3Large(scale=scale, **kwargs)
    if pretrained:
        load_weights(model, f"mobilenet_v3_large_x{scale}", model_urls)
    return model
