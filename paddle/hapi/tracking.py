"""Callbacks that send loss and metrics to a visual log or a service."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .callback import Callback, first_process


class _Scalars(Callback):
    """Sends loss and metrics somewhere: subclasses say how, in `_write(tag, value, step)`."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: Any = None
        self.steps: Any = None
        self.epoch = 0
        self._train_step = 0

    def _write(self, values: dict[str, float], step: int) -> None:
        raise NotImplementedError

    def _close(self) -> None:
        pass

    def _abandon(self) -> None:
        self._training = False
        self._close()

    def _send(self, mode: str, names: Any, logs: dict | None, step: int) -> None:
        if not first_process():
            return
        values: dict[str, float] = {}
        for name in names or []:
            value = np.asarray((logs or {}).get(name, []), dtype=object).reshape(-1)
            if value.size and isinstance(value[0], numbers.Number):
                values[f"{mode}/{name}"] = float(value[0])
        if values:
            self._write(values, step)

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Count the steps from 0."""
        self.epochs, self.steps = self.params.get("epochs"), self.params.get("steps")
        self._training, self._train_step = True, 0

    def on_epoch_begin(self, epoch: int | None = None, logs: dict | None = None) -> None:
        """Remember the epoch."""
        self.epoch = epoch

    def on_train_batch_end(self, step: int, logs: dict | None = None) -> None:
        """Write ``train/...``."""
        self._train_step += 1
        self._send("train", self.params.get("metrics"), logs, self._train_step)

    def on_eval_begin(self, logs: dict | None = None) -> None:
        """Remember what is measured."""
        self._measured = list((logs or {}).get("metrics") or [])

    def on_eval_end(self, logs: dict | None = None) -> None:
        """Write ``eval/...``, by epoch."""
        self._send("eval", self._measured, logs, (self.epoch or 0) + 1)
        if not getattr(self, "_training", False):
            self._close()

    def on_train_end(self, logs: dict | None = None) -> None:
        """Close what is open."""
        self._training = False
        self._close()


class VisualDL(_Scalars):
    """Writes loss and metrics as event files that VisualDL's reader here and TensorBoard show: ``train/loss`` by step,
    ``eval/loss`` by epoch.

    Args:
        log_dir: the folder.

    Example:
        >>> callback = paddle.callbacks.VisualDL(log_dir="visualdl_log_dir")
    """

    def __init__(self, log_dir: str):
        super().__init__()
        self.log_dir = log_dir
        self._writer: Any = None

    def _write(self, values: dict[str, float], step: int) -> None:
        if self._writer is None:
            from ..visual_log import LogWriter

            self._writer = LogWriter(self.log_dir)
        for tag, value in values.items():
            self._writer.add_scalar(tag=tag, value=value, step=step)

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class WandbCallback(_Scalars):
    """Sends loss and metrics to Weights & Biases; needs the package `wandb`.

    Args:
        project, entity, name, dir, mode, job_type: see `wandb.init`.
        kwargs: further arguments of `wandb.init`.

    Raises:
        ImportError: `wandb` is not installed.
    """

    def __init__(
        self,
        project: str | None = None,
        entity: str | None = None,
        name: str | None = None,
        dir: str | None = None,
        mode: str | None = None,
        job_type: str | None = None,
        **kwargs: Any,
    ):
        super().__init__()
        from ..utils.imports import try_import

        self.wandb = try_import("wandb", "WandbCallback needs the package 'wandb': pip install wandb")
        given = {"project": project, "entity": entity, "name": name, "dir": dir, "mode": mode, "job_type": job_type}
        self.wandb_args = {k: v for k, v in given.items() if v is not None} | kwargs
        self._run: Any = None

    @property
    def run(self) -> Any:
        """The run at Weights & Biases, begun when it is first needed."""
        if self._run is None:
            self._run = self.wandb.run if self.wandb.run is not None else self.wandb.init(**self.wandb_args)
        return self._run

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Begin the run."""
        super().on_train_begin(logs)
        if first_process():
            _ = self.run

    def _write(self, values: dict[str, float], step: int) -> None:
        kind = "epoch" if next(iter(values)).startswith("eval/") else "step"
        self.run.log({**values, ("eval/" if kind == "epoch" else "train/") + kind: step})

    def _close(self) -> None:
        if self._run is not None:
            self._run.finish()
            self._run = None
