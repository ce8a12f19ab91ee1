"""Next-ViT (Li et al., "Next-ViT: next generation vision transformer for efficient deployment in realistic industrial
scenarios", 2022); keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn import functional as F
from .blocks import classifier, make_divisible, pool
from .registry import register

HEAD = 32


def conv_norm(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    """A convolution 3x3, batch normalisation and ReLU, under their names."""
    conv = nn.Conv2D(inputs, outputs, 3, stride, padding=1, bias_attr=False)
    return nn.Sequential(("conv", conv), ("norm", nn.BatchNorm2D(outputs)), ("act", nn.ReLU()))


def patches(inputs: int, outputs: int, stride: int = 1) -> nn.Layer:
    """Means of a smaller picture and another number of channels, as far as needed."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.Sequential(
        ("avgpool", nn.AvgPool2D(2, 2, ceil_mode=True) if stride == 2 else nn.Identity()),
        ("conv", nn.Conv2D(inputs, outputs, 1, bias_attr=False)),
        ("norm", nn.BatchNorm2D(outputs)),
    )


class ConvAttention(nn.Sequential):
    """A convolution by groups in the place of attention, and a projection."""

    def __init__(self, width: int):
        super().__init__(
            ("group_conv3x3", nn.Conv2D(width, width, 3, padding=1, groups=width // HEAD, bias_attr=False)),
            ("norm", nn.BatchNorm2D(width)),
            ("act", nn.ReLU()),
            ("projection", nn.Conv2D(width, width, 1, bias_attr=False)),
        )


class ConvMlp(nn.Sequential):
    """A small network of the channels."""

    def __init__(self, width: int, ratio: int):
        hidden = make_divisible(width * ratio, 32)
        super().__init__(
            ("conv1", nn.Conv2D(width, hidden, 1)), ("act", nn.ReLU()), ("conv2", nn.Conv2D(hidden, width, 1))
        )


class ConvBlock(nn.Layer):
    """A convolution and a small network, each beside a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        self.patch_embed = patches(inputs, width, stride)
        self.mhca = ConvAttention(width)
        self.norm = nn.BatchNorm2D(width)
        self.mlp = ConvMlp(width, 3)

    def forward(self, x: Any) -> Any:
        x = self.patch_embed(x)
        x = x + self.mhca(x)
        return x + self.mlp(self.norm(x))


class ReducedAttention(nn.Layer):
    """Attention of tokens whose keys and values come from means of `reduction` squared neighbours in their order."""

    def __init__(self, width: int, reduction: int):
        super().__init__()
        self.heads, self.reduction = width // HEAD, reduction
        for name in ("q", "k", "v", "proj"):
            setattr(self, name, nn.Linear(width, width))
        if reduction > 1:
            self.norm = nn.BatchNorm1D(width)

    def forward(self, x: Any) -> Any:
        n, _, width = x.shape
        few = x
        if self.reduction > 1:
            means = F.avg_pool1d(x.transpose([0, 2, 1]), self.reduction**2, self.reduction**2)
            few = self.norm(means).transpose([0, 2, 1])
        q, k, v = (
            proj(t).reshape([n, -1, self.heads, HEAD]) for proj, t in ((self.q, x), (self.k, few), (self.v, few))
        )
        return self.proj(F.scaled_dot_product_attention(q, k, v).reshape(x.shape))


class MixedBlock(nn.Layer):
    """Attention for three quarters of the channels, a convolution of the result for the rest, and a small network."""

    def __init__(self, inputs: int, width: int, stride: int, reduction: int):
        super().__init__()
        wide = make_divisible(int(width * 0.75), 32)
        self.patch_embed = patches(inputs, wide, stride)
        self.norm1 = nn.BatchNorm2D(wide)
        self.e_mhsa = ReducedAttention(wide, reduction)
        self.projection = patches(wide, width - wide)
        self.mhca = ConvAttention(width - wide)
        self.norm2 = nn.BatchNorm2D(width)
        self.mlp = ConvMlp(width, 2)

    def forward(self, x: Any) -> Any:
        x = self.patch_embed(x)
        tokens = self.e_mhsa(self.norm1(x).flatten(2).transpose([0, 2, 1]))
        x = x + tokens.transpose([0, 2, 1]).reshape(x.shape)
        y = self.projection(x)
        x = concat([x, y + self.mhca(y)], axis=1)
        return x + self.mlp(self.norm2(x))


class NextViT(nn.Layer):
    """A stem and four stages, whose last blocks mix convolution and attention.

    Args:
        depths: of the stages; the third in fives.
        num_classes: outputs.
    """

    def __init__(self, depths: tuple[int, ...], num_classes: int = 1000):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 64, 2), conv_norm(64, 32, 1), conv_norm(32, 64, 1), conv_norm(64, 64, 2))
        # of each block: width, and whether it has attention
        stages = (
            [(96, False)] * depths[0],
            [(192, False)] * (depths[1] - 1) + [(256, True)],
            ([(384, False)] * 4 + [(512, True)]) * (depths[2] // 5),
            [(768, False)] * (depths[3] - 1) + [(1024, True)],
        )
        layers: list[nn.Layer] = []
        inputs = 64
        for i, stage in enumerate(stages):
            for j, (width, mixed) in enumerate(stage):
                stride = 2 if i > 0 and j == 0 else 1
                layers.append(
                    MixedBlock(inputs, width, stride, (8, 4, 2, 1)[i]) if mixed else ConvBlock(inputs, width, stride)
                )
                inputs = width
        self.features = nn.Sequential(*layers)
        self.norm = nn.BatchNorm2D(inputs)
        self.proj_head = nn.Sequential(classifier(inputs, num_classes))

    def forward(self, x: Any) -> Any:
        return self.proj_head(pool(self.norm(self.features(self.stem(x)))))


for _name, _depth in {"small": 10, "base": 20, "large": 30}.items():
    register("nextvit", NextViT, {f"nextvit_{_name}_{_edge}": {"depths": (3, 4, _depth, 3)} for _edge in (224, 384)})
