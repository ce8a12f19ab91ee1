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
    "noam": (lambda: lr.NoamDecay(64, 5), [0, .011180, .022361, .033541, .044721, .055902, .051031]),
    "natural": (lambda: lr.NaturalExpDecay(.5, .1), [.5, .452419, .409365, .370409, .33516, .303265, .274406]),
    "inverse": (lambda: lr.InverseTimeDecay(.5, .1), [.5, .454545, .416667, .384615, .357143, .333333, .3125]),
    "exponential": (lambda: lr.ExponentialDecay(.5, .9), [.5, .45, .405, .3645, .32805, .295245, .265721]),
    "polynomial": (lambda: lr.PolynomialDecay(.5, 8), [.5, .437512, .375025, .312538, .25005, .187562, .125075]),
    "cycle": (lambda: lr.PolynomialDecay(.5, 6, cycle=True), [.5, .416683, .333367, .25005, .166733, .083417, .0001]),
    "piecewise": (lambda: lr.PiecewiseDecay([3, 6], [.1, .2, .3]), [.1, .1, .1, .2, .2, .2, .3]),
    "warmup": (lambda: lr.LinearWarmup(.5, 5, 0., .5), [0, .1, .2, .3, .4, .5, .5]),
    "warmup2": (lambda: lr.LinearWarmup(lr.ExponentialDecay(.5, .9), 5, 0., .4), [0, .08, .16, .24, .32, .5, .45]),
    "milestones": (lambda: lr.MultiStepDecay(.5, [3, 7]), [.5, .5, .5, .05, .05, .05, .05]),
    "step": (lambda: lr.StepDecay(.5, 4), [.5, .5, .5, .5, .05, .05, .05]),
    "lambda": (lambda: lr.LambdaDecay(.5, lambda e: .95 ** e), [.5, .475, .45125, .428687, .407253, .38689, .367546]),
    "product": (lambda: lr.MultiplicativeDecay(.5, lambda e: .95), [.5, .475, .45125, .428687, .407253, .38689, .367546]),
    "cosine": (lambda: lr.CosineAnnealingDecay(.5, 10, .1), [.5, .490211, .461803, .417557, .361803, .3, .238197]),
    "restarts": (lambda: lr.CosineAnnealingWarmRestarts(.5, 3, 2, .1), [.5, .4, .2, .5, .473205, .4, .3]),
    "one_cycle": (lambda: lr.OneCycleLR(1., 21), [.04, .121885, .339603, .61887, .864403, .992431, .994416]),
    "cyclic": (lambda: lr.CyclicLR(.1, 1., 4, 3), [.1, .325, .55, .775, 1., .7, .4]),
    "cyclic2": (lambda: lr.CyclicLR(.1, 1., 4, mode="exp_range", exp_gamma=.9),
                [.1, .3025, .4645, .592075, .69049, .498581, .339148]),
    "linear": (lambda: lr.LinearLR(.5, 6), [.166667, .222222, .277778, .333333, .388889, .444444, .5]),
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
    s = lr.LinearWarmup(lr.ExponentialDecay(.5, .9), 5, 0., .4)
    s.step(6)
    assert s.state_dict() == {"last_epoch": 6, "last_lr": .45, "LinearWarmup_LR": {"last_epoch": 1, "last_lr": .45}}
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
    s = lr.ReduceOnPlateau(1., patience=1, factor=.1)
    got = []
    for metric in (3., 3., 3., 3., 3., paddle.to_tensor([3.])):
        got.append(s())
        s.step(metric)
    np.testing.assert_allclose(got + [s()], [1, 1, 1, .1, .1, .01, .01])
    assert s.state_dict() == {"cooldown_counter": 0, "best": 3., "num_bad_epochs": 1, "last_epoch": 6, "last_lr": s()}


@pytest.mark.parametrize("mode, threshold_mode, metrics, reduced", [
    ("min", "rel", [10., 9.95], True), ("min", "abs", [10., 9.95], False), ("max", "rel", [10., 10.05], True),
    ("max", "abs", [10., 10.05], False)])
def test_what_counts_as_better(mode, threshold_mode, metrics, reduced):
    s = lr.ReduceOnPlateau(1., mode=mode, patience=0, threshold=.01, threshold_mode=threshold_mode)
    for m in metrics:
        s.step(m)
    assert (s() < 1) is reduced


def test_cooldown_and_lowest_rate():
    s = lr.ReduceOnPlateau(1., patience=0, factor=.1, cooldown=2, min_lr=.05)
    rates = []
    for _ in range(9):
        s.step(1.)
        rates.append(round(s(), 3))
    assert rates == [1., .1, .1, .1, .05, .05, .05, .05, .05]


def test_one_cycle_ends():
    s = lr.OneCycleLR(1., 10, three_phase=True, phase_pct=.4, end_learning_rate=.001)
    rates = [s()]
    for _ in range(9):
        s.step()
        rates.append(s())
    assert rates[3] == pytest.approx(1.) and rates[6] == pytest.approx(.04) and rates[9] == pytest.approx(.001)
    s.step()
    with pytest.raises(ValueError, match="total_steps"):
        s.step()


def test_verbose(capsys):
    lr.StepDecay(.5, 2, verbose=True).step()
    s = lr.ReduceOnPlateau(1., patience=0, verbose=True)
    s.step(1.)
    s.step(1.)
    assert capsys.readouterr().out.splitlines() == [
        "Epoch 0: StepDecay set learning rate to 0.5.", "Epoch 1: StepDecay set learning rate to 0.5.",
        "Epoch 2: ReduceOnPlateau set learning rate to 0.1."]


def test_a_schedule_of_the_user():
    class Sine(lr.LRScheduler):
        def get_lr(self):
            return self.base_lr * abs(math.sin(self.last_epoch))
    s = Sine(2.)
    s.step()
    assert s() == s.get_lr() == s.last_lr == 2 * math.sin(1)
    with pytest.raises(NotImplementedError):
        lr.LRScheduler(.1)


@pytest.mark.parametrize("error, make", [
    (ValueError, lambda: lr.ExponentialDecay(-.5, .9)), (TypeError, lambda: lr.ExponentialDecay("a", .9)),
    (ValueError, lambda: lr.ExponentialDecay(.5, 1.5)), (ValueError, lambda: lr.PolynomialDecay(.5, 0)),
    (ValueError, lambda: lr.PolynomialDecay(.5, 2.5)), (ValueError, lambda: lr.PolynomialDecay(.5, 5, power=-1.)),
    (TypeError, lambda: lr.LinearWarmup("x", 3, 0., .5)), (ValueError, lambda: lr.LinearWarmup(.5, 3, .6, .5)),
    (ValueError, lambda: lr.MultiStepDecay(.5, [5, 3])), (TypeError, lambda: lr.MultiStepDecay(.5, 3)),
    (ValueError, lambda: lr.StepDecay(.5, 3, gamma=1.5)), (TypeError, lambda: lr.StepDecay(.5, 3.)),
    (ValueError, lambda: lr.StepDecay(.5, 0)), (TypeError, lambda: lr.LambdaDecay(.5, 3)),
    (ValueError, lambda: lr.ReduceOnPlateau(1., factor=1.)), (ValueError, lambda: lr.ReduceOnPlateau(1., mode="avg")),
    (TypeError, lambda: lr.ReduceOnPlateau(1.).step("x")), (ValueError, lambda: lr.ReduceOnPlateau(1.).step(np.ones(2))),
    (TypeError, lambda: lr.CosineAnnealingDecay(.5, "a")), (ValueError, lambda: lr.CosineAnnealingDecay(.5, 0)),
    (ValueError, lambda: lr.CosineAnnealingWarmRestarts(.5, 0)), (ValueError, lambda: lr.CosineAnnealingWarmRestarts(.5, 2).step(-1)),
    (ValueError, lambda: lr.OneCycleLR(1., 0)), (TypeError, lambda: lr.OneCycleLR(1., 2.5)),
    (ValueError, lambda: lr.OneCycleLR(1., 5, phase_pct=1.5)), (ValueError, lambda: lr.OneCycleLR(1., 5, anneal_strategy="x")),
    (ValueError, lambda: lr.OneCycleLR(1., 5, three_phase=True, phase_pct=.6)), (ValueError, lambda: lr.CyclicLR(.1, 1., 4, mode="z")),
    (ValueError, lambda: lr.CyclicLR(.1, 1., 0)), (TypeError, lambda: lr.CyclicLR(.1, 1., 4, scale_fn=3)),
    (ValueError, lambda: lr.LinearLR(.5, 0)), (ValueError, lambda: lr.LinearLR(.5, 5, start_factor=0.)),
    (ValueError, lambda: lr.NoamDecay(0, 5)), (ValueError, lambda: lr.PiecewiseDecay([3], [.1])),
])
def test_bad_arguments(error, make):
    with pytest.raises(error):
        make()
