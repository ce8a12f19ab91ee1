"""Building and running graphs in tests."""

import numpy as np

from paddle.engine.tensor import _make
from paddle.engine.value import Value, trial_shapes
from paddle.ir.program import Graph
from paddle.ir.record import Recorder
from paddle.ir.run import Executable

WORDS = np.array([0, 7, 0, 0], np.uint32)


def build(function, **specs):
    """The graph of a function of tensors, and what it returned; each spec is (shape with -1, dtype)."""
    graph = Graph()
    recorder = Recorder(graph)
    inputs = []
    for name, (shape, dtype) in specs.items():
        value = Value(name, trial_shapes(shape), dtype)
        graph.inputs[name] = value
        inputs.append(_make(value))
    with recorder:
        out = function(*inputs)
    recorder.restore()
    return graph, out


def values_of(out):
    return [t._value for t in (out if isinstance(out, (list, tuple)) else [out])]


def run(graph, out, **feeds):
    """The arrays of what a function returned, as NumPy, and the new states."""
    executable = Executable(graph, values_of(out))
    states = {n: s.tensor._value for n, s in executable.states.items()}
    found, new = executable.run({n: np.asarray(a) for n, a in feeds.items()}, states, WORDS)
    return [np.asarray(a) for a in found], {n: np.asarray(a) for n, a in new.items()}
