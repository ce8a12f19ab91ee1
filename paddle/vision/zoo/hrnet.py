"""HRNet (Wang et al., "Deep high-resolution representation learning for visual recognition", 2019)."""

from __future__ import annotations

from typing import Any

from ... import nn
from .blocks import SqueezeExcite, classifier, conv_bn, pool
from .registry import register


class Basic(nn.Layer):
    """Two convolutions 3x3 beside a shortcut."""

    def __init__(self, inputs: int, planes: int, squeeze: bool):
        super().__init__()
        self.conv1 = conv_bn(inputs, planes, 3)
        self.conv2 = conv_bn(planes, planes, 3, act=None)
        self.se = SqueezeExcite(planes, planes // 16) if squeeze else nn.Identity()
        self.shortcut = nn.Identity() if inputs == planes else conv_bn(inputs, planes, act=None)
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.act(self.se(self.conv2(self.conv1(x))) + self.shortcut(x))


class Bottleneck(nn.Layer):
    """Convolutions 1x1, 3x3 and 1x1 beside a shortcut."""

    def __init__(self, inputs: int, planes: int, squeeze: bool):
        super().__init__()
        self.conv1 = conv_bn(inputs, planes)
        self.conv2 = conv_bn(planes, planes, 3)
        self.conv3 = conv_bn(planes, 4 * planes, act=None)
        self.se = SqueezeExcite(4 * planes, planes // 4) if squeeze else nn.Identity()
        self.shortcut = nn.Identity() if inputs == 4 * planes else conv_bn(inputs, 4 * planes, act=None)
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        return self.act(self.se(self.conv3(self.conv2(self.conv1(x)))) + self.shortcut(x))


def chain(block: Any, inputs: int, planes: int, count: int, squeeze: bool) -> nn.Sequential:
    """Blocks one after the other."""
    outputs = 4 * planes if block is Bottleneck else planes
    return nn.Sequential(*(block(inputs if i == 0 else outputs, planes, squeeze) for i in range(count)))


class Module(nn.Layer):
    """Blocks in each resolution, then the exchange between all resolutions."""

    def __init__(self, widths: tuple[int, ...], count: int, squeeze: bool):
        super().__init__()
        self.branches = nn.LayerList([chain(Basic, w, w, count, squeeze) for w in widths])
        self.fuse = nn.LayerList(
            [
                nn.LayerList([self._exchange(widths, source, target) for source in range(len(widths))])
                for target in range(len(widths))
            ]
        )
        self.act = nn.ReLU()

    @staticmethod
    def _exchange(widths: tuple[int, ...], source: int, target: int) -> nn.Layer:
        if source == target:
            return nn.Identity()
        if source > target:
            up = nn.Upsample(scale_factor=2 ** (source - target), mode="nearest")
            return nn.Sequential(conv_bn(widths[source], widths[target], act=None), up)
        steps = [conv_bn(widths[source], widths[source], 3, 2) for _ in range(target - source - 1)]
        return nn.Sequential(*steps, conv_bn(widths[source], widths[target], 3, 2, act=None))

    def forward(self, pictures: list[Any]) -> list[Any]:
        pictures = [branch(x) for branch, x in zip(self.branches, pictures)]
        fused = []
        for row in self.fuse:
            total = row[0](pictures[0])
            for exchange, x in zip(row[1:], pictures[1:]):
                total = total + exchange(x)
            fused.append(self.act(total))
        return fused


class HRNet(nn.Layer):
    """Up to four resolutions side by side.

    Args:
        width: of the highest resolution in stages 2 to 4; it doubles with each lower one.
        modules: of stages 2 to 4.
        blocks: of stages 1 to 4.
        planes: of the bottlenecks of stage 1.
        squeeze: squeeze and excitation in every block.
        num_classes: outputs.
    """

    def __init__(
        self,
        width: int | tuple[int, ...],
        modules: tuple[int, ...] = (1, 4, 3),
        blocks: tuple[int, ...] = (4, 4, 4, 4),
        planes: int = 64,
        squeeze: bool = False,
        num_classes: int = 1000,
    ):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 64, 3, 2), conv_bn(64, 64, 3, 2))
        self.layer1 = chain(Bottleneck, 64, planes, blocks[0], squeeze)
        self.stages = nn.LayerList()
        widths: tuple[int, ...] = (4 * planes,)
        for stage, (count, depth) in enumerate(zip(modules, blocks[1:]), 2):
            base = width if isinstance(width, int) else width[stage - 2]
            wanted = tuple(base * 2**i for i in range(stage))
            modules_here = nn.Sequential(*(Module(wanted, depth, squeeze) for _ in range(count)))
            self.stages.append(nn.LayerList([self._transition(widths, wanted), modules_here]))
            widths = wanted
        heads = (32, 64, 128, 256)
        self.expand = nn.LayerList([chain(Bottleneck, w, h, 1, squeeze) for w, h in zip(widths, heads)])
        self.down = nn.LayerList([self._with_bias(4 * a, 4 * b, 3, 2) for a, b in zip(heads, heads[1:])])
        self.last = self._with_bias(1024, 2048, 1, 1)
        self.head = classifier(2048, num_classes)

    @staticmethod
    def _with_bias(inputs: int, outputs: int, kernel: int, stride: int) -> nn.Layer:
        conv = nn.Conv2D(inputs, outputs, kernel, stride, padding=kernel // 2)
        return nn.Sequential(conv, nn.BatchNorm2D(outputs), nn.ReLU())

    @staticmethod
    def _transition(have: tuple[int, ...], want: tuple[int, ...]) -> nn.LayerList:
        layers: list[nn.Layer] = []
        for i, width in enumerate(want):
            if i < len(have):
                layers.append(nn.Identity() if have[i] == width else conv_bn(have[i], width, 3))
            else:
                layers.append(conv_bn(have[-1], width, 3, 2))
        return nn.LayerList(layers)

    def forward(self, x: Any) -> Any:
        pictures = [self.layer1(self.stem(x))]
        for transition, modules in self.stages:
            last = len(pictures) - 1
            pictures = modules([layer(pictures[min(i, last)]) for i, layer in enumerate(transition)])
        y = self.expand[0](pictures[0])
        for down, expand, picture in zip(self.down, self.expand[1:], pictures[1:]):
            y = expand(picture) + down(y)
        return self.head(pool(self.last(y)))


for _width in (18, 30, 32, 40, 44, 48, 60, 64):
    register("hrnet", HRNet, {f"hrnet_w{_width}": {"width": _width}})
    register("hrnet", HRNet, {f"se_hrnet_w{_width}": {"width": _width, "squeeze": True}})
register(
    "hrnet",
    HRNet,
    {
        "hrnet_w18_small": {"width": 16, "modules": (1, 1, 1), "blocks": (1, 2, 2, 2), "planes": 32},
        "hrnet_w18_small_v2": {"width": 18, "modules": (1, 3, 2), "blocks": (2, 2, 2, 2)},
    },
)
