"""Samplers. Orders named official were recorded from the official package 3.3.1 with NumPy's generator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
from paddle.io import (
    BatchSampler,
    DistributedBatchSampler,
    RandomSampler,
    SequenceSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def test_orders_follow_numpys_generator_as_officially():
    np.random.seed(5)
    assert list(RandomSampler(range(10))) == [9, 5, 2, 4, 7, 1, 0, 8, 6, 3]
    np.random.seed(5)
    assert list(RandomSampler(range(10), replacement=True)) == [3, 6, 6, 0, 9, 8, 4, 7, 0, 0]
    np.random.seed(5)
    assert list(BatchSampler(range(10), shuffle=True, batch_size=3)) == [[9, 5, 2], [4, 7, 1], [0, 8, 6], [3]]
    np.random.seed(5)
    assert list(WeightedRandomSampler([0.1, 0.5, 0.4], 5)) == [1, 2, 1, 2, 1]
    assert all(type(i) is int for i in RandomSampler(range(3)))


def test_subset_random_follows_the_generator_of_the_framework():
    draws = []
    for np_seed in (1, 2):
        paddle.seed(5)
        np.random.seed(np_seed)
        draws.append([list(SubsetRandomSampler([1, 2, 5, 9, 7])) for _ in range(2)])
    assert draws[0] == draws[1] and draws[0][0] != draws[0][1] and sorted(draws[0][0]) == [1, 2, 5, 7, 9]


def test_random_sampler_generators_and_sizes():
    assert list(RandomSampler(range(10), generator=iter([3, 1, 2, 5, 7, 8]))) == [3, 1, 2, 5, 7, 8]  # official
    assert list(RandomSampler(range(10), num_samples=4, generator=iter([3, 1, 2, 5, 7]))) == [3, 1, 2, 5]
    first = list(RandomSampler(range(10), generator=paddle.seed(2)))
    assert first == list(RandomSampler(range(10), generator=paddle.seed(2))) and sorted(first) == list(range(10))
    assert len(RandomSampler(range(10), num_samples=4)) == 4 == len(list(RandomSampler(range(10), num_samples=4)))
    assert list(RandomSampler([])) == []
    for bad in (
        dict(num_samples=0),
        dict(num_samples=11),
        dict(replacement=True, num_samples=-1),
        dict(num_samples=1.5),
    ):
        with pytest.raises(ValueError):
            RandomSampler(range(10), **bad)
    with pytest.raises(TypeError):
        RandomSampler(range(10), replacement=1)


def test_weighted():
    np.random.seed(0)
    draws = np.array(list(WeightedRandomSampler(paddle.to_tensor([1.0, 0.0, 3.0]), 4000)))
    assert set(draws) == {0, 2} and abs((draws == 2).mean() - 0.75) < 0.03
    assert sorted(WeightedRandomSampler([0.1, 0.5, 0.4], 3, replacement=False)) == [0, 1, 2]
    for bad in (
        ([0, 0], 2),
        ([-1, 2], 2),
        ([0, 2], 2, False),
        ([1, 2], 0),
        ([1, 2], 3, 2),
        ([[1, 2]], 3),
        ([], 1),
        ([np.nan], 1),
    ):
        with pytest.raises(ValueError, match="WeightedRandomSampler"):
            WeightedRandomSampler(*bad)


def test_batch_sampler():
    assert list(BatchSampler(range(10), batch_size=4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    dropped = BatchSampler(sampler=[5, 6, 7], batch_size=2, drop_last=True)
    assert list(dropped) == [[5, 6]] and len(dropped) == 1
    for bad in (
        dict(),
        dict(dataset=range(3), sampler=SequenceSampler(range(3))),
        dict(dataset=range(3), batch_size=0),
        dict(dataset=range(3), batch_size="3"),
        dict(sampler=[1], shuffle=True),
        dict(dataset=range(3), batch_size=2.0),
    ):
        with pytest.raises(ValueError):
            BatchSampler(**bad)
    for bad in (dict(drop_last=3), dict(shuffle=2)):
        with pytest.raises(TypeError):
            BatchSampler(range(3), **bad)


def test_distributed_official_batches():
    def batches(n, size, ranks, **kwargs):
        return [
            list(DistributedBatchSampler(range(n), size, num_replicas=ranks, rank=r, **kwargs)) for r in range(ranks)
        ]

    assert batches(10, 2, 3) == [[[0, 1], [6, 7]], [[2, 3], [8, 9]], [[4, 5], [0, 1]]]
    assert batches(5, 2, 2) == [[[0, 1], [4]], [[2, 3], [0]]]
    assert batches(10, 3, 2, drop_last=True) == [[[0, 1, 2]], [[3, 4, 5]]]
    shuffled = DistributedBatchSampler(range(10), 2, num_replicas=2, rank=0, shuffle=True)
    shuffled.set_epoch(3)
    order = np.arange(10)
    np.random.RandomState(3).shuffle(order)
    assert next(iter(shuffled)) == order[:2].tolist()
    first = list(shuffled)
    assert shuffled.epoch == 5 and list(shuffled) != first


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 5), st.booleans(), st.booleans(), st.integers(0, 9))
def test_distributed_deals_everything_evenly(n, size, ranks, shuffle, drop_last, epoch):
    seen, counts = [], set()
    for rank in range(ranks):
        sampler = DistributedBatchSampler(
            range(n), size, num_replicas=ranks, rank=rank, shuffle=shuffle, drop_last=drop_last
        )
        sampler.set_epoch(epoch)
        batches = list(sampler)
        assert len(batches) == len(sampler) and all(len(b) == size for b in batches[:-1])
        counts.add(tuple(map(len, batches)))
        seen += sum(batches, [])
    assert len(counts) == 1
    if not drop_last:
        assert set(seen) == set(range(n)) and len(seen) - n < ranks


def test_distributed_arguments(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    assert list(DistributedBatchSampler(range(4), 2)) == [[2, 3]]
    for bad in (
        dict(batch_size=0),
        dict(batch_size=2, num_replicas=0),
        dict(batch_size=2, num_replicas=2, rank=2),
        dict(batch_size=2, num_replicas=2, rank=-1),
    ):
        with pytest.raises(ValueError, match="DistributedBatchSampler"):
            DistributedBatchSampler(range(4), **bad)
