"""Programs and eager training that use parameter servers, which are in the same process here."""

import json

import numpy as np
import pytest

import paddle
from paddle import nn, static
from paddle.distributed import fleet
from paddle.distributed.fleet.fleet import Fleet
from paddle.distributed.fleet.runtime.parameter_server import ParameterServerRuntime
from paddle.distributed.fleet.utils import DistributedInfer
from paddle.distributed.ps import Local, Server
from paddle.distributed.ps.rows import first_rows


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


class Loaded(Here):
    """Servers in this process that have read a folder."""

    folder = ""

    def _transport(self, servers, worker, workers):
        made = super()._transport(servers, worker, workers)
        for server in made.servers:
            server.load(self.folder)
        return made


def test_inference_with_tables_on_servers(front, program, tmp_path, monkeypatch):
    """Rows that were trained and saved, looked up by a program for inference of another job."""

    def model():
        x = static.data("x", [None, 1], "int64")
        return lookup(x, "table") * static.create_parameter([2], "float32", name="w")

    out = model()
    test = static.default_main_program().clone(for_test=True)
    feed = {"x": np.array([[10**12], [4]])}
    exe, _ = train(front, out.sum(), [feed] * 3)
    (want,) = exe.run(test, feed=feed, fetch_list=[out])
    front.save_persistables(exe, str(tmp_path / "model"))
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.scope_guard(static.Scope()), paddle.utils.unique_name.guard():
        out = model()
        made = Fleet()
        made.init(front._role_maker)
        made._servers = Loaded(front._role_maker, made._user_defined_strategy)
        made._servers.folder = str(tmp_path / "model")
        monkeypatch.setattr(fleet, "fleet", made, raising=False)
        infer = DistributedInfer(main, startup)
        with pytest.raises(RuntimeError, match="first"):
            infer.get_dist_infer_program()
        infer.init_distributed_infer_env(exe, out.sum(), dirname=str(tmp_path / "model"))
        found = [exe.run(infer.get_dist_infer_program(), feed=feed, fetch_list=[out])[0] for _ in range(2)]
        made.stop_worker()
    np.testing.assert_allclose(found, [want, want], rtol=1e-6)
