"""Pipelines in one process: orders of work, cuts of lists of layers, micro-batches, backward in two parts."""

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
from paddle import nn
from paddle.distributed.fleet.meta_parallel import (
    LayerDesc,
    NoPipelineParallel,
    PipelineLayer,
    ScheduleChunk,
    ScheduleNode,
    pipeline_parallel,
)
from paddle.distributed.fleet.meta_parallel.parallel_layers import pp_layers, spec_utils
from paddle.distributed.fleet.meta_parallel.parallel_layers.pp_layers import SegmentLayers
from paddle.distributed.fleet.meta_parallel.pp_utils import forward_backward_overlap_utils as overlap
from paddle.distributed.fleet.meta_parallel.pp_utils import hooks, micro_batches, schedules, utils
from paddle.engine import autograd

from _pipelines import STEPS, Block, adam, alone, blocks, data, renamed, same, square, state, strategy

ORDERS = schedules.SCHEDULES


@given(
    stages=st.integers(1, 6),
    micros=st.integers(1, 14),
    chunks=st.integers(1, 3),
    name=st.sampled_from([*ORDERS, "vpp"]),
)
@settings(max_examples=150, deadline=None)
def test_no_order_waits_for_ever(stages, micros, chunks, name):
    chunks = 1 if name == "1F1B" else chunks
    function = schedules.interleaved if name == "vpp" else ORDERS[name]
    orders = [function(stage, stages, micros, chunks) for stage in range(stages)]
    units = schedules.complete(orders, chunks)
    kinds = "FBW" if name == "ZBH1" else "FB"
    for order in orders:
        assert len(order) == len(set(order)) == len(kinds) * micros * chunks
    if name == "1F1B":
        assert [schedules.live(order) for order in orders] == [min(stages - s, micros) for s in range(stages)]
        assert units == 2 * (micros + stages - 1)
    if name == "ZBH1":
        plain = schedules.one_f_one_b if chunks == 1 else schedules.interleaved
        most = schedules.live(plain(0, stages, micros, chunks))
        assert max(schedules.live(order) for order in orders) <= most


@given(stages=st.integers(1, 6), more=st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_two_parts_in_a_v_wait_little_and_keep_alike(stages, more):
    micros = 2 * stages + more
    orders = [schedules.dual_pipe_v(stage, stages, micros) for stage in range(stages)]
    assert all(len(order) == len(set(order)) == 2 * 3 * micros for order in orders)
    assert schedules.complete(orders, 2, schedules.Vee(stages)) <= 6 * micros + stages
    assert [schedules.live(order) for order in orders] == [2 * stages + 1] * stages


def test_interleaving_and_zero_bubbles_save_idle_time():
    def units(function, *more):
        return schedules.complete([function(s, 4, 16, *more) for s in range(4)], *more)

    assert units(schedules.one_f_one_b) == 2 * (16 + 3)
    assert units(schedules.interleaved, 2) == 2 * 2 * 16 + 2 * 3  # of half the size: the idle time is half
    one_by_one = 3 * (16 + 3)  # a backward being twice a forward
    assert units(schedules.zero_bubble) == one_by_one - 2 * 3
    in_turns = 2 * 3 * 16 + 3 * 3  # as interleaved, a backward being twice a forward
    assert units(schedules.zero_bubble, 2) == in_turns - 2 * 3


def test_cuts_of_a_list_of_layers():
    """Values of the official package."""
    uniform = {(5, 3): [0, 1, 3, 5], (8, 4): [0, 2, 4, 6, 8], (10, 4): [0, 2, 4, 7, 10], (11, 4): [0, 2, 5, 8, 11]}
    for (n, parts), want in uniform.items():
        assert SegmentLayers([nn.ReLU()] * n, parts).do_segment() == want
    body = [LayerDesc(nn.Embedding, 3, 3)]
    for _ in range(8):
        body += [LayerDesc(nn.Linear, 2, 2), nn.ReLU()]
    body += [LayerDesc(nn.LayerNorm, 2)]
    assert SegmentLayers(body, 4, "layer:Linear").do_segment() == [0, 4, 8, 12, 18]
    assert SegmentLayers(body, 2, "layer:linear|relu", 2).do_segment() == [0, 5, 9, 13, 18]
    assert SegmentLayers(body, 3, [0, 4, 9]).do_segment() == [0, 4, 9, 18]
    assert repr(LayerDesc(nn.Linear, 2, 3, bias_attr=False)) == "Linear(2, 3, bias_attr=False)"
    for method, words in (
        ("layer:Conv", "no layer has such a name"),
        ("layer:Linear", "finds 8 layers, which 3 parts"),
        ("equal", "seg_method must be"),
        ([0, 5], "the first layers of 3 parts"),
        ([0, 9, 4], "rising"),
    ):
        with pytest.raises(ValueError, match=words):
            SegmentLayers(body, 3, method).do_segment()
    with pytest.raises(ValueError, match="2 layers cannot be divided into 3"):
        SegmentLayers([nn.ReLU()] * 2, 3)


def test_one_stage_in_micro_batches():
    curve, want = alone()
    made = strategy(1, micros=8)
    for parts in (1, 2):
        net = PipelineLayer(blocks(), num_stages=1, loss_fn=square, num_virtual_pipeline_stages=parts)
        model = NoPipelineParallel(net, made)
        optimizer, rate = adam(model.parameters())
        got = [model.train_batch(data(step), optimizer, rate).item() for step in range(STEPS)]
        np.testing.assert_allclose(got, curve, rtol=1e-5)
        assert model.most_live_micro_batches == 1
        same(state(model) if parts == 1 else renamed(state(model), range(8)), want)
    made = strategy(1, micros=8, pp_configs={"delay_scale_loss": True})
    net = PipelineLayer(blocks(), num_stages=1, loss_fn=square)
    model = NoPipelineParallel(net, made)
    optimizer, rate = adam(model.parameters())
    parts = iter([t for t in zip(*(paddle.split(t, 8) for t in data(0)))])
    np.testing.assert_allclose(model.train_batch(parts, optimizer).item(), curve[0], rtol=1e-5)
    assert net.get_stage_from_index(7) == 0
    values = model.state_dict()
    missing, more = model.set_state_dict({f"_layers.{k}": v * 0 for k, v in values.items()})  # official names
    assert not missing and not more and not any(p.abs().sum().item() for p in model.parameters())


def test_misuse():
    with pytest.raises(TypeError, match="derived from paddle.nn.Layer, got 3"):
        LayerDesc(3)
    with pytest.raises(ValueError, match="num_stages is 2, which does not divide the number of processes, 1"):
        PipelineLayer(blocks(), num_stages=2)
    with pytest.raises(ValueError, match="give num_stages or topology"):
        PipelineLayer(blocks())
    with pytest.raises(TypeError, match=r"layers\[1\] must be a LayerDesc"):
        PipelineLayer([nn.ReLU(), 3], num_stages=1)
    with pytest.raises(ValueError, match="use_dualpipev=True goes without"):
        PipelineLayer(blocks(), num_stages=1, use_dualpipev=True, num_virtual_pipeline_stages=2)
    net = PipelineLayer(blocks(), num_stages=1)
    model = NoPipelineParallel(net, strategy(1))
    optimizer, _ = adam(model.parameters())
    for batch, error, words in (
        (data(0), ValueError, "has no loss_fn"),
        (None, ValueError, "the first and the last stage need data"),
        (data(0)[:1], ValueError, "a pair of inputs and labels"),
        (3, TypeError, "or an iterator over such pairs"),
        ([data(0)[0], 3.0], TypeError, "the labels must be Tensors"),
        ([data(0)[0], data(0)], ValueError, "one entry for each micro-batch"),
        (iter([(*data(0),)]), ValueError, "the data ended after 1 micro-batches"),
    ):
        if words != "has no loss_fn":
            net._loss_fn = [lambda out, label: out.sum()]
        with pytest.raises(error, match=words):
            model.train_batch(batch, optimizer)
    with pytest.raises(RuntimeError, match="gradients are switched off"), paddle.no_grad():
        model.train_batch(data(0), optimizer)
    with pytest.raises(NotImplementedError, match="pp_configs with profiling"):
        NoPipelineParallel(net, strategy(1, pp_configs={"profiling": True}))


def test_parts_that_are_called_apart():
    class Part(Block):
        def build_schedule_node(self):
            return ScheduleNode(self.forward, "part")

    net = PipelineLayer([LayerDesc(Part), LayerDesc(Part)], num_stages=1, num_virtual_pipeline_stages=2)
    x, y = data(0)
    x.stop_gradient = False
    square(net(x), y).backward()
    want, weights = x.grad.numpy(), [p.grad.numpy() for p in net.parameters()]
    net.clear_gradients()
    chunks = [net.get_schedule_chunk(0), net.get_schedule_chunk(1)]
    loss = ScheduleNode(square)
    loss.labels, loss.scale_loss_factor = y, 2.0
    loss.forward(chunks[1].forward(chunks[0].forward(x)))
    scaler = paddle.amp.GradScaler(init_loss_scaling=2.0)
    got = chunks[0].backward(chunks[1].backward(loss.backward(scaler=scaler)))
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-7)
    for p, w in zip(net.parameters(), weights):
        np.testing.assert_allclose(p.grad.numpy(), w, rtol=1e-5, atol=1e-7)
    with pytest.raises(TypeError, match="nodes must be ScheduleNodes, got 3"):
        ScheduleChunk([3])
    with pytest.raises(RuntimeError, match="call forward first"):
        loss.backward()


@pytest.mark.parametrize("module", [pipeline_parallel, pp_layers, spec_utils, hooks, micro_batches, overlap, utils])
def test_examples(module):
    failed, tried = doctest.testmod(module, extraglobs={"paddle": paddle})
    assert tried and not failed


@pytest.mark.parametrize("half", [False, True])
def test_a_backward_in_two_parts(half):
    net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2))
    kept = paddle.to_tensor(np.random.RandomState(0).randn(3, 4).astype("float32"))

    def gradients(apart):
        for p in net.parameters():
            p.clear_gradient(False)
        calls = []
        hook = net[0].weight.register_hook(lambda g: calls.append(1))
        x = kept.clone().detach()
        x.stop_gradient = False
        with paddle.amp.auto_cast(enable=half, dtype="bfloat16"):
            y = (net(x) ** 2).sum() + (net[0].weight ** 2).sum()  # a weight with two uses
        if apart:
            later = autograd.backward_of_inputs([y], [None])
            assert x.grad is not None and all(p.grad is None for p in net.parameters()) and not calls
            autograd.backward_of_weights(later)
        else:
            y.backward()
        hook.remove()
        assert calls == [1]
        return [t.grad.numpy() for t in (x, *net.parameters())]

    for got, want in zip(gradients(True), gradients(False)):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
