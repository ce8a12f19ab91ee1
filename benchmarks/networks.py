"""Networks in the ordinary code of both libraries, from the same weights, for `suite.py` and `infer.py`."""

from __future__ import annotations

import zlib

import numpy as np


def data(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


class Names:
    """The same layers and functions under the names of both libraries."""

    def __init__(self, library, torch: bool):
        nn = library.nn
        self.nn, self.F, self.torch, self.library = nn, nn.functional, torch, library
        self.conv = nn.Conv2d if torch else nn.Conv2D
        self.norm = nn.BatchNorm2d if torch else nn.BatchNorm2D
        self.max_pool = nn.MaxPool2d if torch else nn.MaxPool2D
        self.mean_pool = nn.AdaptiveAvgPool2d if torch else nn.AdaptiveAvgPool2D
        self.module = nn.Module if torch else nn.Layer
        self.tensor = library.tensor if torch else library.to_tensor
        self.no_grad = library.no_grad

    def conv_norm(self, i, o, k, stride=1, groups=1, act=None):
        bias = {"bias": False} if self.torch else {"bias_attr": False}
        layers = [self.conv(i, o, k, stride=stride, padding=k // 2, groups=groups, **bias), self.norm(o)]
        return self.nn.Sequential(*layers, *([(act or self.nn.ReLU)()] if act is not False else []))

    def concat(self, tensors, axis):
        return self.library.cat(tensors, dim=axis) if self.torch else self.library.concat(tensors, axis=axis)

    def attention(self, q, k, v, causal):
        """Scaled dot products of [batch, length, heads, width]."""
        if self.torch:
            q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
            return self.F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2)
        return self.F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def lstm(self, inputs, width, layers):
        more = {"bidirectional": True, "batch_first": True} if self.torch else {"direction": "bidirect"}
        return self.nn.LSTM(inputs, width, num_layers=layers, **more)

    def optimizer(self, kind, parameters, rate, **more):
        make = getattr(self.library.optim if self.torch else self.library.optimizer, kind)
        return make(parameters, lr=rate, **more) if self.torch else make(rate, parameters=parameters, **more)


# ---- weights ----


def _value(name: str, shape: tuple[int, ...], bound: float) -> np.ndarray:
    rng = np.random.RandomState(zlib.crc32(name.encode()))
    return rng.uniform(-bound, bound, shape).astype("float32")


def _weight(name: str, shape: tuple[int, ...], embedding: bool = False) -> np.ndarray:
    """A weight in Paddle's order [in, out], or of a convolution [out, in, ...]; scales of norms are 1."""
    if len(shape) == 1:
        return np.ones(shape, "float32") if name.endswith("weight") else _value(name, shape, 0.05)
    inputs = 1 if embedding else shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
    return _value(name, shape, (3.0 / inputs) ** 0.5)


def fill(net, torch: bool):
    """Give a network the weights that belong to the names of its parameters, the same in every library."""
    for path, layer in net.named_modules() if torch else net.named_sublayers(include_self=True):
        kind = type(layer).__name__
        own = layer.named_parameters(recurse=False) if torch else layer.named_parameters(include_sublayers=False)
        for name, parameter in [] if kind in ("LSTMCell", "RNN", "BiRNN") else own:
            if name.startswith("_"):  # Paddle's running mean and variance
                continue
            full, shape = f"{path}.{name}", tuple(parameter.shape)
            if name.startswith("in_proj"):  # PyTorch keeps the three projections of attention together
                part, width = name.removeprefix("in_proj_"), shape[-1] if len(shape) == 2 else shape[0] // 3
                value = np.concatenate(
                    [_weight(f"{path}.{p}_proj.{part}", (width,) * len(shape)).T for p in "qkv"], axis=0
                )
            elif kind == "LSTM":
                value = _value(full, shape, layer.hidden_size**-0.5)
            elif torch and kind.endswith("Linear") and len(shape) == 2:
                value = _weight(full, shape[::-1]).T
            else:
                value = _weight(full, shape, kind == "Embedding")
            if torch:
                parameter.data.copy_(parameter.data.new_tensor(value))
            else:
                parameter.set_value(value)
    return net


# ---- networks ----


def mlp(n):
    nn = n.nn
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)), (784,)


def lenet(n):
    nn = n.nn
    return nn.Sequential(
        n.conv(1, 6, 3, padding=1), nn.ReLU(), n.max_pool(2, 2), n.conv(6, 16, 5), nn.ReLU(), n.max_pool(2, 2),
        nn.Flatten(), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10),
    ), (1, 28, 28)  # fmt: skip


def _residual(n, body, shortcut, last):
    class Residual(n.module):
        def __init__(self):
            super().__init__()
            self.body, self.shortcut, self.last = body, shortcut, last

        def forward(self, x):
            y = self.body(x) + (x if self.shortcut is None else self.shortcut(x))
            return y if self.last is None else self.last(y)

    return Residual()


def resnet(n, widths=(64, 128, 256, 512)):
    """The layers of ResNet-18 (He et al., 2016)."""
    width = widths[0]
    layers = [n.conv_norm(3, width, 7, 2), n.max_pool(3, 2, padding=1)]
    for i, out in enumerate(widths):
        for j in range(2):
            stride = 2 if i and not j else 1
            body = n.nn.Sequential(n.conv_norm(width, out, 3, stride), n.conv_norm(out, out, 3, act=False))
            shortcut = n.conv_norm(width, out, 1, stride, act=False) if stride > 1 else None
            layers.append(_residual(n, body, shortcut, n.nn.ReLU()))
            width = out
    return n.nn.Sequential(*layers, n.mean_pool(1), n.nn.Flatten(), n.nn.Linear(width, 1000)), (3, 224, 224)


def mobile(n):
    """Depthwise separable blocks as in MobileNet (Howard et al., 2017)."""
    layers = [n.conv_norm(3, 32, 3, 2)]
    width = 32
    for out, stride in (
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        *[(512, 1)] * 5,
        (1024, 2),
        (1024, 1),
    ):
        layers += [n.conv_norm(width, width, 3, stride, groups=width), n.conv_norm(width, out, 1)]
        width = out
    return n.nn.Sequential(*layers, n.mean_pool(1), n.nn.Flatten(), n.nn.Linear(1024, 1000)), (3, 224, 224)


MOBILE_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def mobile_v2(n, blocks=MOBILE_V2):
    """The layers of MobileNetV2 (Sandler et al., 2018): blocks of (expansion, width, repeats, stride)."""
    layers = [n.conv_norm(3, 32, 3, 2, act=n.nn.ReLU6)]
    width = 32
    for expansion, out, repeats, stride in blocks:
        for i in range(repeats):
            step, hidden = stride if i == 0 else 1, width * expansion
            body = [n.conv_norm(width, hidden, 1, act=n.nn.ReLU6)] if expansion > 1 else []
            body += [
                n.conv_norm(hidden, hidden, 3, step, groups=hidden, act=n.nn.ReLU6),
                n.conv_norm(hidden, out, 1, act=False),
            ]
            body = n.nn.Sequential(*body)
            layers.append(_residual(n, body, None, None) if step == 1 and width == out else body)
            width = out
    layers += [n.conv_norm(width, 1280, 1, act=n.nn.ReLU6), n.mean_pool(1), n.nn.Flatten(), n.nn.Linear(1280, 1000)]
    return n.nn.Sequential(*layers), (3, 224, 224)


def encoder(n, layers=4, width=256, dropout=0.1):
    nn, more = n.nn, {"batch_first": True} if n.torch else {}
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout, **more)
    return nn.TransformerEncoder(layer, layers, **({"enable_nested_tensor": False} if n.torch else {})), (128, width)


def tagger(n, inputs=64, width=128):
    """A bidirectional LSTM of two layers and a linear layer (Hochreiter and Schmidhuber, 1997)."""

    class Tagger(n.module):
        def __init__(self):
            super().__init__()
            self.lstm, self.out = n.lstm(inputs, width, 2), n.nn.Linear(2 * width, 20)

        def forward(self, x):
            return self.out(self.lstm(x)[0])

    return Tagger(), (50, inputs)


def gpt(n, words=4000, layers=4, width=256, heads=8, places=128):
    """A decoder of the GPT-2 kind (Radford et al., 2019) that keeps keys and values."""
    nn = n.nn

    class Block(n.module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, cache):
            batch, length = x.shape[0], x.shape[1]
            h = self.norm1(x)
            q, k, v = (f(h).reshape([batch, length, heads, width // heads]) for f in (self.q, self.k, self.v))
            if cache is not None:
                k, v = n.concat([cache[0], k], 1), n.concat([cache[1], v], 1)
            h = n.attention(q, k, v, cache is None).reshape([batch, length, width])
            x = x + self.out(h)
            return x + self.down(n.F.gelu(self.up(self.norm2(x)))), (k, v)

    class GPT(n.module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
            self.blocks = (nn.ModuleList if n.torch else nn.LayerList)([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

        def forward(self, tokens, start, caches):
            x = self.words(tokens) + self.places(n.library.arange(start, start + tokens.shape[1]))
            kept = []
            for block, cache in zip(self.blocks, caches or [None] * layers):
                x, cache = block(x, cache)
                kept.append(cache)
            return self.head(self.norm(x)[:, -1]), kept

    return GPT()


def crnn(n, width=64, letters=37):
    """Convolutions, a bidirectional LSTM and scores for CTC, for text in pictures of height 32 (Shi et al., 2015)."""
    nn = n.nn

    class CRNN(n.module):
        def __init__(self):
            super().__init__()
            self.convs = nn.Sequential(
                n.conv_norm(1, width // 2, 3), n.max_pool(2, 2),
                n.conv_norm(width // 2, width, 3), n.max_pool(2, 2),
                n.conv_norm(width, 2 * width, 3), n.max_pool((2, 1), (2, 1)),
                n.conv_norm(2 * width, 2 * width, 3), n.max_pool((4, 1), (4, 1)),
            )  # fmt: skip
            self.lstm, self.out = n.lstm(2 * width, width, 2), nn.Linear(2 * width, letters)

        def forward(self, x):
            x = self.convs(x).squeeze(2)  # [batch, 2 * width, length]
            x = x.permute(0, 2, 1) if n.torch else x.transpose([0, 2, 1])
            x = self.out(self.lstm(x)[0])
            return x.permute(1, 0, 2) if n.torch else x.transpose([1, 0, 2])

    return CRNN()


def recommender(n, tables=8, rows=20000, width=16, numbers=13):
    """Tables of categories and a perceptron over their rows (Cheng et al., 2016)."""
    nn = n.nn

    class Recommender(n.module):
        def __init__(self):
            super().__init__()
            self.tables = (nn.ModuleList if n.torch else nn.LayerList)(
                [nn.Embedding(rows, width) for _ in range(tables)]
            )
            self.deep = nn.Sequential(
                nn.Linear(tables * width + numbers, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)
            )

        def forward(self, categories, values):
            found = [table(categories[:, i]) for i, table in enumerate(self.tables)]
            return self.deep(n.concat([*found, values], 1)).squeeze(1)

    return Recommender()
