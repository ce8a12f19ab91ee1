"""Training, evaluation and prediction on a mesh, over the programs of a DistModel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import paddle.io as io

from ....engine import errors
from ....engine.tensor import Tensor, _make
from ....framework.io import load, save
from ....nn import Layer
from ....ops.creation import to_tensor
from ....optimizer.optimizer import Optimizer
from ....static.input_spec import InputSpec
from ..dataloader import ShardDataloader, shard_dataloader
from ..dist_model import DistModel, _whole
from ..interface import logged
from ..planner.cluster import cluster_of
from ..strategy import Strategy


class Engine:
    """Trains, evaluates and predicts with a model whose parameters lie on a mesh.

    Args:
        model: the model.
        loss: a function (outputs, labels) -> loss.
        optimizer: the optimizer.
        metrics: `paddle.metric` metrics, for `evaluate`.
        cluster: a `dist.auto_parallel.Cluster`, for `cost`; by default one of as many devices as the mesh has.
        strategy: a Strategy.

    Raises:
        TypeError: arguments of a wrong kind.
        NotImplementedError: no model: programs built by hand.

    Example:
        >>> import paddle.distributed as dist
        >>> net = dist.shard_layer(paddle.nn.Linear(2, 1), dist.ProcessMesh([0], dim_names=["dp"]))
        >>> sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        >>> engine = dist.auto_parallel.Engine(net, paddle.nn.MSELoss(), sgd)
        >>> data = [([1.0, 1.0], [0.0])] * 4
        >>> loader = paddle.io.DataLoader(data, batch_size=2, collate_fn=lambda rows: [
        ...     paddle.to_tensor(part) for part in map(list, zip(*rows))])
        >>> len(engine.fit(loader, epochs=2, verbose=0)["loss"])
        2
    """

    def __init__(
        self,
        model: Layer | None = None,
        loss: Callable | None = None,
        optimizer: Optimizer | None = None,
        metrics: Any = None,
        cluster: Any = None,
        strategy: Strategy | None = None,
    ):
        if model is None:
            raise errors.NotImplemented_("Engine: programs built by hand instead of a model")
        self._metrics = [] if metrics is None else list(metrics) if isinstance(metrics, (list, tuple)) else [metrics]
        self._model, self._optimizer, self._cluster = model, optimizer, cluster
        self._strategy = Strategy() if strategy is None else strategy
        self._dist = DistModel(model, None, loss, optimizer, self._strategy)
        self.history: dict[str, list] = {"loss": []}

    # ---- data ----
    def dataloader(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = True,
        collate_fn: Callable | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        use_shared_memory: bool = True,
        timeout: int = 0,
        worker_init_fn: Callable | None = None,
        epochs: int = 1,
        steps_per_epoch: int | None = None,
        sample_split: int | None = 1,
        mode: str | None = None,
        places: Any = None,
    ) -> Any:
        """Batches of a dataset, cut over "dp" where the mesh has such an axis.

        Args:
            dataset: a Dataset, or a loader.
            batch_size: that of all processes.
            shuffle, drop_last, collate_fn, num_workers, use_buffer_reader, use_shared_memory, timeout, worker_init_fn: as
                of `paddle.io.DataLoader`.
            epochs, steps_per_epoch: accepted: a loader can be gone through again.
            sample_split: how many entries of a sample are inputs; noted for `prepare`.
            mode: "train", "eval" or "predict", as `to_mode`.
            places: accepted.
        """
        if mode is not None:
            self.to_mode(mode)
        loader = dataset
        if not isinstance(dataset, (io.DataLoader, ShardDataloader)):
            loader = io.DataLoader(
                dataset,
                batch_size=batch_size,
                shuffle=shuffle,
                drop_last=drop_last,
                collate_fn=collate_fn,
                num_workers=num_workers,
                use_buffer_reader=use_buffer_reader,
                use_shared_memory=use_shared_memory,
                timeout=timeout,
                worker_init_fn=worker_init_fn,
            )
        mesh = self._dist._mesh()
        if mesh is not None and not isinstance(loader, ShardDataloader):
            loader = shard_dataloader(loader, mesh, shard_dims="dp" if "dp" in mesh.dim_names else None)
        self._dist._loader = loader
        return loader

    @staticmethod
    def _parts(batch: Any, split: int | None) -> tuple[list, list]:
        """Inputs and labels of a batch: `split` inputs, by default all but the last entry."""
        entries = list(batch.values()) if isinstance(batch, dict) else batch
        entries = list(entries) if isinstance(entries, (list, tuple)) else [entries]
        n = len(entries) - 1 if split is None else split
        return entries[:n], entries[n:]

    def to_mode(self, mode: str) -> None:
        """ "train", "eval" or "predict"."""
        getattr(self._dist, self._dist._checked(mode))()

    # ---- runs ----
    def fit(
        self,
        train_data: Any,
        train_sample_split: int | None = None,
        batch_size: int = 1,
        epochs: int = 1,
        steps_per_epoch: int | None = None,
        log_freq: int = 10,
        save_dir: str | None = None,
        save_freq: int = 1,
        valid_data: Any = None,
        valid_sample_split: int | None = None,
        valid_freq: int = 1,
        valid_steps: int | None = None,
        collate_fn: Callable | None = None,
        callbacks: Any = None,
        verbose: int = 2,
        nvprof_range: Any = (-1, -1),
    ) -> dict[str, list]:
        """Train.

        Args:
            train_data, batch_size, collate_fn: as of `dataloader`.
            train_sample_split: how many entries of a sample are inputs, by default all but the last.
            epochs, steps_per_epoch: how often, and how many batches each time.
            log_freq: print after as many batches.
            save_dir, save_freq: save to SAVE_DIR/epochN after as many epochs.
            valid_data, valid_sample_split, valid_freq, valid_steps: `evaluate` after as many epochs.
            callbacks: `paddle.callbacks`; an LRScheduler, which steps the schedule after each batch, is added where there
                is none.
            verbose: 0 prints nothing.
            nvprof_range: accepted; `paddle.profiler` measures.

        Returns:
            The history: the mean loss of each epoch, and what `evaluate` gave, as "val_...".
        """
        loader = self.dataloader(train_data, batch_size, True, True, collate_fn, mode="train")
        steps = steps_per_epoch if steps_per_epoch is not None else _length(loader)
        calls = self._callbacks(callbacks, batch_size, epochs, steps, "train")
        calls.on_begin("train")
        for epoch in range(epochs):
            self.to_mode("train")
            calls.on_epoch_begin(epoch)
            losses: list[Tensor] = []
            logs: dict[str, Any] = {}
            for step, batch in enumerate(itertools.islice(loader, steps_per_epoch)):
                calls.on_batch_begin("train", step, logs)
                inputs, labels = self._parts(batch, train_sample_split)
                losses.append(self._dist(inputs, labels))
                if callbacks:
                    logs = {"loss": losses[-1].item(), **self._shown()}
                calls.on_batch_end("train", step, logs)
                if verbose and step % log_freq == 0:
                    words = [f"{k} {v}" for k, v in self._shown().items() if k in logged]
                    print(", ".join([f"epoch {epoch} step {step}: loss {losses[-1].item():.6g}", *words]))
            self.history["loss"].append(float(np.mean([x.item() for x in losses])) if losses else float("nan"))
            if valid_data is not None and (epoch + 1) % valid_freq == 0:
                found = self.evaluate(
                    valid_data, valid_sample_split, batch_size, valid_steps, log_freq, collate_fn, verbose=0
                )
                for name, value in found.items():
                    self.history.setdefault(f"val_{name}", []).append(value)
            if save_dir is not None and (epoch + 1) % save_freq == 0:
                self.save(f"{save_dir}/epoch{epoch}")
            calls.on_epoch_end(epoch, {name: values[-1] for name, values in self.history.items()})
            if self.stop_training:
                break
        calls.on_end("train", logs)
        return self.history

    stop_training = False  # a callback may set it

    def _callbacks(self, callbacks: Any, batch_size: int, epochs: int, steps: int | None, mode: str) -> Any:
        from ....hapi.callbacks import config_callbacks

        self.stop_training = False
        names = ["loss", *(n for m in self._metrics for n in ([m.name()] if isinstance(m.name(), str) else m.name()))]
        return config_callbacks(callbacks, self, batch_size, epochs, steps, verbose=0, metrics=names, mode=mode)

    def _shown(self) -> dict[str, Any]:
        """What the last call fetched."""
        return {name: _whole(x).numpy() for name, x in self._dist.fetched.items()}

    def evaluate(
        self,
        valid_data: Any,
        valid_sample_split: int | None = None,
        batch_size: int = 1,
        steps: int | None = None,
        log_freq: int = 10,
        collate_fn: Callable | None = None,
        callbacks: Any = None,
        verbose: int = 2,
    ) -> dict[str, Any]:
        """The mean loss over the data, and the metrics.

        Args:
            valid_data, batch_size, collate_fn: as of `dataloader`.
            valid_sample_split, steps, log_freq, callbacks, verbose: as of `fit`.

        Returns:
            A dict: "loss" and the names of the metrics.
        """
        loader = self.dataloader(valid_data, batch_size, False, False, collate_fn)
        calls = self._callbacks(callbacks, batch_size, 1, steps if steps is not None else _length(loader), "eval")
        calls.on_begin("eval", {"steps": steps, "metrics": ["loss"]})
        losses = []
        for metric in self._metrics:
            metric.reset()
        for step, batch in enumerate(itertools.islice(loader, steps)):
            calls.on_batch_begin("eval", step, {})
            inputs, labels = self._parts(batch, valid_sample_split)
            self.to_mode("eval")
            losses.append(self._dist(inputs, labels))
            if self._metrics:
                self.to_mode("predict")
                outputs = [_whole(x) for x in self._dist(inputs).values()]
                for metric in self._metrics:
                    found = metric.compute(*outputs, *map(_whole, labels))
                    metric.update(*(found if isinstance(found, (list, tuple)) else [found]))
            calls.on_batch_end("eval", step, {"loss": losses[-1].item()} if callbacks else {})
        logs: dict[str, Any] = {"loss": float(np.mean([x.item() for x in losses])) if losses else float("nan")}
        for metric in self._metrics:
            names, values = metric.name(), metric.accumulate()
            single = isinstance(names, str)
            logs.update(zip([names] if single else names, values if isinstance(values, (list, tuple)) else [values]))
        if verbose:
            print(", ".join(f"{k} {v:.6g}" for k, v in logs.items()))
        calls.on_end("eval", logs)
        return logs

    def predict(
        self,
        test_data: Any,
        test_sample_split: int | None = None,
        batch_size: int = 1,
        steps: int | None = None,
        collate_fn: Callable | None = None,
        callbacks: Any = None,
        verbose: int = 2,
    ) -> list[list[np.ndarray]]:
        """For each batch the outputs as arrays, whole in every process; arguments as of `evaluate`."""
        loader = self.dataloader(test_data, batch_size, False, False, collate_fn, mode="predict")
        calls = self._callbacks(callbacks, batch_size, 1, steps if steps is not None else _length(loader), "predict")
        calls.on_begin("predict", {"steps": steps})
        found = []
        for step, batch in enumerate(itertools.islice(loader, steps)):
            calls.on_batch_begin("predict", step, {})
            inputs, _ = self._parts(batch, test_sample_split)
            found.append([_whole(x).numpy() for x in self._dist(inputs).values()])
            calls.on_batch_end("predict", step, {})
        calls.on_end("predict", {})
        return found

    # ---- single steps ----
    def prepare(
        self,
        inputs_spec: Any = None,
        labels_spec: Any = None,
        inputs: Any = None,
        labels: Any = None,
        main_program: Any = None,
        startup_program: Any = None,
        mode: str | None = None,
        init_parameters: bool = True,
    ) -> None:
        """Make the program of a mode before the first batch.

        Args:
            inputs_spec, labels_spec: an InputSpec or a list of them; None: a batch of the `dataloader` that was made. An
                open length stands for as many samples as the mesh has devices.
            inputs, labels, main_program, startup_program: None: programs built by hand are not taken.
            mode: "train", "eval" or "predict", by default the present one.
            init_parameters: accepted: parameters have their values.

        Raises:
            ValueError: neither specs nor a loader; another mode.
            NotImplementedError: variables or programs.
        """
        if any(x is not None for x in (inputs, labels, main_program, startup_program)):
            raise errors.NotImplemented_("Engine.prepare: programs built by hand")
        if mode is not None:
            self.to_mode(mode)
        if inputs_spec is not None or labels_spec is not None:
            self._dist._input_spec = [_specs(inputs_spec), _specs(labels_spec)]
            self._dist._traced.pop(self._dist._mode, None)
        self._dist.dist_main_program()

    def run(
        self, data: Any = None, feed: Any = None, fetch_list: Any = None, mode: str | None = None
    ) -> dict[str, Any]:
        """One batch.

        Args:
            data: a batch: a list (or a dict) of tensors or arrays, inputs before labels.
            feed: instead a dict from the names of the specs of `prepare` to tensors or arrays.
            fetch_list: names of what the model names with `auto_parallel.fetch`; None: all.
            mode: "train" (a step), "eval" or "predict", by default the present one.

        Returns:
            {"loss": the loss, "outputs": the same, in "predict" the list of the outputs and no loss, and what is fetched}:
            arrays, or tensors where `return_numpy` of the strategy is False.

        Raises:
            ValueError: no data, or names that nothing has.
        """
        if mode is not None:
            self.to_mode(mode)
        if isinstance(data, (list, tuple)) and len(data) == 1 and isinstance(data[0], dict):
            data = data[0]
        if feed is not None:
            names = self.get_feed_name_list() if self._dist._input_spec is not None else list(feed)
            missing = [n for n in names if n not in feed]
            if missing:
                raise errors.ValueError_(f"Engine.run: feed has nothing for {missing}; it has {list(feed)}")
            data = [feed[n] for n in names]
        if data is None:
            raise errors.ValueError_("Engine.run: give data or feed")
        split = None if self._dist._input_spec is None else len(self._dist._input_spec[0])
        inputs, labels = self._parts(data, split)
        inputs, labels = [[x if isinstance(x, Tensor) else to_tensor(x) for x in part] for part in (inputs, labels)]
        predict = self._dist._mode == "predict"
        found = self._dist(inputs) if predict else self._dist(inputs, labels)
        show = (lambda x: _whole(x).numpy()) if self._strategy.return_numpy else (lambda x: x)
        logs: dict[str, Any] = (
            {"outputs": [show(x) for x in found.values()]} if predict else {"outputs": show(found), "loss": show(found)}
        )
        fetched = self._dist.fetched
        unknown = [name for name in fetch_list or () if name not in fetched]
        if unknown:
            raise errors.ValueError_(f"Engine.run: fetch_list: {unknown} must be among {list(fetched)}")
        return {**logs, **{name: show(fetched[name]) for name in (fetched if fetch_list is None else fetch_list)}}

    def cost(self, inputs_spec: Any = None, labels_spec: Any = None, mode: str | None = None) -> tuple[float, int]:
        """What a step costs, by XLA's count of its operations and collectives and the numbers of the cluster. Nothing runs.

        Args:
            inputs_spec, labels_spec, mode: as of `prepare`.

        Returns:
            (milliseconds, bytes of a device).

        Raises:
            ValueError: neither specs nor a loader.
        """
        if mode is not None:
            self.to_mode(mode)
        if inputs_spec is not None or labels_spec is not None:
            self._dist._input_spec = [_specs(inputs_spec), _specs(labels_spec)]
        mesh = self._dist._mesh()
        cluster = self._cluster if self._cluster is not None else cluster_of(1 if mesh is None else mesh)
        found = self._dist.analysis()
        seconds = found.flops / (cluster.peak * cluster.efficiency)
        for c in found.collectives:
            link = cluster.link(c.size, 1)
            seconds += c.wire / link.bandwidth + c.times * link.latency
        return seconds * 1e3, found.memory

    # ---- state ----
    def save(self, path: str, training: bool = True) -> None:
        """Save parameters as `path`.pdparams, with `training` the optimizer's states as `path`.pdopt. All processes call
        it; the first one writes."""
        from ...communication.group import get_rank

        params = {k: _whole(v) for k, v in self._dist.state_dict("param").items()}
        states = (
            {k: _whole(v) for k, v in self._dist.state_dict("opt").items()} if training and self.optimizer else None
        )
        if get_rank() == 0:
            save(params, f"{path}.pdparams")
            if states is not None:
                save(states, f"{path}.pdopt")

    def load(self, path: str, strict: bool = True, load_optimizer: bool = True) -> tuple[dict, dict]:
        """Load what `save` wrote. ValueError with `strict` when a parameter is missing."""
        params = load(f"{path}.pdparams")
        missing = [k for k in self._dist.state_dict("param") if k not in params]
        if strict and missing:
            raise errors.ValueError_(f"Engine.load: {path}.pdparams has no {missing[0]!r}")
        self._dist.set_state_dict(params)
        states = load(f"{path}.pdopt") if load_optimizer and self.optimizer is not None else {}
        if states:
            self._dist.set_state_dict(states)
        return params, states

    # ---- programs ----
    def get_dist_main_program(self, mode: str) -> Any:
        """The program of a mode."""
        return self._dist.dist_main_program(mode)

    def get_dist_startup_program(self, mode: str) -> Any:
        """An empty program: parameters have their values already."""
        return self._dist.dist_startup_program(mode)

    get_serial_main_program = get_dist_main_program
    get_serial_startup_program = get_dist_startup_program

    @property
    def main_program(self) -> Any:
        """The program of the present mode."""
        return self._dist.dist_main_program()

    serial_main_program = main_program

    @property
    def startup_program(self) -> Any:
        """An empty program."""
        return self._dist.dist_startup_program()

    serial_startup_program = startup_program

    @property
    def dist_context(self) -> DistModel:
        """The model with its programs."""
        return self._dist

    @property
    def optimizer(self) -> Optimizer | None:
        """The optimizer."""
        return self._optimizer

    @property
    def inputs(self) -> list:
        """The variables of the program that are inputs."""
        return self.get_feed_list()[: self._inputs_of_program()]

    @property
    def labels(self) -> list:
        """The variables of the program that are labels."""
        return self.get_feed_list()[self._inputs_of_program() :]

    @property
    def feed_vars(self) -> dict[str, list]:
        """{"inputs": ..., "labels": ...}"""
        return {"inputs": self.inputs, "labels": self.labels}

    @property
    def fetch_vars(self) -> dict[str, list]:
        """{"outputs": ..., "loss": ..., "metrics": []}: results of the program."""
        self._dist._program(None)
        results = [_make(v) for v in self._dist._traced[self._dist._mode].graph.block.outputs]
        predict = self._dist._mode == "predict"
        own = results if predict else results[:1]
        return {"outputs": own, "loss": [] if predict else own, "metrics": []}

    def _inputs_of_program(self) -> int:
        feeds = len(self.get_feed_list())
        if self._dist._input_spec is not None:
            return len(self._dist._input_spec[0])
        return feeds if self._dist._mode == "predict" else feeds - 1

    def get_feed_list(self) -> list:
        """The variables that a batch fills, inputs before labels."""
        self._dist._program(None)
        return [_make(v) for v in self._dist._traced[self._dist._mode].graph.inputs.values()]

    def get_feed_name_list(self) -> list[str]:
        """The names of the specs of `prepare`; those without one are input0, input1, ... and label0, ..."""
        if self._dist._input_spec is None:
            raise errors.ValueError_("Engine.get_feed_name_list: call prepare with inputs_spec and labels_spec first")
        return [
            getattr(spec, "name", None) or f"{what}{i}"
            for what, part in zip(("input", "label"), self._dist._input_spec)
            for i, spec in enumerate(part)
        ]


def _specs(given: Any) -> list:
    found = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    for spec in found:
        if not isinstance(spec, InputSpec):
            raise errors.TypeError_(f"Engine: specs must be paddle.static.InputSpec, got {errors.describe(spec)}")
    return found


def _length(loader: Any) -> int | None:
    try:
        return len(loader)
    except TypeError:
        return None
