"""LeViT (Graham et al., "LeViT: a vision transformer in ConvNet's clothing for faster inference", 2021)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import nn, to_tensor
from ...nn import functional as F
from ...nn.initializer import Constant
from .blocks import conv_bn
from .registry import register


class LinearNorm(nn.Layer):
    """A linear layer and batch normalisation of tokens."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias_attr=False)
        self.bn = nn.BatchNorm1D(outputs)

    def forward(self, x: Any) -> Any:
        x = self.linear(x)
        return self.bn(x.flatten(0, 1)).reshape(x.shape)


class Attention(nn.Layer):
    """Attention with a learnt bias for each distance; keys are narrower than values; `stride` thins out the queries."""

    def __init__(self, width: int, outputs: int, key: int, heads: int, ratio: int, edge: int, stride: int = 1):
        super().__init__()
        self.heads, self.key, self.value, self.edge, self.stride = heads, key, ratio * key, edge, stride
        self.biases = self.create_parameter([heads, edge * edge], default_initializer=Constant(0.0))
        if stride > 1:
            self.kv = LinearNorm(width, heads * (key + self.value))
            self.q = LinearNorm(width, heads * key)
        else:
            self.qkv = LinearNorm(width, heads * (2 * key + self.value))
        self.act = nn.Hardswish()
        self.proj = LinearNorm(heads * self.value, outputs)
        place = np.stack(np.meshgrid(np.arange(edge), np.arange(edge), indexing="ij"))
        few = place[:, ::stride, ::stride].reshape(2, -1)
        distance = np.abs(few[:, :, None] - place.reshape(2, -1)[:, None, :])
        self.places = distance.shape[1:]
        self.register_buffer("index", to_tensor((distance[0] * edge + distance[1]).ravel()), persistable=False)

    def forward(self, x: Any) -> Any:
        n, length = x.shape[:2]
        if self.stride > 1:
            k, v = self.kv(x).reshape([n, length, self.heads, -1]).split([self.key, self.value], axis=3)
            grid = x.reshape([n, self.edge, self.edge, -1])[:, :: self.stride, :: self.stride]
            q = self.q(grid.flatten(1, 2)).reshape([n, -1, self.heads, self.key])
        else:
            qkv = self.qkv(x).reshape([n, length, self.heads, -1])
            q, k, v = qkv.split([self.key, self.key, self.value], axis=3)
        q, k, v = q.transpose([0, 2, 1, 3]), k.transpose([0, 2, 3, 1]), v.transpose([0, 2, 1, 3])
        bias = self.biases.index_select(self.index, axis=1).reshape([1, self.heads, *self.places])
        weights = F.softmax(q @ k * self.key**-0.5 + bias, axis=-1)
        y = (weights @ v).transpose([0, 2, 1, 3]).flatten(2)
        return self.proj(self.act(y))


class Mlp(nn.Sequential):
    """Two normalised linear layers of twice the width between."""

    def __init__(self, width: int):
        super().__init__(LinearNorm(width, 2 * width), nn.Hardswish(), LinearNorm(2 * width, width))


class Skip(nn.Layer):
    """A layer beside a shortcut."""

    def __init__(self, layer: nn.Layer):
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return x + self.layer(x)


class NormLinear(nn.Sequential):
    """Batch normalisation and a linear layer."""

    def __init__(self, width: int, outputs: int):
        super().__init__(nn.BatchNorm1D(width), nn.Linear(width, outputs))


class LeViT(nn.Layer):
    """Convolutions, then attention on three sizes; two classifiers whose mean is the result.

    Args:
        widths, heads, depths: of the three stages.
        key: width of a key.
        img_size: edge of the picture.
        num_classes: outputs.
    """

    def __init__(
        self,
        widths: tuple[int, ...],
        heads: tuple[int, ...],
        depths: tuple[int, ...],
        key: int,
        img_size: int = 224,
        num_classes: int = 1000,
    ):
        super().__init__()
        act = nn.Hardswish
        first = widths[0]
        self.stem = nn.Sequential(
            conv_bn(3, first // 8, 3, 2, act=act),
            conv_bn(first // 8, first // 4, 3, 2, act=act),
            conv_bn(first // 4, first // 2, 3, 2, act=act),
            conv_bn(first // 2, first, 3, 2, act=None),
        )
        edge = img_size // 16
        layers: list[nn.Layer] = []
        for i, (width, h, depth) in enumerate(zip(widths, heads, depths)):
            if i > 0:
                before = widths[i - 1]
                layers.append(Attention(before, width, key, before // key, 4, edge, stride=2))
                layers.append(Skip(Mlp(width)))
                edge = (edge + 1) // 2
            for _ in range(depth):
                layers += [Skip(Attention(width, width, key, h, 2, edge)), Skip(Mlp(width))]
        self.layers = nn.Sequential(*layers)
        self.head = NormLinear(widths[-1], num_classes) if num_classes > 0 else None
        self.head_dist = NormLinear(widths[-1], num_classes) if num_classes > 0 else None

    def forward(self, x: Any) -> Any:
        x = self.layers(self.stem(x).flatten(2).transpose([0, 2, 1])).mean(1)
        return x if self.head is None else (self.head(x) + self.head_dist(x)) / 2


MEMBERS = {
    "levit_128s": ((128, 256, 384), (4, 6, 8), (2, 3, 4), 16),
    "levit_128": ((128, 256, 384), (4, 8, 12), (4, 4, 4), 16),
    "levit_192": ((192, 288, 384), (3, 5, 6), (4, 4, 4), 32),
    "levit_256": ((256, 384, 512), (4, 6, 8), (4, 4, 4), 32),
    "levit_384": ((384, 512, 768), (6, 9, 12), (4, 4, 4), 32),
}
register(
    "levit",
    LeViT,
    {n: {"widths": w, "heads": h, "depths": d, "key": k} for n, (w, h, d, k) in MEMBERS.items()},
)
