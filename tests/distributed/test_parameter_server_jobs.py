"""Jobs with parameter servers in processes of their own: what happens when one is killed."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.distributed.launch import arguments, main
from paddle.distributed.launch.main import free_ports
from paddle.distributed.launch.pod import Pod

from _launched import REGRESSION, alive, environment, finish, launch, logs, wait_for


def steps(folder, rank):
    file = folder / f"step.{rank}"
    return int(file.read_text() or 0) if file.exists() else -1


def test_a_killed_server_is_named_and_nothing_is_left(tmp_path):
    """Without a launcher, which would end the others anyway."""
    (tmp_path / "script.py").write_text(REGRESSION)
    ports = free_ports(2, None)
    common = dict(
        PADDLE_PSERVERS_IP_PORT_LIST=",".join(f"127.0.0.1:{p}" for p in ports),
        PADDLE_TRAINERS_NUM="1",
        PADDLE_XLA_TOKEN="secret",
    )
    roles = [dict(TRAINING_ROLE="PSERVER", POD_IP="127.0.0.1", PADDLE_PORT=str(p)) for p in ports]
    roles.append(dict(TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="0"))
    command = [sys.executable, "script.py", "100000"]
    started = [
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment(**common, **r),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for r in roles
    ]
    try:
        assert wait_for(lambda: steps(tmp_path, 0) > 3)
        started[1].send_signal(signal.SIGKILL)
        out = started[2].communicate(timeout=30)[0]
        assert started[2].returncode == 1
        assert f"parameter server 1 (127.0.0.1:{ports[1]}) has ended" in out, out
        rest = started[0].communicate(timeout=30)[0]  # the other server misses its only worker
        assert started[0].returncode == 1 and "worker 0 has ended without fleet.stop_worker()" in rest
    finally:
        for p in started:
            p.kill()
            p.communicate()


def test_a_killed_server_ends_the_job(tmp_path):
    (tmp_path / "script.py").write_text(REGRESSION)
    process = launch(tmp_path, "script.py", "100000", flags=("--server_num", "2", "--trainer_num", "1"))
    assert wait_for(lambda: steps(tmp_path, 0) > 3)
    pids = [int((tmp_path / name).read_text()) for name in ("server.0", "server.1", "worker.0")]
    os.kill(pids[1], signal.SIGKILL)
    code, _, err = finish(process, 60)
    assert code == 128 + 9 and "server 1 failed with signal 9" in err
    assert not any(alive(pid) for pid in pids)


def test_a_killed_server_goes_on_from_its_snapshot(tmp_path):
    (tmp_path / "script.py").write_text(REGRESSION)
    flags = ("--server_num", "2", "--trainer_num", "2", "--max_restart", "1")
    more = dict(PADDLE_XLA_PS_SNAPSHOTS=str(tmp_path / "snapshots"), PADDLE_XLA_PS_SNAPSHOT_SECONDS="0.2")
    process = launch(tmp_path, "script.py", "150", flags=flags, **more)
    assert wait_for(lambda: steps(tmp_path, 0) > 30)
    first = (tmp_path / "server.1").read_text()
    os.kill(int(first), signal.SIGKILL)
    code, out, err = finish(process)
    assert code == 0, err + logs(tmp_path)
    assert "server 1 failed with signal 9; it starts again from its last snapshot" in err
    assert float(out.split()[-1]) < 0.05 and (tmp_path / "server.1").read_text() != first
    for name in ("server.0", "server.1", "worker.0", "worker.1"):
        assert not alive(int((tmp_path / name).read_text()))


def test_a_killed_worker_ends_the_job(tmp_path):
    (tmp_path / "script.py").write_text(REGRESSION)
    process = launch(tmp_path, "script.py", "100000", flags=("--server_num", "1", "--trainer_num", "2"))
    assert wait_for(lambda: min(steps(tmp_path, 0), steps(tmp_path, 1)) > 3)
    pids = [int((tmp_path / name).read_text()) for name in ("server.0", "worker.0", "worker.1")]
    os.kill(pids[2], signal.SIGKILL)
    code, _, err = finish(process, 60)
    assert code == 128 + 9 and "trainer 1 failed with signal 9" in err
    assert not any(alive(pid) for pid in pids)


EAGER = """
import sys
import numpy as np
import paddle, paddle.distributed.fleet as fleet
from paddle import nn

strategy = fleet.DistributedStrategy()
strategy.a_sync = False
fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False), strategy=strategy)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit()
half = nn.initializer.Constant(0.5)
table = nn.Embedding(30, 4, sparse=True, weight_attr=paddle.ParamAttr(initializer=half))
out = nn.Linear(4, 1)  # worker 0 gives the values
out.weight.set_value(paddle.full([4, 1], 0.1 + fleet.worker_index()))
model = nn.Sequential(table, out)
optimizer = fleet.distributed_optimizer(paddle.optimizer.Adagrad(0.1, parameters=model.parameters()))
model = fleet.distributed_model(model)
fleet.init_worker()
ids = np.load("ids.npy")
for batch in ids:
    own = batch[fleet.worker_index() :: fleet.worker_num()]
    ((model(paddle.to_tensor(own)).sum(1) - 1) ** 2).mean().backward()
    optimizer.step()
    optimizer.clear_grad()
fleet.barrier_worker()
if fleet.is_first_worker():
    with paddle.no_grad():
        np.save("found.npy", model(paddle.arange(30)).numpy())
fleet.stop_worker()
"""


@pytest.mark.slow
def test_eager_training_of_two_workers(tmp_path):
    (tmp_path / "script.py").write_text(EAGER)
    ids = np.random.RandomState(0).randint(0, 30, (8, 6, 3))
    np.save(tmp_path / "ids.npy", ids)
    code, _, err = finish(launch(tmp_path, "script.py", flags=("--server_num", "2", "--worker_num", "2")))
    assert code == 0, err + logs(tmp_path)
    half = paddle.ParamAttr(initializer=nn.initializer.Constant(0.5))
    model = nn.Sequential(nn.Embedding(30, 4, weight_attr=half), nn.Linear(4, 1))
    model[1].weight.set_value(paddle.full([4, 1], 0.1))
    optimizer = paddle.optimizer.Adagrad(0.1, parameters=model.parameters())
    for batch in ids:
        ((model(paddle.to_tensor(batch)).sum(1) - 1) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    np.testing.assert_allclose(np.load(tmp_path / "found.npy"), model(paddle.arange(30)).numpy(), rtol=1e-4)


def test_a_launcher_starts_what_is_on_its_machine(monkeypatch, tmp_path):
    monkeypatch.delenv("PADDLE_XLA_TOKEN", raising=False)
    monkeypatch.setattr(main, "is_local", lambda host: host == "10.0.0.2")
    lists = ("--servers", "10.0.0.1:5,10.0.0.2:6", "--trainers", "10.0.0.1:7,10.0.0.2:8,10.0.0.2:9")
    controller = main.Controller(arguments.parse([*lists, "--log_dir", str(tmp_path), "x.py"]))
    found = controller.containers()
    assert [c.what for c in found] == ["server 1", "trainer 1", "trainer 2"] and controller.elsewhere
    assert all("PADDLE_XLA_TOKEN" not in c.environment for c in found)
    assert found[1].environment["PADDLE_TRAINERS_NUM"] == "3" and found[0].environment["PADDLE_PORT"] == "6"
    pod = Pod([], False)
    pod.elsewhere = True
    assert pod.done()
    monkeypatch.setattr(main, "is_local", lambda host: False)
    with pytest.raises(RuntimeError, match="none of the endpoints"):
        controller.containers()
    controller.store.close()
