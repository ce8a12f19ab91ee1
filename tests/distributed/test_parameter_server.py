"""Parameter servers in one process: tables, updates, servers, clients, files."""

import doctest
import importlib
import os
import threading
import time

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.distributed.launch.main import free_ports
from paddle.distributed.ps import TCP, Client, GeoClient, Local, Server, SparseTable, serve
from paddle.distributed.ps.rows import Index, first_rows, initializer_kind, owners
from paddle.distributed.ps.rules import RULES, Update, update_of
from paddle.distributed.ps.server import read_manifest

SGD = ("sgd", {})


def table(**changes):
    spec = dict(name="t", width=2, initializer=("constant", 0.0), update=SGD)
    return SparseTable(**{**spec, **changes})


def ones(n, width=2):
    return np.ones((n, width), np.float32)


# ---- rows ----


def test_index_is_a_dict():
    rng = np.random.RandomState(0)
    index, known = Index(), {}
    for _ in range(40):
        old = rng.choice(list(known), 300) if known else []
        ids = np.unique(np.concatenate([rng.randint(-(2**62), 2**62, 900), np.arange(50) << 10, old]).astype(np.int64))
        found = index.find(ids)
        assert found.tolist() == [known.get(i, -1) for i in ids.tolist()]
        new = ids[found < 0]
        known.update(zip(new.tolist(), index.add(new).tolist()))
    assert index.size == len(known)


def test_first_values_depend_on_seed_and_id_only():
    ids = np.array([5, -1, 2**62, 77])
    for kind in (("uniform", -0.5, 0.5), ("normal", 1.0, 2.0), ("normal", 0.0, 1.0, -1.0, 1.0)):
        rows = first_rows(kind, ids, 3, 9)
        assert (rows == np.concatenate([first_rows(kind, ids[i : i + 1], 3, 9) for i in range(4)])).all()
        assert (rows != first_rows(kind, ids, 3, 10)).any()
    many = np.arange(20000)
    u = first_rows(("uniform", -1.0, 3.0), many, 4, 0)
    assert abs(u.mean() - 1) < 0.02 and abs(u.std() - 4 / 12**0.5) < 0.02 and u.min() >= -1 and u.max() <= 3
    n = first_rows(("normal", 1.0, 2.0), many, 4, 0)
    assert abs(n.mean() - 1) < 0.03 and abs(n.std() - 2) < 0.03
    assert abs(np.corrcoef(n.T) - np.eye(4)).max() < 0.03
    cut = first_rows(("normal", 0.0, 1.0, -1.0, 1.0), many, 4, 0)
    assert abs(cut).max() <= 1 and abs(cut.std() - 0.54) < 0.02
    split = np.bincount(owners(many, 3))
    assert split.min() > 6400 and split.sum() == 20000


def test_initializers():
    init = nn.initializer
    assert initializer_kind(init.Uniform(-2.0, 1.0), (9, 2), "t") == ("uniform", -2.0, 1.0)
    assert initializer_kind(init.Constant(3.0), (9, 2), "t") == ("constant", 3.0)
    name, low, high = initializer_kind(init.XavierUniform(), (10, 2), "t")
    assert name == "uniform" and high == -low == pytest.approx((6 / 12) ** 0.5)
    with pytest.raises(NotImplementedError, match="KaimingNormal"):
        initializer_kind(init.KaimingNormal(), (9, 2), "t")


# ---- updates ----


@pytest.mark.parametrize(
    "make",
    [
        lambda p: paddle.optimizer.SGD(0.1, parameters=p),
        lambda p: paddle.optimizer.SGD(0.1, parameters=p, weight_decay=0.2),
        lambda p: paddle.optimizer.SGD(0.1, parameters=p, weight_decay=paddle.regularizer.L1Decay(0.2)),
        lambda p: paddle.optimizer.Momentum(0.1, 0.8, parameters=p),
        lambda p: paddle.optimizer.Momentum(0.1, 0.8, parameters=p, use_nesterov=True),
        lambda p: paddle.optimizer.Adagrad(0.1, parameters=p, initial_accumulator_value=0.3),
        lambda p: paddle.optimizer.Adam(0.1, 0.7, 0.9, 1e-3, parameters=p),
        lambda p: paddle.optimizer.AdamW(0.1, parameters=p, weight_decay=0.3),
    ],
)
def test_updates_are_those_of_the_optimizers(make):
    attr = paddle.ParamAttr(learning_rate=0.5, initializer=nn.initializer.Normal())
    p = paddle.create_parameter([3, 4], "float32", attr=attr)
    optimizer = make([p])
    update = Update(*update_of(optimizer, p, "test"))
    rows = p.numpy().copy()
    states = update.states(3, 4)
    rng = np.random.RandomState(0)
    for _ in range(4):
        g = rng.randn(3, 4).astype("float32")
        (p * paddle.to_tensor(g)).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        update.apply(rows, states, g, optimizer.get_lr())
        np.testing.assert_allclose(rows, p.numpy(), rtol=1e-5, atol=1e-6)


def test_unknown_optimizers():
    p = paddle.create_parameter([2, 2], "float32")
    with pytest.raises(NotImplementedError, match="Lamb.*there are SGD"):
        update_of(paddle.optimizer.Lamb(0.1, parameters=[p]), p, "minimize")
    with pytest.raises(NotImplementedError, match="amsgrad"):
        update_of(paddle.optimizer.Adam(0.1, parameters=[p], amsgrad=True), p, "minimize")
    assert set(RULES) == {"sum", "sgd", "momentum", "adagrad", "adam", "adamw"}


# ---- tables ----


def test_rows_come_with_the_first_push():
    t = table(initializer=("uniform", -1.0, 1.0), seed=3)
    ids = np.arange(5000) * 97
    start = t.pull(ids)
    assert t.size == 0 and np.unique(start[:, 0]).size == 5000
    t.push(ids[::2], ones(2500), 0.5)  # the arrays grow
    assert t.size == 2500
    after = t.pull(ids)
    assert (after[1::2] == start[1::2]).all() and np.allclose(after[::2], start[::2] - 0.5)
    assert (t.pull(ids, create=True) == after).all() and t.size == 5000


def test_adam_in_rows_that_are_seen_at_different_times():
    numbers = dict(beta1=0.9, beta2=0.99, epsilon=1e-8)
    t = table(update=("adam", numbers))
    t.push(np.array([1]), ones(1), 0.1)
    t.push(np.array([1, 2]), ones(2), 0.1)
    np.testing.assert_allclose(t.pull(np.array([1, 2]))[:, 0], [-0.2, -0.1], rtol=1e-5)  # a first step is a first step


def test_entry_by_count():
    t = table(entry=("count", 3), initializer=("constant", 7.0))
    ids = np.array([4])
    t.push(ids, ones(1), 1.0, counts=np.array([2.0], "f4"))
    assert t.pull(ids).tolist() == [[0, 0]] and t.pull(np.array([5])).tolist() == [[0, 0]]
    t.push(ids, ones(1), 1.0)  # the third time: it has its first value and takes this gradient
    assert t.pull(ids).tolist() == [[6, 6]]


def test_entry_by_probability():
    t = table(entry=("probability", 0.1), initializer=("constant", 1.0))
    ids = np.arange(10000)
    shares = []
    for _ in range(3):
        t.push(ids, 0 * ones(10000), 1.0)
        shares.append(t.pull(ids)[:, 0].mean())
    np.testing.assert_allclose(shares, [0.1, 0.19, 0.271], atol=0.015)


def test_shrink():
    t = table(entry=("show_click",), initializer=("constant", 1.0))
    ids = np.array([1, 2, 3])
    t.push(ids, ones(3), 0.5, shows=np.array([1.0, 20, 2]), clicks=np.array([0.0, 0, 1]))
    assert t.shrink() == 1  # scores 0.098, 1.96, 1.078
    assert t.size == 2 and t.pull(np.array([2, 3]))[:, 0].tolist() == [0.5, 0.5] and t.index.find(ids).min() == -1
    plain = table()
    plain.push(ids, ones(3), 1.0)
    assert plain.shrink(1) == 0
    plain.push(ids[:1], ones(1), 1.0)
    assert plain.shrink(1) == 2 and plain.pull(ids)[:, 0].tolist() == [-2, 0, 0]
    assert plain.shrink() == 0  # without a threshold nothing is too old


# ---- servers and clients ----


def local(servers=1, workers=1, worker=0, **options):
    made = [Server(i, servers, workers, timeout=20.0) for i in range(servers)]
    return Client(Local(made), servers, worker, workers, **options)


def test_several_servers_are_one():
    rng = np.random.RandomState(0)
    spec = dict(
        name="t",
        width=2,
        initializer=("uniform", -1.0, 1.0),
        update=("adagrad", dict(epsilon=1e-6, initial_accumulator_value=0.0)),
    )
    one, three = local(1), local(3)
    found = []
    for client in (one, three):
        client.create([spec, {**spec, "name": "u"}], {"w": (ones(2), SGD), "v": (ones(1), SGD)})
    batches = [rng.randint(-50, 50, 200) for _ in range(5)]
    for client in (one, three):
        draw = np.random.RandomState(1)
        for ids in batches:
            client.pull_all({"t": ids, "u": ids})
            g = draw.randn(200, 2).astype("f4")
            client.push({"t": (ids, g), "u": (ids, g)}, {"w": ones(2), "v": ones(1)}, 0.1)
        rows, dense = client.pull_all({"t": batches[0]})
        found.append((rows["t"], dense["w"]))
        assert client.messages == client.servers * (1 + 2 * 5 + 1)  # one for each server and batch
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    assert (found[0][1] == found[1][1]).all() and np.allclose(found[0][1], 0.5)
    about = three.statistics()
    assert sum(a["sparse"]["t"]["rows"] for a in about) == one.statistics()[0]["sparse"]["t"]["rows"]
    assert sorted(len(a["dense"]) for a in about) == [0, 1, 1]


def test_repeated_ids_add_up():
    client = local(2)
    client.create([dict(name="t", width=2, initializer=("constant", 0.0), update=SGD)])
    ids = np.array([3, 9, 3, 3])
    client.push({"t": (ids, np.arange(8, dtype="f4").reshape(4, 2))}, {}, 1.0)
    assert client.pull({"t": np.array([3, 9])})["t"].tolist() == [[-10, -13], [-2, -3]]
    assert client.pull({"t": np.array([], np.int64)})["t"].shape == (0, 2)
    client.push({"t": (ids[:0], ones(0))}, {}, 1.0)


def test_dense_parameters_keep_double_precision():
    client = local()
    client.create([], {"w": (np.full(2, 1 / 3), SGD), "h": (np.ones(2, "f2"), SGD)})
    client.push({}, {"w": np.full(2, 1 / 7), "h": np.ones(2, "f2")}, 1.0)
    dense = client.pull_all({})[1]
    assert (dense["w"] == 1 / 3 - 1 / 7).all() and dense["h"].dtype == np.float32


def test_dense_parameters_travel_when_they_have_changed():
    client = local()
    client.create([], {"w": (ones(2), SGD)})
    server = client.transport.servers[0]
    sent = []
    original = server.pull
    server.pull = lambda *args: sent.append(original(*args)) or sent[-1]
    for _ in range(2):
        client.pull_all({})
    client.push({}, {"w": ones(2)}, 1.0)
    assert client.pull_all({})[1]["w"].tolist() == [[0, 0], [0, 0]]
    assert [answer[2] is None for answer in sent] == [False, True, False]


def in_threads(*functions):
    errors = []

    def call(f):
        try:
            f()
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=call, args=(f,)) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
        assert not t.is_alive()
    return errors


def test_synchronous_steps_apply_averages():
    """Two workers on halves against one on the whole, also when one has fewer batches."""
    servers = [Server(i, 2, 2, timeout=20.0) for i in range(2)]
    spec = dict(
        name="t", width=2, initializer=("constant", 0.0), update=("adam", dict(beta1=0.9, beta2=0.99, epsilon=1e-8))
    )
    clients = [Client(Local(servers), 2, w, 2, together=True) for w in range(2)]
    data = np.random.RandomState(0).randn(2, 6, 8, 2).astype("f4")
    ids = np.random.RandomState(1).randint(0, 12, (2, 6, 8))

    def worker(w, steps):
        def run():
            if w == 0:
                clients[0].create([spec], {"w": (0 * ones(1), SGD)})
            clients[w].assign({"w": 2})
            clients[w].meet()
            for s in range(steps):
                clients[w].push({"t": (ids[w, s], data[w, s])}, {"w": data[w, s, :1]}, 0.1)
            assert clients[w].meet(w) == [0, 1]

        return run

    assert in_threads(worker(0, 6), worker(1, 4)) == []
    single = local()
    single.create([spec], {"w": (0 * ones(1), SGD)})
    for s in range(6):
        there = range(2) if s < 4 else range(1)
        both = np.concatenate([data[w, s] for w in there]) / len(there)
        dense = np.mean([data[w, s, :1] for w in there], axis=0)
        single.push({"t": (np.concatenate([ids[w, s] for w in there]), both)}, {"w": dense}, 0.1)
    want, got = (c.pull_all({"t": np.arange(12)}) for c in (single, clients[0]))
    np.testing.assert_allclose(got[0]["t"], want[0]["t"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got[1]["w"], want[1]["w"], rtol=1e-5)


def test_a_lost_worker_is_named(monkeypatch):
    monkeypatch.setattr("paddle.distributed.ps.server.GRACE", 0.2)
    server = Server(0, 1, 2, timeout=20.0)
    clients = [Client(Local([server]), 1, w, 2, together=True) for w in range(2)]
    for w, client in enumerate(clients):
        client.hello()
        server.connected(w)
    clients[0].create([], {"w": (ones(1), SGD)})
    server.disconnected(1)
    errors = in_threads(lambda: clients[0].push({}, {"w": ones(1)}, 0.1))
    assert "worker 1 has ended unexpectedly" in str(errors[0])
    errors = in_threads(clients[0].meet)
    assert "worker 1 has ended unexpectedly" in str(errors[0])
    clients[0].leave()
    with pytest.raises(RuntimeError, match="worker 1 has ended without"):
        server.wait(20.0)


def test_a_server_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setenv("PADDLE_XLA_TOKEN", "secret")
    server = Server(0, 1, 1)
    server.pull = lambda *args: time.sleep(5)
    port = free_ports(1, None)[0]
    thread = threading.Thread(target=serve, args=(server, f"127.0.0.1:{port}", 60.0), daemon=True)
    thread.start()
    client = Client(TCP([f"127.0.0.1:{port}"], 0), 1)
    client.hello()
    monkeypatch.setattr("paddle.distributed.ps.transport._limit", lambda: 0.3)
    with pytest.raises(RuntimeError, match=f"parameter server 0 .127.0.0.1:{port}. gave no answer"):
        client.pull({})
    client.leave()
    thread.join(20)
    assert not thread.is_alive()


def test_a_repeated_push_counts_once():
    server = Server()
    server.create([], {"w": (np.zeros(1, "f4"), SGD)})
    for step in (0, 0, 1, 1):
        server.push(0, step, [], {"w": np.ones(1, "f4")}, 1.0, False)
    assert server.dense.values["w"].tolist() == [-2.0]
    with pytest.raises(ValueError, match="no call 'wait'"):
        server.handle(("wait", 1.0))
    with pytest.raises(RuntimeError, match="no table 'x'"):
        server.pull([("x", np.array([1]), False)])


def test_queued_pushes_arrive_and_errors_come_back():
    client = local(queued=4)
    client.create([], {"w": (np.zeros(1, "f4"), SGD)})
    for _ in range(10):
        client.push({}, {"w": np.ones(1, "f4")}, 1.0)
    client.flush()
    assert client.pull_all({})[1]["w"].tolist() == [-10.0]
    client.push({"none": (np.array([1]), ones(1))}, {}, 1.0)
    with pytest.raises(RuntimeError, match="no table 'none'"):
        client.flush()


def test_geo_averages_what_workers_have_learned():
    servers = [Server(i, 2, 2) for i in range(2)]
    spec = dict(name="t", width=2, initializer=("constant", 5.0), update=SGD)
    workers = []
    for w in range(2):
        client = Client(Local(servers), 2, w, 2)
        if w == 0:
            client.create([{**spec, "update": ("sum", {})}], {"w": (np.zeros(2, "f4"), ("sum", {}))})
        client.assign({"w": 2})
        workers.append(GeoClient(client, [spec], 2))
        workers[w].start({"w": np.zeros(2, "f4")})
    a, b = workers
    ids = np.array([1, 2, 1])
    assert (a.pull({"t": ids})["t"] == 5).all() and a.client.messages == 4
    a.push({"t": (ids, ones(3))}, 1.0)
    assert a.pull({"t": np.array([1, 2])})["t"][:, 0].tolist() == [3, 4] and a.client.messages == 4
    assert not a.due() and a.due()
    assert a.exchange({"w": np.array([2.0, 4], "f4")})["w"].tolist() == [1, 2]
    b.pull({"t": np.array([2, 3])})
    b.push({"t": (np.array([2, 3]), ones(2))}, 2.0)
    assert b.exchange({"w": np.zeros(2, "f4")})["w"].tolist() == [1, 2]
    rows = a.client.pull({"t": np.array([1, 2, 3])})["t"][:, 0]
    assert rows.tolist() == [3, 3, 3]  # 5 - 2, 5 - 1 - 2/2 (both change it), 5 - 2
    assert b.pull({"t": np.array([2, 3])})["t"][:, 0].tolist() == [3, 3]


# ---- files ----


def test_tables_are_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    folder = str(tmp_path / "saved")
    spec = dict(
        name="t",
        width=2,
        initializer=("uniform", -1.0, 1.0),
        update=("adagrad", dict(epsilon=1e-6, initial_accumulator_value=0.0)),
        seed=5,
    )
    client = local(3)
    client.create([spec], {"w": (ones(1), SGD), "v": (ones(2), SGD)})
    ids = np.arange(100)
    client.push({"t": (ids[:70], ones(70))}, {"w": ones(1)}, 0.3)
    client.save(folder)
    client.push({"t": (ids, ones(100))}, {"w": ones(1)}, 0.3)

    real = np.savez

    def broken(file, **arrays):
        real(file, **arrays)
        if "dense" in file.name or ".2." in file.name:
            raise OSError("no space left")

    before = sorted(os.listdir(folder))
    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(OSError, match="no space"):
        client.save(folder)
    monkeypatch.undo()
    assert {f for part in read_manifest(folder) for f in part["sparse"].values()} <= set(before)

    other = local(2)  # another number of servers, which know nothing yet
    other.load(folder)
    other.create([spec], {"w": (0 * ones(1), SGD), "v": (0 * ones(2), SGD)})
    assert sum(a["sparse"]["t"]["rows"] for a in other.statistics()) == 70
    other.push({"t": (ids, ones(100))}, {"w": ones(1)}, 0.3)  # goes on as the first did
    for a, b in zip(client.pull_all({"t": ids}), other.pull_all({"t": ids})):
        for name in a:
            np.testing.assert_allclose(a[name], b[name], rtol=1e-6)
    client.save(folder)  # takes the place of the first, and what was broken goes away
    assert len(os.listdir(folder)) == 1 + 3 + 2
    with pytest.raises(ValueError, match="holds no tables"):
        other.load(str(tmp_path))
    wide = local()
    wide.create([{**spec, "width": 3}])
    with pytest.raises(ValueError, match="rows of length 3"):
        wide.load(folder)
    before = other.pull_all({"t": ids})
    kept = [dict(x) for x in before]
    last = sorted(f for f in os.listdir(folder) if ".dense." not in f and f.endswith("npz"))[-1]
    content = (tmp_path / "saved" / last).read_bytes()
    for damaged in (content[: len(content) // 2], content[:200] + b"?" * 64 + content[264:], b""):
        (tmp_path / "saved" / last).write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            other.load(folder)
    for a, b in zip(kept, other.pull_all({"t": ids})):
        assert all((a[name] == b[name]).all() for name in a)
    (tmp_path / "saved" / "tables.json").write_text(
        '{"format": 1, "parts": [{"sparse": {"t": "../x"}, "dense": null}]}'
    )
    with pytest.raises(ValueError, match="holds no tables"):
        other.load(folder)


def test_a_server_goes_on_from_its_snapshot(tmp_path):
    server = Server(1, 2, 1, snapshots=str(tmp_path), period=3600.0)
    spec = dict(name="t", width=2, initializer=("constant", 1.0), update=SGD)
    server.create([spec], {"w": (np.ones(2, "f4"), SGD)})
    mine = np.arange(40)[owners(np.arange(40), 2) == 1]
    manifest = tmp_path / "server.1" / "tables.json"
    for _ in range(400):  # the first one is made at once
        if manifest.exists():
            break
        time.sleep(0.05)
    server.push(0, 0, [("t", mine, ones(len(mine)), None, None, None)], {"w": np.ones(2, "f4")}, 0.5, False)
    server.snapshot("v1")
    server.push(0, 1, [("t", mine, ones(len(mine)), None, None, None)], {}, 0.5, False)  # lost
    again = Server(1, 2, 1, snapshots=str(tmp_path), period=3600.0)
    assert (again.tables["t"].pull(mine) == 0.5).all() and again.dense.values["w"].tolist() == [0.5, 0.5]
    again.push(0, 1, [], {"w": np.ones(2, "f4")}, 0.5, False)
    assert again.dense.values["w"].tolist() == [0, 0]


@pytest.mark.parametrize(
    "name",
    """ps.rows ps.tables ps.client rpc.agent entry_attr fleet.metrics.metric fleet.dataset.dataset
    fleet.data_generator.data_generator""".split(),
)
def test_examples(name):
    module = importlib.import_module(f"paddle.distributed.{name}")
    found = doctest.testmod(module, extraglobs={"paddle": paddle})
    assert found.attempted and not found.failed


def test_batches_that_do_not_fit_change_nothing():
    servers = [Server(i, 2, 1) for i in range(2)]
    client = Client(Local(servers), 2)
    client.create([dict(name="t", width=2, initializer=("constant", 0.5), update=SGD)])
    ids = np.arange(4)
    for wrong in (np.array(3), ids.reshape(2, 2), ids.astype("float32"), np.array(["a"])):
        with pytest.raises(ValueError, match="one row of integers"):
            client.pull({"t": wrong})
    for gradients in (ones(3), ones(4, 3), ones(4)[0]):
        with pytest.raises(ValueError, match="expected|a row for each"):
            client.push({"t": (ids, gradients)}, {}, 0.1)
    ends = np.array([2**63 - 1, -(2**63), -1])
    client.push({"t": (ends, ones(3))}, {}, 0.5)
    client.push({"t": (ends[:0], ones(0))}, {}, 0.5)
    assert client.pull({"t": np.concatenate([ids, ends])})["t"].tolist() == [[0.5, 0.5]] * 4 + [[0.0, 0.0]] * 3
    assert client.pull({"t": ids[:0]})["t"].shape == (0, 2)
