"""Official `.json` models are read: the fixtures were saved by the official package, with what it computed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import pir_support

import paddle
from paddle.engine.parameter import Parameter
from paddle.interop.pir_reader import read_pir_model
from paddle.ir.interpret import Tape

SPARE = 3  # one of so many operators is run; all are read
OPERATORS = pir_support.names("operators")


@pytest.mark.parametrize("name", pir_support.names("networks"))
def test_networks_compute_what_they_do_officially(name):
    text, params, arrays = pir_support.fixture("networks", name)
    graph, feeds, fetches = read_pir_model(text, params)
    assert feeds == [f"x{i}" for i in range(len(feeds))]
    pir_support.agrees(pir_support.run(graph, fetches, arrays), arrays)


@pytest.mark.parametrize("name", pir_support.names("fused"))
def test_operators_that_official_passes_fused(name):
    text, params, arrays = pir_support.fixture("fused", name)
    assert b"fuse" in text or b"1.fc" in text or "bn" in name
    graph, _, fetches = read_pir_model(text, params)
    pir_support.agrees(pir_support.run(graph, fetches, arrays), arrays)


@pytest.mark.parametrize("name", OPERATORS[::SPARE])
def test_operators_compute_what_they_do_officially(name):
    text, params, arrays = pir_support.fixture("operators", name)
    if name in ("nms", "roi_align") and not hasattr(paddle.vision, "ops"):
        pytest.skip("paddle.vision.ops is not built")
    graph, _, fetches = read_pir_model(text, params)
    pir_support.agrees(pir_support.run(graph, fetches, arrays), arrays)


def test_every_operator_is_read_with_its_type_and_shape():
    absent = []
    for name in OPERATORS:
        if name == "slice_by_length":  # both trial lengths are longer than what is cut
            continue
        text, params, arrays = pir_support.fixture("operators", name)
        try:
            _, _, fetches = read_pir_model(text, params)
        except NotImplementedError as e:
            absent.append((name, str(e)))
            continue
        for i, value in enumerate(fetches):
            out = arrays[f"out{i}"]
            assert value.dtype == out.dtype, name
            assert value.ndim == out.ndim and all(d in (-1, n) for d, n in zip(value.shape, out.shape)), name
    assert all("paddle.vision.ops" in why for _, why in absent), absent


def read(name, kind="networks"):
    text, params, arrays = pir_support.fixture(kind, name)
    return read_pir_model(text, params), arrays


def test_inputs_of_other_lengths():
    (graph, _, fetches), _ = read("unet")
    x = np.random.default_rng(0).normal(size=(3, 3, 8, 40)).astype("float32")
    assert pir_support.run(graph, fetches, {"in0": x})[0].shape == (3, 2, 8, 40)


def test_parameters_are_states_that_can_be_trained():
    (graph, _, fetches), arrays = read("vgg")
    parameters = {n: s.tensor for n, s in graph.states.items() if isinstance(s.tensor, Parameter)}
    assert len(parameters) == 8 and not any(p.stop_gradient for p in parameters.values())

    def loss():
        tape = Tape({s.value: s.tensor for s in graph.states.values()})
        tape.arrays[graph.inputs["x0"]] = paddle.to_tensor(arrays["in0"])
        tape.run(graph.block.operators)
        return (tape.arrays[fetches[0]] ** 2).sum()

    loss().backward()
    bias = next(p for n, p in parameters.items() if n.startswith("linear") and p.ndim == 1 and p.shape[0] == 10)
    step = np.zeros(10, "float32")
    step[3] = 1e-2
    before = bias.numpy()
    ends = []
    for sign in (1, -1):
        bias.set_value(before + sign * step)
        ends.append(float(loss()))
    assert (ends[0] - ends[1]) / 2e-2 == pytest.approx(float(bias.grad[3]), rel=2e-2)


def test_statistics_stay_what_they_are():
    (graph, _, _), _ = read("resnet")
    frozen = [s.tensor for s in graph.states.values() if not isinstance(s.tensor, Parameter)]
    assert len(frozen) == 16 and all(t.stop_gradient for t in frozen)


def edited(name, change, kind="operators"):
    text, params, _ = pir_support.fixture(kind, name)
    tree = json.loads(text)
    change(tree, tree["program"]["regions"][0]["blocks"][0]["ops"])
    return json.dumps(tree).encode(), params


def test_an_unknown_operator_is_named():
    def rename(tree, ops):
        ops[1]["#"] = "1.frobnicate"

    with pytest.raises(NotImplementedError, match="pd_op.frobnicate"):
        read_pir_model(*edited("relu", rename))


def test_a_later_version_is_refused():
    def age(tree, ops):
        tree["base_code"]["version"] = 99

    with pytest.raises(ValueError, match="version 99"):
        read_pir_model(*edited("relu", age))


def test_parameters_of_another_model_are_refused():
    text, _, _ = pir_support.fixture("networks", "vgg")
    _, params, _ = pir_support.fixture("networks", "resnet")
    with pytest.raises(ValueError, match="parameter"):
        read_pir_model(text, params)
    with pytest.raises(ValueError, match="parameter"):
        read_pir_model(text, b"")


def test_operators_in_place_change_their_operand():
    text, params, arrays = pir_support.fixture("operators", "relu")

    def in_place(tree, ops):
        ops[1]["#"] = "1.relu_"
        ops[2]["I"] = [{"%": 1}]  # fetch the input, which relu_ changed

    graph, _, fetches = read_pir_model(*edited("relu", in_place))
    pir_support.agrees(pir_support.run(graph, fetches, arrays), arrays)
