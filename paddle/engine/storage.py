"""Storage: the slot that holds a tensor's array, shared by tensors that share memory officially.

Arrays are immutable, so an in-place operation puts another array into the slot. Tensors that see each other's writes
share a slot (`detach`) or derive from one (`View`: slices, `reshape`, `transpose`). `version` counts the in-place
operations, officially those that autograd has to know of: an optimizer's update and `set_value` are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .modes import modes, set_mode

# Views of views deeper than this are copies: a loop `x = x[1:]` must not keep every step alive.
VIEW_DEPTH = 32


class Storage:
    """`value` is the array (or a Deferred), or None when reading has to compute it first (see `read`)."""

    __slots__ = ("value", "version", "pending", "__weakref__")

    def __init__(self, value: Any):
        self.value = value
        self.version = 0
        self.pending: Any = None  # or a function that makes the array

    def read(self, owner: Any) -> Any:
        """The array of a slot whose `value` is None; `owner` is the tensor that asks."""
        self.value = self.pending()
        self.pending = None
        return self.value

    def write(self, value: Any) -> None:
        if modes.program is not None:
            modes.program.wrote(self, value)
        self.value = value
        self.pending = None

    def postpone(self, pending: Callable[[], Any]) -> None:
        """Replace the array by one that `pending()` makes when it is needed."""
        self.value = None
        self.pending = pending

    @property
    def root(self) -> Storage:
        """The slot at the bottom: itself, or for a view the one that all tensors over the same memory derive from."""
        return self


class View(Storage):
    """A slot that derives from the slot of a base tensor by an operator and its arguments.

    `value` stays None, so that every read comes here and looks at the array at the root: when it is another one, the
    operator runs again on the base. A view that was made while recording (`follows`) then joins the graph of its base,
    and writing to it is an operation on the base; any other only shares the memory.
    """

    __slots__ = ("base", "slot", "root", "op", "args", "cached", "seen", "depth", "follows")

    def __init__(self, value: Any, base: Any, op: Any, args: tuple, follows: bool | None = None):
        self.value = None
        self.pending = None
        self.base, self.op, self.args = base, op, args
        self.slot = base._storage
        self.root = self.slot.root  # type: ignore[misc]
        self.cached = value
        self.seen = self.root.value
        self.depth = getattr(self.slot, "depth", 0) + 1
        self.follows = modes.grad if follows is None else follows

    @property
    def version(self) -> int:  # type: ignore[override]  # one counter for all tensors over the same memory
        return self.root.version

    @property
    def source(self) -> Any:
        """The tensor to derive from: the base, or what it was before an in-place operation gave it another shape."""
        tensor = self.base
        while tensor._storage is not self.slot and isinstance(tensor._storage, View):
            tensor = tensor._storage.base
        return tensor

    def read(self, owner: Any) -> Any:
        if self.seen is not self.root.value:
            with set_mode(grad=self.follows, amp=None):
                fresh = self.op.public(self.source, *self.args)
            self.keep(fresh._raw)
            if self.follows:
                owner._node, owner._index, owner._stop = fresh._node, fresh._index, fresh._stop
        return self.cached

    def keep(self, value: Any) -> None:
        """`value` is what the operator gives for the present array at the root."""
        self.cached = value
        self.seen = self.root.value

    def write(self, value: Any) -> None:
        source = self.source
        with set_mode(grad=False, amp=None):
            source._storage.write(self.op.view(source._snapshot(), value, *self.args)._raw)
        self.keep(value)
