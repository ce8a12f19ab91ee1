import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.static import InputSpec

OFFICIAL = json.loads((Path(__file__).parent / "official.json").read_text())  # runs of the official package
rng = np.random.RandomState(7)
X, Y = rng.randn(12, 4).astype("float32"), rng.randint(0, 3, (12, 1))
W = [rng.randn(4, 5), rng.randn(5), rng.randn(5, 3), rng.randn(3)]
SAY = "The loss value printed in the log is the current step, and the metric is the average value of previous steps."


class Data(paddle.io.Dataset):
    def __getitem__(self, i):
        return X[i], Y[i]

    def __len__(self):
        return 12


class Stream(paddle.io.IterableDataset):
    def __iter__(self):
        for i in range(7):
            yield X[i], Y[i]


def network():
    net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
    for p, w in zip(net.parameters(), W):
        p.set_value(w.astype("float32"))
    return net


def model(optimizer="Adam", lr=0.05, metrics=True, spec=False, **k):
    specs = ([InputSpec([None, 4], "float32", "x")], [InputSpec([None, 1], "int64", "y")]) if spec else ()
    m = paddle.Model(network(), *specs)
    optimizer = getattr(paddle.optimizer, optimizer)(learning_rate=lr, parameters=m.parameters())
    m.prepare(optimizer, nn.CrossEntropyLoss(), paddle.metric.Accuracy(topk=(1, 2)) if metrics else None, **k)
    return m


class Recorder(paddle.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.log = []

    def on_train_batch_end(self, step, logs=None):
        self.log.append(["t", step, logs["loss"][0], logs["acc_top1"], logs["acc_top2"]])

    def on_eval_end(self, logs=None):
        self.log.append(["e", logs["loss"][0], logs["acc_top1"]])


RUNS = {
    "plain": lambda: (model(), dict(epochs=2)),
    "eval": lambda: (model(), dict(eval_data=Data(), epochs=3, eval_freq=2)),
    "accumulate": lambda: (model("SGD", 0.1), dict(epochs=2, accumulate_grad_batches=2)),
    "schedule": lambda: (model("Momentum", paddle.optimizer.lr.StepDecay(0.1, 2, 0.5)), dict(epochs=2)),
    "iterations": lambda: (model(), dict(num_iters=4, epochs=9)),
    "stop": lambda: (
        model("SGD", 1e-6),
        dict(
            eval_data=Data(),
            epochs=9,
            callbacks=[paddle.callbacks.EarlyStopping("acc_top1", patience=2, verbose=0)],
        ),
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_fit_follows_the_official_package(name):
    m, options = RUNS[name]()
    recorder = Recorder()
    options["callbacks"] = [recorder, *options.get("callbacks", [])]
    m.fit(Data(), batch_size=5, shuffle=False, verbose=0, **options)
    *steps, bias = OFFICIAL[name]
    assert [s[:2] if s[0] == "t" else s[:1] for s in recorder.log] == [s[:2] if s[0] == "t" else s[:1] for s in steps]
    for got, want in zip(recorder.log, steps):
        np.testing.assert_allclose(got[1:], want[1:], rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(m.network[2].bias.numpy(), bias, rtol=2e-5, atol=2e-6)


def test_batches():
    m = model("SGD", 0.1)
    losses, metrics = m.train_batch([X], [Y])
    assert losses[0].shape == () and losses[0].dtype == np.float32 and len(metrics[0]) == 2
    assert m.mode == "train" and m.network.training
    weight = m.network[0].weight.numpy()
    again = m.train_batch(X, Y, update=False)[0][0]  # without lists
    assert again < losses[0] and np.array_equal(weight, m.network[0].weight.numpy())
    first = m.network[0].weight.grad.numpy().copy()
    m.train_batch(paddle.to_tensor(X), paddle.to_tensor(Y), update=False)
    np.testing.assert_allclose(m.network[0].weight.grad.numpy(), 2 * first, rtol=1e-5)
    loss, _ = m.eval_batch([X], [Y])
    assert loss[0] == again and m.mode == "eval" and not m.network.training
    (out,) = m.predict_batch([X])
    np.testing.assert_allclose(out, m.network(paddle.to_tensor(X)).numpy(), rtol=1e-6)
    assert m.mode == "test"
    plain = model(metrics=False)
    assert isinstance(plain.train_batch([X], [Y]), list) and isinstance(plain.eval_batch([X], [Y]), list)


def test_evaluate_and_predict():
    m = model()
    e = m.evaluate(Data(), batch_size=5, verbose=0)
    out = m.network(paddle.to_tensor(X)).numpy()
    assert list(e) == ["loss", "acc_top1", "acc_top2"]
    assert e["acc_top1"] == (out.argmax(1) == Y[:, 0]).mean()
    last = nn.functional.cross_entropy(paddle.to_tensor(out[10:]), paddle.to_tensor(Y[10:]))
    np.testing.assert_allclose(e["loss"], [float(last)], rtol=1e-5)  # of the last batch, as officially
    parts = m.predict(Data(), batch_size=5, verbose=0)
    assert [p.shape for p in parts[0]] == [(5, 3), (5, 3), (2, 3)]
    (whole,) = m.predict(Data(), batch_size=5, stack_outputs=True, verbose=0)
    np.testing.assert_allclose(whole, out, rtol=1e-5)
    assert len(m.evaluate(Data(), num_iters=1, batch_size=4, verbose=0)) == 3
    only = paddle.Model(network())
    only.prepare(metrics=paddle.metric.Accuracy())
    assert list(only.evaluate(Data(), batch_size=5, verbose=0)) == ["acc"]


class Two(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x, z):
        return self.a(x) + self.b(z), self.b(z)


class Quads(paddle.io.Dataset):
    def __getitem__(self, i):
        return X[i], -X[i], Y[i], Y[i]

    def __len__(self):
        return 12


@pytest.mark.parametrize("spec", [False, True])
def test_several_inputs_outputs_labels_and_losses(spec, capsys):
    specs = ([InputSpec([None, 4])] * 2, [InputSpec([None, 1], "int64")] * 2) if spec else ()
    m = paddle.Model(Two(), *specs)
    cross = nn.functional.cross_entropy
    m.prepare(paddle.optimizer.SGD(0.1, m.parameters()), lambda p, q, s, t: [cross(p, s), cross(q, t)])
    m.fit(Quads(), batch_size=6, verbose=2)
    assert capsys.readouterr().out.splitlines()[2].startswith("step 2/2 - loss: ")
    assert len(m.evaluate(Quads(), batch_size=6, verbose=0)["loss"]) == 2
    assert [[p.shape for p in o] for o in m.predict(Quads(), batch_size=6, verbose=0)] == [[(6, 3)] * 2] * 2
    p, q = m.network(paddle.to_tensor(X), paddle.to_tensor(-X))
    total = cross(p, paddle.to_tensor(Y)) + cross(q, paddle.to_tensor(Y))
    before = m.network.b.weight.numpy()
    (gradient,) = paddle.grad(total, m.network.b.weight)
    m.train_batch([X, -X], [Y, Y])
    np.testing.assert_allclose(m.network.b.weight.numpy(), before - 0.1 * gradient.numpy(), rtol=1e-4, atol=1e-6)


class Masked(nn.Linear):
    def forward(self, x, mask=None):
        return super().forward(x if mask is None else x * mask)


def test_optional_arguments_of_forward_are_no_labels():
    m = paddle.Model(Masked(4, 3))
    m.prepare(paddle.optimizer.SGD(0.1, m.parameters()), nn.CrossEntropyLoss())
    m.fit(Data(), batch_size=6, verbose=0)
    out = m.predict([[X, np.zeros_like(X)]], verbose=0)[0][0]
    np.testing.assert_allclose(out, np.broadcast_to(m.network.bias.numpy(), (12, 3)))


def test_streams_and_other_data(capsys):
    m = model(metrics=False)
    m.fit(Stream(), Stream(), batch_size=2, epochs=1, verbose=2, log_freq=3)
    out = capsys.readouterr().out
    assert [l.split(" - ")[0] for l in out.splitlines() if l.startswith("step")] == ["step   3", "step   4"] * 2
    assert "Eval samples: 7" in out
    assert m.predict(paddle.io.DataLoader(Stream(), batch_size=3), verbose=0)[0][2].shape == (1, 3)
    before = m.network[0].weight.numpy()
    m.fit(Stream(), batch_size=2, verbose=0, accumulate_grad_batches=9)  # the end of a stream comes as a surprise
    assert not np.array_equal(before, m.network[0].weight.numpy())
    m.fit([(X, Y)] * 2, verbose=0)
    m.fit([[paddle.to_tensor(X), paddle.to_tensor(Y)]], verbose=0, epochs=2)


def test_order_of_callbacks():
    log = []

    class Says(paddle.callbacks.Callback):
        def __getattribute__(self, name):
            if name.startswith("on_"):
                return lambda *args: log.append((name[3:], *[a for a in args if isinstance(a, int)]))
            return object.__getattribute__(self, name)

    m = model()
    m.fit(Data(), Data(), batch_size=12, epochs=2, verbose=0, callbacks=Says())
    one = ["train_batch_begin", "train_batch_end", "epoch_end", "eval_begin", "eval_batch_begin", "eval_batch_end"]
    assert [l[0] for l in log] == ["train_begin"] + ["epoch_begin", *one, "eval_end"] * 2 + ["train_end"]
    log.clear()
    m.predict(Data(), batch_size=12, verbose=0, callbacks=[Says()])
    assert [l[0] for l in log] == ["predict_begin", "predict_batch_begin", "predict_batch_end", "predict_end"]


def test_mixed_precision():
    for configs in ("O1", "O2", {"level": "O1", "init_loss_scaling": 128.0, "custom_white_list": {"relu"}}):
        m = model("SGD", 0.1, amp_configs=configs)
        low = m.network[0].weight.dtype
        losses = [float(m.train_batch([X], [Y])[0][0]) for _ in range(8)]
        assert losses[-1] < 0.7 * losses[0]
        assert low == (paddle.float16 if configs == "O2" else paddle.float32)
    plain = model("SGD", 0.1)
    loss = float(plain.train_batch([X], [Y])[0][0])
    np.testing.assert_allclose(losses[0], loss, rtol=1e-2)
    for wrong in ("O4", {"level": "O3"}, {"zzz": 1}, {"level": "O1", "use_fp16_guard": True}):
        with pytest.raises(ValueError):
            model(amp_configs=wrong)


def test_saving(tmp_path):
    m = model(spec=True)
    m.fit(Data(), batch_size=6, verbose=0)
    path = str(tmp_path / "new" / "a")
    m.save(path)
    assert sorted(os.listdir(tmp_path / "new")) == ["a.pdopt", "a.pdparams"]
    assert set(paddle.load(path + ".pdparams")) == set(m.network.state_dict())
    saved = {k: v.numpy() for k, v in m.network.state_dict().items()}
    states = {k: np.asarray(v) for k, v in m._optimizer.state_dict().items()}
    later = [float(m.train_batch([X], [Y])[0][0]) for _ in range(3)]
    for given in (path, path + ".pdparams"):
        m.load(given)
        for k, v in m.network.state_dict().items():
            assert np.array_equal(v.numpy(), saved[k])
        for k, v in m._optimizer.state_dict().items():
            np.testing.assert_array_equal(np.asarray(v), states[k])
        assert [float(m.train_batch([X], [Y])[0][0]) for _ in range(3)] == later
    sgd = model("SGD")
    sgd.save(str(tmp_path / "sgd" / "a"))
    assert os.listdir(tmp_path / "sgd") == ["a.pdparams"]  # there is no state
    with pytest.raises(ValueError, match="zzz.pdparams"):
        m.load(str(tmp_path / "zzz"))
    for wrong in ("", str(tmp_path) + "/"):
        with pytest.raises(ValueError):
            m.save(wrong)


def test_loading_what_does_not_fit(tmp_path):
    model().save(str(tmp_path / "a"))
    other = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(5, 3), nn.Linear(2, 2))
    before = other[0].weight.numpy()
    m = paddle.Model(other)
    with pytest.raises(ValueError, match=r"0.weight receives a shape \[4, 5\], but the expected shape is \[4, 6\]"):
        m.load(str(tmp_path / "a"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        m.load(str(tmp_path / "a"), skip_mismatch=True)
    assert len([w for w in said if "Skip loading for" in str(w.message)]) == 4
    assert np.array_equal(other[0].weight.numpy(), before)
    np.testing.assert_array_equal(other[2].weight.numpy(), W[2].astype("float32"))


def test_inference_files(tmp_path):
    for i, m in enumerate((model(spec=True), model())):
        path = str(tmp_path / f"inference{i}")
        if i:
            with pytest.raises(RuntimeError, match="inputs"):
                m.save(path, training=False)
            m.train_batch([X], [Y])
        m.network.train()
        m.save(path, training=False)
        assert m.network.training
        out = paddle.jit.load(path)(paddle.to_tensor(X[:3])).numpy()
        np.testing.assert_allclose(out, m.predict_batch([X[:3]])[0], rtol=1e-5)


def test_checkpoints_and_printed_lines(tmp_path, capsys):
    m = model()
    m.fit(Data(), Data(), batch_size=4, epochs=2, verbose=2, log_freq=2, save_dir=str(tmp_path / "ck"))
    out = capsys.readouterr().out.splitlines()
    heads = [l.split(" - ")[0] for l in out]
    steps = ["step 2/3", "step 3/3"]
    save = [f"save checkpoint at {tmp_path}/ck/{n}" for n in (0, 1, "final")]
    evaluation = ["Eval begin...", *steps, "Eval samples: 12"]
    first = [SAY.split(" - ")[0], "Epoch 1/2", *steps, save[0], *evaluation]
    assert heads == [*first, "Epoch 2/2", *steps, save[1], *evaluation, save[2]]
    parts = out[2].split(" - ")
    assert [p.split(":")[0] for p in parts[1:-1]] == ["loss", "acc_top1", "acc_top2"] and parts[-1].endswith("s/step")
    assert sorted(os.listdir(tmp_path / "ck")) == sorted(
        f"{n}.{end}" for n in (0, 1, "final") for end in ("pdopt", "pdparams")
    )
    m.predict(Data(), batch_size=6, verbose=1)
    out = capsys.readouterr().out
    assert out.startswith("Predict begin...\n\rstep 2/2 [==============================] - ")
    assert out.endswith("\nPredict samples: 12\n")
    m.evaluate(Data(), batch_size=6, verbose=3, log_freq=1)
    out = capsys.readouterr().out.splitlines()[1]
    names = [p.split(":")[0] for p in out.split(" - ")]
    assert names[4:7] == ["avg_reader_cost", "avg_batch_cost", "ips"] and " samples/sec - " in out


def test_wrong_arguments():
    m = model()
    for call, error in (
        (lambda: paddle.Model(3), TypeError),
        (lambda: paddle.Model(nn.Linear(2, 2), inputs=3), TypeError),
        (lambda: m.prepare(loss=3), TypeError),
        (lambda: m.prepare("sgd"), TypeError),
        (lambda: m.load(3), TypeError),
        (lambda: model().fit([None], verbose=0), TypeError),
        (lambda: model().fit(Data(), epochs="3"), ValueError),
        (lambda: model().fit(Data(), callbacks=[paddle.callbacks.VisualDL]), TypeError),
        (lambda: m.prepare(metrics=[3]), TypeError),
        (lambda: m.prepare(amp_configs=3), TypeError),
        (lambda: model().fit(3), TypeError),
        (lambda: model().fit(), ValueError),
        (lambda: model().fit(Data(), num_iters=0), ValueError),
        (lambda: model().fit(Data(), accumulate_grad_batches=0), ValueError),
        (lambda: model().fit(Data(), batch_size=0), ValueError),
        (lambda: model().fit(Data(), batch_size=[1, 2, 3]), ValueError),
        (lambda: model().fit(Data(), callbacks=[3]), TypeError),
        (lambda: model().evaluate(Data(), num_iters=-1), ValueError),
        (lambda: paddle.Model(network()).fit(Data()), RuntimeError),
        (lambda: paddle.Model(network()).evaluate(Data()), RuntimeError),
        (lambda: paddle.Model(network()).train_batch([X], [Y]), RuntimeError),
        (lambda: paddle.Model(network()).eval_batch([X], [Y]), RuntimeError),
        (lambda: paddle.Model(network()).summary(), ValueError),
    ):
        with pytest.raises(error):
            call()


def test_a_run_that_fails_leaves_nothing_behind(tmp_path):
    def results(m):
        m.fit(Data(), batch_size=3, shuffle=False, verbose=0)
        return [p.numpy() for p in m.parameters()]

    class Fails(paddle.callbacks.Callback):
        def on_train_batch_end(self, step, logs=None):
            raise KeyboardInterrupt

    want, m = results(model("SGD", 0.1)), model("SGD", 0.1)
    for verbose in (0, 1):
        callbacks = [paddle.callbacks.VisualDL(str(tmp_path)), Fails()]
        with pytest.raises(KeyboardInterrupt):
            m.fit(Data(), batch_size=3, accumulate_grad_batches=2, verbose=verbose, callbacks=callbacks)
        assert callbacks[0]._writer is None  # closed, with what it had to write
        [record] = paddle.visual_log.LogReader(str(tmp_path)).get_data("scalar", "train/loss")[verbose:]
        assert record.id == 1
    for got, value in zip(results(m), want):  # and the gradients of the batch that no step has used
        np.testing.assert_allclose(got, value, rtol=1e-6)


def test_an_iterator_serves_one_epoch():
    batches = ((X[i : i + 2], Y[i : i + 2]) for i in range(3))
    with pytest.warns(UserWarning, match="no batch in epoch 2; an iterator serves one epoch only"):
        model().fit(batches, epochs=2, verbose=0)


def static_model(amp_configs=None):
    with (
        paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
        paddle.utils.unique_name.guard(),
    ):
        specs = [InputSpec([None, 4], "float32", "x")], [InputSpec([None, 1], "int64", "y")]
        m = paddle.Model(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)), *specs)
        adam = paddle.optimizer.Adam(0.05, parameters=m.parameters())
        m.prepare(adam, nn.CrossEntropyLoss(), paddle.metric.Accuracy(topk=(1, 2)), amp_configs)
    return m


@pytest.mark.parametrize(
    "amp_configs",
    [
        None,
        {"level": "O1", "init_loss_scaling": 128.0},
        {"level": "O2", "init_loss_scaling": 64.0},
        {"dtype": "bfloat16"},
    ],
)
@pytest.mark.parametrize("batches", [1, 2])
def test_static_mode_in_mixed_precision_and_with_added_gradients(amp_configs, batches, tmp_path):
    """The same losses as imperative training in the same precision."""
    dynamic = model(amp_configs=amp_configs)
    model(metrics=False).save(str(tmp_path / "a"))
    logs = []
    for static in (False, True):
        if static:
            paddle.enable_static()
        try:
            m = static_model(amp_configs) if static else dynamic
            if static:
                m.load(str(tmp_path / "a"))
            recorder = Recorder()
            options = dict(batch_size=4, shuffle=False, verbose=0, epochs=3, callbacks=recorder)
            m.fit(Data(), accumulate_grad_batches=batches, **options)
            logs.append([step[2] for step in recorder.log])
        finally:
            paddle.disable_static()
    np.testing.assert_allclose(*logs, rtol=2e-3 if amp_configs is None else 0.02)
    assert len(logs[0]) == 9 and logs[0][3:] != logs[0][:6]


def test_static_mode_skips_steps_that_overflow():
    paddle.enable_static()
    try:
        m = static_model(
            {"level": "O1", "init_loss_scaling": 2.0**40, "decr_every_n_nan_or_inf": 1, "decr_ratio": 2.0**-34}
        )
        weight = m._static.state_dict()["0.weight"]
        for update in (False, True):  # the scale is too high, no step; then it is lowered
            m.train_batch([X], [Y], update=update)
        assert np.array_equal(m._static.state_dict()["0.weight"], weight)
        m.train_batch([X], [Y])
        assert not np.array_equal(m._static.state_dict()["0.weight"], weight)
        for wrong in ({"level": "O3"}, {"zzz": 1}):
            with pytest.raises(ValueError):
                static_model(wrong)
    finally:
        paddle.disable_static()


def test_static_mode(tmp_path):
    dynamic = model("Adam", 0.05)
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            specs = [InputSpec([None, 4], "float32", "x")], [InputSpec([None, 1], "int64", "y")]
            net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
            m = paddle.Model(net, *specs)
            adam = paddle.optimizer.Adam(0.05, parameters=m.parameters())
            m.prepare(adam, nn.CrossEntropyLoss(), paddle.metric.Accuracy(topk=(1, 2)))
            dynamic.save(str(tmp_path / "a"))
            m.load(str(tmp_path / "a"))
            recorder = Recorder()
            m.fit(Data(), batch_size=5, shuffle=False, verbose=0, epochs=2, callbacks=recorder)
            for got, want in zip(recorder.log, OFFICIAL["plain"]):
                np.testing.assert_allclose(got[1:], want[1:], rtol=2e-5, atol=2e-6)
            result = m.evaluate(Data(), batch_size=12, verbose=0)
            (out,) = m.predict(Data(), batch_size=5, stack_outputs=True, verbose=0)
            m.save(str(tmp_path / "b"))
            m.save(str(tmp_path / "inference"), training=False)
            assert m.summary() == {"total_params": 43, "trainable_params": 43}
            with pytest.raises(ValueError):
                paddle.Model(net)
    finally:
        paddle.disable_static()
    dynamic.load(str(tmp_path / "b"), reset_optimizer=True)
    np.testing.assert_allclose(dynamic.network[2].bias.numpy(), OFFICIAL["plain"][-1], rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(dynamic.predict_batch([X])[0], out, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dynamic.evaluate(Data(), batch_size=12, verbose=0)["loss"], result["loss"], rtol=1e-5)
    again = paddle.jit.load(str(tmp_path / "inference"))(paddle.to_tensor(X)).numpy()
    np.testing.assert_allclose(again, out, rtol=1e-5, atol=1e-6)
