import numpy as np
import pytest
import scipy.stats as ss

import paddle
from paddle import distribution as D
from paddle.distribution import constraint, variable
from paddle.distribution.transform import Type

from _check import check_grad, compare

X = np.array([[0.1, -0.4, 0.7], [1.0, 2.0, -1.0]])


def t(x):
    return paddle.to_tensor(np.asarray(x, "float64"))


def affine(loc=1.0, scale=-2.0):
    return D.AffineTransform(t(loc), t(scale))


SQUARE = {  # transforms of as many numbers as they give, and the axes of an event
    "affine": (affine(), 0),
    "vector affine": (affine([1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]), 0),
    "exp": (D.ExpTransform(), 0),
    "sigmoid": (D.SigmoidTransform(), 0),
    "tanh": (D.TanhTransform(), 0),
    "power": (D.PowerTransform(t(3.0)), 0),
    "chain": (D.ChainTransform([affine(), D.ExpTransform()]), 0),
    "independent": (D.IndependentTransform(D.ExpTransform(), 1), 1),
    "scalar affine of an event": (D.ChainTransform([D.IndependentTransform(D.TanhTransform(), 1), affine()]), 1),
    "reshape": (D.ChainTransform([D.ReshapeTransform((3,), (3, 1)), D.ExpTransform()]), 1),
    "stack": (D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0), 0),
    "stack of an event": (D.StackTransform([D.ExpTransform(), D.TanhTransform(), affine()], -1), 1),
}


def jacobian(f, x):
    out = np.zeros((x.size, x.size))
    for i in range(x.size):
        step = np.zeros(x.size)
        step[i] = 1e-6
        out[:, i] = (f(t(x + step.reshape(x.shape))) - f(t(x - step.reshape(x.shape)))).numpy().reshape(-1) / 2e-6
    return out


@pytest.mark.parametrize("name", SQUARE)
def test_log_determinants_are_those_of_the_jacobian(name):
    transform, rank = SQUARE[name]
    x = np.abs(X) if name == "power" else X
    whole = np.linalg.slogdet(jacobian(transform.forward, x))[1]
    got = transform.forward_log_det_jacobian(t(x))
    if name == "stack of an event":  # officially not summed
        got = got.sum(-1)
    batch = x.shape[: 2 - rank]
    compare(got.expand(batch).sum(), whole, 1e-6)
    y = transform.forward(t(x))
    compare(transform.inverse(y), x, 1e-8)
    back = transform.inverse_log_det_jacobian(y)
    compare(back.sum(-1) if name == "stack of an event" else back, -got.numpy(), 1e-7, 1e-8)
    assert transform._is_injective()


def test_stick_breaking():
    s, x = D.StickBreakingTransform(), X[1]
    y = s.forward(t(X))
    compare(y.sum(-1), np.ones(2))
    assert y.shape == [2, 4] and (y.numpy() > 0).all()
    compare(s.inverse(y), X, 1e-8)
    short = jacobian(lambda x: s.forward(x)[:-1], x)
    compare(s.forward_log_det_jacobian(t(x)), np.linalg.slogdet(short)[1], 1e-6)
    compare(s.forward(paddle.to_tensor([0.1, -0.4, 0.7])), [0.26921433, 0.18344629, 0.36572546, 0.18161392])  # official
    assert s.forward_shape((2, 3)) == (2, 4) and s.inverse_shape((2, 4)) == (2, 3)


def test_not_injective():
    a, s = D.AbsTransform(), D.SoftmaxTransform()
    compare(a.forward(t(X)), np.abs(X))
    low, high = a.inverse(t([1.0, 2.0]))
    compare(low, [-1, -2])
    compare(high, [1, 2])
    assert [z.item() for z in a.inverse_log_det_jacobian(t([1.0]))] == [0, 0]
    compare(s.forward(t(X)), np.exp(X) / np.exp(X).sum(-1, keepdims=True))
    compare(s.forward(s.inverse(s.forward(t(X)))), s.forward(t(X)).numpy())
    for transform in (a, s, D.ChainTransform([a]), D.StackTransform([a, D.ExpTransform()], 0)):
        with pytest.raises(NotImplementedError):
            transform.forward_log_det_jacobian(t(X))
    assert (a._type, s._type) == (Type.SURJECTION, Type.OTHER)


def test_shapes():
    r = D.ReshapeTransform((2, 3), (3, 2))
    assert r.forward_shape((4, 2, 3)) == (4, 3, 2) and r.inverse_shape([3, 2]) == (2, 3)
    assert r.in_event_shape == (2, 3) and r.out_event_shape == (3, 2)
    assert r.forward_log_det_jacobian(paddle.ones([4, 2, 3])).tolist() == [0.0] * 4
    assert affine([1.0, 2.0, 3.0]).forward_shape((2, 1)) == (2, 3)
    assert D.ChainTransform([D.ExpTransform(), D.StickBreakingTransform()]).forward_shape((2, 3)) == (2, 4)
    assert D.ChainTransform([]).forward_shape((2,)) == (2,)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: D.AffineTransform(1.0, 2.0), TypeError),
        (lambda: D.PowerTransform(2.0), TypeError),
        (lambda: D.ChainTransform([3]), TypeError),
        (lambda: D.ChainTransform(D.ExpTransform()), TypeError),
        (lambda: D.StackTransform([]), TypeError),
        (lambda: D.StackTransform([D.ExpTransform()], 1.0), TypeError),
        (lambda: D.IndependentTransform(3, 1), TypeError),
        (lambda: D.IndependentTransform(D.ExpTransform(), 0), ValueError),
        (lambda: D.ReshapeTransform((2, 3), (4,)), ValueError),
        (lambda: D.ReshapeTransform(6, 6), TypeError),
        (lambda: D.ReshapeTransform((2, 3), (6,)).forward(t([1.0])), ValueError),
        (lambda: D.ReshapeTransform((2, 3), (6,)).forward_shape((3, 2)), ValueError),
        (lambda: D.StickBreakingTransform().forward(t(1.0)), ValueError),
        (lambda: D.SoftmaxTransform().forward_shape(()), ValueError),
        (lambda: D.StackTransform([D.ExpTransform()], 0).forward(t(X)), ValueError),
        (lambda: D.ExpTransform().forward(1.0), TypeError),
        (lambda: D.Transform().forward(t(1.0)), NotImplementedError),
        (lambda: D.Transform().inverse(t(1.0)), NotImplementedError),
        (lambda: D.Transform().forward_log_det_jacobian(t(1.0)), NotImplementedError),
        (lambda: affine([1.0, 2.0]).forward_shape((3,)), ValueError),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call()


def test_own_transforms_give_one_of_the_jacobians():
    class Doubled(D.Transform):
        _type = Type.BIJECTION

        def _forward(self, x):
            return x * 2

        def _inverse(self, y):
            return y / 2

        def _inverse_log_det_jacobian(self, y):
            return paddle.full_like(y, -np.log(2))

    compare(Doubled().forward_log_det_jacobian(t(X)), np.full((2, 3), np.log(2)))
    d = D.TransformedDistribution(D.Normal(t(0.0), 1.0), [Doubled()])
    compare(d.log_prob(t(0.3)), ss.norm(0, 2).logpdf(0.3), 1e-8)


def test_calling_a_transform():
    exp = D.ExpTransform()
    compare(exp(t(X)), np.exp(X))
    assert isinstance(exp(D.Normal(0.0, 1.0)), D.TransformedDistribution)
    compare(affine(1.0, 2.0)(exp)(t(0.5)), np.exp(2.0))  # the called one comes first


# ---- distributions made with them ----


def test_transformed_density_and_draws():
    d = D.TransformedDistribution(D.Normal(t([0.0, 1.0]), t([1.0, 2.0])), [D.ExpTransform()])
    want = ss.lognorm([1.0, 2.0], scale=np.exp([0.0, 1.0]))
    compare(d.log_prob(t([0.5, 0.7])), want.logpdf([0.5, 0.7]), 1e-8)
    compare(d.prob(t([0.5, 0.7])), want.pdf([0.5, 0.7]), 1e-8)
    draws = d.sample([4000]).numpy()
    assert np.abs((draws <= want.ppf(0.3)).mean(0) - 0.3).max() < 0.03
    assert d.batch_shape == (2,) and d.event_shape == ()


def test_events_grow_with_the_transforms():
    base = D.Normal(t(np.zeros((2, 3))), 1.0)
    d = D.TransformedDistribution(base, [D.StickBreakingTransform()])
    assert d.batch_shape == (2,) and d.event_shape == (4,) and d.rsample([5]).shape == [5, 2, 4]
    y = [[0.1, 0.2, 0.3, 0.4], [0.2, 0.2, 0.3, 0.3]]
    compare(d.log_prob(t(y)), [2.474031, 2.7464247], 1e-5)  # official values
    r = D.TransformedDistribution(D.Independent(D.Normal(t(np.zeros(6)), 1.0), 1), [D.ReshapeTransform((6,), (2, 3))])
    assert r.event_shape == (2, 3) and r.batch_shape == ()
    compare(r.log_prob(t(np.zeros((2, 3)))), 6 * ss.norm.logpdf(0), 1e-8)


def test_a_scale_counts_for_each_element_of_an_event():
    base = D.Independent(D.Normal(t(np.zeros(3)), 1.0), 1)
    d = D.TransformedDistribution(base, [affine(1.0, 2.0)])
    compare(d.log_prob(t([1.0, 2.0, 3.0])), ss.norm(1, 2).logpdf([1.0, 2.0, 3.0]).sum(), 1e-8)


def test_axes_that_a_transform_adds_are_drawn_independently():
    d = D.TransformedDistribution(D.Normal(0.0, 1.0), [affine([0.0, 0.0], [1.0, 1.0])])
    assert d.batch_shape == (2,)
    draws = d.sample([2000]).numpy()
    assert draws.shape == (2000, 2) and abs(np.corrcoef(draws.T)[0, 1]) < 0.1
    with pytest.raises(ValueError):
        D.TransformedDistribution(D.Normal([0.0], [1.0]), [affine([0.0, 0.0], [1.0, 1.0])]).sample()


def test_gradients():
    def f(loc, scale, x):
        d = D.TransformedDistribution(D.Normal(loc, scale), [D.TanhTransform(), D.AffineTransform(loc, scale)])
        return d.log_prob(x)

    check_grad(f, [0.1, 0.2], [1.0, 2.0], [0.5, 0.7], rtol=1e-4)
    check_grad(D.SigmoidTransform().forward_log_det_jacobian, X[0])
    check_grad(D.StickBreakingTransform().forward, X[0])


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: D.TransformedDistribution(3, []), TypeError),
        (lambda: D.Independent(3, 1), TypeError),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.ExpTransform()), TypeError),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]), TypeError),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [D.StickBreakingTransform()]), ValueError),
        (
            lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [D.AbsTransform()]).log_prob(t(1.0)),
            NotImplementedError,
        ),
        (lambda: D.TransformedDistribution(D.Poisson(1.0), [affine()]).rsample(), NotImplementedError),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), ValueError),
        (lambda: D.Independent(D.Normal([0.0], 1.0), 0), ValueError),
    ],
)
def test_wrong_distributions(call, error):
    with pytest.raises(error):
        call()


def test_independent():
    base = D.Normal(t(X), t(np.ones((2, 3))))
    d = D.Independent(base, 1)
    assert d.batch_shape == (2,) and d.event_shape == (3,)
    compare(d.log_prob(t(np.zeros((2, 3)))), ss.norm(X, 1).logpdf(0).sum(-1), 1e-8)
    compare(d.prob(t(np.zeros((2, 3)))), np.exp(ss.norm(X, 1).logpdf(0).sum(-1)), 1e-8)
    compare(d.entropy(), ss.norm(X, 1).entropy().sum(-1), 1e-8)
    compare(d.mean, X)
    compare(d.variance, np.ones((2, 3)))
    assert d.sample([4]).shape == [4, 2, 3] and d.rsample([4]).shape == [4, 2, 3] and d.dtype is paddle.float64
    twice = D.Independent(d, 1)
    assert twice.event_shape == (2, 3) and twice.log_prob(t(X)).shape == []


# ---- domains ----


def test_domains():
    s = D.StickBreakingTransform()
    assert (s._domain.event_rank, s._codomain.event_rank) == (1, 1)
    chain = D.ChainTransform([D.ExpTransform(), D.ReshapeTransform((3,), (3, 1))])
    assert (chain._domain.event_rank, chain._codomain.event_rank) == (1, 2)
    assert D.StackTransform([s, s], -1)._domain.event_rank == 1 and not s._domain.is_discrete
    assert variable.Independent(variable.real, 2).event_rank == 2
    compare(D.SigmoidTransform()._codomain.constraint(t([-0.1, 0.5, 1.1])), [False, True, False])


def test_constraints():
    compare(constraint.real(t([1.0, np.nan])), [True, False])
    compare(constraint.positive(t([-1.0, 0.0, 1.0])), [False, True, True])
    compare(constraint.Range(0.0, 1.0).check(t([-1.0, 1.0])), [False, True])
    compare(constraint.simplex(t([[0.2, 0.8], [0.5, 0.6], [-1.0, 2.0]])), [True, False, False])
    compare(variable.Independent(variable.positive, 1).constraint(t([[1.0, -1.0], [1.0, 2.0]])), [False, True])
    compare(variable.Stack([variable.real, variable.positive]).constraint(t([[-1.0], [-1.0]])), [[True], [False]])
    with pytest.raises(NotImplementedError):
        constraint.Constraint()(t(1.0))
    with pytest.raises(ValueError):
        variable.Stack([variable.real]).constraint(t([1.0, 2.0]))
