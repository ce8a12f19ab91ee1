"""DSNet (Mao et al., "Dual-stream network for visual recognition", 2021); keys of the weights as in PaddleClas."""

from __future__ import annotations

from typing import Any

from ... import concat, nn
from ...nn import functional as F
from .blocks import ConvMlp, Pyramid
from .registry import register


class Block(nn.Layer):
    """Half of the channels by a convolution, half by attention in a smaller picture; then each asks the other.

    Args:
        width, heads: of the picture.
        reduction: how many times smaller the picture for attention is.
    """

    def __init__(self, width: int, heads: int, reduction: int):
        super().__init__()
        half = width // 2
        self.half, self.heads, self.reduction = half, heads, reduction
        self.pos_embed = nn.Conv2D(width, width, 3, padding=1, groups=width)
        self.norm1 = nn.BatchNorm2D(width)
        self.conv1 = nn.Conv2D(width, width, 1)
        self.conv2 = nn.Conv2D(width, width, 1)
        self.norm_conv1 = nn.BatchNorm2D(half)
        self.norm_sa1 = nn.LayerNorm(half)
        self.conv = nn.Conv2D(half, half, 3, padding=1, groups=half)
        self.channel_up = nn.Linear(half, 3 * half)
        self.cross_channel_up_conv = nn.Conv2D(half, 3 * half, 1)
        self.cross_channel_up_sa = nn.Linear(half, 3 * half)
        self.fuse_channel_conv = nn.Linear(half, half)
        self.fuse_channel_sa = nn.Linear(half, half)
        self.norm_conv2 = nn.BatchNorm2D(half)
        self.norm_sa2 = nn.LayerNorm(half)
        self.norm2 = nn.BatchNorm2D(width)
        self.mlp = ConvMlp(width, 4 * width)

    def heads_of(self, qkv: Any) -> tuple[Any, Any, Any]:
        n, length, width = qkv.shape
        return qkv.reshape([n, length, 3, self.heads, width // 3 // self.heads]).unbind(2)

    def attend(self, q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, training=self.training).flatten(2)

    def forward(self, x: Any) -> Any:
        x = x + self.pos_embed(x)
        n, _, height, width = x.shape
        far, near = self.conv1(self.norm1(x)).split([self.half, self.half], axis=1)
        near = near + self.conv(self.norm_conv1(near))
        small = [height // self.reduction, width // self.reduction]
        far = F.interpolate(far, size=small, mode="bilinear").flatten(2).transpose([0, 2, 1])
        far = far + self.attend(*self.heads_of(self.channel_up(self.norm_sa1(far))))
        tokens = self.cross_channel_up_conv(self.norm_conv2(near)).flatten(2).transpose([0, 2, 1])
        near_q, near_k, near_v = self.heads_of(tokens)
        far_q, far_k, far_v = self.heads_of(self.cross_channel_up_sa(self.norm_sa2(far)))
        answer = self.fuse_channel_conv(self.attend(near_q, far_k, far_v))
        near = near + answer.transpose([0, 2, 1]).reshape([n, self.half, height, width])
        far = far + self.fuse_channel_sa(self.attend(far_q, near_k, near_v))
        far = far.transpose([0, 2, 1]).reshape([n, self.half, *small])
        far = F.interpolate(far, size=[height, width], mode="bilinear")
        x = x + self.conv2(concat([near, far], axis=1))
        return x + self.mlp(self.norm2(x))


class DSNet(Pyramid):
    """Four stages.

    Args:
        depths: of the stages.
        num_classes: outputs.
    """

    def __init__(self, depths: tuple[int, ...], num_classes: int = 1000):
        super().__init__()
        widths = (64, 128, 320, 512)
        for i, (inputs, width) in enumerate(zip((3, *widths), widths)):
            patch = 2 if i else 4
            setattr(self, f"patch_embed{i + 1}", nn.Sequential(("proj", nn.Conv2D(inputs, width, patch, stride=patch))))
        for i, (width, depth, heads, reduction) in enumerate(zip(widths, depths, (1, 2, 5, 8), (8, 4, 2, 2)), 1):
            setattr(self, f"blocks{i}", nn.Sequential(*(Block(width, heads, reduction) for _ in range(depth))))
        self.end(widths[-1], num_classes)


register(
    "dsnet",
    DSNet,
    {
        "dsnet_tiny": {"depths": (2, 2, 4, 1)},
        "dsnet_small": {"depths": (3, 4, 8, 3)},
        "dsnet_base": {"depths": (3, 4, 28, 3)},
    },
)
