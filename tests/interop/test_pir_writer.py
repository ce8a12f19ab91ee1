"""Graphs are written as official `.json` models. What is written is checked against the interfaces of the official
operators and read again; tools/roundtrip_official.py runs it in the official package."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import pir_cases
import pir_networks
import pir_support

import paddle
from paddle.interop.params import read_combined
from paddle.interop.pir_ops.format import parse
from paddle.interop.pir_ops.schema import interface
from paddle.interop.pir_reader import read_pir_model
from paddle.interop.pir_writer import write_pir_model

SPARE = 3
UNWRITTEN = set(
    "gcd lcm pinv stft lstsq householder_product fractional_max_pool2d quantile nanquantile yolo_box box_coder prior_box".split()
)  # what has no writer


def checked(text: bytes) -> list:
    """The operations of a file: each value is defined once and before it is used, operands and attributes are those of
    the official operators."""
    defined = {0}
    seen = []

    def block(region):
        defined.update(n for n, _ in region.arguments)
        for node in region.nodes:
            assert all(n in defined for n in node.operands), node.name
            for n, _ in node.results:
                assert n not in defined
                defined.add(n)
            seen.append(node.name)
            if node.name[:2] == "1." and node.name[2:] not in ("if", "while", "data", "fetch"):
                known = interface(node.name[2:])
                assert len(node.operands) == len(known.operands) and len(node.results) == len(known.results), node.name
                assert list(node.attributes) == list(known.attributes), node.name
            for regions in node.regions:
                for inner in regions:
                    block(inner)

    block(parse(text))
    return seen


def reread(graph, feeds, fetches):
    text, params = write_pir_model(graph, feeds, fetches)
    seen = checked(text)
    return read_pir_model(text, params), seen


@pytest.mark.parametrize("name", pir_support.names("networks"))
def test_networks_come_back(name):
    text, params, arrays = pir_support.fixture("networks", name)
    graph, feeds, fetches = read_pir_model(text, params)
    (again, feeds_again, fetches_again), _ = reread(graph, feeds, fetches)
    assert feeds_again == feeds
    saved = {n: s for n, s in graph.states.items() if "non_persistable" not in n}
    assert set(again.states) >= {
        n for n, s in saved.items() if any(s.value in o.reads() for o in graph.block.operators)
    }
    for n, s in again.states.items():
        if n in saved:
            np.testing.assert_array_equal(s.tensor.numpy(), saved[n].tensor.numpy())
            assert s.tensor.stop_gradient == saved[n].tensor.stop_gradient
    if name in ("lenet", "transformer", "gru", "control"):
        pir_support.agrees(pir_support.run(again, fetches_again, arrays), arrays)


def recorded(case):
    try:
        return pir_support.record(paddle, *case[1:])
    except AttributeError as e:  # paddle.vision.ops
        pytest.skip(str(e))


@pytest.mark.parametrize("case", pir_cases.CASES[2::SPARE], ids=lambda c: c[0])
def test_small_programs_come_back(case):
    graph, fetches, arrays = recorded(case)
    if case[0] in UNWRITTEN:
        with pytest.raises(NotImplementedError, match="cannot be written"):
            write_pir_model(graph, list(graph.inputs), fetches)
        return
    (again, _, fetches_again), _ = reread(graph, list(graph.inputs), fetches)
    for i, o in enumerate(pir_support.run(graph, fetches, arrays)):
        arrays[f"out{i}"] = o
    pir_support.agrees(pir_support.run(again, fetches_again, arrays), arrays)


def test_composed_operators_use_official_names():
    graph, fetches, _ = pir_support.record(
        paddle, lambda P, x, w, b: P.nn.functional.linear(x, w, b) * 2.0, "f ?2,3", "f 3,4", "f 4"
    )
    _, seen = reread(graph, list(graph.inputs), fetches)
    assert [n for n in seen if n[2:] in ("matmul", "add", "scale")] == ["1.matmul", "1.add", "1.scale"]


def test_unknown_lengths_become_operations():
    graph, fetches, _ = pir_support.record(paddle, lambda P, x: P.reshape(x, [x.shape[1], x.shape[0] * 4]), "f ?2,?3,4")
    (again, _, fetches_again), seen = reread(graph, ["x0"], fetches)
    assert "1.shape64" in seen and "1.multiply" in seen
    x = np.arange(5 * 6 * 4, dtype="float32").reshape(5, 6, 4)
    assert pir_support.run(again, fetches_again, {"in0": x})[0].shape == (6, 20)


def test_what_has_no_official_twin_is_named_with_its_line():
    graph, fetches, _ = pir_support.record(paddle, lambda P, x: P.gcd(x, x), "i 3")
    with pytest.raises(NotImplementedError, match=r"operator gcd, called at .*test_pir_writer\.py:\d+"):
        write_pir_model(graph, ["x0"], fetches)


def test_batch_statistics_are_refused():
    def train(P, x):
        layer = P.nn.BatchNorm2D(3)
        return layer(x)

    graph, fetches, _ = pir_support.record(paddle, train, "f ?2,3,4,4")
    with pytest.raises(NotImplementedError, match="eval"):
        write_pir_model(graph, ["x0"], fetches)


def test_an_input_that_is_not_fed_is_an_error():
    graph, fetches, _ = pir_support.record(paddle, lambda P, x, y: x + y, "f 3", "f 3")
    with pytest.raises(ValueError, match="'x1'"):
        write_pir_model(graph, ["x0"], fetches)
    with pytest.raises(ValueError, match="no input"):
        write_pir_model(graph, ["x0", "z"], fetches)


def test_parameters_are_stored_in_the_order_of_their_names():
    layer = paddle.nn.Linear(3, 2)
    graph, fetches, _ = pir_support.record(paddle, lambda P, x: layer(x), "f ?2,3")
    text, params = write_pir_model(graph, ["x0"], fetches)
    names = [n.attributes["name"] for n in parse(text).nodes if n.name == "p"]
    assert sorted(names) == sorted([layer.weight.name, layer.bias.name])
    found = read_combined(params, sorted(names))
    np.testing.assert_array_equal(found[layer.weight.name], layer.weight.numpy())
    other = {layer.weight.name: np.ones((3, 2), "float32"), layer.bias.name: np.zeros(2, "float32")}
    _, params = write_pir_model(graph, ["x0"], fetches, other)
    assert read_combined(params, sorted(names))[layer.weight.name].sum() == 6


def test_large_constants_are_parameters_and_small_ones_are_not():
    big = np.arange(4000, dtype="float32")
    graph, fetches, arrays = pir_support.record(
        paddle,
        lambda P, x: (x + P.nn.functional.relu(P.to_tensor(big)), x[:3] + P.to_tensor([1.0, 2.0, 3.0])),
        "f 4000",
    )
    (again, _, fetches_again), _ = reread(graph, ["x0"], fetches)
    outs = pir_support.run(again, fetches_again, arrays)
    np.testing.assert_allclose(outs[0], arrays["in0"] + big, rtol=1e-6)


def test_the_file_is_plain_json():
    graph, fetches, _ = pir_support.record(paddle, lambda P, x: P.clip(x, min=0.0) + float("inf"), "f 3")
    text, _ = write_pir_model(graph, ["x0"], fetches)
    tree = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert tree["base_code"]["magic"] == "pir"


def test_networks_are_those_of_the_tool():
    assert set(pir_support.names("networks")) == set(pir_networks.NETWORKS)
