"""Random state: seeds, states, and what draws the same numbers."""

import pickle
import threading

import jax
import numpy as np
import pytest

import paddle
from paddle.engine.op import op
from paddle.engine.random import compiled_ticks, generator
from paddle.engine.tensor import _make


@op(export=False, method=False, random=True, name="test_draw", static="shape")
def draw(key, shape):
    return jax.random.uniform(key, shape, "float32")


@op(export=False, method=False, random=True, name="test_drop")
def drop(key, x):
    return x * (jax.random.uniform(key, x.shape) < 0.5)


def test_the_same_seed_draws_the_same_numbers():
    paddle.seed(7)
    first = [draw([3]).tolist() for _ in range(3)]
    paddle.seed(7)
    assert [draw([3]).tolist() for _ in range(3)] == first
    assert len({tuple(f) for f in first}) == 3
    paddle.seed(8)
    assert draw([3]).tolist() != first[0]


def test_state_can_be_taken_put_back_and_pickled():
    state = pickle.loads(pickle.dumps(paddle.get_rng_state()))
    first = draw([3]).tolist()
    later = draw([3]).tolist()
    paddle.set_rng_state(state)
    assert draw([3]).tolist() == first and draw([3]).tolist() == later
    assert paddle.get_rng_state("cpu")[0].current_seed() == 0
    with pytest.raises(ValueError):
        paddle.set_rng_state([])
    with pytest.raises(TypeError):
        paddle.set_rng_state([3])


def test_seed_returns_the_generator_and_wants_an_integer():
    assert paddle.seed(5).initial_seed() == 5
    for bad in (1.5, "a", True, None):
        with pytest.raises(TypeError, match="seed must be an int"):
            paddle.seed(bad)
    paddle.seed(2**63 + 5)
    draw([1])


def test_devices_have_generators_of_their_own():
    paddle.seed(3)
    other = generator("gpu:0")
    assert other is not generator("cpu") and other.initial_seed() == 3
    before = other.get_state()
    draw([2])
    assert other.get_state() == before
    assert generator("gpu:7").initial_seed() == 3  # made later, seeded all the same


def test_the_backward_sees_the_numbers_of_the_forward():
    x = paddle.ones([64])
    x.stop_gradient = False
    y = drop(x)
    (g,) = paddle.grad(y.sum(), x)
    assert g.tolist() == y.tolist() and 0 < y.sum().item() < 64


def test_drawing_compiles_once_and_threads_do_not_repeat_numbers():
    from paddle.engine.compile import count_compiles

    draw([4])
    found = []
    with count_compiles() as count:
        threads = [
            threading.Thread(target=lambda: found.extend(tuple(draw([4]).tolist()) for _ in range(10)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert count.compiles == 0 and len(set(found)) == 40


def test_a_compiled_function_draws_what_eager_code_draws():
    def draw(x):
        with paddle.no_grad():
            return [
                paddle.rand([3]),
                paddle.nn.functional.dropout(x, 0.5),
                paddle.normal(shape=[2]),
                paddle.randperm(5),
            ]

    used = []

    @jax.jit
    def compiled(words, x):
        with compiled_ticks(words) as ticks:
            values = [t._value for t in draw(_make(x))]
        used.append(ticks.used)
        return values

    x = paddle.ones([64])
    paddle.seed(11)
    eager = [[t.numpy() for t in draw(x)] for _ in range(3)]
    source = paddle.seed(11)
    jax.eval_shape(compiled, np.zeros(4, "uint32"), x._value)
    for want in eager:
        for got, expected in zip(compiled(source.ticks(used[0]), x._value), want):
            np.testing.assert_array_equal(got, expected)
    assert len({tuple(e[0]) for e in eager}) == 3
