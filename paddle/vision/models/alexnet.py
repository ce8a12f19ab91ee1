"""AlexNet (Krizhevsky et al., "ImageNet classification with deep convolutional neural networks", 2012)."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn import functional as F
from ...nn.initializer import Uniform
from ._utils import Weights, load_weights

__all__ = ["AlexNet", "alexnet"]

model_urls: Weights = {
    "alexnet": (
        "https://paddle-imagenet-models-name.bj.bcebos.com/dygraph/AlexNet_pretrained.pdparams",
        "7f0f9f737132e02732d75a1459d98a43",
    )
}


def _conv(inputs: int, outputs: int, kernel: int, stride: int, padding: int) -> nn.Conv2D:
    start = Uniform(-(bound := (inputs * kernel**2) ** -0.5), bound)
    return nn.Conv2D(inputs, outputs, kernel, stride, padding, weight_attr=start, bias_attr=start)


class ConvPoolLayer(nn.Layer):
    """A convolution with ReLU and a max pool."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, padding: int):
        super().__init__()
        self.relu = nn.ReLU()
        self._conv = _conv(inputs, outputs, kernel, stride, padding)
        self._pool = nn.MaxPool2D(3, 2)

    def forward(self, x: Any) -> Any:
        return self._pool(self.relu(self._conv(x)))


class AlexNet(nn.Layer):
    """Five convolutions and three linear layers, for pictures [N, 3, 224, 224].

    Args:
        num_classes: outputs; 0 leaves out the linear layers, and the result is the features [N, 256, 6, 6].

    Example:
        >>> paddle.vision.models.AlexNet(num_classes=0)(paddle.zeros([1, 3, 64, 64])).shape
        [1, 256, 1, 1]
    """

    def __init__(self, num_classes: int = 1000):
        super().__init__()
        self.num_classes = num_classes
        self._conv1 = ConvPoolLayer(3, 64, 11, 4, 2)
        self._conv2 = ConvPoolLayer(64, 192, 5, 1, 2)
        self._conv3 = _conv(192, 384, 3, 1, 1)
        self._conv4 = _conv(384, 256, 3, 1, 1)
        self._conv5 = ConvPoolLayer(256, 256, 3, 1, 1)
        if num_classes > 0:
            start = Uniform(-(bound := (256 * 6 * 6) ** -0.5), bound)
            self._drop1 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc6 = nn.Linear(9216, 4096, weight_attr=start, bias_attr=start)
            self._drop2 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc7 = nn.Linear(4096, 4096, weight_attr=start, bias_attr=start)
            self._fc8 = nn.Linear(4096, num_classes, weight_attr=start, bias_attr=start)

    def forward(self, inputs: Any) -> Any:
        x = self._conv2(self._conv1(inputs))
        x = self._conv5(F.relu(self._conv4(F.relu(self._conv3(x)))))
        if self.num_classes > 0:
            x = F.relu(self._fc6(self._drop1(x.flatten(1))))
            x = self._fc8(F.relu(self._fc7(self._drop2(x))))
        return x


def alexnet(pretrained: bool = False, **kwargs: Any) -> AlexNet:
    """AlexNet, see `AlexNet` for `kwargs`; `pretrained` loads the published weights."""
    model = AlexNet(**kwargs)
    if pretrained:
        load_weights(model, "alexnet", model_urls)
    return model
