"""From samples to what a program is fed."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..static.program import default_main_program
from .reader import GeneratorLoader

__all__ = ["DataFeeder"]


class DataFeeder:
    """Makes the dict to feed from a list of samples.

    Args:
        feed_list: the inputs, or their names.
        place: accepted.
        program: where names are looked up; default: the default program.
    """

    def __init__(self, feed_list: Any, place: Any = None, program: Any = None):
        program = program or default_main_program()
        block = program.global_block()
        self._loader = GeneratorLoader([block.var(v) if isinstance(v, str) else v for v in feed_list])

    def feed(self, iterable: Any) -> dict[str, Any]:
        """The arrays of a batch by the names of the inputs. ValueError when samples have another number of parts."""
        batches = list(self._loader.set_sample_list_generator(lambda: [list(iterable)]))
        if len(batches[0]) != len(self._loader._feed_list):
            raise errors.ValueError_(
                f"feed: the samples have {len(batches[0])} parts, there are {len(self._loader._feed_list)} inputs"
            )
        return batches[0]
