"""Quantised models against the float model: accuracy, size of the files, latency.

    python benchmarks/quantization.py [digits] [text] [mobilenet] [bert] [--repeats 30] [--json FILE]

The digits are those of scikit-learn, which ship with the package (1437 to train, 360 to test), the text is that of Python's
own manual (which of eight topics do 32 words in a row come from; every fourth stretch of 256 words is for testing).
`text` has one layer of width 128, `bert` four of 256.
MobileNetV3-small learns the digits in colour at 64 x 64. Latencies are medians in milliseconds of one sample and of a batch,
all variants in turns; `onnx` are the same files through ONNX Runtime, where it is installed.
"""

import argparse
import json
import os
import re
import statistics
import tempfile
import time

import numpy as np

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.quantization import QAT, PostTrainingStaticQuant, QuantConfig, WeightOnlyLinear, weight_only
from paddle.quantization.quanters import FakeQuanterWithAbsMaxObserver
from paddle.static import InputSpec
from paddle.vision.datasets import MNIST, digits_path
from paddle.vision.models import mobilenet_v3_small

TEXT = ("int8 weights", "int8 no data", "int8 hist", "int8 smooth, gptq", "weight only int8", "weight only int4")
MOBILE = ("int8 weights", "int8 no data", "int8 hist", "int8 mse")


class Digits(nn.Layer):
    """The network of examples/train_digits.py."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2),
            nn.Conv2D(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2),
        )  # fmt: skip
        self.classify = nn.Sequential(
            nn.Flatten(), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10)
        )

    def forward(self, x):
        return self.classify(self.features(x))


class Bert(nn.Layer):
    """A small BERT."""

    def __init__(self, words, classes, length=32, width=256, layers=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, activation="gelu", dropout=0.1)
        self.encoder, self.score = nn.TransformerEncoder(layer, layers), nn.Linear(width, classes)

    def forward(self, ids):
        x = self.words(ids) + self.places(paddle.arange(ids.shape[1]))
        return self.score(self.encoder(self.drop(self.norm(x))).mean(1))


def pictures(size=28, channels=1):
    """((images, labels) to train, the same to test)"""
    found = []
    for mode in ("train", "test"):
        pairs = list(MNIST(*digits_path(mode), mode=mode, backend="cv2"))
        images = np.stack([np.asarray(x, "float32").reshape(28, 28) for x, _ in pairs])[:, None] / 127.5 - 1
        if size != 28:
            images = F.interpolate(paddle.to_tensor(images), [size, size], mode="bilinear").numpy()
        found.append((np.repeat(images, channels, 1), np.array([int(np.ravel(y)[0]) for _, y in pairs], "int64")))
    return found


def text(topics=8, words=2000, length=32):
    """The same of the manual, as numbers of words."""
    from pydoc_data.topics import topics as manual

    names = sorted(sorted(manual), key=lambda n: -len(manual[n]))[:topics]
    rows = {"train": [], "test": []}
    stretches = [(c, re.findall(r"[a-z]+|[^\sa-z]", manual[n].lower())) for c, n in enumerate(names)]
    for label, tokens in stretches:
        for at in range(0, len(tokens) - length, length):
            rows["test" if at // 256 % 4 == 3 else "train"].append((tokens[at : at + length], label))
    counts = {}
    for tokens, _ in rows["train"]:
        for token in tokens:
            counts[token] = counts.get(token, 0) + 1
    known = {t: i + 1 for i, t in enumerate(sorted(counts, key=lambda t: (-counts[t], t))[: words - 1])}
    return [
        (np.array([[known.get(t, 0) for t in r] for r, _ in each], "int64"), np.array([y for _, y in each], "int64"))
        for each in rows.values()
    ]


def fit(net, x, y, epochs, rate, seed=0):
    net.train()
    optimizer = paddle.optimizer.Adam(rate, parameters=net.parameters())
    draw = np.random.RandomState(seed)
    for _ in range(epochs):
        order = draw.permutation(len(x))
        for at in range(0, len(x) - 31, 32):
            pick = order[at : at + 32]
            F.cross_entropy(net(paddle.to_tensor(x[pick])), paddle.to_tensor(y[pick])).backward()
            optimizer.step()
            optimizer.clear_grad()
    net.eval()
    return net


def variants(net, spec, train, folder, epochs, rate, only):
    """Write the model in all variants, or some; the names of the files."""
    x, y = train
    paddle.jit.save(net, f"{folder}/float32", spec)
    batches = [x[at : at + 64] for at in range(0, min(len(x), 512), 64)]
    for name, config, data in (
        ("int8 weights", {"quantize_type": "QUANT_NONE"}, None),
        ("int8 no data", {}, None),
        ("int8 hist", {"algo": "hist"}, batches),
        ("int8 KL", {"algo": "KL"}, batches),
        ("int8 mse", {"algo": "mse"}, batches),
        ("int8 smooth, gptq", {"algo": "hist", "smooth": 0.5, "gptq": True}, batches),
    ):
        if only and name not in only:
            continue
        quant = PostTrainingStaticQuant()
        quant.set_quant_config(config)
        quant.quantize(net, data, spec)
        quant.save_quantized_model(f"{folder}/{name}")
    for name, algo, group in (
        ("weight only int8", "weight_only_int8", -1),
        ("weight only int4", "weight_only_int4", 64),
    ):
        if only and name not in only:
            continue
        low = weight_only(net, algo, group)
        if any(type(x) is WeightOnlyLinear for x in low.sublayers()):  # sizes that are multiples of 64
            paddle.jit.save(low, f"{folder}/{name}", spec)
    if epochs:
        quanter = FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
        config = QuantConfig(None, None)
        config.add_type_config([nn.Linear, nn.Conv2D], activation=quanter, weight=quanter)
        net.train()
        qat = QAT(config)
        aware = fit(qat.quantize(net), x, y, epochs, rate)
        net.eval()
        paddle.jit.save(qat.convert(aware), f"{folder}/int8 QAT", spec)
    return sorted({f.removesuffix(".pdmodel") for f in os.listdir(folder) if f.endswith(".pdmodel")}, key=_order)


def _order(name):
    return name != "float32", name


def predictor_of(path, onnx=False):
    config = paddle.inference.Config(path)
    if onnx:
        config.enable_onnxruntime()
    return paddle.inference.create_predictor(config)


def run(predictor, x):
    handle = predictor.get_input_handle(predictor.get_input_names()[0])
    handle.reshape(x.shape)
    handle.copy_from_cpu(x)
    predictor.run()
    return predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()


def answers(predictor, x, batch):
    """The results of all samples, in batches of one size."""
    starts = [*range(0, len(x) - batch, batch), len(x) - batch]
    found = np.empty((len(x), run(predictor, x[:batch]).shape[1]), "float32")
    for at in starts:
        found[at : at + batch] = run(predictor, x[at : at + batch])
    return found


def latencies(predictors, x, repeats):
    times = {name: [] for name in predictors}
    for turn in range(repeats + 2):
        for name, predictor in predictors.items():
            start = time.perf_counter()
            run(predictor, x)
            if turn >= 2:  # the first ones compile
                times[name].append(time.perf_counter() - start)
    return {name: 1e3 * statistics.median(t) for name, t in times.items()}


def measure(title, net, train, test, batch, repeats, epochs, rate, shape=None, only=()):
    """A row for each variant; `shape` is that of the samples whose latency is measured."""
    spec = [InputSpec([None, *(shape or train[0].shape[1:])], train[0].dtype.name)]
    if shape is not None:  # the network takes pictures of several sizes
        spec = [InputSpec([None, shape[0], None, None], train[0].dtype.name)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        names = variants(net, spec, train, folder, epochs, rate, only)
        sample = np.random.RandomState(0).randn(batch, *shape).astype("float32") if shape else test[0][:batch]
        predictors = {n: predictor_of(f"{folder}/{n}") for n in names}
        exact = answers(predictors["float32"], test[0], batch)
        one, many = (latencies(predictors, sample[:n], repeats) for n in (1, batch))
        rival = {}
        try:
            import onnxruntime  # noqa: F401

            others = {
                n: predictor_of(f"{folder}/{n}", True)
                for n in ("float32", "int8 no data", "int8 hist", "int8 QAT")
                if n in names
            }
            rival = {n: t for n, t in latencies(others, sample, repeats).items()}
        except Exception as e:
            print(f"{title}: not through ONNX Runtime: {str(e).splitlines()[0]}")
        for name in names:
            got = answers(predictors[name], test[0], batch)
            rows.append({
                "model": title, "variant": name, "accuracy": float((got.argmax(1) == test[1]).mean()),
                "same": float((got.argmax(1) == exact.argmax(1)).mean()),
                "kilobytes": sum(os.path.getsize(f"{folder}/{name}{e}") for e in (".pdmodel", ".pdiparams")) / 1024,
                "one": one[name], "batch": many[name], "onnx": rival.get(name),
            })  # fmt: skip
    return rows


def show(rows, batch):
    print(
        f"\n| {rows[0]['model']} | accuracy | as float | KiB | ms, 1 | ms, {batch} | ms, {batch}, onnx |\n|---|---|---|---|---|---|---|"
    )
    for r in rows:
        onnx = "" if r["onnx"] is None else f"{r['onnx']:.2f}"
        print(
            f"| {r['variant']} | {100 * r['accuracy']:.2f} % | {100 * r['same']:.2f} % | {r['kilobytes']:.0f} "
            f"| {r['one']:.2f} | {r['batch']:.2f} | {onnx} |"
        )


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("models", nargs="*", default=["digits", "text", "mobilenet", "bert"])
    options.add_argument("--repeats", type=int, default=30, help="runs that are measured (default 30)")
    options.add_argument("--json", help="write the rows to a file")
    options = options.parse_args()
    rows = []
    for name in options.models:
        paddle.seed(1)
        start = time.perf_counter()
        if name == "digits":
            train, test = pictures()
            net = fit(Digits(), *train, 8, 0.002)
            found, batch = measure("digits CNN", net, train, test, 64, options.repeats, 2, 0.0005), 64
        elif name == "mobilenet":
            train, test = pictures(64, 3)
            net = fit(mobilenet_v3_small(num_classes=10), *train, 4, 0.002)
            shape = (3, 224, 224)
            found, batch = measure("MobileNetV3-small", net, train, test, 4, options.repeats, 0, 0.0, shape, MOBILE), 4
        elif name == "text":
            train, test = text()
            net = fit(Bert(2000, 8, width=128, layers=1), *train, 5, 0.001)
            found, batch = measure("text model", net, train, test, 16, options.repeats, 0, 0.0, None, TEXT), 16
        elif name == "bert":
            train, test = text()
            net = fit(Bert(2000, 8), *train, 5, 0.0005)
            found, batch = measure("small BERT", net, train, test, 16, options.repeats, 0, 0.0, None, TEXT), 16
        else:
            raise SystemExit(f"{name!r} is none of digits, text, mobilenet, bert")
        show(found, batch)
        print(f"{time.perf_counter() - start:.0f} s", flush=True)
        rows += found
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
