"""The same servers as actors of Ray."""

import time

import numpy as np
import pytest

from paddle.distributed.ps import Client, Ray

from _launched import REGRESSION, finish, launch, logs, wait_for

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.mark.slow
def test_a_job_learns_the_same_over_both_transports(tmp_path):
    found = []
    for kind in ("", "ray"):
        folder = tmp_path / (kind or "tcp")
        folder.mkdir()
        (folder / "script.py").write_text(REGRESSION)
        flags = ("--server_num", "2", "--trainer_num", "2")
        code, out, err = finish(launch(folder, "script.py", "40", flags=flags, PADDLE_XLA_PS=kind))
        assert code == 0, err + logs(folder)
        assert (folder / "server.0").exists() == (kind == "")
        found.append(out.split()[-1])
    assert found[0] == found[1] and float(found[0]) < 1


@pytest.mark.slow
def test_actors(tmp_path):
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error", namespace="paddle-xla")
    try:
        client = Client(Ray("job", 2, 1, 0), 2)
        client.hello()
        client.create([dict(name="t", width=1, initializer=("constant", 0.0), update=("sgd", {}))])
        ids = np.array([5, 10**15, 5, 7])
        client.push({"t": (ids, np.ones((4, 1), "float32"))}, {}, lr=1.0)
        assert client.pull({"t": ids})["t"].ravel().tolist() == [-2, -1, -2, -1]
        client.save(str(tmp_path / "saved"))
        with pytest.raises(RuntimeError, match="no table 'other'"):
            client.pull({"other": ids})
        ray.kill(client.transport._actors[1])
        with pytest.raises(RuntimeError, match="parameter server 1 .actor job/server/1 of Ray. has ended"):
            for _ in range(10):
                client.pull({"t": ids})

        # with snapshots Ray starts it again
        client = Client(Ray("other", 1, 1, 0, str(tmp_path / "snapshots"), 0.1), 1)
        client.create([dict(name="t", width=1, initializer=("constant", 0.0), update=("sgd", {}))])
        client.push({"t": (ids, np.ones((4, 1), "float32"))}, {}, lr=1.0)
        file = tmp_path / "snapshots" / "other" / "server.0" / "tables.json"
        for _ in range(2):  # one that began before the push may end after it
            then = time.time_ns()
            assert wait_for(lambda: file.exists() and file.stat().st_mtime_ns > then)
        ray.kill(client.transport._actors[0], no_restart=False)
        assert client.pull({"t": ids})["t"].ravel().tolist() == [-2, -1, -2, -1]
        client.leave()
        assert not file.exists()
    finally:
        ray.shutdown()
