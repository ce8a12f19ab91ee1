"""MobileNetV2 (Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks", 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import nn
from ._utils import ConvNormActivation, Weights, _make_divisible, load_weights

__all__ = ["MobileNetV2", "mobilenet_v2"]

model_urls: Weights = {
    "mobilenetv2_1.0": (
        "https://paddle-hapi.bj.bcebos.com/models/mobilenet_v2_x1.0.pdparams",
        "0340af0a901346c8d46f4529882fb63d",
    )
}

# expansion, channels, blocks, stride of the first
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class InvertedResidual(nn.Layer):
    """Wider, by each channel, narrower again, beside a shortcut where the shape stays."""

    def __init__(
        self,
        inp: int,
        oup: int,
        stride: int,
        expand_ratio: float,
        norm_layer: Callable[..., nn.Layer] = nn.BatchNorm2D,
    ):
        super().__init__()
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        hidden = int(round(inp * expand_ratio))
        layers: list[nn.Layer] = []
        if expand_ratio != 1:
            layers.append(ConvNormActivation(inp, hidden, 1, norm_layer=norm_layer, activation_layer=nn.ReLU6))
        layers += [
            ConvNormActivation(
                hidden, hidden, stride=stride, groups=hidden, norm_layer=norm_layer, activation_layer=nn.ReLU6
            ),
            nn.Conv2D(hidden, oup, 1, bias_attr=False),
            norm_layer(oup),
        ]
        self.conv = nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Layer):
    """Inverted residual blocks with linear bottlenecks.

    Args:
        scale: of all widths; that of the last convolution does not shrink.
        num_classes: outputs; 0 leaves out the linear layer.
        with_pool: average the features over the picture.

    Example:
        >>> paddle.vision.models.MobileNetV2(scale=0.25, num_classes=5)(paddle.zeros([1, 3, 32, 32])).shape
        [1, 5]
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels = _make_divisible(32 * scale)
        self.last_channel = _make_divisible(1280 * max(1.0, scale))
        features: list[nn.Layer] = [ConvNormActivation(3, channels, stride=2, activation_layer=nn.ReLU6)]
        for expansion, width, count, stride in STAGES:
            outputs = _make_divisible(width * scale)
            for i in range(count):
                features.append(InvertedResidual(channels, outputs, stride if i == 0 else 1, expansion))
                channels = outputs
        features.append(ConvNormActivation(channels, self.last_channel, 1, activation_layer=nn.ReLU6))
        self.features = nn.Sequential(*features)
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(self.last_channel, num_classes))

    def forward(self, x: Any) -> Any:
        x = self.features(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


def mobilenet_v2(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV2:
    """MobileNetV2, see `MobileNetV2` for `scale` and `kwargs`; `pretrained` loads the published weights."""
    model = MobileNetV2(scale=scale, **kwargs)
    if pretrained:
        load_weights(model, f"mobilenetv2_{scale}", model_urls)
    return model
