"""Checks that the tests share."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import paddle
from paddle.engine.modes import set_mode


def compare(got, want, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Shape and values of a tensor against an array."""
    got = got.numpy() if isinstance(got, paddle.Tensor) else np.asarray(got)
    want = np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def _weighted(f, weights):
    """The function as one number: the sum of its outputs, each element with a weight of its own."""

    def scalar(*tensors):
        outs = f(*tensors)
        outs = outs if isinstance(outs, (tuple, list)) else [outs]
        total = None
        for k, out in enumerate(o for o in outs if not o.stop_gradient):
            w = weights.setdefault(k, np.cos(np.arange(int(np.prod(out.shape))) * 1.7 + 0.3 + k).reshape(out.shape))
            term = (out * paddle.to_tensor(w.astype("float64"))).sum()
            total = term if total is None else total + term
        assert total is not None, "no output carries a gradient"
        return total

    return scalar


def _numeric(scalar, arrays, which, step=1e-6):
    grad = np.zeros_like(arrays[which])
    flat = grad.reshape(-1)
    for i in range(flat.size):
        sides = []
        for sign in (1, -1):
            moved = [a.copy() for a in arrays]
            moved[which].reshape(-1)[i] += sign * step
            tensors = [paddle.to_tensor(a, stop_gradient=False) for a in moved]
            sides.append(float(scalar(*tensors)))
        flat[i] = (sides[0] - sides[1]) / (2 * step)
    return grad


def check_grad(f, *arrays, order: int = 1, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """The gradients of f (float64 tensors to tensors) against central differences; `order=2` also checks those of the
    sum of squares of the first gradients."""
    with set_mode(capture=None):  # differences want every value rounded alike
        _check_grad(f, [np.array(a, "float64", order="C") for a in arrays], order, rtol, atol)


def _check_grad(f, arrays, order, rtol, atol):
    weights: dict = {}
    scalar = _weighted(f, weights)

    def compare_all(function):
        tensors = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
        grads = paddle.grad(function(*tensors), tensors, allow_unused=True)
        for i, g in enumerate(grads):
            want = _numeric(function, arrays, i)
            got = np.zeros_like(want) if g is None else g.numpy()
            np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=f"gradient of input {i}")

    compare_all(scalar)
    if order == 2:

        def squared(*tensors):
            grads = paddle.grad(scalar(*tensors), list(tensors), create_graph=True, allow_unused=True)
            return sum((g * g).sum() for g in grads if g is not None and not g.stop_gradient)

        compare_all(squared)


def sampled(names):
    """Parameters of a test, of which only each third is tried without `-m slow`."""
    return [name if i % 3 == 0 else pytest.param(name, marks=pytest.mark.slow) for i, name in enumerate(names)]


def failures_of(example: doctest.DocTest, flags: int = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE) -> str:
    """What is wrong with an example of the documentation; "" when it prints what it says."""
    lines: list[str] = []
    doctest.DocTestRunner(optionflags=flags).run(example, out=lines.append)
    return "".join(lines)
