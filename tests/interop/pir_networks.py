"""Networks of common kinds, small, in terms of the public layers: with the official package they become the fixtures of
whole models. Each is (function of the package that makes a layer, *inputs), with inputs written as in `pir_cases`."""

from __future__ import annotations

from typing import Any


def lenet(P: Any) -> Any:
    nn = P.nn
    return nn.Sequential(
        nn.Conv2D(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2, 2), nn.Conv2D(4, 8, 5), nn.ReLU(), nn.MaxPool2D(2, 2),
        nn.Flatten(), nn.Linear(200, 30), nn.Sigmoid(), nn.Linear(30, 10),
    )  # fmt: skip


def resnet(P: Any) -> Any:
    nn = P.nn

    class Block(nn.Layer):
        def __init__(self, i, o, stride):
            super().__init__()
            self.a = nn.Sequential(
                nn.Conv2D(i, o, 3, stride, 1, bias_attr=False), nn.BatchNorm2D(o), nn.ReLU(),
                nn.Conv2D(o, o, 3, 1, 1, bias_attr=False), nn.BatchNorm2D(o),
            )  # fmt: skip
            self.b = (
                nn.Sequential(nn.Conv2D(i, o, 1, stride, bias_attr=False), nn.BatchNorm2D(o)) if stride > 1 else None
            )

        def forward(self, x):
            return P.nn.functional.relu(self.a(x) + (x if self.b is None else self.b(x)))

    return nn.Sequential(
        nn.Conv2D(3, 8, 7, 2, 3, bias_attr=False), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(3, 2, 1), Block(8, 8, 1),
        Block(8, 16, 2), Block(16, 16, 1), nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


def mobilenet(P: Any) -> Any:
    nn = P.nn

    class Inverted(nn.Layer):
        def __init__(self, i, o, stride, factor):
            super().__init__()
            self.keep = stride == 1 and i == o
            h = i * factor
            self.a = nn.Sequential(
                nn.Conv2D(i, h, 1, bias_attr=False), nn.BatchNorm2D(h), nn.ReLU6(),
                nn.Conv2D(h, h, 3, stride, 1, groups=h, bias_attr=False), nn.BatchNorm2D(h), nn.Hardswish(),
                nn.Conv2D(h, o, 1, bias_attr=False), nn.BatchNorm2D(o),
            )  # fmt: skip

        def forward(self, x):
            return x + self.a(x) if self.keep else self.a(x)

    return nn.Sequential(
        nn.Conv2D(3, 8, 3, 2, 1), nn.BatchNorm2D(8), nn.ReLU6(), Inverted(8, 8, 1, 2), Inverted(8, 12, 2, 3),
        nn.AdaptiveAvgPool2D(1), nn.Flatten(1), nn.Dropout(0.2), nn.Linear(12, 10),
    )  # fmt: skip


def vgg(P: Any) -> Any:
    nn = P.nn
    return nn.Sequential(
        nn.Conv2D(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2D(2, 2), nn.Conv2D(8, 12, 3, padding=1), nn.ReLU(),
        nn.MaxPool2D(2, 2), nn.AdaptiveAvgPool2D((2, 2)), nn.Flatten(), nn.Linear(48, 24), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(24, 10), nn.Softmax(),
    )  # fmt: skip


def transformer(P: Any) -> Any:
    layer = P.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, activation="gelu")
    return P.nn.TransformerEncoder(layer, 2)


def bert(P: Any) -> Any:
    nn = P.nn

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.word, self.place, self.kind = nn.Embedding(50, 16), nn.Embedding(32, 16), nn.Embedding(2, 16)
            self.norm = nn.LayerNorm(16)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, activation="gelu"), 2)
            self.transform, self.norm2 = nn.Linear(16, 16), nn.LayerNorm(16)
            self.bias = self.create_parameter([50], is_bias=True)

        def forward(self, ids, kinds, mask):
            ones = P.ones_like(ids)
            places = P.cumsum(ones, axis=-1) - ones
            x = self.norm(self.word(ids) + self.place(places) + self.kind(kinds))
            m = (1.0 - mask.astype("float32").unsqueeze([1, 2])) * -1e4
            x = self.encoder(x, m)
            h = self.norm2(P.nn.functional.gelu(self.transform(x)))
            logits = P.matmul(h, self.word.weight, transpose_y=True) + self.bias
            return logits, P.tanh(x[:, 0])

    return Model()


def lstm(P: Any) -> Any:
    nn = P.nn

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn = nn.Embedding(30, 8), nn.LSTM(8, 12, num_layers=2, direction="bidirect", dropout=0.2)
            self.out = nn.Linear(24, 3)

        def forward(self, ids):
            y, (h, c) = self.rnn(self.embed(ids))
            return self.out(P.max(y, axis=1)), h, c

    return Model()


def gru(P: Any) -> Any:
    nn = P.nn

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.rnn, self.simple, self.out = nn.GRU(6, 10), nn.SimpleRNN(10, 5), nn.Linear(5, 3)

        def forward(self, x, lengths):
            y, h = self.rnn(x, sequence_length=lengths)
            z, _ = self.simple(y)
            return self.out(z[:, -1]), h

    return Model()


def crnn(P: Any) -> Any:
    nn = P.nn

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.cnn = nn.Sequential(
                nn.Conv2D(1, 8, 3, padding=1), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(2),
                nn.Conv2D(8, 12, 3, padding=1), nn.BatchNorm2D(12), nn.LeakyReLU(0.1), nn.MaxPool2D((8, 1), (8, 1)),
            )  # fmt: skip
            self.rnn, self.out = nn.LSTM(12, 10, direction="bidirectional"), nn.Linear(20, 11)

        def forward(self, x):
            x = self.cnn(x).squeeze(2).transpose([0, 2, 1])
            return P.nn.functional.log_softmax(self.out(self.rnn(x)[0]), axis=2)

    return Model()


def unet(P: Any) -> Any:
    nn = P.nn

    def double(i, o):
        return nn.Sequential(
            nn.Conv2D(i, o, 3, padding=1), nn.GroupNorm(2, o), nn.Silu(), nn.Conv2D(o, o, 3, padding=1),
            nn.InstanceNorm2D(o), nn.ReLU(),
        )  # fmt: skip

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = double(3, 4), double(4, 8), double(8, 16)
            self.up1, self.d = nn.Conv2DTranspose(16, 8, 2, stride=2), double(16, 8)
            self.e, self.out = double(12, 4), nn.Conv2D(4, 2, 1)

        def forward(self, x):
            F = P.nn.functional
            a = self.a(x)
            b = self.b(F.max_pool2d(a, 2))
            c = self.c(F.avg_pool2d(b, 2))
            d = self.d(P.concat([self.up1(c), b], axis=1))
            up = F.interpolate(d, size=P.shape(a)[2:], mode="bilinear", align_corners=True)
            e = self.e(P.concat([F.pad(up, [0, 0, 0, 0]), a], axis=1))
            return F.sigmoid(self.out(e))

    return Model()


def control(P: Any) -> Any:
    """Branches, loops, assignments, shapes from data: what dy2static makes of Python."""
    nn = P.nn

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("scale", P.to_tensor([0.5, 1.5, 2.0, 1.0]))

        def forward(self, x):
            y = self.linear(x) * self.scale
            y = P.reshape(y, [P.shape(y)[0], -1])
            if P.sum(y) > 0:
                y = y * 2
            else:
                y = y - 1
            i = P.zeros([], "int64")
            while i < 3:
                y = y + P.cast(i, "float32")
                i = i + 1
            z = P.assign(y)
            z[:, 1:3] = 0.25
            n = P.nonzero(y > 0)
            return y, z, P.masked_select(y, y > 0), P.shape(n)[0]

    return Model()


NETWORKS: dict[str, tuple] = {
    "lenet": (lenet, "f ?2,1,28,28"),
    "resnet": (resnet, "f ?2,3,32,32"),
    "mobilenet": (mobilenet, "f ?2,3,32,32"),
    "vgg": (vgg, "f ?2,3,16,16"),
    "transformer": (transformer, "f ?2,?7,16"),
    "bert": (bert, "i ?2,?7 0:50", "i ?2,?7 0:2", "i ?2,?7 0:2"),
    "lstm": (lstm, "i ?2,?5 0:30"),
    "gru": (gru, "f ?2,?5,6", "i ?2 1:6"),
    "crnn": (crnn, "f ?2,1,16,?24"),
    "unet": (unet, "f ?1,3,?16,?24"),
    "control": (control, "f ?3,4"),
}
