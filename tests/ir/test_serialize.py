"""Programs as JSON: what is written comes back, and what is damaged is an error."""

import copy
import json

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import paddle
from paddle.ir.run import Executable
from paddle.ir.serialize import from_json, to_json
from paddle.static import InputSpec


def graph_of(function, *specs):
    program, traced = paddle.jit.to_static(function, full_graph=True).get_concrete_program(*specs)
    return traced.graph


def everything(x, n):
    """Attributes of every kind, constants, unknown lengths, branches, loops, gradients, a host operator."""
    y = x[:, ::2].astype("float64").reshape([x.shape[0] * 2, -1])
    y = y.transpose([1, 0]) * float("inf") + paddle.full([x.shape[0] * 2], 0.5, "float64")
    y = paddle.where(paddle.isinf(y), paddle.zeros_like(y), y)
    (g,) = paddle.grad(paddle.tanh(x).sum(), x)
    if n > 0:
        g = g * 2
    else:
        g = paddle.concat([g[:1], g[1:]], axis=0)
    i = paddle.zeros([], "int64")
    while i < n:
        if g.sum() > 100:
            break
        g = g + paddle.to_tensor(np.arange(4, dtype="float32"))
        i = i + 1
    return y, g, paddle.nonzero(x > 0), paddle.complex(x, x) * (1 + 2j)


SPECS = (InputSpec([None, 4], "float32", "x"), InputSpec([], "int64", "n"))


def run(graph, feeds):
    graph_feeds = {name: feeds[name] for name in graph.inputs}
    executable = Executable(graph, graph.block.outputs, updates=False)
    states = {n: s.tensor._value for n, s in graph.states.items()}
    return executable.run(graph_feeds, states, None)[0]


def test_round_trip():
    graph = graph_of(everything, *SPECS)
    document = to_json(graph)
    text = json.dumps(document, allow_nan=False)
    again = from_json(json.loads(text))
    assert json.dumps(to_json(again)) == text
    for name, state in graph.states.items():
        again.states[name].tensor = state.tensor
    x = np.random.RandomState(0).randn(3, 4).astype("float32")
    for n in (0, 5):
        feeds = {"x": x, "n": np.asarray(n)}
        for a, b in zip(run(graph, feeds), run(again, feeds)):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


DOCUMENT = to_json(graph_of(everything, *SPECS))


def paths(value, here=()):
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*here, key))


PATHS = list(paths(DOCUMENT))


@hypothesis.given(
    st.sampled_from(PATHS),
    st.one_of(st.none(), st.integers(-5, 10**12), st.text(max_size=3), st.just([]), st.just({}), st.just(["tensor"])),
    st.booleans(),
)
@hypothesis.settings(max_examples=300, deadline=None)
def test_a_damaged_document_is_a_value_error_or_still_a_program(path, value, remove):
    document = copy.deepcopy(DOCUMENT)
    if not path:
        document = value
    else:
        place = document
        for key in path[:-1]:
            place = place[key]
        if remove:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    try:
        from_json(document)
    except (ValueError, NotImplementedError) as e:
        assert str(e).startswith("(")


def test_deep_nesting_is_refused():
    document = copy.deepcopy(DOCUMENT)
    key = None
    for _ in range(500):
        key = ["static", key]
    document["block"]["operators"][0]["key"][0] = key
    with pytest.raises(ValueError):
        from_json(document)


def test_operators_of_python_code_cannot_be_written():
    from paddle.engine.executable import Kernel
    from paddle.ir.program import Operator

    graph = graph_of(lambda x: x * 2, InputSpec([2], "float32", "x"))
    made = graph.block.operators[0]
    odd = Operator(Kernel(lambda x: x, "odd", ("",)), (made.key[0],), made.inputs[:1], made.outputs)
    graph.block.operators = [odd]
    with pytest.raises(NotImplementedError, match="'odd'"):
        to_json(graph)
