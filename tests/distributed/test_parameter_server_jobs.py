"""Jobs with parameter servers in processes of their own: what happens when one is killed."""

import os
import signal
import subprocess
import sys

from paddle.distributed.launch.main import free_ports

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
