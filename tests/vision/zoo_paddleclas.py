"""Compares networks of the library with those of PaddleClas: keys, shapes and results.

    python tests/vision/zoo_paddleclas.py record FOLDER [NAME...]   # official paddle and a copy of PaddleClas in FOLDER
    python tests/vision/zoo_paddleclas.py check [NAME...]           # with this paddle, in some minutes

`record` writes zoo_paddleclas.json, which `check` and the tests read. Equal keys take equal values, made by NumPy from
the key. Of networks with attention the shape of the result, its norm and five values are compared, of networks of
convolutions, whose results for two pictures differ little, all of it.
"""

import collections
import hashlib
import importlib
import json
import math
import sys
import types
import zlib
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("zoo_paddleclas.json")
# module of PaddleClas: the names there
NETWORKS = {
    "cae": "cae_base_patch16_224 cae_large_patch16_224",
    "convnext": "ConvNeXt_tiny ConvNeXt_small ConvNeXt_base_224 ConvNeXt_base_384 ConvNeXt_large_224 ConvNeXt_large_384",
    "cswin_transformer": "CSWinTransformer_tiny_224 CSWinTransformer_small_224 CSWinTransformer_base_224"
    " CSWinTransformer_large_224 CSWinTransformer_base_384 CSWinTransformer_large_384",
    "cvt": "CvT_13_224 CvT_13_384 CvT_21_224 CvT_21_384 CvT_W24_384",
    "distilled_vision_transformer": "DeiT_tiny_patch16_224 DeiT_small_patch16_224 DeiT_base_patch16_224"
    " DeiT_tiny_distilled_patch16_224 DeiT_small_distilled_patch16_224 DeiT_base_distilled_patch16_224"
    " DeiT_base_patch16_384 DeiT_base_distilled_patch16_384",
    "dsnet": "DSNet_tiny DSNet_small DSNet_base",
    "foundation_vit": "CLIP_vit_base_patch32_224 CLIP_vit_base_patch16_224 CLIP_vit_large_patch14_336"
    " CLIP_vit_large_patch14_224 BEiTv2_vit_base_patch16_224 BEiTv2_vit_large_patch16_224 CAE_vit_base_patch16_224"
    " EVA_vit_giant_patch14 MOCOV3_vit_small MOCOV3_vit_base MAE_vit_huge_patch14 MAE_vit_large_patch16"
    " MAE_vit_base_patch16",
    "mobilevit": "MobileViT_XXS MobileViT_XS MobileViT_S",
    "mobilevit_v2": "MobileViTV2_x0_5 MobileViTV2_x0_75 MobileViTV2_x1_0 MobileViTV2_x1_25 MobileViTV2_x1_5"
    " MobileViTV2_x1_75 MobileViTV2_x2_0",
    "mobilevit_v3": "MobileViTV3_XXS MobileViTV3_XS MobileViTV3_S MobileViTV3_XXS_L2 MobileViTV3_XS_L2 MobileViTV3_S_L2"
    " MobileViTV3_x0_5 MobileViTV3_x0_75 MobileViTV3_x1_0",
    "nextvit": "NextViT_small_224 NextViT_base_224 NextViT_large_224 NextViT_small_384 NextViT_base_384"
    " NextViT_large_384",
    "pvt_v2": "PVT_V2_B0 PVT_V2_B1 PVT_V2_B2_Linear PVT_V2_B2 PVT_V2_B3 PVT_V2_B4 PVT_V2_B5",
    "svtrnet": "SVTR_tiny SVTR_base SVTR_large",
    "legendary_models.swin_transformer": "SwinTransformer_tiny_patch4_window7_224"
    " SwinTransformer_small_patch4_window7_224 SwinTransformer_base_patch4_window7_224"
    " SwinTransformer_base_patch4_window12_384 SwinTransformer_large_patch4_window7_224"
    " SwinTransformer_large_patch4_window12_384",
    "swin_transformer_v2": "SwinTransformerV2_tiny_patch4_window8_256 SwinTransformerV2_small_patch4_window8_256"
    " SwinTransformerV2_base_patch4_window8_256 SwinTransformerV2_tiny_patch4_window16_256"
    " SwinTransformerV2_small_patch4_window16_256 SwinTransformerV2_base_patch4_window16_256"
    " SwinTransformerV2_base_patch4_window24_384 SwinTransformerV2_large_patch4_window16_256"
    " SwinTransformerV2_large_patch4_window24_384",
    "tnt": "TNT_small TNT_base",
    "twins": "pcpvt_small pcpvt_base pcpvt_large alt_gvt_small alt_gvt_base alt_gvt_large",
    "uniformer": "UniFormer_small UniFormer_small_plus UniFormer_small_plus_dim64 UniFormer_base UniFormer_base_ls",
    # without ViT_small_patch16_224, which is another network than the one of the paper
    "vision_transformer": "ViT_base_patch16_224 ViT_base_patch16_384 ViT_base_patch32_384 ViT_large_patch16_224"
    " ViT_large_patch16_384 ViT_large_patch32_384",
    "van": "VAN_B0 VAN_B1 VAN_B2 VAN_B3",
}
NETWORKS = {module: names.split() for module, names in NETWORKS.items()}
ATTENTION = [name for names in NETWORKS.values() for name in names]
CAE = {"init_values": 0.1, "use_rel_pos_bias": True, "use_abs_pos_emb": False, "sin_pos_emb": True}
# what the functions of PaddleClas need besides their names, as in its configurations
GIVEN = {name: {**CAE, "enable_linear_eval": False, "model_key": "", "model_ema": {}} for name in NETWORKS["cae"]}
SMALL_VIT = (32, {"img_size": 32, "depth": 2}, "VisionTransformer", {"img_size": 32, "depth": 2})
# name: edge of the picture, options of this library, class of PaddleClas and its options in place of those of the name
RUNS = {
    "cae_base_patch16_224": SMALL_VIT,
    "CSWinTransformer_tiny_224": (
        64,
        {"img_size": 64, "stripes": (1, 2, 2), "depths": (1, 2, 2, 1)},
        "CSwinTransformer",
        {"image_size": 64, "splits": [1, 2, 2, 2], "depths": [1, 2, 2, 1]},
    ),
    "ConvNeXt_tiny": (64, {"depths": (1, 1, 2, 1)}, "ConvNeXt", {"depths": [1, 1, 2, 1]}),
    "CvT_13_224": (64, {}, "", {}),
    "DeiT_tiny_distilled_patch16_224": (
        32,
        {"img_size": 32, "depth": 2},
        "DistilledVisionTransformer",
        {"img_size": 32, "depth": 2},
    ),
    "DSNet_tiny": (64, {}, "MixVisionTransformer", {"img_size": 64}),
    "CLIP_vit_base_patch32_224": (64, {**SMALL_VIT[1], "img_size": 64}, SMALL_VIT[2], {**SMALL_VIT[3], "img_size": 64}),
    "CLIP_vit_base_patch16_224": SMALL_VIT,
    "BEiTv2_vit_base_patch16_224": SMALL_VIT,
    "CAE_vit_base_patch16_224": SMALL_VIT,
    "EVA_vit_giant_patch14": (28, {"img_size": 28, "depth": 1}, "VisionTransformer", {"img_size": 28, "depth": 1}),
    "MOCOV3_vit_small": SMALL_VIT,
    "MobileViT_XXS": (96, {}, "", {}),
    "MobileViTV2_x0_5": (64, {}, "", {}),
    "MobileViTV3_XXS_L2": (96, {}, "", {}),
    "MobileViTV3_x0_5": (64, {}, "", {}),
    "NextViT_small_224": (64, {"depths": (1, 2, 5, 2)}, "NextViT", {"depths": [1, 2, 5, 2]}),
    "PVT_V2_B0": (64, {}, "", {}),
    "PVT_V2_B2_Linear": (64, {"depths": (1, 1, 2, 1)}, "PyramidVisionTransformerV2", {"depths": [1, 1, 2, 1]}),
    "SVTR_tiny": ((16, 40), {"img_size": (16, 40)}, "SVTRNet", {"img_size": [16, 40]}),
    # PaddleClas shifts also where one window is the whole picture, the paper does not
    "SwinTransformer_tiny_patch4_window7_224": (
        64,
        {"img_size": 64, "window": 2, "depths": (2, 2, 2, 1)},
        "SwinTransformer",
        {"img_size": 64, "window_size": 2, "depths": [2, 2, 2, 1]},
    ),
    "SwinTransformerV2_tiny_patch4_window8_256": (
        64,
        {"img_size": 64, "window": 4, "trained": (3, 3, 3, 0), "depths": (2, 2, 2, 2)},
        "SwinTransformerV2",
        {"img_size": 64, "window_size": 4, "pretrained_window_sizes": [3, 3, 3, 0], "depths": [2, 2, 2, 2]},
    ),
    "pcpvt_small": (64, {"depths": (2, 1, 1, 1)}, "CPVTV2", {"depths": [2, 1, 1, 1]}),
    "alt_gvt_small": (
        64,
        {"window": 2, "depths": (2, 2, 2, 2)},
        "ALTGVT",
        {"wss": [2, 2, 2, 2], "depths": [2, 2, 2, 2]},
    ),
    "TNT_small": (32, {"img_size": 32, "depth": 2}, "TNT", {"img_size": 32, "depth": 2}),
    "UniFormer_small": (64, {"depths": (1, 1, 2, 1)}, "UniFormer", {"img_size": 64, "depth": [1, 1, 2, 1]}),
    "UniFormer_small_plus": (64, {"depths": (1, 1, 2, 1)}, "UniFormer", {"depth": [1, 1, 2, 1]}),
    "UniFormer_base_ls": (64, {"depths": (1, 1, 2, 1)}, "UniFormer", {"img_size": 64, "depth": [1, 1, 2, 1]}),
    "ViT_base_patch16_224": SMALL_VIT,
    "VAN_B0": (64, {}, "", {}),
}


# networks of convolutions in pictures of this edge; all of their result is compared
CONVOLUTIONS = {
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
    entries = [(k, v) for k, v in model.state_dict().items() if not k.endswith(".attn_mask")]  # follow from the sizes
    lines = [f"{key}:{list(value.shape)}" for key, value in entries]
    return [len(lines), hashlib.md5("\n".join(lines).encode()).hexdigest()]


def trainable(model):
    """How many values are trained."""
    return sum(math.prod(p.shape) for p in model.parameters() if not p.stop_gradient)


def fill(model, gain=None):
    """Gives every parameter and statistic values that follow from its key; `gain` is the variance of the result of a
    layer of convolutions."""
    parameters = {key for key, _ in model.named_parameters()}
    low, high, spread = (0.5, 1.0, 0.5) if gain is None else (0.7, 1.3, 0.3)
    for key, value in model.state_dict().items():
        rng, shape = np.random.default_rng(zlib.crc32(key.encode())), value.shape
        if key not in parameters and not key.endswith(("_mean", "_variance")):
            continue
        if key.endswith("_variance"):
            array = rng.uniform(1 - spread, 1 + spread, shape)
        elif len(shape) > 1:
            fan = shape[0] if len(shape) == 2 else math.prod(shape[1:])
            array = rng.standard_normal(shape) * (1 / max(fan, 4) if gain is None else gain / fan) ** 0.5
        elif key.endswith("weight" if gain is None else ("weight", "scale")):
            array = rng.uniform(low, high, shape)
        else:
            array = rng.uniform(-0.1, 0.1, shape)
        value.set_value(array.astype("float32"))


def result(paddle, model, size):
    """The results for two fixed pictures."""
    model.eval()
    picture = np.random.default_rng(0).standard_normal((2, 3, *(size if isinstance(size, tuple) else (size, size))))
    with paddle.no_grad():
        return model(paddle.to_tensor(picture.astype("float32"))).numpy()


def run(paddle, model, name, size):
    """What is compared of the results for two fixed pictures."""
    if name in CONVOLUTIONS:
        fill(model, GAINS.get(name, 2))
        return [[float(f"{v:.7g}") for v in row] for row in result(paddle, model, size)]
    fill(model)
    array = result(paddle, model, size)
    few = array.ravel()[np.linspace(0, array.size - 1, 5).astype(int)]
    return [list(array.shape), float(np.linalg.norm(array)), *map(float, few)]


def gap(name, got, want):
    """The greatest difference between two results of `run`: of convolutions against how much the results for both
    pictures differ, else relative to their size; infinite for other shapes."""
    if name in CONVOLUTIONS:
        got, want = np.asarray(got), np.asarray(want)
        scale = np.abs(want[0] - want[1]).max() + 0.01 * np.abs(want).max()
        return float(np.abs(got - want).max() / scale) if got.shape == want.shape else math.inf
    if got[0] != want[0]:
        return math.inf
    scale = want[1] / math.prod(want[0]) ** 0.5
    return max(abs(got[1] - want[1]) / want[1], *(abs(x - y) / scale for x, y in zip(got[2:], want[2:])))


def small(paddle, name):
    """The network of which the results are compared, and the edge of its pictures."""
    if name in CONVOLUTIONS:
        return ours(paddle, name, num_classes=4), CONVOLUTIONS[name]
    size, options = RUNS[name][:2]
    return ours(paddle, name, num_classes=7, **options), size


def ours(paddle, name, **options):
    with paddle.LazyGuard():
        return paddle.vision.create_model(name, **options)


def prepare(folder):
    """Lets the backbones of PaddleClas be imported without what they do not need here."""
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


def theirs(paddle, name, family="", options=None, classes=1000):
    """A network of PaddleClas, whose class `family` gets these options in place of those of the name."""
    where = next((module for module, names in NETWORKS.items() if name in names), None)
    if where is None:
        return getattr(importlib.import_module("ppcls.arch.backbone"), name)(class_num=classes)
    where = where if "." in where else f"model_zoo.{where}"
    module = importlib.import_module(f"ppcls.arch.backbone.{where}")
    module.MODEL_URLS = collections.defaultdict(str)  # that of the package has gaps
    if not family:
        return getattr(module, name)(pretrained=False, class_num=classes, **GIVEN.get(name, {}))
    kind, chosen = getattr(module, family), {**(options or {}), "class_num": classes}
    original = kind.__init__
    kind.__init__ = lambda self, *args, **given: original(self, *args, **{**given, **chosen})
    try:
        return getattr(module, name)(pretrained=False, **GIVEN.get(name, {}))
    finally:
        kind.__init__ = original


def record(paddle, names):
    table = json.loads(TABLE.read_text())
    for name in names or table:
        family = "VisionTransformer" if "eva" in name.lower() else ""  # without it EVA has no classes
        model = theirs(paddle, name, family)
        row = table[name] = {"structure": structure(model), "trainable": trainable(model)}
        if name in CONVOLUTIONS:
            row["output"] = run(paddle, theirs(paddle, name, classes=4), name, CONVOLUTIONS[name])
        elif name in RUNS:
            size, _, family, options = RUNS[name]
            row["output"] = run(paddle, theirs(paddle, name, family, options, 7), name, size)
        print(name, row, flush=True)
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table.items())
        TABLE.write_text("{\n" + rows + "\n}\n")


def check(paddle, names):
    table = json.loads(TABLE.read_text())
    for name in names or table:
        model, want = ours(paddle, name), table[name]
        same = structure(model) == want["structure"] and trainable(model) == want.get("trainable", trainable(model))
        compared = ""
        if "output" in want:
            model, size = small(paddle, name)
            compared = f"{gap(name, run(paddle, model, name, size), want['output']):.1e}"
        print(name, "same" if same else "OTHER KEYS OR SHAPES", compared, flush=True)


if __name__ == "__main__":
    action, *rest = sys.argv[1:]
    if action == "record":
        prepare(rest.pop(0))
    import paddle

    {"record": record, "check": check}[action](paddle, rest)
