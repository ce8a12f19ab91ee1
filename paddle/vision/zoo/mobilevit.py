"""MobileViT (Mehta and Rastegari, 2021), MobileViT V2 (2022) and V3 (Wadekar and Chaurasia, 2022); keys of the weights as in
PaddleClas."""

from __future__ import annotations

import math
from typing import Any

from ... import concat, nn
from ...nn import functional as F
from .blocks import Attention, Mlp, classifier, make_divisible, pool
from .registry import register


def conv_norm(
    inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1, act: bool = True
) -> nn.Sequential:
    """A convolution, batch normalisation and SiLU, under their names."""
    conv = nn.Conv2D(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias_attr=False)
    return nn.Sequential(("conv", conv), ("norm", nn.BatchNorm2D(outputs)), *([("act", nn.Silu())] if act else []))


def patches(x: Any) -> Any:
    """[N, C, H, W] to [N, C, 4, H / 2 * W / 2]: the places inside of patches 2x2, and the patches."""
    n, channels, height, width = x.shape
    x = x.reshape([n, channels, height // 2, 2, width // 2, 2]).transpose([0, 1, 3, 5, 2, 4])
    return x.reshape([n, channels, 4, -1])


def picture(x: Any, height: int, width: int) -> Any:
    """The inverse of `patches`."""
    n, channels = x.shape[:2]
    x = x.reshape([n, channels, 2, 2, height // 2, width // 2]).transpose([0, 1, 4, 2, 5, 3])
    return x.reshape([n, channels, height, width])


def between_patches(transformer: nn.Layer, x: Any, back: str) -> Any:
    """A transformer for each of the four places of patches 2x2; a picture of odd edges is enlarged for it."""
    height, width = x.shape[2:]
    even = [math.ceil(height / 2) * 2, math.ceil(width / 2) * 2]
    odd = even != [height, width]
    if odd:
        x = F.interpolate(x, size=even, mode="bilinear")
    n, channels = x.shape[:2]
    tokens = transformer(patches(x).transpose([0, 2, 3, 1]).flatten(0, 1))
    x = picture(tokens.reshape([n, 4, -1, channels]).transpose([0, 3, 1, 2]), *even)
    return F.interpolate(x, size=[height, width], mode=back) if odd else x


class Encoder(nn.Layer):
    """Attention and a small network, each beside a shortcut."""

    def __init__(self, width: int):
        super().__init__()
        self.attn_norm = nn.LayerNorm(width)
        self.attn = Attention(width, 4)
        self.mlp_norm = nn.LayerNorm(width)
        self.mlp = Mlp(width, 2 * width, nn.Silu)

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.attn_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Transformer(nn.Layer):
    """Encoders and normalisation."""

    def __init__(self, width: int, depth: int):
        super().__init__()
        self.layers = nn.Sequential(*(Encoder(width) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, epsilon=1e-6)

    def forward(self, x: Any) -> Any:
        return self.norm(self.layers(x))


class Inverted(nn.Layer):
    """An inverted residual (Sandler et al., "MobileNetV2", 2018)."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int):
        super().__init__()
        hidden = inputs * expansion
        self.shortcut = stride == 1 and inputs == outputs
        self.conv = nn.Sequential(
            conv_norm(inputs, hidden),
            conv_norm(hidden, hidden, 3, stride, hidden),
            nn.Conv2D(hidden, outputs, 1, bias_attr=False),
            nn.BatchNorm2D(outputs),
        )

    def forward(self, x: Any) -> Any:
        return x + self.conv(x) if self.shortcut else self.conv(x)


class Block(nn.Layer):
    """A convolution for what is near, a transformer for what is far, and both together with the input."""

    def __init__(self, width: int, hidden: int, depth: int):
        super().__init__()
        self.conv1 = conv_norm(width, width, 3)
        self.conv2 = nn.Conv2D(width, hidden, 1, bias_attr=False)
        self.transformer = Transformer(hidden, depth)
        self.conv3 = conv_norm(hidden, width)
        self.conv4 = conv_norm(2 * width, width, 3)

    def forward(self, x: Any) -> Any:
        y = between_patches(self.transformer, self.conv2(self.conv1(x)), "nearest")
        return self.conv4(concat([x, self.conv3(y)], axis=1))


class MobileViT(nn.Layer):
    """Inverted residuals and three blocks with transformers.

    Args:
        widths: of the convolutions.
        hidden: widths of the transformers.
        expansion: of the inverted residuals.
        num_classes: outputs.
    """

    def __init__(self, widths: tuple[int, ...], hidden: tuple[int, ...], expansion: int = 4, num_classes: int = 1000):
        super().__init__()
        self.conv3x3 = conv_norm(3, widths[0], 3, 2)
        self.order = ["conv3x3"]
        place = {5: ("mvit_block_1", 2), 6: ("mvit_block_2", 4), 7: ("mvit_block_3", 3)}
        for i, stride in enumerate((1, 2, 1, 1, 2, 2, 2), 1):
            setattr(self, f"mv2_block_{i}", Inverted(widths[i - 1], widths[i], stride, expansion))
            self.order.append(f"mv2_block_{i}")
            if i in place:
                name, depth = place[i]
                setattr(self, name, Block(widths[i], hidden[i - 5], depth))
                self.order.append(name)
        self.conv1x1 = conv_norm(widths[7], widths[8])
        self.dropout = nn.Dropout(0.1)
        self.linear = classifier(widths[8], num_classes)

    def forward(self, x: Any) -> Any:
        for name in self.order:
            x = getattr(self, name)(x)
        return self.linear(self.dropout(pool(self.conv1x1(x))))


class NamedInverted(nn.Layer):
    """An inverted residual whose parts have names."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int):
        super().__init__()
        hidden = make_divisible(inputs * expansion)
        self.shortcut = stride == 1 and inputs == outputs
        self.block = nn.Sequential(
            ("exp_1x1", conv_norm(inputs, hidden)),
            ("conv_3x3", conv_norm(hidden, hidden, 3, stride, hidden)),
            ("red_1x1", conv_norm(hidden, outputs, act=False)),
        )

    def forward(self, x: Any) -> Any:
        return x + self.block(x) if self.shortcut else self.block(x)


class LinearAttention(nn.Layer):
    """Attention whose cost grows with the number of patches only: one query for all of them."""

    def __init__(self, width: int):
        super().__init__()
        self.width = width
        self.qkv_proj = nn.Conv2D(width, 1 + 2 * width, 1)
        self.out_proj = nn.Conv2D(width, width, 1)

    def forward(self, x: Any) -> Any:
        query, key, value = self.qkv_proj(x).split([1, self.width, self.width], axis=1)
        context = (key * F.softmax(query, axis=-1)).sum(-1, keepdim=True)
        return self.out_proj(F.relu(value) * context)


class PreNorm(nn.Layer):
    """Attention and a small network, each after a normalisation and beside a shortcut."""

    def __init__(self, attention: list[nn.Layer], network: list[nn.Layer]):
        super().__init__()
        name = "pre_norm_attn" if isinstance(attention[1], LinearAttention) else "pre_norm_mha"
        self.first = name
        setattr(self, name, nn.Sequential(*attention))
        self.pre_norm_ffn = nn.Sequential(*network)

    def forward(self, x: Any) -> Any:
        x = x + getattr(self, self.first)(x)
        return x + self.pre_norm_ffn(x)


def linear_encoder(width: int) -> PreNorm:
    hidden = 2 * width // 16 * 16
    return PreNorm(
        [nn.GroupNorm(1, width), LinearAttention(width)],
        [nn.GroupNorm(1, width), nn.Conv2D(width, hidden, 1), nn.Silu(), nn.Identity(), nn.Conv2D(hidden, width, 1)],
    )


class NamedAttention(Attention):
    """`Attention` with other names of its projections."""

    def __init__(self, width: int, heads: int):
        nn.Layer.__init__(self)
        self.heads = heads
        self.qkv_proj = nn.Linear(width, 3 * width)
        self.out_proj = nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        n, length, width = x.shape
        q, k, v = self.qkv_proj(x).reshape([n, length, 3, self.heads, width // self.heads]).unbind(2)
        return self.out_proj(F.scaled_dot_product_attention(q, k, v).reshape([n, length, width]))


def encoder(width: int) -> PreNorm:
    drop = lambda: nn.Dropout(0.1)
    return PreNorm(
        [nn.LayerNorm(width), NamedAttention(width, 4), drop()],
        [
            *(nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Silu()),
            *(nn.Identity(), nn.Linear(2 * width, width), drop()),
        ],
    )


class LinearBlock(nn.Layer):
    """The block of V2, with linear attention; of V3 it also takes what is near and adds its input."""

    def __init__(self, width: int, hidden: int, depth: int, third: bool):
        super().__init__()
        self.third = third
        self.local_rep = nn.Sequential(
            conv_norm(width, width, 3, groups=width),
            nn.Sequential(("conv", nn.Conv2D(width, hidden, 1, bias_attr=False))),
        )
        self.global_rep = nn.Sequential(*(linear_encoder(hidden) for _ in range(depth)), nn.GroupNorm(1, hidden))
        self.conv_proj = conv_norm((1 + third) * hidden, width, act=False)

    def forward(self, x: Any) -> Any:
        near = self.local_rep(x)
        far = picture(self.global_rep(patches(near)), *near.shape[2:])
        return x + self.conv_proj(concat([far, near], axis=1)) if self.third else self.conv_proj(far)


class FusedBlock(nn.Layer):
    """The block of V3 with full attention."""

    def __init__(self, width: int, hidden: int, depth: int):
        super().__init__()
        self.local_rep = nn.Sequential(
            ("conv_3x3", conv_norm(width, width, 3, groups=width)),
            ("conv_1x1", nn.Sequential(("conv", nn.Conv2D(width, hidden, 1, bias_attr=False)))),
        )
        self.global_rep = nn.Sequential(*(encoder(hidden) for _ in range(depth)), nn.LayerNorm(hidden))
        self.conv_proj = conv_norm(hidden, width)
        self.fusion = conv_norm(width + hidden, width)

    def forward(self, x: Any) -> Any:
        near = self.local_rep(x)
        far = self.conv_proj(between_patches(self.global_rep, near, "bilinear"))
        return x + self.fusion(concat([near, far], axis=1))


class MobileViT2(nn.Layer):
    """MobileViT V2 and V3.

    Args:
        widths: of the stem and the five layers.
        hidden: widths of the transformers.
        blocks: inverted residuals of the second layer.
        expansion: of the inverted residuals.
        kind: "v2"; "v3", with full attention; "v3 linear".
        depths: of the transformers.
        num_classes: outputs.
    """

    def __init__(
        self,
        widths: tuple[int, ...],
        hidden: tuple[int, ...],
        blocks: int = 2,
        expansion: int = 2,
        kind: str = "v2",
        depths: tuple[int, ...] = (2, 4, 3),
        num_classes: int = 1000,
    ):
        super().__init__()
        last = widths[5]
        self.conv_1 = conv_norm(3, widths[0], 3, 2)
        self.layer_1 = nn.Sequential(NamedInverted(widths[0], widths[1], 1, expansion))
        self.layer_2 = nn.Sequential(
            NamedInverted(widths[1], widths[2], 2, expansion),
            *(NamedInverted(widths[2], widths[2], 1, expansion) for _ in range(blocks - 1)),
        )
        for i, h, depth in zip((3, 4, 5), hidden, depths):
            width = widths[i]
            block = FusedBlock(width, h, depth) if kind == "v3" else LinearBlock(width, h, depth, kind == "v3 linear")
            setattr(self, f"layer_{i}", nn.Sequential(NamedInverted(widths[i - 1], width, 2, expansion), block))
        if kind == "v3":
            last = min(4 * widths[5], 960)
            self.conv_1x1_exp = conv_norm(widths[5], last)
        else:
            self.conv_1x1_exp = nn.Identity()
        parts = [] if kind == "v2" else [("dropout", nn.Dropout(0.1))]
        self.classifier = nn.Sequential(*parts, ("fc", classifier(last, num_classes)))

    def forward(self, x: Any) -> Any:
        x = self.conv_1(x)
        for i in range(1, 6):
            x = getattr(self, f"layer_{i}")(x)
        return self.classifier(pool(self.conv_1x1_exp(x)))


def _v2(scale: float, **options: Any) -> dict[str, Any]:
    stem = make_divisible(max(16, min(64, 32 * scale)), 8, 16)
    widths = [make_divisible(c * scale, 16 if c == 64 else 8) for c in (64, 128, 256, 384, 512)]
    return {"widths": (stem, *widths), "hidden": tuple(make_divisible(c * scale) for c in (128, 192, 256)), **options}


register(
    "mobilevit",
    MobileViT,
    {
        "mobilevit_xxs": {"widths": (16, 16, 24, 24, 24, 48, 64, 80, 320), "hidden": (64, 80, 96), "expansion": 2},
        "mobilevit_xs": {"widths": (16, 32, 48, 48, 48, 64, 80, 96, 384), "hidden": (96, 120, 144)},
        "mobilevit_s": {"widths": (16, 32, 64, 64, 64, 96, 128, 160, 640), "hidden": (144, 192, 240)},
    },
)
for _scale in ("0_5", "0_75", "1_0", "1_25", "1_5", "1_75", "2_0"):
    register("mobilevit", MobileViT2, {f"mobilevitv2_x{_scale}": _v2(float(_scale.replace("_", ".")))})
for _scale in ("0_5", "0_75", "1_0"):
    _options = _v2(float(_scale.replace("_", ".")), kind="v3 linear")
    register("mobilevit", MobileViT2, {f"mobilevitv3_x{_scale}": _options})
for _name, _row in {
    "xxs": {"widths": (16, 16, 24, 64, 80, 128), "hidden": (64, 80, 96), "expansion": 2},
    "xs": {"widths": (16, 32, 48, 96, 160, 160), "hidden": (96, 120, 144), "expansion": 4},
    "s": {"widths": (16, 32, 64, 128, 256, 320), "hidden": (144, 192, 240), "expansion": 4},
}.items():
    _options = {**_row, "blocks": 3, "kind": "v3"}
    register("mobilevit", MobileViT2, {f"mobilevitv3_{_name}": _options})
    register("mobilevit", MobileViT2, {f"mobilevitv3_{_name}_l2": {**_options, "depths": (2, 2, 3)}})
