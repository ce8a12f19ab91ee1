"""Residual networks: ResNet-C and -D (He et al., "Bag of tricks", 2018), ResNeXt, SENet, ECA-Net, Res2Net (Gao et al.,
"Res2Net: a new multi-scale backbone architecture", 2019); keys of the weights as in PaddleClas."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ... import concat, nn
from ...nn import functional as F
from .blocks import EfficientChannelAttention, classifier, conv_bn
from .registry import register


class Keys(NamedTuple):
    """Names of the parts in the keys of the weights."""

    conv: tuple[str, str]
    part: str
    short: str
    out: str
    block: str = ""  # format of stage and number; none: one sequence `blocks`


RESNET = Keys(("conv", "bn"), "conv{}", "short", "fc")
BB = Keys(("_conv", "_batch_norm"), "conv{}", "short", "out", "bb_{}_{}")
WSL = Keys(("_conv", "_bn"), "_conv{}", "_short", "_out", "_conv{}_{}")


class Scale(nn.Layer):
    """Squeeze and excitation by linear layers (Hu et al., "Squeeze-and-excitation networks", 2017)."""

    def __init__(self, width: int):
        super().__init__()
        self.squeeze = nn.Linear(width, width // 16)
        self.excitation = nn.Linear(width // 16, width)

    def forward(self, x: Any) -> Any:
        return x * F.sigmoid(self.excitation(F.relu(self.squeeze(x.mean([2, 3]))))).unsqueeze([2, 3])


class Block(nn.Layer):
    """Convolutions beside a shortcut.

    Args:
        layers: names and convolutions; those between the first and the last take a part of the channels each where
            `split`, and see the result of the part before where there is no `pool`.
        attention: "se" or "eca".
        width: channels of the result.
        short: name and layer of the shortcut, None: the input.
        pool: of the part that has no convolution.
    """

    def __init__(
        self,
        layers: list[tuple[str, nn.Layer]],
        attention: str | None,
        width: int,
        short: tuple[str, nn.Layer] | None,
        split: bool,
        pool: nn.Layer | None,
    ):
        super().__init__()
        for name, layer in layers:
            self.add_sublayer(name, layer)
        if attention:
            self.scale = Scale(width) if attention == "se" else EfficientChannelAttention(width)
        if short:
            self.add_sublayer(*short)
        self.names, self.short_name = [name for name, _ in layers], short[0] if short else None
        self.attention, self.split, self.pool = attention, split, pool

    def _parts(self, x: Any) -> Any:
        """The convolutions of Res2Net."""
        *parts, rest = x.chunk(len(self.names) - 1, axis=1)
        done: list[Any] = []
        for name, part in zip(self.names[1:-1], parts):
            done.append(getattr(self, name)(part + done[-1] if done and self.pool is None else part))
        return concat([*done, rest if self.pool is None else self.pool(rest)], axis=1)

    def forward(self, x: Any) -> Any:
        y = getattr(self, self.names[0])(x)
        if self.split:
            y = getattr(self, self.names[-1])(self._parts(y))
        else:
            for name in self.names[1:]:
                y = getattr(self, name)(y)
        y = self.scale(y) if self.attention else y
        return F.relu(y + (x if self.short_name is None else getattr(self, self.short_name)(x)))


class ResNet(nn.Sequential):
    """Four stages of residual blocks.

    Args:
        depths: blocks of the stages.
        basic: blocks of two convolutions in place of bottlenecks.
        stem: channels of the first convolutions: three 3x3 (the C variant) or one 7x7.
        average: shortcuts of half size average before their convolution (the D variant).
        attention: "se" or "eca".
        groups, width: of the bottlenecks.
        scale: parts of the middle convolution (Res2Net).
        paper: their averages are those of the paper's code, also without a stride, else those of PaddleClas.
        project: the first block has a convolution as shortcut though the shape stays.
        keys: names of the parts.
        stem_name: name of the first convolution, where it is alone.
        num_classes: outputs.
    """

    def __init__(
        self,
        depths: tuple[int, ...],
        basic: bool = False,
        stem: tuple[int, ...] = (64,),
        average: bool = False,
        attention: str | None = None,
        groups: int = 1,
        width: int = 64,
        scale: int = 1,
        paper: bool = False,
        project: bool = False,
        keys: Keys = BB,
        stem_name: str = "conv1",
        num_classes: int = 1000,
    ):
        conv = functools.partial(conv_bn, names=keys.conv)
        inputs = 3
        layers: list = []
        for i, channels in enumerate(stem):
            name = stem_name if len(stem) == 1 else f"conv1_{i + 1}"
            layers.append((name, conv(inputs, channels, 7 if len(stem) == 1 else 3, 2 if i == 0 else 1)))
            inputs = channels
        if not keys.block:
            layers = [("stem", nn.Sequential(*(layer for _, layer in layers)))]
        layers.append(("pool2d_max", nn.MaxPool2D(3, 2, padding=1)))
        blocks: list = []
        for stage, depth in enumerate(depths):
            planes = 64 * 2**stage
            outputs = planes if basic else 4 * planes
            middle = planes if basic else int(planes * (width / 64)) * groups
            for i in range(depth):
                stride = 2 if i == 0 and stage > 0 else 1
                if basic:
                    parts = [conv(inputs, middle, 3, stride), conv(middle, outputs, 3, act=None)]
                    named = [(keys.part.format(j), part) for j, part in enumerate(parts)]
                else:
                    named = [(keys.part.format(0), conv(inputs, middle * scale))]
                    if scale > 1:
                        name = f"res{stage + 2}{self._letter(depths, stage, i)}_branch2b_"
                        named += [(f"{name}{j}", conv(middle, middle, 3, stride, groups)) for j in range(1, scale)]
                    else:
                        named.append((keys.part.format(1), conv(middle, middle, 3, stride, groups)))
                    named.append((keys.part.format(2), conv(middle * scale, outputs, act=None)))
                short = pool = None
                if i == 0 and (project or stride > 1 or inputs != outputs):
                    short = (keys.short, self._shortcut(conv, inputs, outputs, stride, average, keys))
                if stride > 1 or (paper and i == 0):
                    pool = nn.AvgPool2D(3, stride, padding=1, exclusive=not paper)
                block = Block(named, attention, outputs, short, scale > 1, pool)
                first = 1 if keys is WSL else 0
                blocks.append((keys.block.format(stage + first, i), block) if keys.block else block)
                inputs = outputs
        layers += blocks if keys.block else [("blocks", nn.Sequential(*blocks))]
        layers += [("pool2d_avg", nn.AdaptiveAvgPool2D(1)), ("flatten", nn.Flatten())]
        super().__init__(*layers, (keys.out, classifier(inputs, num_classes)))

    @staticmethod
    def _letter(depths: tuple[int, ...], stage: int, i: int) -> str:
        """Blocks are counted by letters; the third stage of a deep network by numbers."""
        if sum(depths) > 16 and stage == 2:
            return f"b{i}" if i else "a"
        return chr(ord("a") + i)

    @staticmethod
    def _shortcut(conv: Any, inputs: int, outputs: int, stride: int, average: bool, keys: Keys) -> nn.Layer:
        if keys is WSL:
            return nn.Sequential(("_conv", conv(inputs, outputs, 1, stride, act=None)))
        if not average:
            return conv(inputs, outputs, 1, stride, act=None)
        layer = conv(inputs, outputs, act=None)
        if stride > 1:
            layer = nn.Sequential(("pool", nn.AvgPool2D(2, stride, ceil_mode=True)), *layer.named_children())
        return layer


DEPTHS = {
    18: (2, 2, 2, 2),
    26: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
}
C = {"stem": (32, 32, 64), "project": True}
D = {**C, "average": True}


def _members(prefix: str, depths: tuple[int, ...], suffix: str = "", **options: Any) -> dict[str, dict[str, Any]]:
    found = {f"{prefix}{n}{suffix}": {"depths": DEPTHS[n], "basic": n in (18, 34), **options} for n in depths}
    if options.get("average") and 200 in depths:
        found[f"{prefix}200{suffix}"]["depths"] = (3, 12, 48, 3)
    return found


register("resnet", ResNet, _members("resnet", (26, 200), keys=RESNET))
register("resnet", ResNet, _members("resnet", (18, 34, 50, 101, 152, 200), "_vc", **C))
register("resnet", ResNet, _members("resnet", (18, 26, 34, 50, 101, 152, 200), "_vd", keys=RESNET, **D))
register("resnet", ResNet, _members("wide_resnet", (50, 101), "_2_vd", width=128, keys=RESNET, **D))
for _g in (32, 64):
    _x = {"groups": _g, "width": 4}
    register("resnext", ResNet, _members("resnext", (50, 101, 152), f"_vd_{_g}x4d", **_x, **D))
    _x["attention"] = "se"
    register("senet", ResNet, _members("se_resnext", (50, 101, 152), f"_{_g}x4d", stem_name="conv", **_x))
    _x |= {"stem": (64, 64, 128), "average": True}
    register("senet", ResNet, _members("se_resnext", (50, 101, 152), f"_vd_{_g}x4d", **_x))
register("senet", ResNet, {"senet154_vd": {"depths": DEPTHS[152], **_x}})
for _w in (8, 16, 32, 48):
    _x = {"groups": 32, "width": _w, "keys": WSL, "stem_name": "_conv_stem"}
    register("resnext", ResNet, _members("resnext", (101,), f"_32x{_w}d", **_x))
    register("resnext", ResNet, _members("resnext", (101,), f"_32x{_w}d_wsl", **_x))
register("resnext", ResNet, _members("fix_resnext", (101,), "_32x48d_wsl", **_x))
register("senet", ResNet, _members("se_resnet", (18, 34, 50, 101, 152, 200), attention="se"))
register("senet", ResNet, _members("se_resnet", (18, 34, 50, 101, 152, 200), "_vd", attention="se", **D))
register("ecanet", ResNet, _members("eca_resnet", (18, 34, 50, 101, 152), attention="eca"))
register(
    "ecanet", ResNet, _members("eca_resnet", (18, 34, 50, 101, 152), "_vd", attention="eca", **{**D, "project": False})
)
for _w, _s in ((26, 4), (14, 8), (26, 6), (26, 8), (48, 2)):
    _r = {"width": _w, "scale": _s}
    register("res2net", ResNet, _members("res2net", (50,), f"_{_w}w_{_s}s", **_r))
    register("res2net", ResNet, _members("res2net", (50,), f"_vd_{_w}w_{_s}s", **_r, **D))
for _n in (101, 152, 200):
    register("res2net", ResNet, _members("res2net", (_n,), "_26w_4s", width=26, scale=4))
    register("res2net", ResNet, _members("res2net", (_n,), "_vd_26w_4s", width=26, scale=4, **D))
register("res2net", ResNet, _members("res2next", (50,), width=4, groups=8, scale=4, paper=True))
