"""Quantisation of programs: which operators, with what ranges. The operators themselves are those of
`paddle.ir.passes.quantization`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.modes import set_mode
from ..engine.random import generator
from ..engine.value import Value
from ..ir.passes import apply
from ..ir.passes.quantization import Site, Weight, rounded_weights, sites, with_integer_weights, with_rounded_inputs
from ..ir.program import Graph
from ..ir.run import Executable
from .calibration import Histogram, Statistic, statistic

PREPARE = ("inference", "no_copies", "constant_folding", "fold_batch_norm", "linear", "dead_code")


def prepared(graph: Graph, fetches: Sequence[Value], fold: bool = True) -> Graph:
    """The graph as it infers, with batch normalisation in the weights."""
    return apply(graph, fetches, PREPARE if fold else ("inference", "dead_code"))


def runs(graph: Graph, values: Sequence[Value], batches: Iterable[dict[str, Any]]) -> Iterator[list[np.ndarray]]:
    """Run the graph on batches; the arrays of the values for each."""
    executable = Executable(graph, list(values), updates=False)
    states = {n: graph.states[n].tensor._value for n in executable.states}
    for batch in batches:
        words = generator().ticks(executable.ticks) if executable.ticks else None
        feeds = {n: np.asarray(getattr(a, "_value", a)) for n, a in batch.items() if n in executable.inputs}
        missing = [n for n in executable.inputs if n not in feeds]
        if missing:
            raise errors.ValueError_(f"quantization: a batch lacks the input {missing[0]!r}; it has {', '.join(batch)}")
        with set_mode(program=None, grad=False, amp=None):
            found = executable.run(feeds, states, words)[0]
        yield [np.asarray(a) for a in found]


def observe(
    graph: Graph, values: Sequence[Value], batches: Iterable[dict[str, Any]], algo: str, bits: int = 8, **options: Any
) -> dict[Value, Statistic]:
    """Run the graph on batches and watch values.

    Args:
        graph: a graph with its arrays.
        values: what is watched.
        batches: dicts of arrays by the names of the inputs; taken twice for histograms, so they are kept.
        algo: "abs_max", "min_max", "avg", "mse", "emd", "hist" or "KL".
        bits: width of the integers.
        options: of the statistic.

    Raises:
        ValueError: no batch, an unknown `algo`.
    """
    found = {v: statistic(algo, bits, **options) for v in values}
    batches = list(batches)
    if not batches:
        raise errors.ValueError_("quantization: there is no data to calibrate with")
    if any(isinstance(s, Histogram) for s in found.values()):
        ends = {v: [np.inf, 0.0] for v in values}
        for arrays in runs(graph, values, batches):
            for value, array in zip(values, arrays):
                magnitudes = np.abs(np.asarray(array))
                if magnitudes.size:
                    ends[value] = [min(ends[value][0], magnitudes.min()), max(ends[value][1], magnitudes.max())]
        for value, each in found.items():
            if isinstance(each, Histogram) and ends[value][1] > 0:
                each.between(*map(float, ends[value]))
    for arrays in runs(graph, values, batches):
        for value, array in zip(values, arrays):
            found[value].add(array)
    return found


def quantized(
    graph: Graph,
    fetches: Sequence[Value],
    kinds: Iterable[str] | None = None,
    *,
    weight_bits: int = 8,
    activation_bits: int | None = None,
    per_channel: bool = True,
    ranges: dict[Value, float] | None = None,
    skip: Collection[str] = (),
    chosen: list[Site] | None = None,
    weights: Mapping[Value, Weight] | None = None,
) -> Graph:
    """The graph with integer weights and, if `activation_bits` is given, inputs of their operators through integers.

    Args:
        graph: a graph with its arrays, see `prepared`.
        fetches: its results.
        kinds, skip: which operators, see `sites`.
        weight_bits, activation_bits: widths of the integers; activations stay floating when None.
        per_channel: a scale for each output channel of a weight.
        ranges: magnitudes of the inputs; None: taken while running, for each sample.
        chosen: the operators, in place of kinds and skip.
        weights: integers that are known already; the others are rounded to the nearest.
    """
    if chosen is None:
        chosen = sites(graph, kinds, skip)
    given = weights or {}
    weights = {
        **rounded_weights(graph, [s for s in chosen if s.weight not in given], weight_bits, per_channel),
        **given,
    }
    chosen = [s for s in chosen if s.weight in weights]
    if activation_bits is not None:
        graph = with_rounded_inputs(graph, chosen, ranges, activation_bits)
    return apply(with_integer_weights(graph, weights), fetches, ["dead_code"])
