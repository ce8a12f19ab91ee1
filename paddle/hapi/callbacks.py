"""What happens around the steps of `paddle.Model`: printing, checkpoints, learning rates, early stopping, logs."""

from __future__ import annotations

import math
import numbers
import os
import time
import warnings
from typing import Any

import numpy as np

from ..engine import errors
from ..optimizer.lr import LRScheduler as Schedule
from ..utils import storage
from .callback import Callback, CallbackList, first_process
from .progressbar import ProgressBar
from .tracking import VisualDL, WandbCallback

__all__ = [
    "Callback",
    "CallbackList",
    "EarlyStopping",
    "LRScheduler",
    "ModelCheckpoint",
    "ProgBarLogger",
    "ReduceLROnPlateau",
    "VisualDL",
    "WandbCallback",
    "config_callbacks",
]


def config_callbacks(
    callbacks: Any = None,
    model: Any = None,
    batch_size: int | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    log_freq: int = 2,
    verbose: int = 2,
    save_freq: int = 1,
    save_dir: str | None = None,
    metrics: Any = None,
    mode: str = "train",
) -> CallbackList:
    """The callbacks of a run: those given, and those for printing, checkpoints and learning rates where none is given."""
    chosen = list(callbacks) if isinstance(callbacks, (list, tuple)) else [] if callbacks is None else [callbacks]
    for c in chosen:
        if not hasattr(c, "set_model") or isinstance(c, type):
            what = f"the class {c.__name__}" if isinstance(c, type) else type(c).__name__
            raise errors.TypeError_(f"callbacks: a paddle.callbacks.Callback is expected, got {what}")

    def given(kind: type) -> bool:
        return any(isinstance(c, kind) for c in chosen)

    if not given(ProgBarLogger) and verbose:
        chosen.insert(0, ProgBarLogger(log_freq, verbose=verbose))
    if not given(ModelCheckpoint):
        chosen.append(ModelCheckpoint(save_freq, save_dir))
    if not given(LRScheduler):
        chosen.append(LRScheduler())
    for c in chosen:
        if isinstance(c, EarlyStopping):
            c.save_dir = save_dir
    everything = CallbackList(chosen)
    everything.set_model(model)
    everything.set_params(
        {
            "batch_size": batch_size,
            "epochs": epochs,
            "steps": steps,
            "verbose": verbose,
            "metrics": list(metrics or []) if mode != "predict" else [],
        }
    )
    return everything


class _Meter:
    """The time of loading and of computing since the last printed line (``verbose=3``)."""

    def __init__(self) -> None:
        self.forget()
        self.mark = time.perf_counter()

    def forget(self) -> None:
        self.reading = self.computing = 0.0
        self.samples = self.count = 0

    def begin(self) -> None:
        now = time.perf_counter()
        self.reading += now - self.mark
        self.mark = now

    def end(self, samples: int) -> None:
        now = time.perf_counter()
        self.computing += now - self.mark
        self.mark = now
        self.samples += samples
        self.count += 1

    def values(self) -> list[tuple[str, str]]:
        count, total = max(self.count, 1), max(self.reading + self.computing, 1e-12)
        shown = [
            ("avg_reader_cost", f"{self.reading / count:.5f} sec"),
            ("avg_batch_cost", f"{self.computing / count:.5f} sec"),
            ("ips", f"{self.samples / total:.5f} samples/sec"),
        ]
        self.forget()
        return shown


class ProgBarLogger(Callback):
    """Prints loss and metrics.

    Args:
        log_freq: print after that many steps.
        verbose: 0 prints nothing, 1 draws a bar, 2 prints lines, 3 lines with the times of loading and computing.

    Example:
        >>> logger = paddle.callbacks.ProgBarLogger(log_freq=10, verbose=2)
    """

    def __init__(self, log_freq: int = 1, verbose: int = 2):
        super().__init__()
        self.epochs: Any = None
        self.steps: Any = None
        self.progbar: Any = None
        self.verbose = verbose
        self.log_freq = log_freq

    def _say(self, text: str) -> None:
        if self.verbose and first_process():
            print(text, flush=True)

    def _open(self, steps: int | None, names: list[str]) -> None:
        self.steps, self._names = steps, names
        self._step = self._printed = self._samples = 0
        self._meter = _Meter()
        self.progbar = ProgressBar(num=steps or None, verbose=min(self.verbose, 2))

    def _before(self) -> None:
        self._meter.begin()

    def _after(self, step: int, logs: dict | None) -> None:
        self._meter.end((logs or {}).get("batch_size", 1))
        self._step = step + 1
        self._samples += (logs or {}).get("batch_size", 1)
        last = self.steps is not None and self._step >= self.steps  # printed when the run ends
        if self.log_freq and self._step % self.log_freq == 0 and not last:
            self._print(logs)

    def _print(self, logs: dict | None) -> None:
        if not self.verbose or not first_process():
            return
        values = [(name, logs[name]) for name in self._names if name in (logs or {})]
        if self.verbose == 3:
            values += self._meter.values()
        self.progbar.update(self._step, values)
        self._printed = self._step

    def _finish(self, logs: dict | None) -> None:
        if self._step != self._printed:
            self._print(logs)
        self.progbar.close()

    def _abandon(self) -> None:
        if self.progbar is not None:
            self.progbar.close()

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Explain what the numbers are."""
        self.epochs = self.params.get("epochs")
        self._say(
            "The loss value printed in the log is the current step, and the metric is the average value of previous "
            "steps."
        )

    def on_epoch_begin(self, epoch: int | None = None, logs: dict | None = None) -> None:
        """Print the number of the epoch."""
        if self.epochs:
            self._say(f"Epoch {epoch + 1}/{self.epochs}")
        self._open(self.params.get("steps"), list(self.params.get("metrics") or []))

    def on_train_batch_begin(self, step: int, logs: dict | None = None) -> None:
        """Look at the clock."""
        self._before()

    def on_train_batch_end(self, step: int, logs: dict | None = None) -> None:
        """Print, every `log_freq` steps."""
        self._after(step, logs)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Print the last step."""
        self._finish(logs)

    def on_eval_begin(self, logs: dict | None = None) -> None:
        """Print that an evaluation begins."""
        self._open((logs or {}).get("steps"), list((logs or {}).get("metrics") or []))
        self._say("Eval begin...")

    def on_eval_batch_begin(self, step: int, logs: dict | None = None) -> None:
        """Look at the clock."""
        self._before()

    def on_eval_batch_end(self, step: int, logs: dict | None = None) -> None:
        """Print, every `log_freq` steps."""
        self._after(step, logs)

    def on_eval_end(self, logs: dict | None = None) -> None:
        """Print the last step and the number of samples."""
        self._finish(logs)
        self._say(f"Eval samples: {self._samples}")

    def on_predict_begin(self, logs: dict | None = None) -> None:
        """Print that a prediction begins."""
        self._open((logs or {}).get("steps"), [])
        self._say("Predict begin...")

    def on_predict_batch_begin(self, step: int, logs: dict | None = None) -> None:
        """Look at the clock."""
        self._before()

    def on_predict_batch_end(self, step: int, logs: dict | None = None) -> None:
        """Print, every `log_freq` steps."""
        self._after(step, logs)

    def on_predict_end(self, logs: dict | None = None) -> None:
        """Print the last step and the number of samples."""
        self._finish(logs)
        self._say(f"Predict samples: {self._samples}")


class ModelCheckpoint(Callback):
    """Saves the model after every `save_freq` epochs as ``save_dir/<epoch>`` and at the end as ``save_dir/final``.

    Args:
        save_freq: epochs between two checkpoints, the first epoch included.
        save_dir: the folder; None saves nothing.

    Example:
        >>> checkpoint = paddle.callbacks.ModelCheckpoint(save_dir="./output")
    """

    def __init__(self, save_freq: int = 1, save_dir: str | None = None):
        super().__init__()
        if not isinstance(save_freq, numbers.Integral) or save_freq < 1:
            raise errors.ValueError_(f"ModelCheckpoint: save_freq must be a positive integer, got {save_freq!r}")
        self.save_freq = save_freq
        self.save_dir = save_dir

    def _save(self, name: str) -> None:
        path = storage.join(self.save_dir, name)
        path = path if storage.is_remote(path) else os.path.abspath(path)
        print(f"save checkpoint at {path}", flush=True)
        self.model.save(path)

    def _saves(self) -> bool:
        return self.model is not None and bool(self.save_dir) and first_process()

    def on_epoch_begin(self, epoch: int | None = None, logs: dict | None = None) -> None:
        """Remember the epoch."""
        self.epoch = epoch

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Save, every `save_freq` epochs."""
        if self._saves() and epoch % self.save_freq == 0:
            self._save(str(epoch))

    def on_train_end(self, logs: dict | None = None) -> None:
        """Save ``final``."""
        if self._saves():
            self._save("final")


class LRScheduler(Callback):
    """Steps the learning rate scheduler of the optimizer, after each step or after each epoch.

    Example:
        >>> by_epoch = paddle.callbacks.LRScheduler(by_step=False, by_epoch=True)
    """

    def __init__(self, by_step: bool = True, by_epoch: bool = False):
        super().__init__()
        if by_step and by_epoch:
            raise errors.ValueError_("callbacks.LRScheduler: by_step option is mutually exclusive with by_epoch")
        self.by_step, self.by_epoch = by_step, by_epoch

    def _advance(self) -> None:
        schedule = getattr(getattr(self.model, "_optimizer", None), "_learning_rate", None)
        if isinstance(schedule, Schedule):
            schedule.step()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Step, with `by_epoch`."""
        if self.by_epoch:
            self._advance()

    def on_train_batch_end(self, step: int, logs: dict | None = None) -> None:
        """Step, with `by_step`."""
        if self.by_step:
            self._advance()


def _better(who: str, mode: str, monitor: str) -> str:
    """Whether more ("max") or less ("min") of a monitored value is better."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(f"{who}: mode {mode!r} is unknown, fallback to auto mode.", stacklevel=3)
        mode = "auto"
    return mode if mode != "auto" else "max" if "acc" in monitor else "min"


def _monitored(who: str, logs: dict | None, monitor: str) -> float | None:
    value = (logs or {}).get(monitor)
    if value is None:
        warnings.warn(f"Monitor of {who} should be loss or metric name.", stacklevel=3)
        return None
    value = np.asarray(value).reshape(-1)
    return float(value[0]) if value.size else None


class EarlyStopping(Callback):
    """Ends the training when the monitored result of the evaluations stops to improve.

    Args:
        monitor: "loss" or the name of a metric.
        mode: "min", "max", or "auto": "max" for names with "acc".
        patience: evaluations without improvement after which the training ends (0 is as 1).
        verbose: 1 prints that the training ends.
        min_delta: what counts as an improvement.
        baseline: the value to beat at first.
        save_best_model: save the best state as ``best_model`` in the `save_dir` of `fit`.

    Example:
        >>> stop = paddle.callbacks.EarlyStopping("loss", patience=2)
    """

    def __init__(
        self,
        monitor: str = "loss",
        mode: str = "auto",
        patience: int = 0,
        verbose: int = 1,
        min_delta: float = 0,
        baseline: float | None = None,
        save_best_model: bool = True,
    ):
        super().__init__()
        self.monitor = monitor
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.min_delta = abs(min_delta)
        self.wait_epoch = 0
        self.best_weights = None
        self.stopped_epoch = 0
        self.save_best_model = save_best_model
        self.save_dir: str | None = None
        self.monitor_op = np.greater if _better("EarlyStopping", mode, monitor) == "max" else np.less
        self._forget()

    def _forget(self) -> None:
        worst = -np.inf if self.monitor_op is np.greater else np.inf
        self.best_value = self.baseline if self.baseline is not None else worst
        self.wait_epoch = self.stopped_epoch = 0

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Forget what was before."""
        self._forget()

    def on_eval_end(self, logs: dict | None = None) -> None:
        """Compare, save or end."""
        if self.model is None or (value := _monitored("EarlyStopping", logs, self.monitor)) is None:
            return
        self.stopped_epoch += 1
        delta = self.min_delta if self.monitor_op is np.greater else -self.min_delta
        if self.monitor_op(value - delta, self.best_value):
            self.best_value, self.wait_epoch = value, 0
            if self.save_best_model and self.save_dir is not None and first_process():
                self.model.save(os.path.join(self.save_dir, "best_model"))
            return
        self.wait_epoch += 1
        if self.wait_epoch < self.patience:
            return
        self.model.stop_training = True
        if self.verbose > 0:
            print(f"Epoch {self.stopped_epoch}: Early stopping.")
            if self.save_best_model and self.save_dir is not None:
                path = os.path.abspath(os.path.join(self.save_dir, "best_model"))
                print(f"Best checkpoint has been saved at {path}")


class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` when the monitored result of the evaluations stops to improve.

    Args:
        monitor, mode, min_delta: as in `EarlyStopping`.
        factor: less than 1.
        patience: evaluations without improvement.
        verbose: 1 prints each reduction.
        cooldown: evaluations after a reduction that do not count.
        min_lr: the lowest learning rate.

    Raises:
        ValueError: `factor` is 1 or more.

    Example:
        >>> reduce = paddle.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=3)
    """

    def __init__(
        self,
        monitor: str = "loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 1,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ):
        super().__init__()
        if factor >= 1.0:
            raise errors.ValueError_(f"ReduceLROnPlateau does not support a factor >= 1.0, got {factor!r}")
        self.monitor, self.factor, self.min_lr, self.min_delta = monitor, factor, min_lr, min_delta
        self.patience, self.verbose, self.cooldown = patience, verbose, cooldown
        self.mode = mode if mode in ("auto", "min", "max") else "auto"
        self._direction = _better("ReduceLROnPlateau", mode, monitor)
        self.epoch = 0
        self._forget()

    def _forget(self) -> None:
        self.best = -np.inf if self._direction == "max" else np.inf
        self.cooldown_counter = self.wait = 0

    def monitor_op(self, value: float, best: float) -> bool:
        """Whether `value` is an improvement on `best`."""
        return value > best + self.min_delta if self._direction == "max" else value < best - self.min_delta

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Forget what was before."""
        self._forget()

    def on_eval_end(self, logs: dict | None = None) -> None:
        """Compare, and reduce."""
        if self.model is None or (value := _monitored("ReduceLROnPlateau", logs, self.monitor)) is None:
            return
        optimizer = self.model._optimizer
        if isinstance(optimizer._learning_rate, Schedule):
            warnings.warn(
                "ReduceLROnPlateau: the learning rate must be a number, got a "
                f"{type(optimizer._learning_rate).__name__}; it is left alone.",
                stacklevel=2,
            )
            return
        self.epoch += 1
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.monitor_op(value, self.best):
            self.best, self.wait = value, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(optimizer)

    def _reduce(self, optimizer: Any) -> None:
        old = float(optimizer.get_lr())
        if old <= float(np.float32(self.min_lr)) or math.isclose(old, self.min_lr):
            return
        new = max(old * self.factor, self.min_lr)
        optimizer.set_lr(new)
        if self.verbose > 0 and first_process():
            print(f"\nEpoch {self.epoch}: ReduceLROnPlateau reducing learning rate to {new}.")
        self.cooldown_counter, self.wait = self.cooldown, 0

    def in_cooldown(self) -> bool:
        """Whether evaluations do not count at present."""
        return self.cooldown_counter > 0
