"""Data sets of text files, as large recommenders are trained on."""

from .dataset import DatasetBase, InMemoryDataset, QueueDataset

__all__: list[str] = []
