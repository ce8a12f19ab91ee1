"""Random graphs give the same results after every pass, alone and all together."""

import random

import numpy as np
import pytest
from ir._build import build, run, values_of

import paddle
import paddle.nn.functional as F
from paddle.ir.passes import INFERENCE, apply

N = 4
SPECS = {"x": ((-1, N, N, N), np.float32), "m": ((-1, 1, N, N), np.float32)}


def weights(r, *shape):
    made = np.random.default_rng(r.randrange(10**6)).uniform(-1, 1, shape).astype(np.float32)
    return paddle.to_tensor(made)


def norm(r, t, training):
    scale, shift, mean = (weights(r, N) for _ in range(3))
    variance = paddle.to_tensor(weights(r, N).abs() + 0.5)
    if r.random() < 0.2:
        scale = shift = None
    always = r.choice([None, True])
    return F.batch_norm(
        t, mean, variance, scale, shift, training=training, epsilon=r.choice([1e-5, 1e-2]),
        use_global_stats=None if training else always,
    )  # fmt: skip


def attention(r, t, other, mask):
    scores = paddle.matmul(t, other, transpose_y=True)
    scores = r.choice(
        [lambda s: s * 0.5, lambda s: s / 2.0, lambda s: s, lambda s: 0.5 * s + mask, lambda s: s + mask]
    )(scores)
    return F.softmax(scores, axis=r.choice([-1, 3, -1, 2])) @ r.choice([t, other])


def convolution(r, t):
    groups = r.choice([1, 1, 2, 4])
    bias = r.choice([None, weights(r, N)])
    if r.random() < 0.3:
        return F.conv2d_transpose(t, weights(r, N, N // groups, 1, 1), bias, groups=groups)
    return F.conv2d(t, weights(r, N, N // groups, 3, 3), bias, padding=1, groups=groups)


def step(r, found, mask, training):
    """A tensor of shape [-1, N, N, N] from others."""
    a, b = r.choice(found), r.choice(found)
    kind = r.randrange(14)
    if kind == 0:
        return norm(r, convolution(r, a), training)
    if kind == 1:
        return norm(r, a, training)
    if kind == 2:
        return attention(r, a, b, mask)
    if kind == 3:
        return a @ weights(r, N, N) + r.choice([weights(r, N), weights(r, 1, N), weights(r, N, N), 1.5, mask])
    if kind == 4:
        return paddle.matmul(a, weights(r, N, N), transpose_y=True, transpose_x=r.choice([True, False])) + weights(r, N)
    if kind == 5:
        return F.linear(a, weights(r, N, N), r.choice([None, weights(r, N)]))
    if kind == 6:
        return F.dropout(a, 0.3, training=training, mode=r.choice(["upscale_in_train", "downscale_in_infer"]))
    if kind == 7:
        return r.choice([a, b]).transpose([0, 1, 3, 2]).transpose([0, 1, 3, 2]).astype("float32").reshape([-1, N, N, N])
    if kind == 8:
        return (a * 2.0).tanh() + (a * 2.0).tanh() * (a * 2).tanh()
    if kind == 9:
        return a * (weights(r, N, N) @ weights(r, N, N)).exp().mean()
    if kind == 10:
        return a.clone() * 1.0 + paddle.assign(b) * 0.5 + 0.0
    if kind == 11:
        return paddle.where(a.sum() > 0, a, b)
    if kind == 12:
        return a.add_(b * 0.25) if r.random() < 0.3 and a is not found[0] else a - b
    return paddle.concat(paddle.split(a, 2, axis=1)[::-1], axis=1) * a.shape[1]


def network(seed, training):
    def function(x, m):
        r = random.Random(seed)
        found = [x]
        for _ in range(r.randrange(3, 9)):
            found.append(step(r, found, m, training))
        return [found[-1], *r.sample(found, r.randrange(1, 3))]

    return function


def check(seed):
    rng = np.random.default_rng(seed)
    feeds = {
        "x": rng.normal(size=(3, N, N, N)).astype(np.float32),
        "m": rng.normal(size=(3, 1, N, N)).astype(np.float32),
    }
    graph, out = build(network(seed, False), **SPECS)
    wanted = run(graph, out, **feeds)[0]
    for passes in (*([p] for p in INFERENCE), INFERENCE, INFERENCE[::-1], [*INFERENCE, *INFERENCE]):
        found = run(apply(graph, values_of(out), passes), out, **feeds)[0]
        for a, b in zip(found, wanted):
            np.testing.assert_allclose(
                a, b, rtol=2e-3, atol=2e-4 * max(1, np.abs(b).max()), err_msg=str((seed, passes))
            )
    trained, out = build(network(seed, True), **SPECS)
    found = run(apply(trained, values_of(out), INFERENCE), out, **feeds)[0]
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4 * max(1, np.abs(b).max()), err_msg=f"{seed} training")


@pytest.mark.parametrize("seed", range(6))
def test_results_stay(seed):
    check(seed)
