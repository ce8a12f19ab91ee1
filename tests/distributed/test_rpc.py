"""Calls of functions in other processes: results, errors, timeouts, who may call, processes that end."""

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.distributed import rpc
from paddle.distributed.launch.main import free_ports
from paddle.distributed.rpc import secret
from paddle.distributed.rpc.channel import Channel, Listener, Lost, RemoteTraceback

from _launched import finish, launch, logs

ROOT = Path(paddle.__file__).parents[1]

SCRIPT = """
import os, sys, time
import numpy as np
import paddle
from paddle.distributed import rpc

def add(a, b=1):
    return a + b

def fail():
    raise KeyError("not here")

def name():
    return rpc.get_current_worker_info().name

def relay(n):
    return 0 if n == 0 else 1 + rpc.rpc_sync(f"w{n % 2}", relay, args=(n - 1,))

def end():
    os._exit(9)

def main():
    rank, size, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[4]
    rpc.init_rpc(f"w{rank}", rank, size, "127.0.0.1:" + sys.argv[3])
    if kind == "die":
        if rank == 0:
            try:
                rpc.rpc_sync("w1", end)
            except RuntimeError as e:
                print("call:", e)
            try:
                rpc.shutdown()
            except RuntimeError as e:
                print("shutdown:", e)
        else:
            time.sleep(60)
        return
    other = f"w{(rank + 1) % size}"
    assert [w.name for w in rpc.get_all_worker_infos()] == ["w0", "w1"]
    assert rpc.get_worker_info("w1").rank == 1 and rpc.get_current_worker_info().rank == rank
    assert rpc.rpc_sync(other, add, args=(2,), kwargs={"b": 3}) == 5
    assert rpc.rpc_sync(other, name) == other
    x = paddle.to_tensor([1.0, 2.0])
    assert rpc.rpc_sync(other, add, args=(x, x)).tolist() == [2.0, 4.0]
    big = np.arange(300000.0)
    futures = [rpc.rpc_async(other, add, args=(big, i)) for i in range(8)]
    assert all((f.wait() == big + i).all() for i, f in enumerate(futures))
    assert rpc.rpc_sync(other, relay, args=(12,)) == 12  # both wait for each other, many times
    try:
        rpc.rpc_sync(other, fail)
        raise AssertionError
    except KeyError as e:
        assert "in fail" in str(e.__cause__) and "not here" in str(e)
    slow = rpc.rpc_async(other, time.sleep, args=(3,), timeout=0.1)
    try:
        slow.wait()
        raise AssertionError
    except TimeoutError as e:
        assert other in str(e)
    try:
        rpc.rpc_sync("nobody", add, args=(1,))
        raise AssertionError
    except ValueError as e:
        assert "w0, w1" in str(e)
    rpc.shutdown()
    print("well")

main()
"""


def run(folder, kind, size=2, tokens=None):
    (folder / "script.py").write_text(SCRIPT)
    port = free_ports(1, None)[0]
    processes = []
    for rank in range(size):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "FLAGS_stop_check_timeout": "60"}
        environment["PADDLE_XLA_TOKEN"] = tokens[rank] if tokens else "secret"
        command = [sys.executable, "script.py", str(rank), str(size), str(port), kind]
        processes.append(
            subprocess.Popen(
                command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        )
    try:
        return [p.communicate(timeout=100)[0] for p in processes]
    finally:
        for p in processes:
            p.kill()
            p.wait()


def test_calls_between_processes(tmp_path):
    for out in run(tmp_path, "call"):
        assert out.strip().endswith("well"), out


def test_a_process_that_ends(tmp_path):
    out = run(tmp_path, "die")[0]
    assert "call: rpc worker 'w1' has ended" in out
    assert "worker 'w1' has ended unexpectedly" in out.split("shutdown:")[1]


def test_other_secrets_are_refused(tmp_path):
    out = run(tmp_path, "call", tokens=["one", "two"])
    assert "do not have the same secret" in out[0] + out[1]


LAUNCHED = """
import os
from paddle.distributed import rpc
name = "w" + os.environ["PADDLE_TRAINER_ID"]
for _ in range(2):
    rpc.init_rpc(name)
    assert rpc.rpc_sync("w1", max, (4, 5)) == 5
    rpc.shutdown()
print("well", name)
"""


def test_with_the_launcher(tmp_path):
    (tmp_path / "script.py").write_text(LAUNCHED)
    code, out, err = finish(launch(tmp_path, "script.py", flags=("--run_mode", "rpc", "--nproc_per_node", "2")), 100)
    assert code == 0 and out.strip() == "well w0", err + logs(tmp_path)


# ---- in one process ----


@pytest.fixture
def echo():
    def handle(name, payload):
        return payload() if callable(payload) else (name, payload)

    listener = Listener("127.0.0.1", 0, handle, b"token")
    yield listener
    listener.close()


def test_a_listener_answers_those_who_know_the_secret(echo):
    channel = Channel("127.0.0.1", echo.port, b"token", "me", "the other")
    x = np.arange(6.0).reshape(2, 3)[:, ::2]
    name, y = channel.call({"x": x, "n": None}).result(10)
    assert name == "me" and y["n"] is None and (y["x"] == x).all() and y["x"].flags.writeable
    with pytest.raises(ZeroDivisionError) as caught:
        channel.call(_divide).result(10)
    assert isinstance(caught.value.__cause__, RemoteTraceback) and "_divide" in str(caught.value.__cause__)
    with pytest.raises((AttributeError, pickle.PicklingError, TypeError)):
        channel.call(lambda: 0)  # cannot be pickled: nothing is sent
    assert channel.call(1).result(10) == ("me", 1)
    waits = channel.call(_sleep)
    channel.close()
    with pytest.raises(Lost, match="the other"):
        waits.result(10)
    with pytest.raises(RuntimeError, match="same secret"):
        Channel("127.0.0.1", echo.port, b"other", "me", "the other")


def _divide():
    return 1 / 0


def _sleep():
    time.sleep(2)


class Trap:
    def __reduce__(self):
        return (open, (os.environ["TRAP"], "w"))


def test_strangers_are_not_unpickled(echo, tmp_path, monkeypatch):
    monkeypatch.setenv("TRAP", str(tmp_path / "trap"))
    body = pickle.dumps(Trap())
    for data in (body, b"\0" * 65 + body, b"x" * 10000):
        with socket.create_connection(("127.0.0.1", echo.port)) as s, contextlib.suppress(OSError):
            s.settimeout(5)
            s.sendall(data)  # the other side may end the connection at any point
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass
    assert not (tmp_path / "trap").exists()
    channel = Channel("127.0.0.1", echo.port, b"token", "me", "it")
    assert channel.call(2).result(10) == ("me", 2)
    channel.close()


def test_what_answers_must_know_the_secret():
    server = socket.create_server(("127.0.0.1", 0))

    def pretend():
        connection, _ = server.accept()
        connection.sendall(b"paddle-xla call\n" + bytes(32))
        connection.recv(200)
        connection.sendall(bytes(32))
        connection.recv(1)

    threading.Thread(target=pretend, daemon=True).start()
    with pytest.raises(RuntimeError, match="does not know the secret"):
        Channel("127.0.0.1", server.getsockname()[1], b"token", "me", "it")
    server.close()


def test_the_secret_of_a_user(tmp_path, monkeypatch):
    monkeypatch.delenv("PADDLE_XLA_TOKEN", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    first = secret.job_token()
    assert len(first) == 64 and secret.job_token() == first
    assert secret.path().stat().st_mode & 0o777 == 0o600 and len(list(secret.path().parent.iterdir())) == 1
    secret.path().chmod(0o644)
    with pytest.raises(RuntimeError, match="chmod 600"):
        secret.job_token()
    monkeypatch.setenv("PADDLE_XLA_TOKEN", "given")
    assert secret.job_token() == b"given"


def _interrupt():
    raise KeyboardInterrupt


def test_arguments(monkeypatch):
    for name in ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_MASTER", "PADDLE_MASTER_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeError, match="init_rpc"):
        rpc.rpc_sync("w", max, args=(1, 2))
    with pytest.raises(ValueError, match="rank and world_size"):
        rpc.init_rpc("w")
    with pytest.raises(ValueError, match="got 3 of 2"):
        rpc.init_rpc("w", 3, 2, "127.0.0.1:1")
    for endpoint in ("127.0.0.1", "127.0.0.1:70000"):
        with pytest.raises(ValueError, match="host:port"):
            rpc.init_rpc("w", 0, 1, endpoint)
    with pytest.raises(ValueError, match="must be ints"):
        rpc.init_rpc("w", "first", 1, "127.0.0.1:0")
    with pytest.raises(ValueError, match="name"):
        rpc.init_rpc("", 0, 1, "127.0.0.1:0")
    rpc.init_rpc("alone", 0, 1, "127.0.0.1:0")
    try:
        with pytest.raises(RuntimeError, match="already"):
            rpc.init_rpc("alone", 0, 1, "127.0.0.1:0")
        with pytest.raises(TypeError, match="fn must be"):
            rpc.rpc_async("alone", 5)
        for wrong in ({"args": 5}, {"args": "ab"}, {"kwargs": [1]}, {"timeout": "1"}, {"args": (threading.Lock(),)}):
            with pytest.raises(TypeError, match="rpc"):
                rpc.rpc_async("alone", max, **wrong)
        with pytest.raises(ValueError, match="no worker"):
            rpc.rpc_sync(["alone"], max, args=(1, 2))
        for end in (sys.exit, _interrupt):  # it is the function that ends, not the caller
            with pytest.raises(RuntimeError, match="SystemExit|KeyboardInterrupt"):
                rpc.rpc_sync("alone", end)
        assert rpc.rpc_sync("alone", max, args=(1, 2), timeout=None) == 2
    finally:
        rpc.shutdown()
    rpc.init_rpc("again", 0, 1, "127.0.0.1:0")  # after a shutdown
    rpc.shutdown()
