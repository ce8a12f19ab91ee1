"""Deep layer aggregation (Yu et al., "Deep layer aggregation", 2017)."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from .blocks import classifier, conv_bn, pool
from .registry import register


class Basic(nn.Layer):
    """Two convolutions 3x3 beside a shortcut that the caller gives."""

    def __init__(self, inputs: int, outputs: int, stride: int, **_: Any):
        super().__init__()
        self.conv1 = conv_bn(inputs, outputs, 3, stride)
        self.conv2 = conv_bn(outputs, outputs, 3, act=None)
        self.act = nn.ReLU()

    def forward(self, x: Any, shortcut: Any) -> Any:
        return self.act(self.conv2(self.conv1(x)) + shortcut)


class Bottleneck(nn.Layer):
    """Convolutions 1x1, 3x3 and 1x1 beside a shortcut that the caller gives; half the width in the middle."""

    def __init__(self, inputs: int, outputs: int, stride: int, groups: int = 1, width: int = 64):
        super().__init__()
        middle = int(outputs * (width / 64)) * groups // 2
        self.conv1 = conv_bn(inputs, middle)
        self.conv2 = conv_bn(middle, middle, 3, stride, groups)
        self.conv3 = conv_bn(middle, outputs, act=None)
        self.act = nn.ReLU()

    def forward(self, x: Any, shortcut: Any) -> Any:
        return self.act(self.conv3(self.conv2(self.conv1(x))) + shortcut)


class Root(nn.Layer):
    """Aggregates several pictures; beside a shortcut from the first where `residual`."""

    def __init__(self, inputs: int, outputs: int, residual: bool):
        super().__init__()
        self.conv = conv_bn(inputs, outputs, act=None)
        self.act = nn.ReLU()
        self.residual = residual

    def forward(self, pictures: list[Any]) -> Any:
        x = self.conv(concat(pictures, axis=1))
        return self.act(x + pictures[0] if self.residual else x)


class Tree(nn.Layer):
    """A tree of blocks: two subtrees, the last of which aggregates what the others have found."""

    def __init__(
        self,
        levels: int,
        block: Any,
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
        self.levels, self.root = levels, root
        self.downsample = nn.MaxPool2D(stride, stride) if stride > 1 else nn.Identity()
        self.project = nn.Identity()
        if levels == 1:
            self.tree1 = block(inputs, outputs, stride, **options)
            self.tree2 = block(outputs, outputs, 1, **options)
            if inputs != outputs:
                self.project = conv_bn(inputs, outputs, act=None)
            self.aggregate = Root(extra, outputs, residual)
        else:
            self.tree1 = Tree(levels - 1, block, inputs, outputs, stride, False, residual, **options)
            self.tree2 = Tree(levels - 1, block, outputs, outputs, 1, False, residual, extra + outputs, **options)

    def forward(self, x: Any, children: list[Any] | None = None) -> Any:
        children = list(children or [])
        bottom = self.downsample(x)
        if self.root:
            children.append(bottom)
        if self.levels == 1:
            first = self.tree1(x, self.project(bottom))
            second = self.tree2(first, first)
            return self.aggregate([second, first, *children])
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
        block = Basic if basic else Bottleneck
        self.stem = conv_bn(3, widths[0], 7)
        layers: list[nn.Layer] = []
        inputs = widths[0]
        for i in (0, 1):
            for j in range(levels[i]):
                layers.append(conv_bn(inputs, widths[i], 3, 2 if i == 1 and j == 0 else 1))
                inputs = widths[i]
        for i in range(2, 6):
            options = {"groups": groups, "width": width}
            layers.append(Tree(levels[i], block, widths[i - 1], widths[i], 2, i > 2, residual, **options))
        self.levels = nn.Sequential(*layers)
        self.head = classifier(widths[-1], num_classes)

    def forward(self, x: Any) -> Any:
        return self.head(pool(self.levels(self.stem(x))))


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
