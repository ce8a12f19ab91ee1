"""FasterNet (Chen et al., "Run, don't walk: chasing higher FLOPS for faster neural networks", 2023); keys of the
weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from .blocks import classifier
from .registry import register


class PartialConv(nn.Layer):
    """A convolution 3x3 of the first quarter of the channels."""

    def __init__(self, width: int):
        super().__init__()
        self.width = width // 4
        self.partial_conv3 = nn.Conv2D(self.width, self.width, 3, padding=1, bias_attr=False)

    def forward(self, x: Any) -> Any:
        return concat([self.partial_conv3(x[:, : self.width]), x[:, self.width :]], axis=1)


class Block(nn.Layer):
    """A partial convolution and a small network, beside a shortcut."""

    def __init__(self, width: int, act: Any):
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Conv2D(width, 2 * width, 1, bias_attr=False),
            nn.BatchNorm2D(2 * width),
            act(),
            nn.Conv2D(2 * width, width, 1, bias_attr=False),
        )
        self.spatial_mixing = PartialConv(width)

    def forward(self, x: Any) -> Any:
        return x + self.mlp(self.spatial_mixing(x))


def _patches(name: str, inputs: int, outputs: int, edge: int) -> nn.Sequential:
    return nn.Sequential(
        (name, nn.Conv2D(inputs, outputs, edge, edge, bias_attr=False)), ("norm", nn.BatchNorm2D(outputs))
    )


class FasterNet(nn.Layer):
    """Four stages; `width` is the channels of the first, which double, `depths` their blocks."""

    def __init__(self, width: int, depths: tuple[int, ...], act: Any = nn.ReLU, num_classes: int = 1000):
        super().__init__()
        self.patch_embed = _patches("proj", 3, width, 4)
        layers: list[nn.Layer] = []
        for i, depth in enumerate(depths):
            if i > 0:
                layers.append(_patches("reduction", width, 2 * width, 2))
                width *= 2
            layers.append(nn.Sequential(("blocks", nn.Sequential(*(Block(width, act) for _ in range(depth))))))
        self.stages = nn.Sequential(*layers)
        self.avgpool_pre_head = nn.Sequential(
            nn.AdaptiveAvgPool2D(1), nn.Conv2D(width, 1280, 1, bias_attr=False), act()
        )
        self.head = classifier(1280, num_classes)

    def forward(self, x: Any) -> Any:
        return self.head(self.avgpool_pre_head(self.stages(self.patch_embed(x))).flatten(1))


SIZES = {
    "t0": (40, (1, 2, 8, 2)),
    "t1": (64, (1, 2, 8, 2)),
    "t2": (96, (1, 2, 8, 2)),
    "s": (128, (1, 2, 13, 2)),
    "m": (144, (3, 4, 18, 3)),
    "l": (192, (3, 4, 18, 3)),
}
register(
    "fasternet",
    FasterNet,
    {
        f"fasternet_{n}": {"width": w, "depths": depths, **({"act": nn.GELU} if n in ("t0", "t1") else {})}
        for n, (w, depths) in SIZES.items()
    },
)
