"""What the tests of official `.json` models share: the fixtures, running a graph, recording a small program."""

from __future__ import annotations

import functools
import io
import zipfile
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pir_cases

from paddle.engine.tensor import _make
from paddle.engine.value import PROBES, Value
from paddle.ir.program import Graph
from paddle.ir.record import Recorder
from paddle.ir.run import Executable

FIXTURES = Path(__file__).parent / "pir_fixtures"


@functools.cache
def archive(kind: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(FIXTURES / f"{kind}.zip")


def names(kind: str) -> list[str]:
    return [n[:-5] for n in archive(kind).namelist() if n.endswith(".json")]


def fixture(kind: str, name: str) -> tuple[bytes, bytes, Any]:
    """(model.json, model.pdiparams, recorded inputs and outputs)."""
    files = archive(kind)
    params = files.read(name + ".pdiparams") if name + ".pdiparams" in files.namelist() else b""
    if kind == "fused":  # what the network gives from which it was made
        return files.read(name + ".json"), params, fixture("networks", name.partition("-")[0])[2]
    return files.read(name + ".json"), params, np.load(io.BytesIO(files.read(name + ".npz")))


def flat(out: Any) -> list:
    return [y for x in out for y in flat(x)] if isinstance(out, (list, tuple)) else [out]


def run(graph: Graph, fetches: list, arrays: Any) -> list[np.ndarray]:
    executable = Executable(graph, fetches)
    feeds = {n: jnp.asarray(arrays["in" + n[1:]]) for n in executable.inputs}
    states = {n: s.tensor._value for n, s in executable.states.items()}
    return [np.asarray(o) for o in executable.run(feeds, states, np.zeros(4, np.uint32))[0]]


def agrees(outs: list, arrays: Any) -> None:
    wanted = [arrays[k] for k in arrays if k.startswith("out")]
    assert len(outs) == len(wanted)
    for i, o in enumerate(outs):
        w = arrays[f"out{i}"]
        assert o.shape == w.shape and o.dtype == w.dtype
        np.testing.assert_allclose(o, w, rtol=2e-5, atol=1e-5 * max(1, np.abs(w).max() if w.size else 1))


def record(package: Any, function: Any, *inputs: str) -> tuple[Graph, list, dict]:
    """(graph, fetches, arrays of the inputs) of a small program."""
    graph = Graph()
    recorder = Recorder(graph)
    feeds, arrays = [], {}
    for i, text in enumerate(inputs):
        arrays[f"in{i}"] = pir_cases.make(text, i)
        trials = tuple(tuple(p if n < 0 else n for n in pir_cases.describe(text)[1]) for p in PROBES)
        value = graph.inputs[f"x{i}"] = Value(f"x{i}", trials, pir_cases.DTYPES[text[0]])
        feeds.append(_make(value))
    with recorder:
        fetches = [recorder.value_of(o) for o in flat(function(package, *feeds))]
    recorder.restore()
    return graph, fetches, arrays
