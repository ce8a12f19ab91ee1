"""Residual networks: ResNet-C and -D (He et al., "Bag of tricks", 2018), ResNeXt, SENet, ECA-Net, Res2Net (Gao et al.,
"Res2Net: a new multi-scale backbone architecture", 2019)."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from .blocks import EfficientChannelAttention, SqueezeExcite, classifier, conv_bn, pool
from .registry import register


def channel_attention(kind: str | None, channels: int) -> nn.Layer:
    if kind == "se":
        return SqueezeExcite(channels, channels // 16)
    return EfficientChannelAttention(channels) if kind == "eca" else nn.Identity()


class MultiScale(nn.Layer):
    """A convolution 3x3 split into parts, each of which also sees the result of the part before it."""

    def __init__(self, width: int, scale: int, stride: int, groups: int, first: bool):
        super().__init__()
        self.scale = scale
        self.first = first  # of its stage: the parts do not see each other
        self.convs = nn.LayerList(
            [nn.Conv2D(width, width, 3, stride, padding=1, groups=groups, bias_attr=False) for _ in range(scale - 1)]
        )
        self.norms = nn.LayerList([nn.BatchNorm2D(width) for _ in range(scale - 1)])
        self.act = nn.ReLU()
        self.pool = nn.AvgPool2D(3, stride, padding=1, exclusive=False) if first else nn.Identity()

    def forward(self, x: Any) -> Any:
        parts = x.chunk(self.scale, axis=1)
        done: list[Any] = []
        for conv, norm, part in zip(self.convs, self.norms, parts):
            done.append(self.act(norm(conv(part if self.first or not done else part + done[-1]))))
        return concat([*done, self.pool(parts[-1])], axis=1)


class Basic(nn.Layer):
    """Two convolutions 3x3 beside a shortcut."""

    expansion = 1

    def __init__(self, inputs: int, planes: int, stride: int, shortcut: nn.Layer, attention: str | None, **_: Any):
        super().__init__()
        self.conv1 = conv_bn(inputs, planes, 3, stride)
        self.conv2 = conv_bn(planes, planes, 3, act=None)
        self.attention = channel_attention(attention, planes)
        self.shortcut = shortcut
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.act(self.attention(self.conv2(self.conv1(x))) + self.shortcut(x))


class Bottleneck(nn.Layer):
    """Convolutions 1x1, 3x3 (perhaps in groups, perhaps split) and 1x1 beside a shortcut."""

    expansion = 4

    def __init__(
        self,
        inputs: int,
        planes: int,
        stride: int,
        shortcut: nn.Layer,
        attention: str | None,
        groups: int,
        width: int,
        scale: int,
        first: bool,
    ):
        super().__init__()
        middle = int(planes * (width / 64)) * groups
        self.conv1 = conv_bn(inputs, middle * scale)
        if scale > 1:
            self.conv2: nn.Layer = MultiScale(middle, scale, stride, groups, first)
        else:
            self.conv2 = conv_bn(middle, middle, 3, stride, groups)
        self.conv3 = conv_bn(middle * scale, planes * 4, act=None)
        self.attention = channel_attention(attention, planes * 4)
        self.shortcut = shortcut
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.act(self.attention(self.conv3(self.conv2(self.conv1(x)))) + self.shortcut(x))


class ResNet(nn.Layer):
    """Four stages of residual blocks.

    Args:
        depths: blocks of the stages.
        basic: blocks of two convolutions in place of bottlenecks.
        deep_stem: three convolutions 3x3 in place of one 7x7 (the C variant), of this width.
        average: shortcuts of half size average before their convolution (the D variant).
        attention: "se" or "eca".
        groups, width: of the bottlenecks.
        scale: parts of the middle convolution (Res2Net).
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        basic: bool = False,
        deep_stem: int = 0,
        average: bool = False,
        attention: str | None = None,
        groups: int = 1,
        width: int = 64,
        scale: int = 1,
        num_classes: int = 1000,
    ):
        super().__init__()
        block = Basic if basic else Bottleneck
        if deep_stem:
            self.stem = nn.Sequential(
                conv_bn(3, deep_stem, 3, 2), conv_bn(deep_stem, deep_stem, 3), conv_bn(deep_stem, 64, 3)
            )
        else:
            self.stem = conv_bn(3, 64, 7, 2)
        self.maxpool = nn.MaxPool2D(3, 2, padding=1)
        self.stages = nn.LayerList()
        inputs = 64
        for stage, depth in enumerate(depths):
            planes, blocks = 64 * 2**stage, []
            for i in range(depth):
                stride = 2 if i == 0 and stage > 0 else 1
                shortcut: nn.Layer = nn.Identity()
                if stride != 1 or inputs != planes * block.expansion:
                    shortcut = self._shortcut(inputs, planes * block.expansion, stride, average)
                blocks.append(
                    block(
                        inputs,
                        planes,
                        stride,
                        shortcut,
                        attention,
                        groups=groups,
                        width=width,
                        scale=scale,
                        first=i == 0,
                    )
                )
                inputs = planes * block.expansion
            self.stages.append(nn.Sequential(*blocks))
        self.head = classifier(inputs, num_classes)

    @staticmethod
    def _shortcut(inputs: int, outputs: int, stride: int, average: bool) -> nn.Layer:
        if not average:
            return conv_bn(inputs, outputs, 1, stride, act=None)
        conv = conv_bn(inputs, outputs, act=None)
        return nn.Sequential(nn.AvgPool2D(2, stride, ceil_mode=True), conv) if stride > 1 else conv

    def forward(self, x: Any) -> Any:
        x = self.maxpool(self.stem(x))
        for stage in self.stages:
            x = stage(x)
        return self.head(pool(x))


DEPTHS = {
    18: (2, 2, 2, 2),
    26: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
}
C = {"deep_stem": 32}
D = {"deep_stem": 32, "average": True}


def _members(prefix: str, depths: tuple[int, ...], suffix: str = "", **options: Any) -> dict[str, dict[str, Any]]:
    return {f"{prefix}{n}{suffix}": {"depths": DEPTHS[n], "basic": n in (18, 34), **options} for n in depths}


register("resnet", ResNet, _members("resnet", (26, 200)))
register("resnet", ResNet, _members("resnet", (18, 34, 50, 101, 152, 200), "_vc", **C))
register("resnet", ResNet, _members("resnet", (18, 26, 34, 50, 101, 152, 200), "_vd", **D))
register("resnet", ResNet, _members("wide_resnet", (50, 101), "_2_vd", width=128, **D))
for _g in (32, 64):
    _x = {"groups": _g, "width": 4}
    register("resnext", ResNet, _members("resnext", (50, 101, 152), f"_vd_{_g}x4d", **_x, **D))
    register("senet", ResNet, _members("se_resnext", (50, 101, 152), f"_{_g}x4d", attention="se", **_x))
    register("senet", ResNet, _members("se_resnext", (50, 101, 152), f"_vd_{_g}x4d", attention="se", **_x, **D))
for _w in (8, 16, 32, 48):
    register("resnext", ResNet, _members("resnext", (101,), f"_32x{_w}d", groups=32, width=_w))
register("senet", ResNet, _members("se_resnet", (18, 34, 50, 101, 152, 200), attention="se"))
register("senet", ResNet, _members("se_resnet", (18, 34, 50, 101, 152, 200), "_vd", attention="se", **D))
register("ecanet", ResNet, _members("eca_resnet", (18, 34, 50, 101, 152), attention="eca"))
register("ecanet", ResNet, _members("eca_resnet", (18, 34, 50, 101, 152), "_vd", attention="eca", **D))
for _w, _s in ((26, 4), (14, 8), (26, 6), (26, 8), (48, 2)):
    _r = {"width": _w, "scale": _s}
    register("res2net", ResNet, _members("res2net", (50,), f"_{_w}w_{_s}s", **_r))
    register("res2net", ResNet, _members("res2net", (50,), f"_vd_{_w}w_{_s}s", **_r, **D))
for _n in (101, 152, 200):
    register("res2net", ResNet, _members("res2net", (_n,), "_26w_4s", width=26, scale=4))
    register("res2net", ResNet, _members("res2net", (_n,), "_vd_26w_4s", width=26, scale=4, **D))
register("res2net", ResNet, _members("res2next", (50,), width=4, groups=8, scale=4))
