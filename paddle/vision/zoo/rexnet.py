"""ReXNet (Han et al., "Rethinking channel dimensions for efficient model design", 2020); keys of the weights as in
PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from .registry import register


def _conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Layer]:
    conv = nn.Conv2D(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias_attr=False)
    return [conv, nn.BatchNorm2D(outputs)]


class SqueezeExcite(nn.Layer):
    """Squeeze and excitation with a normalisation inside."""

    def __init__(self, width: int):
        super().__init__()
        self.fc = nn.Sequential(
            nn.Conv2D(width, width // 12, 1),
            nn.BatchNorm2D(width // 12),
            nn.ReLU(),
            nn.Conv2D(width // 12, width, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: Any) -> Any:
        return x * self.fc(x.mean([2, 3], keepdim=True))


class Bottleneck(nn.Layer):
    """Wider, by each channel, narrower; the input is added to the first channels."""

    def __init__(self, inputs: int, outputs: int, expand: int, stride: int, squeeze: bool):
        super().__init__()
        hidden = inputs * expand
        layers = [*_conv(inputs, hidden), nn.Silu()] if expand > 1 else []
        layers += _conv(hidden, hidden, 3, stride, hidden)
        layers += [SqueezeExcite(hidden), nn.ReLU6()] if squeeze else [nn.ReLU6()]
        self.out = nn.Sequential(*layers, *_conv(hidden, outputs))
        self.inputs = inputs if stride == 1 and inputs <= outputs else 0

    def forward(self, x: Any) -> Any:
        y = self.out(x)
        if not self.inputs:
            return y
        return concat([y[:, : self.inputs] + x, y[:, self.inputs :]], axis=1)


class ReXNet(nn.Layer):
    """Blocks whose widths grow evenly; `width` is a factor of all channels."""

    def __init__(self, width: float = 1.0, num_classes: int = 1000):
        super().__init__()
        depths, strides = (1, 2, 2, 3, 3, 5), (1, 2, 2, 2, 1, 2)
        total, block = sum(depths), 0
        inputs = round(32 * width)
        layers: list[nn.Layer] = [*_conv(3, inputs, 3, 2), nn.Silu()]
        for stage, (depth, stride) in enumerate(zip(depths, strides)):
            for i in range(depth):
                outputs = round((16 + 180 / total * block) * width)
                expand = 1 if block == 0 else 6
                layers.append(Bottleneck(inputs, outputs, expand, stride if i == 0 else 1, stage > 1))
                inputs, block = outputs, block + 1
        last = int(1280 * width)
        self.features = nn.Sequential(*layers, *_conv(inputs, last), nn.Silu(), nn.AdaptiveAvgPool2D(1))
        head = nn.Conv2D(last, num_classes, 1) if num_classes > 0 else nn.Identity()
        self.output = nn.Sequential(nn.Dropout(0.2), head)

    def forward(self, x: Any) -> Any:
        return self.output(self.features(x)).flatten(1)


register(
    "rexnet", ReXNet, {f"rexnet_{n}": {"width": float(n.replace("_", "."))} for n in "1_0 1_3 1_5 2_0 3_0".split()}
)
