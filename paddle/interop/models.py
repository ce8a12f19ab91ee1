"""Model files of every kind as graphs, and graphs as model files."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.value import Value
from ..ir.program import Graph

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


def write_model(graph: Graph, feeds: list[str], fetches: list[Value], model_path: str, params_path: str) -> None:
    """Write a graph and its parameters in our own format, whole or not at all."""
    from ..ir import serialize

    serialize.write_model(graph, feeds, fetches, model_path, params_path)
