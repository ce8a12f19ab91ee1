"""Sparsity, distillation, low rank, quantisation and measurements of layers."""

import copy

import numpy as np
import pytest

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
import paddle.static as static
import paddleslim
from paddle.vision import models
from paddleslim.analysis import dygraph_flops, flops, latency, model_size, report
from paddleslim.dist import DML
from paddleslim.dygraph import (
    Distill,
    GMPUnstructuredPruner,
    L1NormFilterPruner,
    UnstructuredPruner,
    get_ratios_by_loss,
    load_sensitivities,
    merge_sensitive,
)
from paddleslim.low_rank import decompose


def net_of(width=8):
    return nn.Sequential(
        nn.Conv2D(1, width, 3), nn.BatchNorm2D(width), nn.ReLU(), nn.Conv2D(width, width, 1), nn.Flatten(),
        nn.Linear(36 * width, 5),
    )  # fmt: skip


# ---- sparsity ----


@pytest.mark.parametrize("local, block", [(False, (1, 1)), (True, (1, 1)), (False, (2, 2))])
def test_sparsity_of_a_layer(local, block):
    net = net_of()
    pruner = UnstructuredPruner(net, "ratio", ratio=0.5, local_sparsity=local, sparse_block=block)
    before = {n: p.numpy() for n, p in net.named_parameters()}
    pruner.step()
    net(paddle.ones([1, 1, 8, 8]))  # a forward pass sets the zeros
    weights = {n: p.numpy() for n, p in net.named_parameters() if p.ndim > 1}
    zeros = [float((w == 0).mean()) for w in weights.values()]
    assert np.mean(np.concatenate([(w == 0).ravel() for w in weights.values()])) == pytest.approx(0.5, abs=0.02)
    assert not local or np.ptp(zeros) < 0.02
    for name, weight in weights.items():
        np.testing.assert_array_equal(weight[weight != 0], before[name][weight != 0])
    if block == (2, 2):
        matrix = (weights["5.weight"] == 0).reshape(36 * 4, 2, -1)[..., :4].reshape(36 * 4, 2, 2, 2)
        assert np.isin(matrix.sum((1, 3)), (0, 4)).all()
    optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    net(paddle.ones([1, 1, 8, 8])).sum().backward()
    optimizer.step()
    pruner.update_params()
    assert all(((net.state_dict()[n].numpy() == 0) >= (w == 0)).all() for n, w in weights.items())
    kept = copy.deepcopy({n: m.numpy() for n, m in pruner.masks.items()})
    pruner.set_static_masks()
    assert all((pruner.masks[n].numpy() <= m).all() for n, m in kept.items())


def test_sparsity_of_pointwise_convolutions_and_by_threshold():
    net = net_of()
    UnstructuredPruner(net, "ratio", ratio=0.5, prune_params_type="conv1x1_only").step()
    net(paddle.ones([1, 1, 8, 8]))
    assert UnstructuredPruner.total_sparse_conv1x1(net) == pytest.approx(0.5, abs=0.01)
    assert (net[0].weight.numpy() != 0).all()
    pruner = UnstructuredPruner(net, "threshold", threshold=0.05)
    pruner.step()
    pruner.update_params()
    weight = net[5].weight.numpy()
    assert np.abs(weight[weight != 0]).min() >= 0.05 and (weight == 0).any()


def test_the_share_of_zeros_rises():
    net = nn.Linear(20, 20, bias_attr=False)
    configs = {"stable_iterations": 0, "pruning_iterations": 20, "tunning_iterations": 5, "pruning_steps": 2,
               "initial_ratio": 0.2}  # fmt: skip
    pruner = GMPUnstructuredPruner(net, 0.8, configs=configs)
    shares = []
    for _ in range(25):
        pruner.step()
        pruner.update_params()
        shares.append(UnstructuredPruner.total_sparse(net))
    np.testing.assert_allclose(shares[::10], [0.2, 0.2 + 0.6 * 0.875, 0.8], atol=1e-6)


@pytest.mark.parametrize(
    "changes, word",
    [
        ({"mode": "magic"}, "magic"),
        ({"ratio": 1.0}, "ratio"),
        ({"prune_params_type": "all"}, "conv1x1_only"),
        ({"mode": "threshold", "local_sparsity": True}, "local_sparsity"),
        ({"sparse_block": [0, 1]}, "sparse_block"),
    ],
)
def test_wrong_arguments_of_sparsity(changes, word):
    with pytest.raises(ValueError, match=word):
        UnstructuredPruner(net_of(), **{"mode": "ratio", **changes})


# ---- sensitivity ----


def test_sensitivity_chooses_what_costs_least(tmp_path):
    paddle.seed(1)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    x = paddle.to_tensor(np.random.RandomState(0).randn(16, 6).astype("float32"))
    first = net[0].weight
    first.set_value(first.numpy() * np.array([1] * 4 + [1e-3] * 4, "float32"))
    wanted = net(x).numpy()

    def metric():
        return 1 - min(1.0, float(((net(x).numpy() - wanted) ** 2).mean() / (wanted**2).mean()))

    pruner = L1NormFilterPruner(net, [1, 6], prune_type="fc")
    file = str(tmp_path / "found.json")
    found = pruner.sensitive(metric, sen_file=file)
    assert set(found) == {first.name, net[2].weight.name} and len(found[first.name]) == 9
    assert found[first.name][0.5] < 0.01 < found[net[2].weight.name][0.5]  # four features give nothing
    assert load_sensitivities(file) == found == merge_sensitive([file])
    again = L1NormFilterPruner(net, [1, 6], sen_file=file, prune_type="fc")
    plan = again.sensitive_prune(0.6)
    assert plan.pruned_flops == pytest.approx(0.6, abs=0.12) and first.shape[1] <= 4 <= net[2].weight.shape[1] + 1
    again.restore()
    assert first.shape == [6, 8]


def test_ratios_for_a_loss_lie_between_measured_ones():
    found = {"a": {0.1: 0.0, 0.5: 0.2}, "b": {0.1: 0.5}, "c": {0.1: 0.0, 0.9: 0.05}}
    assert get_ratios_by_loss(found, 0.1) == {"a": pytest.approx(0.3), "b": 0.0, "c": 0.9}


def test_files_that_are_no_sensitivities_are_refused(tmp_path):
    import pickle

    path = tmp_path / "old.data"
    path.write_bytes(pickle.dumps({"a": {0.1: 0.0}}))
    with pytest.raises(ValueError, match="JSON"):
        load_sensitivities(str(path))


# ---- distillation ----


def test_layers_learn_from_layers():
    paddle.seed(0)
    teacher, student = net_of(8), net_of(4)
    teacher.eval()
    layers = [
        {"layers_name": ["3", "3"], "loss_function": "MSELoss", "weight": 0.5,
         "align_params": {"align_type": "1x1conv", "in_channel": 4, "out_channel": 8}},
        {"layers_name": ["5", "5"], "loss_function": "KLLoss", "temperature": 2.0},
        {"layers_name": ["5", "5"], "loss_function": "CELoss", "io": ["output", "output"]},
        {"layers_name": ["5", "5"], "loss_function": "RKDLoss", "weight": 0.1},
    ]  # fmt: skip
    both = Distill([{"layers": layers, "model_name_pairs": ["student_0", "teacher_0"]}], student, teacher)
    names = {id(p) for p in both.parameters()}
    assert not names & {id(p) for p in teacher.parameters()} and len(names) == len(student.parameters()) + 2
    optimizer = paddle.optimizer.Adam(0.01, parameters=both.parameters())
    x = paddle.to_tensor(np.random.RandomState(0).randn(16, 1, 8, 8).astype("float32"))
    before, gaps = teacher[5].weight.numpy(), []
    for _ in range(40):
        loss, own, theirs = both(x)
        gaps.append(float(((F.softmax(own) - F.softmax(theirs)) ** 2).mean()))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    assert gaps[-1] < 0.3 * gaps[0]
    np.testing.assert_array_equal(teacher[5].weight.numpy(), before)


@pytest.mark.parametrize(
    "layer, word",
    [
        ({"layers_name": ["9", "5"], "loss_function": "MSELoss"}, "no layer '9'"),
        ({"layers_name": ["5", "5"], "loss_function": "Magic"}, "Magic"),
        ({"layers_name": ["5", "5"]}, "loss_function"),
        ({"layers_name": ["5", "5"], "loss_function": "MSELoss", "wait": 1}, "wait"),
        (
            {"layers_name": ["5", "5"], "loss_function": "MSELoss", "model_name_pairs": [["student_1", "teacher_0"]]},
            "student_1",
        ),
    ],
)
def test_wrong_configurations_of_distillation(layer, word):
    with pytest.raises(ValueError, match=word):
        Distill([{"layers": [layer]}], net_of(), net_of())


def test_networks_teach_each_other():
    paddle.seed(0)
    dml = DML([nn.Linear(4, 3), nn.Linear(4, 3)])
    x, y = paddle.rand([8, 4]), paddle.to_tensor(np.arange(8).reshape(8, 1) % 3)
    a, b = (t.numpy() for t in dml(x))

    def log_softmax(z):
        return z - np.log(np.exp(z).sum(-1, keepdims=True))

    p, q = log_softmax(a), log_softmax(b)
    wanted = -p[np.arange(8), np.arange(8) % 3].mean() + (np.exp(q) * (q - p)).sum(-1).mean()
    losses = dml.loss(dml(x), y)
    assert float(losses[0]) == pytest.approx(wanted, rel=1e-5) and len(losses) == 2
    optimizer = dml.opt([paddle.optimizer.SGD(0.5, parameters=m.parameters()) for m in dml.model])
    for _ in range(30):
        losses = dml.loss(dml(x), y)
        optimizer.minimize(losses)
    assert float(losses[0]) < wanted and len(optimizer.get_lr()) == 2
    with pytest.raises(ValueError, match="as many"):
        dml.opt([])


# ---- low rank ----


def test_full_rank_computes_the_same():
    net = net_of()
    net.eval()
    x = paddle.rand([2, 1, 8, 8])
    wanted = net(x).numpy()
    found = decompose(net, energy=1.0, only_smaller=False)
    assert set(found) == {"0", "3", "5"}
    np.testing.assert_allclose(net(x).numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_a_low_rank_is_the_best_one():
    net = nn.Sequential(nn.Linear(32, 24), nn.Conv2D(8, 16, 3, stride=2, padding=1))
    matrix, kernel = net[0].weight.numpy(), net[1].weight.numpy()
    x = paddle.rand([2, 8, 9, 9])
    bias = net[1].bias.numpy()
    assert decompose(net, rank=3) == {"0": 3, "1": 3}
    u, s, v = np.linalg.svd(matrix)
    product = net[0][0].weight.numpy() @ net[0][1].weight.numpy()
    np.testing.assert_allclose(product, (u[:, :3] * s[:3]) @ v[:3], rtol=1e-4, atol=1e-5)
    u, s, v = np.linalg.svd(kernel.reshape(16, -1), full_matrices=False)
    near = ((u[:, :3] * s[:3]) @ v[:3]).reshape(kernel.shape).astype("float32")
    wanted = F.conv2d(x, paddle.to_tensor(near), paddle.to_tensor(bias), stride=2, padding=1)
    np.testing.assert_allclose(net[1](x).numpy(), wanted.numpy(), rtol=1e-4, atol=1e-4)


def test_low_rank_leaves_alone_what_does_not_fit():
    shared = nn.Linear(16, 16)
    net = nn.Sequential(nn.Conv2D(8, 8, 3, groups=8), shared, shared, nn.Linear(4, 4), nn.Linear(64, 64))
    assert decompose(net, rank=4, skip=["4"]) == {}
    with pytest.raises(ValueError, match="either"):
        decompose(net)
    with pytest.raises(ValueError, match="energy"):
        decompose(net, energy=1.5)
    with pytest.raises(ValueError, match="rank"):
        decompose(net, rank=0)


# ---- quantisation ----


def test_training_with_rounding_of_layers(tmp_path):
    net = net_of()
    quanter = paddleslim.QAT({"activation_preprocess_type": "PACT"})
    quanter.quantize(net)
    optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    x = paddle.rand([4, 1, 8, 8])
    for _ in range(3):
        (net(x) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    net.eval()
    quanter.save_quantized_model(net, str(tmp_path / "net"), [static.InputSpec([None, 1, 8, 8])])
    found = paddle.jit.load(str(tmp_path / "net"))(x)
    assert float((found - net(x)).abs().max()) < 0.05 * float(net(x).abs().max())
    with pytest.raises(ValueError, match="bits"):
        paddleslim.QAT({"bits": 8})


def test_rounding_after_training(tmp_path):
    from paddleslim.quant import quant_post_dynamic, quant_post_static

    net = net_of()
    net.eval()
    x = np.random.RandomState(0).rand(8, 1, 8, 8).astype("float32")
    paddle.jit.save(net, str(tmp_path / "float" / "model"), [static.InputSpec([None, 1, 8, 8], "float32", "x")])
    wanted = net(paddle.to_tensor(x)).numpy()
    out = str(tmp_path / "static")
    quant_post_static(static.Executor(), str(tmp_path / "float"), out, data_loader=[[x]], algo="abs_max")
    found = paddle.jit.load(out + "/model")(paddle.to_tensor(x)).numpy()
    assert 1e-6 < np.abs(found - wanted).max() < 0.05 * np.abs(wanted).max()
    out = str(tmp_path / "dynamic")
    quant_post_dynamic(str(tmp_path / "float"), out, "model.pdmodel", "model.pdiparams")
    found = paddle.jit.load(out + "/model")(paddle.to_tensor(x)).numpy()
    assert 1e-6 < np.abs(found - wanted).max() < 0.05 * np.abs(wanted).max()


def test_embeddings_as_integers():
    main, startup, scope = static.Program(), static.Program(), static.global_scope().new_scope()
    with static.program_guard(main, startup):
        words = static.data("words", [None, 3], "int64")
        table = nn.Embedding(50, 8)
        y = table(words)
    executor, ids = static.Executor(), np.arange(30).reshape(10, 3)
    with static.scope_guard(scope):
        executor.run(startup)
        (wanted,) = executor.run(main, feed={"words": ids}, fetch_list=[y])
        made = paddleslim.quant.quant_embedding(main, None, None, scope)
        (found,) = executor.run(made, feed={"words": ids}, fetch_list=[y.name])
        assert scope.find_var(table.weight.name).numpy().dtype == np.int8
    step = np.abs(wanted).max(-1, keepdims=True) / 127
    assert (np.abs(found - wanted) <= 0.51 * step).all()
    with pytest.raises(ValueError, match="no embedding"):
        paddleslim.quant.quant_embedding(static.Program(), None)
    with pytest.raises(NotImplementedError, match="log"):
        paddleslim.quant.quant_embedding(main, None, {"quantize_type": "log"})


# ---- measurements ----


@pytest.mark.parametrize(  # published multiply-additions of convolutions and linear layers at 224 x 224
    "name, wanted, parameters", [("resnet18", 1_814_073_344, 11_689_512), ("mobilenet_v2", 300_774_272, 3_504_872)]
)
def test_operations_of_known_networks(name, wanted, parameters):
    net = getattr(models, name)()
    assert flops(net, [1, 3, 224, 224]) == wanted
    assert sum(p.size for p in net.parameters() if not p.stop_gradient) == parameters


def test_operations_in_detail():
    net = net_of(4)
    total, detail = flops(net, [1, 1, 8, 8], detail=True)
    assert total == sum(detail.values()) == 36 * 4 * (9 + 1) + 36 * 4 * (4 + 1) + 144 * 5
    assert detail[net[0].weight.name] == 36 * 4 * 10
    assert dygraph_flops(net, [1, 1, 8, 8]) == total + 36 * 4 * 3
    main = static.Program()
    with static.program_guard(main):
        y = net(static.data("x", [None, 1, 8, 8]))
    assert flops(main) == total and y.shape[1] == 5 and model_size(net) == model_size(main)
    with pytest.raises(ValueError, match="inputs"):
        flops(net)
    with pytest.raises(TypeError, match="Layer or a Program"):
        flops(3)


def test_a_report_compares_before_and_after():
    net = net_of()
    before = copy.deepcopy(net)
    L1NormFilterPruner(net, [1, 1, 8, 8]).prune_vars({net[0].weight.name: 0.5}, 0)
    made = report(before, net, [1, 1, 8, 8], evaluate=lambda m: 0.5 if m is net else 0.75, runs=3)
    assert (made.before.parameters, made.after.parameters) == (model_size(before), model_size(net))
    assert made.after.flops < made.before.flops and made.before.latency > 0
    assert (made.before.accuracy, made.after.accuracy) == (0.75, 0.5)
    lines = str(made).splitlines()
    assert lines[0].split() == ["before", "after", "share"] and lines[-1].split() == ["accuracy", "0.7500", "0.5000"]
    assert latency(net, [1, 1, 8, 8], runs=3) > 0
    with pytest.raises(TypeError, match="before"):
        report(3, net, [1, 1, 8, 8])
