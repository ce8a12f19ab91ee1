"""GoogLeNet (Szegedy et al., "Going deeper with convolutions", 2014), the official variant without local normalisation."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn import functional as F
from ...nn.initializer import Uniform
from ._utils import Weights, load_weights

__all__ = ["GoogLeNet", "googlenet"]

model_urls: Weights = {
    "googlenet": (
        "https://paddle-imagenet-models-name.bj.bcebos.com/dygraph/GoogLeNet_pretrained.pdparams",
        "80c06f038e905c53ab32c40eca6e26ae",
    )
}

# name: channels of the input; of the four branches, 3x3 and 5x5 with the narrow convolution before
BLOCKS = {
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class ConvLayer(nn.Layer):
    """A convolution without bias that keeps the size at stride 1."""

    def __init__(self, num_channels: int, num_filters: int, filter_size: int, stride: Any = 1, groups: int = 1):
        super().__init__()
        self._conv = nn.Conv2D(
            num_channels, num_filters, filter_size, stride, (filter_size - 1) // 2, groups=groups, bias_attr=False
        )

    def forward(self, inputs: Any) -> Any:
        return self._conv(inputs)


class Inception(nn.Layer):
    """Convolutions 1x1, 3x3, 5x5 and a max pool side by side."""

    def __init__(
        self,
        input_channels: int,
        output_channels: int,
        filter1: int,
        filter3R: int,
        filter3: int,
        filter5R: int,
        filter5: int,
        proj: int,
    ):
        super().__init__()
        self._conv1 = ConvLayer(input_channels, filter1, 1)
        self._conv3r = ConvLayer(input_channels, filter3R, 1)
        self._conv3 = ConvLayer(filter3R, filter3, 3)
        self._conv5r = ConvLayer(input_channels, filter5R, 1)
        self._conv5 = ConvLayer(filter5R, filter5, 5)
        self._pool = nn.MaxPool2D(3, stride=1, padding=1)
        self._convprj = ConvLayer(input_channels, proj, 1)

    def forward(self, inputs: Any) -> Any:
        branches = [
            self._conv1(inputs),
            self._conv3(self._conv3r(inputs)),
            self._conv5(self._conv5r(inputs)),
            self._convprj(self._pool(inputs)),
        ]
        return F.relu(concat(branches, axis=1))


def _linear(inputs: int, outputs: int, channels: int) -> nn.Linear:
    bound = (3.0 / channels) ** 0.5
    return nn.Linear(inputs, outputs, weight_attr=Uniform(-bound, bound))


class GoogLeNet(nn.Layer):
    """Nine inception blocks; gives the result and two more from the middle, for training.

    Args:
        num_classes: outputs; 0 leaves out the linear layers.
        with_pool: average the features over the picture.

    Example:
        >>> outputs = paddle.vision.models.GoogLeNet(num_classes=5)(paddle.zeros([1, 3, 224, 224]))
        >>> [out.shape for out in outputs]
        [[1, 5], [1, 5], [1, 5]]
    """

    def __init__(self, num_classes: int = 1000, with_pool: bool = True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        self._conv = ConvLayer(3, 64, 7, 2)
        self._pool = nn.MaxPool2D(3, stride=2)
        self._conv_1 = ConvLayer(64, 64, 1)
        self._conv_2 = ConvLayer(64, 192, 3)
        for name, (inputs, *filters) in BLOCKS.items():
            self.add_sublayer(f"_ince{name}", Inception(inputs, inputs, *filters))
        if with_pool:
            self._pool_5 = nn.AdaptiveAvgPool2D(1)
            self._pool_o1 = nn.AvgPool2D(5, stride=3)
            self._pool_o2 = nn.AvgPool2D(5, stride=3)
        if num_classes > 0:
            self._drop = nn.Dropout(0.4, mode="downscale_in_infer")
            self._fc_out = _linear(1024, num_classes, 1024)
            self._conv_o1 = ConvLayer(512, 128, 1)
            self._fc_o1 = _linear(1152, 1024, 2048)
            self._drop_o1 = nn.Dropout(0.7, mode="downscale_in_infer")
            self._out1 = _linear(1024, num_classes, 1024)
            self._conv_o2 = ConvLayer(528, 128, 1)
            self._fc_o2 = _linear(1152, 1024, 2048)
            self._drop_o2 = nn.Dropout(0.7, mode="downscale_in_infer")
            self._out2 = _linear(1024, num_classes, 1024)

    def forward(self, inputs: Any) -> tuple[Any, Any, Any]:
        x = self._pool(self._conv(inputs))
        x = self._pool(self._conv_2(self._conv_1(x)))
        x = self._pool(self._ince3b(self._ince3a(x)))
        first = self._ince4a(x)
        second = self._ince4d(self._ince4c(self._ince4b(first)))
        x = self._pool(self._ince4e(second))
        out = self._ince5b(self._ince5a(x))
        if self.with_pool:
            out, first, second = self._pool_5(out), self._pool_o1(first), self._pool_o2(second)
        if self.num_classes > 0:
            out = self._fc_out(self._drop(out).squeeze([2, 3]))
            first = F.relu(self._fc_o1(self._conv_o1(first).flatten(1)))
            first = self._out1(self._drop_o1(first))
            second = self._fc_o2(self._conv_o2(second).flatten(1))  # officially without ReLU
            second = self._out2(self._drop_o2(second))
        return out, first, second


def googlenet(pretrained: bool = False, **kwargs: Any) -> GoogLeNet:
    """GoogLeNet, see `GoogLeNet` for `kwargs`; `pretrained` loads the published weights."""
    model = GoogLeNet(**kwargs)
    if pretrained:
        load_weights(model, "googlenet", model_urls)
    return model
