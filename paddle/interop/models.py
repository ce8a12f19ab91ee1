"""Model files of every kind as graphs, and graphs as model files."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from ..engine import errors, flags
from ..engine.value import Value
from ..ir.program import Graph
from ..utils.files import atomic_write

__all__ = ["read_model", "write_model"]


def read_model(model: bytes, params: Any) -> tuple[Graph, list[str], list[Value]]:
    """A model from the contents of its files.

    Args:
        model: a program: ours, an official `.json`, or an official `.pdmodel` or `__model__`.
        params: the parameters in one file, or a dict of files by name for models that keep each in a file of its own.

    Returns:
        (the graph, whose states hold the parameters; the names of the inputs in order; the values of the outputs).

    Raises:
        ValueError: contents that are no model, or damaged.
        NotImplementedError: an operator that is not supported; it is named.
    """
    from ..ir import serialize

    head = model[:4096].lstrip()
    if head.startswith(b"{"):
        if serialize.MAGIC.encode() in head:
            return serialize.read_model(model, params)
        from .pir_reader import read_pir_model

        return read_pir_model(model, params)
    if not model:
        raise errors.ValueError_("the model file is empty")
    from .legacy_model import read_legacy_model

    return read_legacy_model(model, params)


def write_model(
    graph: Graph,
    feeds: list[str],
    fetches: list[Value],
    model_path: str,
    params_path: str,
    updates: bool = False,
) -> None:
    """Write a graph in our own format, and beside it as `.json`, which the official package loads, where every operator
    has an official twin. Each file is written whole or not at all; both programs share the file of the parameters.

    Args:
        graph, feeds, fetches: the graph, the names of its inputs in order, the values of its outputs.
        model_path: of our program; the official one has the same name and ends in `.json`.
        params_path: of the parameters.
        updates: keep what the states become after a run.
    """
    from ..ir import serialize

    serialize.write_model(graph, feeds, fetches, model_path, params_path, updates)
    stem = model_path.removesuffix(".pdmodel")
    if stem == model_path:
        return
    _remove(stem + ".stablehlo")  # of another model
    official = stem + ".json"
    content = _official(graph, feeds, fetches, params_path)
    if content is not None:
        with atomic_write(official) as file:
            file.write(content)
    else:
        _remove(official)  # of another model


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def _official(graph: Graph, feeds: list[str], fetches: list[Value], params_path: str) -> bytes | None:
    """The official program, None when it cannot be written with the parameters as they are in the file."""
    from .pir_writer import write_pir_model

    try:
        program, params = write_pir_model(graph, feeds, fetches)
    except (NotImplementedError, ValueError) as e:
        if flags.debug_level() >= 1:
            print(f"[paddle-xla] no official .json is written: {e}", file=sys.stderr)
        return None
    with open(params_path, "rb") as file:
        return program if file.read() == params else None
