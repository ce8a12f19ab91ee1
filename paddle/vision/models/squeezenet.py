"""SqueezeNet (Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters", 2016)."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn import functional as F
from ._utils import Weights, load_weights

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

_DYGRAPH = "https://paddle-imagenet-models-name.bj.bcebos.com/dygraph"
model_urls: Weights = {
    "squeezenet1_0": (f"{_DYGRAPH}/SqueezeNet1_0_pretrained.pdparams", "30b95af60a2178f03cf9b66cd77e1db1"),
    "squeezenet1_1": (f"{_DYGRAPH}/SqueezeNet1_1_pretrained.pdparams", "a11250d3a1f91d7131fd095ebbf09eee"),
}

SQUEEZED = (16, 16, 32, 32, 48, 48, 64, 64)  # each fire module expands to eight times as many channels
POOLED = {"1.0": (3, 7), "1.1": (2, 4)}  # the fire modules that a max pool follows


class MakeFireConv(nn.Layer):
    """A convolution with ReLU."""

    def __init__(self, input_channels: int, output_channels: int, filter_size: Any, padding: Any = 0):
        super().__init__()
        self._conv = nn.Conv2D(input_channels, output_channels, filter_size, padding=padding)

    def forward(self, x: Any) -> Any:
        return F.relu(self._conv(x))


class MakeFire(nn.Layer):
    """A narrow convolution 1x1, then one 1x1 and one 3x3 side by side."""

    def __init__(self, input_channels: int, squeeze_channels: int, expand1x1_channels: int, expand3x3_channels: int):
        super().__init__()
        self._conv = MakeFireConv(input_channels, squeeze_channels, 1)
        self._conv_path1 = MakeFireConv(squeeze_channels, expand1x1_channels, 1)
        self._conv_path2 = MakeFireConv(squeeze_channels, expand3x3_channels, 3, padding=1)

    def forward(self, inputs: Any) -> Any:
        x = self._conv(inputs)
        return concat([self._conv_path1(x), self._conv_path2(x)], axis=1)


class SqueezeNet(nn.Layer):
    """Eight fire modules; the last convolution gives the classes.

    Args:
        version: "1.0" or "1.1".
        num_classes: outputs; 0 leaves out the last convolution.
        with_pool: ReLU, and average the result over the picture.

    Example:
        >>> paddle.vision.models.SqueezeNet("1.1", num_classes=5)(paddle.zeros([1, 3, 32, 32])).shape
        [1, 5]
    """

    def __init__(self, version: str, num_classes: int = 1000, with_pool: bool = True):
        super().__init__()
        if version not in POOLED:
            raise AssertionError(f"SqueezeNet: version must be one of {list(POOLED)}, got {version!r}")
        self.version = version
        self.num_classes = num_classes
        self.with_pool = with_pool
        first = nn.Conv2D(3, 96, 7, stride=2) if version == "1.0" else nn.Conv2D(3, 64, 3, stride=2, padding=1)
        self._conv = first
        self._pool = nn.MaxPool2D(3, stride=2, padding=0)
        channels = 96 if version == "1.0" else 64
        for i, squeezed in enumerate(SQUEEZED, 1):
            self.add_sublayer(f"_conv{i}", MakeFire(channels, squeezed, 4 * squeezed, 4 * squeezed))
            channels = 8 * squeezed
        self._drop = nn.Dropout(0.5, mode="downscale_in_infer")
        if num_classes > 0:
            self._conv9 = nn.Conv2D(512, num_classes, 1)
        if with_pool:
            self._avg_pool = nn.AdaptiveAvgPool2D(1)

    def forward(self, inputs: Any) -> Any:
        x = self._pool(F.relu(self._conv(inputs)))
        for i in range(1, 9):
            x = getattr(self, f"_conv{i}")(x)
            if i in POOLED[self.version]:
                x = self._pool(x)
        x = self._drop(x)
        if self.num_classes > 0:
            x = self._conv9(x)
        return self._avg_pool(F.relu(x)).squeeze([2, 3]) if self.with_pool else x


def _squeezenet(version: str, pretrained: bool, **kwargs: Any) -> SqueezeNet:
    model = SqueezeNet(version, **kwargs)
    if pretrained:
        load_weights(model, f"squeezenet{version.replace('.', '_')}", model_urls)
    return model


def squeezenet1_0(pretrained: bool = False, **kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0, see `SqueezeNet` for `kwargs`; `pretrained` loads the published weights."""
    return _squeezenet("1.0", pretrained, **kwargs)


def squeezenet1_1(pretrained: bool = False, **kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1, see `SqueezeNet` for `kwargs`; `pretrained` loads the published weights."""
    return _squeezenet("1.1", pretrained, **kwargs)
