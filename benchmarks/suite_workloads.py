"""The workloads of `suite.py`: unchanged dynamic-graph code, without decorators, from the same weights in each library.

A workload takes `Names` (ours and official Paddle run the same code) and gives a step; a step returns the loss, or the sum of
the outputs. `SMALL` makes it small enough for a test.
"""

from __future__ import annotations

import contextlib
import itertools

import numpy as np

import networks
from networks import data, fill


def _train(n, net, optimizer, batches, loss_of, context=contextlib.nullcontext):
    """An ordinary training loop; `batches` take turns."""
    batches = itertools.cycle(batches)

    if n.torch:

        def step():
            inputs = next(batches)
            with context():
                loss = loss_of(net, *inputs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss
    else:

        def step():
            inputs = next(batches)
            with context():
                loss = loss_of(net, *inputs)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            return loss

    return step


def _infer(n, net, x):
    net.eval()

    def step():
        with n.no_grad():
            return net(x)

    return step


def _classify(n):
    return lambda net, x, label: n.F.cross_entropy(net(x), label)


def _pictures(n, batch, shape, classes=10):
    label = np.random.RandomState(7).randint(0, classes, batch)
    return [(n.tensor(data(batch, *shape, seed=s)), n.tensor(label)) for s in range(2)]


# ---- overhead of small operators ----


def op_add(n, repeats=50):
    x, y = n.tensor(data(4, 4)), n.tensor(data(4, 4, seed=1))

    def step():
        for _ in range(repeats):
            z = x + y
        return z

    return step


def op_chain(n, depth=15):
    """Small operators forward and backward, and the new value of a weight."""
    w = n.tensor(data(4, 4))
    w.stop_gradient = False
    w.requires_grad = True
    tanh = n.library.tanh

    def step():
        y = w
        for _ in range(depth // 3):
            y = tanh(y * 1.1 + 0.1)
        loss = y.sum()
        loss.backward()
        with n.no_grad():
            w.add_(w.grad, alpha=-0.1) if n.torch else w.subtract_(w.grad * 0.1)
        w.grad = None
        return loss

    return step


# ---- perceptrons and convolutions ----


def mlp(n, batch=64):
    net, shape = networks.mlp(n)
    fill(net, n.torch)
    return _train(n, net, n.optimizer("Adam", net.parameters(), 1e-3), _pictures(n, batch, shape), _classify(n))


def lenet(n, batch=64):
    net, shape = networks.lenet(n)
    fill(net, n.torch)
    return _train(n, net, n.optimizer("Adam", net.parameters(), 1e-3), _pictures(n, batch, shape), _classify(n))


def _train_pictures(n, net, batch, side):
    fill(net, n.torch)
    name = "SGD" if n.torch else "Momentum"
    optimizer = n.optimizer(name, net.parameters(), 0.01, momentum=0.9, weight_decay=1e-4)
    return _train(n, net, optimizer, _pictures(n, batch, (3, side, side)), _classify(n))


def _infer_picture(n, net, side):
    fill(net, n.torch)
    return _infer(n, net, n.tensor(data(1, 3, side, side)))


def resnet18_train(n, batch=8, side=112, **more):
    return _train_pictures(n, networks.resnet(n, **more)[0], batch, side)


def resnet18_infer(n, side=224, **more):
    return _infer_picture(n, networks.resnet(n, **more)[0], side)


def mobilenet_v2_train(n, batch=8, side=112, **more):
    return _train_pictures(n, networks.mobile_v2(n, **more)[0], batch, side)


def mobilenet_v2_infer(n, side=224, **more):
    return _infer_picture(n, networks.mobile_v2(n, **more)[0], side)


# ---- sequences ----


def _reconstruct(net, x, y):
    return ((net(x) - y) ** 2).mean()


def encoder_train(n, batch=8, length=128, width=256, dropout=0.1, context=contextlib.nullcontext):
    net, _ = networks.encoder(n, width=width, dropout=dropout)
    fill(net, n.torch)
    batches = [
        (n.tensor(data(batch, length, width, seed=s)), n.tensor(data(batch, length, width, seed=9))) for s in (0, 1)
    ]
    return _train(n, net, n.optimizer("AdamW", net.parameters(), 1e-4), batches, _reconstruct, context)


def encoder_bf16(n, **sizes):
    cast = n.library.autocast if n.torch else n.library.amp.auto_cast
    more = {"device_type": "cpu", "dtype": n.library.bfloat16} if n.torch else {"level": "O1", "dtype": "bfloat16"}
    return encoder_train(n, **sizes, context=lambda: cast(**more))


def encoder_infer(n, batch=8, length=128, width=256):
    net, _ = networks.encoder(n, width=width)
    fill(net, n.torch)
    return _infer(n, net, n.tensor(data(batch, length, width)))


def gpt_decode(n, prompt=16, new=32, **sizes):
    """Greedy decoding of one text; the keys and values grow by `concat`, each token is looked at."""
    net = fill(networks.gpt(n, **sizes), n.torch)
    net.eval()
    words = sizes.get("words", 4000)
    start = n.tensor(np.random.RandomState(0).randint(0, words, (1, prompt)))

    def step():
        tokens, place, caches = start, 0, None
        total = 0.0
        with n.no_grad():
            for _ in range(new):
                scores, caches = net(tokens, place, caches)
                place += tokens.shape[1]
                tokens = scores.argmax(-1).reshape([1, 1])
                total += int(tokens)
        return total

    return step


def lstm(n, batch=16, length=50, inputs=64, width=128):
    net = fill(networks.tagger(n, inputs, width)[0], n.torch)
    label = n.tensor(np.random.RandomState(7).randint(0, 20, batch * length))
    batches = [(n.tensor(data(batch, length, inputs, seed=s)), label) for s in range(2)]

    def loss(net, x, label):
        return n.F.cross_entropy(net(x).reshape([-1, 20]), label)

    return _train(n, net, n.optimizer("Adam", net.parameters(), 1e-3), batches, loss)


def crnn(n, batch=8, columns=128, letters=8, **sizes):
    net = fill(networks.crnn(n, **sizes), n.torch)
    length = columns // 4
    labels = n.tensor(np.random.RandomState(7).randint(1, 37, (batch, letters)).astype("int32"))
    lengths, label_lengths = n.tensor(np.full(batch, length)), n.tensor(np.full(batch, letters))
    batches = [(n.tensor(data(batch, 1, 32, columns, seed=s)), labels) for s in range(2)]

    def loss(net, x, labels):
        scores = net(x)
        if n.torch:  # the official function takes the softmax itself
            scores = n.F.log_softmax(scores, 2)
        return n.F.ctc_loss(scores, labels, lengths, label_lengths)

    return _train(n, net, n.optimizer("Adam", net.parameters(), 1e-3), batches, loss)


# ---- others ----


def pinn(n, points=512, width=32):
    """A perceptron that learns u'' = -sin(x) sin(y) from its second derivatives (Raissi et al., 2019)."""
    nn, grad = n.nn, n.library.autograd.grad if n.torch else n.library.grad
    net = nn.Sequential(
        nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
        nn.Linear(width, 1),
    )  # fmt: skip
    fill(net, n.torch)
    batches = []
    for s in range(2):
        x, y = n.tensor(data(points, 1, seed=s)), n.tensor(data(points, 1, seed=s + 2))
        for t in (x, y):
            t.stop_gradient = False
            t.requires_grad = True
        batches.append((x, y))

    def loss(net, x, y):
        u = net(n.concat([x, y], 1))
        ux, uy = grad(u.sum(), [x, y], create_graph=True)
        uxx = grad(ux.sum(), [x], create_graph=True)[0]
        uyy = grad(uy.sum(), [y], create_graph=True)[0]
        return ((uxx + uyy + n.library.sin(x) * n.library.sin(y)) ** 2).mean()

    return _train(n, net, n.optimizer("Adam", net.parameters(), 1e-3), batches, loss)


def adam_300(n, tensors=300, side=16):
    """Only the optimizer's step, over many small parameters."""
    make = n.nn.Parameter if n.torch else lambda x: n.library.create_parameter([side, side], "float32")
    parameters = [make(n.tensor(data(side, side, seed=i))) for i in range(tensors)]
    for i, parameter in enumerate(parameters):
        if not n.torch:
            parameter.set_value(data(side, side, seed=i))
        parameter.grad = n.tensor(data(side, side, seed=i + 1))
    optimizer = n.optimizer("Adam", parameters, 1e-3)

    def step():
        optimizer.step()
        return parameters[-1]

    return step


def recommender(n, batch=512, tables=8, rows=20000):
    net = fill(networks.recommender(n, tables, rows), n.torch)
    rng = np.random.RandomState(7)
    batches = [
        (n.tensor(rng.randint(0, rows, (batch, tables))), n.tensor(data(batch, 13)), n.tensor((data(batch) > 0).astype("float32")))
        for _ in range(2)
    ]  # fmt: skip

    def loss(net, categories, values, clicked):
        return n.F.binary_cross_entropy_with_logits(net(categories, values), clicked)

    return _train(n, net, n.optimizer("Adam", net.parameters(), 1e-3), batches, loss)


WORKLOADS = (
    op_add, op_chain, mlp, lenet, resnet18_train, resnet18_infer, mobilenet_v2_train, mobilenet_v2_infer, encoder_train,
    encoder_infer, encoder_bf16, gpt_decode, lstm, crnn, pinn, adam_300, recommender,
)  # fmt: skip
WORKLOADS = {function.__name__: function for function in WORKLOADS}

SAME = {
    "encoder_train": {"dropout": 0.0},
    "encoder_bf16": {"dropout": 0.0},
}  # where losses are compared: nothing random
TOLERANCE = {"encoder_bf16": 0.02}  # relative, of losses; 0.002 where nothing is said

SMALL = {
    "op_add": {"repeats": 3}, "op_chain": {"depth": 6}, "mlp": {"batch": 4}, "lenet": {"batch": 2},
    **dict.fromkeys(("resnet18_train",), {"batch": 2, "side": 32, "widths": (4, 8)}),
    **dict.fromkeys(("resnet18_infer",), {"side": 32, "widths": (4, 8)}),
    **dict.fromkeys(("mobilenet_v2_train",), {"batch": 2, "side": 32, "blocks": ((1, 8, 1, 1), (6, 8, 2, 2))}),
    **dict.fromkeys(("mobilenet_v2_infer",), {"side": 32, "blocks": ((1, 8, 1, 1), (6, 8, 2, 2))}),
    **dict.fromkeys(("encoder_train", "encoder_bf16", "encoder_infer"), {"batch": 2, "length": 8, "width": 16}),
    "gpt_decode": {"prompt": 4, "new": 3, "words": 50, "layers": 1, "width": 16, "heads": 2},
    "lstm": {"batch": 2, "length": 5, "inputs": 4, "width": 8}, "crnn": {"batch": 2, "columns": 32, "letters": 3, "width": 8},
    "pinn": {"points": 8, "width": 8}, "adam_300": {"tensors": 5, "side": 3},
    "recommender": {"batch": 4, "tables": 2, "rows": 10},
}  # fmt: skip


def make(library, name: str, same: bool = False, small: bool = False):
    """The step of a workload in a library; `same` without anything random, `small` for tests."""
    n = networks.Names(library, library.__name__ == "torch")
    library.manual_seed(0) if n.torch else library.seed(0)
    return WORKLOADS[name](n, **(SAME.get(name, {}) if same else {}), **(SMALL[name] if small else {}))


def value(out) -> float:
    """What a step returned as a number, which waits for it: a loss, or the sum of squares of outputs."""
    if hasattr(out, "detach"):
        out = out.detach().numpy()
    return float(np.square(out).sum()) if getattr(out, "ndim", 0) else float(out)
