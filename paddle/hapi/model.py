"""`paddle.Model`: training, evaluation, prediction and saving of a network in one line each."""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.modes import modes, no_grad
from ..engine.tensor import Tensor
from ..io import DataLoader, Dataset, DistributedBatchSampler, IterableDataset
from ..metric import Metric
from ..nn.layer import Layer
from ..nn.training_mode import in_mode
from ..utils import storage
from .amp_settings import AmpSettings
from .callbacks import CallbackList, EarlyStopping, config_callbacks
from .static_model import StaticRunner


def to_list(value: Any) -> Any:
    """A list of one or several things; None stays None."""
    return value if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def to_numpy(var: Any) -> np.ndarray:
    """The values of a tensor."""
    if not isinstance(var, Tensor):
        raise errors.TypeError_(f"to_numpy: a Tensor is expected, got {type(var).__name__}")
    return var.numpy()


def flatten_list(l: list) -> tuple[list, list[int]]:
    """A list of lists as one list, and the lengths of the parts."""
    parts = [to_list(part) for part in l]
    return [item for part in parts for item in part], [len(part) for part in parts]


def restore_flatten_list(l: list, splits: list[int]) -> list:
    """What `flatten_list` took apart."""
    rest = iter(l)
    return [[next(rest) for _ in range(n)] for n in splits]


def extract_args(func: Callable) -> list[str]:
    """The names of the arguments of a function."""
    return inspect.getfullargspec(func).args


class Model:
    """A network with what its training needs. `prepare` gives it an optimizer, a loss and metrics; then `fit`,
    `evaluate` and `predict` run over data. In static mode (`paddle.enable_static`) the network runs as programs.

    Args:
        network: a Layer.
        inputs, labels: InputSpec, or a list of them, of the network's inputs and of the labels. They tell how many
            parts of a batch are inputs, and what `save` exports; without them `forward` and the first batch tell.

    Raises:
        TypeError: arguments of other types.
        ValueError: no `inputs` in static mode.

    Example:
        >>> model = paddle.Model(paddle.nn.Linear(2, 1))
        >>> model.prepare(paddle.optimizer.SGD(0.1, parameters=model.parameters()), paddle.nn.MSELoss())
        >>> data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.ones([4, 1])])
        >>> model.fit(data, batch_size=2, epochs=3, verbose=0)
        >>> sorted(model.evaluate(data, verbose=0))
        ['loss']
    """

    def __init__(self, network: Layer, inputs: Any = None, labels: Any = None):
        if not isinstance(network, Layer):
            raise errors.TypeError_(f"Model: network must be a paddle.nn.Layer, got {type(network).__name__}")
        self.mode = "train"
        self.network = network
        self.stop_training = False
        self._inputs = _specs("inputs", inputs)
        self._labels = _specs("labels", labels)
        self._optimizer: Any = None
        self._loss: Any = None
        self._metrics: list[Metric] = []
        self._amp = AmpSettings(None)
        self._runner: Any = network
        self._seen: list | None = None  # the inputs of the last batch: shapes and types
        self._pending = False  # gradients that no step has used
        self._steps = 0
        self._static: StaticRunner | None = None  # what runs in static mode
        if modes.program is not None:
            self._static = StaticRunner(network, self._inputs, self._labels)

    # ---- preparation ----
    def prepare(self, optimizer: Any = None, loss: Any = None, metrics: Any = None, amp_configs: Any = None) -> None:
        """Give what `fit`, `evaluate` and `predict` need.

        Args:
            optimizer: needed for training.
            loss: a Layer or a function of (outputs..., labels...); its result, or the sum of its results, is minimised.
            metrics: one or several `paddle.metric.Metric`.
            amp_configs: "O1", "O2", or a dict with ``level``, the arguments of `paddle.amp.GradScaler`
                (``init_loss_scaling``, ...), ``custom_white_list``, ``custom_black_list`` and ``dtype``; in static mode
                also ``custom_black_varnames`` and ``use_fp16_guard``.

        Raises:
            TypeError: arguments of other types.
            ValueError: unknown `amp_configs`.
        """
        if loss is not None and not isinstance(loss, Layer) and not callable(loss):
            raise errors.TypeError_(
                f"Model.prepare: 'loss' must be sub classes of `paddle.nn.Layer` or any callable function, got {loss!r}"
            )
        if optimizer is not None and not hasattr(optimizer, "step"):
            raise errors.TypeError_(f"Model.prepare: optimizer must be a paddle.optimizer.Optimizer, got {optimizer!r}")
        metrics = to_list(metrics) or []
        for metric in metrics:
            if not isinstance(metric, Metric):
                raise errors.TypeError_(f"Model.prepare: {type(metric).__name__} is not sub class of Metric")
        self._amp = AmpSettings(amp_configs, static=self._static is not None)
        self._optimizer, self._loss, self._metrics = optimizer, loss, metrics
        if self._static is not None:
            self._static.prepare(optimizer, loss, metrics, self._amp)
            return
        self.network, self._optimizer = self._amp.decorate(self.network, optimizer)
        self._runner = self.network
        if int(os.environ.get("PADDLE_TRAINERS_NUM", "1") or 1) > 1:
            import paddle

            paddle.distributed.init_parallel_env()
            self._runner = paddle.DataParallel(self.network)

    def parameters(self, *args: Any, **kwargs: Any) -> list:
        """The parameters of the network."""
        return self.network.parameters(*args, **kwargs)

    # ---- single batches ----
    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True) -> Any:
        """One training step.

        Args:
            inputs, labels: a Tensor or an array, or a list of them.
            update: False only adds to the gradients.

        Returns:
            The losses as arrays; with metrics a tuple (losses, metrics).

        Raises:
            RuntimeError: `prepare` has not given an optimizer and a loss.
        """
        if self._optimizer is None or self._loss is None:
            raise errors.RuntimeError_("Model: model not ready, please call `model.prepare()` first")
        self._set_mode("train")
        if self._static is not None:
            return self._run_program("train", inputs, labels, update)
        inputs, labels = self._see(inputs), self._batch(labels)
        with self._amp.autocast():
            outputs = _outputs(self._runner(*inputs))
            losses = _outputs(self._loss(*outputs, *labels))
        total = losses[0]
        for loss in losses[1:]:
            total = total + loss
        self._amp.scale(total).backward()
        self._pending = True
        if update:
            self._update()
        return self._results(losses, outputs, labels)

    def _update(self) -> None:
        self._amp.step(self._optimizer)
        self._optimizer.clear_grad()
        self._pending = False

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """Loss and metrics of one batch, without training; arguments and result as those of `train_batch`."""
        if self._loss is None and not self._metrics:
            raise errors.RuntimeError_(
                "Model: model not ready, please call `model.prepare()` with a loss or metrics first"
            )
        self._set_mode("eval")
        if self._static is not None:
            return self._run_program("eval", inputs, labels)
        with no_grad():
            inputs, labels = self._see(inputs), self._batch(labels)
            with self._amp.autocast():
                outputs = _outputs(self._runner(*inputs))
                losses = _outputs(self._loss(*outputs, *labels)) if self._loss is not None else []
            return self._results(losses, outputs, labels)

    def predict_batch(self, inputs: Any) -> list[np.ndarray]:
        """The outputs of the network for one batch, as a list of arrays."""
        self._set_mode("test")
        if self._static is not None:
            return self._static.run("predict", to_list(inputs) or [], [])[2]
        with no_grad():
            inputs = self._see(inputs)
            with self._amp.autocast():
                return [o.numpy() for o in _outputs(self._runner(*inputs))]

    def _run_program(self, mode: str, inputs: Any, labels: Any, update: bool = True) -> Any:
        losses, computed, _ = self._static.run(mode, to_list(inputs) or [], to_list(labels) or [], update)  # type: ignore[union-attr]
        return self._measured(losses, [m.update(*c) for m, c in zip(self._metrics, computed)])

    def _measured(self, losses: list, metrics: list) -> Any:
        if not self._metrics:
            return losses
        return (losses, metrics) if self._loss is not None else metrics

    def _set_mode(self, mode: str) -> None:
        self.mode = mode
        (self._runner.train if mode == "train" else self._runner.eval)()

    def _batch(self, parts: Any) -> list[Tensor]:
        from ..ops.creation import to_tensor

        parts = to_list(parts) or []
        return [p if isinstance(p, (Tensor, dict)) else to_tensor(p) for p in parts]

    def _see(self, inputs: Any) -> list[Tensor]:
        batch = self._batch(inputs)
        self._seen = [(list(p.shape), p.dtype) for p in batch if isinstance(p, Tensor)]
        return batch

    def _results(self, losses: list, outputs: list, labels: list) -> Any:
        measured = []
        with no_grad():
            for metric in self._metrics:
                computed = to_list(metric.compute(*outputs, *labels))
                measured.append(metric.update(*[c.numpy() if isinstance(c, Tensor) else c for c in computed]))
        return self._measured([loss.numpy() for loss in losses], measured)

    # ---- whole runs ----
    def fit(
        self,
        train_data: Any = None,
        eval_data: Any = None,
        batch_size: Any = 1,
        epochs: int = 1,
        eval_freq: int = 1,
        log_freq: int = 10,
        save_dir: str | None = None,
        save_freq: int = 1,
        verbose: int = 2,
        drop_last: bool = False,
        shuffle: bool = True,
        num_workers: int = 0,
        callbacks: Any = None,
        accumulate_grad_batches: int = 1,
        num_iters: int | None = None,
    ) -> None:
        """Train.

        Args:
            train_data, eval_data: a Dataset, a DataLoader, or anything that gives batches again and again. A batch is
                a list of the inputs and then the labels.
            batch_size: of both, or a list of the two; for a Dataset.
            epochs: how often to go through the data.
            eval_freq: epochs between evaluations, the first epoch included.
            log_freq: steps between printed lines.
            save_dir, save_freq: where and after how many epochs to save; None does not save.
            verbose: 0 prints nothing, 1 a progress bar, 2 lines, 3 lines with times.
            drop_last, shuffle, num_workers: of the DataLoader made for a Dataset.
            callbacks: one or several of `paddle.callbacks`.
            accumulate_grad_batches: batches whose gradients add up to one step.
            num_iters: train that many batches; then `epochs` follows from it.
        """
        if train_data is None:
            raise errors.ValueError_("Model.fit: train_data must be given!")
        if self._optimizer is None or self._loss is None:
            raise errors.RuntimeError_("Model: model not ready, please call `model.prepare()` first")
        given = {"accumulate_grad_batches": accumulate_grad_batches, "eval_freq": eval_freq, "epochs": epochs}
        for name, value in given.items():
            if not isinstance(value, (int, np.integer)) or value < (name != "epochs"):
                least = "an integer of at least 0" if name == "epochs" else "a positive integer"
                raise errors.ValueError_(f"Model.fit: {name} must be {least}, got {value!r}")
        _check_iterations(num_iters)
        sizes = batch_size if isinstance(batch_size, (list, tuple)) else [batch_size, batch_size]
        if len(sizes) != 2:
            raise errors.ValueError_(
                f"Model.fit: batch_size length error, expected train_batch_size and eval_batch_size, got {batch_size!r}"
            )
        loader = _loader(train_data, sizes[0], shuffle, drop_last, num_workers)
        eval_loader = None if eval_data is None else _loader(eval_data, sizes[1], False, False, num_workers)
        steps = _length(loader)
        if num_iters is not None:
            epochs = -(-num_iters // max(steps, 1)) if steps is not None else epochs
        told = config_callbacks(
            callbacks,
            model=self,
            epochs=epochs,
            steps=steps,
            log_freq=log_freq,
            save_freq=save_freq,
            save_dir=save_dir,
            verbose=verbose,
            metrics=self._metrics_names(),
        )
        if eval_data is None and any(isinstance(c, EarlyStopping) for c in told):
            warnings.warn("EarlyStopping needs validation data.", stacklevel=2)
        self.stop_training = False
        with self._minding(told, training=True):
            self._train(loader, eval_loader, told, epochs, eval_freq, accumulate_grad_batches, num_iters)

    @contextlib.contextmanager
    def _minding(self, told: CallbackList, training: bool = False) -> Iterator[None]:
        """A run that ends with an error or an interrupt leaves no open files and no gradients that no step has used."""
        try:
            yield
        except BaseException:
            if training and self._pending:
                self._optimizer.clear_grad()
                self._pending = False
            told.abandon()
            raise

    def _train(
        self,
        loader: Any,
        eval_loader: Any,
        told: CallbackList,
        epochs: int,
        eval_freq: int,
        accumulate: int,
        left: int | None,
    ) -> None:
        steps = _length(loader)
        logs: dict[str, Any] = {}
        told.on_begin("train")
        for epoch in range(epochs):
            told.on_epoch_begin(epoch)
            logs = self._run(loader, told, "train", left, accumulate, steps)
            if not self._steps and epoch and steps is None:
                errors.warn(
                    f"Model.fit: train_data gave no batch in epoch {epoch + 1}; an iterator serves one epoch only"
                )
            if left is not None:
                left -= self._steps
            told.on_epoch_end(epoch, logs)
            if eval_loader is not None and epoch % eval_freq == 0:
                told.on_begin("eval", {"steps": _length(eval_loader), "metrics": self._metrics_names()})
                logs = self._run(eval_loader, told, "eval", None)
                told.on_end("eval", logs)
            if self.stop_training or (left is not None and left <= 0):
                break
        told.on_end("train", logs)

    def evaluate(
        self,
        eval_data: Any,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Any = None,
        num_iters: int | None = None,
    ) -> dict[str, Any]:
        """The loss of the last batch and the metrics over all batches, by name; arguments as those of `fit`."""
        if self._loss is None and not self._metrics:
            raise errors.RuntimeError_(
                "Model: model not ready, please call `model.prepare()` with a loss or metrics first"
            )
        _check_iterations(num_iters)
        loader = _loader(eval_data, batch_size, False, False, num_workers)
        told = config_callbacks(
            callbacks, model=self, log_freq=log_freq, verbose=verbose, metrics=self._metrics_names(), mode="eval"
        )
        steps = _length(loader)
        if num_iters is not None:
            steps = num_iters if steps is None else min(num_iters, steps)
        with self._minding(told):
            told.on_begin("eval", {"steps": steps, "metrics": self._metrics_names()})
            logs = self._run(loader, told, "eval", num_iters)
            told.on_end("eval", logs)
        return {name: logs[name] for name in self._metrics_names() if name in logs}

    def predict(
        self,
        test_data: Any,
        batch_size: int = 1,
        num_workers: int = 0,
        stack_outputs: bool = False,
        verbose: int = 1,
        callbacks: Any = None,
    ) -> list:
        """The outputs of the network for all batches.

        Args:
            test_data, batch_size, num_workers, verbose, callbacks: as those of `fit`; labels in the data are left out.
            stack_outputs: join the batches.

        Returns:
            For each output of the network a list of arrays, one a batch; or one array.
        """
        loader = _loader(test_data, batch_size, False, False, num_workers)
        told = config_callbacks(callbacks, model=self, verbose=verbose, mode="predict")
        found: list[list] = []
        with self._minding(told):
            told.on_begin("predict", {"steps": _length(loader)})
            logs = self._run(loader, told, "predict", None, found=found)
            told.on_end("predict", logs)
        columns = [list(column) for column in zip(*found)]
        return [np.concatenate(column) for column in columns] if stack_outputs else columns

    def _run(
        self,
        loader: Any,
        told: CallbackList,
        mode: str,
        most: int | None,
        accumulate: int = 1,
        steps: int | None = None,
        found: list | None = None,
    ) -> dict[str, Any]:
        """One pass over the data: `most` batches of it, or all."""
        for metric in self._metrics:
            metric.reset()
        logs: dict[str, Any] = {}
        self._steps = 0
        for step, data in enumerate(loader):
            told.on_batch_begin(mode, step, logs)
            if not isinstance(data, Iterable):
                raise errors.TypeError_(
                    f"Model: a batch must be a list of tensors or arrays, got {errors.describe(data)}"
                )
            parts = [data] if isinstance(data, (Tensor, np.ndarray, dict)) else flatten_list(list(data))[0]
            inputs, labels = self._divide(parts, mode)
            if mode == "predict":
                found.append(self.predict_batch(inputs))  # type: ignore[union-attr]
            else:
                last = step + 1 == steps or step + 1 == most
                if mode == "train":
                    result = self.train_batch(inputs, labels, update=last or (step + 1) % accumulate == 0)
                else:
                    result = self.eval_batch(inputs, labels)
                logs |= self._log(result)
            logs |= {"step": step, "batch_size": _samples(parts)}
            told.on_batch_end(mode, step, logs)
            self._steps = step + 1
            if self._steps == most:
                break
        if mode == "train" and self._pending and steps is None:  # the end was not known
            self._update()
        return logs

    def _divide(self, parts: list, mode: str) -> tuple[list, list]:
        """The inputs and the labels of a batch."""
        if self._inputs is not None:
            count = len(self._inputs)
        elif self._labels is not None and mode != "predict":
            count = len(parts) - len(self._labels)
        else:
            count = _taken(self.network.forward, len(parts), mode)
        return parts[:count], parts[count:]

    def _log(self, result: Any) -> dict[str, Any]:
        losses = result if not self._metrics else result[0] if self._loss is not None else []
        logs: dict[str, Any] = {"loss": [float(np.mean(loss)) for loss in losses]} if self._loss is not None else {}
        for metric in self._metrics:
            logs |= zip(to_list(metric.name()), to_list(metric.accumulate()))
        return logs

    def _metrics_names(self) -> list[str]:
        names = ["loss"] if self._loss is not None else []
        return names + [name for metric in self._metrics for name in to_list(metric.name())]

    # ---- files ----
    def save(self, path: str, training: bool = True) -> None:
        """Write ``path.pdparams`` and, with an optimizer that has a state, ``path.pdopt``; or a program.

        Args:
            path: folder and the beginning of the file names.
            training: False writes the program and its parameters for inference, as `paddle.jit.save`.

        Raises:
            ValueError: the path has no file name.
            RuntimeError: nothing tells what the inputs of the program are.
        """
        if not isinstance(path, str) or not os.path.basename(path):
            raise errors.ValueError_(f"Model.save: path must end in the beginning of a file name, got {path!r}")
        if int(os.environ.get("PADDLE_TRAINER_ID", "0") or 0) != 0:
            return
        if training:
            from ..framework.io import save

            save((self._static or self.network).state_dict(), path + ".pdparams")
            state = self._optimizer.state_dict() if self._optimizer is not None else None
            if state:
                save(state, path + ".pdopt")
        else:
            self._export(path)

    def _export(self, path: str) -> None:
        if self._static is not None:
            return self._static.export(path)
        from .. import jit
        from ..static import InputSpec

        if self._inputs is not None:
            specs = self._inputs
        elif self._seen is not None:
            specs = [InputSpec([None, *shape[1:]], dtype) for shape, dtype in self._seen]
        else:
            raise errors.RuntimeError_(
                "Model.save: Saving inference model needs 'inputs' or running before saving. Please specify 'inputs' in "
                "Model initialization or input training data and perform a training for shape derivation."
            )
        with in_mode(self.network, False):
            jit.save(self.network, path, input_spec=list(specs))

    def load(self, path: str, skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """Read what `save` wrote.

        Args:
            path: with or without ``.pdparams``.
            skip_mismatch: leave parameters alone that are missing in the file or have another shape there (a warning
                names them).
            reset_optimizer: do not read the optimizer's state.

        Raises:
            ValueError: there is no such file, or a parameter does not fit.
        """
        from ..framework.io import load

        if not isinstance(path, str):
            raise errors.TypeError_(f"Model.load: path must be a str, got {path!r}")
        prefix = path[: -len(".pdparams")] if path.endswith(".pdparams") else path
        if not storage.is_file(prefix + ".pdparams"):
            raise errors.ValueError_(
                f"Model.load: Failed to load parameters, please check path: there is no file {prefix + '.pdparams'}"
            )
        given = load(prefix + ".pdparams")
        if not isinstance(given, dict):
            raise errors.ValueError_(f"Model.load: {prefix}.pdparams holds no parameters but {errors.describe(given)}")
        fitting = {}
        for key, own in self.network.state_dict().items():
            problem = None
            if key not in given:
                problem = f"{key} is not found in the providing file."
            elif list(np.shape(given[key])) != list(own.shape):
                problem = (
                    f"{key} receives a shape {list(np.shape(given[key]))}, but the expected shape is {list(own.shape)}."
                )
            if problem is None:
                fitting[key] = given[key]
            elif skip_mismatch:
                warnings.warn(f"Skip loading for {key}. {problem}", stacklevel=2)
            else:
                raise errors.ValueError_(f"Model.load: {problem}")
        if self._static is not None:
            self._static.set_state_dict(fitting)
        else:
            own = self.network.state_dict()
            for key, value in fitting.items():
                own[key].set_value(value)
        if self._optimizer is not None and not reset_optimizer and storage.is_file(prefix + ".pdopt"):
            self._optimizer.set_state_dict(load(prefix + ".pdopt"))

    def summary(self, input_size: Any = None, dtype: Any = None) -> dict[str, int]:
        """Print the layers, their shapes and parameters; see `paddle.summary`.

        Args:
            input_size: a shape, an InputSpec, or a list of them; default the `inputs` of the model.
            dtype: the types of the inputs; default float32.
        """
        from .model_summary import summary

        if input_size is None and self._inputs is None:
            raise errors.ValueError_("Model.summary: 'input_size' must be given where the model has no 'inputs'")
        with contextlib.nullcontext() if self._static is None else self._static.aside():
            return summary(self.network, self._inputs if input_size is None else input_size, dtype)


def _specs(name: str, given: Any) -> list | None:
    if given is None:
        return None
    specs = to_list(given)
    for s in specs:
        if not hasattr(s, "shape"):
            raise errors.TypeError_(f"Model: {name} must be InputSpec or a list of them, got {type(s).__name__}")
    return specs


def _outputs(value: Any) -> list[Tensor]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _outputs(v)]
    return [] if value is None else [value]


def _check_iterations(num_iters: Any) -> None:
    if num_iters is not None and (not isinstance(num_iters, (int, np.integer)) or num_iters <= 0):
        raise errors.ValueError_(f"Model: num_iters must be greater than 0, got {num_iters!r}")


def _loader(data: Any, batch_size: Any, shuffle: bool, drop_last: bool, num_workers: int) -> Any:
    if isinstance(data, IterableDataset):
        return DataLoader(data, batch_size=batch_size, drop_last=drop_last, num_workers=num_workers)
    if isinstance(data, Dataset):
        sampler = DistributedBatchSampler(data, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
        return DataLoader(data, batch_sampler=sampler, num_workers=num_workers)
    if not isinstance(data, Iterable):
        raise errors.TypeError_(
            f"Model: the data must be a Dataset, a DataLoader or something that gives batches, got {type(data).__name__}"
        )
    return data


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except Exception:  # a stream: each kind has its own error
        return None


def _samples(parts: list) -> int:
    shape = np.shape(parts[0]) if parts and not isinstance(parts[0], dict) else ()
    return int(shape[0]) if shape else 1


def _taken(forward: Callable, given: int, mode: str) -> int:
    """How many parts of a batch are inputs, by the arguments of `forward`: all of them, or where that leaves no label,
    those without a default."""
    kinds = inspect.Parameter
    named = list(inspect.signature(forward).parameters.values())
    if any(p.kind == kinds.VAR_POSITIONAL for p in named):
        return given if mode == "predict" or given == 1 else given - 1
    positional = [p for p in named if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    if mode == "predict" or given > len(positional):
        return min(given, len(positional))
    return min(given, len([p for p in positional if p.default is kinds.empty]))
