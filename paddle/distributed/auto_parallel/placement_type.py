"""How a tensor lies on one axis of a mesh."""

from __future__ import annotations

import enum
from typing import Any

from ...engine import errors


class ReduceType(enum.Enum):
    """How the parts of a partial tensor combine."""

    kRedSum = 0
    kRedMax = 1
    kRedMin = 2
    kRedProd = 3
    kRedAvg = 4
    kRedAny = 5
    kRedAll = 6


class Placement:
    """Base class of `Shard`, `Replicate` and `Partial`."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether the tensor is cut (along the axis `dim`)."""
        return False

    def is_replicated(self) -> bool:
        """Whether every process has the whole."""
        return False

    def is_partial(self) -> bool:
        """Whether the whole is the combination of what the processes have."""
        return False

    def __hash__(self) -> int:
        return hash(repr(self))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Placement) and repr(self) == repr(other)

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __deepcopy__(self, memo: Any) -> Placement:
        return self  # nothing of it changes


class Shard(Placement):
    """The tensor is cut along the axis `dim` into equal parts, one for each place on the axis of the mesh.

    Example:
        >>> paddle.distributed.Shard(1)
        Shard(dim=1)
    """

    def __init__(self, dim: int, *, split_factor: int = 1, shard_order: int = 0):
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise errors.TypeError_(f"Shard: dim must be an int, got {errors.describe(dim)}")
        if split_factor != 1 or shard_order != 0:
            raise errors.NotImplemented_("Shard: split_factor and shard_order")
        self.dim = dim

    def is_shard(self, dim: int | None = None) -> bool:
        return dim is None or dim == self.dim

    def get_dim(self) -> int:
        """The axis."""
        return self.dim

    def get_split_factor(self) -> int:
        """1: parts are contiguous."""
        return 1

    def set_split_factor(self, sf: int) -> None:
        """Only 1 is possible."""
        if sf != 1:
            raise errors.NotImplemented_("Shard: split_factor")

    def get_co_shard_order(self) -> int:
        """0: the order of the axes of the mesh."""
        return 0

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"


class Replicate(Placement):
    """Every place on the axis of the mesh has the whole tensor."""

    def is_replicated(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "Replicate()"


class Partial(Placement):
    """The tensor is the combination, by default the sum, of what the places on the axis of the mesh have."""

    def __init__(self, reduce_type: ReduceType = ReduceType.kRedSum):
        if not isinstance(reduce_type, ReduceType):
            raise errors.TypeError_(f"Partial: reduce_type must be a ReduceType, got {errors.describe(reduce_type)}")
        self._type = reduce_type

    def is_partial(self) -> bool:
        return True

    def reduce_type(self) -> ReduceType:
        """How the parts combine."""
        return self._type

    def __repr__(self) -> str:
        return f"Partial(reduce_type={self._type.name.removeprefix('kRed').upper()})"
