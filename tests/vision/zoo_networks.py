"""One small network of each kind, and the numbers of parameters that are published for all.

    python tests/vision/zoo_networks.py record    # rewrites the results in zoo_networks.json
    python tests/vision/zoo_networks.py check [NAME...]    # builds and runs every network of the library, in hours
    python tests/vision/zoo_networks.py check --results FILE [NAME...]    # the same, without those that FILE has as passed

The published numbers in zoo_networks.json are those of timm and torchvision. The results were recorded after every network
named here had been compared with timm's from equal weights.
"""

import json
import math
import re
import sys
import time
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("zoo_networks.json")
# name: edge of the picture, options
NETWORKS = {
    "resnet18_vd": (32, {}),
    "se_resnet18": (32, {}),
    "eca_resnet18": (32, {}),
    "res2next50": (32, {}),
    "regnety_002": (32, {}),
    "efficientnet_b0": (32, {}),
    "efficientnetv2_b0": (32, {}),
    "mobilenetv4_conv_small": (32, {}),
    "ghostnet_x0_5": (32, {}),
    "pplcnet_x0_25": (32, {}),
    "pphgnet_tiny": (32, {}),
    "pphgnetv2_b0": (32, {}),
    "convnext_atto": (32, {}),
    "convnextv2_atto": (32, {}),
    "vit_tiny_patch16_224": (32, {"img_size": 32}),
    "deit_tiny_distilled_patch16_224": (32, {"img_size": 32}),
    "beit_base_patch16_224": (32, {"img_size": 32}),
    "swin_tiny_patch4_window7_224": (64, {"img_size": 64, "window": 4}),
    "mixer_s32_224": (64, {"img_size": 64}),
    "resmlp_12_224": (32, {"img_size": 32}),
    "gmlp_ti16_224": (32, {"img_size": 32}),
    "convmixer_768_32": (28, {}),
    "pvt_v2_b0": (32, {}),
    "repvgg_a0": (32, {}),
    "hrnet_w18_small": (64, {}),
    "dla46x_c": (32, {}),
    "levit_128s": (64, {"img_size": 64}),
    "tnt_s_patch16_224": (32, {"img_size": 32}),
}


def count(paddle, name):
    """Trainable values, without making them."""
    with paddle.LazyGuard():
        model = paddle.vision.create_model(name)
    return sum(math.prod(p.shape) for p in model.parameters() if not p.stop_gradient)


def run(paddle, name):
    """Shape, norm and three values of the result, from values made by NumPy."""
    size, options = NETWORKS[name]
    with paddle.LazyGuard():
        model = paddle.vision.create_model(name, num_classes=5, **options)
    entries = [(key, value) for key, value in model.state_dict().items() if "float" in str(value.dtype)]
    for i, (key, value) in enumerate(entries):
        rng, shape = np.random.default_rng(i), value.shape
        fan = 1 if len(shape) < 2 else shape[0] if len(shape) == 2 else math.prod(shape[1:])
        low, high = (0.5, 1.5) if key.endswith("_variance") else (0.4, 0.9) if key.endswith("weight") else (-0.1, 0.1)
        array = rng.uniform(low, high, shape) if len(shape) < 2 else rng.standard_normal(shape) * (1.5 / fan) ** 0.5
        value.set_value(array.astype("float32"))
    model.eval()
    picture = np.random.default_rng(0).standard_normal((2, 3, size, size)).astype("float32")
    with paddle.no_grad():
        result = model(paddle.to_tensor(picture)).numpy()
    return [list(result.shape), float(np.linalg.norm(result)), *map(float, result.ravel()[[0, 4, 7]])]


def edge(name):
    """Height and width of a picture that every network with this name takes, as small as possible."""
    if name.startswith("svtr"):
        return 48, 320
    if re.match("levit|googlenet|alexnet|alt_gvt|efficientformer|eva|mae|moco|pvt_(?!v2)|tnt_(base|small)$", name):
        return 224, 224
    found = re.search(r"_(224|256|336|384|448|512)$", name)
    size = int(found[1]) if found else 28 if "convmixer" in name else 96 if "inception" in name else 64
    return size, size


def check(paddle, names, results=None):
    """Builds and runs the networks; the names of those that fail. A file of results gets a line for each and is taken up again."""
    failed = []
    lines = Path(results).read_text().splitlines() if results and Path(results).exists() else []
    passed = {line.split()[0] for line in lines if "FAILS" not in line}
    for name in names or paddle.vision.list_models():
        if name in passed:
            continue
        size, start = edge(name), time.perf_counter()
        try:
            with paddle.LazyGuard():
                model = paddle.vision.create_model(name, num_classes=2)
            # the blocks of RedNet multiply pictures with themselves: random weights overflow, here and in PaddleClas, but
            # for normalisation by the batch
            squares = name.startswith("rednet")
            (model.train if squares else model.eval)()
            with paddle.no_grad():
                result = model(paddle.rand([1 + squares, 3, *size]))
            result = result[0] if isinstance(result, tuple) else result
            assert result.shape == [1 + squares, 2] and bool(result.isfinite().all()), result
            line = f"{name} {count(paddle, name)} {time.perf_counter() - start:.1f} s"
        except Exception as e:
            failed.append(name)
            line = f"{name} FAILS {type(e).__name__}: {e}".replace("\n", " ")
        print(line, flush=True)
        if results:
            with open(results, "a") as file:
                file.write(line + "\n")
    return failed


def record(paddle):
    table = json.loads(TABLE.read_text())
    table["results"] = {name: run(paddle, name) for name in NETWORKS}
    rows = [
        f'"{part}": {{\n' + ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in d.items()) + "\n}"
        for part, d in table.items()
    ]
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    import paddle

    action, *names = sys.argv[1:]
    results = None
    if names[:1] == ["--results"]:
        _, results, *names = names
    sys.exit(record(paddle) if action == "record" else " ".join(check(paddle, names, results)) or None)
