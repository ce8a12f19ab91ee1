"""DataLoader and collation."""

import numpy as np
import pytest

import paddle
from paddle.io import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequenceSampler,
    TensorDataset,
    get_worker_info,
    reader,
)
from paddle.io.collate import default_collate_fn, default_convert_fn


class Pairs(Dataset):
    def __init__(self, n=10):
        self.n = n

    def __getitem__(self, i):
        return np.array([i, i * i], "float32"), np.int64(i)

    def __len__(self):
        return self.n


class Stream(IterableDataset):
    def __init__(self, n=5, share=False):
        self.n, self.share = n, share

    def __iter__(self):
        info = get_worker_info()
        part, parts = (info.id, info.num_workers) if info and self.share else (0, 1)
        for i in range(part, self.n, parts):
            yield np.array([i])


def labels(loader):
    return [batch[1].tolist() for batch in loader]


def test_batches_are_tensors():
    loader = DataLoader(Pairs(), batch_size=4)
    batches = list(loader())  # a call returns the iterator
    assert len(loader) == 3 == len(batches) and isinstance(batches[0], list)
    x, y = batches[2]
    assert (x.shape, x.dtype, y.shape, y.dtype) == ([2, 2], paddle.float32, [2], paddle.int64)
    assert x.tolist() == [[8, 64], [9, 81]] and y.tolist() == [8, 9] and x.stop_gradient


def test_order_and_dropping():
    assert labels(DataLoader(Pairs(), batch_size=4, drop_last=True)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert labels(DataLoader(Pairs(), batch_sampler=[[3, 1], [2]])) == [[3, 1], [2]]
    assert labels(DataLoader(Pairs(), sampler=[9, 8, 7], batch_size=2)) == [[9, 8], [7]]
    np.random.seed(5)
    loader = DataLoader(Pairs(), batch_size=5, shuffle=True)
    assert labels(loader) == [[9, 5, 2, 4, 7], [1, 0, 8, 6, 3]]  # official
    assert sorted(sum(labels(loader), [])) == list(range(10))


def test_without_batches_samples_pass():
    loader = DataLoader(Pairs(3), batch_size=None)
    x, y = next(iter(loader))
    assert len(loader) == 3 and x.shape == [2] and isinstance(y, np.int64)  # official: numbers stay


def test_structures():
    class Nested(Dataset):
        def __getitem__(self, i):
            return {
                "a": np.array([i], "float32"),
                "b": [i, i / 2],
                "s": f"x{i}",
                "t": (np.int32(i), paddle.to_tensor([i])),
                "f": True,
            }

        def __len__(self):
            return 4

    batch = next(iter(DataLoader(Nested(), batch_size=2)))
    assert batch["a"].shape == [2, 1] and batch["b"][0].dtype is paddle.int64 and batch["b"][1].dtype is paddle.float64
    assert batch["s"] == ["x0", "x1"] and isinstance(batch["t"], list) and batch["f"].dtype is paddle.bool
    assert batch["t"][0].dtype is paddle.int32 and batch["t"][1].tolist() == [[0], [1]]


def test_collate_fn_and_its_result():
    made = next(
        iter(
            DataLoader(
                Pairs(), batch_size=2, collate_fn=lambda s: (np.stack([x for x, _ in s]), {"q": np.ones(1)}, "s", 3)
            )
        )
    )
    assert made[0].shape == [2, 2] and isinstance(made[1]["q"], paddle.Tensor) and made[2:] == ["s", 3]
    same = next(iter(DataLoader(Pairs(), batch_size=2, collate_fn=lambda s: len(s))))
    assert same == 2


def test_a_buffer_that_is_used_again_does_not_change_earlier_batches():
    buffer = np.zeros((2, 64), "float32")

    def fill(samples):
        buffer[:] = samples[0][1]
        return buffer

    batches = list(DataLoader(Pairs(6), batch_size=2, collate_fn=fill))
    assert [b[0, 0].item() for b in batches] == [0, 2, 4]

    class Same(Dataset):
        def __getitem__(self, i):
            buffer[:] = i
            return buffer

        def __len__(self):
            return 3

    assert [b[0, 0].item() for b in DataLoader(Same(), batch_size=None)] == [0, 1, 2]
    assert [b[0, 0, 0].item() for b in DataLoader(Same(), batch_size=1)] == [0, 1, 2]


def test_tensor_dataset_is_gathered_at_once():
    data = TensorDataset([paddle.arange(20).reshape([10, 2]), np.arange(10)])
    fast = [(x.tolist(), y.tolist()) for x, y in DataLoader(data, batch_size=3)]
    slow = [
        (x.tolist(), y.tolist()) for x, y in DataLoader(data, batch_size=3, collate_fn=lambda s: default_collate_fn(s))
    ]
    assert fast == slow and fast[3] == ([[18, 19]], [9])

    class Doubled(TensorDataset):
        def __getitem__(self, i):
            return self.tensors[1][i] * 2

    assert next(iter(DataLoader(Doubled(data.tensors), batch_size=2))).tolist() == [0, 2]


def test_streams():
    assert [b.tolist() for b in DataLoader(Stream(), batch_size=2)] == [[[0], [1]], [[2], [3]], [[4]]]
    assert len(list(DataLoader(Stream(), batch_size=2, drop_last=True))) == 2
    assert next(iter(DataLoader(Stream(), batch_size=None))).tolist() == [0]
    for kind in (TypeError, ValueError):
        with pytest.raises(kind):
            len(DataLoader(Stream()))


def test_workers_have_numbers():
    class Told(Stream):
        def __iter__(self):
            yield from ([i.item(), self.told] for i in super().__iter__())

    data = Told(9, share=True)

    def tell(number):
        get_worker_info().dataset.told = 10 * number + get_worker_info().num_workers

    loader = DataLoader(data, batch_size=2, num_workers=2, worker_init_fn=tell)
    assert [[t.tolist() for t in b] for b in loader] == [
        [[0, 2], [2, 2]],
        [[1, 3], [12, 12]],
        [[4, 6], [2, 2]],
        [[5, 7], [12, 12]],
        [[8], [2]],
    ]
    assert get_worker_info() is None
    # each iterates over all of a stream that does not share, turn by turn (official)
    assert [b.reshape([-1]).tolist() for b in DataLoader(Stream(3), batch_size=2, num_workers=2)] == [
        [0, 1],
        [0, 1],
        [2],
        [2],
    ]

    class Who(Pairs):
        def __getitem__(self, i):
            return np.array([i, get_worker_info().id])

    assert [b.tolist() for b in DataLoader(Who(4), batch_size=1, num_workers=3)] == [
        [[0, 0]],
        [[1, 1]],
        [[2, 2]],
        [[3, 0]],
    ]


def test_errors_reach_the_caller():
    class Bad(Pairs):
        def __getitem__(self, i):
            if i == 3:
                raise ValueError(f"sample {i} is damaged")
            return super().__getitem__(i)

    for workers in (0, 2):
        with pytest.raises(ValueError, match="sample 3 is damaged"):
            list(DataLoader(Bad(), batch_size=2, num_workers=workers))
        assert get_worker_info() is None


@pytest.mark.parametrize(
    "arguments",
    [
        dict(batch_size=0),
        dict(batch_size=-1),
        dict(batch_size=2.0),
        dict(num_workers=-1),
        dict(timeout=-1),
        dict(prefetch_factor=0),
        dict(batch_size=2, batch_sampler=[[0]]),
        dict(shuffle=True, batch_sampler=[[0]]),
        dict(sampler=[0], shuffle=True),
    ],
)
def test_arguments(arguments):
    with pytest.raises(ValueError, match="DataLoader"):
        DataLoader(Pairs(), **arguments)


def test_a_stream_has_its_own_order():
    for arguments in (
        dict(shuffle=True),
        dict(batch_sampler=BatchSampler(Pairs())),
        dict(sampler=SequenceSampler(Pairs())),
    ):
        with pytest.raises(ValueError, match="own order"):
            DataLoader(Stream(), **arguments)


@pytest.mark.parametrize(
    "batch, kind, words",
    [
        ([None, None], TypeError, "NoneType"),
        ([np.ones(2), np.ones(3)], ValueError, r"\[2\], \[3\]"),
        ([(1, 2), (3,)], ValueError, "fields"),
        ([{"a": 1}, {"b": 2}], ValueError, "keys"),
        ([], ValueError, "empty"),
        ([{1}], TypeError, "set"),
        ([np.ones((2, 3)), np.ones((3, 2))], ValueError, "shapes"),
    ],
)
def test_collate_errors(batch, kind, words):
    with pytest.raises(kind, match=words):
        default_collate_fn(batch)


def test_collate_kinds():
    assert default_collate_fn([1.5, 2.5]).dtype == np.float64 and default_collate_fn([True, False]).dtype == bool
    assert default_collate_fn([np.float16(1)]).dtype == np.float16 and default_collate_fn(
        [np.array(3), np.array(4)]
    ).shape == (2,)
    assert default_collate_fn([np.zeros((0, 2)), np.zeros((0, 2))]).shape == (2, 0, 2)
    assert default_convert_fn({"a": (1, np.ones(1))}) == {"a": [1, np.ones(1)]}


def test_one_batch_makes_no_compilations():
    loader = DataLoader(TensorDataset([paddle.ones([64, 3]), paddle.zeros([64], "int64")]), batch_size=16, shuffle=True)
    list(loader)
    with paddle.utils.count_compiles() as count:
        list(loader)
    assert count.compiles == 0


def test_the_next_batch_is_on_its_way_to_another_device(monkeypatch):
    """Where the device is not the CPU a batch is moved while the one before is in use: always one ahead, each one once."""
    moved = []

    class Device:
        platform = "other"

    real = reader.to_tensors
    monkeypatch.setattr(
        reader.places, "parse_place", lambda place: type("Place", (), {"device": lambda self: Device()})()
    )
    monkeypatch.setattr(
        reader, "to_tensors", lambda batch, device, copy: moved.append(type(device)) or real(batch, None, copy)
    )
    for workers in (0, 2):
        for buffered in (True, False):
            moved.clear()
            seen = []
            loader = DataLoader(Pairs(), batch_size=2, places="other", num_workers=workers, use_buffer_reader=buffered)
            for _ in loader:
                seen.append(len(moved))
            n = len(loader)
            assert seen == ([min(i + 2, n) for i in range(n)] if buffered else [i + 1 for i in range(n)])
            assert moved == [Device] * n
