"""MobileNet (Howard et al., "MobileNets: efficient convolutional neural networks for mobile vision", 2017)."""

from __future__ import annotations

from typing import Any

from ... import nn
from ._utils import ConvNormActivation, Weights, load_weights

__all__ = ["MobileNetV1", "mobilenet_v1"]

model_urls: Weights = {
    "mobilenetv1_1.0": (
        "https://paddle-hapi.bj.bcebos.com/models/mobilenetv1_1.0.pdparams",
        "3033ab1975b1670bef51545feb65fc45",
    )
}

# name, channels of the input, of the result, stride
BLOCKS = (
    ("conv2_1", 32, 64, 1),
    ("conv2_2", 64, 128, 2),
    ("conv3_1", 128, 128, 1),
    ("conv3_2", 128, 256, 2),
    ("conv4_1", 256, 256, 1),
    ("conv4_2", 256, 512, 2),
    *((f"conv5_{i}", 512, 512, 1) for i in range(1, 6)),
    ("conv5_6", 512, 1024, 2),
    ("conv6", 1024, 1024, 1),
)


class DepthwiseSeparable(nn.Layer):
    """A convolution 3x3 of each channel by itself and one 1x1 of all of them."""

    def __init__(
        self, in_channels: int, out_channels1: int, out_channels2: int, num_groups: int, stride: Any, scale: float
    ):
        super().__init__()
        groups, middle = int(num_groups * scale), int(out_channels1 * scale)
        self._depthwise_conv = ConvNormActivation(in_channels, middle, 3, stride, 1, groups)
        self._pointwise_conv = ConvNormActivation(middle, int(out_channels2 * scale), 1)

    def forward(self, x: Any) -> Any:
        return self._pointwise_conv(self._depthwise_conv(x))


class MobileNetV1(nn.Layer):
    """Thirteen depthwise separable convolutions.

    Args:
        scale: of all widths.
        num_classes: outputs; 0 leaves out the linear layer.
        with_pool: average the features over the picture.

    Example:
        >>> paddle.vision.models.MobileNetV1(scale=0.25, num_classes=5)(paddle.zeros([1, 3, 32, 32])).shape
        [1, 5]
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True):
        super().__init__()
        self.scale = scale
        self.dwsl: list[nn.Layer] = []
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.conv1 = ConvNormActivation(3, int(32 * scale), 3, 2, 1)
        for name, inputs, outputs, stride in BLOCKS:
            block = DepthwiseSeparable(int(inputs * scale), inputs, outputs, inputs, stride, scale)
            self.dwsl.append(self.add_sublayer(name, block))
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.fc = nn.Linear(int(1024 * scale), num_classes)

    def forward(self, x: Any) -> Any:
        x = self.conv1(x)
        for block in self.dwsl:
            x = block(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x


def mobilenet_v1(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV1:
    """MobileNet, see `MobileNetV1` for `scale` and `kwargs`; `pretrained` loads the published weights."""
    model = MobileNetV1(scale=scale, **kwargs)
    if pretrained:
        load_weights(model, f"mobilenetv1_{scale}", model_urls)
    return model
