"""Processes of a server that are stopped, killed, replaced, under load."""

import asyncio
import collections
import json
import os
import signal
import threading
import time

import httpx
import numpy as np
import pytest

import paddle

from _servers import Server, digits, rows


class Load:
    """Clients in threads that ask all the time; each request ends as an answer or as the kind of its failure."""

    def __init__(self, server, wanted, count=4, keep=True):
        self.server, self.wanted, self.keep = server, wanted, keep
        self.stopped = threading.Event()
        self.outcomes, self.ids = collections.Counter(), set()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._ask, args=(k,)) for k in range(count)]
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def _ask(self, k):
        client, x = self.server.client(), rows(8)
        n = 0
        while not self.stopped.is_set():
            n += 1
            own, i = f"{k}.{n}", n % 8
            try:
                found = client.post(
                    "/v1/models/digits/predict", content=json.dumps({"inputs": {"image": x[i : i + 1].tolist()}}),
                    headers={"Content-Type": "application/json", "X-Request-ID": own}
                    | ({} if self.keep else {"Connection": "close"}),
                )  # fmt: skip
                outcome = found.status_code
                if outcome == 200:
                    np.testing.assert_allclose(
                        found.json()["outputs"]["fetch_name_0"], self.wanted[i : i + 1], 1e-4, 1e-5
                    )
                with self.lock:
                    self.ids.add(own)
            except httpx.ConnectError:
                outcome = "refused"
            except httpx.TransportError as e:
                outcome = type(e).__name__
                client.close()
                client = self.server.client()
            except AssertionError:
                outcome = "wrong"
            with self.lock:
                self.outcomes[outcome] += 1
            if outcome == "refused":
                time.sleep(0.02)
        client.close()

    def reached(self, count):
        return lambda: self.outcomes[200] >= count

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(60)
        return self.outcomes


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with one model, and what it gives."""
    folder = tmp_path_factory.mktemp("models")
    layer = digits(folder / "digits" / "1", max_batch=4)
    return folder, layer(paddle.to_tensor(rows(8))).numpy()


def test_a_killed_worker_is_replaced_and_stopping_loses_nothing(models, tmp_path):
    with Server(models[0], "--workers", 2, "--drain", 1, log=tmp_path / "log") as server:
        server.ready()
        server.wait(lambda: server.figure("worker_starts") == 2)
        with Load(server, models[1]) as load:
            server.wait(load.reached(50))
            victim, other = server.workers()
            os.kill(victim, signal.SIGKILL)
            server.wait(lambda: server.figure("worker_starts") == 3)  # the third answers
            assert other in server.workers() and victim not in server.workers() and len(server.workers()) == 2
            with load.lock:
                before = dict(load.outcomes)
            broken = {k: n for k, n in before.items() if k != 200}
            assert sum(broken.values()) <= 4 and set(broken) <= {"ReadError", "RemoteProtocolError", "WriteError"}, (
                broken
            )
            server.wait(load.reached(before[200] + 50))

            # ---- SIGTERM under load ----
            assert server.stop() == 0
            outcomes = load.stop()
        # whoever was connected got an answer; later ones found nobody
        assert {k: n for k, n in outcomes.items() if k not in (200, "refused")} == broken
        answered = [n for n in server.lines() if n["logger"].endswith("access") and n["path"].endswith("predict")]
        assert {n["status"] for n in answered} == {200} and {n["request_id"] for n in answered} <= load.ids


@pytest.mark.slow
def test_stopping_loses_nothing_without_kept_connections(models, tmp_path):
    for turn in range(3):
        with Server(models[0], "--drain", 0.5, log=tmp_path / f"log{turn}") as server:
            with Load(server.ready(), models[1], count=8, keep=False) as load:
                server.wait(load.reached(100))
                assert server.stop() == 0
                outcomes = load.stop()
            assert set(outcomes) <= {200, "refused"}, outcomes


@pytest.mark.slow
def test_new_versions_without_a_gap(models, tmp_path):
    folder = tmp_path / "models"
    layer = digits(folder / "digits" / "1", max_batch=4)
    with Server(folder, "--reload", 0.3, log=tmp_path / "log") as server, server.client() as client:
        with Load(server.ready(), layer(paddle.to_tensor(rows(8))).numpy(), count=2) as load:
            server.wait(load.reached(20))
            (first,) = server.workers()
            # a version that cannot be loaded changes nothing
            (folder / "digits" / "2").mkdir()
            for name in ("model.pdiparams", "model.pdmodel"):
                (folder / "digits" / "2" / name).write_bytes(b"nothing")
            server.wait(lambda: any("stay as they are" in n["message"] for n in server.lines()))
            assert server.workers() == [first]
            with load.lock:
                before = load.outcomes[200]
            server.wait(load.reached(before + 20))
            for name in ("model.pdiparams", "model.pdmodel"):  # the same model as another version
                data = (folder / "digits" / "1" / name).read_bytes()
                (folder / "digits" / "2" / name).write_bytes(data)
            server.wait(lambda: len(client.get("/v1/models").json()) == 2)
            server.wait(lambda: first not in server.workers())
            assert server.stop() == 0
            outcomes = load.stop()
        assert set(outcomes) <= {200, "refused"}, outcomes


@pytest.mark.slow
def test_what_hangs_is_replaced_and_workers_do_not_stay_alone(models, tmp_path):
    with Server(models[0], "--hang", 3, log=tmp_path / "log") as server:
        (first,) = server.ready().workers()
        os.kill(first, signal.SIGSTOP)
        server.wait(lambda: server.workers() not in ([first], []))
        server.ready()
        workers = server.workers()
        assert first not in workers
        server.kill()
        end = time.monotonic() + 60
        while any(os.path.exists(f"/proc/{w}") for w in workers):
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.parametrize(
    "flags, said",
    [
        (["nothing"], "neither a folder"),
        (["empty"], "holds no model"),
        (["models", "--max-batch", "0"], "max_batch"),
        (["models", "--port", "70000"], "port"),
        (["models", "--api-keys", "empty"], "empty"),
    ],
)
def test_what_cannot_be_served_is_told(models, tmp_path, monkeypatch, flags, said):
    from paddle.serving.__main__ import main

    (tmp_path / "empty").mkdir()
    (tmp_path / "models").symlink_to(models[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["paddle.serving", *flags])
    with pytest.raises(SystemExit, match=said):
        main()


def test_keys(models):
    app = paddle.serving.create_app(str(models[0]), api_keys=["one", "two"], docs=False)

    async def ask(path, **headers):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return await client.get(path, headers=headers)

    def status(*args, **headers):
        return asyncio.run(ask(*args, **headers)).status_code

    refused = asyncio.run(ask("/v1/models"))
    assert refused.status_code == 401 and refused.headers["WWW-Authenticate"] == "Bearer"
    assert status("/metrics") == 401 and status("/healthz") == status("/readyz") == 200
    for headers in ({"X-API-Key": "one"}, {"Authorization": "Bearer two"}):
        assert status("/v1/models", **headers) == 200
    for headers in ({"X-API-Key": "three"}, {"Authorization": "Basic two"}, {"X-API-Key": ""}):
        assert status("/v1/models", **headers) == 401
    assert status("/openapi.json", **{"X-API-Key": "one"}) == 404
