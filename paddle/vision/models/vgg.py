"""VGG (Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition", 2014)."""

from __future__ import annotations

from typing import Any

from ... import nn
from ._utils import Weights, load_weights

__all__ = ["VGG", "vgg11", "vgg13", "vgg16", "vgg19"]

_HAPI = "https://paddle-hapi.bj.bcebos.com/models"
model_urls: Weights = {
    "vgg16": (f"{_HAPI}/vgg16.pdparams", "89bbffc0f87d260be9b8cdc169c991c4"),
    "vgg19": (f"{_HAPI}/vgg19.pdparams", "23b18bb13d8894f60f54e642be79a0dd"),
}

# the number of convolutions in each of the five stages
DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
WIDTHS = (64, 128, 256, 512, 512)


class VGG(nn.Layer):
    """Convolutions 3x3 in five stages and three linear layers.

    Args:
        features: the convolutions, giving 512 channels.
        num_classes: outputs; 0 leaves out the linear layers.
        with_pool: average the features to 7x7 first.

    Example:
        >>> net = paddle.vision.models.VGG(paddle.vision.models.vgg.make_layers([8, "M", 512]), num_classes=0)
        >>> net(paddle.zeros([1, 3, 32, 32])).shape
        [1, 512, 7, 7]
    """

    def __init__(self, features: nn.Layer, num_classes: int = 1000, with_pool: bool = True):
        super().__init__()
        self.features = features
        self.num_classes = num_classes
        self.with_pool = with_pool
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((7, 7))
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(512 * 7 * 7, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, num_classes),
            )

    def forward(self, x: Any) -> Any:
        x = self.features(x)
        if self.with_pool:
            x = self.avgpool(x)
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


def make_layers(cfg: list[int | str], batch_norm: bool = False) -> nn.Sequential:
    """The convolutions of a VGG: a number is a convolution of that width, "M" a max pool."""
    layers: list[nn.Layer] = []
    channels = 3
    for width in cfg:
        if isinstance(width, str):
            layers.append(nn.MaxPool2D(2, 2))
            continue
        layers.append(nn.Conv2D(channels, width, 3, padding=1))
        layers += [nn.BatchNorm2D(width), nn.ReLU()] if batch_norm else [nn.ReLU()]
        channels = width
    return nn.Sequential(*layers)


def _vgg(depth: int, batch_norm: bool, pretrained: bool, **kwargs: Any) -> VGG:
    cfg: list[int | str] = []
    for count, width in zip(DEPTHS[depth], WIDTHS):
        cfg += [width] * count + ["M"]
    model = VGG(make_layers(cfg, batch_norm), **kwargs)
    if pretrained:
        load_weights(model, f"vgg{depth}" + "_bn" * batch_norm, model_urls)
    return model


def vgg11(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 11 layers, see `VGG` for `kwargs`; `batch_norm` after every convolution, `pretrained` weights."""
    return _vgg(11, batch_norm, pretrained, **kwargs)


def vgg13(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 13 layers, see `VGG` for `kwargs`; `batch_norm` after every convolution, `pretrained` weights."""
    return _vgg(13, batch_norm, pretrained, **kwargs)


def vgg16(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 16 layers, see `VGG` for `kwargs`; `batch_norm` after every convolution, `pretrained` weights."""
    return _vgg(16, batch_norm, pretrained, **kwargs)


def vgg19(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 19 layers, see `VGG` for `kwargs`; `batch_norm` after every convolution, `pretrained` weights."""
    return _vgg(19, batch_norm, pretrained, **kwargs)
