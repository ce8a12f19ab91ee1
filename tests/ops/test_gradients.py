"""Gradients of every operator that has one, of first and second order, against differences; see tests/_gradients.py."""

import importlib
import pkgutil

import numpy as np
import pytest

import paddle
from paddle.engine.modes import set_mode
from paddle.engine.op import registry

from _check import check_grad
from _gradients import NOT_DIFFERENTIABLE, SAMPLES, fixed, sample


def import_everything():
    for found in pkgutil.walk_packages(paddle.__path__, "paddle."):
        importlib.import_module(found.name)


def arrays_of(argument):
    if isinstance(argument, (list, tuple)):
        return [a for part in argument for a in arrays_of(part)]
    return [argument] if isinstance(argument, np.ndarray) else []


def filled(argument, tensors):
    """The argument with the next tensors in the places of its arrays."""
    if isinstance(argument, (list, tuple)):
        return type(argument)([filled(part, tensors) for part in argument])
    if isinstance(argument, fixed):
        return argument.tensor()
    return next(tensors) if isinstance(argument, np.ndarray) else argument


def quadratic(outs):
    """A function of the outputs whose second derivatives are not zero, so that linear operators are tested as well."""
    outs = outs if isinstance(outs, (list, tuple)) else [outs]
    real = [paddle.as_real(o) if o.dtype.is_complex else o for o in outs if o.dtype.is_differentiable]
    return [o * (o * 0.3 + 1) for o in real if not o.stop_gradient]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_gradients(name):
    row = SAMPLES[name]
    if name not in registry:  # in a module that `import paddle` leaves for later
        import_everything()
    row = row if isinstance(row, sample) else sample(*row)
    call = row.via or (lambda *tensors: registry[name].public(*filled(row.args, iter(tensors))))
    used = []

    def function(*tensors):
        paddle.seed(5)
        with set_mode(watcher=lambda op, args, out: used.append(op.name)) if not used else set_mode():
            out = call(*tensors)
        return quadratic(out)

    check_grad(function, *arrays_of(row.args), order=row.order, rtol=row.rtol, atol=row.atol)
    assert name in used, f"the sample does not reach the operator {name}, only {used}"


def test_every_operator_has_a_sample_or_a_reason_to_have_none():
    import_everything()
    without = {name: reason for reason, names in NOT_DIFFERENTIABLE.items() for name in names.split()}
    ours = {name for name, op in registry.items() if op.fn.__module__.startswith("paddle.")}  # not those of other tests
    missing = ours - set(SAMPLES) - set(without)
    assert not missing, f"operators without a row in tests/_gradients.py: {sorted(missing)}"
    assert not set(SAMPLES) & set(without)
    assert not (set(SAMPLES) | set(without)) - set(registry), "rows of operators that do not exist"
    assert all(registry[name].differentiable for name in SAMPLES)


# draws: the function of parameters, their values, the mean of x * x and its gradients
IMPLICIT = {
    "standard_gamma": (lambda a: paddle.standard_gamma(a), [1.7], lambda a: a * (a + 1)),
    "gamma_rsample": (
        lambda a, r: paddle.distribution.Gamma(a, r).rsample([N]),
        [1.7, 0.8],
        lambda a, r: a * (a + 1) / r**2,
    ),
    "beta_rsample": (
        lambda a, b: paddle.distribution.Beta(a, b).rsample([N]),
        [1.7, 0.8],
        lambda a, b: a * (a + 1) / ((a + b) * (a + b + 1)),
    ),
    "studentt_rsample": (
        lambda n, m, s: paddle.distribution.StudentT(n, m, s).rsample([N]),
        [9.0, 0.3, 0.8],
        lambda n, m, s: m**2 + s**2 * n / (n - 2),
    ),
}
N = 40000


@pytest.mark.parametrize("name", sorted(IMPLICIT))
def test_implicit_gradients_hold_in_the_mean(name):
    draw, values, second_moment = IMPLICIT[name]
    parameters = [
        paddle.to_tensor(np.full(N if name == "standard_gamma" else (), v), stop_gradient=False) for v in values
    ]
    x = draw(*parameters)
    (x * x).mean().backward()
    for i, p in enumerate(parameters):
        up, down = ([v + (h if j == i else 0) for j, v in enumerate(values)] for h in (1e-4, -1e-4))
        want = (second_moment(*up) - second_moment(*down)) / 2e-4
        np.testing.assert_allclose(float(p.grad.sum()), want, rtol=0.08, atol=0.02)


def test_implicit_gradients_of_the_dirichlet_distribution_hold_in_the_mean():
    a = paddle.to_tensor([1.7, 0.8, 1.1], dtype="float64", stop_gradient=False)
    paddle.distribution.Dirichlet(a).rsample([N])[:, 0].mean().backward()
    total = 3.6
    np.testing.assert_allclose(a.grad.numpy(), [1.9 / total**2, -1.7 / total**2, -1.7 / total**2], atol=0.006)
