"""HRNet (Wang et al., "Deep high-resolution representation learning for visual recognition", 2019); keys of the
weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any

from ... import nn
from ...nn import functional as F
from . import blocks
from .blocks import classifier, pool
from .registry import register

conv_bn = functools.partial(blocks.conv_bn, names=("conv", "bn"))


class SqueezeExcite(nn.Layer):
    """Squeeze and excitation by linear layers."""

    def __init__(self, width: int):
        super().__init__()
        self.fc_squeeze = nn.Linear(width, width // 16)
        self.fc_excitation = nn.Linear(width // 16, width)

    def forward(self, x: Any) -> Any:
        return x * F.sigmoid(self.fc_excitation(F.relu(self.fc_squeeze(x.mean([2, 3]))))).unsqueeze([2, 3])


class Basic(nn.Layer):
    """Two convolutions 3x3 beside a shortcut."""

    def __init__(self, width: int, squeeze: bool):
        super().__init__()
        self.conv1 = conv_bn(width, width, 3)
        self.conv2 = conv_bn(width, width, 3, act=None)
        self.se = SqueezeExcite(width) if squeeze else nn.Identity()

    def forward(self, x: Any) -> Any:
        return F.relu(self.se(self.conv2(self.conv1(x))) + x)


class Bottleneck(nn.Layer):
    """Convolutions 1x1, 3x3 and 1x1 beside a shortcut, which has a convolution where the shape changes."""

    def __init__(self, inputs: int, planes: int, squeeze: bool):
        super().__init__()
        self.conv1 = conv_bn(inputs, planes)
        self.conv2 = conv_bn(planes, planes, 3)
        self.conv3 = conv_bn(planes, 4 * planes, act=None)
        self.conv_down = nn.Identity() if inputs == 4 * planes else conv_bn(inputs, 4 * planes, act=None)
        self.se = SqueezeExcite(4 * planes) if squeeze else nn.Identity()

    def forward(self, x: Any) -> Any:
        return F.relu(self.se(self.conv3(self.conv2(self.conv1(x)))) + self.conv_down(x))


class Fuse(nn.Layer):
    """The exchange between all resolutions."""

    def __init__(self, widths: tuple[int, ...]):
        super().__init__()
        self.count = len(widths)
        self.residual_func_list = nn.LayerList()
        for target, outputs in enumerate(widths):
            for source, inputs in enumerate(widths):
                if source > target:
                    self.residual_func_list.append(conv_bn(inputs, outputs, act=None))
                for _ in range(target - source - 1):
                    self.residual_func_list.append(conv_bn(inputs, inputs, 3, 2))
                if source < target:
                    self.residual_func_list.append(conv_bn(inputs, outputs, 3, 2, act=None))

    def forward(self, pictures: list[Any]) -> list[Any]:
        layers = iter(self.residual_func_list)
        fused = []
        for target in range(self.count):
            total = pictures[target]
            for source in range(self.count):
                y = pictures[source]
                for _ in range(max(target - source, 0)):
                    y = next(layers)(y)
                if source > target:
                    y = F.interpolate(next(layers)(y), scale_factor=2 ** (source - target), mode="nearest")
                total = total if source == target else total + y
            fused.append(F.relu(total))
        return fused


class Module(nn.Layer):
    """Blocks in each resolution, then the exchange."""

    def __init__(self, widths: tuple[int, ...], count: int, squeeze: bool):
        super().__init__()
        chains = [nn.Sequential(*(Basic(width, squeeze) for _ in range(count))) for width in widths]
        self.basic_block_list = nn.LayerList(chains)
        self.fuse_func = Fuse(widths)

    def forward(self, pictures: list[Any]) -> list[Any]:
        return self.fuse_func([chain(x) for chain, x in zip(self.basic_block_list, pictures)])


class HRNet(nn.Layer):
    """Up to four resolutions side by side.

    Args:
        width: of the highest resolution in stages 2 to 4; it doubles with each lower one.
        modules: of stages 2 to 4.
        depths: blocks of stages 1 to 4.
        planes: of the bottlenecks of stage 1.
        squeeze: squeeze and excitation in every block.
        bias: the convolutions before the classifier have one.
        num_classes: outputs.
    """

    def __init__(
        self,
        width: int,
        modules: tuple[int, ...] = (1, 4, 3),
        depths: tuple[int, ...] = (4, 4, 4, 4),
        planes: int = 64,
        squeeze: bool = False,
        bias: bool = True,
        num_classes: int = 1000,
    ):
        super().__init__()
        self.conv_layer1_1 = conv_bn(3, 64, 3, 2)
        self.conv_layer1_2 = conv_bn(64, 64, 3, 2)
        first = [Bottleneck(4 * planes if i else 64, planes, squeeze) for i in range(depths[0])]
        self.layer1 = nn.Sequential(*first)
        self.conv_tr1_1 = conv_bn(4 * planes, width, 3)
        self.conv_tr1_2 = conv_bn(4 * planes, 2 * width, 3, 2)
        widths: tuple[int, ...] = (width, 2 * width)
        for stage, (count, depth) in enumerate(zip(modules, depths[1:]), 2):
            chain = nn.Sequential(*(Module(widths, depth, squeeze) for _ in range(count)))
            self.add_sublayer(f"st{stage}", nn.Sequential(("stage_func_list", chain)))
            if stage < 4:
                self.add_sublayer(f"conv_tr{stage}", conv_bn(widths[-1], 2 * widths[-1], 3, 2))
                widths = (*widths, 2 * widths[-1])
        heads = (32, 64, 128, 256)
        heads_here = [Bottleneck(w, h, squeeze) for w, h in zip(widths, heads)]
        self.last_cls = nn.Sequential(("func_list", nn.LayerList(heads_here)))
        down = [conv_bn(4 * a, 4 * b, 3, 2, bias=bias) for a, b in zip(heads, heads[1:])]
        self.cls_head_conv_list = nn.LayerList(down)
        self.conv_last = conv_bn(1024, 2048, bias=bias)
        self.fc = classifier(2048, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.layer1(self.conv_layer1_2(self.conv_layer1_1(x)))
        pictures = self.st2([self.conv_tr1_1(x), self.conv_tr1_2(x)])
        pictures = self.st3([*pictures, self.conv_tr2(pictures[-1])])
        pictures = self.st4([*pictures, self.conv_tr3(pictures[-1])])
        pictures = [layer(y) for layer, y in zip(self.last_cls.func_list, pictures)]
        y = pictures[0]
        for down, picture in zip(self.cls_head_conv_list, pictures[1:]):
            y = picture + down(y)
        return self.fc(pool(self.conv_last(y)))


for _width in (18, 30, 32, 40, 44, 48, 60, 64):
    _se = {"width": _width, "squeeze": True}
    register("hrnet", HRNet, {f"hrnet_w{_width}": {"width": _width}, f"se_hrnet_w{_width}": _se})
    register("hrnet", HRNet, {f"hrnet_w{_width}_c": {"width": _width, "bias": False}})
    register("hrnet", HRNet, {f"se_hrnet_w{_width}_c": {**_se, "bias": False}})
register(
    "hrnet",
    HRNet,
    {
        "hrnet_w18_small": {"width": 16, "modules": (1, 1, 1), "depths": (1, 2, 2, 2), "planes": 32},
        "hrnet_w18_small_v2": {"width": 18, "modules": (1, 3, 2), "depths": (2, 2, 2, 2)},
    },
)
