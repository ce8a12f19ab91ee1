"""Training, evaluation and prediction on a mesh, over the programs of a DistModel."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import paddle.io as io

from ....engine import errors
from ....framework.io import load, save
from ....nn import Layer
from ....optimizer.optimizer import Optimizer
from ..api import is_dist
from ..dataloader import ShardDataloader, shard_dataloader
from ..dist_model import DistModel, _whole
from ..process_mesh import ProcessMesh, get_mesh
from ..strategy import Strategy


class Engine:
    """Trains, evaluates and predicts with a model whose parameters lie on a mesh.

    Args:
        model: the model.
        loss: a function (outputs, labels) -> loss.
        optimizer: the optimizer.
        metrics: `paddle.metric` metrics, for `evaluate`.
        cluster: accepted; `dist.auto_parallel.plan` asks for one.
        strategy: a Strategy.

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
        model: Layer,
        loss: Callable | None = None,
        optimizer: Optimizer | None = None,
        metrics: Any = None,
        cluster: Any = None,
        strategy: Strategy | None = None,
    ):
        self._metrics = [] if metrics is None else list(metrics) if isinstance(metrics, (list, tuple)) else [metrics]
        self._model, self.optimizer = model, optimizer
        self._dist = DistModel(model, None, loss, optimizer, strategy)
        self.history: dict[str, list] = {"loss": []}

    # ---- data ----
    def _mesh(self) -> ProcessMesh | None:
        return get_mesh() or next((p.process_mesh for p in self._model.parameters() if is_dist(p)), None)

    def dataloader(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = True,
        collate_fn: Callable | None = None,
        num_workers: int = 0,
        mode: str | None = None,
    ) -> Any:
        """Batches of a dataset, cut over "dp" where the mesh has such an axis. `batch_size` is that of all processes."""
        if mode is not None:
            self.to_mode(mode)
        if isinstance(dataset, ShardDataloader):
            return dataset
        loader = dataset
        if not isinstance(dataset, io.DataLoader):
            loader = io.DataLoader(
                dataset,
                batch_size=batch_size,
                shuffle=shuffle,
                drop_last=drop_last,
                collate_fn=collate_fn,
                num_workers=num_workers,
            )
        mesh = self._mesh()
        if mesh is None:
            return loader
        return shard_dataloader(loader, mesh, shard_dims="dp" if "dp" in mesh.dim_names else None)

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
    ) -> dict[str, list]:
        """Train. Returns the history: the mean loss of each epoch, and what `evaluate` gave, as "val_..."."""
        if callbacks:
            raise errors.NotImplemented_("Engine.fit: callbacks; paddle.Model has them")
        loader = self.dataloader(train_data, batch_size, True, True, collate_fn, mode="train")
        for epoch in range(epochs):
            self.to_mode("train")
            losses = []
            for step, batch in enumerate(itertools.islice(loader, steps_per_epoch)):
                inputs, labels = self._parts(batch, train_sample_split)
                losses.append(self._dist(inputs, labels))
                if verbose and step % log_freq == 0:
                    print(f"epoch {epoch} step {step}: loss {losses[-1].item():.6g}")
            self.history["loss"].append(float(np.mean([x.item() for x in losses])) if losses else float("nan"))
            if valid_data is not None and (epoch + 1) % valid_freq == 0:
                found = self.evaluate(
                    valid_data, valid_sample_split, batch_size, valid_steps, log_freq, collate_fn, verbose=0
                )
                for name, value in found.items():
                    self.history.setdefault(f"val_{name}", []).append(value)
            if save_dir is not None and (epoch + 1) % save_freq == 0:
                self.save(f"{save_dir}/epoch{epoch}")
        return self.history

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
        """The mean loss over the data, and the metrics."""
        loader = self.dataloader(valid_data, batch_size, False, False, collate_fn)
        losses = []
        for metric in self._metrics:
            metric.reset()
        for batch in itertools.islice(loader, steps):
            inputs, labels = self._parts(batch, valid_sample_split)
            self.to_mode("eval")
            losses.append(self._dist(inputs, labels))
            if self._metrics:
                self.to_mode("predict")
                outputs = [_whole(x) for x in self._dist(inputs).values()]
                for metric in self._metrics:
                    found = metric.compute(*outputs, *map(_whole, labels))
                    metric.update(*(found if isinstance(found, (list, tuple)) else [found]))
        logs: dict[str, Any] = {"loss": float(np.mean([x.item() for x in losses])) if losses else float("nan")}
        for metric in self._metrics:
            names, values = metric.name(), metric.accumulate()
            single = isinstance(names, str)
            logs.update(zip([names] if single else names, values if isinstance(values, (list, tuple)) else [values]))
        if verbose:
            print(", ".join(f"{k} {v:.6g}" for k, v in logs.items()))
        return logs

    def predict(
        self,
        test_data: Any,
        test_sample_split: int | None = None,
        batch_size: int = 1,
        steps: int | None = None,
        log_freq: int = 10,
        collate_fn: Callable | None = None,
        callbacks: Any = None,
        verbose: int = 2,
    ) -> list[list[np.ndarray]]:
        """For each batch the outputs as arrays, whole in every process."""
        loader = self.dataloader(test_data, batch_size, False, False, collate_fn, mode="predict")
        found = []
        for batch in itertools.islice(loader, steps):
            inputs, _ = self._parts(batch, test_sample_split)
            found.append([_whole(x).numpy() for x in self._dist(inputs).values()])
        return found

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

    get_serial_main_program = get_dist_main_program

    @property
    def main_program(self) -> Any:
        """The program of the present mode."""
        return self._dist.dist_main_program()
