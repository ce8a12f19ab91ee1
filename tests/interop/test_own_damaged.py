"""Damaged and hostile models of our own format: a ValueError or NotImplementedError, nothing else."""

import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import test_pir_damaged

import paddle
from paddle import nn
from paddle.interop.models import read_model
from paddle.static import InputSpec

MUTATIONS = int(os.environ.get("OWN_MUTATIONS", "300"))


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.drop = nn.Linear(3, 4), nn.BatchNorm1D(4), nn.Dropout(0.5)

    def forward(self, x):
        h = self.drop(self.norm(self.linear(x)))
        if h.sum() > 1e6:
            h = h * 0
        i = paddle.zeros([], "int64")
        while i < 3:
            h, i = h + 1.0, i + 1
        return h.reshape([paddle.shape(x)[0] * 2, -1]), paddle.nonzero(h), x[1:], paddle.rand([3])


def saved(folder):
    paddle.jit.save(Net(), str(folder / "net"), [InputSpec([None, 3])])
    rows = nn.Sequential(nn.Embedding(9, 4), nn.TransformerEncoderLayer(4, 2, 8))
    paddle.jit.save(rows, str(folder / "rows"), [InputSpec([None, 5], "int64")])
    cube = paddle.jit.to_static(lambda x: paddle.grad((x**3).sum(), x)[0])
    paddle.jit.save(cube, str(folder / "gradient"), [InputSpec([2])])
    return [
        tuple((folder / (n + e)).read_bytes() for e in (".pdmodel", ".pdiparams")) for n in ("net", "rows", "gradient")
    ]


def test_mutations_end_in_a_clear_error(tmp_path):
    models, refused = saved(tmp_path), 0
    for model in models:
        read_model(*model)
    for seed in range(MUTATIONS):
        r = random.Random(seed)
        damaged = test_pir_damaged.damage(*r.choice(models), r)
        try:
            read_model(*damaged)
        except (ValueError, NotImplementedError) as e:
            refused += 1
            assert str(e)
    assert refused > MUTATIONS // 2
