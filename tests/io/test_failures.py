"""What can go wrong around worker processes: each case is a program of its own with a time limit. Whatever happens, no
process of it is left, and nothing in /dev/shm."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import paddle

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs fork and /proc")

ROOT = str(Path(paddle.__file__).parent.parent)
HEAD = """
    import ctypes, gc, os, resource, signal, sys, threading, time
    import numpy as np
    import paddle
    from paddle.io import DataLoader, Dataset, IterableDataset

    class Each(Dataset):
        def __init__(self, f, n=40): self.f, self.n = f, n
        def __getitem__(self, i): return self.f(i)
        def __len__(self): return self.n

    def children():
        gc.collect()
        with open("/proc/self/task/%d/children" % os.getpid()) as f:
            return f.read().split()

    def failure(*args, **kwargs):
        try:
            for _ in DataLoader(*args, **kwargs): pass
        except BaseException as e:
            assert not children(), children()
            return f"{type(e).__name__}: {e} {e.__cause__ or ''}"
        raise AssertionError("no error")

    (paddle.ones([64, 64]) @ paddle.ones([64, 64])).numpy()
    """


def processes(session):
    """The living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, of = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:4]
            except OSError:
                continue
            if int(of) == session and state not in "ZX":
                found.append(int(entry.name))
    return found


def named():
    """What has a name in shared memory. (Semaphores are of other programs: a loader has none.)"""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.")}


class Program:
    """A script that runs in a session of its own."""

    def __init__(self, folder, text, head=HEAD, arguments=()):
        path = folder / "script.py"
        path.write_text(textwrap.dedent(head) + textwrap.dedent(text))
        self.shm = named()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        environment = {**os.environ, "PYTHONPATH": ROOT}
        self.process = subprocess.Popen(
            [sys.executable, str(path), *arguments], start_new_session=True, env=environment, **pipes
        )

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.communicate()
        until = time.monotonic() + 15
        while (left := processes(self.process.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        while (more := named() - self.shm) and time.monotonic() < until:
            time.sleep(0.05)  # those of other programs come and go
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        if exc[0] is None:
            assert not left
            assert not more

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self, status=0, seconds=60):
        out, error = self.process.communicate(timeout=seconds)
        assert self.process.returncode == status, error
        return out, error


def run(folder, text, head=HEAD):
    with Program(folder, text, head) as program:
        return program.end()


def test_deaths_of_workers(tmp_path):
    """Every way in which a dataset can end its process, and what the error says."""
    text = """
    def at_five(end):
        return Each(lambda i: end() or time.sleep(20) if i == 5 else i)

    ends = {
        "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "SIGSEGV": lambda: ctypes.string_at(0),
        "SIGABRT": os.abort,
        "exit status 0": lambda: os._exit(0),
        "exit status 7": lambda: os._exit(7),
        "SystemExit: 3": lambda: sys.exit(3),
        "KeyboardInterrupt": lambda: (_ for _ in ()).throw(KeyboardInterrupt()),
        "GeneratorExit": lambda: (_ for _ in ()).throw(GeneratorExit()),
    }
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for words, end in ends.items():
        for persistent in (False, True):
            said = failure(at_five(end), num_workers=2, persistent_workers=persistent)
            assert said.startswith("RuntimeError") and words in said and "worker 1" in said, said

    def little_memory(i):
        resource.setrlimit(resource.RLIMIT_AS, (1 << 20, -1))
        return np.ones(1 << 28)
    assert "MemoryError" in failure(Each(little_memory), num_workers=1)

    def dies_while_sending(i):
        if i == 3:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return np.ones(30_000_000 if i == 3 else 1, "uint8")
    for shared in (False, True):  # in the midst of a batch, or soon after it
        said = failure(Each(lambda i: dies_while_sending(i), 10_000), num_workers=1, use_shared_memory=shared)
        assert "SIGKILL" in said, said

    loader = DataLoader(Each(lambda i: os.getpid()), num_workers=2, persistent_workers=True)
    pids = {int(p) for p in loader}
    os.kill(min(pids), signal.SIGKILL)  # between two epochs
    time.sleep(0.1)
    try:
        list(loader)
        raise AssertionError
    except RuntimeError as e:
        assert "SIGKILL" in str(e)
    assert len({int(p) for p in loader} - pids) == 2
    del loader
    assert not children()
    """
    run(tmp_path, text)


def test_waiting_no_longer_than_the_limit(tmp_path):
    text = """
    paddle.io.pool._PATIENCE = 0.5
    start = time.monotonic()
    said = failure(Each(lambda i: time.sleep(60 * (i == 2))), num_workers=2, timeout=0.5, collate_fn=len)
    assert "timeout=0.5" in said and time.monotonic() - start < 50
    said = failure(Each(lambda i: 0), num_workers=2, timeout=0.5, worker_init_fn=lambda n: time.sleep(60))
    assert "timeout=0.5" in said
    """
    run(tmp_path, text)


def test_a_worker_that_does_not_listen(tmp_path):
    """It ignores SIGTERM and sleeps in its sample: it is killed."""
    text = """
    def deaf(i):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if i: time.sleep(1) or time.sleep(60)
        return i
    batches = iter(DataLoader(Each(deaf), num_workers=2, prefetch_factor=3))
    next(batches)
    start = time.monotonic()
    del batches
    assert not children() and time.monotonic() - start < 50
    """
    run(tmp_path, text)


@pytest.mark.parametrize("to", ["program", "group"])
@pytest.mark.parametrize("workers", ["new", "persistent"])
def test_ctrl_c(to, workers, tmp_path):
    text = f"""
    loader = DataLoader(Each(lambda i: (time.sleep(0.01), np.ones(50_000))[1], 10**6), num_workers=2,
                        persistent_workers={workers == "persistent"})
    for x in loader:
        print("batch", flush=True)
    """
    with Program(tmp_path, text) as program:
        assert program.line() == "batch" and program.line() == "batch"
        (os.killpg if to == "group" else os.kill)(program.process.pid, signal.SIGINT)
        _, error = program.end(-signal.SIGINT)
    assert error.count("KeyboardInterrupt") == 1 and "Error" not in error, error


def test_interrupted_at_any_moment(tmp_path):
    """Interrupts while workers start, wait, send and end: the program can go on, and no worker is left, not even a dead
    one that nobody has looked at."""
    text = """
    data = Each(lambda i: np.full(20_000, i, "float32"), 12)
    def epoch(persistent=False):
        loader = DataLoader(data, batch_size=3, num_workers=2, persistent_workers=persistent)
        return [int(x[0, 0]) for x in loader]
    start = time.monotonic()
    epoch()
    whole = time.monotonic() - start
    hit = 0
    for step in range(40):
        try:
            signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
            signal.setitimer(signal.ITIMER_REAL, whole * (step + 1) / 40)
            epoch(step % 2)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            hit += 1
        if step % 10 == 9:
            assert epoch() == [0, 3, 6, 9]
        assert not children(), (step, children())
    assert hit > 5, hit
    """
    run(tmp_path, text)


@pytest.mark.parametrize("busy", ["", "time.sleep(60 * (i > 3))"])
def test_a_killed_program(busy, tmp_path):
    """Its workers notice, also those that are in the midst of a long sample."""
    text = f"""
    for x in DataLoader(Each(lambda i: ({busy or None}, np.ones(50_000))[1], 10**6), num_workers=3):
        print("batch", flush=True)
    """
    with Program(tmp_path, text) as program:
        assert program.line() == "batch" and len(processes(program.process.pid)) == 4
        program.process.kill()


def test_a_worker_that_does_not_start(tmp_path):
    """It waits for a lock right after the fork: another one takes its place, and its tasks; a program that is killed
    meanwhile leaves nothing."""
    text = """
    import warnings
    from paddle.io import pool
    seconds, stuck = float(sys.argv[1]), sys.argv[2:]
    pool._START = seconds
    starts = [0]
    os.register_at_fork(after_in_parent=lambda: starts.append(starts.pop() + 1),
                        after_in_child=lambda: str(starts[0]) in stuck and time.sleep(1000))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        print("starts", flush=True)
        for _ in range(2):
            assert [int(i) for i in DataLoader(Each(lambda i: i, 7), num_workers=2)] == list(range(7))
    assert len(said) == 1 and "worker 1" in str(said[0].message) and starts == [5], (said, starts)
    stuck[:] = ["5", "7"]
    said = failure(Each(lambda i: i), num_workers=2)
    assert "nor did the one before it" in said, said
    """
    with Program(tmp_path, text, arguments=["3", "1"]) as program:
        program.end()
    with Program(tmp_path, text, arguments=["1000", "0", "1"]) as program:
        assert program.line() == "starts"
        until = time.monotonic() + 20
        while len(processes(program.process.pid)) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)


def test_ending_in_the_midst(tmp_path):
    """By an exception, by `sys.exit`, with an iterator in a global, in a cycle, in a thread."""
    ends = (
        "raise ValueError('my own')",
        "sys.exit(4)",
        "",
        "threading.Thread(target=lambda: [time.sleep(0.01) for _ in batches], daemon=True).start(); time.sleep(0.2)",
        "cycle = [batches]; cycle.append(cycle); del batches, cycle",
    )
    programs = []
    for end, status in zip(ends, (1, 4, 0, 0, 0)):
        text = f"""
        batches = iter(DataLoader(Each(lambda i: np.ones(50_000), 10**4), num_workers=2, persistent_workers=True))
        next(batches)
        {end}
        """
        (folder := tmp_path / str(len(programs))).mkdir()
        programs.append((Program(folder, textwrap.dedent(text), head=textwrap.dedent(HEAD)), status))
    for program, status in programs:
        with program:
            _, error = program.end(status)
            assert error.count("Traceback") == (status == 1), error


def test_no_room(tmp_path):
    """Limits on files, on memory, on descriptors: batches come another way, or an error says which limit it is."""
    text = """
    data = Each(lambda i: np.full(500_000, i, "float32"), 6)
    def sums(**kwargs):
        return [float(x.sum()) for x in DataLoader(data, batch_size=2, num_workers=2, **kwargs)]
    want = sums()
    files = lambda n: resource.setrlimit(resource.RLIMIT_NOFILE, (n, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    assert sums(worker_init_fn=lambda n: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))) == want
    assert sums(worker_init_fn=lambda n: files(len(os.listdir("/proc/self/fd")) - 1)) == want  # no memfd there
    mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (1 << 20), -1))
    try:
        got = failure(data, batch_size=6, num_workers=1)
    except AssertionError as e:
        assert str(e) == "no error", e
    else:
        assert "MemoryError" in got or "memory" in got, got
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    assert sums() == want
    held = len(os.listdir("/proc/self/fd"))
    files(held + 1)
    said = failure(data, num_workers=4)
    assert "Too many open files" in said or "open files" in said, said
    files(1024)
    assert sums() == want
    """
    run(tmp_path, text)


def test_without_a_main_guard(tmp_path):
    """A forked worker does not need it; one that is spawned says that it is missing."""
    assert (
        run(tmp_path, "print(sum(int(x.sum()) for x in DataLoader(Each(lambda i: i, 4), num_workers=2)))")[0] == "6\n"
    )
    text = """
    import numpy as np, paddle
    data = paddle.io.TensorDataset([np.arange(4)])
    list(paddle.io.DataLoader(data, num_workers=1, multiprocessing_context="spawn"))
    """
    with Program(tmp_path, text, head="") as program:
        assert "belongs under `if __name__ == '__main__':`" in program.end(1)[1]


def test_changed_datasets(tmp_path):
    """New workers see what has changed; persistent ones keep what they were started with. A dataset that has grown then
    fails with its own error, and the next epoch starts new workers."""
    text = """
    class Rows(Dataset):
        def __init__(self): self.rows = [1, 2]
        def __getitem__(self, i): return self.rows[i]
        def __len__(self): return len(self.rows)
    data = Rows()
    fresh = DataLoader(data, num_workers=2)
    kept = DataLoader(data, num_workers=2, persistent_workers=True)
    epoch = lambda loader: [int(x) for x in loader]
    assert epoch(fresh) == epoch(kept) == [1, 2]
    data.rows = [3, 4]
    assert epoch(fresh) == [3, 4] and epoch(kept) == [1, 2]
    data.rows = [5, 6, 7]
    assert epoch(fresh) == [5, 6, 7]
    try:
        epoch(kept)
        raise AssertionError
    except IndexError as e:
        assert "rows[i]" in str(e.__cause__)
    assert epoch(kept) == [5, 6, 7]
    """
    run(tmp_path, text)


def test_loaders_in_loaders(tmp_path):
    text = """
    inner = Each(lambda i: np.full(3, i), 4)
    nested = Each(lambda i: sum(x.numpy().sum() for x in DataLoader(inner, batch_size=2)) + i, 4)
    assert [int(x) for x in DataLoader(nested, num_workers=2)] == [18, 19, 20, 21]
    assert "num_workers=0" in failure(Each(lambda i: list(DataLoader(inner, num_workers=1))), num_workers=1)
    outer = DataLoader(inner, num_workers=1)
    pairs = [(int(a[0, 0]), int(b[0, 0])) for a in outer for b in DataLoader(inner, num_workers=1)]
    assert pairs == [(a, b) for a in range(4) for b in range(4)]
    both = zip(outer, outer, DataLoader(inner, num_workers=2))
    assert [tuple(int(x[0, 0]) for x in row) for row in both] == [(i, i, i) for i in range(4)]
    """
    run(tmp_path, text)


def test_a_hundred_forks_amid_computation(tmp_path):
    """XLA's threads are in the midst of matrix products, and Python's of dispatch, whenever a worker starts."""
    text = """
    stop, rounds = threading.Event(), [0, 0]
    def compute(k):
        a = paddle.rand([160, 160])
        while not stop.is_set():
            a = (a @ a) / (a.abs().max() + 1.0)
            rounds[k] += 1
    threads = [threading.Thread(target=compute, args=(k,)) for k in range(2)]
    for t in threads: t.start()
    data = Each(lambda i: (paddle.to_tensor(np.full(3, i)), i), 8)
    for _ in range(25):
        assert [int(i.sum()) for _, i in DataLoader(data, batch_size=2, num_workers=4)] == [1, 5, 9, 13]
    stop.set()
    for t in threads: t.join()
    assert min(rounds) > 20 and not children()
    """
    run(tmp_path, text)


def test_what_goes_through(tmp_path):
    """Very large and empty arrays, strings, bytes, None, objects and named tuples."""
    text = """
    import collections
    Pair = collections.namedtuple("Pair", "a b")
    big = DataLoader(Each(lambda i: np.full((25, 1000, 1000), i, "float64"), 3), batch_size=None, num_workers=2)
    for i, x in enumerate(big):
        assert x.shape == [25, 1000, 1000] and float(x[24, 999, 999]) == i and float(x[0, 0, 0]) == i
    del x, big
    def sample(i):
        return {"empty": np.zeros((0, 3), "int16"), "s": f"s{i}", "bytes": bytes([i]), "pair": Pair(i, [1.5]),
                "names": np.array([f"x{i}"]), "half": np.float16(i), "flag": np.bool_(i % 2), "c": 1j * i}
    plain, many = (list(DataLoader(Each(sample, 4), batch_size=2, num_workers=n)) for n in (0, 2))
    for a, b in zip(plain, many, strict=True):
        assert list(a) == list(b)
        for key in a:
            x, y = a[key], b[key]
            assert type(x) is type(y)
            if isinstance(x, paddle.Tensor):
                assert x.dtype == y.dtype and x.shape == y.shape and np.array_equal(x.numpy(), y.numpy())
            elif key != "pair":
                assert np.array_equal(x, y)
    assert many[0]["empty"].shape == [2, 0, 3] and many[1]["s"] == ["s2", "s3"] and many[1]["bytes"] == [b"\\2", b"\\3"]
    assert [t.tolist() for t in many[0]["pair"][:1]] == [[0, 1]] and many[0]["names"].tolist() == [["x0"], ["x1"]]
    asis = lambda batch: (None, [None, b"", {}], {"k": Pair(None, {1, 2})}, np.array([None, "x"], object), batch)
    for n in (0, 1):
        none, nested, table, objects, batch = next(iter(DataLoader(Each(lambda i: None), num_workers=n, collate_fn=asis)))
        assert none is None and nested == [None, b"", {}] and table["k"][1] == {1, 2} and batch == [None]
        assert objects.tolist() == [None, "x"]
        try:
            next(iter(DataLoader(Each(lambda i: None), num_workers=n)))
            raise AssertionError
        except TypeError as e:
            assert "NoneType" in str(e)
    """
    run(tmp_path, text)
