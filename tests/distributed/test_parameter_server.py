"""Parameter servers in one process: tables, updates, servers and clients, programs and eager training that use them."""

import doctest
import importlib
import json
import os
import threading
import time

import numpy as np
import pytest

import paddle
from paddle import nn, static
from paddle.distributed import fleet
from paddle.distributed.fleet.fleet import Fleet
from paddle.distributed.fleet.runtime.parameter_server import ParameterServerRuntime
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
    monkeypatch.setattr("paddle.distributed.ps.transport._limit", lambda: 0.3)
    server = Server(0, 1, 1)
    server.pull = lambda *args: time.sleep(2)
    port = free_ports(1, None)[0]
    thread = threading.Thread(target=serve, args=(server, f"127.0.0.1:{port}", 60.0), daemon=True)
    thread.start()
    client = Client(TCP([f"127.0.0.1:{port}"], 0), 1)
    client.hello()
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


# ---- programs ----


class Here(ParameterServerRuntime):
    """Servers in this process."""

    def _transport(self, servers, worker, workers):
        return Local([Server(i, servers, workers, timeout=20.0) for i in range(servers)])


@pytest.fixture
def front():
    """A fleet with two servers."""
    role = fleet.UserDefinedRoleMaker(
        current_id=0, role=fleet.Role.WORKER, worker_num=1, server_endpoints=["127.0.0.1:1", "127.0.0.1:2"]
    )
    made = Fleet()
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    made.init(role, strategy=strategy)
    made._servers = Here(role, made._user_defined_strategy)
    yield made
    made.stop_worker()


@pytest.fixture
def program():
    main, startup = static.Program(), static.Program()
    paddle.enable_static()
    with static.program_guard(main, startup), static.scope_guard(static.Scope()), paddle.utils.unique_name.guard():
        yield main, startup
    paddle.disable_static()


def lookup(x, name, width=2, **options):
    attr = paddle.ParamAttr(name=name, initializer=nn.initializer.Uniform(-1.0, 1.0))
    return static.nn.sparse_embedding(x, [1 << 40, width], param_attr=attr, **options)


def train(front, loss, feeds, optimizer=None, fetch=None):
    optimizer = front.distributed_optimizer(optimizer or paddle.optimizer.SGD(0.1), front._user_defined_strategy)
    optimizer.minimize(loss)
    exe = static.Executor()
    exe.run(static.default_startup_program())
    front.init_worker()
    return exe, [exe.run(feed=f, fetch_list=fetch or [loss]) for f in feeds]


def test_a_program_with_tables_of_any_size(front, program):
    """By hand: rows of huge ids, one table looked up twice, padding, a dense parameter."""
    main, startup = program
    a, b = static.data("a", [None, 3], "int64"), static.data("b", [None, 1], "int64")
    one, two = lookup(a, "big", padding_idx=7), lookup(b, "big")
    weight = static.create_parameter([2], "float32", name="w")
    loss = ((one.sum(1) + two) * weight).sum()
    test = main.clone(for_test=True)
    ids = np.array([[10**15, 7, 2], [2, 2, 10**15]]), np.array([[2], [5]])
    feed = {"a": ids[0], "b": ids[1]}
    exe, out = train(front, loss, [feed] * 2, fetch=[loss, one])
    assert "big" not in main.states and "big" not in startup.states
    runtime = front._servers
    spec = runtime.tables["big"]
    rows = {i: first_rows(spec["initializer"], np.array([i]), 2, spec["seed"])[0] for i in (2, 5, 10**15)}
    w = np.asarray(runtime._first("w"))
    value = {7: np.zeros(2), **rows}
    first = sum(value[i] for i in (*ids[0].ravel(), *ids[1].ravel()))
    for step in range(2):
        np.testing.assert_allclose(out[step][1], np.array([[value[i] for i in r] for r in ids[0]]), rtol=1e-5)
        if step == 0:
            w_first = w + 0.1 * first  # the scope has what the second step read
            np.testing.assert_allclose(out[0][0], (first * w_first).sum(), rtol=1e-4)
            for i, times in ((10**15, 2), (2, 4), (5, 1)):
                value[i] = value[i] - 0.1 * times * w_first
    want = sum(value[i] for i in (*ids[0].ravel(), *ids[1].ravel()))
    np.testing.assert_allclose(out[1][0], (want * w).sum(), rtol=1e-4)
    rows_now = runtime.client.statistics()
    exe.run(test, feed={"a": ids[0] + 50, "b": ids[1]}, fetch_list=[loss])
    assert runtime.client.statistics() == rows_now  # a look makes no rows
    assert sum(s["sparse"]["big"]["rows"] for s in rows_now) == 3


def test_ids_that_the_program_computes(front, program):
    x = static.data("x", [None, 2], "int64")
    first = lookup(x * 3 + 1, "one")
    second = lookup((first.sum(2) * 0).astype("int64") + x, "two")  # known only after the first lookup
    loss = (first * second).sum()
    _, out = train(front, loss, [{"x": np.array([[1, 2]])}] * 3)
    assert out[2][0] < out[1][0] < out[0][0]
    stats = front._servers.client.statistics()
    assert sum(s["sparse"]["one"]["rows"] for s in stats) == sum(s["sparse"]["two"]["rows"] for s in stats) == 2
    names = [o.name for o in static.default_main_program().block.operators]
    assert names.count("pull_rows") == 2 and names.count("push") == 1 and "embedding" not in names


def test_all_tables_in_one_pull(front, program):
    xs = [static.data(f"x{i}", [None, 1], "int64") for i in range(5)]
    loss = sum(lookup(x, f"t{i}").sum() for i, x in enumerate(xs))
    feed = {f"x{i}": np.array([[i], [3]]) for i in range(5)}
    exe, _ = train(front, loss, [feed])
    client = front._servers.client
    before = client.messages
    exe.run(feed=feed, fetch_list=[loss])
    assert client.messages - before == 4  # a pull and a push for each of two servers


def test_embedding_layers_become_tables(front, program):
    x = static.data("x", [None, 2], "int64")
    constant = paddle.ParamAttr(initializer=nn.initializer.Constant(2.0))
    layer = nn.Embedding(50, 3, 7, sparse=True, weight_attr=constant)
    dense = nn.Embedding(50, 3)
    rows = layer(x)
    loss = (rows * dense(x)).sum() + static.nn.embedding(x, [50, 3], is_sparse=True).sum()
    _, out = train(front, loss, [{"x": np.array([[1, 7]])}], fetch=[rows])
    assert out[0][0].tolist() == [[[2, 2, 2], [0, 0, 0]]]
    runtime = front._servers
    assert len(runtime.tables) == 2 and list(runtime.dense) == [dense.weight.name]
    assert runtime.tables[layer.weight.name]["initializer"] == ("constant", 2.0)


def test_what_tables_cannot(front, program):
    optimizer = front.distributed_optimizer(paddle.optimizer.SGD(0.1))
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 2], "int64")
        layer = nn.Embedding(50, 3, sparse=True)
        loss = layer(x).sum() + layer.weight.sum()
        with pytest.raises(NotImplementedError, match="reads the sparse table"):
            optimizer.minimize(loss)
    x = static.data("x", [None, 2], "int64")
    clip = nn.ClipGradByGlobalNorm(1.0)
    with pytest.raises(NotImplementedError, match="grad_clip"):
        front.distributed_optimizer(paddle.optimizer.SGD(0.1, grad_clip=clip)).minimize(lookup(x, "t").sum())
    with static.program_guard(static.Program()), pytest.raises(TypeError, match="are float32, got float64"):
        optimizer.minimize(lookup(static.data("x", [None, 2], "int64"), "t64", dtype="float64").sum())
    with pytest.raises(TypeError, match="entry must be"):
        lookup(x, "t", entry=3)
    with pytest.raises(RuntimeError, match="init_worker"):
        loss = lookup(x, "other").sum()
        optimizer.minimize(loss)
        with pytest.raises(NotImplementedError, match="second loss"):
            optimizer.minimize(loss * 2)
        static.Executor().run(feed={"x": np.array([[1, 2]])})


def test_clipping_and_schedules_of_dense_parameters(front, program):
    """Against the same program in one process."""
    results = []
    for remote in (True, False):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup), static.scope_guard(static.Scope()):
            x = static.data("x", [None, 2])
            w = static.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(1.0), name="cw")
            loss = (x * w).sum()
            rate = paddle.optimizer.lr.StepDecay(0.5, 1, 0.5)
            optimizer = paddle.optimizer.Momentum(rate, 0.9, weight_decay=0.1, grad_clip=nn.ClipGradByGlobalNorm(1.0))
            if remote:
                optimizer = front.distributed_optimizer(optimizer)
            optimizer.minimize(loss)
            exe = static.Executor()
            exe.run(startup)
            if remote:
                front.init_worker()
            losses = []
            for _ in range(4):
                losses.append(exe.run(main, feed={"x": np.array([[3.0, 4.0]], "f4")}, fetch_list=[loss])[0])
                rate.step()
            results.append(losses)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


def test_show_click_entry(front, program):
    x, show, click = (static.data(n, [None, 1], "int64") for n in ("x", "show", "click"))
    loss = lookup(x, "t", entry=paddle.distributed.ShowClickEntry("show", "click")).sum()
    feed = {"x": np.array([[1], [2], [2]]), "show": np.array([[9], [30], [30]]), "click": np.array([[0], [1], [0]])}
    train(front, loss, [feed])
    servers = front._servers.client.transport.servers
    found = {}
    for s in servers:
        c = s.tables["t"].contents()
        found |= dict(zip(c["ids"].tolist(), zip(c["show"].tolist(), c["click"].tolist())))
    assert found == {1: (9, 0), 2: (60, 1)}
    front.shrink(1.0)
    assert [s.tables["t"].size for s in servers].count(0) == 1


def test_entries(program):
    entries = paddle.distributed
    assert entries.CountFilterEntry(10)._to_attr() == "count_filter_entry:10"
    assert entries.ProbabilityEntry(0.5)._to_attr() == "probability_entry:0.5"
    for bad in (1.5, 0.0, "a"):
        with pytest.raises(ValueError):
            entries.ProbabilityEntry(bad)
        with pytest.raises(ValueError):
            entries.CountFilterEntry(-1 if bad == 0.0 else bad)
    with pytest.raises(ValueError):
        entries.ShowClickEntry(1, "click")


def test_saving_and_inference(front, program, tmp_path):
    main, startup = program
    x = static.data("x", [None, 2], "int64")
    rows = static.nn.embedding(x, [20, 4], is_sparse=True, param_attr="table")
    out = static.nn.fc(rows.sum(1), 1)
    loss = (out**2).mean()
    feed = {"x": np.array([[1, 2], [3, 19]])}
    exe, _ = train(front, loss, [feed] * 3, paddle.optimizer.Adam(0.1))
    front.save_persistables(exe, str(tmp_path / "p"))
    want = exe.run(main.clone(for_test=True), feed=feed, fetch_list=[out])[0]
    front.save_inference_model(exe, str(tmp_path / "m"), ["x"], [out])
    with static.scope_guard(static.Scope()):
        model, feeds, fetches = static.load_inference_model(str(tmp_path / "m" / "model"), exe)
        got = exe.run(model, feed=dict(zip(feeds, feed.values())), fetch_list=fetches)[0]
    np.testing.assert_allclose(got, want, rtol=1e-5)
    exe.run(feed=feed)
    front.load_model(str(tmp_path / "p"), 0)
    again = exe.run(main.clone(for_test=True), feed=feed, fetch_list=[out])[0]
    np.testing.assert_allclose(again, want, rtol=1e-6)
    with open(tmp_path / "p" / "tables.json") as f:
        assert json.load(f)["format"] == 1


def test_geo_in_a_program(front, program):
    """One worker that exchanges after every step: plain training, with any optimizer for dense parameters."""
    front._user_defined_strategy.a_sync = True
    front._user_defined_strategy.a_sync_configs = {"k_steps": 1}
    x = static.data("x", [None, 2], "int64")
    out = static.nn.fc(lookup(x, "t").sum(1), 1)
    _, out = train(front, ((out - 1) ** 2).mean(), [{"x": np.array([[1, 2], [3, 4]])}] * 30)
    assert front._servers.mode == "geo" and out[-1][0] < 0.05 * out[0][0]


# ---- eager ----


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        constant = paddle.ParamAttr(initializer=nn.initializer.Constant(0.5))
        self.table = nn.Embedding(30, 4, sparse=True, weight_attr=constant)
        self.out = nn.Linear(4, 1, weight_attr=constant)

    def forward(self, x):
        return self.out(self.table(x).sum(1))


def test_eager_training(front):
    """Against the same training without servers."""
    ids = np.random.RandomState(0).randint(0, 30, (6, 5, 3))
    results = []
    for remote in (True, False):
        model = Model()
        optimizer = paddle.optimizer.Adagrad(0.1, parameters=model.parameters())
        if remote:
            model, optimizer = front.distributed_model(model), front.distributed_optimizer(optimizer)
            front.init_worker()
        losses = []
        for batch in ids:
            loss = ((model(paddle.to_tensor(batch)) - 1) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss.item())
        results.append(losses)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4)
    (table,) = front._servers.tables
    assert sum(s["sparse"][table]["rows"] for s in front._servers.client.statistics()) == len(np.unique(ids))


def test_workers_meet_between_start_and_end():
    role = fleet.UserDefinedRoleMaker(
        current_id=1, role=fleet.Role.WORKER, worker_num=2, server_endpoints=["127.0.0.1:1"]
    )
    made = Fleet()
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    made.init(role, strategy=strategy)
    assert made.util.get_file_shard(list("abc")) == ["c"]
    with pytest.raises(RuntimeError, match="between init_worker"):
        made.barrier_worker()


def test_alone(program):
    """Without servers the same script trains by itself."""
    alone = Fleet()
    alone.init()
    optimizer = alone.distributed_optimizer(paddle.optimizer.SGD(0.1))
    assert type(optimizer) is paddle.optimizer.SGD
    assert alone.init_worker() is None and alone.stop_worker() is None and alone.is_first_worker()


def test_metrics():
    from paddle.distributed.fleet import metrics

    positive, negative = np.array([[0, 1, 3.0]]), np.array([[2, 1, 0.0]])
    util = fleet.UtilBase()
    assert metrics.auc(positive, negative, util=util) == pytest.approx(23 / 24)
    assert metrics.auc(0 * positive, negative, util=util) == 0.5
    assert metrics.acc([3.0], [4.0], util=util) == 0.75 and metrics.rmse([8.0], [2.0], util=util) == 2.0
    assert metrics.max(paddle.to_tensor([1.0, 5.0]), util=util).tolist() == [1, 5]


@pytest.mark.parametrize(
    "name",
    """ps.rows ps.tables ps.client rpc.agent entry_attr fleet.metrics.metric fleet.dataset.dataset
    fleet.data_generator.data_generator""".split(),
)
def test_examples(name):
    module = importlib.import_module(f"paddle.distributed.{name}")
    found = doctest.testmod(module, extraglobs={"paddle": paddle})
    assert found.attempted and not found.failed
