"""Decoding. Numbers without a formula beside them were recorded from the official package."""

import itertools

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.nn.decode import Decoder
from tests._check import compare


def model(cell=nn.LSTMCell, words=6, width=5):
    rng = np.random.RandomState(4)
    layers = nn.Embedding(words, width), cell(width, width), nn.Linear(width, words)
    for layer, scale in zip(layers, (1.0, 0.5, 2.0)):
        for p in layer.parameters():
            p.set_value(rng.uniform(-scale, scale, p.shape).astype("float32"))
    return *layers, rng


def test_beam_search():
    embed, cell, out, rng = model()
    decoder = nn.BeamSearchDecoder(cell, 0, 1, 3, embed, out)
    h = paddle.to_tensor(rng.randn(2, 5).astype("float32"))
    ids, states, lengths = nn.dynamic_decode(decoder, (h, h), max_step_num=5, return_length=True)
    assert ids.tolist() == [[[3, 4, 3], [3, 3, 4], [3, 3, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3]]] * 2
    assert lengths.tolist() == [[6, 6, 6]] * 2 and not states.finished.any()
    compare(states.log_probs, [[-4.57663, -4.79327, -5.22179], [-3.87196, -4.4996, -4.97399]])
    assert isinstance(states.cell_states, tuple) and states.cell_states[0].shape == [2, 3, 5]
    time_major, _ = nn.dynamic_decode(decoder, (h, h), max_step_num=5, output_time_major=True)
    compare(time_major.transpose([1, 0, 2]), ids.numpy())


def test_wide_beams_find_the_best_of_all_sequences():
    embed, cell, out, rng = model(nn.GRUCell, words=4)
    h = paddle.to_tensor(rng.randn(1, 5).astype("float32"))
    decoder = nn.BeamSearchDecoder(cell, 0, 1, 40, embed, out)
    ids, states, lengths = nn.dynamic_decode(decoder, h, max_step_num=2, return_length=True)
    scores = {}
    for sequence in itertools.product(range(4), repeat=3):
        word, state, score = 0, h, 0.0
        for i, following in enumerate(sequence):
            y, state = cell(embed(paddle.to_tensor([word])), state)
            score += float(nn.functional.log_softmax(out(y))[0, following])
            word = following
            if word == 1:
                sequence = sequence[: i + 1] + (1,) * (2 - i)
                break
        scores[sequence] = score
    best = sorted(scores, key=scores.get, reverse=True)[:5]
    assert [tuple(ids[0, :, k].tolist()) for k in range(5)] == best
    compare(states.log_probs[0, :5], [scores[s] for s in best], 1e-5, 1e-5)
    assert lengths[0, :5].tolist() == [s.index(1) + 1 if 1 in s else 3 for s in best]


def test_finished_beams_stay():
    table = paddle.to_tensor([[0.0, 0.5, -5.0], [9.0, 9.0, 9.0], [0.0, 0.0, 0.0]])  # logits that follow each token
    decoder = nn.BeamSearchDecoder(lambda ids, s: (table[ids], s), start_token=0, end_token=1, beam_size=2)
    ids, states, lengths = nn.dynamic_decode(decoder, paddle.zeros([1, 1]), return_length=True)
    assert ids.tolist() == [[[1, 0], [1, 1]]] and states.finished.all() and lengths.tolist() == [[1, 2]]
    first = nn.functional.log_softmax(table[0]).numpy()
    compare(states.log_probs, [[first[1], first[0] + first[1]]])


def test_tile_beams():
    x = paddle.arange(4).reshape([2, 2])
    assert nn.BeamSearchDecoder.tile_beam_merge_with_batch(x, 2).tolist() == [[0, 1], [0, 1], [2, 3], [2, 3]]


class Walk(Decoder):
    """Adds its input to its state until that exceeds 2; the second of the batch is finished from the start."""

    def initialize(self, inits):
        return inits, {"h": inits * 0}, paddle.to_tensor([False, True])

    def step(self, time, inputs, states, **kwargs):
        h = states["h"] + inputs
        return {"h": h, "time": time + 0 * h.astype("int64")}, {"h": h}, inputs, h > 2


@pytest.mark.parametrize("impute, final", [(False, [3.0, 3.0]), (True, [2.0, 0.0])])
def test_own_decoder(impute, final):
    outputs, states, lengths = nn.dynamic_decode(Walk(), paddle.ones([2]), impute_finished=impute, return_length=True)
    assert outputs["time"].tolist() == [[0, 1, 2]] * 2 and outputs["h"][0].tolist() == [1.0, 2.0, 3.0]
    assert states["h"].tolist() == final and lengths.tolist() == [2, 0]
    assert outputs["h"][1].tolist() == ([1.0, 1.0, 1.0] if impute else [1.0, 2.0, 3.0])


def test_the_last_step_is_included():
    outputs, _ = nn.dynamic_decode(Walk(), paddle.zeros([2]), max_step_num=3)
    assert outputs["h"].shape == [2, 4]
    assert nn.dynamic_decode(Walk(), paddle.zeros([2]), max_step_num=0)[0]["h"].shape == [2, 1]


def test_finalize_gets_the_stacked_outputs():
    class Last(Walk):
        def finalize(self, outputs, final_states, sequence_lengths):
            return outputs["h"].sum(0, keepdim=True), sequence_lengths

    assert nn.dynamic_decode(Last(), paddle.ones([2]))[0].tolist() == [[6.0], [6.0]]


def test_gradients_go_through_the_scores():
    embed, cell, out, rng = model(nn.GRUCell)
    _, states = nn.dynamic_decode(nn.BeamSearchDecoder(cell, 0, 1, 2, embed, out), paddle.ones([1, 5]), max_step_num=2)
    states.log_probs.sum().backward()
    assert out.weight.grad.abs().sum() > 0 and cell.weight_hh.grad.abs().sum() > 0


class Done(Walk):
    def initialize(self, inits):
        return inits, {"h": inits}, paddle.to_tensor([True, True])


def decode(cell, end_token):
    return nn.dynamic_decode(nn.BeamSearchDecoder(cell, 0, end_token, 2), paddle.ones([1, 3]), max_step_num=2)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: nn.BeamSearchDecoder(nn.GRUCell(2, 2), 0, 1, 0), ValueError, "beam_size"),
        (lambda: nn.BeamSearchDecoder(nn.GRUCell(2, 2), 0, 1, 2).initialize(None), TypeError, "initial states"),
        (lambda: decode(lambda x, s: (s, s), 7), ValueError, "end_token"),
        (lambda: decode(lambda x, s: (s[:, 0], s), 1), ValueError, "logits"),
        (lambda: nn.dynamic_decode(Done(), paddle.ones([2])), ValueError, "finished before"),
        (lambda: Decoder().initialize(None), NotImplementedError, "initialize"),
        (lambda: Decoder().step(None, None, None), NotImplementedError, "step"),
        (lambda: Decoder().finalize(None, None, None), NotImplementedError, "finalize"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
