"""The base of all callbacks, and lists of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..engine import errors


class Callback:
    """The base of all callbacks: does nothing. `self.model` is the `paddle.Model`, `self.params` a dict with
    ``batch_size``, ``epochs``, ``steps``, ``verbose`` and ``metrics``. `logs` holds the loss and the metrics, and the
    step and its number of samples.

    Example:
        >>> class Say(paddle.callbacks.Callback):
        ...     def on_epoch_end(self, epoch, logs=None):
        ...         print("epoch", epoch, sorted(logs))
    """

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        """Called once, before the run."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Called once, before the run."""
        self.model = model

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Before the first epoch of `fit`."""

    def on_train_end(self, logs: dict | None = None) -> None:
        """After the last epoch of `fit`."""

    def on_eval_begin(self, logs: dict | None = None) -> None:
        """Before an evaluation; `logs` has its ``steps`` and ``metrics``."""

    def on_eval_end(self, logs: dict | None = None) -> None:
        """After an evaluation, with its results."""

    def on_predict_begin(self, logs: dict | None = None) -> None:
        """Before a prediction; `logs` has its ``steps``."""

    def on_predict_end(self, logs: dict | None = None) -> None:
        """After a prediction."""

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        """Before each epoch of `fit`, counted from 0."""

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """After each epoch of `fit`, before its evaluation."""

    def on_train_batch_begin(self, step: int, logs: dict | None = None) -> None:
        """Before each training step, counted from 0 in each epoch."""

    def on_train_batch_end(self, step: int, logs: dict | None = None) -> None:
        """After each training step."""

    def on_eval_batch_begin(self, step: int, logs: dict | None = None) -> None:
        """Before each batch of an evaluation."""

    def on_eval_batch_end(self, step: int, logs: dict | None = None) -> None:
        """After each batch of an evaluation."""

    def on_predict_batch_begin(self, step: int, logs: dict | None = None) -> None:
        """Before each batch of a prediction."""

    def on_predict_batch_end(self, step: int, logs: dict | None = None) -> None:
        """After each batch of a prediction."""


class CallbackList:
    """Several callbacks, called one after the other."""

    def __init__(self, callbacks: Any = None):
        self.callbacks = list(callbacks or [])
        self.params: dict[str, Any] = {}
        self.model: Any = None

    def append(self, callback: Callback) -> None:
        """Add one at the end."""
        self.callbacks.append(callback)

    def __iter__(self) -> Iterator[Callback]:
        return iter(self.callbacks)

    def set_params(self, params: dict[str, Any]) -> None:
        """Tell all of them."""
        self.params = params
        for c in self.callbacks:
            c.set_params(params)

    def set_model(self, model: Any) -> None:
        """Tell all of them."""
        self.model = model
        for c in self.callbacks:
            c.set_model(model)

    def _call(self, name: str, *args: Any) -> None:
        for c in self.callbacks:
            getattr(c, name)(*args)

    def abandon(self) -> None:
        """What ended with an error or an interrupt: those that hold a file or a line of the terminal let go of it."""
        for c in self.callbacks:
            getattr(c, "_abandon", lambda: None)()

    def on_begin(self, mode: str, logs: dict | None = None) -> None:
        """`mode` is "train", "eval" or "predict"."""
        self._call(f"on_{_mode(mode)}_begin", logs)

    def on_end(self, mode: str, logs: dict | None = None) -> None:
        """The end of a run."""
        self._call(f"on_{_mode(mode)}_end", logs)

    def on_epoch_begin(self, epoch: int | None = None, logs: dict | None = None) -> None:
        """The beginning of an epoch."""
        self._call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch: int | None = None, logs: dict | None = None) -> None:
        """The end of an epoch."""
        self._call("on_epoch_end", epoch, logs)

    def on_batch_begin(self, mode: str, step: int | None = None, logs: dict | None = None) -> None:
        """The beginning of a batch."""
        self._call(f"on_{_mode(mode)}_batch_begin", step, logs)

    def on_batch_end(self, mode: str, step: int | None = None, logs: dict | None = None) -> None:
        """The end of a batch."""
        self._call(f"on_{_mode(mode)}_batch_end", step, logs)


def _mode(mode: str) -> str:
    if mode not in ("train", "eval", "predict"):
        raise errors.ValueError_(f"CallbackList: mode must be 'train', 'eval' or 'predict', got {mode!r}")
    return mode


def first_process() -> bool:
    return os.environ.get("PADDLE_TRAINER_ID", "0") in ("", "0")
