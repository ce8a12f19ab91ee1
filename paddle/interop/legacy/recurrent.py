"""Recurrent layers: several layers and directions over sequences that are padded to one length."""

from __future__ import annotations

import paddle
from paddle.nn import functional as F

from ...ops.recurrent import rnn as run_layer
from .call import Call, translates


def stacked(op: Call, x, states: list, weights: list, lengths, mode: str, layers: int, both: bool, batch: int):
    """(outputs, final states) of layers on x, [time, batch, features]. `weights` has for every layer and direction the
    matrices of input and state, and behind them for each the two biases."""
    directions = 2 if both else 1
    matrices, biases = weights[: 2 * layers * directions], weights[2 * layers * directions :]
    finals: list = [[] for _ in states]
    for layer in range(layers):
        outs = []
        for direction in range(directions):
            k = layer * directions + direction
            bias = biases[2 * k : 2 * k + 2] if biases else [None, None]
            first = [s[k] for s in states]
            out, *last = run_layer(
                x, first, [*matrices[2 * k : 2 * k + 2], *bias, None], lengths, mode, direction == 1, True, True
            )
            outs.append(out)
            for found, state in zip(finals, last):
                found.append(state)
        x = outs[0] if len(outs) == 1 else paddle.concat(outs, -1)
        p = op.attr("dropout_prob", 0.0)
        if p and not op.attr("is_test", False) and layer < layers - 1:
            x = F.dropout(x, p)
    return x, [paddle.stack(f, 0) for f in finals]


@translates("rnn")
def rnn(op):
    mode = op.attr("mode", "RNN_TANH")
    out, states = stacked(
        op, op["Input"], op.list("PreState"), op.list("WeightList"), op.get("SequenceLength"), mode,
        op.attr("num_layers", 1), bool(op.attr("is_bidirec", False)), 1,
    )  # fmt: skip
    return {"Out": out, "State": states}


@translates("cudnn_lstm")
def cudnn_lstm(op):
    if not op.has("WeightList"):
        raise NotImplementedError("cudnn_lstm: weights in one piece (models before 2.0)")
    out, (h, c) = stacked(
        op, op["Input"], [op["InitH"], op["InitC"]], op.list("WeightList"), op.get("SequenceLength"), "LSTM",
        op.attr("num_layers", 1), bool(op.attr("is_bidirec", False)), 1,
    )  # fmt: skip
    return {"Out": out, "LastH": h, "LastC": c}


@translates("gru_unit")
def gru_unit(op):
    """One step: gates from x and the state, both with weights of the state [size, 3 * size]."""
    x, h, w = op["Input"], op["HiddenPrev"], op["Weight"]
    size = w.shape[0]
    if op.has("Bias"):
        x = x + op["Bias"].reshape([1, -1])
    kinds = {0: lambda v: v, 1: F.sigmoid, 2: paddle.tanh, 3: F.relu}
    gate, act = kinds[op.attr("gate_activation", 1)], kinds[op.attr("activation", 2)]
    flat = w.reshape([-1])  # the two gates first, as one matrix, then the candidate
    gates = flat[: 2 * size * size].reshape([size, 2 * size])
    candidate = flat[2 * size * size :].reshape([size, size])
    both = gate(x[:, : 2 * size] + paddle.matmul(h, gates))
    update, reset = both[:, :size], both[:, size:]
    new = act(x[:, 2 * size :] + paddle.matmul(reset * h, candidate))
    kept = update if op.attr("origin_mode", False) else 1.0 - update
    return {
        "Hidden": kept * h + (1.0 - kept) * new,
        "ResetHiddenPrev": reset * h,
        "Gate": paddle.concat([update, reset, new], 1),
    }


@translates("lstm_unit")
def lstm_unit(op):
    x, c = op["X"], op["C_prev"]
    i, f, o, j = paddle.split(x, 4, 1)
    c = F.sigmoid(f + op.attr("forget_bias", 0.0)) * c + F.sigmoid(i) * paddle.tanh(j)
    return {"C": c, "H": F.sigmoid(o) * paddle.tanh(c)}
