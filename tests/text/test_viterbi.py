"""viterbi_decode against the search through all sequences, and official values."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
from paddle.text import ViterbiDecoder, viterbi_decode


def best(potentials, transitions, length, marks):
    """The best score and sequence among all."""
    start, stop = (transitions[-1], transitions[-2]) if marks else (0 * transitions[0], 0 * transitions[0])

    def score(tags):
        inside = sum(potentials[t, tag] for t, tag in enumerate(tags))
        return inside + sum(transitions[a, b] for a, b in zip(tags, tags[1:])) + start[tags[0]] + stop[tags[-1]]

    found = max(itertools.product(range(len(transitions)), repeat=length), key=score)
    return score(found), list(found)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 4), st.integers(2, 4), st.booleans(), st.integers(0, 1000))
def test_against_all_sequences(steps, tags, marks, seed):
    rng = np.random.RandomState(seed)
    potentials, transitions = rng.randn(3, steps, tags), rng.randn(tags, tags)
    lengths = rng.randint(1, steps + 1, 3)
    scores, paths = viterbi_decode(*map(paddle.to_tensor, (potentials, transitions, lengths)), marks)
    assert paths.shape == [3, lengths.max()] and paths.dtype is paddle.int64
    for i, length in enumerate(lengths):
        score, path = best(potentials[i], transitions, length, marks)
        assert np.isclose(scores[i].item(), score)
        assert paths[i].tolist() == path + [0] * (lengths.max() - length)


def test_official_values():
    rng = np.random.RandomState(0)
    potentials = paddle.to_tensor(rng.rand(3, 5, 4).astype("float32"))
    decoder = ViterbiDecoder(paddle.to_tensor(rng.rand(4, 4).astype("float32")))
    scores, paths = decoder(potentials, paddle.to_tensor([5, 3, 1]))
    assert np.allclose(scores.numpy(), [8.341193, 5.374786, 2.4133542]) and scores.stop_gradient
    assert paths.tolist() == [[2, 2, 2, 0, 2], [0, 3, 0, 0, 0], [2, 0, 0, 0, 0]]
    scores, paths = decoder(potentials, paddle.to_tensor([0, 2, 1]))
    assert np.allclose(scores.numpy(), [1.5255747, 3.7315218, 2.4133542])
    assert paths.tolist() == [[0, 0], [0, 2], [2, 0]]
    ties = viterbi_decode(paddle.zeros([1, 4, 3]), paddle.zeros([3, 3]), paddle.to_tensor([4]))
    assert ties[1].tolist() == [[0, 0, 0, 0]]


def test_other_lengths_make_no_compilations():
    decoder = ViterbiDecoder(paddle.ones([3, 3]))
    decoder(paddle.ones([2, 6, 3]), paddle.to_tensor([6, 2]))
    with paddle.utils.count_compiles() as count:
        decoder(paddle.ones([2, 6, 3]), paddle.to_tensor([6, 5]))
    assert count.compiles == 0


def test_in_a_program():
    decoder = ViterbiDecoder(paddle.ones([3, 3]))
    compiled = paddle.jit.to_static(decoder.forward)
    potentials = paddle.to_tensor(np.random.RandomState(1).randn(2, 5, 3).astype("float32"))
    for lengths in ([4, 2], [5, 1], [2, 2]):
        lengths = paddle.to_tensor(lengths)
        for got, want in zip(compiled(potentials, lengths), decoder(potentials, lengths)):
            assert got.shape == want.shape and np.allclose(got.numpy(), want.numpy())


def test_nothing_to_decode():
    assert [
        t.shape for t in viterbi_decode(paddle.ones([0, 4, 3]), paddle.ones([3, 3]), paddle.zeros([0], "int64"))
    ] == [
        [0],
        [0, 0],
    ]
    lengths = paddle.zeros([2], "int64")
    assert viterbi_decode(paddle.ones([2, 0, 3]), paddle.ones([3, 3]), lengths)[1].shape == [2, 0]
    assert viterbi_decode(paddle.ones([2, 4, 3]), paddle.ones([3, 3]), lengths)[1].shape == [2, 0]  # officially a crash


@pytest.mark.parametrize(
    "potentials, transitions, lengths",
    [
        ([4, 3], [3, 3], [4]),
        ([1, 4, 3], [4, 4], [4]),
        ([2, 4, 3], [3, 3], [4]),
        ([1, 4, 3], [3, 3], [5]),
        ([1, 4, 3], [3, 3], [-1]),
        ([1, 4, 3], [3, 3], [1.5]),
        ([1, 4, 1], [1, 1], [4]),
    ],
)
def test_errors(potentials, transitions, lengths):
    with pytest.raises(ValueError, match="viterbi_decode"):
        viterbi_decode(paddle.ones(potentials), paddle.ones(transitions), paddle.to_tensor(lengths))
    with pytest.raises(ValueError, match="one floating type"):
        viterbi_decode(paddle.ones([1, 4, 3], "float64"), paddle.ones([3, 3]), paddle.to_tensor([4]))
