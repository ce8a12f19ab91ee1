"""Saved models as programs, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from paddle.engine import errors
from paddle.engine.tensor import Tensor, _make
from paddle.static import Program, global_scope
from paddle.static.io import read_inference_model, write_inference_model

from ..structure.programs import put_arrays, record

_NAMES = ("__model__", "inference.pdmodel", "model.pdmodel", "inference.json", "model.json")


class Model:
    """A program as it infers, with its variables.

    Attributes:
        program: inputs in `feeds`, results in `fetches`.
        scope: holds the variables.
    """

    def __init__(self, program: Program, scope: Any):
        self.program, self.scope = program, scope

    @classmethod
    def read(cls, folder: Any, model_filename: str | None = None, params_filename: str | None = None) -> Model:
        """Read a folder with a saved model. ValueError when there is none."""
        if not isinstance(folder, (str, os.PathLike)):
            raise errors.TypeError_(f"AutoCompression: model_dir must be a path, got {errors.describe(folder)}")
        folder, scope = os.fspath(folder), global_scope().new_scope()
        if not os.path.isdir(folder):
            raise errors.ValueError_(f"AutoCompression: there is no folder {folder!r}")
        if model_filename is None:
            present = sorted(n for n in os.listdir(folder) if n.endswith((".pdmodel", ".json")) or n == "__model__")
            stems = {os.path.splitext(n)[0] for n in present}
            model_filename = next((n for n in _NAMES if n in present), present[0] if len(stems) == 1 else None)
        if model_filename is None or not os.path.isfile(os.path.join(folder, model_filename)):
            raise errors.ValueError_(
                f"AutoCompression: the folder {folder!r} holds no model {model_filename or '(' + ', '.join(_NAMES) + ')'}"
            )
        stem = os.path.splitext(model_filename)[0]
        if params_filename is None and os.path.isfile(os.path.join(folder, stem + ".pdiparams")):
            params_filename = stem + ".pdiparams"
        program = read_inference_model(folder, scope, model_filename=model_filename, params_filename=params_filename)
        return cls(program, scope)

    def write(self, folder: str, stem: str = "model") -> None:
        """Write ``stem.pdmodel`` and ``stem.pdiparams``."""
        os.makedirs(folder, exist_ok=True)
        write_inference_model(self.program, os.path.join(folder, stem), self.scope)

    def copy(self) -> Model:
        """The same program with variables of its own."""
        scope = global_scope().new_scope()
        for name, state in self.program.states.items():
            scope.var(name).array = self.scope.array_of(state)
        return Model(self.program, scope)

    def with_shapes(self, shapes: Any) -> Model:
        """The model for inputs of other shapes: a dict by name, or the shape of the only input."""
        feeds = self.program.feeds
        if not isinstance(shapes, dict):
            if len(feeds) != 1:
                raise errors.ValueError_(
                    f"AutoCompression: input_shapes must be a dict for the inputs {', '.join(feeds)}"
                )
            shapes = {feeds[0]: shapes}
        made, inputs = Program(), {}
        for name, shape in shapes.items():
            if name not in self.program.inputs:
                raise errors.ValueError_(f"AutoCompression: the model has no input {name!r}; it has {', '.join(feeds)}")
            inputs[name] = _make(made.add_input(name, shape, self.program.inputs[name].dtype))
        tensors = record(self.program, made, inputs=inputs)
        made.feeds, made.fetches = list(feeds), [tensors[v]._value for v in self.program.fetches]
        scope = global_scope().new_scope()
        put_arrays(self.program, scope, self.scope)
        return Model(made, scope)


def batches_of(loader: Any, feeds: list[str], name: str = "train_dataloader") -> Iterator[dict[str, np.ndarray]]:
    """Batches of a DataLoader, an iterable or a function that gives an iterator, as dicts: of lists the first ones count."""
    found = loader() if callable(loader) and not hasattr(loader, "__iter__") else loader
    if not isinstance(found, Iterable):
        raise errors.TypeError_(f"AutoCompression: {name} must give batches, got {errors.describe(loader)}")
    for batch in found:
        while isinstance(batch, (list, tuple)) and len(batch) == 1 and isinstance(batch[0], (dict, list, tuple)):
            batch = batch[0]
        if not isinstance(batch, dict):
            parts = batch if isinstance(batch, (list, tuple)) else [batch]
            if len(parts) < len(feeds):
                raise errors.ValueError_(
                    f"AutoCompression: a batch of {name} holds {len(parts)} arrays, the inputs are {', '.join(feeds)}"
                )
            batch = dict(zip(feeds, parts))
        missing = [n for n in feeds if n not in batch]
        if missing:
            raise errors.ValueError_(
                f"AutoCompression: a batch of {name} lacks the input {missing[0]!r}; it has {', '.join(batch)}"
            )
        yield {n: np.asarray(batch[n].numpy() if isinstance(batch[n], Tensor) else batch[n]) for n in feeds}
