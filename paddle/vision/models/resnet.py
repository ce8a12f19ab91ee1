"""ResNet (He et al., "Deep residual learning for image recognition", 2015), ResNeXt (Xie et al., "Aggregated residual
transformations for deep neural networks", 2016), Wide ResNet (Zagoruyko and Komodakis, 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import nn
from ...engine import errors
from ._utils import Weights, load_weights

__all__ = [
    "ResNet",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext50_64x4d",
    "resnext101_32x4d",
    "resnext101_64x4d",
    "resnext152_32x4d",
    "resnext152_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]

_HAPI = "https://paddle-hapi.bj.bcebos.com/models"
model_urls: Weights = {
    "resnet18": (f"{_HAPI}/resnet18.pdparams", "cf548f46534aa3560945be4b95cd11c4"),
    "resnet34": (f"{_HAPI}/resnet34.pdparams", "8d2275cf8706028345f78ac0e1d31969"),
    "resnet50": (f"{_HAPI}/resnet50.pdparams", "ca6f485ee1ab0492d38f323885b0ad80"),
    "resnet101": (f"{_HAPI}/resnet101.pdparams", "02f35f034ca3858e1e54d4036443c92d"),
    "resnet152": (f"{_HAPI}/resnet152.pdparams", "7ad16a2f1e7333859ff986138630fd7a"),
    "resnext50_32x4d": (f"{_HAPI}/resnext50_32x4d.pdparams", "dc47483169be7d6f018fcbb7baf8775d"),
    "resnext50_64x4d": (f"{_HAPI}/resnext50_64x4d.pdparams", "063d4b483e12b06388529450ad7576db"),
    "resnext101_32x4d": (f"{_HAPI}/resnext101_32x4d.pdparams", "967b090039f9de2c8d06fe994fb9095f"),
    "resnext101_64x4d": (f"{_HAPI}/resnext101_64x4d.pdparams", "98e04e7ca616a066699230d769d03008"),
    "resnext152_32x4d": (f"{_HAPI}/resnext152_32x4d.pdparams", "18ff0beee21f2efc99c4b31786107121"),
    "resnext152_64x4d": (f"{_HAPI}/resnext152_64x4d.pdparams", "77c4af00ca42c405fa7f841841959379"),
    "wide_resnet50_2": (f"{_HAPI}/wide_resnet50_2.pdparams", "0282f804d73debdab289bd9fea3fa6dc"),
    "wide_resnet101_2": (f"{_HAPI}/wide_resnet101_2.pdparams", "d4360a2d23657f059216f5d5a1a9ac93"),
}

DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


class BasicBlock(nn.Layer):
    """Two convolutions 3x3 beside a shortcut.

    Args:
        inplanes: channels of the input.
        planes: channels of the result, divided by `expansion`.
        stride: of the first convolution.
        downsample: what the shortcut does; None: nothing.
        groups, base_width, dilation: 1, 64 and 1; others are for `BottleneckBlock`.
        norm_layer: makes the normalisations, default BatchNorm2D.
    """

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: Any = 1,
        downsample: nn.Layer | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., nn.Layer] | None = None,
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2D
        if dilation > 1:
            raise errors.NotImplemented_("BasicBlock: dilation greater than 1")
        self.conv1 = nn.Conv2D(inplanes, planes, 3, padding=1, stride=stride, bias_attr=False)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2D(planes, planes, 3, padding=1, bias_attr=False)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Any) -> Any:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + shortcut)


class BottleneckBlock(nn.Layer):
    """Convolutions 1x1, 3x3 and 1x1 beside a shortcut; the middle one is narrow and may have groups.

    Args: as those of `BasicBlock`. The middle convolution has `planes * base_width / 64 * groups` channels.
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: Any = 1,
        downsample: nn.Layer | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., nn.Layer] | None = None,
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2D
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = nn.Conv2D(inplanes, width, 1, bias_attr=False)
        self.bn1 = norm_layer(width)
        self.conv2 = nn.Conv2D(
            width, width, 3, padding=dilation, stride=stride, groups=groups, dilation=dilation, bias_attr=False
        )
        self.bn2 = norm_layer(width)
        self.conv3 = nn.Conv2D(width, planes * self.expansion, 1, bias_attr=False)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU()
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Any) -> Any:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + shortcut)


class ResNet(nn.Layer):
    """A convolution 7x7, four stages of residual blocks and a linear layer.

    Args:
        block: `BasicBlock` or `BottleneckBlock`.
        depth: 18, 34, 50, 101 or 152.
        width: base width of the bottlenecks (the channels of one group in the first stage).
        num_classes: outputs; 0 leaves out the linear layer.
        with_pool: average the features over the picture.
        groups: of the bottlenecks.

    Example:
        >>> from paddle.vision.models.resnet import BasicBlock
        >>> paddle.vision.models.ResNet(BasicBlock, 18, num_classes=10)(paddle.zeros([1, 3, 32, 32])).shape
        [1, 10]
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[BottleneckBlock],
        depth: int = 50,
        width: int = 64,
        num_classes: int = 1000,
        with_pool: bool = True,
        groups: int = 1,
    ):
        super().__init__()
        if depth not in DEPTHS:
            raise errors.ValueError_(f"ResNet: depth must be one of {list(DEPTHS)}, got {depth!r}")
        self.groups = groups
        self.base_width = width
        self.num_classes = num_classes
        self.with_pool = with_pool
        self._norm_layer = nn.BatchNorm2D
        self.inplanes = 64
        self.dilation = 1
        self.conv1 = nn.Conv2D(3, self.inplanes, 7, stride=2, padding=3, bias_attr=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2D(3, stride=2, padding=1)
        counts = DEPTHS[depth]
        self.layer1 = self._make_layer(block, 64, counts[0])
        self.layer2 = self._make_layer(block, 128, counts[1], stride=2)
        self.layer3 = self._make_layer(block, 256, counts[2], stride=2)
        self.layer4 = self._make_layer(block, 512, counts[3], stride=2)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((1, 1))
        if num_classes > 0:
            self.fc = nn.Linear(512 * block.expansion, num_classes)

    def _make_layer(
        self,
        block: type[BasicBlock] | type[BottleneckBlock],
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        """One stage; `dilate` keeps its size by dilation in place of the stride."""
        before = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        outputs = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != outputs:
            downsample = nn.Sequential(
                nn.Conv2D(self.inplanes, outputs, 1, stride=stride, bias_attr=False), self._norm_layer(outputs)
            )
        rest = (self.groups, self.base_width)
        layers = [block(self.inplanes, planes, stride, downsample, *rest, before, self._norm_layer)]
        self.inplanes = outputs
        for _ in range(1, blocks):
            layers.append(block(outputs, planes, 1, None, *rest, self.dilation, self._norm_layer))
        return nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        if self.with_pool:
            x = self.avgpool(x)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x


def _resnet(arch: str, block: Any, depth: int, pretrained: bool, **kwargs: Any) -> ResNet:
    model = ResNet(block, depth, **kwargs)
    if pretrained:
        load_weights(model, arch, model_urls)
    return model


def resnet18(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet-18, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    return _resnet("resnet18", BasicBlock, 18, pretrained, **kwargs)


def resnet34(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet-34, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    return _resnet("resnet34", BasicBlock, 34, pretrained, **kwargs)


def resnet50(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet-50, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    return _resnet("resnet50", BottleneckBlock, 50, pretrained, **kwargs)


def resnet101(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet-101, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    return _resnet("resnet101", BottleneckBlock, 101, pretrained, **kwargs)


def resnet152(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet-152, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    return _resnet("resnet152", BottleneckBlock, 152, pretrained, **kwargs)


def resnext50_32x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt-50 with 32 groups of 4 channels, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    kwargs.update(width=4, groups=32)
    return _resnet("resnext50_32x4d", BottleneckBlock, 50, pretrained, **kwargs)


def resnext50_64x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt-50 with 64 groups of 4 channels, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    kwargs.update(width=4, groups=64)
    return _resnet("resnext50_64x4d", BottleneckBlock, 50, pretrained, **kwargs)


def resnext101_32x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt-101 with 32 groups of 4 channels, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    kwargs.update(width=4, groups=32)
    return _resnet("resnext101_32x4d", BottleneckBlock, 101, pretrained, **kwargs)


def resnext101_64x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt-101 with 64 groups of 4 channels, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    kwargs.update(width=4, groups=64)
    return _resnet("resnext101_64x4d", BottleneckBlock, 101, pretrained, **kwargs)


def resnext152_32x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt-152 with 32 groups of 4 channels, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    kwargs.update(width=4, groups=32)
    return _resnet("resnext152_32x4d", BottleneckBlock, 152, pretrained, **kwargs)


def resnext152_64x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt-152 with 64 groups of 4 channels, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    kwargs.update(width=4, groups=64)
    return _resnet("resnext152_64x4d", BottleneckBlock, 152, pretrained, **kwargs)


def wide_resnet50_2(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """Wide ResNet-50 with bottlenecks of twice the width, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    kwargs.update(width=128)
    return _resnet("wide_resnet50_2", BottleneckBlock, 50, pretrained, **kwargs)


def wide_resnet101_2(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """Wide ResNet-101 with bottlenecks of twice the width, see `ResNet` for `kwargs`; `pretrained` loads the published weights."""
    kwargs.update(width=128)
    return _resnet("wide_resnet101_2", BottleneckBlock, 101, pretrained, **kwargs)
