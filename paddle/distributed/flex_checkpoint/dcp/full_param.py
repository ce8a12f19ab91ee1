"""Whole tensors from the parts that processes hold, one after the other, without files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....engine import dtype as dtypes
from ....engine import errors
from ....engine.tensor import Tensor
from ....framework import io
from ...communication import objects
from ...communication.group import Group
from ..aoa.aoa_engine import AOAEngine
from .load_state_dict import Flat, Made, Target, _all_of, _parts_of
from .metadata import LocalTensorMetadata
from .utils import flatten_state_dict, members, part_of

NAME = "full_param"
_OPTIONS = ("h_group", "v_group", "process_group", "num_splits", "shard_idx", "memory_growth_threshold")


@errors.clean
def full_param(
    sharded_state_dict: dict[str, Any], aoa_config: dict[str, list[str]] | None = None, **kwargs: Any
) -> Iterator[tuple[str, Tensor]]:
    """The whole tensors of a state whose parts lie in several processes. All of them call it and go through it together.

    Args:
        sharded_state_dict: what `layer.sharded_state_dict()` gives.
        aoa_config: as of `load_state_dict`: other names, axes and types, such as those of another package.
        process_group: the processes, by default all.
        h_group, v_group: instead two groups, such as those of tensor parallelism and of a pipeline, whose members together
            hold the state.
        num_splits, shard_idx: give only the part number `shard_idx` of `num_splits` parts of the keys.
        memory_growth_threshold: accepted: a process holds the tensors of which the next one is made.

    Returns:
        An iterator over (key, tensor).

    Raises:
        TypeError, ValueError: other options; statements that do not fit.

    Example:
        >>> net = paddle.nn.Linear(2, 3)
        >>> [(key, t.shape) for key, t in net.full(aoa_config={"aoa_statements": ["weight^T -> w", "bias -> _"]})]
        [('w', [3, 2])]
    """
    unknown = [name for name in kwargs if name not in _OPTIONS]
    if unknown:
        raise errors.TypeError_(f"{NAME}: there is no argument {unknown[0]!r}; there are {', '.join(_OPTIONS)}")
    across = [kwargs.get("h_group"), kwargs.get("v_group")]
    if (across[0] is None) != (across[1] is None):
        raise errors.ValueError_(f"{NAME}: h_group and v_group must be given together")
    groups = [g for g in across if g is not None and g.nranks > 1]
    if across[0] is None:
        group, takes_part = members(kwargs.get("process_group"), NAME)
        groups = [group] if group is not None else []
        if not takes_part:
            return iter(())
    splits, number = int(kwargs.get("num_splits", 1)), int(kwargs.get("shard_idx", 0))
    if splits < 1 or not 0 <= number < splits:
        raise errors.ValueError_(f"{NAME}: shard_idx must be from 0 to num_splits - 1, got {number} of {splits}")
    return _tensors(sharded_state_dict, aoa_config or {}, groups, splits, number)


def _gathered(value: Any, groups: list[Group]) -> list:
    """The values of all processes."""
    found = [value]
    for group in groups:
        found = [v for some in objects.exchange(found, group, NAME) for v in some]
    return found


def _place(about: LocalTensorMetadata) -> tuple:
    return about.global_offset, about.local_shape, about.flattened_range


def _tensors(state: dict, config: dict, groups: list[Group], splits: int, number: int) -> Iterator[tuple[str, Tensor]]:
    own = {key: part_of(key, value) for key, value in flatten_state_dict(state, NAME)[0].items()}
    said = _gathered({key: p.about for key, p in own.items() if p is not None}, groups)
    known: dict[str, list[LocalTensorMetadata]] = {}
    for some in said:
        for key, about in some.items():
            if about not in known.setdefault(key, []):
                known[key].append(about)
    engine = AOAEngine(config, _parts_of(known), None)
    derived = engine.derived()
    keys = list(derived)[number * len(derived) // splits : (number + 1) * len(derived) // splits]
    results: dict[str, np.ndarray] = {}
    wanted: list[tuple[Made, list[Target]]] = []
    for key in keys:
        shape, kind = derived[key]
        about = LocalTensorMetadata((0,) * len(shape), shape, kind, shape)
        made = Made(key, about, dtypes.to_dtype(kind).numpy, lambda array, key=key: results.update({key: array}))
        wanted.append((made, made.targets(engine, known)))
    uses = Counter(target.key for _, targets in wanted for target in {t.key: t for t in targets}.values())
    wholes: dict[str, np.ndarray] = {}
    for made, targets in wanted:
        for source in dict.fromkeys(t.key for t in targets):
            if source not in wholes:
                wholes[source] = _whole_of(source, known[source], own, groups)
            for target in targets:
                if target.key == source:
                    target.take((0,) * wholes[source].ndim, wholes[source])
            uses[source] -= 1
            if not uses[source]:
                del wholes[source]
        for target in targets:
            target.finish()
        made.finish()
        yield made.key, io._tensor(results.pop(made.key), None)


def _whole_of(key: str, parts: list[LocalTensorMetadata], own: dict, groups: list[Group]) -> np.ndarray:
    """A tensor, put together from the parts of all processes."""
    part = own.get(key)
    mine = None if part is None else (_place(part.about), np.asarray(part.held()))
    if not groups:
        found = [mine]
    else:
        found = _gathered(mine, groups)
    whole = _all_of(parts)
    out: list[np.ndarray] = []
    target = Target(key, whole, dtypes.to_dtype(whole.dtype).numpy, out.append)
    flat: dict[tuple, Flat] = {}
    seen = set()
    for entry in found:
        if entry is None or entry[0] in seen:
            continue
        (offset, shape, piece), array = entry
        seen.add(entry[0])
        if piece is None:
            target.take(offset, array.reshape(shape))
            continue
        about = LocalTensorMetadata(offset, shape, whole.dtype, whole.global_shape)
        flat.setdefault((offset, shape), Flat(about, array.dtype)).take(piece, array.reshape(-1))
    for (offset, _), block in flat.items():
        target.take(offset, block.whole(key))
    target.finish()
    return out[0]
