"""Better integers for linear layers, from data: weights that take over the outliers of activations, and rounding that makes
up for its own errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.executable import TENSOR
from ..engine.op import registry
from ..engine.value import Value
from ..ir.passes.base import Uses
from ..ir.passes.cleanup import new_state, replace_inputs
from ..ir.passes.inference import with_arguments
from ..ir.passes.quantization import Site, Weight, scales_of, sites
from ..ir.program import Graph, Operator
from .program import runs

_NORMS = ("layer_norm", "rms_norm")


def smoothed(graph: Graph, fetches: Sequence[Value], batches: Iterable[dict[str, Any]], alpha: float = 0.5) -> Graph:
    """SmoothQuant: features of activations that are much larger than others become smaller, and the rows of the weights
    that meet them larger, so that both round well (Xiao et al., "SmoothQuant", 2023).

    Args:
        graph: a graph with its arrays.
        fetches: its results.
        batches: dicts of arrays by the names of the inputs.
        alpha: how much of the difficulty moves to the weights, 0 to 1.

    Returns:
        A graph that computes the same. The factors are part of a layer norm where one lies before, else of an operator.

    Raises:
        ValueError: another alpha, no data.
    """
    if not 0 <= alpha <= 1:
        raise errors.ValueError_(f"smoothed: alpha must lie in [0, 1], got {alpha!r}")
    groups: dict[Value, list[Site]] = {}
    for site in sites(graph, ["linear"]):
        if site.axis == 1 and site.x.ndim >= 2:
            groups.setdefault(site.x, []).append(site)
    top = _features(graph, list(groups), batches)
    uses = Uses(graph, fetches)
    new = graph.with_operators(list(graph.block.operators))
    for x, members in groups.items():
        rows = np.max([scales_of(uses.array(s.weight), 0) for s in members], 0)
        factor = np.where((top[x] > 0) & (rows > 0), top[x] ** alpha / np.maximum(rows, 1e-8) ** (1 - alpha), 1.0)
        factor = np.maximum(factor, 1e-5).astype(np.float32)
        shared = {r for s in members for r in uses.readers[s.weight]} - {s.operator for s in members}
        if shared:
            continue  # somebody else reads the weight
        _move(new, uses, x, members, factor)
    return new


def _features(graph: Graph, values: list[Value], batches: Iterable[dict[str, Any]]) -> dict[Value, np.ndarray]:
    """The largest magnitude of each feature (index of the last axis)."""
    found: dict[Value, np.ndarray] = {}
    for arrays in runs(graph, values, batches):
        for value, array in zip(values, arrays):
            top = np.abs(array.astype(np.float32)).reshape(-1, array.shape[-1]).max(0, initial=0)
            found[value] = np.maximum(found.get(value, 0), top)
    if values and not found:
        raise errors.ValueError_("smoothed: there is no data to calibrate with")
    return found


def _move(graph: Graph, uses: Uses, x: Value, members: list[Site], factor: np.ndarray) -> None:
    """Divide x by the factors and multiply the rows of the weights with them, in place."""
    instead: dict[Value, Value] = {}
    for site in members:
        if site.weight not in instead:
            array = np.asarray(uses.array(site.weight), np.float32) * factor[:, None]
            name = f"{uses.states[site.weight].name}.smooth"
            instead[site.weight] = new_state(graph, name, jnp.asarray(array, site.weight.dtype))
    operators = graph.block.operators
    norm = uses.made_by(x, *_NORMS)
    changed = {s.operator for s in members}
    found: list[Operator] = []
    if norm is not None and x not in uses.wanted and set(uses.readers[x]) == changed and norm in operators:
        replaced = _divided(graph, uses, norm, factor)
    else:
        replaced = None
    if replaced is None:
        smooth = Value(x.name + ".smooth", x.trials, x.dtype)
        scale = new_state(graph, x.name + ".factor", jnp.asarray(1 / factor, x.dtype))
        ahead = Operator(registry["apply_per_channel_scale"], (TENSOR, TENSOR), (x, scale), (smooth,))
        instead[x] = smooth
    for operator in operators:
        if operator is norm and replaced is not None:
            found.append(replaced)
        elif operator in changed:
            if replaced is None and ahead is not None:
                found.append(ahead)
                ahead = None
            found.append(replace_inputs(operator, instead))
        else:
            found.append(operator)
    operators[:] = found


def _divided(graph: Graph, uses: Uses, norm: Operator, factor: np.ndarray) -> Operator | None:
    """A normalisation whose result is divided, None where its weight does not allow that."""
    given = norm.arguments()
    changes: dict[str, Value] = {}
    for name in ("weight", "bias"):
        value = given.get(name)
        array = uses.array(value)
        if value is None and name == "bias":
            continue
        if array is None or tuple(array.shape) != factor.shape:
            return None
        changes[name] = new_state(graph, f"{uses.states[value].name}.smooth", jnp.asarray(array / factor, array.dtype))
    return with_arguments(norm, **changes)


def gptq(
    graph: Graph,
    chosen: Iterable[Site],
    batches: Iterable[dict[str, Any]],
    bits: int = 8,
    damping: float = 0.01,
    block: int = 128,
) -> dict[Value, Weight]:
    """Integers of the weights of linear layers, rounded row by row, each row making up for the errors of those before
    (Frantar et al., "GPTQ", 2023).

    Args:
        graph: a graph with its arrays.
        chosen: its operators; those that are no linear layers are left out.
        batches: dicts of arrays by the names of the inputs.
        bits: width of the integers.
        damping: added to the diagonal of the second moments, as a share of its mean.
        block: rows that are rounded before the rest of the weight is corrected.

    Returns:
        The weights, for `with_integer_weights`.

    Raises:
        ValueError: no data.
    """
    chosen = [s for s in chosen if s.axis == 1 and s.operator.name in ("linear", "matmul")]
    values = list(dict.fromkeys(s.x for s in chosen))
    moments: dict[Value, np.ndarray] = {}
    for arrays in runs(graph, values, batches):
        for value, array in zip(values, arrays):
            rows = array.astype(np.float64).reshape(-1, array.shape[-1])
            moments[value] = moments.get(value, 0) + rows.T @ rows
    if values and not moments:
        raise errors.ValueError_("gptq: there is no data to calibrate with")
    uses = Uses(graph)
    found: dict[Value, Weight] = {}
    for site in chosen:
        array = uses.array(site.weight)
        if array is not None and site.weight not in found:
            scale = np.maximum(scales_of(array, 1), 1e-8)
            whole = _compensated(np.asarray(array, np.float64), moments[site.x], scale, bits, damping, block)
            found[site.weight] = Weight(whole, scale, bits, 1)
    return found


def _compensated(
    weight: np.ndarray, moment: np.ndarray, scale: np.ndarray, bits: int, damping: float, block: int
) -> np.ndarray:
    """A weight [K, N] as integers."""
    top = 2 ** (bits - 1) - 1
    step = scale.astype(np.float64) / top
    rows, weight = len(weight), weight.copy()
    moment = moment.copy()
    unused = np.diag(moment) == 0
    moment[unused, unused] = 1
    moment[np.diag_indices(rows)] += damping * np.mean(np.diag(moment))
    upper = np.linalg.cholesky(np.linalg.inv(moment)).T
    whole = np.zeros(weight.shape, np.int8 if bits <= 8 else np.int16)
    for start in range(0, rows, block):
        end = min(start + block, rows)
        missed = np.zeros((end - start, weight.shape[1]))
        for k in range(start, end):
            whole[k] = np.clip(np.round(weight[k] / step), -top - 1, top)
            missed[k - start] = (weight[k] - whole[k] * step) / upper[k, k]
            weight[k + 1 : end] -= np.outer(upper[k, k + 1 : end], missed[k - start])
        weight[end:] -= upper[start:end, end:].T @ missed
    return whole
