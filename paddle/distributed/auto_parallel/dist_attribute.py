"""How a tensor lies on a mesh, by the names of the axes."""

from __future__ import annotations

import pickle
from typing import Any

from ...engine import errors
from .process_mesh import ProcessMesh


class DistAttr:
    """How a tensor lies on a mesh: for each of its axes the name of an axis of the mesh, or None.

    Raises:
        ValueError: no mesh, no list, a name that the mesh has not.

    Example:
        >>> mesh = paddle.distributed.ProcessMesh([[0, 1]], dim_names=["x", "y"])
        >>> paddle.distributed.DistAttr(mesh, ["y", None]).dims_mapping
        [1, -1]
    """

    process_mesh: Any = None
    dims_mapping: Any = None
    batch_dim = 0
    chunk_id = 0
    dynamic_dims: Any = None
    annotated: Any = None

    def __init__(self, mesh: ProcessMesh, sharding_specs: list[str | None]):
        if not isinstance(mesh, ProcessMesh):
            raise errors.ValueError_(f"DistAttr: mesh must be a ProcessMesh, got {errors.describe(mesh)}")
        if not isinstance(sharding_specs, list) or not all(s is None or isinstance(s, str) for s in sharding_specs):
            raise errors.ValueError_(
                f"DistAttr: sharding_specs must be a list of words and None, got {sharding_specs!r}"
            )
        unknown = [s for s in sharding_specs if s is not None and s not in mesh.dim_names]
        if unknown:
            raise errors.ValueError_(f"DistAttr: the mesh has no axis {unknown[0]!r}; there are {mesh.dim_names}")
        self.process_mesh = mesh
        self._sharding_specs = sharding_specs
        self.dims_mapping = [-1 if s is None else mesh.dim_names.index(s) for s in sharding_specs]
        self.dynamic_dims = [False] * len(sharding_specs)
        self.annotated = {"process_mesh": True, "dims_mapping": True}

    @property
    def sharding_specs(self) -> list[str | None]:
        """The names."""
        return self._sharding_specs

    @property
    def multi_dims_mapping(self) -> list[list[int]]:
        """For each axis of the tensor the axes of the mesh."""
        return [[] if d < 0 else [d] for d in self.dims_mapping]

    def is_annotated(self, name: str) -> bool:
        """Whether somebody has said so by hand."""
        return self.annotated.get(name, False)

    def mark_annotated(self, name: str) -> None:
        """Note that a field was set by hand."""
        self.annotated[name] = True

    def clear_annotated(self) -> None:
        """Forget what was set by hand."""
        self.annotated.clear()

    def verify(self, tensor: Any = None) -> bool:
        """Whether it fits a tensor, or a shape."""
        shape = getattr(tensor, "shape", tensor)
        return shape is None or len(shape) == len(self.dims_mapping)

    def reset(self) -> None:
        """Cut nowhere."""
        self._sharding_specs = [None] * len(self.dims_mapping)
        self.dims_mapping = [-1] * len(self.dims_mapping)
        self.clear_annotated()

    def serialize_to_string(self) -> bytes:
        """The contents as bytes."""
        return pickle.dumps((self.process_mesh, self._sharding_specs))

    def parse_from_string(self, data: bytes) -> None:
        """Take over what `serialize_to_string` gave."""
        mesh, specs = pickle.loads(data)
        self.__init__(mesh, specs)  # type: ignore[misc]

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, DistAttr)
            and self.process_mesh == other.process_mesh
            and self.dims_mapping == other.dims_mapping
        )

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict) -> DistAttr:
        return DistAttr(self.process_mesh, list(self._sharding_specs))

    def __str__(self) -> str:
        return f"{{process_mesh: {self.process_mesh!r}, dims_mappings: {self.dims_mapping}}}"
