"""Memory of batches that is used again: never while someone still has a batch, whoever that is."""

import gc
import mmap
import os
import re
import signal
import socket
import threading
import time
from collections import deque

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import paddle
from paddle.io import DataLoader, IterableDataset, blocks, get_worker_info
from paddle.io.collate import default_collate_fn

from _datasets import Each

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs fork and anonymous files")

LARGE = 40_000  # float32 numbers of a sample: two of them are worth a block


def numbers(n, size=LARGE):
    """Samples full of their number."""
    return Each(lambda i: np.full(size, i, "float32"), n)


def right(batch, k, size=2):
    """Whether it is the k-th batch of `numbers`, in every element."""
    want = np.arange(k * size, k * size + batch.shape[0], dtype="float32")
    return bool((batch.numpy() == want[:, None]).all())


def shared():
    """Bytes of blocks in this process that take memory, and how many blocks are mapped."""
    gc.collect()
    with open("/proc/self/smaps") as f:
        entries = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", f.read(), flags=re.M)
    mine = [e for e in entries if "memfd:paddle-batch" in e]
    return sum(int(re.search(r"^Rss: +(\d+) kB", e, re.M)[1]) << 10 for e in mine), len(mine)


@pytest.mark.parametrize("persistent", [False, True])
def test_batches_that_are_kept_stay_as_they_are(persistent):
    """All of an epoch, some of each, and those of workers that are gone."""
    loader = DataLoader(numbers(100), batch_size=2, num_workers=2, persistent_workers=persistent)
    every = list(loader)
    rng, some = np.random.RandomState(0), {}
    for epoch in range(3):
        for k, batch in enumerate(loader):
            assert right(batch, k)
            if rng.rand() < 0.3:
                some[epoch, k] = batch
            if some and rng.rand() < 0.3:
                some.pop(list(some)[rng.randint(len(some))])
    del loader
    assert len(every) == 50 and all(right(batch, k) for k, batch in enumerate(every))
    assert some and all(right(batch, k) for (_, k), batch in some.items())


def test_memory_is_used_again_and_given_back():
    size = 2 * 4 * LARGE
    loader = DataLoader(numbers(120), batch_size=2, num_workers=2, persistent_workers=True)
    for k, batch in enumerate(loader):
        assert right(batch, k)
    assert 2 <= shared()[1] <= 16, shared()
    kept = list(loader)
    assert shared()[1] >= 60
    del kept, batch
    assert shared()[0] <= 24 * size, shared()  # at once
    assert all(right(batch, k) for k, batch in enumerate(loader))
    assert shared()[1] <= 24, shared()
    del loader
    assert shared()[1] <= 1


def test_new_workers_use_the_memory_of_those_before(monkeypatch):
    loader = DataLoader(numbers(24), batch_size=2, num_workers=2)
    for k, batch in enumerate(loader):
        assert right(batch, k)
    del batch
    before = shared()[1]
    assert 4 <= before <= 16

    def none():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(blocks, "anonymous_memory", none)
    kept = []
    for k, batch in enumerate(loader):
        assert right(batch, k)
        kept.append(batch)
    assert shared()[1] <= before and all(right(b, k) for k, b in enumerate(kept))
    monkeypatch.undo()
    monkeypatch.setattr("paddle.io.pool.SPARE", 0)
    assert len(list(loader)) == 12
    del kept, batch
    assert shared()[1] == 0


def test_a_worker_that_keeps_and_writes_to_what_it_has_sent():
    """Its own arrays stay as they are while the memory of others goes round, and what was sent does not change."""
    mine = []

    def keeping(samples):
        for old in mine:  # the worker's copies are as it left them
            assert (old == old[0, 0]).all()
        batch = default_collate_fn(samples)
        mine.append(batch)
        sent, mine[0][:] = batch[0, 0], -len(mine)
        return [batch, float(sent), mine[0]]

    kept = list(DataLoader(numbers(40), batch_size=1, num_workers=1, collate_fn=keeping))
    for k, (batch, sent, first) in enumerate(kept):
        assert (batch.numpy() == (sent if k else -1)).all() and sent == k and (first.numpy() == -(k + 1)).all()


def test_a_part_of_a_batch_and_a_batch_twice():
    def parts(samples):
        batch = default_collate_fn(samples)
        return {"half": batch[1:], "whole": [batch, batch], "strided": batch[:, ::2], "back": batch[::-1]}

    for k, batch in enumerate(DataLoader(numbers(40), batch_size=4, num_workers=2, collate_fn=parts)):
        assert right(batch["whole"][0], k, 4) and right(batch["whole"][1], k, 4)
        assert (batch["half"].numpy() == batch["whole"][0].numpy()[1:]).all()
        assert (batch["back"].numpy() == batch["whole"][0].numpy()[::-1]).all() and batch["strided"].shape[
            1
        ] == LARGE / 2


def test_a_process_that_has_come_along_with_a_batch():
    """Workers of another loader, whose dataset holds batches of this one, have them for good."""
    loader = DataLoader(numbers(200), batch_size=2, num_workers=1, persistent_workers=True)
    batches = iter(loader)
    held = [next(batches) for _ in range(3)]
    other = iter(DataLoader(Each(lambda i: held[i % 3].numpy().copy(), 60), batch_size=3, num_workers=1))
    assert next(other).shape == [3, 2, LARGE]
    held.clear()
    gc.collect()
    for k, batch in enumerate(batches):
        assert right(batch, k + 3)
    for x in other:
        assert all((x[i].numpy() == np.array([2 * i, 2 * i + 1])[:, None]).all() for i in range(3))


def test_computations_that_still_run_when_the_batch_is_gone():
    x = paddle.ones([300, 300])
    results = []
    for k, batch in enumerate(DataLoader(numbers(60, 300 * 300), batch_size=1, num_workers=2)):
        slow = x
        for _ in range(4):
            slow = slow @ x / 300.0
        results.append((slow * batch.reshape([300, 300])).sum())
        batch = None
    assert [round(float(r) / 90_000) for r in results] == list(range(60))


def test_writing_to_a_batch():
    """In place, with gradients, through NumPy: it is ours alone."""
    loader = DataLoader(numbers(40), batch_size=2, num_workers=2, persistent_workers=True)
    for _ in range(2):
        kept = []
        for k, batch in enumerate(loader):
            assert right(batch, k)
            batch += 100
            batch[0] = 7.0
            kept.append(batch)
        assert all((b[0].numpy() == 7).all() and (b[1].numpy() == 101 + 2 * k).all() for k, b in enumerate(kept))


def test_batches_outlive_a_killed_worker():
    loader = DataLoader(Each(lambda i: (np.full(LARGE, i, "float32"), os.getpid()), 400), batch_size=2, num_workers=2)
    kept = []
    with pytest.raises(RuntimeError, match="SIGKILL"):
        for batch, pid in loader:
            kept.append(batch)
            if len(kept) == 20:
                os.kill(int(pid[0]), signal.SIGKILL)
    assert len(list(DataLoader(numbers(40), batch_size=2, num_workers=2))) == 20
    assert all(right(batch, k) for k, batch in enumerate(kept))


def test_sizes_that_change():
    rng = np.random.RandomState(0)
    sizes = [int(s) for s in rng.randint(1, 300_000, 60)]
    loader = DataLoader(Each(lambda i: np.full(sizes[i], i, "int32"), 60), num_workers=2, persistent_workers=True)
    for _ in range(2):
        for i, batch in enumerate(loader):
            assert batch.shape == [1, sizes[i]] and (batch.numpy() == i).all()
    assert shared()[0] < 60 * 1_200_000, shared()


def test_too_many_mappings_in_the_process_of_the_loader(monkeypatch):
    parent, map_it = os.getpid(), blocks.Mapping.__init__

    def few(*args):
        if os.getpid() == parent:
            raise OSError(12, "Cannot allocate memory")
        map_it(*args)

    monkeypatch.setattr(blocks.Mapping, "__init__", few)
    kept = list(DataLoader(numbers(60), batch_size=2, num_workers=2, persistent_workers=True))
    assert all(right(batch, k) for k, batch in enumerate(kept)) and shared()[1] == 0


def test_several_loaders_and_threads_at_once():
    wrong, done = [], []

    def load(n):
        loader = DataLoader(numbers(40), batch_size=2, num_workers=1, persistent_workers=n % 2 == 0)
        for _ in range(2):
            last = deque(maxlen=5)
            for k, batch in enumerate(loader):
                last.append((k, batch))
                wrong.extend(j for j, b in last if not right(b, j))
        done.append(n)

    threads = [threading.Thread(target=load, args=(n,), daemon=True) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not wrong and sorted(done) == [0, 1, 2]


def test_a_default_limit_of_sockets():
    socket.setdefaulttimeout(0.2)
    try:
        slow = Each(lambda i: time.sleep(0.5 * (i == 3)) or np.full(LARGE, i, "float32"), 12)
        loader = DataLoader(slow, batch_size=2, num_workers=1, persistent_workers=True)
        for _ in range(2):
            assert all(right(batch, k) for k, batch in enumerate(loader))
        lists = [[0] * 200_000] * 6  # more than a connection takes at once
        long = DataLoader(Each(int), batch_sampler=lists, num_workers=1, collate_fn=lambda s: np.full(LARGE, len(s)))
        assert [int(batch[-1]) for batch in long] == [200_000] * 6
    finally:
        socket.setdefaulttimeout(None)


def test_workers_begin_before_the_first_batch_is_asked_for(tmp_path):
    def sample(i):
        (tmp_path / str(i)).touch()
        return i

    batches = iter(DataLoader(Each(sample, 20), num_workers=2, prefetch_factor=2))
    until = time.monotonic() + 30
    while len(os.listdir(tmp_path)) < 4 and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(0.1)
    assert sorted(os.listdir(tmp_path)) == list("0123")
    assert [int(i) for i in batches] == list(range(20))

    def broken():
        yield [0]
        raise LookupError("no more indices")

    with pytest.raises(LookupError, match="no more indices"):
        iter(DataLoader(Each(sample), batch_sampler=broken(), num_workers=1))


def test_workers_leave_while_the_last_batches_are_used():
    data = Each(lambda i: (np.full(LARGE, i, "float32"), os.getpid()), 4)
    batches = iter(DataLoader(data, num_workers=2))
    workers = {int(next(batches)[1]) for _ in range(3)}  # one is still to come
    until = time.monotonic() + 30
    while any(_runs(pid) for pid in workers) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(_runs(pid) for pid in workers)
    last, pid = next(batches)
    assert (last.numpy() == 3).all() and int(pid) in workers and next(batches, None) is None


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


# ---- the same as from one process ----
_shapes = st.sampled_from([(), (0,), (3,), (40, 50), (400, 110), (90, 3, 200)])
_leaves = st.one_of(
    st.tuples(
        st.just("array"), _shapes, st.sampled_from(["float32", "int64", "uint8", "bool", "float16", "complex64"])
    ),
    st.tuples(st.just("tensor"), _shapes, st.just("float32")),
    st.tuples(st.sampled_from(["int", "float", "text", "ragged text", "fortran"]), st.just(()), st.just("")),
)
_structures = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
    ),
    max_leaves=5,
)


def _is_leaf(structure):
    return isinstance(structure, tuple) and isinstance(structure[0], str)


def _made(structure, i):
    if isinstance(structure, dict):
        return {k: _made(v, i) for k, v in structure.items()}
    if not _is_leaf(structure):
        return type(structure)(_made(v, i) for v in structure)
    kind, shape, dtype = structure
    array = (np.arange(int(np.prod(shape))).reshape(shape) % 97 + i).astype(dtype or "float32")
    return {
        "array": lambda: array,
        "tensor": lambda: paddle.to_tensor(array),
        "int": lambda: i,
        "float": lambda: i / 2,
        "text": lambda: "t",
        "ragged text": lambda: "t" * i,
        "fortran": lambda: np.asfortranarray(np.arange(60_000.0).reshape(200, 300) + i),
    }[kind]()


def same(a, b):
    if isinstance(a, paddle.Tensor):
        assert isinstance(b, paddle.Tensor) and a.dtype == b.dtype and a.shape == b.shape
        assert np.array_equal(a.numpy(), b.numpy())
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            same(a[k], b[k])
    elif isinstance(a, list):
        assert isinstance(b, list) and len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert type(a) is type(b) and np.array_equal(a, b)


class Stream(IterableDataset):
    def __init__(self, f, n):
        self.f, self.n = f, n

    def __iter__(self):
        info = get_worker_info()
        return (self.f(i) for i in range(self.n) if info is None or info.id == 0)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(_structures, st.integers(1, 7), st.sampled_from([None, 1, 2, 3]), st.booleans(), st.booleans())
def test_any_structure_comes_as_from_one_process(structure, n, batch_size, stream, drop_last):
    data = (Stream if stream else Each)(lambda i: _made(structure, i), n)
    arguments = dict(batch_size=batch_size, drop_last=drop_last and batch_size is not None)
    plain = list(DataLoader(data, **arguments))
    many = list(DataLoader(data, num_workers=2 - stream, **arguments))  # all are kept
    assert len(plain) == len(many)
    if batch_size is not None:  # the batches of one process, from NumPy
        whole = [
            default_collate_fn([_made(structure, i) for i in range(k, min(k + batch_size, n))])
            for k in range(0, n, batch_size)
        ]
        for a, b in zip(whole, plain):
            leaves_a, leaves_b = _arrays(a), _arrays(b)
            assert len(leaves_a) == len(leaves_b) and all(map(np.array_equal, leaves_a, leaves_b))
    for a, b in zip(plain, many):
        same(a, b)


def _arrays(batch):
    if isinstance(batch, dict):
        return [x for v in batch.values() for x in _arrays(v)]
    if isinstance(batch, list):
        return [x for v in batch for x in _arrays(v)]
    return [batch.numpy() if isinstance(batch, paddle.Tensor) else np.asarray(batch)]


def test_samples_that_differ():
    """Arrays go to their place in the batch one by one; what does not fit there is stacked as before."""
    big = np.ones((60, 60), "float32")
    for n in (0, 1):
        mixed = DataLoader(
            Each(lambda i: big * i if i != 1 else (big * i).astype("float64")), batch_size=4, num_workers=n
        )
        (batch,) = mixed
        assert batch.dtype is paddle.float64 and batch[:, 3, 4].tolist() == [0, 1, 2, 3]
        for samples in (lambda i: big[: 60 - i], lambda i: {"ab"[i % 2]: big}, lambda i: [big] * (1 + i % 2)):
            with pytest.raises(ValueError, match="different"):
                list(DataLoader(Each(samples), batch_size=4, num_workers=n))
        reused = np.zeros((50, 50))

        def same_array(i):
            reused[:] = i
            return reused

        (batch,) = DataLoader(Each(same_array), batch_size=4, num_workers=n)
        assert batch[:, 7, 7].tolist() == [0, 1, 2, 3]


def test_blocks_alone():
    """The worker's side, without a process: best fit, age, and the last one that lets go decides."""
    ended = deque()
    memory = blocks.Blocks(ended, {})
    a = memory.empty((1 << 20,), "uint8")
    assert a.ctypes.data % mmap.PAGESIZE == 0
    part = memory.find(memoryview(a)[100:200])
    assert (part.start, part.size, part.held) == (100, 100, True)
    assert memory.find(memoryview(np.zeros(10, "uint8"))) is None and memory.find(memoryview(b"")) is None
    memory.retain(part.block)
    address = a.ctypes.data
    del a
    assert not part.held
    b = memory.empty((1 << 20,), "uint8")
    assert b.ctypes.data != address  # the other process has it
    ended.append((part.block.number, True))
    c = memory.empty((900_000,), "uint8")
    assert c.ctypes.data == address and memory.empty((100,), "uint8").size == 100
    os.close(part.block.descriptor)  # as if it had been sent
    part.block.descriptor = None
    del b, c
    gone = [memory.next_batch() for _ in range(12)]
    assert sum(gone, []) == [part.block.number] and gone[0] == []
