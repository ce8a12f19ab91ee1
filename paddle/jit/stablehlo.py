"""Saved models as StableHLO: artifacts of `jax.export`, which any program that has JAX can run without this package."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export
import numpy as np

from ..engine import errors
from ..engine.modes import set_mode
from ..engine.value import Value
from ..interop import params as binary
from ..ir.open_lengths import as_array
from ..ir.passes import apply
from ..ir.program import Graph, Operator, leaves
from ..ir.run import Environment, Executable, NeedsHost, execute, is_host
from ..utils.files import atomic_write
from . import files

__all__ = ["export_stablehlo"]

ENDING = ".stablehlo"
PLATFORMS = ("cpu", "cuda", "tpu")
_scope = jax.export.SymbolicScope()  # one for all exports: attributes of operators that hold lengths are compared


def export_stablehlo(
    path: str,
    save_path: str | None = None,
    symbols: Sequence[str | None] | None = None,
    platforms: Sequence[str] | str | None = None,
    text: bool = False,
) -> tuple[str, ...]:
    """Write a saved model, ours or an official one, as StableHLO: ``save_path.stablehlo``, a serialized artifact of
    `jax.export` for inference, and ``save_path.pdiparams``, its weights.

    The artifact is called with the weights, a dict of arrays by name, and the inputs, and gives a list of results; with
    the four words of a random key (uint32) behind the inputs where the model draws random numbers. docs/programs.md shows
    how to run it where only JAX is installed.

    Args:
        path: of a saved model, as `jit.load` takes it. Further methods go to ``save_path.method.stablehlo``.
        save_path: folder and beginning of the new files' names; default: `path`.
        symbols: for each input a shape with names or expressions for its open lengths, "batch, 3, 32*h, 32*w"; "_" stands
            for what the model says, None for all of it, a number fixes a length. By default every open length has a name of its own or, where the
            model does not allow that, one that is shared by equal axes.
        platforms: some of "cpu", "cuda", "rocm", "tpu"; default: the first, second and last, where all operators exist.
        text: also write the module as text, for people and other compilers, as ``save_path.mlir``.

    Returns:
        The platforms that the artifact runs on.

    Raises:
        ValueError: there is no model, an operator cannot be exported with open lengths, or not for a platform.
        NotImplementedError: an operator runs on the host, because the shapes of its results depend on data.
        ImportError: the package flatbuffers is not installed.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/linear"
        >>> paddle.jit.save(paddle.nn.Linear(2, 1), path, [paddle.static.InputSpec([None, 2])])
        >>> paddle.jit.export_stablehlo(path)
        ('cpu', 'cuda', 'tpu')
    """
    name = "export_stablehlo"
    path = files.split_prefix(path, name).removesuffix(files.MODEL).removesuffix(files.JSON)
    target = path if save_path is None else files.split_prefix(save_path, name).removesuffix(ENDING)
    found: tuple[str, ...] = ()
    for method, names in files.model_files(path).items():
        graph, feeds, fetches = files.read_model(*names)
        stem = target if method == "forward" else f"{target}.{method}"
        exported = _exported(graph, feeds, fetches, symbols, platforms)
        artifact = _serialized(exported)
        weights = binary.write_combined({n: np.asarray(s.tensor._value) for n, s in graph.states.items()})
        _write_weights(stem + files.PARAMS, weights)
        with atomic_write(stem + ENDING) as file:
            file.write(artifact)
        if text:
            with atomic_write(stem + ".mlir") as file:
                file.write(exported.mlir_module().encode())
        found = exported.platforms if not found else tuple(p for p in found if p in exported.platforms)
    return found


def _write_weights(path: str, content: bytes) -> None:
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read() == content:
                return
        raise errors.ValueError_(f"export_stablehlo: {path!r} holds other weights; give another save_path")
    with atomic_write(path) as file:
        file.write(content)


def _serialized(exported: Any) -> bytes:
    try:
        return bytes(exported.serialize())
    except ImportError:
        raise ImportError("export_stablehlo: the package flatbuffers is needed, pip install flatbuffers") from None


def _exported(graph: Graph, feeds: list[str], fetches: list[Value], symbols: Any, platforms: Any) -> Any:
    executable = Executable(apply(graph, fetches, ["inference", "dead_code"]), fetches, updates=False)
    for operator in executable.operators:
        if is_host(operator) or getattr(operator.kernel, "effect", False):
            raise _on_host(operator)
    inputs = [graph.inputs[n] for n in feeds]
    if symbols is not None and (not isinstance(symbols, (list, tuple)) or len(symbols) != len(inputs)):
        raise errors.ValueError_(f"export_stablehlo: symbols must be a list of {len(inputs)} shapes, got {symbols!r}")
    ways = [_named(inputs, symbols)] if symbols is not None else [_numbered(inputs, False), _numbered(inputs, True)]
    traced = None
    for shapes in ways:
        try:
            traced = _traced(executable, graph, inputs, shapes)
            break
        except NeedsHost as e:
            raise _on_host(_reader(executable.operators, e.value)) from None
        except Exception as e:
            failure = e
    if traced is None:
        opened = any(d < 0 for v in inputs for d in map(int, v.shape))
        advice = "; give symbols= (such as 'batch, 3, 32*h, 32*w') or save it with fixed lengths" if opened else ""
        raise errors.ValueError_(f"export_stablehlo: the model cannot be exported: {_told(failure)}{advice}") from None
    return _lowered(*traced, platforms)


def _told(error: Exception) -> str:
    """The beginning of what an error says, on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    where = next((n for n in getattr(error, "__notes__", ()) if n.startswith("in operator")), None)
    return text[:300] + (f" ({where})" if where else "")


def _on_host(operator: Operator) -> Exception:
    at = f", called at {operator.line}" if operator.line else ""
    return errors.NotImplemented_(
        f"export_stablehlo: the operator {operator.name}{at} runs on the host, because the shape of its result depends on "
        "data or because it calls Python; it cannot be part of an artifact"
    )


def _reader(operators: list[Operator], value: Value) -> Operator:
    """The operator that has a value as an attribute."""
    held = (o for o in operators for k in o.key for x in leaves(k) if getattr(x, "value", None) is value)
    return next(held, operators[-1])


# ---- shapes ----


def _numbered(inputs: list[Value], by_axis: bool) -> list[tuple]:
    """The shapes with symbols: one for each open length, or one for each axis."""
    count, shapes = 0, []
    for value in inputs:
        names = []
        for axis, length in enumerate(map(int, value.shape)):
            names.append(str(length) if length >= 0 else f"axis{axis}" if by_axis else f"d{count}")
            count += length < 0
        shapes.append(jax.export.symbolic_shape(", ".join(names), scope=_scope))
    return shapes


def _named(inputs: list[Value], symbols: Sequence[str | None]) -> list[tuple]:
    """The shapes that a user gave, where they are those of the inputs."""
    shapes = []
    for value, text, plain in zip(inputs, symbols, _numbered(inputs, False)):
        if text is None:
            shapes.append(plain)
            continue
        if not isinstance(text, str):
            raise errors.ValueError_(f"export_stablehlo: symbols holds strings and None, got {errors.describe(text)}")
        try:
            parts = [part.strip() for part in text.split(",")]
            text = ", ".join(str(plain[i]) if part == "_" else part for i, part in enumerate(parts))
            shape = jax.export.symbolic_shape(text, scope=_scope)
        except Exception as e:
            raise errors.ValueError_(f"export_stablehlo: symbols of the input {value.name!r}: {_told(e)}") from None
        fits = [s == d or int(d) < 0 and (not isinstance(s, int) or s > 0) for s, d in zip(shape, value.shape)]
        if len(shape) != len(plain) or not all(fits):
            raise errors.ValueError_(
                f"export_stablehlo: the input {value.name!r} has shape {[int(d) for d in value.shape]}, symbols say {text!r}"
            )
        shapes.append(shape)
    return shapes


# ---- the artifact ----


def _traced(executable: Executable, graph: Graph, inputs: list[Value], shapes: list[tuple]) -> tuple[Callable, list]:
    """The function that is exported and the types of its arguments; it can be traced."""
    random = any(o.tick is not None or getattr(o.kernel, "random_inside", False) for o in executable.operators)

    def program(weights: dict, *given: Any) -> list:
        words = given[len(inputs)] if random else None
        arrays = {graph.states[n].value: a for n, a in weights.items()}
        arrays.update(zip(inputs, given))
        environment = Environment(arrays, words)
        with set_mode(program=None, grad=False, amp=None):
            execute(executable.operators, environment)
        return [as_array(environment.arrays[v], v) for v in executable.fetches]

    weights = {n: jax.ShapeDtypeStruct(s.value.trials[0], s.value.dtype) for n, s in graph.states.items()}
    arguments = [weights, *(jax.ShapeDtypeStruct(s, v.dtype) for s, v in zip(shapes, inputs))]
    if random:
        arguments.append(jax.ShapeDtypeStruct((4,), np.uint32))
    for value, found in zip(executable.fetches, jax.eval_shape(program, *arguments)):
        fixed = len(found.shape) == value.ndim and all(int(d) < 0 or d == n for d, n in zip(value.shape, found.shape))
        if not fixed or found.dtype != value.dtype:
            raise errors.ValueError_(f"the result {value!r} would be {found.dtype.name}{list(found.shape)}")
    return program, arguments


def _lowered(program: Callable, arguments: list, platforms: Sequence[str] | None) -> Any:
    """The artifact for those platforms that have all operators; for those that were asked for."""
    chosen = (
        list(PLATFORMS)
        if platforms is None
        else list(platforms)
        if isinstance(platforms, (list, tuple))
        else [platforms]
    )
    if not chosen or any(p not in (*PLATFORMS, "rocm") for p in chosen):
        raise errors.ValueError_(f"export_stablehlo: platforms must be among cpu, cuda, rocm, tpu, got {platforms!r}")
    call = jax.jit(program, keep_unused=True)

    def lower(names: list[str]) -> Any:
        exported = jax.export.export(call, platforms=names)(*arguments)
        _ = exported.mlir_module_serialized
        return exported

    try:
        return lower(chosen)
    except Exception as e:
        failure = e
    fitting = []
    for name in chosen:
        try:
            lower([name])
            fitting.append(name)
        except Exception as e:
            failure = e
            if platforms is not None:
                raise errors.ValueError_(f"export_stablehlo: not possible for {name}: {_told(e)}") from None
            warnings.warn(f"export_stablehlo: not for {name}: {_told(e)}", stacklevel=4)
    if not fitting:
        raise errors.ValueError_(f"export_stablehlo: not possible for {', '.join(chosen)}: {_told(failure)}") from None
    return lower(fitting)
