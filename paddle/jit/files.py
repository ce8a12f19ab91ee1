"""Where a saved model lies, and what is in its files: the only place that knows the layout.

`path.pdmodel` holds the program, `path.pdiparams` its parameters, `path.json` the same program for the official
package where it can be written; a further method has files of its own, `path.method.pdmodel`.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from ..engine import errors
from ..engine.value import Value
from ..interop import models
from ..ir.program import Graph

MODEL, JSON, PARAMS = ".pdmodel", ".json", ".pdiparams"


def split_prefix(path: Any, name: str = "jit.save") -> str:
    """A path without the endings of model files. ValueError for one without a file name."""
    if not isinstance(path, (str, os.PathLike)):
        raise errors.TypeError_(f"{name}: path must be a string, got {errors.describe(path)}")
    path = os.fspath(path)
    if os.path.basename(path) == "":
        raise errors.ValueError_(f"the path must be folder/file_prefix, got {path!r} without a file prefix")
    return path


def write_model(path: str, method: str, graph: Graph, feeds: list[str], fetches: list[Value]) -> None:
    """Write one method of a model."""
    stem = path if method == "forward" else f"{path}.{method}"
    models.write_model(graph, feeds, fetches, stem + MODEL, stem + PARAMS, updates=True)


def model_files(path: str, params_filename: str | None = None) -> dict[str, tuple[str, str]]:
    """The files of a saved model: (program, parameters) of each method. ValueError when there are none."""
    found = {}
    for ending in (JSON, MODEL):
        if os.path.isfile(path + ending):
            params = os.path.join(os.path.dirname(path), params_filename) if params_filename else path + PARAMS
            found["forward"] = (path + ending, params)
        for name in sorted(glob.glob(glob.escape(path) + ".*" + ending)):
            method = name[len(path) + 1 : -len(ending)]
            if method.isidentifier():
                found[method] = (name, name[: -len(ending)] + PARAMS)
    if not found:
        raise errors.ValueError_(f"jit.load: there is no model at {path!r} ({path}{MODEL} or {path}{JSON})")
    return found


def read_model(model_path: str, params_path: str) -> tuple[Graph, list[str], list[Value]]:
    """(graph with its parameters, names of the inputs, results), of our models and of official ones."""
    params = Path(params_path).read_bytes() if os.path.isfile(params_path) else b""
    return models.read_model(Path(model_path).read_bytes(), params)
