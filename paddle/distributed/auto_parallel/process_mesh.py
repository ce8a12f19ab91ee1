"""Processes in a grid with named axes."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from ...engine import errors
from .. import world
from ..communication.group import Group, get_rank, new_group


class ProcessMesh:
    """Processes in a grid. In a job of one process the numbers are those of its devices (with
    ``XLA_FLAGS=--xla_force_host_platform_device_count=8`` a CPU shows eight).

    Args:
        mesh: the ranks, a nested list or an array.
        dim_names: the names of the axes, by default d0, d1, ...
        shape, process_ids: the same in other words, instead of `mesh`.

    Raises:
        ValueError: ranks that come twice or are negative, names that do not fit.

    Example:
        >>> mesh = paddle.distributed.ProcessMesh([[0, 1], [2, 3]], dim_names=["x", "y"])
        >>> mesh.shape, mesh.get_dim_size("y")
        ([2, 2], 2)
    """

    def __init__(
        self,
        mesh: Any = None,
        dim_names: list[str] | None = None,
        shape: list[int] | None = None,
        process_ids: list[int] | None = None,
    ):
        if mesh is None and (shape is None or process_ids is None):
            raise errors.ValueError_("ProcessMesh: give mesh, or shape and process_ids")
        if not isinstance(mesh, (list, tuple, np.ndarray, type(None))):
            raise errors.ValueError_(
                f"ProcessMesh: mesh must be a nested list or an array, got {errors.describe(mesh)}"
            )
        try:
            ranks = np.array(mesh) if mesh is not None else np.array(process_ids).reshape(shape)
        except ValueError as error:  # lists of different lengths
            raise errors.ValueError_(
                f"ProcessMesh: the ranks must be in a grid, got {(mesh if mesh is not None else process_ids)!r} ({error})"
            ) from None
        if ranks.dtype.kind not in "iu" or ranks.ndim == 0 or ranks.size == 0:
            raise errors.ValueError_(f"ProcessMesh: the ranks must be ints in a grid, got {mesh!r}")
        if ranks.min() < 0 or len(np.unique(ranks)) < ranks.size:
            raise errors.ValueError_(f"ProcessMesh: the ranks must be different and not negative, got {ranks.tolist()}")
        names = [f"d{i}" for i in range(ranks.ndim)] if dim_names is None else list(dim_names)
        if len(names) != ranks.ndim or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
            raise errors.ValueError_(f"ProcessMesh: dim_names must be {ranks.ndim} different words, got {dim_names!r}")
        self._mesh, self._names = ranks, names

    @property
    def mesh(self) -> np.ndarray:
        """The ranks, an array."""
        return self._mesh

    @property
    def shape(self) -> list[int]:
        """The lengths of the axes."""
        return list(self._mesh.shape)

    @property
    def ndim(self) -> int:
        return self._mesh.ndim

    @property
    def size(self) -> int:
        return self._mesh.size

    @property
    def process_ids(self) -> list[int]:
        """The ranks, flat."""
        return self._mesh.reshape(-1).tolist()

    @property
    def dim_names(self) -> list[str]:
        """The names of the axes."""
        return self._names

    @property
    def unique_id(self) -> int:
        """A number that meshes have in common that are equal."""
        return hash(self)

    @functools.cached_property
    def devices(self) -> Mesh:
        """The devices of the processes, as XLA's mesh."""
        alone = not world.is_connected() or world.current().size == 1
        devices = jax.local_devices() if alone else world.current().devices
        if max(self.process_ids) >= len(devices):
            what = "this process has" if alone else "the job has processes for"
            raise errors.ValueError_(f"ProcessMesh: {self}, but {what} {len(devices)} devices")
        return Mesh(np.array([devices[r] for r in self.process_ids]).reshape(self.shape), tuple(self._names))

    def get_dim_size(self, dim: str | int) -> int:
        """The length of an axis."""
        return self.shape[self._axis(dim)]

    def _axis(self, dim: str | int) -> int:
        if isinstance(dim, str):
            if dim not in self._names:
                raise errors.ValueError_(f"ProcessMesh: there is no axis {dim!r}; there are {self._names}")
            return self._names.index(dim)
        if not -self.ndim <= dim < self.ndim:
            raise errors.ValueError_(f"ProcessMesh: axis {dim} of {self.ndim}")
        return dim % self.ndim

    def get_rank_by_dim_and_process_id(self, dim: str | int, process_id: int) -> int:
        """The place of a rank on an axis, -1 outside."""
        found = np.argwhere(self._mesh == process_id)
        return int(found[0][self._axis(dim)]) if len(found) else -1

    def get_mesh_with_dim(self, dim_name: str, index: int | None = None) -> ProcessMesh:
        """The mesh with an axis in front, or its part number `index` on that axis."""
        axis = self._axis(dim_name)
        moved = np.moveaxis(self._mesh, axis, 0)
        names = [dim_name, *(n for n in self._names if n != dim_name)]
        return ProcessMesh(moved, names) if index is None else ProcessMesh(moved[index], names[1:])

    def get_submesh_with_dim(self, dim_name: str) -> ProcessMesh | None:
        """The part along an axis that this process is in."""
        found = np.argwhere(self._mesh == get_rank())
        if not len(found):
            return None
        place = [slice(None) if i == self._axis(dim_name) else int(p) for i, p in enumerate(found[0])]
        return ProcessMesh(self._mesh[tuple(place)], [dim_name])

    def get_group(self, dim_name: str | None = None) -> Group:
        """The group of this process along an axis. All processes call it, since it makes groups."""
        if dim_name is None:
            if self.ndim > 1:
                raise errors.ValueError_("ProcessMesh.get_group: a mesh of several axes needs dim_name")
            dim_name = self._names[0]
        own = None
        for ranks in np.moveaxis(self._mesh, self._axis(dim_name), -1).reshape(-1, self.get_dim_size(dim_name)):
            group = new_group(ranks.tolist())
            own = group if get_rank() in ranks else own
        if own is None:
            raise errors.ValueError_(f"ProcessMesh.get_group: this process is not in the mesh {self}")
        return own

    def __getitem__(self, index: Any) -> ProcessMesh:
        names = list(self._names)
        taken = index if isinstance(index, tuple) else (index,)
        part = self._mesh[index]
        kept = [n for i, n in enumerate(names) if i >= len(taken) or isinstance(taken[i], slice)]
        return ProcessMesh(np.atleast_1d(part), kept or [names[-1]])

    def __enter__(self) -> ProcessMesh:
        _entered.append(get_mesh())
        set_mesh(self)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        _current[:] = [_entered.pop()]

    def __deepcopy__(self, memo: Any) -> ProcessMesh:
        return ProcessMesh(self._mesh.copy(), list(self._names))

    def __reduce__(self) -> Any:
        return ProcessMesh, (self._mesh, self._names)

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, ProcessMesh)
            and self.shape == other.shape
            and self.process_ids == other.process_ids
            and self._names == other._names
        )

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((tuple(self.shape), tuple(self.process_ids), tuple(self._names)))

    def __repr__(self) -> str:
        return f"{{shape: {self.shape}, process_ids: {self.process_ids}, dim_names: [{','.join(self._names)}]}}"

    def __str__(self) -> str:
        return f"shape {self.shape}, process_ids {self.process_ids}, dim_names {self._names}"


_current: list[ProcessMesh | None] = [None]
_entered: list[ProcessMesh | None] = []


def get_mesh() -> ProcessMesh | None:
    """The mesh that `set_mesh` set, None before."""
    return _current[0]


def set_mesh(mesh: ProcessMesh | None) -> None:
    """Set the mesh that is used where none is given."""
    if mesh is not None and not isinstance(mesh, ProcessMesh):
        raise errors.TypeError_(f"set_mesh: mesh must be a ProcessMesh, got {errors.describe(mesh)}")
    _current[:] = [mesh]


def create_mesh(mesh_dims: list[tuple[str, int]]) -> ProcessMesh:
    """The mesh of the processes 0, 1, ... with named axes of given lengths; it becomes that of `get_mesh`.

    Example:
        >>> paddle.distributed.auto_parallel.create_mesh([("dp", 1), ("mp", 2)]).shape
        [1, 2]
        >>> paddle.distributed.set_mesh(None)
    """
    names, lengths = [n for n, _ in mesh_dims], [int(n) for _, n in mesh_dims]
    made = ProcessMesh(np.arange(int(np.prod(lengths))).reshape(lengths), names)
    set_mesh(made)
    return made
