"""Twenty training steps of three networks from fixed weights, on made-up data and on real digits; runs under this package and under the official one.

python tests/nn/trajectories.py OUTPUT.json      (the official package made trajectories.json with this)
"""

import gzip
import json
import sys
from functools import cache
from pathlib import Path

import numpy as np

STEPS = 20
DIGITS = Path(__file__).parents[2] / "paddle" / "vision" / "datasets" / "digits"


def fill(paddle, layer):
    """Known weights, of the size that initialisation would give."""
    for n, p in enumerate(layer.parameters()):
        if p.stop_gradient:
            continue
        k = np.arange(int(np.prod(p.shape)))
        width = int(np.prod(p.shape[1:])) if len(p.shape) == 4 else p.shape[0] if len(p.shape) == 2 else 0
        value = np.cos(k * 1.37 + n) * (1.2 / np.sqrt(width) if width else 0.1)
        if len(p.shape) == 1 and "norm" in p.name and p.name.endswith("w_0"):
            value = value + 1
        p.set_value(value.reshape(p.shape).astype("float32"))
    return layer


def images(step):
    """Blurred strokes: ten kinds, each with its own direction and place."""
    y, x = np.mgrid[0:28, 0:28] / 27.0 - 0.5
    labels = (np.arange(16) * 3 + step) % 10
    angle, shift = labels * 0.31, 0.02 * ((np.arange(16) * 7 + step) % 9 - 4)
    distance = x[None] * np.cos(angle)[:, None, None] + y[None] * np.sin(angle)[:, None, None] - shift[:, None, None]
    return np.exp(-((distance * 8) ** 2))[:, None].astype("float32"), labels.astype("int64")


@cache
def digit_set():
    """Pictures [n, 1, 28, 28] and labels [n]."""
    pixels = gzip.decompress((DIGITS / "train-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((DIGITS / "train-labels-idx1-ubyte.gz").read_bytes())
    pictures = np.frombuffer(pixels, "uint8", offset=16).reshape(-1, 1, 28, 28)
    return pictures.astype("float32") / 127.5 - 1, np.frombuffer(labels, "uint8", offset=8).astype("int64")


def digits(step):
    pictures, labels = digit_set()
    return pictures[64 * step : 64 * step + 64], labels[64 * step : 64 * step + 64]


def tokens(step, vocabulary, length=9, batch=8):
    ids = (
        np.arange(batch * length).reshape(batch, length) * 5 + np.arange(batch)[:, None] * 3 + step % 2 * 7
    ) % vocabulary
    return ids.astype("int64"), (ids[:, 0] % 3).astype("int64")


def lenet(paddle):
    nn = paddle.nn
    return nn.Sequential(
        nn.Conv2D(1, 6, 3, stride=1, padding=1), nn.ReLU(), nn.MaxPool2D(2, 2), nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2, 2),
        nn.Flatten(), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10),
    )  # fmt: skip


def encoder(paddle):
    nn = paddle.nn

    class Classifier(nn.Layer):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(31, 16)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu"), 2)
            self.head = nn.Linear(16, 3)

        def forward(self, ids):
            return self.head(self.encoder(self.table(ids)).mean(1))

    return Classifier()


def bilstm(paddle):
    nn = paddle.nn

    class Tagger(nn.Layer):
        def __init__(self):
            super().__init__()
            self.table, self.lstm = nn.Embedding(31, 12), nn.LSTM(12, 10, 2, "bidirect")
            self.head = nn.Linear(20, 3)

        def forward(self, ids):
            lengths = paddle.to_tensor(np.arange(8) % 5 + 5)
            return self.head(self.lstm(self.table(ids), None, lengths)[0].mean(1))

    return Tagger()


def cases(paddle):
    opt, clip = paddle.optimizer, paddle.nn.ClipGradByGlobalNorm
    return {
        "lenet_momentum": (lenet, images, lambda p: opt.Momentum(0.05, 0.9, parameters=p, weight_decay=1e-3)),
        "lenet_adam": (lenet, images, lambda p: opt.Adam(2e-3, parameters=p)),
        "lenet_digits": (lenet, digits, lambda p: opt.Adam(1e-3, parameters=p)),
        "encoder_adamw": (
            encoder,
            lambda step: tokens(step, 31),
            lambda p: opt.AdamW(
                opt.lr.LinearWarmup(opt.lr.CosineAnnealingDecay(5e-3, 15), 5, 0.0, 5e-3),
                parameters=p,
                grad_clip=clip(1.0),
            ),
        ),
        "bilstm_sgd": (bilstm, lambda step: tokens(step, 31), lambda p: opt.SGD(0.3, parameters=p)),
        "bilstm_adam": (
            bilstm,
            lambda step: tokens(step, 31),
            lambda p: opt.Adam(opt.lr.StepDecay(1e-2, 6), parameters=p, grad_clip=clip(0.5)),
        ),
    }


def train(paddle, name):
    """The losses, and the norm of every parameter at the end."""
    make, data, optimizer = cases(paddle)[name]
    net = fill(paddle, make(paddle))
    opt = optimizer(net.parameters())
    losses = []
    for step in range(STEPS):
        x, label = data(step)
        loss = paddle.nn.functional.cross_entropy(net(paddle.to_tensor(x)), paddle.to_tensor(label))
        loss.backward()
        opt.step()
        opt.clear_grad()
        if not isinstance(opt._learning_rate, float):
            opt._learning_rate.step()
        losses.append(float(loss))
    return losses, [float(np.linalg.norm(p.numpy().astype("float64"))) for p in net.parameters()]


if __name__ == "__main__":
    import paddle

    found = {name: train(paddle, name) for name in cases(paddle)}
    text = json.dumps({k: [[float(f"{v:.7g}") for v in part] for part in pair] for k, pair in found.items()})
    with open(sys.argv[1], "w") as file:
        file.write(text.replace("]], ", "]],\n") + "\n")
