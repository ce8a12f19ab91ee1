"""SVTR (Du et al., "SVTR: scene text recognition with a single visual model", 2022), for lines of text; keys of the weights
as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...engine import errors
from .blocks import Attention, Mlp, classifier, token
from .registry import register


class LocalMixer(nn.Layer):
    """A convolution 5x5 by groups of channels, in the place of attention."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.local_mixer = nn.Conv2D(width, width, 5, padding=2, groups=heads)

    def forward(self, x: Any, height: int, width: int) -> Any:
        image = x.transpose([0, 2, 1]).reshape([x.shape[0], -1, height, width])
        return self.local_mixer(image).flatten(2).transpose([0, 2, 1])


class Block(nn.Layer):
    """A mixer of the places and a small network, each beside a shortcut and normalised after it."""

    def __init__(self, width: int, heads: int, local: bool):
        super().__init__()
        self.local = local
        self.norm1 = nn.LayerNorm(width, epsilon=1e-6)
        self.mixer = LocalMixer(width, heads) if local else Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, epsilon=1e-6)
        self.mlp = Mlp(width, 4 * width)

    def forward(self, x: Any, height: int, width: int) -> Any:
        x = self.norm1(x + (self.mixer(x, height, width) if self.local else self.mixer(x)))
        return self.norm2(x + self.mlp(x))


class Lower(nn.Layer):
    """A convolution that halves the height, and normalisation."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.conv = nn.Conv2D(inputs, outputs, 3, stride=[2, 1], padding=1)
        self.norm = nn.LayerNorm(outputs)

    def forward(self, x: Any, height: int, width: int) -> tuple[Any, int, int]:
        x = self.conv(x.transpose([0, 2, 1]).reshape([x.shape[0], -1, height, width]))
        return self.norm(x.flatten(2).transpose([0, 2, 1])), x.shape[2], x.shape[3]


def half(inputs: int, outputs: int) -> nn.Sequential:
    """A convolution with a stride, batch normalisation and GELU, under their names."""
    conv = nn.Conv2D(inputs, outputs, 3, 2, padding=1)
    return nn.Sequential(("conv", conv), ("norm", nn.BatchNorm2D(outputs)), ("act", nn.GELU()))


class SVTR(nn.Layer):
    """Three stages, whose height halves; the mean of all places is the result.

    Args:
        widths, depths, heads: of the stages.
        local: number of blocks with convolutions; the rest has attention.
        img_size: height and width of the picture.
        num_classes: outputs.
    """

    def __init__(
        self,
        widths: tuple[int, ...],
        depths: tuple[int, ...],
        heads: tuple[int, ...],
        local: int,
        img_size: tuple[int, int] = (48, 320),
        num_classes: int = 1000,
    ):
        super().__init__()
        self.img_size = tuple(img_size)
        count = (img_size[0] // 4) * (img_size[1] // 4)
        self.pos_embed = token(self, 1, count, widths[0])
        self.patch_embed = nn.Sequential(
            ("proj", nn.Sequential(half(3, widths[0] // 2), half(widths[0] // 2, widths[0])))
        )
        done = 0
        for i, (width, depth, h) in enumerate(zip(widths, depths, heads), 1):
            blocks = [Block(width, h, done + j < local) for j in range(depth)]
            setattr(self, f"blocks{i}", nn.LayerList(blocks))
            if i < 3:
                setattr(self, f"sub_sample{i}", Lower(width, widths[i]))
            done += depth
        self.fc = classifier(widths[-1], num_classes)

    def forward(self, x: Any) -> Any:
        if tuple(x.shape[2:]) != self.img_size:
            raise errors.ValueError_(f"SVTR: x, got a picture of {x.shape[2:]}, of img_size {list(self.img_size)}")
        x = self.patch_embed(x)
        height, width = x.shape[2:]
        x = x.flatten(2).transpose([0, 2, 1]) + self.pos_embed
        for i in (1, 2, 3):
            for block in getattr(self, f"blocks{i}"):
                x = block(x, height, width)
            if i < 3:
                x, height, width = getattr(self, f"sub_sample{i}")(x, height, width)
        return self.fc(x.mean(1))


register(
    "svtr",
    SVTR,
    {
        "svtr_tiny": {"widths": (64, 128, 256), "depths": (3, 6, 3), "heads": (2, 4, 8), "local": 6},
        "svtr_base": {"widths": (128, 256, 384), "depths": (6, 6, 6), "heads": (4, 8, 12), "local": 9},
        "svtr_large": {"widths": (192, 256, 512), "depths": (6, 6, 9), "heads": (6, 8, 16), "local": 9},
    },
)
