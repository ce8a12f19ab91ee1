"""EfficientFormer (Li et al., "EfficientFormer: vision transformers at MobileNet speed", 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import nn, to_tensor
from ...nn import functional as F
from ...nn.initializer import Constant
from .blocks import Mlp, Scale, classifier
from .metaformer import Pooling
from .registry import register


class Attention(nn.Layer):
    """Attention of eight heads with a learnt bias for each distance; values are four times as wide as keys."""

    def __init__(self, width: int, edge: int):
        super().__init__()
        self.attention_biases = self.create_parameter([8, edge * edge], default_initializer=Constant(0.0))
        place = np.stack(np.meshgrid(np.arange(edge), np.arange(edge), indexing="ij")).reshape(2, -1)
        distance = np.abs(place[:, :, None] - place[:, None, :])
        self.register_buffer("attention_bias_idxs", to_tensor(distance[0] * edge + distance[1]))
        self.qkv = nn.Linear(width, 8 * (32 + 32 + 128))
        self.proj = nn.Linear(8 * 128, width)

    def forward(self, x: Any) -> Any:
        n, length, _ = x.shape
        q, k, v = self.qkv(x).reshape([n, length, 8, -1]).transpose([0, 2, 1, 3]).split([32, 32, 128], axis=3)
        bias = self.attention_biases.index_select(self.attention_bias_idxs.flatten(), axis=1)
        scores = q @ k.transpose([0, 1, 3, 2]) * 32**-0.5 + bias.reshape([8, length, length])
        return self.proj((F.softmax(scores, axis=-1) @ v).transpose([0, 2, 1, 3]).flatten(2))


class TokenBlock(nn.Layer):
    """Attention and a small network, each with learnt factors and beside a shortcut."""

    def __init__(self, width: int, edge: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.token_mixer = Attention(width, edge)
        self.ls1 = Scale(width, 1e-5)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, 4 * width)
        self.ls2 = Scale(width, 1e-5)

    def forward(self, x: Any) -> Any:
        x = x + self.ls1(self.token_mixer(self.norm1(x)))
        return x + self.ls2(self.mlp(self.norm2(x)))


class PictureBlock(nn.Layer):
    """Pooling and a normalised small network, each with learnt factors and beside a shortcut."""

    def __init__(self, width: int):
        super().__init__()
        self.token_mixer = Pooling(width)
        self.ls1 = Scale(width, 1e-5, pictures=True)
        self.mlp = nn.Sequential(
            ("fc1", nn.Conv2D(width, 4 * width, 1)),
            ("norm1", nn.BatchNorm2D(4 * width)),
            ("act", nn.GELU()),
            ("fc2", nn.Conv2D(4 * width, width, 1)),
            ("norm2", nn.BatchNorm2D(width)),
        )
        self.ls2 = Scale(width, 1e-5, pictures=True)

    def forward(self, x: Any) -> Any:
        x = x + self.ls1(self.token_mixer(x))
        return x + self.ls2(self.mlp(x))


class Tokens(nn.Layer):
    """A picture [N, C, H, W] as tokens [N, H W, C]."""

    def forward(self, x: Any) -> Any:
        return x.flatten(2).transpose([0, 2, 1])


class Stage(nn.Layer):
    """A smaller picture, except in the first stage, and blocks, the last of them with attention."""

    def __init__(self, inputs: int, width: int, depth: int, attentions: int, edge: int):
        super().__init__()
        self.downsample = nn.Identity()
        if inputs != width:
            conv = nn.Conv2D(inputs, width, 3, 2, padding=1)
            self.downsample = nn.Sequential(("conv", conv), ("norm", nn.BatchNorm2D(width)))
        blocks: list[nn.Layer] = [PictureBlock(width) for _ in range(depth - attentions)]
        if attentions:
            blocks += [Tokens(), *(TokenBlock(width, edge) for _ in range(attentions))]
        self.blocks = nn.Sequential(*blocks)

    def forward(self, x: Any) -> Any:
        return self.blocks(self.downsample(x))


class EfficientFormer(nn.Layer):
    """Four stages; two classifiers whose mean is the result.

    Args:
        widths, depths: of the stages.
        attentions: blocks with attention.
        img_size: edge of the picture.
        num_classes: outputs.
    """

    def __init__(
        self,
        widths: tuple[int, ...],
        depths: tuple[int, ...],
        attentions: int,
        img_size: int = 224,
        num_classes: int = 1000,
    ):
        super().__init__()
        first, last = widths[0], widths[-1]
        self.stem = nn.Sequential(
            ("conv1", nn.Conv2D(3, first // 2, 3, 2, padding=1)),
            ("norm1", nn.BatchNorm2D(first // 2)),
            ("act1", nn.ReLU()),
            ("conv2", nn.Conv2D(first // 2, first, 3, 2, padding=1)),
            ("norm2", nn.BatchNorm2D(first)),
            ("act2", nn.ReLU()),
        )
        edge = img_size // 32
        rows = zip((first, *widths), widths, depths, (0, 0, 0, attentions))
        self.stages = nn.Sequential(*(Stage(*row, edge) for row in rows))
        self.norm = nn.LayerNorm(last)
        self.head = classifier(last, num_classes)
        self.head_dist = classifier(last, num_classes)

    def forward(self, x: Any) -> Any:
        x = self.norm(self.stages(self.stem(x))).mean(1)
        return (self.head(x) + self.head_dist(x)) / 2


register(
    "efficientformer",
    EfficientFormer,
    {
        "efficientformer_l1": {"widths": (48, 96, 224, 448), "depths": (3, 2, 6, 4), "attentions": 1},
        "efficientformer_l3": {"widths": (64, 128, 320, 512), "depths": (4, 4, 12, 6), "attentions": 4},
        "efficientformer_l7": {"widths": (96, 192, 384, 768), "depths": (6, 6, 18, 8), "attentions": 8},
    },
)
