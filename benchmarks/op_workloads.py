"""Single operators at three sizes, for `ops.py`. A row gives the expression for PaddlePaddle and for PyTorch; x, y are
square matrices, v a vector of as many elements, i integer indices of rows, m a mask."""

from __future__ import annotations

import numpy as np

SIZES = {"small": 16, "middle": 256, "large": 1024}

# name: (paddle, torch); F is nn.functional
OPS = {
    "add": ("x + y", "x + y"),
    "multiply": ("x * y", "x * y"),
    "divide": ("x / y", "x / y"),
    "pow": ("x ** 3", "x ** 3"),
    "scalar": ("x * 2.5 + 1.0", "x * 2.5 + 1.0"),
    "maximum": ("P.maximum(x, y)", "P.maximum(x, y)"),
    "exp": ("P.exp(x)", "P.exp(x)"),
    "log": ("P.log(p)", "P.log(p)"),
    "sqrt": ("P.sqrt(p)", "P.sqrt(p)"),
    "sin": ("P.sin(x)", "P.sin(x)"),
    "tanh": ("P.tanh(x)", "P.tanh(x)"),
    "sigmoid": ("F.sigmoid(x)", "P.sigmoid(x)"),
    "abs": ("P.abs(x)", "P.abs(x)"),
    "floor": ("P.floor(x)", "P.floor(x)"),
    "erf": ("P.erf(x)", "P.erf(x)"),
    "clip": ("P.clip(x, -1.0, 1.0)", "P.clamp(x, -1.0, 1.0)"),
    "where": ("P.where(m, x, y)", "P.where(m, x, y)"),
    "equal": ("x == y", "x == y"),
    "less": ("x < y", "x < y"),
    "isnan": ("P.isnan(x)", "P.isnan(x)"),
    "sum": ("x.sum()", "x.sum()"),
    "sum_rows": ("x.sum(axis=1)", "x.sum(dim=1)"),
    "mean_columns": ("x.mean(axis=0)", "x.mean(dim=0)"),
    "max_rows": ("P.max(x, axis=1)", "P.amax(x, dim=1)"),
    "argmax": ("P.argmax(x, axis=1)", "P.argmax(x, dim=1)"),
    "std": ("P.std(x, axis=1)", "P.std(x, dim=1)"),
    "prod": ("P.prod(p, axis=1)", "P.prod(p, dim=1)"),
    "logsumexp": ("P.logsumexp(x, axis=1)", "P.logsumexp(x, dim=1)"),
    "norm": ("P.linalg.norm(x)", "P.linalg.norm(x)"),
    "cumsum": ("P.cumsum(x, axis=1)", "P.cumsum(x, dim=1)"),
    "cumprod": ("P.cumprod(p, dim=1)", "P.cumprod(p, dim=1)"),
    "sort": ("P.sort(x, axis=1)", "P.sort(x, dim=1)[0]"),
    "argsort": ("P.argsort(x, axis=1)", "P.argsort(x, dim=1)"),
    "topk": ("P.topk(x, 5, axis=1)[0]", "P.topk(x, 5, dim=1)[0]"),
    "median": ("P.median(x, axis=1)", "P.median(x, dim=1)[0]"),
    "matmul": ("P.matmul(x, y)", "P.matmul(x, y)"),
    "matmul_t": ("P.matmul(x, y, transpose_y=True)", "P.matmul(x, y.T)"),
    "matvec": ("P.mv(x, r)", "P.mv(x, r)"),
    "einsum": ("P.einsum('ij,kj->ik', x, y)", "P.einsum('ij,kj->ik', x, y)"),
    "outer": ("P.outer(r, r)", "P.outer(r, r)"),
    "transpose": ("x.transpose([1, 0]) + y", "x.t() + y"),
    "reshape": ("x.reshape([-1])", "x.reshape(-1)"),
    "concat": ("P.concat([x, y], axis=1)", "P.cat([x, y], dim=1)"),
    "stack": ("P.stack([x, y])", "P.stack([x, y])"),
    "split": ("P.split(x, 2, axis=1)[1]", "P.chunk(x, 2, dim=1)[1].clone()"),
    "tile": ("P.tile(x, [1, 2])", "P.tile(x, (1, 2))"),
    "flip": ("P.flip(x, [1])", "P.flip(x, [1])"),
    "roll": ("P.roll(x, 3, 1)", "P.roll(x, 3, 1)"),
    "pad": ("F.pad(x, [1, 1, 1, 1])", "F.pad(x, [1, 1, 1, 1])"),
    "tril": ("P.tril(x)", "P.tril(x)"),
    "gather": ("P.gather(x, i)", "P.index_select(x, 0, i)"),
    "index": ("x[i]", "x[i]"),
    "slice": ("x[1:-1, ::2] + 0.0", "x[1:-1, ::2] + 0.0"),
    "take_along": ("P.take_along_axis(x, k, 1)", "P.gather(x, 1, k)"),
    "scatter": ("P.scatter(x, i, y)", "x.index_copy(0, i, y)"),
    "index_add": ("P.index_add(x, i, 0, y)", "x.index_add(0, i, y)"),
    "cast": ("x.astype('float64')", "x.to(P.float64)"),
    "softmax": ("F.softmax(x, axis=-1)", "F.softmax(x, dim=-1)"),
    "gelu": ("F.gelu(x)", "F.gelu(x)"),
    "layer_norm": ("F.layer_norm(x, [n])", "F.layer_norm(x, [n])"),
    "one_hot": ("F.one_hot(i, n)", "F.one_hot(i, n)"),
    "rand": ("P.rand([n, n])", "P.rand([n, n])"),
    "randn": ("P.randn([n, n])", "P.randn([n, n])"),
    "solve": ("P.linalg.solve(d, y)", "P.linalg.solve(d, y)"),
}


def _make(kind: str, name: str, size: str):
    expression = OPS[name][kind == "torch"]
    n = SIZES[size]

    def build(library):
        rng = np.random.RandomState(0)
        put = library.tensor if kind == "torch" else library.to_tensor
        x, y = rng.randn(n, n).astype("float32"), rng.randn(n, n).astype("float32")
        names = {
            "P": library,
            "F": library.nn.functional,
            "n": n,
            "x": put(x),
            "y": put(y),
            "p": put(np.abs(x) + 0.5),
            "m": put(x > 0),
            "r": put(x[0]),
            "i": put(rng.permutation(n)),
            "k": put(rng.randint(0, n, (n, n))),
            "d": put(x + n * np.eye(n, dtype="float32")),
        }
        return eval(f"lambda: {expression}", names)

    return build


def __getattr__(attribute: str):
    kind, _, rest = attribute.partition("_")
    name, _, size = rest.rpartition("_")
    if kind not in ("paddle", "torch") or name not in OPS or size not in SIZES:
        raise AttributeError(attribute)
    return _make(kind, name, size)
