"""From which pieces of a checkpoint the tensors of a state are made."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

import numpy as np

from ....engine import dtype as dtypes
from ....engine import errors
from ..dcp.sharded_weight import ShardedWeightDesc
from .statements import Names, Statement, written_out

SUFFIXES = (".w_0", ".moment1_0", ".moment2_0", ".beta1_pow_acc_0", ".beta2_pow_acc_0")
POWERS = SUFFIXES[3:]
TYPES = ("float16", "float32", "bfloat16")


def split_optimizer_state_key(key: str) -> tuple[str, str | None]:
    """(key of the parameter, which of its states, None for the parameter itself)."""
    for suffix in SUFFIXES:
        if key.endswith(suffix):
            return key.removesuffix(suffix), suffix
    return key, None


@dataclasses.dataclass(frozen=True)
class Piece:
    """The box `there` of a tensor comes from the box `here` of the tensor `key` by `steps`, permutations and types."""

    key: str
    here: tuple[tuple[int, int], ...]
    there: tuple[tuple[int, int], ...]
    steps: tuple[str, ...] = ()

    @property
    def axes(self) -> list[int]:
        """For each axis of the result that of the source."""
        found = list(range(len(self.here)))
        for step in self.steps:
            if step.startswith("["):
                found = [found[i] for i in ast.literal_eval(step)]
        return found

    def part(self, box: list[tuple[int, int]], moved: bool = True) -> Piece | None:
        """What lies in a box of the result, None where nothing does; `moved`: counted from the box's corner."""
        here, there = list(self.here), []
        for i, ((low, high), (a, b)) in enumerate(zip(box, self.there)):
            first, last = max(low, a), min(high, b)
            if first >= last:
                return None
            start = self.here[self.axes[i]][0] + first - a
            here[self.axes[i]] = (start, start + last - first)
            there.append((first - low, last - low) if moved else (first, last))
        return Piece(self.key, tuple(here), tuple(there), self.steps)


@dataclasses.dataclass
class Whole:
    """A tensor, by the pieces of which it is made."""

    shape: tuple[int, ...]
    pieces: list[Piece]
    dtype: str | None
    used: bool = False


@dataclasses.dataclass(frozen=True)
class ShardMappingEntry:
    """A part of a wanted tensor, the part of the checkpoint it comes from, and the steps between, None for none."""

    target_slice: ShardedWeightDesc
    source_slice: ShardedWeightDesc
    postprocess_list: list[str] | None = None


class AOAEngine:
    """What the statements of an `aoa_config` make of the tensors of a checkpoint. They are about the tensors of the model;
    the states of an optimizer (".moment1_0", ...) follow them.

    Args:
        aoa_config: {"aoa_statements": a list of statements (see `statements`), "aoa_config_reverse": read them from right
            to left and the last one first; other entries are ignored}.
        source_state_shard_info: the parts of each tensor of the checkpoint.
        destination_state_shard_info: those of what is wanted, in all processes; None: all that the statements give, whole.

    Raises:
        ValueError: statements that cannot be read, or contradict the shapes.
    """

    def __init__(
        self,
        aoa_config: dict[str, Any],
        source_state_shard_info: dict[str, list[ShardedWeightDesc]],
        destination_state_shard_info: dict[str, list[ShardedWeightDesc]] | None,
    ):
        texts = aoa_config.get("aoa_statements", []) if isinstance(aoa_config, dict) else None
        if not isinstance(texts, (list, tuple)) or not all(isinstance(t, str) for t in texts):
            raise errors.ValueError_(
                "aoa_config must be a dict with a list of strings under 'aoa_statements', got "
                f"{errors.describe(aoa_config)}"
            )
        self.reverse = bool(aoa_config.get("aoa_config_reverse", False))
        self.source, self.wanted = source_state_shard_info, destination_state_shard_info
        self.inputs: dict[str, Whole] = {}
        for key in sorted(source_state_shard_info):
            name, state = split_optimizer_state_key(key)
            first = source_state_shard_info[key][0]
            if state in POWERS or name in self.inputs and state is not None:
                continue
            shape = tuple(first.global_shape)
            box = tuple((0, n) for n in shape)
            self.inputs[name] = Whole(shape, [Piece(name, box, box)], first.dtype)
        wanted = None if self.wanted is None else _divisions(self.wanted)
        statements = written_out(list(texts), Names(_divisions(source_state_shard_info), wanted, self.reverse))
        self.known = dict(self.inputs)
        self.outputs: dict[str, Whole | None] = {}
        self.left_out: set[str] = set()
        self.absent: set[str] = set()
        for s in reversed(statements) if self.reverse else statements:
            self._do(s, wanted or {})
        self._finish(wanted)

    # ---- statements ----
    def _get(self, s: Statement, name: str) -> Whole:
        if name not in self.known:
            raise s.fail(f"there is no {name!r}, in the checkpoint or on the right of an earlier statement")
        return self.known[name]

    def _do(self, s: Statement, wanted: dict[str, int]) -> None:
        left, right = (s.right, s.left) if self.reverse else (s.left, s.right)
        if len(left) == 1 and len(right) == 1 and "_" in (left[0], right[0]):
            (self.left_out if right[0] == "_" else self.absent).add(left[0] if right[0] == "_" else right[0])
            return
        given = [self._get(s, name) for name in left]
        for whole in given:
            whole.used = True
        if len(left) > 1 or len(right) > 1:
            made = self._joined(s, given, len(right))
        else:
            made = [self._changed(s, given[0])]
        for name, whole in zip(right, made):
            self.known[name] = whole
            if name in wanted:
                self.outputs[name] = whole

    def _joined(self, s: Statement, given: list[Whole], parts: int) -> list[Whole]:
        """One behind the other, or in equal parts."""
        if set(s.settings) != {"axis"}:
            raise s.fail(f"several names need axis and nothing else, got {s.settings}")
        axis, shape, dtype = s.settings["axis"], given[0].shape, given[0].dtype
        if not isinstance(axis, int) or axis >= len(shape):
            raise s.fail(f"axis {axis!r} of a tensor of shape {list(shape)}")
        for other in given:
            if other.dtype != dtype or [*other.shape[:axis], *other.shape[axis + 1 :]] != [
                *shape[:axis],
                *shape[axis + 1 :],
            ]:
                raise s.fail(
                    f"types and shapes must fit along axis {axis}, got {[(w.dtype, list(w.shape)) for w in given]}"
                )
        length = sum(w.shape[axis] for w in given)
        if length % parts:
            raise s.fail(f"axis {axis} of length {length} does not divide into {parts}")
        pieces, start = [], 0
        for whole in given:
            for p in whole.pieces:
                low, high = p.there[axis]
                there = (*p.there[:axis], (low + start, high + start), *p.there[axis + 1 :])
                pieces.append(dataclasses.replace(p, there=there))
            start += whole.shape[axis]
        each = length // parts
        found = []
        for i in range(parts):
            box = [(0, n) for n in shape]
            box[axis] = (i * each, (i + 1) * each)
            some = [q for p in pieces if (q := p.part(box)) is not None]
            found.append(Whole((*shape[:axis], each, *shape[axis + 1 :]), some, dtype))
        return found

    def _changed(self, s: Statement, given: Whole) -> Whole:
        """Another name, other axes, another type."""
        settings = s.settings
        if set(settings) == {"permute"}:
            try:
                axes = list(ast.literal_eval(settings["permute"])) or list(range(len(given.shape)))[::-1]
                assert sorted(axes) == list(range(len(given.shape)))
            except (ValueError, SyntaxError, TypeError, AssertionError):
                raise s.fail(
                    f"permute must name the {len(given.shape)} axes of {list(given.shape)} once each, got "
                    f"{settings['permute']!r}"
                ) from None
            if self.reverse and settings["permute"] != "[]":
                axes = np.argsort(axes).tolist()
            pieces = [
                dataclasses.replace(p, there=tuple(p.there[i] for i in axes), steps=(*p.steps, str(axes)))
                for p in given.pieces
            ]
            return Whole(tuple(given.shape[i] for i in axes), pieces, given.dtype)
        if set(settings) in ({"dtype"}, {"src_dtype", "dst_dtype"}):
            if self.reverse and "dtype" in settings:
                raise s.fail("read from right to left it needs src_dtype and dst_dtype in place of dtype")
            kind = settings.get("dtype", settings.get("src_dtype" if self.reverse else "dst_dtype"))
            bad = [v for v in settings.values() if v not in TYPES]
            if bad:
                raise s.fail(f"types must be among {', '.join(TYPES)}, got {bad[0]!r}")
            pieces = [dataclasses.replace(p, steps=(*p.steps, kind)) for p in given.pieces]
            return Whole(given.shape, pieces, given.dtype)
        if settings and set(settings) != {"axis"}:
            raise s.fail(f"one of axis, permute, dtype, or src_dtype with dst_dtype is needed, got {settings}")
        return Whole(given.shape, list(given.pieces), given.dtype)

    def _finish(self, wanted: dict[str, int] | None) -> None:
        if wanted is None:
            for name, whole in self.known.items():
                if not whole.used and not (name in self.left_out and self.inputs.get(name) is whole):
                    self.outputs[name] = whole
            return
        for name in wanted:
            if name in self.outputs:
                continue
            if name not in self.absent and name not in self.inputs:
                raise errors.ValueError_(
                    f"aoa_config: nothing gives {name!r}: it is not in the checkpoint, not on the right of a statement, and "
                    f"there is no statement '_ -> {name}'"
                )
            self.outputs[name] = None if name in self.absent else self.inputs[name]

    # ---- what is asked ----
    def sources(self, key: str, offset: tuple[int, ...], shape: tuple[int, ...]) -> list[Piece]:
        """The pieces of a part of a wanted tensor, their places counted from its corner; none where it is not loaded."""
        name, state = split_optimizer_state_key(key)
        if name not in self.outputs:
            raise errors.ValueError_(f"aoa_config: {key!r} is not among the tensors that are wanted")
        whole = self.outputs[name]
        if whole is None:
            return []
        if state in POWERS:
            first = next((p for p in whole.pieces if p.key not in self.left_out), None)
            box = tuple((o, o + n) for o, n in zip(offset, shape))
            there = tuple((0, n) for n in shape)
            return [] if first is None else [Piece(first.key + str(state), box, there)]
        if len(shape) != len(whole.shape):
            raise errors.ValueError_(
                f"aoa_config: {key!r} has {len(shape)} axes, the statements give a tensor of shape {list(whole.shape)}"
            )
        box = [(o, o + n) for o, n in zip(offset, shape)]
        found = [q for p in whole.pieces if p.key not in self.left_out and (q := p.part(box)) is not None]
        return [dataclasses.replace(p, key=p.key + (state or "")) for p in found]

    def shape_of(self, key: str) -> tuple[int, ...] | None:
        """The shape of a wanted tensor, None where it is not loaded."""
        whole = self.outputs.get(split_optimizer_state_key(key)[0])
        return None if whole is None else whole.shape

    def derived(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """(shape, type) of each tensor that the statements give, where nothing says what is wanted, and of the states of
        optimizers that follow them."""
        found = {}
        for name, whole in self.outputs.items():
            if whole is None or not whole.pieces:
                continue
            casts = [step for step in whole.pieces[0].steps if not step.startswith("[")]
            found[name] = (whole.shape, casts[-1] if casts else whole.dtype or "float32")
            for suffix in SUFFIXES:
                parts = self.source.get(whole.pieces[0].key + suffix)
                if parts is not None:
                    shape = tuple(parts[0].global_shape) if suffix in POWERS else whole.shape
                    found[name + suffix] = shape, parts[0].dtype or "float32"
        return found

    def check_type(self, key: str, piece: Piece, dtype: str) -> None:
        """ValueError where a piece of the model has another type than what is wanted, and no statement changes it."""
        if split_optimizer_state_key(key)[1] is not None:
            return
        have = self.inputs[piece.key].dtype
        if have is not None and have != dtype and dtype not in piece.steps:
            raise errors.ValueError_(
                f"aoa_config: {key!r} has the type {dtype}, {piece.key!r} in the checkpoint {have}; a statement with dtype "
                "changes it"
            )

    def find_shard_sources(self, target: ShardedWeightDesc) -> list[ShardMappingEntry]:
        """The parts of the checkpoint from which a part of a wanted tensor comes."""
        found = []
        _, state = split_optimizer_state_key(target.key)
        for piece in self.sources(target.key, target.global_offset, target.local_shape):
            if state in POWERS:
                source = dataclasses.replace(target, key=piece.key)
                return [ShardMappingEntry(target, source, None)]
            if target.dtype is not None:
                self.check_type(target.key, piece, target.dtype)
            name, _ = split_optimizer_state_key(piece.key)
            dtype = self.inputs[name].dtype if state is None else target.dtype
            corner = tuple(low + o for (low, _), o in zip(piece.there, target.global_offset))
            found.append(
                ShardMappingEntry(
                    dataclasses.replace(target, local_shape=_lengths(piece.there), global_offset=corner),
                    ShardedWeightDesc(
                        piece.key, _lengths(piece.here), self.inputs[name].shape, _corner(piece.here), dtype
                    ),
                    list(piece.steps) or None,
                )
            )
        return found


def applied(array: np.ndarray, steps: tuple[str, ...]) -> np.ndarray:
    """An array after permutations and changes of type."""
    for step in steps:
        array = array.transpose(ast.literal_eval(step)) if step.startswith("[") else _cast(array, step)
    return array


def _cast(array: np.ndarray, name: str) -> np.ndarray:
    return array.astype(dtypes.to_dtype(name).numpy)


def _lengths(box: tuple) -> tuple[int, ...]:
    return tuple(high - low for low, high in box)


def _corner(box: tuple) -> tuple[int, ...]:
    return tuple(low for low, _ in box)


def _divisions(parts: dict[str, list[ShardedWeightDesc]]) -> dict[str, int]:
    """For each key of the model, into how many parts it, or its states, are divided."""
    found: dict[str, set[int]] = {}
    for key, some in parts.items():
        name, state = split_optimizer_state_key(key)
        numbers = found.setdefault(name, set())
        if state not in POWERS:
            numbers.add(len({tuple(p.global_offset) for p in some}))
    for name, numbers in found.items():
        if len(numbers) > 1:
            raise errors.ValueError_(f"aoa_config: {name!r} and its states are divided into {sorted(numbers)} parts")
    return {name: next(iter(numbers), 1) for name, numbers in found.items()}
