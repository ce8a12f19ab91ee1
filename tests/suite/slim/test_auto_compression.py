"""Compression of saved models: folder in, folder out."""

import os

import numpy as np
import pytest

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.static import InputSpec
from paddle.vision.datasets import MNIST, digits_path
from paddleslim.auto_compression import AutoCompression, ChannelPrune, TrainConfig, analysis_prune, load_config


class Digits(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2D(1, 16, 3, stride=2, padding=1), nn.BatchNorm2D(16)
        self.conv2, self.bn2 = nn.Conv2D(16, 32, 3, stride=2, padding=1), nn.BatchNorm2D(32)
        self.hidden, self.out = nn.Linear(32 * 49, 48), nn.Linear(48, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.out(F.relu(self.hidden(x.flatten(1))))


def digits(mode):
    data = MNIST(*digits_path(mode), mode=mode)
    pictures, labels = zip(*(data[i] for i in range(len(data))))
    x = np.stack([np.asarray(p, "float32").reshape(1, 28, 28) for p in pictures]) / 127.5 - 1
    return x, np.array([int(np.asarray(y).item()) for y in labels])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """(folder of a trained model, training pictures, test pictures, labels, its accuracy)"""
    x, y = digits("train")
    test_x, test_y = digits("test")
    paddle.seed(3)
    net = Digits()
    rate = paddle.optimizer.lr.CosineAnnealingDecay(0.004, 8 * 22)
    optimizer = paddle.optimizer.Adam(rate, parameters=net.parameters())
    for epoch in range(8):
        order = np.random.RandomState(epoch).permutation(len(x))
        for i in range(22):
            pick = order[64 * i : 64 * i + 64]
            F.cross_entropy(net(paddle.to_tensor(x[pick])), paddle.to_tensor(y[pick])).backward()
            optimizer.step()
            optimizer.clear_grad()
            rate.step()
    net.eval()
    folder = str(tmp_path_factory.mktemp("models") / "float")
    paddle.jit.save(net, folder + "/inference", [InputSpec([None, 1, 28, 28], "float32", "x")])
    accuracy = float((net(paddle.to_tensor(test_x)).numpy().argmax(1) == test_y).mean())
    assert accuracy > 0.93
    return folder, x, test_x, test_y, accuracy


def size(folder):
    return sum(os.path.getsize(os.path.join(folder, n)) for n in os.listdir(folder))


def compressed(model, tmp_path, config, batches=22, **options):
    """(accuracy of the files that were written, their size as a share, the object)"""
    folder, x, test_x, test_y, _ = model

    def loader():
        for i in range(batches):
            yield [x[64 * i : 64 * i + 64]]

    def evaluate(executor, program, feeds, fetches):
        (found,) = executor.run(program, feed={feeds[0]: test_x}, fetch_list=fetches)
        return float((found.argmax(1) == test_y).mean())

    before = {n: os.path.getmtime(os.path.join(folder, n)) for n in os.listdir(folder)}
    out = str(tmp_path / "small")
    made = AutoCompression(
        model_dir=folder, train_dataloader=loader, save_dir=out, config=config, eval_callback=evaluate, **options
    )
    made.compress()
    assert {n: os.path.getmtime(os.path.join(folder, n)) for n in os.listdir(folder)} == before
    net = paddle.jit.load(out + "/model")
    accuracy = float((net(paddle.to_tensor(test_x)).numpy().argmax(1) == test_y).mean())
    assert accuracy == pytest.approx(made.final_metric, abs=0.006)
    return accuracy, size(out) / size(folder), made


ADAM = {"optimizer": {"type": "Adam"}}


def train(**changes):
    return {"epochs": 1, "learning_rate": 0.001, "optimizer_builder": ADAM, **changes}


def test_after_training(model, tmp_path):
    accuracy, share, _ = compressed(model, tmp_path, {"QuantPost": {"batch_nums": 4}})
    assert accuracy > model[4] - 0.02 and share < 0.4


@pytest.mark.slow
def test_several_settings_after_training(model, tmp_path):
    search = {"ptq_algo": ["avg", "hist"], "max_quant_count": 2}
    accuracy, share, _ = compressed(model, tmp_path, {"QuantPost": None, "HyperParameterOptimization": search}, 3)
    assert accuracy > model[4] - 0.02 and share < 0.4


def test_training_with_rounding(model, tmp_path):
    losses = []
    config = {"QuantAware": {}, "Distillation": {"loss": "soft_label"}, "TrainConfig": train()}
    accuracy, share, _ = compressed(model, tmp_path, config, train_callback=lambda i, loss: losses.append((i, loss)))
    assert accuracy > model[4] - 0.02 and share < 0.5
    assert [i for i, _ in losses] == list(range(22)) and all(np.isfinite(x) for _, x in losses)


def test_channels_then_rounding(model, tmp_path):
    rate = {"type": "CosineAnnealingDecay", "learning_rate": 0.01, "T_max": 4 * 22}
    clip = {"type": "ClipGradByGlobalNorm", "clip_norm": 5.0}
    config = {
        "ChannelPrune": {"pruned_ratio": 0.4, "criterion": "geometry_median"},
        "QuantAware": {},
        "Distillation": {"loss": "soft_label"},
        "TrainConfig": train(epochs=4, learning_rate=rate, optimizer_builder={**ADAM, "grad_clip": clip}),
    }
    accuracy, share, _ = compressed(model, tmp_path, config)
    assert accuracy > model[4] - 0.1 and share < 0.35
    net = paddle.jit.load(str(tmp_path / "small/model"))
    assert sorted(p.shape[0] for p in net.state_dict().values() if p.ndim == 4) == [10, 19]


@pytest.mark.parametrize(
    "section, zeros",
    [
        ({"UnstructurePrune": {"ratio": 0.6, "prune_params_type": None}}, 0.6),
        ({"UnstructurePrune": {"prune_mode": "threshold", "threshold": 0.02, "prune_params_type": None}}, None),
        ({"ASPPrune": None}, 0.5),
    ],
)
def test_sparsity(model, tmp_path, section, zeros):
    accuracy, _, _ = compressed(model, tmp_path, {**section, "TrainConfig": train()})
    net = paddle.jit.load(str(tmp_path / "small/model"))
    weights = [p.numpy() for p in net.parameters() if p.ndim > 1 and p.shape[0] > 1]
    if "ASPPrune" in section:
        weights = [w for w in weights if w.ndim == 2 or w.shape[1] % 4 == 0]
    share = np.mean(np.concatenate([(w == 0).ravel() for w in weights]))
    assert accuracy > model[4] - 0.1
    assert share == pytest.approx(zeros, abs=0.02) if zeros else all(np.abs(w[w != 0]).min() >= 0.02 for w in weights)


@pytest.mark.slow
def test_features_between_linear_layers(model, tmp_path):
    compressed(model, tmp_path, {"TransformerPrune": {"pruned_ratio": 0.5}, "TrainConfig": train(train_iter=3)})
    net = paddle.jit.load(str(tmp_path / "small/model"))
    assert sorted(p.shape for p in net.parameters() if p.ndim == 2) == [[24, 10], [1568, 24]]


def test_speedup_counts_operations(model, tmp_path):
    folder, x, *_ = model
    made = AutoCompression(
        model_dir=folder, train_dataloader=[[x[:8]]], save_dir=str(tmp_path / "out"), target_speedup=2.0
    )
    made.train_config = TrainConfig(train_iter=1, learning_rate=1e-4)
    made.compress()
    net, before = (paddle.jit.load(p) for p in (str(tmp_path / "out/model"), folder + "/inference"))
    from paddleslim.analysis import flops

    assert flops(net, [1, 1, 28, 28]) / flops(before, [1, 1, 28, 28]) == pytest.approx(0.5, abs=0.08)


def test_inner_nodes_and_another_teacher(model, tmp_path):
    folder = model[0]
    program = paddle.jit.load(folder + "/inference").program()
    nodes = [o.outputs[0].name for o in program.block.operators if o.name == "relu"]
    config = {
        "Distillation": {
            "node": [nodes[:1], nodes[1:]], "loss": ["l2", "soft_label"], "alpha": [1.0, 0.5],
            "teacher_model_dir": folder,
        },
        "TrainConfig": train(train_iter=2),
    }  # fmt: skip
    compressed(model, tmp_path, config)


def test_target_metric_ends_training(model, tmp_path):
    steps = []
    config = {"Distillation": {}, "TrainConfig": train(epochs=9, eval_iter=3, target_metric=0.1)}
    compressed(model, tmp_path, config, train_callback=lambda i, loss: steps.append(i))
    assert steps == [0, 1, 2]


def test_a_yaml_file_is_read_without_executing_it(model, tmp_path):
    yaml = pytest.importorskip("yaml")
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"Global": {"reader": 1}, "QuantPost": {"batch_nums": 2}}))
    _, share, _ = compressed(model, tmp_path, str(path))
    assert share < 0.4
    path.write_text("QuantPost: !!python/object/apply:os.mkdir ['" + str(tmp_path / "made") + "']")
    with pytest.raises(ValueError, match="no YAML"):
        load_config(str(path))
    assert not (tmp_path / "made").exists()


def test_sensitivity_of_a_saved_model(model, tmp_path):
    folder, _, test_x, test_y, _ = model

    def evaluate(executor, program, feeds, fetches):
        (found,) = executor.run(program, feed={feeds[0]: test_x[:100]}, fetch_list=fetches)
        return float((found.argmax(1) == test_y[:100]).mean())

    file = str(tmp_path / "found.json")
    found = analysis_prune(evaluate, folder, None, None, file, [0.2, 0.9])
    assert len(found) == 2 and all(x[0.9] > x[0.2] for x in found.values())
    ratios = analysis_prune(evaluate, folder, None, None, file, [0.2, 0.9], target_loss=0.2)
    assert all(0 < r < 0.9 for r in ratios.values())


@pytest.mark.parametrize(
    "changes, error, word",
    [
        ({"model_dir": "nowhere"}, ValueError, "nowhere"),
        ({"strategy": "magic"}, ValueError, "magic"),
        ({"quant_config": {"quantise": []}}, ValueError, "quantise"),
        ({"quant_config": {"quantize_op_types": ["pool"]}}, ValueError, "pool"),
        ({"strategy": None, "config": {"Magic": {}}}, ValueError, "Magic"),
        ({"strategy": None, "config": {"QuantAware": {"bits": 8}}}, ValueError, "bits"),
        ({"strategy": None, "config": {"ChannelPrune": {}}}, ValueError, "pruned_ratio"),
        ({"strategy": None, "config": {"QuantPost": {}}}, ValueError, "train_dataloader"),
        ({"strategy": None, "config": 3}, TypeError, "config"),
        ({"strategy": None, "config": {"MultiTeacherDistillation": {}}}, NotImplementedError, "MultiTeacher"),
        ({"strategy": None, "config": "missing.yaml"}, ValueError, "missing.yaml"),
        ({"save_dir": None}, ValueError, "save_dir"),
        ({"input_shapes": {"y": [1, 1, 28, 28]}}, ValueError, "'y'"),
        ({"target_speedup": 0.5}, ValueError, "target_speedup"),
    ],
)
def test_wrong_arguments(model, tmp_path, monkeypatch, changes, error, word):
    monkeypatch.chdir(tmp_path)
    arguments = {"model_dir": model[0], "save_dir": "out", "strategy": "basic", **changes}
    if arguments["save_dir"] is None:
        arguments["save_dir"] = model[0]
    with pytest.raises(error, match=word):
        AutoCompression(**arguments).compress()
    assert not os.path.exists("out")


@pytest.mark.parametrize(
    "config, word",
    [
        ({"ChannelPrune": ChannelPrune(0.5, ["nothing"])}, "nothing"),
        ({"Distillation": {"loss": "magic"}}, "magic"),
        ({"Distillation": {"node": ["nothing"]}}, "nothing"),
        ({"Distillation": {}, "TrainConfig": {"optimizer_builder": {"optimizer": {"type": "Magic"}}}}, "Magic"),
        ({"UnstructurePrune": {"prune_strategy": "magic"}}, "magic"),
        ({"ASPPrune": {"prune_params_name": ["nothing"]}}, "nothing"),
    ],
)
def test_wrong_sections_write_nothing(model, tmp_path, config, word):
    out = tmp_path / "out"
    made = AutoCompression(model_dir=model[0], train_dataloader=[[model[1][:8]]], save_dir=str(out), config=config)
    with pytest.raises(ValueError, match=word):
        made.compress()
    assert not out.exists()


def test_data_that_does_not_fit_is_named(model, tmp_path):
    for batches, word in (([[]], "holds 0 arrays"), ([{"y": 1}], "lacks the input 'x'"), ([], "no batches")):
        made = AutoCompression(
            model_dir=model[0], train_dataloader=batches, save_dir=str(tmp_path / "out"), config={"Distillation": {}}
        )
        with pytest.raises(ValueError, match=word):
            made.compress()


def test_open_lengths_become_fixed(model, tmp_path):
    out = str(tmp_path / "out")
    AutoCompression(model_dir=model[0], save_dir=out, strategy="basic", input_shapes={"x": [2, 1, 28, 28]}).compress()
    net = paddle.jit.load(out + "/model")
    assert net(paddle.to_tensor(model[2][:2])).shape == [2, 10]
