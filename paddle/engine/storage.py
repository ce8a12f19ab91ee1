"""Storage: the slot that holds a tensor's array, shared by tensors that share memory officially.

Arrays are immutable, so an in-place operation puts another array into the slot and raises the slot's version. Tensors
that see each other's writes share a slot (`detach`) or derive from one (`View`: slices, `reshape`, `transpose`).
"""
from __future__ import annotations

from typing import Any, Callable

from .modes import set_mode


# Views of views deeper than this are copies: a loop `x = x[1:]` must not keep every step alive.
VIEW_DEPTH = 32


class Storage:
    """`value` is the array, or None when reading has to compute it first (see `read`)."""

    __slots__ = ("value", "version", "pending", "__weakref__")

    def __init__(self, value: Any):
        self.value = value
        self.version = 0
        self.pending: Callable[[], Any] | None = None

    def read(self, owner: Any) -> Any:
        """The array of a slot whose `value` is None; `owner` is the tensor that asks."""
        self.value = self.pending()
        self.pending = None
        return self.value

    def write(self, value: Any) -> None:
        self.value = value
        self.pending = None
        self.version += 1

    def postpone(self, pending: Callable[[], Any]) -> None:
        """Replace the array by one that `pending()` makes when it is needed."""
        self.value = None
        self.pending = pending
        self.version += 1


class View(Storage):
    """A slot that derives from the slot of a base tensor by an operator and its arguments.

    `value` stays None, so that every read comes here and compares versions: unchanged, the array computed last is
    good; otherwise the operator runs again on the base, with the tape on, and the owner joins the new graph.
    """

    __slots__ = ("base", "op", "args", "cached", "seen", "depth")

    def __init__(self, value: Any, base: Any, op: Any, args: tuple):
        self.value = None
        self.pending = None
        self.base, self.op, self.args = base, op, args
        self.cached = value
        self.seen = base._storage.version
        self.depth = getattr(base._storage, "depth", 0) + 1

    @property
    def version(self) -> int:  # type: ignore[override]  # one counter for all tensors over the same memory
        return self.base._storage.version

    def read(self, owner: Any) -> Any:
        if self.seen != self.base._storage.version:
            with set_mode(grad=True, amp=None):
                fresh = self.op.public(self.base, *self.args)
            self.cached = fresh._value
            self.seen = self.base._storage.version
            owner._node, owner._index, owner._stop = fresh._node, fresh._index, fresh._stop
        return self.cached

    def write(self, value: Any) -> None:
        raise AssertionError("a view is written through Tensor._rebind")
