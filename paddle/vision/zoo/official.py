"""The networks of `paddle.vision.models` under their names, and their usual widths."""

from .. import models
from .registry import register

_NAMES = [n for n in models.__all__ if n[0].islower()]
for _name in _NAMES:
    register("official", getattr(models, _name), {_name: {}})
for _name in ("vgg11", "vgg13", "vgg16", "vgg19"):
    register("official", getattr(models, _name), {f"{_name}_bn": {"batch_norm": True}})
for _name, _scales in {
    "mobilenet_v1": ("0_25", "0_5", "0_75"),
    "mobilenet_v2": ("0_25", "0_5", "0_75", "1_4", "1_5", "2_0"),
    "mobilenet_v3_small": ("0_35", "0_5", "0_75", "1_25"),
    "mobilenet_v3_large": ("0_35", "0_5", "0_75", "1_25"),
}.items():
    for _scale in _scales:
        register("official", getattr(models, _name), {f"{_name}_x{_scale}": {"scale": float(_scale.replace("_", "."))}})
