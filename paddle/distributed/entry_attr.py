"""Which ids of a sparse table get a row (`paddle.static.nn.sparse_embedding`)."""

from __future__ import annotations

from ..engine import errors


class EntryAttr:
    """Base class of the policies."""

    def _to_attr(self) -> str:
        """The policy as text."""
        raise NotImplementedError(
            "EntryAttr is the base class of CountFilterEntry, ProbabilityEntry and ShowClickEntry"
        )

    def _policy(self) -> tuple:
        """The policy as `paddle.distributed.ps.SparseTable` takes it."""
        raise NotImplementedError(
            "EntryAttr is the base class of CountFilterEntry, ProbabilityEntry and ShowClickEntry"
        )

    def _inputs(self) -> list[str]:
        """The names of inputs of the program that it counts."""
        return []


class ProbabilityEntry(EntryAttr):
    """An id gets a row with this probability each time it is seen in training; until then it reads zeros.

    Args:
        probability: between 0 and 1, a float.

    Raises:
        ValueError: for anything else.

    Example:
        >>> paddle.distributed.ProbabilityEntry(0.1)._to_attr()
        'probability_entry:0.1'
    """

    def __init__(self, probability: float):
        if not isinstance(probability, float) or not 0 < probability < 1:
            raise errors.ValueError_(
                f"ProbabilityEntry: probability must be a float between 0 and 1, got {errors.describe(probability)}"
            )
        self._name, self._probability = "probability_entry", probability

    def _to_attr(self) -> str:
        return f"{self._name}:{self._probability}"

    def _policy(self) -> tuple:
        return ("probability", self._probability)


class CountFilterEntry(EntryAttr):
    """An id gets a row once it was seen so often in training; until then it reads zeros.

    Args:
        count_filter: an int, not negative.

    Raises:
        ValueError: for anything else.

    Example:
        >>> paddle.distributed.CountFilterEntry(10)._to_attr()
        'count_filter_entry:10'
    """

    def __init__(self, count_filter: int):
        if isinstance(count_filter, bool) or not isinstance(count_filter, int) or count_filter < 0:
            raise errors.ValueError_(
                f"CountFilterEntry: count_filter must be an int of at least 0, got {errors.describe(count_filter)}"
            )
        self._name, self._count_filter = "count_filter_entry", count_filter

    def _to_attr(self) -> str:
        return f"{self._name}:{self._count_filter}"

    def _policy(self) -> tuple:
        return ("count", self._count_filter)


class ShowClickEntry(EntryAttr):
    """All ids get rows, with counts of shows and clicks by which `fleet.shrink` decides what to forget.

    Args:
        show_name, click_name: inputs of the program, one number for each sample.

    Raises:
        ValueError: for names that are no strings.

    Example:
        >>> paddle.distributed.ShowClickEntry("show", "click")._to_attr()
        'show_click_entry:show:click'
    """

    def __init__(self, show_name: str, click_name: str):
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise errors.ValueError_(
                f"ShowClickEntry: show_name and click_name must be strings, got {show_name!r}, {click_name!r}"
            )
        self._name, self._show_name, self._click_name = "show_click_entry", show_name, click_name

    def _to_attr(self) -> str:
        return f"{self._name}:{self._show_name}:{self._click_name}"

    def _policy(self) -> tuple:
        return ("show_click",)

    def _inputs(self) -> list[str]:
        return [self._show_name, self._click_name]
