"""Schedules of the learning rate; numbers of the official package."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
from paddle.optimizer import lr

# The rates of the first seven epochs.
OFFICIAL = {
    "noam": (lambda: lr.NoamDecay(64, 5), [0, 0.011180, 0.022361, 0.033541, 0.044721, 0.055902, 0.051031]),
    "natural": (lambda: lr.NaturalExpDecay(0.5, 0.1), [0.5, 0.452419, 0.409365, 0.370409, 0.33516, 0.303265, 0.274406]),
    "inverse": (lambda: lr.InverseTimeDecay(0.5, 0.1), [0.5, 0.454545, 0.416667, 0.384615, 0.357143, 0.333333, 0.3125]),
    "exponential": (lambda: lr.ExponentialDecay(0.5, 0.9), [0.5, 0.45, 0.405, 0.3645, 0.32805, 0.295245, 0.265721]),
    "polynomial": (
        lambda: lr.PolynomialDecay(0.5, 8),
        [0.5, 0.437512, 0.375025, 0.312538, 0.25005, 0.187562, 0.125075],
    ),
    "cycle": (
        lambda: lr.PolynomialDecay(0.5, 6, cycle=True),
        [0.5, 0.416683, 0.333367, 0.25005, 0.166733, 0.083417, 0.0001],
    ),
    "piecewise": (lambda: lr.PiecewiseDecay([3, 6], [0.1, 0.2, 0.3]), [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.3]),
    "warmup": (lambda: lr.LinearWarmup(0.5, 5, 0.0, 0.5), [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5]),
    "warmup2": (
        lambda: lr.LinearWarmup(lr.ExponentialDecay(0.5, 0.9), 5, 0.0, 0.4),
        [0, 0.08, 0.16, 0.24, 0.32, 0.5, 0.45],
    ),
    "milestones": (lambda: lr.MultiStepDecay(0.5, [3, 7]), [0.5, 0.5, 0.5, 0.05, 0.05, 0.05, 0.05]),
    "step": (lambda: lr.StepDecay(0.5, 4), [0.5, 0.5, 0.5, 0.5, 0.05, 0.05, 0.05]),
    "lambda": (
        lambda: lr.LambdaDecay(0.5, lambda e: 0.95**e),
        [0.5, 0.475, 0.45125, 0.428687, 0.407253, 0.38689, 0.367546],
    ),
    "product": (
        lambda: lr.MultiplicativeDecay(0.5, lambda e: 0.95),
        [0.5, 0.475, 0.45125, 0.428687, 0.407253, 0.38689, 0.367546],
    ),
    "cosine": (
        lambda: lr.CosineAnnealingDecay(0.5, 10, 0.1),
        [0.5, 0.490211, 0.461803, 0.417557, 0.361803, 0.3, 0.238197],
    ),
    "restarts": (lambda: lr.CosineAnnealingWarmRestarts(0.5, 3, 2, 0.1), [0.5, 0.4, 0.2, 0.5, 0.473205, 0.4, 0.3]),
    "one_cycle": (lambda: lr.OneCycleLR(1.0, 21), [0.04, 0.121885, 0.339603, 0.61887, 0.864403, 0.992431, 0.994416]),
    "cyclic": (lambda: lr.CyclicLR(0.1, 1.0, 4, 3), [0.1, 0.325, 0.55, 0.775, 1.0, 0.7, 0.4]),
    "cyclic2": (
        lambda: lr.CyclicLR(0.1, 1.0, 4, mode="exp_range", exp_gamma=0.9),
        [0.1, 0.3025, 0.4645, 0.592075, 0.69049, 0.498581, 0.339148],
    ),
    "linear": (lambda: lr.LinearLR(0.5, 6), [0.166667, 0.222222, 0.277778, 0.333333, 0.388889, 0.444444, 0.5]),
}


@pytest.mark.parametrize("name", sorted(OFFICIAL))
def test_first_epochs(name):
    make, want = OFFICIAL[name]
    s, got = make(), []
    for _ in want:
        got.append(s())
        s.step()
    np.testing.assert_allclose(got, want, atol=6e-7)


@settings(max_examples=30, deadline=None)
@given(name=st.sampled_from(sorted(OFFICIAL)), epochs=st.lists(st.integers(0, 20), min_size=1, max_size=4))
def test_jumping_to_an_epoch_is_stepping_there(name, epochs):
    make, _ = OFFICIAL[name]
    jumping = make()
    for epoch in epochs:
        jumping.step(epoch)
        walking = make()
        for _ in range(epoch):
            walking.step()
        assert jumping() == pytest.approx(walking(), rel=1e-12) and jumping.last_epoch == walking.last_epoch


@pytest.mark.parametrize("name", sorted(OFFICIAL))
def test_state_round_trip(name):
    make, _ = OFFICIAL[name]
    s, t = make(), make()
    for _ in range(6):
        s.step()
    t.set_state_dict(s.state_dict())
    for _ in range(3):
        assert s() == t()
        s.step()
        t.step()


def test_state_entries():
    s = lr.LinearWarmup(lr.ExponentialDecay(0.5, 0.9), 5, 0.0, 0.4)
    s.step(6)
    assert s.state_dict() == {"last_epoch": 6, "last_lr": 0.45, "LinearWarmup_LR": {"last_epoch": 1, "last_lr": 0.45}}
    with pytest.raises(RuntimeError, match="last_epoch"):
        s.set_state_dict({"foo": 1})


def test_cosine_from_an_epoch_on():
    """Starting at last_epoch=1 is the same as two steps."""
    s = lr.CosineAnnealingDecay(2.048, 53210)
    s.step()
    assert s() == pytest.approx(2.0479999982152264, rel=1e-14)
    s.step()
    assert s() == lr.CosineAnnealingDecay(2.048, 53210, last_epoch=1)() == pytest.approx(2.047999992860905, rel=1e-14)


def test_plateau():
    s = lr.ReduceOnPlateau(1.0, patience=1, factor=0.1)
    got = []
    for metric in (3.0, 3.0, 3.0, 3.0, 3.0, paddle.to_tensor([3.0])):
        got.append(s())
        s.step(metric)
    np.testing.assert_allclose(got + [s()], [1, 1, 1, 0.1, 0.1, 0.01, 0.01])
    assert s.state_dict() == {"cooldown_counter": 0, "best": 3.0, "num_bad_epochs": 1, "last_epoch": 6, "last_lr": s()}


@pytest.mark.parametrize(
    "mode, threshold_mode, metrics, reduced",
    [
        ("min", "rel", [10.0, 9.95], True),
        ("min", "abs", [10.0, 9.95], False),
        ("max", "rel", [10.0, 10.05], True),
        ("max", "abs", [10.0, 10.05], False),
    ],
)
def test_what_counts_as_better(mode, threshold_mode, metrics, reduced):
    s = lr.ReduceOnPlateau(1.0, mode=mode, patience=0, threshold=0.01, threshold_mode=threshold_mode)
    for m in metrics:
        s.step(m)
    assert (s() < 1) is reduced


def test_cooldown_and_lowest_rate():
    s = lr.ReduceOnPlateau(1.0, patience=0, factor=0.1, cooldown=2, min_lr=0.05)
    rates = []
    for _ in range(9):
        s.step(1.0)
        rates.append(round(s(), 3))
    assert rates == [1.0, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05]


def test_one_cycle_ends():
    s = lr.OneCycleLR(1.0, 10, three_phase=True, phase_pct=0.4, end_learning_rate=0.001)
    rates = [s()]
    for _ in range(9):
        s.step()
        rates.append(s())
    assert rates[3] == pytest.approx(1.0) and rates[6] == pytest.approx(0.04) and rates[9] == pytest.approx(0.001)
    s.step()
    with pytest.raises(ValueError, match="total_steps"):
        s.step()


def test_verbose(capsys):
    lr.StepDecay(0.5, 2, verbose=True).step()
    s = lr.ReduceOnPlateau(1.0, patience=0, verbose=True)
    s.step(1.0)
    s.step(1.0)
    assert capsys.readouterr().out.splitlines() == [
        "Epoch 0: StepDecay set learning rate to 0.5.",
        "Epoch 1: StepDecay set learning rate to 0.5.",
        "Epoch 2: ReduceOnPlateau set learning rate to 0.1.",
    ]


def test_a_schedule_of_the_user():
    class Sine(lr.LRScheduler):
        def get_lr(self):
            return self.base_lr * abs(math.sin(self.last_epoch))

    s = Sine(2.0)
    s.step()
    assert s() == s.get_lr() == s.last_lr == 2 * math.sin(1)
    with pytest.raises(NotImplementedError):
        lr.LRScheduler(0.1)


@pytest.mark.parametrize(
    "error, make",
    [
        (ValueError, lambda: lr.ExponentialDecay(-0.5, 0.9)),
        (TypeError, lambda: lr.ExponentialDecay("a", 0.9)),
        (ValueError, lambda: lr.ExponentialDecay(0.5, 1.5)),
        (ValueError, lambda: lr.PolynomialDecay(0.5, 0)),
        (ValueError, lambda: lr.PolynomialDecay(0.5, 2.5)),
        (ValueError, lambda: lr.PolynomialDecay(0.5, 5, power=-1.0)),
        (TypeError, lambda: lr.LinearWarmup("x", 3, 0.0, 0.5)),
        (ValueError, lambda: lr.LinearWarmup(0.5, 3, 0.6, 0.5)),
        (ValueError, lambda: lr.MultiStepDecay(0.5, [5, 3])),
        (TypeError, lambda: lr.MultiStepDecay(0.5, 3)),
        (ValueError, lambda: lr.StepDecay(0.5, 3, gamma=1.5)),
        (TypeError, lambda: lr.StepDecay(0.5, 3.0)),
        (ValueError, lambda: lr.StepDecay(0.5, 0)),
        (TypeError, lambda: lr.LambdaDecay(0.5, 3)),
        (ValueError, lambda: lr.ReduceOnPlateau(1.0, factor=1.0)),
        (ValueError, lambda: lr.ReduceOnPlateau(1.0, mode="avg")),
        (TypeError, lambda: lr.ReduceOnPlateau(1.0).step("x")),
        (ValueError, lambda: lr.ReduceOnPlateau(1.0).step(np.ones(2))),
        (TypeError, lambda: lr.CosineAnnealingDecay(0.5, "a")),
        (ValueError, lambda: lr.CosineAnnealingDecay(0.5, 0)),
        (ValueError, lambda: lr.CosineAnnealingWarmRestarts(0.5, 0)),
        (ValueError, lambda: lr.CosineAnnealingWarmRestarts(0.5, 2).step(-1)),
        (ValueError, lambda: lr.OneCycleLR(1.0, 0)),
        (TypeError, lambda: lr.OneCycleLR(1.0, 2.5)),
        (ValueError, lambda: lr.OneCycleLR(1.0, 5, phase_pct=1.5)),
        (ValueError, lambda: lr.OneCycleLR(1.0, 5, anneal_strategy="x")),
        (ValueError, lambda: lr.OneCycleLR(1.0, 5, three_phase=True, phase_pct=0.6)),
        (ValueError, lambda: lr.CyclicLR(0.1, 1.0, 4, mode="z")),
        (ValueError, lambda: lr.CyclicLR(0.1, 1.0, 0)),
        (TypeError, lambda: lr.CyclicLR(0.1, 1.0, 4, scale_fn=3)),
        (ValueError, lambda: lr.LinearLR(0.5, 0)),
        (ValueError, lambda: lr.LinearLR(0.5, 5, start_factor=0.0)),
        (ValueError, lambda: lr.NoamDecay(0, 5)),
        (ValueError, lambda: lr.PiecewiseDecay([3], [0.1])),
    ],
)
def test_bad_arguments(error, make):
    with pytest.raises(error):
        make()
