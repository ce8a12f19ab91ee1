"""Recurrent operators of ATen on our operator for one layer in one direction."""

from __future__ import annotations

from typing import Any

import paddle as P

from ...engine import errors
from ...nn import functional as F
from ...ops.recurrent import rnn
from .table import aten


def _network(
    mode: str, x: Any, states: list, params: list, biases: bool, layers: int, p: float, train: bool, both: bool, first: bool,
    module: Any,
) -> tuple:  # fmt: skip
    """(outputs, final states of all layers and directions ...)."""
    directions = 2 if both else 1
    per = len(params) // (layers * directions)
    if per != (4 if biases else 2):
        raise errors.NotImplemented_(f"convert_model: aten.{mode.lower()} with projections")
    final: list[list] = [[] for _ in states]
    for i in range(layers):
        outputs = []
        for d in range(directions):
            k = i * directions + d
            weights = [*params[k * per : (k + 1) * per], *[None] * (5 - per)]
            out, *last = rnn(x, [s[k] for s in states], weights, None, mode, d == 1, not first, False)
            outputs.append(out)
            for kept, state in zip(final, last):
                kept.append(state)
        x = outputs[0] if directions == 1 else P.concat(outputs, -1)
        if p and i < layers - 1:
            x = F.dropout(x, p, training=train and (module is None or module.training))
    return (x, *[P.stack(kept) for kept in final])


@aten("lstm.input", module=True)
def lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, module=None):
    return _network(
        "LSTM", input, list(hx), params, has_biases, num_layers, dropout, train, bidirectional, batch_first, module
    )


def _one_state(mode: str) -> Any:
    def run(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, module=None):
        return _network(
            mode, input, [hx], params, has_biases, num_layers, dropout, train, bidirectional, batch_first, module
        )

    return run


for _name, _mode in {"gru.input": "GRU", "rnn_tanh.input": "RNN_TANH", "rnn_relu.input": "RNN_RELU"}.items():
    aten(_name, module=True)(_one_state(_mode))


@aten("lstm_cell")
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    gates = F.linear(input, w_ih.T, b_ih) + F.linear(hx[0], w_hh.T, b_hh)
    i, f, g, o = P.split(gates, 4, -1)
    c = F.sigmoid(f) * hx[1] + F.sigmoid(i) * P.tanh(g)
    return F.sigmoid(o) * P.tanh(c), c


@aten("gru_cell")
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    xr, xz, xn = P.split(F.linear(input, w_ih.T, b_ih), 3, -1)
    hr, hz, hn = P.split(F.linear(hx, w_hh.T, b_hh), 3, -1)
    r, z = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
    n = P.tanh(xn + r * hn)
    return n + z * (hx - n)
