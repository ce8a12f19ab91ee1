"""Compares networks of the library with those of timm: keys, shapes and results.

    python tests/vision/zoo_timm.py record [NAME...]    # with torch and timm: writes zoo_timm.json
    python tests/vision/zoo_timm.py check [NAME...]     # with this paddle, in some minutes

Weights follow from the keys, as in zoo_paddleclas.py; the matrices of linear layers lie the other way here.
"""

import hashlib
import json
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import zoo_paddleclas as common

TABLE = Path(__file__).with_name("zoo_timm.json")
CAIT = "xxs24_224 xxs24_384 xxs36_224 xxs36_384 xs24_384 s24_224 s24_384 s36_384 m36_384 m48_448".split()
DEIT3 = (
    "small_patch16_224 small_patch16_384 medium_patch16_224 base_patch16_224 base_patch16_384 large_patch16_224"
    " large_patch16_384 huge_patch14_224"
).split()
XCIT = "nano_12 tiny_12 tiny_24 small_12 small_24 medium_24 large_24".split()
NAMES = [
    *(f"cait_{n}" for n in CAIT),
    *(f"deit3_{n}" for n in DEIT3),
    *(f"efficientformer_l{n}" for n in (1, 3, 7)),
    *(f"focalnet_{n}_{kind}" for n in ("tiny", "small", "base") for kind in ("srf", "lrf")),
    *(f"focalnet_{n}_{kind}" for n in ("large", "xlarge", "huge") for kind in ("fl3", "fl4")),
    *(f"poolformer{v}_{n}" for v in ("", "v2") for n in ("s12", "s24", "s36", "m36", "m48")),
    *(f"{kind}former_{n}" for kind in ("conv", "ca") for n in ("s18", "s36", "m36", "b36")),
    *(f"xcit_{n}_p{patch}_{edge}" for n in XCIT for patch in (8, 16) for edge in (224, 384)),
]
# name: edge of the picture, options of this library, options of timm's class, in place of those of the name
VIT = {"img_size": 32, "depth": 3}
DEPTHS = {"depths": (1, 1, 2, 1)}
THIN = {"depths": (1, 1, 1, 1)}
RUNS = {
    "cait_xxs24_224": (32, VIT, ("Cait", VIT)),
    "deit3_small_patch16_224": (32, VIT, ("VisionTransformer", VIT)),
    "efficientformer_l1": (224, {"depths": (1, 1, 1, 2)}, ("EfficientFormer", {"depths": (1, 1, 1, 2)})),
    "focalnet_tiny_srf": (64, DEPTHS, ("FocalNet", DEPTHS)),
    "focalnet_huge_fl3": (64, {**THIN, "width": 32}, ("FocalNet", {**THIN, "embed_dim": 32})),
    "poolformer_s12": (64, DEPTHS, ("MetaFormer", DEPTHS)),
    "poolformerv2_s12": (64, DEPTHS, ("MetaFormer", DEPTHS)),
    "convformer_s18": (64, DEPTHS, ("MetaFormer", DEPTHS)),
    "caformer_s18": (64, DEPTHS, ("MetaFormer", DEPTHS)),
    "xcit_nano_12_p16_224": (48, {"depth": 3}, ("Xcit", {"depth": 3, "img_size": 48})),
    "xcit_tiny_12_p8_224": (48, {"depth": 3}, ("Xcit", {"depth": 3, "img_size": 48})),
}


def digest(entries):
    """A digest of the keys with their shapes, sorted."""
    lines = sorted(f"{key}:{list(value.shape)}" for key, value in entries.items())
    return hashlib.md5("\n".join(lines).encode()).hexdigest()


def build(name, family="", **options):
    """A network of timm, whose class `family` gets these options in place of those of the name."""
    import timm

    if not family:
        return timm.create_model(name, num_classes=1000)
    module = sys.modules[timm.models.model_entrypoint(name).__module__]
    original = getattr(module, family)
    setattr(module, family, lambda **given: original(**{**given, **options}))
    try:
        return timm.create_model(name)
    finally:
        setattr(module, family, original)


class Torch:
    """A network of timm under the keys of this library, as far as `zoo_paddleclas.fill` and `run` need."""

    def __init__(self, name, family="", **options):
        import torch

        self.model = build(name, family, **options)
        linear = {n for n, m in self.model.named_modules() if isinstance(m, torch.nn.Linear)}
        self.entries = {}
        for key, value in self.model.state_dict().items():
            turned = value.T if key.endswith(".weight") and key[: -len(".weight")] in linear else value
            key = key.replace("running_mean", "_mean").replace("running_var", "_variance")
            if not key.endswith("num_batches_tracked"):
                turned.set_value = lambda array, place=turned: place.copy_(torch.from_numpy(array))
                self.entries[key] = turned
        self.trainable = sum(p.numel() for p in self.model.parameters())
        self.names = {key for key, _ in self.model.named_parameters()}

    def named_parameters(self):
        return ((key, None) for key in self.names)

    def state_dict(self):
        return self.entries

    def eval(self):
        self.model.eval()

    def __call__(self, picture):
        return self.model(picture)


class Framework:
    """Of torch, what `zoo_paddleclas.run` calls in paddle."""

    @staticmethod
    def no_grad():
        import torch

        return torch.no_grad()

    @staticmethod
    def to_tensor(array):
        import torch

        return torch.from_numpy(array)


def record(names):
    import torch

    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    for name in names:
        with torch.device("meta"):  # shapes without values
            model = Torch(name)
        table[name] = {"structure": [model.trainable, digest(model.entries)]}
        if name in RUNS:
            size, _, (family, options) = RUNS[name]
            table[name]["output"] = common.run(Framework, Torch(name, family, num_classes=7, **options), name, size)
        print(name, table[name], flush=True)
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(table[name])}" for name in NAMES if name in table)
        TABLE.write_text("{\n" + rows + "\n}\n")


def structure(model):
    trainable = sum(math.prod(p.shape) for p in model.parameters() if not p.stop_gradient)
    return [trainable, digest(model.state_dict())]


def check(names):
    import paddle

    table = json.loads(TABLE.read_text())
    for name in names:
        same, gap = structure(common.ours(paddle, name)) == table[name]["structure"], ""
        if name in RUNS:
            size, options, _ = RUNS[name]
            result = common.run(paddle, common.ours(paddle, name, num_classes=7, **options), name, size)
            gap = f"{common.gap(name, result, table[name]['output']):.1e}"
        print(name, "same" if same else "OTHER KEYS OR SHAPES", gap, flush=True)


if __name__ == "__main__":
    {"record": record, "check": check}[sys.argv[1]](sys.argv[2:] or NAMES)
