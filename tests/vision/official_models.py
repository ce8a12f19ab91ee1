"""Compares the networks of paddle.vision.models with the official package: keys, shapes, starting values and results.

    python tests/vision/official_models.py record    # with the official package: writes official_models.json
    python tests/vision/official_models.py check     # with this one, in some minutes: every network

The tests read the same table, and run the small networks of it.
"""

import hashlib
import json
import sys
import zlib
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_name("official_models.json")
# name: options, edge of the picture (default 32)
NETWORKS = {
    "LeNet": ({}, 28),
    "alexnet": ({}, 224),
    **{f"vgg{n}": ({}, 32) for n in (11, 13, 16, 19)},
    "vgg11 batch_norm": ({"batch_norm": True}, 32),
    **{f"resnet{n}": ({}, 32) for n in (18, 34, 50, 101, 152)},
    **{f"resnext{n}_{g}x4d": ({}, 32) for n in (50, 101, 152) for g in (32, 64)},
    "wide_resnet50_2": ({}, 32),
    "wide_resnet101_2": ({}, 32),
    "mobilenet_v1": ({}, 32),
    "mobilenet_v1 scale": ({"scale": 0.35}, 32),
    "mobilenet_v2": ({}, 32),
    "mobilenet_v2 scale": ({"scale": 0.35}, 64),
    "mobilenet_v2 features": ({"num_classes": 0, "with_pool": False}, 64),
    "mobilenet_v3_small": ({}, 64),
    "mobilenet_v3_small scale": ({"scale": 0.35}, 64),
    "mobilenet_v3_large": ({}, 32),
    **{f"densenet{n}": ({}, 32) for n in (121, 161, 169, 201, 264)},
    "inception_v3": ({}, 96),
    "squeezenet1_0": ({}, 64),
    "squeezenet1_1": ({}, 64),
    "squeezenet1_1 without pool": ({"with_pool": False}, 64),
    "googlenet": ({}, 224),
    "googlenet features": ({"num_classes": 0, "with_pool": False}, 64),
    **{f"shufflenet_v2_x{s}": ({}, 64) for s in ("0_25", "0_33", "0_5", "1_0", "1_5", "2_0")},
    "shufflenet_v2_swish": ({}, 64),
}


def structure(paddle, name):
    """The number of entries, trainable values, and a digest of the keys with their shapes, in their order."""
    options, _ = NETWORKS[name]
    with paddle.LazyGuard():
        model = getattr(paddle.vision.models, name.split()[0])(**options)
    lines = [f"{key}:{list(value.shape)}" for key, value in model.state_dict().items()]
    trainable = sum(int(np.prod(p.shape)) for p in model.parameters() if not p.stop_gradient)
    return [len(lines), trainable, hashlib.md5("\n".join(lines).encode()).hexdigest()]


def build(paddle, name):
    """The network with seven classes, its values made by NumPy."""
    options, _ = NETWORKS[name]
    model = getattr(paddle.vision.models, name.split()[0])(**{"num_classes": 7, **options})
    for key, value in model.state_dict().items():
        rng, shape = np.random.default_rng(zlib.crc32(key.encode())), value.shape
        if key.endswith("_variance"):
            array = rng.uniform(0.5, 1.5, shape)
        elif len(shape) > 1:
            fan = shape[0] if len(shape) == 2 else np.prod(shape[1:])
            array = rng.standard_normal(shape) * (2 / fan) ** 0.5
        else:
            array = rng.uniform(0.5, 1.0, shape) if key.endswith("weight") else rng.uniform(-0.1, 0.1, shape)
        value.set_value(array.astype("float32"))
    model.eval()
    return model


def outputs(paddle, name):
    """For each output its shape, its norm and five of its values."""
    _, size = NETWORKS[name]
    picture = np.random.default_rng(0).standard_normal((2, 1 if name == "LeNet" else 3, size, size))
    with paddle.no_grad():
        results = build(paddle, name)(paddle.to_tensor(picture.astype("float32")))
    rows = []
    for result in results if isinstance(results, (list, tuple)) else [results]:
        array = result.numpy()
        few = array.ravel()[np.linspace(0, array.size - 1, 5).astype(int)]
        rows.append([list(array.shape), float(np.linalg.norm(array)), *map(float, few)])
    return rows


def starting_values(paddle, name):
    """For every parameter that starts at random: standard deviation and greatest magnitude."""
    paddle.seed(0)
    model = getattr(paddle.vision.models, name.split()[0])(**NETWORKS[name][0])
    values = {k: v.numpy() for k, v in model.named_parameters() if not k.endswith(("_mean", "_variance"))}
    return {k: [round(float(v.std()), 6), round(float(np.abs(v).max()), 6)] for k, v in values.items() if v.size > 999}


def close(got, want):
    """The greatest difference between two results of `outputs`, relative to the norm; infinite for other shapes."""
    if [row[0] for row in got] != [row[0] for row in want]:
        return np.inf
    gaps = []
    for a, b in zip(got, want):
        scale = b[1] / np.prod(b[0]) ** 0.5
        gaps.append(max(abs(a[1] - b[1]) / b[1], *(abs(x - y) / scale for x, y in zip(a[2:], b[2:]))))
    return max(gaps)


def main(action):
    import paddle

    table = {} if action == "record" else json.loads(TABLE.read_text())
    for name in NETWORKS:
        if action == "record":
            table[name] = {"structure": structure(paddle, name), "outputs": outputs(paddle, name)}
        else:
            assert structure(paddle, name) == table[name]["structure"], name
            print(f"{name}: {close(outputs(paddle, name), table[name]['outputs']):.1e}", flush=True)
    if action == "record":
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table.items())
        TABLE.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
