"""Worker processes of the DataLoader: the same batches, and every way in which they can fail."""

import copy
import io
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import jax
import numpy as np
import pytest

import paddle
from paddle.io import DataLoader, Dataset, IterableDataset, TensorDataset, blocks, get_worker_info

from _datasets import Each

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
pytestmark = fork


class Squares(Dataset):
    """(a row of numbers, the index, the process)"""

    def __init__(self, n=12, size=4):
        self.n, self.size = n, size

    def __getitem__(self, i):
        return np.full(self.size, i * i, "float32"), i, os.getpid()

    def __len__(self):
        return self.n


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as f:  # what only waits for its parent to look is gone as well
        return f.read().rsplit(")", 1)[1].split()[0] != "Z"


def named():
    """What has a name in shared memory. (Semaphores are of other programs: a loader has none.)"""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.")}


def wait_until(condition, seconds=15):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_batches_of_any_size_come_as_from_one_process():
    for size in (0, 4, 5_000, 400_000):  # through the connection, and through shared memory
        data = Squares(7, size)
        plain = list(DataLoader(data, batch_size=3))
        many = list(DataLoader(data, batch_size=3, num_workers=2))
        for a, b in zip(plain, many, strict=True):
            assert a[0].dtype == b[0].dtype and a[0].shape == b[0].shape and np.array_equal(a[0].numpy(), b[0].numpy())
            assert a[1].tolist() == b[1].tolist() and os.getpid() not in b[2].tolist()
        assert len({p for b in many for p in b[2].tolist()}) == 2


def test_what_comes_is_ours_alone():
    batches = list(DataLoader(Squares(8, 100_000), batch_size=2, num_workers=2))
    kept = [b[0].numpy().copy() for b in batches]
    x = batches[0][0]
    x += 1
    del batches[1]
    list(DataLoader(Squares(8, 100_000), batch_size=2, num_workers=2))
    assert np.array_equal(x.numpy(), kept[0] + 1) and np.array_equal(batches[1][0].numpy(), kept[2])


def test_structures_and_types():
    def sample(i):
        return {
            "big": np.full((300, 40), i, "int16"),
            "nested": [(np.float32(i), {"s": f"x{i}"}), paddle.to_tensor([i, 2.0])],
            "bool": i % 2 == 0,
            "strided": np.arange(100_000).reshape(2, -1).T[::7] + i,
        }

    plain, many = (next(iter(DataLoader(Each(sample), batch_size=2, num_workers=n))) for n in (0, 1))
    assert many["nested"][0][1]["s"] == ["x0", "x1"] and many["bool"].dtype is paddle.bool
    for get in (lambda b: b["big"], lambda b: b["nested"][0][0], lambda b: b["nested"][1], lambda b: b["strided"]):
        a, b = get(plain), get(many)
        assert isinstance(b, paddle.Tensor) and a.dtype == b.dtype and np.array_equal(a.numpy(), b.numpy())


def test_collate_functions_and_samples_without_batches():
    made = DataLoader(Squares(4), batch_size=2, num_workers=2, collate_fn=lambda s: {"n": len(s), "x": s[0][0]})
    assert [(b["n"], b["x"][0].item()) for b in made] == [(2, 0.0), (2, 4.0)]
    single = list(DataLoader(Squares(3), batch_size=None, num_workers=2))
    assert [s[1] for s in single] == [0, 1, 2] and single[2][0].tolist() == [4.0] * 4
    assert [b[1].tolist() for b in DataLoader(Squares(), batch_sampler=[[3, 1], [2]], num_workers=3)] == [[3, 1], [2]]


def test_tensors_in_forked_workers():
    (paddle.ones([3]) * 2).numpy()  # now a fork cannot compute
    rows = paddle.arange(24, dtype="float32").reshape([8, 3])
    big = paddle.ones([600, 600])
    for data in (
        TensorDataset([rows, np.arange(8)]),
        Each(lambda i: (rows[i], i), 8),
        Each(lambda i: (rows[i : i + 1][0].numpy(), paddle.to_tensor(i)), 8),
    ):
        got = list(DataLoader(data, batch_size=4, num_workers=2))
        assert np.array_equal(np.concatenate([x.numpy() for x, _ in got]), rows.numpy())
        assert got[1][1].tolist() == [4, 5, 6, 7]
    assert next(
        iter(DataLoader(TensorDataset([rows]), num_workers=1, collate_fn=lambda s: s[0][0] if s else 0))
    ).shape == [3]
    whole = next(iter(DataLoader(Each(lambda i: (big, paddle.to_tensor(np.ones((900, 900))))), num_workers=1)))
    assert whole[0].shape == [1, 600, 600] and whole[1].sum().item() == 810000
    with pytest.raises(RuntimeError, match="spawn"):
        list(DataLoader(Each(lambda i: rows[i] * 2), num_workers=1))


def test_nothing_of_xla_is_called_in_forked_workers():
    """Any call could wait for a lock that another thread held at the fork."""
    (paddle.ones([3]) * 2).numpy()
    rows, inner = paddle.arange(12, dtype="float32").reshape([4, 3]), paddle.full([2], 7.0)

    def forbid(number):
        for owner, name in ((jax, "device_put"), (jax.numpy, "array"), (jax.numpy, "asarray"), (jax, "jit")):
            setattr(owner, name, None)

    def sample(i):
        made = paddle.to_tensor(np.full(3, i, "float32"))
        made.set_value(made.numpy() + 1)
        file = io.BytesIO()
        paddle.save({"made": copy.deepcopy(made)}, file)
        file.seek(0)
        loaded = paddle.load(file)["made"]
        assert loaded.shape == [3] and loaded.dtype is paddle.float32 and "1" in repr(paddle.to_tensor(1))
        return rows[i], loaded, pickle.loads(pickle.dumps(made)), inner.numpy(), paddle.to_tensor([i, 2.0]).tolist()

    got = next(iter(DataLoader(Each(sample, 4), batch_size=4, num_workers=1, worker_init_fn=forbid)))
    assert np.array_equal(got[0].numpy(), rows.numpy()) and got[3].tolist() == [[7.0, 7.0]] * 4
    assert got[1].tolist() == got[2].tolist() == [[i + 1.0] * 3 for i in range(4)] and got[4][0].tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_an_exception_has_its_type_and_the_traceback_of_the_worker():
    class Damaged(ValueError):
        pass

    def bad(i):
        if i == 3:
            raise Damaged(f"sample {i} is damaged")
        return i

    loader = DataLoader(Each(bad), num_workers=2)
    with pytest.raises(ValueError, match="sample 3 is damaged") as e:
        list(loader)
    assert "in bad" in str(e.value.__cause__) and "in worker 1 (process" in str(e.value.__cause__)
    with pytest.raises(KeyError, match="nothing"):
        list(DataLoader(Each(lambda i: {}["nothing"]), num_workers=1))
    with pytest.raises(RuntimeError, match="SystemExit: 7"):
        list(DataLoader(Each(lambda i: sys.exit(7)), num_workers=1))
    with pytest.raises(UnicodeDecodeError):
        list(DataLoader(Each(lambda i: b"\xff".decode()), num_workers=1))
    with pytest.raises((TypeError, AttributeError), match="pickle"):
        list(DataLoader(Each(lambda i: i), num_workers=1, collate_fn=lambda s: lambda: 0))
    with pytest.raises(OSError, match="no such server"):
        list(
            DataLoader(
                Squares(), num_workers=2, worker_init_fn=lambda n: (_ for _ in ()).throw(OSError("no such server"))
            )
        )

    class Stream(IterableDataset):
        def __iter__(self):
            yield 1
            raise LookupError("the stream broke")

    with pytest.raises(LookupError, match="the stream broke"):
        list(DataLoader(Stream(), num_workers=2))


@pytest.mark.parametrize(
    "how, words", [(signal.SIGKILL, "SIGKILL.*memory"), (signal.SIGTERM, "SIGTERM"), (3, "status 3")]
)
def test_a_worker_that_dies(how, words):
    def sample(i):
        if i == 5:
            os._exit(3) if how == 3 else os.kill(os.getpid(), how)
            time.sleep(30)
        return os.getpid()

    pids = []
    with pytest.raises(RuntimeError, match=f"worker 1 .*{words}"):
        for batch in DataLoader(Each(sample, 40), num_workers=2):
            pids += batch.tolist()
    assert len(set(pids)) == 2 and not any(map(alive, pids))


def test_timeout():
    loader = DataLoader(Each(lambda i: time.sleep(60 if i == 2 else 0) or i), num_workers=1, timeout=1)
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"worker 0 .* timeout=1 seconds"):
        list(loader)
    assert time.monotonic() - start < 50


def test_no_room_for_shared_memory(monkeypatch):
    import resource

    data = Squares(6, 500_000)
    want = [b[0].numpy() for b in DataLoader(data, batch_size=2)]

    def little(number):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    def none(*_):
        raise OSError(28, "No space left on device")

    for arguments in (dict(worker_init_fn=little), dict(use_shared_memory=False)):
        got = [b[0].numpy() for b in DataLoader(data, batch_size=2, num_workers=2, **arguments)]
        assert all(map(np.array_equal, got, want)) and len(got) == 3
    monkeypatch.setattr(blocks, "anonymous_memory", none)
    assert all(map(np.array_equal, [b[0].numpy() for b in DataLoader(data, batch_size=2, num_workers=2)], want))
    monkeypatch.undo()
    monkeypatch.setattr(blocks, "Mapping", none)
    assert all(map(np.array_equal, [b[0].numpy() for b in DataLoader(data, batch_size=2, num_workers=2)], want))


def test_too_many_open_files():
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    batches = iter(DataLoader(Squares(40, 50_000), batch_size=2, num_workers=1))
    next(batches)
    held = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limits[0], 512), limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises((RuntimeError, OSError), match="open files"):
            list(batches)
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_batches_that_are_kept_hold_no_files():
    before = len(os.listdir("/proc/self/fd"))
    kept = list(DataLoader(Squares(120, 10_000), batch_size=1, num_workers=2))
    assert len(kept) == 120 and len(os.listdir("/proc/self/fd")) <= before + 2


def test_leaving_early_and_never_starting_leaves_nothing():
    names = named()
    iterator = iter(DataLoader(Squares(10_000, 100_000), batch_size=2, num_workers=2))
    pids = set(next(iterator)[2].tolist()) | set(next(iterator)[2].tolist())
    assert len(pids) == 2 and all(map(alive, pids))
    del iterator
    assert not any(map(alive, pids)) and named() <= names
    iter(DataLoader(Squares(), num_workers=2))


def test_persistent_workers():
    loader = DataLoader(Squares(8), batch_size=2, num_workers=2, persistent_workers=True)
    first, second = ([b[2][0].item() for b in loader] for _ in range(2))
    assert first == second and len(set(first)) == 2
    for batch in loader:  # left early: the next epoch is whole all the same
        break
    assert [b[1].tolist() for b in loader] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    old = iter(loader)
    next(old), next(iter(loader))
    with pytest.raises(RuntimeError, match="one at a time"):
        list(old)
    os.kill(first[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        list(loader)
    again = [b[2][0].item() for b in loader]  # new ones
    assert len(again) == 4 and not set(again) & set(first)
    del loader
    assert not any(map(alive, again))


def test_persistent_stream_starts_anew():
    class Stream(IterableDataset):
        def __iter__(self):
            info = get_worker_info()
            return iter(range(info.id, 7, info.num_workers))

    loader = DataLoader(Stream(), batch_size=2, num_workers=2, persistent_workers=True)
    for _ in range(2):
        assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5]]
    assert len(list(DataLoader(Stream(), batch_size=2, num_workers=2, drop_last=True))) == 3


def test_seeds_differ_by_worker_and_epoch_and_repeat():
    draw = Each(lambda i: (random.random(), np.random.rand(), get_worker_info().seed % 1000), 4)

    def epochs(persistent):
        for module in (random, np.random, paddle):
            module.seed(3)
        loader = DataLoader(draw, num_workers=2, persistent_workers=persistent)
        return [[tuple(t.item() for t in b) for b in loader] for _ in range(2)]

    first, again = epochs(False), epochs(False)
    assert first == again == epochs(True)
    values = [number for epoch in first for sample in epoch for number in sample[:2]]
    assert len(set(values)) == len(values)
    np.random.seed(4)
    assert [[tuple(t.item() for t in b) for b in DataLoader(draw, num_workers=2)]] != first[:1]
    np.random.seed(5)
    order = [b[1].item() for b in DataLoader(Squares(10), shuffle=True, num_workers=2)]
    assert order == [9, 5, 2, 4, 7, 1, 0, 8, 6, 3]  # the same as without workers


def test_workers_have_no_workers():
    nested = Each(lambda i: list(DataLoader(Squares(2), num_workers=1)))
    with pytest.raises(RuntimeError, match="num_workers=0"):
        list(DataLoader(nested, num_workers=1))


def test_other_start_methods():
    (paddle.ones([3]) * 2).numpy()
    data = TensorDataset([paddle.arange(6, dtype="float32"), paddle.arange(6)])
    loader = DataLoader(data, batch_size=3, num_workers=1, multiprocessing_context="spawn")
    assert [x.tolist() for x, _ in loader] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError, match="'spawn' needs .* pickled"):
        list(DataLoader(Each(lambda i: i), num_workers=1, multiprocessing_context="spawn"))
    with pytest.raises(ValueError, match="multiprocessing_context"):
        DataLoader(data, multiprocessing_context="thread")


def script(text):
    """A script that prints the numbers of its workers and goes on loading."""
    head = """
        import os, time, numpy as np, paddle
        (paddle.ones([200, 200]) @ paddle.ones([200, 200])).numpy()
        class Data(paddle.io.Dataset):
            def __len__(self): return 100000
            def __getitem__(self, i):
                time.sleep(0.01)
                return np.full(50000, i), os.getpid()
        """
    return textwrap.dedent(head) + textwrap.dedent(text)


LOOP = """
    for step, (x, pid) in enumerate(paddle.io.DataLoader(Data(), batch_size=2, num_workers=2)):
        (x.astype("float32") * 2).sum().numpy()
        print(pid[0].item(), flush=True)
    """


def run(text, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(script(text))
    root = str(Path(paddle.__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": root},
    )


@pytest.mark.parametrize("how", ["ctrl-c", "kill", "end"])
def test_no_orphans(how, tmp_path):
    text = textwrap.dedent(LOOP) + ("    if step == 4: os._exit(5)\n" if how == "end" else "")
    names = named()
    with run(text, tmp_path) as process:
        pids = {int(process.stdout.readline()) for _ in range(4)}
        assert len(pids) == 2
        if how == "ctrl-c":
            os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to all of them
        elif how == "kill":
            process.kill()
        _, error = process.communicate(timeout=60)
    wait_until(lambda: not any(map(alive, pids)))
    assert named() <= names
    if how == "ctrl-c":
        assert process.returncode in (-signal.SIGINT, 130) and error.count("KeyboardInterrupt") == 1
    if how == "end":
        assert process.returncode == 5


def test_a_program_that_ends_amid_an_epoch(tmp_path):
    text = """
        batches = iter(paddle.io.DataLoader(Data(), batch_size=2, num_workers=2, persistent_workers=True))
        print(next(batches)[1][0].item(), next(batches)[1][0].item(), flush=True)
        """
    with run(text, tmp_path) as process:
        out, error = process.communicate(timeout=60)
    assert process.returncode == 0 and not error
    wait_until(lambda: not any(alive(int(pid)) for pid in out.split()))


def test_threads_that_compute_and_threads_that_start_workers():
    """Forks while XLA is busy, from two threads at once: no lock and no connection is left in the wrong hands."""
    data = Each(lambda i: (paddle.to_tensor(np.full((200, 200), i, "float32")), paddle.to_tensor(i)), 8)
    done, stop = [], threading.Event()

    def compute():
        a = paddle.rand([200, 200])
        while not stop.is_set():
            a = (a @ a) / (a.abs().max() + 1.0)

    def load():
        for _ in range(8):
            done.append([int(y.sum()) for _, y in DataLoader(data, batch_size=4, num_workers=2)])

    computing = [threading.Thread(target=compute) for _ in range(2)]
    loading = [threading.Thread(target=load, daemon=True) for _ in range(2)]
    for thread in computing + loading:
        thread.start()
    for thread in loading:
        thread.join(60)
    stop.set()
    for thread in computing:
        thread.join()
    assert done == [[6, 22]] * 16
