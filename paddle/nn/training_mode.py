"""Networks for a while in another mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .layer import Layer


@contextmanager
def in_mode(network: Layer, training: bool) -> Iterator[None]:
    """A network in training or evaluation mode; afterwards each of its layers is as it was."""
    before = [(layer, layer.training) for layer in network.sublayers(include_self=True)]
    try:
        network.train() if training else network.eval()
        yield
    finally:
        for layer, was in before:
            layer.training = was
