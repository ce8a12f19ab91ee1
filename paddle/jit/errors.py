"""Why a call could not become one program."""

from __future__ import annotations


class GraphBreak(Exception):
    """The function does something that a program cannot hold. Without `full_graph` the call runs eagerly then."""


class Mismatch(GraphBreak, TypeError):
    """A variable differs in kind between branches, or between iterations."""


class Grows(Mismatch):
    """A list or dict has more entries after each iteration of a loop whose number of iterations a tensor decides."""
