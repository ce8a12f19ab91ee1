"""Inception v3 (Szegedy et al., "Rethinking the inception architecture for computer vision", 2015)."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn.initializer import Uniform
from ._utils import ConvNormActivation, Weights, load_weights

__all__ = ["InceptionV3", "inception_v3"]

model_urls: Weights = {
    "inception_v3": (
        "https://paddle-hapi.bj.bcebos.com/models/inception_v3.pdparams",
        "649a4547c3243e8b59c656f41fe330b8",
    )
}

_conv = ConvNormActivation
_TALL, _WIDE = {"kernel_size": (7, 1), "padding": (3, 0)}, {"kernel_size": (1, 7), "padding": (0, 3)}


class InceptionStem(nn.Layer):
    """The convolutions before the first block: an eighth of the size, 192 channels."""

    def __init__(self):
        super().__init__()
        self.conv_1a_3x3 = _conv(3, 32, 3, stride=2, padding=0)
        self.conv_2a_3x3 = _conv(32, 32, 3, padding=0)
        self.conv_2b_3x3 = _conv(32, 64, 3, padding=1)
        self.max_pool = nn.MaxPool2D(3, stride=2, padding=0)
        self.conv_3b_1x1 = _conv(64, 80, 1, padding=0)
        self.conv_4a_3x3 = _conv(80, 192, 3, padding=0)

    def forward(self, x: Any) -> Any:
        x = self.max_pool(self.conv_2b_3x3(self.conv_2a_3x3(self.conv_1a_3x3(x))))
        return self.max_pool(self.conv_4a_3x3(self.conv_3b_1x1(x)))


class InceptionA(nn.Layer):
    """Branches 1x1, 5x5, twice 3x3, average pool; the size stays."""

    def __init__(self, num_channels: int, pool_features: int):
        super().__init__()
        self.branch1x1 = _conv(num_channels, 64, 1)
        self.branch5x5_1 = _conv(num_channels, 48, 1)
        self.branch5x5_2 = _conv(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = _conv(num_channels, 64, 1)
        self.branch3x3dbl_2 = _conv(64, 96, 3)
        self.branch3x3dbl_3 = _conv(96, 96, 3)
        self.branch_pool = nn.AvgPool2D(3, stride=1, padding=1, exclusive=False)
        self.branch_pool_conv = _conv(num_channels, pool_features, 1)

    def forward(self, x: Any) -> Any:
        branches = [
            self.branch1x1(x),
            self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool_conv(self.branch_pool(x)),
        ]
        return concat(branches, axis=1)


class InceptionB(nn.Layer):
    """Branches 3x3, twice 3x3, max pool; half the size."""

    def __init__(self, num_channels: int):
        super().__init__()
        self.branch3x3 = _conv(num_channels, 384, 3, stride=2, padding=0)
        self.branch3x3dbl_1 = _conv(num_channels, 64, 1)
        self.branch3x3dbl_2 = _conv(64, 96, 3)
        self.branch3x3dbl_3 = _conv(96, 96, 3, stride=2, padding=0)
        self.branch_pool = nn.MaxPool2D(3, stride=2)

    def forward(self, x: Any) -> Any:
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return concat([self.branch3x3(x), double, self.branch_pool(x)], axis=1)


class InceptionC(nn.Layer):
    """Branches 1x1, 7x7 and twice 7x7 in separate directions, average pool; the size stays."""

    def __init__(self, num_channels: int, channels_7x7: int):
        super().__init__()
        width = channels_7x7
        self.branch1x1 = _conv(num_channels, 192, 1)
        self.branch7x7_1 = _conv(num_channels, width, 1)
        self.branch7x7_2 = _conv(width, width, **_WIDE)
        self.branch7x7_3 = _conv(width, 192, **_TALL)
        self.branch7x7dbl_1 = _conv(num_channels, width, 1)
        self.branch7x7dbl_2 = _conv(width, width, **_TALL)
        self.branch7x7dbl_3 = _conv(width, width, **_WIDE)
        self.branch7x7dbl_4 = _conv(width, width, **_TALL)
        self.branch7x7dbl_5 = _conv(width, 192, **_WIDE)
        self.branch_pool = nn.AvgPool2D(3, stride=1, padding=1, exclusive=False)
        self.branch_pool_conv = _conv(num_channels, 192, 1)

    def forward(self, x: Any) -> Any:
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        branches = [
            self.branch1x1(x),
            self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x))),
            self.branch7x7dbl_5(self.branch7x7dbl_4(double)),
            self.branch_pool_conv(self.branch_pool(x)),
        ]
        return concat(branches, axis=1)


class InceptionD(nn.Layer):
    """Branches 3x3, 7x7 in separate directions with 3x3, max pool; half the size."""

    def __init__(self, num_channels: int):
        super().__init__()
        self.branch3x3_1 = _conv(num_channels, 192, 1)
        self.branch3x3_2 = _conv(192, 320, 3, stride=2, padding=0)
        self.branch7x7x3_1 = _conv(num_channels, 192, 1)
        self.branch7x7x3_2 = _conv(192, 192, **_WIDE)
        self.branch7x7x3_3 = _conv(192, 192, **_TALL)
        self.branch7x7x3_4 = _conv(192, 192, 3, stride=2, padding=0)
        self.branch_pool = nn.MaxPool2D(3, stride=2)

    def forward(self, x: Any) -> Any:
        wide = self.branch7x7x3_4(self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x))))
        return concat([self.branch3x3_2(self.branch3x3_1(x)), wide, self.branch_pool(x)], axis=1)


class InceptionE(nn.Layer):
    """Branches 1x1, 3x3 and twice 3x3, both ending in two directions side by side, average pool; the size stays."""

    def __init__(self, num_channels: int):
        super().__init__()
        self.branch1x1 = _conv(num_channels, 320, 1)
        self.branch3x3_1 = _conv(num_channels, 384, 1)
        self.branch3x3_2a = _conv(384, 384, (1, 3), padding=(0, 1))
        self.branch3x3_2b = _conv(384, 384, (3, 1), padding=(1, 0))
        self.branch3x3dbl_1 = _conv(num_channels, 448, 1)
        self.branch3x3dbl_2 = _conv(448, 384, 3)
        self.branch3x3dbl_3a = _conv(384, 384, (1, 3), padding=(0, 1))
        self.branch3x3dbl_3b = _conv(384, 384, (3, 1), padding=(1, 0))
        self.branch_pool = nn.AvgPool2D(3, stride=1, padding=1, exclusive=False)
        self.branch_pool_conv = _conv(num_channels, 192, 1)

    def forward(self, x: Any) -> Any:
        single = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        branches = [
            self.branch1x1(x),
            self.branch3x3_2a(single),
            self.branch3x3_2b(single),
            self.branch3x3dbl_3a(double),
            self.branch3x3dbl_3b(double),
            self.branch_pool_conv(self.branch_pool(x)),
        ]
        return concat(branches, axis=1)


class InceptionV3(nn.Layer):
    """Eleven inception blocks.

    Args:
        num_classes: outputs; 0 leaves out the linear layer.
        with_pool: average the features over the picture.

    Example:
        >>> paddle.vision.models.InceptionV3(num_classes=5)(paddle.zeros([1, 3, 96, 96])).shape
        [1, 5]
    """

    def __init__(self, num_classes: int = 1000, with_pool: bool = True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.layers_config = {
            "inception_a": [[192, 256, 288], [32, 64, 64]],
            "inception_b": [288],
            "inception_c": [[768, 768, 768, 768], [128, 160, 160, 192]],
            "inception_d": [768],
            "inception_e": [1280, 2048],
        }
        config: dict[str, Any] = self.layers_config
        self.inception_stem = InceptionStem()
        self.inception_block_list = nn.LayerList(
            [
                *(InceptionA(*row) for row in zip(*config["inception_a"])),
                *(InceptionB(channels) for channels in config["inception_b"]),
                *(InceptionC(*row) for row in zip(*config["inception_c"])),
                *(InceptionD(channels) for channels in config["inception_d"]),
                *(InceptionE(channels) for channels in config["inception_e"]),
            ]
        )
        if with_pool:
            self.avg_pool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.dropout = nn.Dropout(0.2, mode="downscale_in_infer")
            bound = 2048**-0.5
            self.fc = nn.Linear(2048, num_classes, weight_attr=Uniform(-bound, bound))

    def forward(self, x: Any) -> Any:
        x = self.inception_stem(x)
        for block in self.inception_block_list:
            x = block(x)
        if self.with_pool:
            x = self.avg_pool(x)
        return self.fc(self.dropout(x.reshape([-1, 2048]))) if self.num_classes > 0 else x


def inception_v3(pretrained: bool = False, **kwargs: Any) -> InceptionV3:
    """Inception v3, see `InceptionV3` for `kwargs`; `pretrained` loads the published weights."""
    model = InceptionV3(**kwargs)
    if pretrained:
        load_weights(model, "inception_v3", model_urls)
    return model
