"""Batches as distributed tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import paddle.io as io

from ...engine import errors
from ...engine.tensor import Tensor
from .api import shard_tensor
from .local import dtensor_from_local, several_processes
from .placement_type import Placement, Replicate, Shard
from .process_mesh import ProcessMesh, get_rank


def _meshes_in(value: Any) -> list[ProcessMesh]:
    return [value] if isinstance(value, ProcessMesh) else [m for part in value for m in _meshes_in(part)]


class ShardDataloader:
    """The batches of a DataLoader as distributed tensors; see `shard_dataloader`."""

    def __init__(
        self,
        dataloader: io.DataLoader,
        meshes: Any,
        input_keys: list[str] | tuple[str, ...] | None = None,
        shard_dims: Any = None,
        is_dataset_splitted: bool = False,
        dense_tensor_idx: list[list[int]] | None = None,
    ):
        who = "shard_dataloader"
        if is_dataset_splitted and shard_dims is None:
            raise errors.ValueError_(f"{who}: shard_dims must be given when is_dataset_splitted is True")
        if not isinstance(dataloader, io.DataLoader):
            raise errors.TypeError_(f"{who}: dataloader must be a DataLoader, got {errors.describe(dataloader)}")
        self._meshes = [meshes] if isinstance(meshes, ProcessMesh) else list(meshes or ())
        flat = _meshes_in(self._meshes) if self._meshes else []
        if not flat:
            raise errors.ValueError_(f"{who}: meshes must be given")
        rank = get_rank()
        mine = [m for m in dict.fromkeys(flat) if rank in m.process_ids]
        if len(mine) > 1 and several_processes():
            raise errors.ValueError_(f"{who}: rank {rank} is in more than one mesh: {self._meshes}")
        self._input_keys = input_keys
        self._one_mesh = len(self._meshes) == 1
        if shard_dims is None or isinstance(shard_dims, (int, str)):
            self._shard_dims = [shard_dims] * len(self._meshes)
        elif len(shard_dims) != len(self._meshes):
            raise errors.ValueError_(f"{who}: {len(shard_dims)} shard_dims for {len(self._meshes)} meshes")
        else:
            self._shard_dims = list(shard_dims)
        self.dense_tensor_idx = dense_tensor_idx
        self._dataloader = dataloader
        self.batch_sampler = dataloader.batch_sampler
        self.batch_size = getattr(self.batch_sampler, "batch_size", dataloader.batch_size)
        mesh = mine[0] if mine else flat[0]
        number = next(i for i, m in enumerate(self._meshes) if mesh in _meshes_in([m]))
        dim = self._dim_of(self._shard_dims[number])
        if (
            dim is not None
            and not is_dataset_splitted
            and several_processes()
            and not isinstance(self.batch_sampler, io.DistributedBatchSampler)
        ):
            self._split(mesh, dim, rank)
        self._iterator: Iterator | None = None

    @staticmethod
    def _dim_of(dim: Any) -> Any:
        return dim[0] if isinstance(dim, (list, tuple)) else dim

    def _split(self, mesh: ProcessMesh, dim: Any, rank: int) -> None:
        """Every process reads its part of each batch."""
        source, sampler = self._dataloader, self.batch_sampler
        parts = mesh.get_dim_size(dim)
        if sampler is None:
            raise errors.ValueError_(
                "shard_dataloader: a stream cannot be dealt out; split it and say is_dataset_splitted"
            )
        if sampler.batch_size % parts:
            raise errors.ValueError_(f"shard_dataloader: batches of {sampler.batch_size} for {parts} places on {dim!r}")
        place = max(mesh.get_rank_by_dim_and_process_id(dim, rank), 0)
        self.batch_size = sampler.batch_size // parts
        shuffle, drop_last = getattr(sampler, "shuffle", False), getattr(sampler, "drop_last", False)
        self.batch_sampler = io.DistributedBatchSampler(
            source.dataset, self.batch_size, parts, place, shuffle, drop_last
        )
        self._dataloader = io.DataLoader(
            source.dataset,
            batch_sampler=self.batch_sampler,
            collate_fn=source.collate_fn,
            num_workers=source.num_workers,
            prefetch_factor=source.prefetch_factor,
            use_shared_memory=source.use_shared_memory,
            timeout=source.timeout,
            worker_init_fn=source.worker_init_fn,
            persistent_workers=source.persistent_workers,
        )

    def __len__(self) -> int:
        return len(self._dataloader)

    def __iter__(self) -> ShardDataloader:
        self._iterator = None
        return self

    def __call__(self) -> ShardDataloader:
        return self.__iter__()

    def __next__(self) -> Any:
        if self._iterator is None:
            self._iterator = iter(self._dataloader)
        return self._spread(next(self._iterator))

    # ---- placing ----
    def _spread(self, batch: Any) -> Any:
        if isinstance(batch, Tensor):
            return self._place(batch, *self._where(0))
        if isinstance(batch, dict):
            keys = list(batch) if self._input_keys is None else list(self._input_keys)
            self._check_number(len(keys))
            return {key: self._entry(batch[key], i, strict=False) for i, key in enumerate(keys)}
        if isinstance(batch, (list, tuple)):
            self._check_number(len(batch))
            return [self._entry(entry, i) for i, entry in enumerate(batch)]
        raise errors.ValueError_(
            f"shard_dataloader: a batch must be a tensor, a list or a dict, got {type(batch).__name__}"
        )

    def _check_number(self, n: int) -> None:
        if not self._one_mesh and n != len(self._meshes):
            raise errors.ValueError_(f"shard_dataloader: {n} entries in a batch, but {len(self._meshes)} meshes")

    def _entry(self, entry: Any, number: int, strict: bool = True) -> Any:
        dense = self.dense_tensor_idx[number] if self.dense_tensor_idx is not None else []
        if isinstance(entry, (list, tuple)):
            return [
                x if j in dense or not isinstance(x, Tensor) else self._place(x, *self._where(number, j, len(entry)))
                for j, x in enumerate(entry)
            ]
        if isinstance(entry, Tensor):
            return entry if dense else self._place(entry, *self._where(number))
        if strict:
            raise errors.ValueError_(f"shard_dataloader: an entry of a batch is no tensor but {type(entry).__name__}")
        return entry

    def _where(self, number: int, inner: int | None = None, length: int = 1) -> tuple[ProcessMesh, Any]:
        i = 0 if self._one_mesh else number
        mesh, dim = self._meshes[i], self._shard_dims[i]
        if isinstance(mesh, (list, tuple)):
            if inner is not None and len(mesh) != length:
                raise errors.ValueError_(f"shard_dataloader: {len(mesh)} meshes for {length} tensors")
            mesh = mesh[inner or 0]
        return mesh, dim[inner or 0] if isinstance(dim, (list, tuple)) else dim

    @staticmethod
    def _place(tensor: Tensor, mesh: ProcessMesh, dim: Any) -> Tensor:
        placements: list[Placement] = [Replicate()] * mesh.ndim
        if dim is not None:
            placements[mesh._axis(dim)] = Shard(0)
        return (
            dtensor_from_local(tensor, mesh, placements)
            if several_processes()
            else shard_tensor(tensor, mesh, placements)
        )


@errors.clean
def shard_dataloader(
    dataloader: io.DataLoader,
    meshes: Any,
    input_keys: list[str] | tuple[str, ...] | None = None,
    shard_dims: Any = None,
    is_dataset_splitted: bool = False,
    dense_tensor_idx: list[list[int]] | None = None,
) -> ShardDataloader:
    """The batches of a DataLoader as distributed tensors. In a job of several processes each reads only its part.

    Args:
        dataloader: gives batches of `batch_size` samples of all processes together.
        meshes: a mesh, or one for each entry of a batch (where an entry is a list, a list of meshes is possible).
        input_keys: the entries to take where batches are dicts, in the order of the meshes.
        shard_dims: the axis of the mesh over which batches are cut, a name or a number, one for all or a list; None: every
            process has the whole batch.
        is_dataset_splitted: the DataLoader of each process gives its part already.
        dense_tensor_idx: for each entry of a batch the numbers of the tensors in it that stay ordinary ones.

    Raises:
        ValueError: a process in several meshes, lengths that do not agree, batches that cannot be cut evenly.

    Example:
        >>> import paddle.distributed as dist
        >>> mesh = dist.ProcessMesh([0], dim_names=["dp"])
        >>> loader = paddle.io.DataLoader([[1.0, 2.0], [3.0, 4.0]], batch_size=2)
        >>> x, y = next(iter(dist.shard_dataloader(loader, mesh, shard_dims="dp")))
        >>> x.placements
        [Shard(dim=0)]
    """
    return ShardDataloader(dataloader, meshes, input_keys, shard_dims, is_dataset_splitted, dense_tensor_idx)
