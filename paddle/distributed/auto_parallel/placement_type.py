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


# ---- other notations ----
def to_placements(dim_map: list[int], mesh: Any, partial_idx: Any = []) -> list[Placement]:
    """Placements from the axis of the mesh over which each axis of a tensor is cut (-1: none), and the axes over which it
    is partial.

    Example:
        >>> from paddle.distributed.auto_parallel.placement_type import to_placements
        >>> to_placements([-1, 0], paddle.distributed.ProcessMesh([[0, 1]]))
        [Shard(dim=1), Replicate()]
    """
    return dims_mapping_to_placements([[] if axis < 0 else [axis] for axis in dim_map], mesh, partial_idx)


def dims_mapping_to_placements(
    dim_map: list[list[int]], mesh: Any, partial_idx: Any = [], split_factor: Any = {}
) -> list[Placement]:
    """The same from a list of axes of the mesh for each axis of the tensor.

    Raises ValueError where an axis of the mesh is used twice.
    """
    if split_factor:
        raise errors.NotImplemented_("dims_mapping_to_placements: split_factor")
    found: list[Placement] = [Replicate() for _ in mesh.shape]
    for axis in partial_idx:
        found[axis] = Partial()
    for dim, axes in enumerate(dim_map):
        for axis in axes:
            if not isinstance(found[axis], Replicate):
                raise errors.ValueError_(
                    f"placements: axis {axis} of the mesh cannot be Shard({dim}) and {found[axis]} at once"
                )
            found[axis] = Shard(dim)
    return found


def to_dim_map(placements: list[Placement], tensor_dims: int) -> tuple[list[int], dict[int, ReduceType]]:
    """(the axis of the mesh over which each axis is cut, or -1; the axes of the mesh over which it is partial, and how)."""
    mapping, partial = placemetns_to_dist_status(placements, tensor_dims)
    return [axes[-1] if axes else -1 for axes in mapping], partial


def placemetns_to_dist_status(placements: list[Placement], tensor_dims: int, return_split_factor: bool = False) -> list:
    """[the axes of the mesh over which each axis is cut, the axes over which it is partial and how]; the name is the
    official one."""
    mapping: list[list[int]] = [[] for _ in range(tensor_dims)]
    partial = {}
    for axis, placement in enumerate(placements):
        if isinstance(placement, Shard):
            mapping[placement.dim].append(axis)
        elif isinstance(placement, Partial):
            partial[axis] = placement.reduce_type()
    return [mapping, partial, {}] if return_split_factor else [mapping, partial]


def check_placements_equal(this: list[Placement], that: list[Placement]) -> bool:
    """Whether two lists of placements mean the same: missing ones are `Replicate()`."""
    longest = max(len(this), len(that))
    pad = [[*p, *(Replicate() for _ in range(longest - len(p)))] for p in (this, that)]
    return pad[0] == pad[1]


def get_shard_spec(mesh: Any, placements: list[Placement], tensor_dims: int) -> list[str | None]:
    """For each axis of a tensor the name of the axis of the mesh over which it is cut, or None."""
    return [None if axis < 0 else mesh.dim_names[axis] for axis in to_dim_map(placements, tensor_dims)[0]]
