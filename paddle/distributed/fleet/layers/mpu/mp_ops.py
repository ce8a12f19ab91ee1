"""The operators of tensor parallelism: collectives with gradients, and what is computed from parts of a table or of logits.

Source: Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism", 2019.
"""

from __future__ import annotations

from typing import Any

from .....engine import dtype as dtypes
from .....engine import errors
from .....engine.modes import modes, set_mode
from .....engine.tensor import Tensor
from .....nn import functional as F
from .....ops.checks import check_ids
from .....ops.joining import concat
from .....ops.selection import where
from ....communication.differentiable import carry, plain
from ....communication.group import Group, get_rank, get_world_size, group_of, is_initialized, new_group
from ....communication.reduce_op import ReduceOp
from ...base.topology import current_groups

__all__: list[str] = []


def model_parallel_group(mp_group: Group | None, who: str) -> Group:
    """The group over which a layer is divided: the given one, or that of tensor parallelism."""
    if mp_group is not None:
        return group_of(mp_group, who)
    groups = current_groups()
    if groups is not None and is_initialized():
        return groups.get_model_parallel_group()
    if get_world_size() > 1:
        raise errors.RuntimeError_(f"{who}: call fleet.init(is_collective=True, strategy=...) first, or give mp_group")
    return new_group([get_rank()])


def _c_identity(tensor: Tensor, group: Group | None = None, skip_c_identity_dynamic: bool = False) -> Tensor | None:
    """The tensor, which all members use in different ways: its gradient is the sum of theirs. None outside the group."""
    found = group_of(group, "_c_identity")
    return carry(tensor, "copy", "sum", found) if found.rank >= 0 else None


def _mp_allreduce(
    tensor: Tensor,
    op: Any = ReduceOp.SUM,
    group: Group | None = None,
    use_calc_stream: bool = True,
    use_model_parallel: bool = True,
    skip_c_identity_dynamic: bool = False,
) -> Tensor | None:
    """The sum over the members, which all use in the same way: the gradient of each is that of the sum."""
    if op != ReduceOp.SUM:
        raise errors.ValueError_(f"_mp_allreduce: op must be ReduceOp.SUM, got {op!r}")
    found = group_of(group, "_mp_allreduce")
    return carry(tensor, "sum", "copy", found) if found.rank >= 0 else None


def _c_concat(tensor: Tensor, group: Group | None = None) -> Tensor | None:
    """The parts of all members put together along the last axis."""
    found = group_of(group, "_c_concat")
    return carry(tensor, "whole", "part", found, -1) if found.rank >= 0 else None


def _c_split(tensor: Tensor, group: Group | None = None) -> Tensor | None:
    """The own part along the last axis of a tensor that all members have."""
    found = group_of(group, "_c_split")
    return carry(tensor, "part", "whole", found, -1) if found.rank >= 0 else None


def _c_lookup_table(
    table: Tensor, index: Tensor, start_index: int = 0, vocab_size: int = -1, name: str | None = None
) -> Tensor:
    """Rows of the part of a table that begins with row `start_index`; zeros for rows of other parts.

    Args:
        table: [rows, width].
        index: row numbers of the whole table, int32 or int64, any shape.
        vocab_size: the number of rows of the whole table, -1: not checked.

    Raises:
        IndexError: a row number below 0 or from `vocab_size` on.
    """
    if vocab_size > 0:
        check_ids("_c_lookup_table", index, vocab_size)
    local = index - start_index
    mine = (local >= 0).logical_and(local < table._raw.shape[0])
    rows = F.embedding(local * mine.astype(local.dtype), table)
    return where(mine.unsqueeze(-1), rows, 0.0)


def _c_softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    group: Group | None = None,
    return_softmax: bool = False,
    ignore_index: int = -100,
) -> Any:
    """Cross entropy with logits whose classes are divided over the members of a group.

    Args:
        logits: this member's part, [..., classes / members].
        label: class numbers among all, [...] or [..., 1], int32 or int64.
        return_softmax: return the part of the softmax as well.
        ignore_index: the label whose loss is 0.

    Returns:
        The losses, [..., 1]. 16-bit logits are computed with in float32.

    Raises:
        ValueError: shapes that do not fit; a label out of range.
        TypeError: labels of another type.
    """
    name = "_c_softmax_with_cross_entropy"
    found = group_of(group, name)
    if found.rank < 0:
        return None
    if label.ndim == logits.ndim - 1:
        label = label.unsqueeze(-1)
    _check_label(name, logits, label, [*logits.shape[:-1], 1])
    losses, softmax = _losses(logits, label, found, ignore_index, name)
    return (losses, softmax()) if return_softmax else losses


def _c_softmax_with_multi_label_cross_entropy(
    logits: Tensor,
    label: Tensor,
    smooth_weight: Tensor,
    group: Group | None = None,
    return_softmax: bool = False,
    ignore_index: int = -100,
    sum_multi_label_loss: bool = True,
) -> Any:
    """The same for several labels each, [..., n], whose losses are weighted with `smooth_weight`, [..., n], and summed up
    (`sum_multi_label_loss=False`: not)."""
    name = "_c_softmax_with_multi_label_cross_entropy"
    found = group_of(group, name)
    if found.rank < 0:
        return None
    _check_label(name, logits, label, [*logits.shape[:-1], label.shape[-1]])
    losses, softmax = _losses(logits, label, found, ignore_index, name)
    losses = losses * smooth_weight.astype(losses.dtype)
    if sum_multi_label_loss:
        losses = losses.sum(-1, keepdim=True)
    return (losses, softmax()) if return_softmax else losses


def _check_label(name: str, logits: Tensor, label: Tensor, shape: list) -> None:
    if label.dtype.name not in ("int32", "int64"):
        raise errors.TypeError_(f"{name}: label must be int32 or int64, got {label.dtype.name}")
    if label.shape != shape:
        raise errors.ValueError_(
            f"{name}: label must have shape {shape} for logits of shape {logits.shape}, got {label.shape}"
        )


def _losses(logits: Tensor, label: Tensor, group: Group, ignore_index: int, name: str) -> tuple:
    """(the losses of all labels, what computes the softmax)"""
    dtype, classes = logits.dtype, logits._raw.shape[-1]
    check_ids(name, label, classes * group.nranks, "the label", ignore_index, errors.ValueError_)
    narrow = dtype in (dtypes.float16, dtypes.bfloat16)
    if narrow:
        logits = logits.astype("float32")
    with set_mode(grad=False):
        largest = plain(logits.max(-1, keepdim=True), "max", group)
    shifted = logits - largest
    powers = shifted.exp()
    local = label - group.rank * classes
    mine = (local >= 0).logical_and(local < classes)
    chosen = where(mine, shifted.take_along_axis(local * mine.astype(local.dtype), -1), 0.0)
    # one transfer for both; every member goes on with the same numbers
    both = carry(concat([powers.sum(-1, keepdim=True), chosen], -1), "sum", "copy", group)
    total = both[..., :1]
    losses = where(label != ignore_index, total.log() - both[..., 1:], 0.0)
    keep = narrow and getattr(modes.amp, "level", "O2") == "O2"

    def softmax() -> Tensor:
        """Here the members go different ways with the sum."""
        found = powers / carry(total, "copy", "sum", group)
        return found.astype(dtype) if keep else found

    return losses.astype(dtype) if keep else losses, softmax
