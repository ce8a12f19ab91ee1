"""Deep layer aggregation (Yu et al., "Deep layer aggregation", 2017); keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn import functional as F
from .blocks import conv_bn
from .registry import register


class Block(nn.Layer):
    """Convolutions beside a shortcut that the caller gives: two 3x3, or 1x1, 3x3 and 1x1 with half the width.

    Args:
        inputs, outputs: channels.
        stride: of the first convolution 3x3.
        basic: two convolutions.
        groups, width: of the bottleneck.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, basic: bool, groups: int = 1, width: int = 64):
        super().__init__()
        middle = outputs if basic else int(outputs * (width / 64)) * groups // 2
        if basic:
            rows = [(inputs, outputs, 3, stride, 1), (outputs, outputs, 3, 1, 1)]
        else:
            rows = [(inputs, middle, 1, 1, 1), (middle, middle, 3, stride, groups), (middle, outputs, 1, 1, 1)]
        for i, (a, b, kernel, step, parts) in enumerate(rows, 1):
            conv = nn.Conv2D(a, b, kernel, step, kernel // 2, groups=parts, bias_attr=False)
            self.add_sublayer(f"conv{i}", conv)
            self.add_sublayer(f"bn{i}", nn.BatchNorm2D(b))
        self.basic = basic

    def forward(self, x: Any, shortcut: Any) -> Any:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        y = y if self.basic else self.bn3(self.conv3(F.relu(y)))
        return F.relu(y + shortcut)


class Root(nn.Layer):
    """Aggregates several pictures; beside a shortcut from the first where `residual`."""

    def __init__(self, inputs: int, outputs: int, residual: bool):
        super().__init__()
        self.conv = nn.Conv2D(inputs, outputs, 1, bias_attr=False)
        self.bn = nn.BatchNorm2D(outputs)
        self.residual = residual

    def forward(self, pictures: list[Any]) -> Any:
        x = self.bn(self.conv(concat(pictures, axis=1)))
        return F.relu(x + pictures[0] if self.residual else x)


class Tree(nn.Layer):
    """A tree of blocks: two subtrees, the last of which aggregates what the others have found."""

    def __init__(
        self,
        levels: int,
        inputs: int,
        outputs: int,
        stride: int,
        root: bool,
        residual: bool,
        extra: int = 0,
        **options: Any,
    ):
        super().__init__()
        extra = extra or 2 * outputs
        if root:
            extra += inputs
        self.levels, self.rooted = levels, root
        self.downsample = nn.MaxPool2D(stride, stride) if stride > 1 else nn.Identity()
        self.project = nn.Identity()
        if levels == 1:
            self.tree1 = Block(inputs, outputs, stride, **options)
            self.tree2 = Block(outputs, outputs, 1, **options)
            if inputs != outputs:
                self.project = conv_bn(inputs, outputs, act=None)
            self.root = Root(extra, outputs, residual)
        else:
            self.tree1 = Tree(levels - 1, inputs, outputs, stride, False, residual, **options)
            self.tree2 = Tree(levels - 1, outputs, outputs, 1, False, residual, extra + outputs, **options)

    def forward(self, x: Any, children: list[Any] | None = None) -> Any:
        children = list(children or [])
        bottom = self.downsample(x)
        if self.rooted:
            children.append(bottom)
        if self.levels == 1:
            first = self.tree1(x, self.project(bottom))
            second = self.tree2(first, first)
            return self.root([second, first, *children])
        first = self.tree1(x)
        return self.tree2(first, [*children, first])


class DLA(nn.Layer):
    """Six levels, four of them trees.

    Args:
        levels: convolutions of the first two, depths of the trees.
        widths: of the levels.
        basic: blocks of two convolutions in place of bottlenecks.
        groups, width: of the bottlenecks.
        residual: shortcuts at the roots.
        num_classes: outputs.
    """

    def __init__(
        self,
        levels: tuple[int, ...],
        widths: tuple[int, ...],
        basic: bool = False,
        groups: int = 1,
        width: int = 64,
        residual: bool = False,
        num_classes: int = 1000,
    ):
        super().__init__()
        self.base_layer = conv_bn(3, widths[0], 7)
        inputs = widths[0]
        for i in (0, 1):
            layers: list[nn.Layer] = []
            for j in range(levels[i]):
                layers += conv_bn(inputs, widths[i], 3, 2 if i == 1 and j == 0 else 1).children()
                inputs = widths[i]
            self.add_sublayer(f"level{i}", nn.Sequential(*layers))
        options = {"basic": basic, "groups": groups, "width": width}
        for i in range(2, 6):
            tree = Tree(levels[i], widths[i - 1], widths[i], 2, i > 2, residual, **options)
            self.add_sublayer(f"level{i}", tree)
        self.fc = nn.Conv2D(widths[-1], num_classes, 1) if num_classes > 0 else nn.Identity()

    def forward(self, x: Any) -> Any:
        x = self.level2(self.level1(self.level0(self.base_layer(x))))
        x = self.level5(self.level4(self.level3(x)))
        return self.fc(x.mean([2, 3], keepdim=True)).flatten(1)


_SMALL = (16, 32, 64, 64, 128, 256)
_LARGE = (16, 32, 128, 256, 512, 1024)
_X = {"groups": 32, "width": 4}
_RESIDUAL = {"residual": True}
MEMBERS: dict[str, tuple] = {
    "dla34": ((1, 1, 1, 2, 2, 1), (16, 32, 64, 128, 256, 512), {"basic": True}),
    "dla46_c": ((1, 1, 1, 2, 2, 1), _SMALL, {}),
    "dla46x_c": ((1, 1, 1, 2, 2, 1), _SMALL, _X),
    "dla60": ((1, 1, 1, 2, 3, 1), _LARGE, {}),
    "dla60x": ((1, 1, 1, 2, 3, 1), _LARGE, _X),
    "dla60x_c": ((1, 1, 1, 2, 3, 1), _SMALL, _X),
    "dla102": ((1, 1, 1, 3, 4, 1), _LARGE, _RESIDUAL),
    "dla102x": ((1, 1, 1, 3, 4, 1), _LARGE, {**_X, **_RESIDUAL}),
    "dla102x2": ((1, 1, 1, 3, 4, 1), _LARGE, {"groups": 64, "width": 4, **_RESIDUAL}),
    "dla169": ((1, 1, 2, 3, 5, 1), _LARGE, _RESIDUAL),
}
register("dla", DLA, {n: {"levels": levels, "widths": widths, **o} for n, (levels, widths, o) in MEMBERS.items()})
