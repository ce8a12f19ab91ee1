import io
import os
import sys

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.callbacks import Callback, EarlyStopping, LRScheduler, ModelCheckpoint, ProgBarLogger, ReduceLROnPlateau
from paddle.hapi.callbacks import CallbackList, config_callbacks
from paddle.hapi.progressbar import ProgressBar


def prepared():
    m = paddle.Model(nn.Linear(2, 2))
    m.prepare(paddle.optimizer.SGD(1.0, parameters=m.parameters()), nn.CrossEntropyLoss())
    return m


def begun(callback):
    m = prepared()
    callback.set_model(m)
    callback.set_params({})
    callback.on_train_begin()
    return m


def rates(values, monitor="acc", **k):
    c = ReduceLROnPlateau(monitor, factor=0.5, verbose=0, **k)
    m = begun(c)
    out = []
    for v in values:
        c.on_eval_end({monitor: v})
        out.append(round(m._optimizer.get_lr(), 6))
    return out


def test_reduced_rates():
    # what the official callback shows as the optimizer's rate; there the training goes on with the old one
    flat = [0.5] * 6
    assert rates(flat, patience=1) == [1, 0.5, 0.25, 0.125, 0.0625, 0.03125]
    assert rates([[v] for v in flat], "loss", patience=1, cooldown=2) == [1, 0.5, 0.5, 0.25, 0.25, 0.125]
    assert rates(flat, patience=2, cooldown=2) == [1, 1, 0.5, 0.5, 0.5, 0.25]
    assert rates(flat, patience=1, min_lr=0.2) == [1, 0.5, 0.25, 0.2, 0.2, 0.2]
    assert rates([0.5, 0.6, 0.6, 0.7, 0.65, 0.6, 0.5], patience=2) == [1, 1, 1, 1, 1, 0.5, 0.5]
    assert rates([0.5, 0.6, 0.6, 0.7, 0.65, 0.6, 0.5], "loss", patience=2) == [1, 1, 0.5, 0.5, 0.25, 0.25, 0.125]
    with pytest.raises(ValueError):
        ReduceLROnPlateau(factor=1.0)
    with pytest.warns(UserWarning, match="unknown"):
        ReduceLROnPlateau(mode="zz")
    c = ReduceLROnPlateau("loss")
    m = begun(c)
    with pytest.warns(UserWarning, match="Monitor of ReduceLROnPlateau"):
        c.on_eval_end({})
    m._optimizer.set_lr_scheduler(paddle.optimizer.lr.StepDecay(0.1, 1))
    with pytest.warns(UserWarning, match="StepDecay"):
        c.on_eval_end({"loss": [1.0]})


def test_the_reduced_rate_is_trained_with(capsys):
    m = prepared()
    data = paddle.io.TensorDataset([paddle.ones([2, 2]), paddle.to_tensor([[0], [1]])])
    m._optimizer.set_lr(1e-9)
    m.fit(data, data, batch_size=2, epochs=3, verbose=0, callbacks=ReduceLROnPlateau("loss", factor=0.5, patience=1))
    # official text
    assert capsys.readouterr().out == (
        "\nEpoch 2: ReduceLROnPlateau reducing learning rate to 5e-10.\n"
        "\nEpoch 3: ReduceLROnPlateau reducing learning rate to 2.5e-10.\n"
    )
    before = m.network.weight.numpy()
    m._optimizer.set_lr(0.0)
    m.train_batch([np.ones((2, 2), "float32")], [np.zeros((2, 1), "int64")])
    assert np.array_equal(before, m.network.weight.numpy())


def stops(values, monitor="acc", **k):
    c = EarlyStopping(monitor, verbose=0, **k)
    m = begun(c)
    out = []
    for v in values:
        c.on_eval_end({monitor: v})
        out.append((m.stop_training, c.wait_epoch, c.best_value))
    return out.index(next(o for o in out if o[0])), out[-1][1:]


def test_early_stopping():
    rising = [0.5, 0.52, 0.6, 0.61, 0.58, 0.55, 0.54]
    falling = [[v] for v in (0.5, 0.48, 0.4, 0.39, 0.41, 0.42, 0.45)]
    # official values
    assert stops(rising, patience=1) == (4, (3, 0.61)) and stops(falling, "loss", patience=1) == (4, (3, 0.39))
    assert stops(rising, patience=2) == (5, (3, 0.61))
    assert stops(rising, patience=2, min_delta=0.05) == (4, (4, 0.6))
    assert stops(rising, patience=1, baseline=0.55) == (0, (3, 0.61))
    assert stops(rising, patience=2, mode="min") == (2, (6, 0.5))
    assert stops(falling, "loss", patience=2, mode="max") == (2, (6, 0.5))
    # as documented; officially patience=0 stops at the first improvement
    assert stops(rising, patience=0)[0] == 4
    with pytest.warns(UserWarning, match="unknown"):
        EarlyStopping(mode="zz")
    c = EarlyStopping("nothing")
    begun(c)
    with pytest.warns(UserWarning, match="Monitor of EarlyStopping"):
        c.on_eval_end({"loss": [1.0]})


def test_early_stopping_saves_the_best(tmp_path, capsys):
    m = prepared()
    m._optimizer.set_lr(0.0)
    data = paddle.io.TensorDataset([paddle.ones([2, 2]), paddle.to_tensor([[0], [1]])])
    m.fit(data, data, epochs=9, verbose=0, save_dir=str(tmp_path), callbacks=[EarlyStopping(patience=1)])
    out = capsys.readouterr().out
    assert f"Epoch 2: Early stopping.\nBest checkpoint has been saved at {tmp_path}/best_model\n" in out
    assert "best_model.pdparams" in os.listdir(tmp_path) and "2.pdparams" not in os.listdir(tmp_path)
    with pytest.warns(UserWarning, match="needs validation data"):
        m.fit(data, epochs=1, verbose=0, callbacks=[EarlyStopping()])


def test_schedules_and_checkpoints(tmp_path, capsys):
    data = paddle.io.TensorDataset([paddle.ones([4, 2]), paddle.zeros([4, 1], "int64")])
    for callback, steps in ((None, 6), (LRScheduler(by_step=False, by_epoch=True), 3), (LRScheduler(False, False), 0)):
        m = prepared()
        m._optimizer.set_lr_scheduler(schedule := paddle.optimizer.lr.StepDecay(0.1, 1, 0.5))
        m.fit(data, batch_size=2, epochs=3, verbose=0, callbacks=callback)
        assert schedule.last_epoch == steps
    with pytest.raises(ValueError):
        LRScheduler(True, True)
    m = prepared()
    m.fit(data, epochs=4, verbose=0, save_dir=str(tmp_path / "x"), callbacks=ModelCheckpoint(3, str(tmp_path / "y")))
    assert sorted(os.listdir(tmp_path)) == ["y"]  # the given one instead of that of save_dir
    assert sorted(os.listdir(tmp_path / "y")) == ["0.pdparams", "3.pdparams", "final.pdparams"]
    with pytest.raises(ValueError):
        ModelCheckpoint(0)


def test_which_callbacks_there_are():
    kinds = lambda **k: [type(c).__name__ for c in config_callbacks(**k)]
    assert kinds(verbose=2) == ["ProgBarLogger", "ModelCheckpoint", "LRScheduler"]
    assert kinds(verbose=0, mode="test") == ["ModelCheckpoint", "LRScheduler"]
    given = [Callback(), ProgBarLogger(), LRScheduler(), ModelCheckpoint()]
    assert config_callbacks(given, verbose=2).callbacks == given
    with pytest.raises(ValueError):
        CallbackList([]).on_begin("other")


def test_visual_log(tmp_path):
    m = paddle.Model(nn.Linear(2, 2))
    m.prepare(paddle.optimizer.SGD(0.1, m.parameters()), nn.CrossEntropyLoss(), paddle.metric.Accuracy((1, 2)))
    data = paddle.io.TensorDataset([paddle.rand([6, 2]), paddle.zeros([6, 1], "int64")])
    m.fit(data, data, batch_size=2, epochs=2, verbose=0, callbacks=paddle.callbacks.VisualDL(str(tmp_path)))
    r = paddle.visual_log.LogReader(tmp_path)
    kinds = ("loss", "acc_top1", "acc_top2")
    assert set(r.get_tags()["scalar"]) == {f"{mode}/{kind}" for mode in ("train", "eval") for kind in kinds}
    curve = r.get_data("scalar", "train/loss")
    assert [c.id for c in curve] == [1, 2, 3, 4, 5, 6] and curve[-1].value < curve[0].value
    assert [c.id for c in r.get_data("scalar", "eval/acc_top1")] == [1, 2]
    m.evaluate(data, verbose=0, callbacks=paddle.callbacks.VisualDL(str(tmp_path / "alone")))
    assert len(paddle.visual_log.LogReader(tmp_path / "alone").get_data("scalar", "eval/loss")) == 1


def test_wandb_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ImportError, match="pip install wandb"):
        paddle.callbacks.WandbCallback(project="p")

    class Run:
        sent = []

        def log(self, values):
            self.sent.append(values)

        def finish(self):
            self.sent.append("finished")

    class Wandb:
        run = None

        @staticmethod
        def init(**arguments):
            Run.sent.append(arguments)
            return Run()

    monkeypatch.setitem(sys.modules, "wandb", Wandb)
    data = paddle.io.TensorDataset([paddle.ones([2, 2]), paddle.zeros([2, 1], "int64")])
    prepared().fit(data, data, batch_size=2, verbose=0, callbacks=paddle.callbacks.WandbCallback("p", tags=["a"]))
    assert Run.sent[0] == {"project": "p", "tags": ["a"]} and Run.sent[-1] == "finished"
    assert set(Run.sent[1]) == {"train/loss", "train/step"} and set(Run.sent[2]) == {"eval/loss", "eval/epoch"}


def test_progress_bar(capsys):
    # official lines
    bar = ProgressBar(5, verbose=2)
    values = [
        ("x", 1e-3),
        ("y", -1e-4),
        ("q", 12345.678),
        ("n", float("nan")),
        ("s", "str"),
        ("l", [1e-5, 2]),
        ("i", 7),
    ]
    bar.update(4, values)
    line = capsys.readouterr().out
    assert line.startswith(
        "step 4/5 - x: 1.0000e-03 - y: -1.0000e-04 - q: 12345.6780 - n: nan - s: str - l: 1.0000e-05 2 - i: 7 - "
    )
    ProgressBar(None, verbose=2).update(3, [])
    assert capsys.readouterr().out.startswith("step   3 - ")
    for passed, text in (
        (1, "step  1/50 [..............................] - ETA: 49s - 1s/step"),
        (61, "step  1/50 [..............................] - ETA: 49:49 - 61s/step"),
        (3700, "step  1/50 [..............................] - ETA: 50:21:40 - 3700s/step"),
    ):
        bar = ProgressBar(50, verbose=1)
        bar._start -= passed
        bar.update(1, [])
        assert capsys.readouterr().out == "\r" + text
        bar.update(25, [])
        out = capsys.readouterr().out
        assert out.startswith("\b" * len(text) + "\rstep 25/50 [==============>...............] - ETA: ")
    bar = ProgressBar(3, verbose=1)
    bar.update(2, [("loss", 0.5)])
    assert "[===================>..........] - loss: 0.5000 - ETA: 0s - " in capsys.readouterr().out
    bar.update(3, [])
    assert "[==============================] - " in (out := capsys.readouterr().out) and out.endswith(" \n")
    with pytest.raises(TypeError):
        ProgressBar(0)


def test_a_bar_on_a_terminal(monkeypatch):
    """With tqdm where standard output is a terminal, else (or without tqdm) the official bar."""
    pytest.importorskip("tqdm")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def shown(num, steps):
        out = Terminal()
        monkeypatch.setattr(sys, "stdout", out)
        bar = ProgressBar(num, verbose=1)
        for i in steps:
            bar.update(i, [("loss", [0.25]), ("acc", 0.5)])
        bar.close()
        monkeypatch.undo()
        return out.getvalue()

    text = shown(4, (1, 4))
    assert (
        "step 1/4 " in text
        and "step 4/4 " in text
        and "loss: 0.2500 - acc: 0.5000" in text
        and ("█" in text or "#" in text)
    )
    assert text.endswith("\n") and "[===" not in text
    assert "step 3, loss: 0.2500" in shown(None, (3,))
    monkeypatch.setitem(sys.modules, "tqdm", None)
    out = Terminal()
    with monkeypatch.context() as m:
        m.setattr(sys, "stdout", out)
        ProgressBar(2, verbose=1).update(2, [("loss", 0.25)])
    assert out.getvalue().startswith("\rstep 2/2 [==============================] - loss: 0.2500 - ")
