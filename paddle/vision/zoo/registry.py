"""Networks by name: every family registers a constructor with a table of its members."""

from __future__ import annotations

import fnmatch
import functools
import importlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import nn
from ...engine import errors
from ..models._utils import Weights, load_weights

__all__ = ["list_models", "create_model"]


class Entry(NamedTuple):
    name: str
    family: str
    constructor: Callable[..., nn.Layer]
    options: dict[str, Any]


_entries: dict[str, Entry] = {}
FAMILIES = (
    "official convnext dla ghostnet hrnet levit mlp mobile pphgnet pplcnet pvt regnet repvgg resnet swin tnt vit"
    " cait cswin cvt deit3 dsnet efficientformer focalnet foundation metaformer mobilevit nextvit svtr swin_v2 twins"
    " uniformer van xcit"
    " darknet dpn efficientnet esnet fasternet hardnet inception micronet mixnet mobilenetv4 mobilenext mobileone"
    " peleenet pplcnetv2 rednet repghost resnest rexnet sknet starnet vovnet xception"
).split()


@functools.cache
def load_families() -> None:
    """Imports the families, at the first use: `import paddle` does not wait for them."""
    for family in FAMILIES:
        importlib.import_module(f"{__package__}.{family}")


# names of PaddleClas for members that are listed under another
ALIASES = {
    f"regnetx{flops}": f"regnetx{size}"
    for flops, size in (
        *((f"{n}00mf", f"{n:03}") for n in (2, 4, 6, 8, 16, 32, 64)),
        *((f"{n}gf", f"{10 * n:03}") for n in (4, 8, 12, 16, 32)),
    )
}


def _normal(name: str) -> str:
    """`ResNet50_vd`, `resnet50-vd` and `resnet50_vd` are one name."""
    name = "".join(c for c in name.lower() if c.isalnum())
    return ALIASES.get(name, name)


def register(family: str, constructor: Callable[..., nn.Layer], members: dict[str, dict[str, Any]]) -> None:
    """Adds the members of a family: {name: options of the constructor}."""
    for name, options in members.items():
        if _normal(name) in _entries:
            raise errors.ValueError_(f"register: there is a network {name!r} already")
        _entries[_normal(name)] = Entry(name, family, constructor, options)


def list_models(filter: str | None = None) -> list[str]:
    """The names of the networks, sorted.

    Args:
        filter: a pattern with `*` and `?` for the name, or the name of a family; None: all.

    Example:
        >>> paddle.vision.list_models("dla60*")
        ['dla60', 'dla60x', 'dla60x_c']
    """
    load_families()
    pattern = None if filter is None else filter.lower()
    return sorted(
        entry.name
        for entry in _entries.values()
        if pattern is None or fnmatch.fnmatchcase(entry.name, pattern) or entry.family == pattern
    )


def create_model(name: str, num_classes: int = 1000, pretrained: bool | str = False, **options: Any) -> nn.Layer:
    """A network by its name.

    Args:
        name: one of `list_models()`; case, `_`, `-` and `.` do not matter.
        num_classes: outputs; 0 leaves out the classifier and gives features.
        pretrained: True: weights from the network or the cache ($PADDLE_HOME/hapi/weights/NAME.pdparams); a path:
            weights from this file.
        options: further options of the family, such as `img_size` for networks with positions.

    Raises:
        ValueError: there is no network of this name.
        RuntimeError: the weights are nowhere; the message says which file to put where.

    Example:
        >>> paddle.vision.create_model("shufflenet_v2_x0_25", num_classes=5)(paddle.zeros([1, 3, 32, 32])).shape
        [1, 5]
    """
    load_families()
    entry = _entries.get(_normal(name)) if isinstance(name, str) else None
    if entry is None:
        import difflib

        near = difflib.get_close_matches(str(name).lower(), list_models(), n=3)
        hint = f"; near: {', '.join(near)}" if near else ""
        raise errors.ValueError_(f"create_model: name, there is no network {name!r}{hint}")
    if entry.family == "official" and isinstance(pretrained, bool):
        return entry.constructor(pretrained=pretrained, num_classes=num_classes, **{**entry.options, **options})
    model = entry.constructor(num_classes=num_classes, **{**entry.options, **options})
    if isinstance(pretrained, str):
        from ...framework.io import load

        if not os.path.isfile(pretrained):
            raise errors.NotFound(f"create_model: pretrained, there is no file {pretrained}")
        model.set_state_dict(load(pretrained))
    elif pretrained:
        no_urls: Weights = {}
        load_weights(model, entry.name, no_urls)
    return model
