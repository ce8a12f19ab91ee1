"""Datasets of pictures."""

from .digits import digits_path
from .mnist import MNIST, FashionMNIST

__all__ = ["MNIST", "FashionMNIST"]
