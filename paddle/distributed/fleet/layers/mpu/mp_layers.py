"""Layers whose parameters are divided over the processes of a group.

The parameters of a part are marked `is_distributed`, with `split_axis`. They start from random numbers that differ between
the processes ("model_parallel_rng" of the tracker). Biases start from zero.

Source: Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism", 2019.
"""

from __future__ import annotations

import contextlib
from typing import Any

from .....engine import errors
from .....engine.modes import modes
from .....engine.tensor import Tensor
from .....nn import functional as F
from .....nn.initializer import Constant
from .....nn.layer import Layer
from ....communication.group import Group, group_of
from . import mp_ops
from .random import MODEL_PARALLEL_RNG, get_rng_state_tracker

__all__: list[str] = []


class ParallelLayer(Layer):
    """What the layers have in common: the group, and making parts of parameters."""

    def __init__(self, mp_group: Group | None, name: str | None):
        super().__init__()
        self.model_parallel_group = mp_ops.model_parallel_group(mp_group, type(self).__name__)
        self.world_size, self.rank = self.model_parallel_group.nranks, self.model_parallel_group.rank
        self.is_mp = self.world_size > 1
        self._name = name

    def _share(self, length: int, what: str) -> int:
        if length % self.world_size:
            raise errors.ValueError_(
                f"{type(self).__name__}: {what} must be divisible by the number of ranks ({self.world_size}), "
                f"got {length}"
            )
        return length // self.world_size

    def _part(self, shape: list[int], split_axis: int, attr: Any = None) -> Tensor:
        """This process's part of a weight."""
        tracker = get_rng_state_tracker()
        own = self.is_mp and MODEL_PARALLEL_RNG in tracker.states_
        with tracker.rng_state() if own else contextlib.nullcontext():
            made = self.create_parameter(shape, attr)
        return self._mark(made, split_axis)

    def _zeros(self, length: int) -> Tensor:
        return self.create_parameter([length], is_bias=True, default_initializer=Constant(0.0))

    def _mark(self, parameter: Tensor, split_axis: int) -> Tensor:
        parameter.is_distributed = self.is_mp
        if self.is_mp:
            parameter.split_axis = split_axis
        return parameter

    _split_axes: dict[str, int] = {}

    def sharded_state_dict(self, structured_name_prefix: str = "") -> dict[str, Any]:
        """The state as parts of whole tensors, for `paddle.distributed.save_state_dict`."""
        from ....flex_checkpoint.dcp.sharded_weight import make_replicated_sharded_weight, shard_weight

        found = {}
        for name, tensor in self.state_dict().items():
            key, axis = structured_name_prefix + name, self._split_axes.get(name)
            if axis is None:
                found[key] = make_replicated_sharded_weight(key, tensor)
            else:
                found[key] = shard_weight(key, tensor, axis, self.model_parallel_group)
        return found


class VocabParallelEmbedding(ParallelLayer):
    """An embedding whose rows are divided over the processes of a group.

    Args:
        num_embeddings: number of rows, divisible by the number of processes.
        embedding_dim: length of a row.
        weight_attr: ParamAttr of the part of the table.
        mp_group: the processes, by default those of tensor parallelism.

    Raises:
        ValueError: a number that cannot be divided.
        IndexError: (forward) a row number out of range.

    Example:
        >>> paddle.distributed.fleet.meta_parallel.VocabParallelEmbedding(8, 3)(paddle.to_tensor([1])).shape
        [1, 3]
    """

    _split_axes = {"weight": 0}

    def __init__(self, num_embeddings, embedding_dim, weight_attr=None, mp_group=None, name=None):
        super().__init__(mp_group, name)
        rows = self._share(num_embeddings, "num_embeddings")
        self.num_embeddings = self.origin_num_embeddings = num_embeddings
        self.vocab_start_index = self.rank * rows
        self.weight = self._part([rows, embedding_dim], 0, weight_attr)

    def forward(self, x: Tensor) -> Tensor:
        if not self.is_mp:
            return F.embedding(x, self.weight)
        rows = mp_ops._c_lookup_table(self.weight, x, self.vocab_start_index, self.num_embeddings)
        return mp_ops._mp_allreduce(rows, group=self.model_parallel_group)


class ColumnParallelLinear(ParallelLayer):
    """x @ weight + bias, with the columns of the weight divided over the processes of a group.

    Args:
        in_features: length of the last axis of the input, which all processes have whole.
        out_features: length of the last axis of the whole output, divisible by the number of processes.
        weight_attr: ParamAttr of the part of the weight.
        has_bias: add a bias, divided as well.
        gather_output: give the whole output, not this process's part.
        fuse_matmul_bias: accepted; XLA fuses them anyway.
        mp_group: the processes, by default those of tensor parallelism.

    Raises:
        ValueError: a number that cannot be divided.

    Example:
        >>> paddle.distributed.fleet.meta_parallel.ColumnParallelLinear(4, 6)(paddle.ones([2, 4])).shape
        [2, 6]
    """

    _split_axes = {"weight": 1, "bias": 0}

    def __init__(
        self,
        in_features,
        out_features,
        weight_attr=None,
        has_bias=None,
        gather_output=True,
        fuse_matmul_bias=False,
        mp_group=None,
        name=None,
    ):
        super().__init__(mp_group, name)
        self.output_size_per_partition = self._share(out_features, "out_features")
        self.gather_output, self.fuse_matmul_bias = gather_output, fuse_matmul_bias
        self.weight = self._part([in_features, self.output_size_per_partition], 1, weight_attr)
        self.bias = self._mark(self._zeros(self.output_size_per_partition), 0) if has_bias else None

    def forward(self, x: Tensor) -> Tensor:
        x = mp_ops._c_identity(x, self.model_parallel_group)
        out = F.linear(x, self.weight, self.bias)
        return mp_ops._c_concat(out, self.model_parallel_group) if self.gather_output else out


class RowParallelLinear(ParallelLayer):
    """x @ weight + bias, with the rows of the weight divided over the processes of a group.

    Args:
        in_features: length of the last axis of the whole input, divisible by the number of processes.
        out_features: length of the last axis of the output, which all processes get whole.
        weight_attr: ParamAttr of the part of the weight.
        has_bias: add a bias, the same in all processes.
        input_is_parallel: the input is this process's part, not the whole.
        fuse_matmul_bias: accepted; XLA fuses them anyway.
        mp_group: the processes, by default those of tensor parallelism.

    Raises:
        ValueError: a number that cannot be divided.

    Example:
        >>> paddle.distributed.fleet.meta_parallel.RowParallelLinear(4, 6)(paddle.ones([2, 4])).shape
        [2, 6]
    """

    _split_axes = {"weight": 0}

    def __init__(
        self,
        in_features,
        out_features,
        weight_attr=None,
        has_bias=True,
        input_is_parallel=False,
        fuse_matmul_bias=False,
        mp_group=None,
        name=None,
    ):
        super().__init__(mp_group, name)
        self.in_features, self.out_features = in_features, out_features
        self.input_size_per_partition = self._share(in_features, "in_features")
        self.input_is_parallel, self.fuse_matmul_bias = input_is_parallel, fuse_matmul_bias
        self.weight = self._part([self.input_size_per_partition, out_features], 0, weight_attr)
        self.bias = self._zeros(out_features) if has_bias else None

    def forward(self, x: Tensor) -> Tensor:
        if not self.input_is_parallel:
            x = mp_ops._c_split(x, self.model_parallel_group)
        out = mp_ops._mp_allreduce(F.linear(x, self.weight), group=self.model_parallel_group)
        return out if self.bias is None else out + self.bias


class ParallelCrossEntropy(ParallelLayer):
    """Cross entropy of logits whose classes are divided over the processes of a group.

    Args:
        mp_group: the processes, by default those of tensor parallelism.
        ignore_index: the label whose loss is 0.

    `forward(input, label)` takes this process's part of the logits, [..., classes / processes], and the class numbers
    among all, [...] or [..., 1], and gives the losses, [..., 1].

    Raises:
        ValueError: (forward) a label out of range, shapes that do not fit.

    Example:
        >>> entropy = paddle.distributed.fleet.meta_parallel.ParallelCrossEntropy()
        >>> entropy(paddle.zeros([2, 4]), paddle.to_tensor([1, 3])).shape
        [2, 1]
    """

    def __init__(self, mp_group=None, name=None, ignore_index=-100):
        super().__init__(mp_group, name)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        return mp_ops._c_softmax_with_cross_entropy(
            input, label, self.model_parallel_group, ignore_index=self.ignore_index
        )


class ParallelMultiLabelCrossEntropy(ParallelLayer):
    """The same with several labels each, [..., n], whose losses `forward(input, label, smooth_weight)` weights.

    Args:
        mp_group: the processes, by default those of tensor parallelism.
        ignore_index: the label whose loss is 0.
        sum_multi_label_loss: give the sums, [..., 1].
    """

    def __init__(self, mp_group=None, name=None, ignore_index=-100, sum_multi_label_loss=True):
        super().__init__(mp_group, name)
        self.ignore_index, self.sum_multi_label_loss = ignore_index, sum_multi_label_loss

    def forward(self, input: Tensor, label: Tensor, smooth_weight: Tensor) -> Tensor:
        return mp_ops._c_softmax_with_multi_label_cross_entropy(
            input,
            label,
            smooth_weight,
            self.model_parallel_group,
            ignore_index=self.ignore_index,
            sum_multi_label_loss=self.sum_multi_label_loss,
        )


def split(
    x: Tensor,
    size: Any,
    operation: str,
    axis: int = 0,
    num_partitions: int = 1,
    gather_out: bool = True,
    weight_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Tensor:
    """A linear layer or an embedding whose weight is divided over all processes, in programs that are built by hand
    (`paddle.enable_static()`).

    Args:
        x: the input; for "linear" with axis=0 the whole or this process's part of its last axis.
        size: the shape of the whole weight, [rows, columns].
        operation: "linear" or "embedding".
        axis: 0: rows are divided, 1 ("linear" only): columns.
        num_partitions: the number of parts, that of the processes.
        gather_out: give the whole output, not this process's part.
        weight_attr, bias_attr: ParamAttr; `bias_attr=False` for no bias.

    Raises:
        ValueError: outside of such a program; sizes that cannot be divided.

    Example:
        >>> paddle.distributed.split(x, (8, 8), operation="embedding", num_partitions=2)  # doctest: +SKIP
    """
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise errors.ValueError_(f"split: size must be a list of two lengths, got {size!r}")
    if operation not in ("linear", "embedding"):
        raise errors.ValueError_(f"split: operation must be 'linear' or 'embedding', got {operation!r}")
    if axis not in ((0,) if operation == "embedding" else (0, 1)):
        raise errors.ValueError_(f"split: axis must be 0, or 1 for 'linear', got {axis}")
    if modes.program is None:
        raise errors.ValueError_(
            "split: it builds layers of programs (paddle.enable_static()); otherwise use ColumnParallelLinear, "
            "RowParallelLinear or VocabParallelEmbedding of paddle.distributed.fleet.meta_parallel"
        )
    group = group_of(None, "split")
    if num_partitions != group.nranks:
        raise errors.ValueError_(
            f"split: num_partitions must be the number of processes ({group.nranks}), got {num_partitions}"
        )
    if operation == "embedding":
        return VocabParallelEmbedding(*size, weight_attr, group)(x)
    layer: Any
    if axis == 1:
        layer = ColumnParallelLinear(*size, weight_attr, False, gather_out, mp_group=group)
    else:
        layer = RowParallelLinear(*size, weight_attr, False, x.shape[-1] != size[0], mp_group=group)
        if not gather_out:
            x = x if layer.input_is_parallel else mp_ops._c_split(x, group)
            return F.linear(x, layer.weight)
    if bias_attr is not False:
        length = layer.weight.shape[1]
        layer.bias = layer.create_parameter([length], bias_attr, is_bias=True)
        if axis == 1:
            layer._mark(layer.bias, 0)
    return layer(x)
