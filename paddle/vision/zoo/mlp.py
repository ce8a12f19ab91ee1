"""Networks without attention: MLP-Mixer (Tolstikhin et al., 2021), ResMLP (Touvron et al., 2021), gMLP (Liu et al., 2021),
ConvMixer (Trockman and Kolter, "Patches are all you need?", 2022)."""

from __future__ import annotations

from typing import Any

from ... import nn
from .blocks import Affine, Mlp, PatchEmbed, Scale, classifier, pool
from .registry import register


class Mixer(nn.Layer):
    """A small network over the patches, another over the channels."""

    def __init__(self, width: int, length: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, epsilon=1e-6)
        self.tokens = Mlp(length, width // 2)
        self.norm2 = nn.LayerNorm(width, epsilon=1e-6)
        self.channels = Mlp(width, 4 * width)

    def forward(self, x: Any) -> Any:
        x = x + self.tokens(self.norm1(x).transpose([0, 2, 1])).transpose([0, 2, 1])
        return x + self.channels(self.norm2(x))


class Residual(nn.Layer):
    """A linear layer over the patches, a small network over the channels, with learnt factors."""

    def __init__(self, width: int, length: int, scale: float = 1e-4):
        super().__init__()
        self.ls1 = Scale(width, scale)
        self.ls2 = Scale(width, scale)
        self.norm1 = Affine(width)
        self.tokens = nn.Linear(length, length)
        self.norm2 = Affine(width)
        self.channels = Mlp(width, 4 * width)

    def forward(self, x: Any) -> Any:
        x = x + self.ls1(self.tokens(self.norm1(x).transpose([0, 2, 1])).transpose([0, 2, 1]))
        return x + self.ls2(self.channels(self.norm2(x)))


class Gated(nn.Layer):
    """A small network over the channels; half of its hidden values pass the other half through, mixed over patches."""

    def __init__(self, width: int, length: int):
        super().__init__()
        hidden = 6 * width
        self.norm = nn.LayerNorm(width, epsilon=1e-6)
        self.fc1 = nn.Linear(width, hidden)
        self.act = nn.GELU()
        self.gate_norm = nn.LayerNorm(hidden // 2)
        self.gate = nn.Linear(length, length)
        self.fc2 = nn.Linear(hidden // 2, width)

    def forward(self, x: Any) -> Any:
        u, v = self.act(self.fc1(self.norm(x))).chunk(2, axis=-1)
        v = self.gate(self.gate_norm(v).transpose([0, 2, 1])).transpose([0, 2, 1])
        return x + self.fc2(u * v)


class PatchMlp(nn.Layer):
    """Patches through blocks of one of the kinds above.

    Args:
        block: the kind.
        patch: edge of a patch.
        width, depth: of the blocks.
        img_size: edge of the picture.
        num_classes: outputs.
    """

    def __init__(self, block: Any, patch: int, width: int, depth: int, img_size: int = 224, num_classes: int = 1000):
        super().__init__()
        length = (img_size // patch) ** 2
        self.stem = PatchEmbed(patch, width)
        self.blocks = nn.Sequential(*(block(width, length) for _ in range(depth)))
        self.norm = Affine(width) if block is Residual else nn.LayerNorm(width, epsilon=1e-6)
        self.head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        return self.head(self.norm(self.blocks(self.stem(x))).mean(1))


class Skip(nn.Sequential):
    """A sequence beside a shortcut."""

    def forward(self, x: Any) -> Any:
        return x + super().forward(x)


class ConvMixer(nn.Layer):
    """Patches by convolutions of each channel, and of all channels.

    Args:
        width, depth: of the blocks.
        kernel: of the convolutions of each channel.
        patch: edge of a patch.
        act: activation.
        num_classes: outputs.
    """

    def __init__(self, width: int, depth: int, kernel: int, patch: int, act: Any = nn.GELU, num_classes: int = 1000):
        super().__init__()

        def conv(inputs: int, kernel: int, stride: int = 1, groups: int = 1, padding: Any = 0) -> list[nn.Layer]:
            return [nn.Conv2D(inputs, width, kernel, stride, padding, groups=groups), act(), nn.BatchNorm2D(width)]

        self.stem = nn.Sequential(*conv(3, patch, patch))
        self.blocks = nn.Sequential(
            *(
                nn.Sequential(Skip(*conv(width, kernel, groups=width, padding=kernel // 2)), *conv(width, 1))
                for _ in range(depth)
            )
        )
        self.head = classifier(width, num_classes)

    def forward(self, x: Any) -> Any:
        return self.head(pool(self.blocks(self.stem(x))))


# block, patch, width, depth
MEMBERS = {
    "mixer_s32_224": (Mixer, 32, 512, 8),
    "mixer_s16_224": (Mixer, 16, 512, 8),
    "mixer_b32_224": (Mixer, 32, 768, 12),
    "mixer_b16_224": (Mixer, 16, 768, 12),
    "mixer_l32_224": (Mixer, 32, 1024, 24),
    "mixer_l16_224": (Mixer, 16, 1024, 24),
    "resmlp_12_224": (Residual, 16, 384, 12),
    "resmlp_24_224": (Residual, 16, 384, 24),
    "resmlp_36_224": (Residual, 16, 384, 36),
    "resmlp_big_24_224": (Residual, 8, 768, 24),
    "gmlp_ti16_224": (Gated, 16, 128, 30),
    "gmlp_s16_224": (Gated, 16, 256, 30),
    "gmlp_b16_224": (Gated, 16, 512, 30),
}
register(
    "mlp",
    PatchMlp,
    {n: {"block": b, "patch": p, "width": w, "depth": d} for n, (b, p, w, d) in MEMBERS.items()},
)
register(
    "convmixer",
    ConvMixer,
    {
        "convmixer_768_32": {"width": 768, "depth": 32, "kernel": 7, "patch": 7, "act": nn.ReLU},
        "convmixer_1024_20_ks9_p14": {"width": 1024, "depth": 20, "kernel": 9, "patch": 14},
        "convmixer_1536_20": {"width": 1536, "depth": 20, "kernel": 9, "patch": 7},
    },
)
