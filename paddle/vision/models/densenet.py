"""DenseNet (Huang et al., "Densely connected convolutional networks", 2016)."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn.initializer import Uniform
from ._utils import Weights, load_weights

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201", "densenet264"]

_DYGRAPH = "https://paddle-imagenet-models-name.bj.bcebos.com/dygraph"
model_urls: Weights = {
    "densenet121": (f"{_DYGRAPH}/DenseNet121_pretrained.pdparams", "db1b239ed80a905290fd8b01d3af08e4"),
    "densenet161": (f"{_DYGRAPH}/DenseNet161_pretrained.pdparams", "62158869cb315098bd25ddbfd308a853"),
    "densenet169": (f"{_DYGRAPH}/DenseNet169_pretrained.pdparams", "82cc7c635c3f19098c748850efb2d796"),
    "densenet201": (f"{_DYGRAPH}/DenseNet201_pretrained.pdparams", "16ca29565a7712329cf9e36e02caaf58"),
    "densenet264": (f"{_DYGRAPH}/DenseNet264_pretrained.pdparams", "3270ce516b85370bba88cfdd9f60bff4"),
}

# channels of the first convolution, channels that each layer adds, layers of the blocks
SPECS = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
    264: (64, 32, [6, 12, 64, 48]),
}


class BNACConvLayer(nn.Layer):
    """Batch normalisation, activation, convolution."""

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: Any,
        stride: Any = 1,
        pad: Any = 0,
        groups: int = 1,
        act: str = "relu",
    ):
        super().__init__()
        self._batch_norm = nn.BatchNorm(num_channels, act=act)
        self._conv = nn.Conv2D(num_channels, num_filters, filter_size, stride, pad, groups=groups, bias_attr=False)

    def forward(self, input: Any) -> Any:
        return self._conv(self._batch_norm(input))


class ConvBNLayer(nn.Layer):
    """Convolution, batch normalisation, activation."""

    def __init__(
        self,
        num_channels: int,
        num_filters: int,
        filter_size: Any,
        stride: Any = 1,
        pad: Any = 0,
        groups: int = 1,
        act: str = "relu",
    ):
        super().__init__()
        self._conv = nn.Conv2D(num_channels, num_filters, filter_size, stride, pad, groups=groups, bias_attr=False)
        self._batch_norm = nn.BatchNorm(num_filters, act=act)

    def forward(self, input: Any) -> Any:
        return self._batch_norm(self._conv(input))


class DenseLayer(nn.Layer):
    """Adds `growth_rate` channels to what it gets."""

    def __init__(self, num_channels: int, growth_rate: int, bn_size: int, dropout: float):
        super().__init__()
        self.dropout = dropout
        self.bn_ac_func1 = BNACConvLayer(num_channels, bn_size * growth_rate, 1)
        self.bn_ac_func2 = BNACConvLayer(bn_size * growth_rate, growth_rate, 3, pad=1)
        if dropout:
            self.dropout_func = nn.Dropout(p=dropout, mode="downscale_in_infer")

    def forward(self, input: Any) -> Any:
        x = self.bn_ac_func2(self.bn_ac_func1(input))
        if self.dropout:
            x = self.dropout_func(x)
        return concat([input, x], axis=1)


class DenseBlock(nn.Layer):
    """Dense layers one after the other."""

    def __init__(
        self,
        num_channels: int,
        num_layers: int,
        bn_size: int,
        growth_rate: int,
        dropout: float,
        name: str | None = None,
    ):
        super().__init__()
        self.dense_layer_func = [
            self.add_sublayer(
                f"{name}_{i + 1}", DenseLayer(num_channels + i * growth_rate, growth_rate, bn_size, dropout)
            )
            for i in range(num_layers)
        ]

    def forward(self, input: Any) -> Any:
        for layer in self.dense_layer_func:
            input = layer(input)
        return input


class TransitionLayer(nn.Layer):
    """Fewer channels and half the size."""

    def __init__(self, num_channels: int, num_output_features: int):
        super().__init__()
        self.conv_ac_func = BNACConvLayer(num_channels, num_output_features, 1)
        self.pool2d_avg = nn.AvgPool2D(2, 2, 0)

    def forward(self, input: Any) -> Any:
        return self.pool2d_avg(self.conv_ac_func(input))


class DenseNet(nn.Layer):
    """Four blocks in which every layer sees the results of all earlier ones.

    Args:
        layers: 121, 161, 169, 201 or 264.
        bn_size: width of the narrow convolutions in units of the growth rate.
        dropout: rate.
        num_classes: outputs; 0 leaves out the linear layer.
        with_pool: average the features over the picture.

    Example:
        >>> paddle.vision.models.DenseNet(121, num_classes=0, with_pool=False)(paddle.zeros([1, 3, 32, 32])).shape
        [1, 1024, 1, 1]
    """

    def __init__(
        self,
        layers: int = 121,
        bn_size: int = 4,
        dropout: float = 0.0,
        num_classes: int = 1000,
        with_pool: bool = True,
    ):
        super().__init__()
        if layers not in SPECS:
            raise AssertionError(f"DenseNet: layers must be one of {list(SPECS)}, got {layers!r}")
        channels, growth, counts = SPECS[layers]
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.block_config = list(counts)
        self.conv1_func = ConvBNLayer(3, channels, 7, stride=2, pad=3)
        self.pool2d_max = nn.MaxPool2D(3, stride=2, padding=1)
        self.dense_block_func_list: list[nn.Layer] = []
        self.transition_func_list: list[nn.Layer] = []
        for i, count in enumerate(counts, 2):
            block = DenseBlock(channels, count, bn_size, growth, dropout, name=f"conv{i}")
            self.dense_block_func_list.append(self.add_sublayer(f"db_conv_{i}", block))
            channels += count * growth
            if i <= len(counts):
                transition = TransitionLayer(channels, channels // 2)
                self.transition_func_list.append(self.add_sublayer(f"tr_conv{i}_blk", transition))
                channels //= 2
        self.batch_norm = nn.BatchNorm(channels, act="relu")
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            bound = channels**-0.5
            self.out = nn.Linear(channels, num_classes, weight_attr=Uniform(-bound, bound))

    def forward(self, input: Any) -> Any:
        x = self.pool2d_max(self.conv1_func(input))
        for block, transition in zip(self.dense_block_func_list, [*self.transition_func_list, None]):
            x = block(x)
            if transition is not None:
                x = transition(x)
        x = self.batch_norm(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.out(x.flatten(1)) if self.num_classes > 0 else x


def _densenet(layers: int, pretrained: bool, **kwargs: Any) -> DenseNet:
    model = DenseNet(layers=layers, **kwargs)
    if pretrained:
        load_weights(model, f"densenet{layers}", model_urls)
    return model


def densenet121(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 121 layers, see `DenseNet` for `kwargs`; `pretrained` loads the published weights."""
    return _densenet(121, pretrained, **kwargs)


def densenet161(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 161 layers, see `DenseNet` for `kwargs`; `pretrained` loads the published weights."""
    return _densenet(161, pretrained, **kwargs)


def densenet169(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 169 layers, see `DenseNet` for `kwargs`; `pretrained` loads the published weights."""
    return _densenet(169, pretrained, **kwargs)


def densenet201(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 201 layers, see `DenseNet` for `kwargs`; `pretrained` loads the published weights."""
    return _densenet(201, pretrained, **kwargs)


def densenet264(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 264 layers, see `DenseNet` for `kwargs`; `pretrained` loads the published weights."""
    return _densenet(264, pretrained, **kwargs)
