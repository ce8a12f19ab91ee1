"""Datasets. Values named official were recorded from the official package 3.3.1."""

import numpy as np
import pytest

import paddle
from paddle.io import (
    ChainDataset,
    ComposeDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Numbers(Dataset):
    def __init__(self, n, offset=0):
        self.n, self.offset = n, offset

    def __getitem__(self, i):
        return self.offset + i

    def __len__(self):
        return self.n


class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


def test_tensor_dataset():
    data = TensorDataset([paddle.arange(6).reshape([3, 2]), paddle.to_tensor([1.0, 2.0, 3.0])])
    x, y = data[1]
    assert len(data) == 3 and x.tolist() == [2, 3] and y.shape == [] and y.item() == 2.0
    for bad in ([paddle.ones([2]), paddle.ones([3])], [], [paddle.to_tensor(1.0)], [[1, 2]]):
        with pytest.raises(ValueError, match="TensorDataset"):
            TensorDataset(bad)


def test_compose_concat_chain_subset():
    assert ComposeDataset([Numbers(3), TensorDataset([paddle.arange(3)])])[2][0] == 2
    both = ConcatDataset([Numbers(3), Numbers(4, 10)])
    assert [both[i] for i in range(7)] == [0, 1, 2, 10, 11, 12, 13] == [both[i - 7] for i in range(7)]
    assert both.cumulative_sizes == [3, 7] == ConcatDataset.cumsum([Numbers(3), Numbers(4)])
    for i in (7, -8):  # the official package gives the wrong sample or a bare list error
        with pytest.raises(IndexError, match="out of range"):
            both[i]
    assert list(ChainDataset([Stream(2), Stream(3)])) == [0, 1, 0, 1, 2]
    assert [Subset(Numbers(9), [7, 1])[i] for i in (0, 1, -1)] == [7, 1, 1]
    assert ConcatDataset([Numbers(0), Numbers(2)])[0] == 0


@pytest.mark.parametrize(
    "make, kind",
    [
        (lambda: ComposeDataset([]), ValueError),
        (lambda: ComposeDataset([Numbers(2), Numbers(3)]), ValueError),
        (lambda: ComposeDataset([Stream(2)]), ValueError),
        (lambda: ConcatDataset([]), ValueError),
        (lambda: ConcatDataset([Stream(2)]), ValueError),
        (lambda: ChainDataset([Numbers(2)]), TypeError),
        (lambda: Dataset()[0], NotImplementedError),
        (lambda: len(Dataset()), NotImplementedError),
        (lambda: iter(IterableDataset()), NotImplementedError),
        (lambda: Stream(2)[0], RuntimeError),
        (lambda: len(Stream(2)), RuntimeError),
    ],
)
def test_errors(make, kind):
    with pytest.raises(kind):
        make()


def test_random_split():
    parts = random_split(Numbers(11), [0.5, 0.3, 0.2])
    assert [len(p) for p in parts] == [6, 3, 2]  # official
    assert sorted(p[i] for p in parts for i in range(len(p))) == list(range(11))
    paddle.seed(4)
    first = [list(p.indices) for p in random_split(Numbers(10), [7, 3])]
    np.random.seed(0)
    paddle.seed(4)
    assert [list(p.indices) for p in random_split(Numbers(10), [7, 3])] == first  # official: the framework's generator
    own = random_split(Numbers(10), [7, 3], generator=paddle.seed(4))
    assert [list(p.indices) for p in own] == first
    assert [len(p) for p in random_split(Numbers(3), [1.0, 0.0])] == [3, 0]
    for bad in ([3, 3], [0.5, 0.4], [11, -1], [0.5, 0.6]):
        with pytest.raises(ValueError, match="random_split"):
            random_split(Numbers(10), bad)
