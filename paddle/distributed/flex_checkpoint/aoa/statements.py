"""The statements of an `aoa_config`: their grammar, and their short forms written out.

    a -> b                                    another name
    a -> b, permute = "[1, 0]"                other axes; "[]" turns their order around
    a -> b, dtype = "bfloat16"                another type; or src_dtype and dst_dtype
    a, b -> c, axis = 0                       one behind the other; a -> b, c, axis = 0: in equal parts
    a -> _    _ -> b                          a is left out; b is not in the checkpoint

Short forms: `^T` behind a name on the left, `name[0:3]` for name_0, name_1, name_2, `*` for all numbers in order,
`$LAYER_ID` and `$EXPERT_ID` for each number by itself, `$LAYER_ID_OFFSET` for the same with one less on the right,
`fused_ffn`, `fused_qkv` and `fused_qkv_old` (with `num_heads`, `num_key_value_groups`) for weights that are interleaved.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from ....engine import errors

_TOKEN = re.compile(
    r"\s*(?:(?P<arrow>->)|(?P<sign>[=:,\[\]])|(?P<number>\d+)|(?P<string>\"[^\"]*\"|'[^']*')|(?P<name>[A-Za-z_][\w.$*]*(?:\^T)?))"
)
FLAGS = ("fused_ffn", "fused_qkv", "fused_qkv_old")
SETTINGS = ("axis", "permute", "dtype", "src_dtype", "dst_dtype", "num_heads", "num_key_value_groups")
IDS = ("$EXPERT_ID", "$LAYER_ID")
OFFSET = "$LAYER_ID_OFFSET"
TURNED = "^T"


@dataclasses.dataclass(frozen=True)
class Statement:
    """Names on the left, names on the right, settings; `text` is what was written."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    settings: dict[str, Any]
    text: str

    def fail(self, what: str) -> errors.ValueError_:
        return errors.ValueError_(f"aoa_config: {what}, in the statement {self.text!r}")

    def named(self, change: Callable[[str], str]) -> Statement:
        return dataclasses.replace(self, left=tuple(map(change, self.left)), right=tuple(map(change, self.right)))

    def plain(self, left: Any, right: Any, **settings: Any) -> Statement:
        return Statement(tuple(left), tuple(right), settings, self.text)

    def __repr__(self) -> str:
        given = "".join(f", {k}={v!r}" for k, v in self.settings.items())
        return f"{', '.join(self.left)} -> {', '.join(self.right)}{given}"


def parse(text: str) -> Statement:
    """A statement as it is written. Raises ValueError with the statement and the place."""
    tokens: list[tuple[str, str]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            raise errors.ValueError_(f"aoa_config: cannot read {text[at:]!r} in the statement {text!r}")
        tokens.append((found.lastgroup or "", found[found.lastgroup]))  # type: ignore[index]
        at = found.end()
    tokens.append(("end", ""))
    place = 0

    def peek(ahead: int = 0) -> tuple[str, str]:
        return tokens[min(place + ahead, len(tokens) - 1)]

    def take(kind: str, value: str | None = None) -> str:
        nonlocal place
        found = tokens[place]
        if found[0] != kind or value is not None and found[1] != value:
            wanted = value or {"name": "a name", "number": "a number"}.get(kind, kind)
            raise errors.ValueError_(
                f"aoa_config: {wanted} must come in place of {found[1] or 'the end'!r} in the statement {text!r}"
            )
        place += 1
        return found[1]

    def names() -> Iterator[str]:
        while True:
            name = take("name")
            if peek() == ("sign", "["):
                take("sign", "[")
                low = int(take("number"))
                take("sign", ":")
                high = int(take("number"))
                take("sign", "]")
                yield from (f"{name}_{i}" for i in range(low, high))
            else:
                yield name
            ahead = peek(1)[1], peek(2)
            if peek() != ("sign", ",") or ahead[0] in FLAGS or ahead[1] == ("sign", "="):
                return
            take("sign", ",")

    left = tuple(names())
    take("arrow")
    right = tuple(names())
    settings: dict[str, Any] = {}
    while peek()[0] != "end":
        take("sign", ",")
        name = take("name")
        if name in FLAGS and peek() != ("sign", "="):
            settings[name] = True
            continue
        if name not in SETTINGS:
            raise errors.ValueError_(
                f"aoa_config: {name!r} must be one of {', '.join(SETTINGS + FLAGS)} in the statement {text!r}"
            )
        take("sign", "=")
        settings[name] = int(take("number")) if peek()[0] == "number" else take("string")[1:-1]
    return Statement(left, right, settings, text)


# ---- short forms ----
class Names:
    """The names and divisions on both sides, for the short forms that depend on them.

    Args:
        source, target: for each key of a model's state, into how many different parts it is divided; `target` None where
            what is loaded follows from the statements.
        reverse: statements are read from the right to the left.
    """

    def __init__(self, source: dict[str, int], target: dict[str, int] | None, reverse: bool):
        self.source, self.target, self.reverse = source, target, reverse
        self.forward: dict[str, tuple[str, ...]] = {}
        self.backward: dict[str, tuple[str, ...]] = {}

    def side(self, left: bool) -> dict[str, int]:
        """The names on the left or right side of a statement."""
        return self.source if left != self.reverse else self.target or {}

    def note(self, s: Statement) -> None:
        """That names follow from each other."""
        if len(s.left) > 1 and len(s.right) > 1:
            raise s.fail("there must be one name on the left or on the right")
        for name in s.left:
            self.forward[name] = s.right
        for name in s.right:
            self.backward[name] = s.left

    def parts(self, name: str, left: bool) -> int:
        """Into how many parts the tensor is divided from which a name comes, or which comes from it."""
        known, chain, seen = self.side(left), self.backward if left else self.forward, set()
        while name not in known and name in chain and name not in seen:
            seen.add(name)
            if len(chain[name]) > 1:
                raise errors.ValueError_(
                    f"aoa_config: it is not clear from which of {list(chain[name])} {name!r} comes"
                )
            name = chain[name][0]
        return known.get(name, 1)


def written_out(texts: list[str], names: Names) -> list[Statement]:
    """Plain statements, in order."""
    found = [parse(text) for text in texts]
    for step in (_offsets, _ids, _stars):
        found = [new for s in found for new in step(s, names)]
    for s in found:
        names.note(s.named(lambda n: n.removesuffix(TURNED)))
    for step in (_turned, _fused_qkv_old, _fused_ffn, _fused_qkv):
        found = [new for s in found for new in step(s, names)]
    return found


def _matching(s: Statement, pattern: str, tags: tuple[str, ...], known: dict[str, int]) -> list[dict[str, int]]:
    """For each tag that a name has its numbers among the known names; all combinations, in order. Where no name is like it,
    the statement says nothing."""
    present = [tag for tag in tags if tag in pattern]
    expression = re.escape(pattern.removesuffix(TURNED))
    for tag in present:
        expression = expression.replace(re.escape(tag), f"(?P<{tag[1:]}>\\d+)", 1).replace(
            re.escape(tag), f"(?P={tag[1:]})"
        )
    matches = [m for m in map(re.compile(expression).fullmatch, known) if m]
    numbers = {tag: sorted({int(m[tag[1:]]) for m in matches}) for tag in present}
    return [dict(zip(numbers, values)) for values in product(*numbers.values())]


def _first(s: Statement, names: Names, tags: tuple[str, ...]) -> str | None:
    side = s.right if names.reverse else s.left
    for name in (*side, *s.left, *s.right):
        if any(tag in name for tag in tags):
            return name
    return None


def _offsets(s: Statement, names: Names) -> Iterator[Statement]:
    first = _first(s, names, (OFFSET,))
    if first is None:
        yield s
        return
    if not all(OFFSET in name for name in (*s.left, *s.right)):
        raise s.fail(f"all names must have {OFFSET}")
    for found in _matching(s, first, (OFFSET,), names.side(not names.reverse)):
        number = found[OFFSET] + (1 if names.reverse else 0)
        left = [n.replace(OFFSET, str(number)) for n in s.left]
        yield dataclasses.replace(s, left=tuple(left), right=tuple(n.replace(OFFSET, str(number - 1)) for n in s.right))


def _ids(s: Statement, names: Names) -> Iterator[Statement]:
    first = _first(s, names, IDS)
    if first is None:
        yield s
        return
    tags = tuple(tag for tag in IDS if tag in first)
    if not all(tag in name for name in (*s.left, *s.right) for tag in tags):
        raise s.fail(f"all names must have {' and '.join(tags)}")
    for found in _matching(s, first, tags, names.side(not names.reverse)):

        def numbered(name: str, found: dict[str, int] = found) -> str:
            for tag, number in found.items():
                name = name.replace(tag, str(number))
            return name

        yield s.named(numbered)


def _stars(s: Statement, names: Names) -> Iterator[Statement]:
    def every(side: tuple[str, ...], known: dict[str, int]) -> Iterator[str]:
        for name in side:
            if "*" not in name:
                yield name
                continue
            head, _, tail = name.partition("*")
            pattern = re.compile(rf"{re.escape(head)}(\d+){re.escape(tail)}")
            numbers = sorted(int(m[1]) for m in map(pattern.fullmatch, known) if m)
            if not numbers:
                raise s.fail(f"no key is like {name!r}")
            yield from (f"{head}{n}{tail}" for n in numbers)

    yield dataclasses.replace(
        s, left=tuple(every(s.left, names.side(True))), right=tuple(every(s.right, names.side(False)))
    )


def _turned(s: Statement, names: Names) -> Iterator[Statement]:
    if any(n.endswith(TURNED) for n in s.right):
        raise s.fail(f"{TURNED} can stand on the left only: a -> b, then b^T -> b")
    for name in dict.fromkeys(n.removesuffix(TURNED) for n in s.left if n.endswith(TURNED)):
        yield s.plain([name], [f"{name}_transpose_tmp"], permute="[]")
    yield s.named(lambda n: f"{n.removesuffix(TURNED)}_transpose_tmp" if n.endswith(TURNED) else n)


def _heads(s: Statement) -> tuple[int, int]:
    heads, groups = s.settings.get("num_heads", 0), s.settings.get("num_key_value_groups", 0)
    if not isinstance(heads, int) or not isinstance(groups, int) or heads < 1 or groups < 1 or heads % groups:
        raise s.fail(f"num_heads must be a positive multiple of num_key_value_groups, got {heads!r} and {groups!r}")
    return heads, groups


def _interleaved(s: Statement, names: Names, prefix: str, counts: Callable) -> Iterator[Statement]:
    """A weight in which each part has a piece of every kind, in another division, or to or from the kinds by themselves.
    `counts(parts on the left, parts on the right)` gives (kind, pieces of it in all) for each kind."""
    axis = s.settings.get("axis", 1)
    kinds = len(counts(1, 1))
    if (len(s.left), len(s.right)) not in ((1, 1), (1, kinds), (kinds, 1)):
        raise s.fail(f"{prefix} takes 1 or {kinds} names on each side, not {kinds} on both")
    source = s.left[0]
    if len(s.left) > 1:
        source = ".".join(s.left) + ".tmp"
        yield s.plain(s.left, [source], axis=axis)
    before = names.parts(s.left[0], True) if len(s.left) == 1 else 1
    after = names.parts(s.right[0], False) if len(s.right) == 1 else 1
    pieces = counts(before, after)

    def order(parts: int) -> list[str]:
        for kind, n in pieces:
            if n % parts:
                raise s.fail(f"{n} pieces of {kind} do not divide over {parts} parts")
        return [
            f"{prefix}_tmp.{kind}_{i}"
            for part in range(parts)
            for kind, n in pieces
            for i in range(part * n // parts, (part + 1) * n // parts)
        ]

    yield s.plain([source], order(before), axis=axis)
    if len(s.right) == 1:
        yield s.plain(order(after), s.right, axis=axis)
        return
    for name, (kind, n) in zip(s.right, pieces):
        yield s.plain([f"{prefix}_tmp.{kind}_{i}" for i in range(n)], [name], axis=axis)


def _fused_qkv_old(s: Statement, names: Names) -> Iterator[Statement]:
    if "fused_qkv_old" not in s.settings:
        yield s
        return
    heads, groups = _heads(s)
    pieces = [("Q", heads), ("K", groups), ("V", groups)]
    yield from _interleaved(s, names, "fused_qkv_old", lambda before, after: pieces)


def _fused_ffn(s: Statement, names: Names) -> Iterator[Statement]:
    if "fused_ffn" not in s.settings:
        yield s
        return
    yield from _interleaved(
        s, names, "fused_ffn", lambda before, after: [(kind, math.lcm(before, after)) for kind in ("GATE", "UP")]
    )


def _fused_qkv(s: Statement, names: Names) -> Iterator[Statement]:
    """Groups of heads one behind the other: the queries of the group, its key, its value."""
    if "fused_qkv" not in s.settings:
        yield s
        return
    heads, groups = _heads(s)
    axis, each = s.settings.get("axis", 1), heads // groups
    if sorted((len(s.left), len(s.right))) != [1, 3]:
        raise s.fail("fused_qkv takes q, k, v on one side and one name on the other")
    apart = s.right if len(s.left) == 1 else s.left
    parts = [[f"{name}{i}" for i in range(n)] for name, n in zip(apart, (heads, groups, groups))]
    order = [n for g in range(groups) for n in (*parts[0][g * each : (g + 1) * each], parts[1][g], parts[2][g])]
    if len(s.left) == 1:
        yield s.plain(s.left, order, axis=axis)
        yield from (s.plain(some, [name], axis=axis) for some, name in zip(parts, apart))
    else:
        yield from (s.plain([name], some, axis=axis) for some, name in zip(parts, apart))
        yield s.plain(order, s.right, axis=axis)
