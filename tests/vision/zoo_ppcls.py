"""Compares the convolutional networks of the library with those of PaddleClas: keys, shapes and results from equal
weights.

    python tests/vision/zoo_ppcls.py record FOLDER    # official paddle and a copy of PaddleClas in FOLDER
    python tests/vision/zoo_ppcls.py check [NAME...]  # with this paddle

`record` writes zoo_ppcls.json, which `check` and the tests read.
"""

import hashlib
import importlib
import json
import math
import sys
import types
import zlib
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("zoo_ppcls.json")
# edge of the picture for the networks whose results are compared
RUNS = {
    **dict.fromkeys(
        "Xception41 Xception71 Xception41_deeplab DPN68 ResNeSt50 ResNeSt50_fast_1s1x64d DarkNet53 CSPDarkNet53"
        " RedNet26 ReXNet_1_0 ReXNet_1_3 HarDNet39_ds HarDNet68 HarDNet85 ESNet_x0_25 PPLCNetV2_small PeleeNet"
        " StarNet_S1 FasterNet_T0 FasterNet_T2 MicroNet_M0 MicroNet_M1 MicroNet_M2 MicroNet_M3 MobileNeXt_x0_35"
        " ResNet18_vd ResNet50_vc SE_ResNet18_vd SE_ResNeXt50_vd_32x4d SE_ResNeXt50_32x4d Res2Net50_26w_4s"
        " Res2Net50_vd_26w_4s ResNeXt50_vd_32x4d ResNeXt101_32x8d_wsl PPLCNet_x0_25 PPHGNet_tiny PPHGNetV2_B0"
        " PPHGNetV2_B4 GhostNet_x0_5 RepVGG_A0 RegNetX_200MF DLA34 DLA60x_c HRNet_W18_C MobileNetV4_conv_small"
        " MobileNetV4_hybrid_medium EfficientNetB0 EfficientNetB0_small TinyNet_E".split(),
        64,
    ),
    "InceptionV4": 96,
    "MixNet_S": 224,
    "MixNet_M": 224,
}
# products of pictures with themselves soon overflow
GAINS = {"RedNet26": 0.5, "MicroNet_M1": 1, "MicroNet_M3": 1, "StarNet_S1": 0.2}


def structure(model):
    """The number of entries, and a digest of the keys with their shapes, in their order."""
    lines = [f"{key}:{list(value.shape)}" for key, value in model.state_dict().items()]
    return [len(lines), hashlib.md5("\n".join(lines).encode()).hexdigest()]


def run(paddle, model, size, gain=2):
    """The results for two fixed pictures; weights follow from their keys, `gain` is the variance of a layer's
    result."""
    parameters = {key for key, _ in model.named_parameters()}
    for key, value in model.state_dict().items():
        rng, shape = np.random.default_rng(zlib.crc32(key.encode())), value.shape
        if key not in parameters and not key.endswith(("_mean", "_variance")):
            continue
        if len(shape) > 1:
            fan = shape[0] if len(shape) == 2 else math.prod(shape[1:])
            array = rng.standard_normal(shape) * (gain / fan) ** 0.5
        elif key.endswith(("weight", "scale", "_variance")):
            array = rng.uniform(0.7, 1.3, shape)
        else:
            array = rng.uniform(-0.1, 0.1, shape)
        value.set_value(array.astype("float32"))
    model.eval()
    picture = np.random.default_rng(0).standard_normal((2, 3, size, size)).astype("float32")
    with paddle.no_grad():
        return model(paddle.to_tensor(picture)).numpy()


def gap(got, want):
    """The greatest difference of two results of `run`, against how much the results for both pictures differ."""
    got, want = np.asarray(got), np.asarray(want)
    scale = np.abs(want[0] - want[1]).max() + 0.01 * np.abs(want).max()
    return float(np.abs(got - want).max() / scale) if got.shape == want.shape else math.inf


def prepare(folder):
    """Imports the backbones of PaddleClas without what they do not need here."""
    for name in ("ppcls", "ppcls.utils", "ppcls.arch"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(Path(folder) / name.replace(".", "/"))]
    for name in ("save_load", "download", "logger"):
        module = sys.modules[f"ppcls.utils.{name}"] = types.ModuleType(name)
        module.__getattr__ = lambda _: lambda *_: None
    sys.modules["ppcls.utils"].logger = module
    import paddle

    create = paddle.nn.Layer.create_parameter

    def nameless(self, shape, attr=None, *args, **options):
        """Names of parameters in PaddleClas are the same for all networks, which the official package refuses."""
        attr = None if isinstance(attr, str) else attr
        if getattr(attr, "name", None):
            attr.name = None
        return create(self, shape, attr, *args, **options)

    paddle.nn.Layer.create_parameter = nameless
    return importlib.import_module("ppcls.arch.backbone")


def record(paddle, backbones):
    table = json.loads(TABLE.read_text())
    for name in table:
        with paddle.LazyGuard():
            table[name]["structure"] = structure(getattr(backbones, name)())
        if name in RUNS and "output" not in table[name]:
            result = run(paddle, getattr(backbones, name)(class_num=4), RUNS[name], GAINS.get(name, 2))
            table[name]["output"] = [[float(f"{v:.7g}") for v in row] for row in result]
            print(name, table[name]["output"], flush=True)
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table.items())
        TABLE.write_text("{\n" + rows + "\n}\n")


def check(paddle, names):
    table = json.loads(TABLE.read_text())
    for name in names or table:
        with paddle.LazyGuard():
            same = structure(paddle.vision.create_model(name)) == table[name]["structure"]
            model = paddle.vision.create_model(name, num_classes=4)
        result = ""
        if name in RUNS:
            result = f"{gap(run(paddle, model, RUNS[name], GAINS.get(name, 2)), table[name]['output']):.1e}"
        print(name, "same" if same else "OTHER KEYS OR SHAPES", result, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "record":
        found = prepare(sys.argv[2])
        import paddle

        record(paddle, found)
    else:
        import paddle

        check(paddle, sys.argv[2:])
