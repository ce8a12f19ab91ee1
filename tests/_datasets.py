"""Data sets that the tests share."""

from paddle.io import Dataset


class Each(Dataset):
    """The results of a function of the index, run in the worker."""

    def __init__(self, f, n=4):
        self.f, self.n = f, n

    def __getitem__(self, i):
        return self.f(i)

    def __len__(self):
        return self.n
