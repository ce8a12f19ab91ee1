"""What XLA made of a computation: its collectives with their bytes, floating point operations, memory."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_COLLECTIVE = re.compile(r"= (.*?) (" + "|".join(KINDS) + r")(?:-start)?\(")
_SHAPE = re.compile(r"(pred|[a-z]+[0-9]+[a-z0-9]*)\[([0-9,]*)\]")
_HEAD = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
_CALLED = re.compile(r"(?:to_apply|body|condition|calls|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


def wire_bytes(kind: str, payload: float, size: int) -> float:
    """What a device sends for a collective over `size` devices in the ring algorithm; `payload` is what a device holds
    before an all-reduce, reduce-scatter, all-to-all or permutation, and after an all-gather."""
    if size <= 1:
        return 0.0
    share = (size - 1) / size
    return payload * {"all-reduce": 2 * share, "collective-permute": 1.0}.get(kind, share)


@dataclass(frozen=True)
class Collective:
    """A collective in a computation.

    Attributes:
        kind: "all-reduce", "all-gather", "reduce-scatter", "all-to-all" or "collective-permute".
        payload: bytes, see `wire_bytes`.
        size: devices that take part in one.
        axes: the axes of the mesh over which it goes, empty where no mesh was given.
        times: how often it runs, since loops repeat it.
    """

    kind: str
    payload: float
    size: int
    axes: tuple[str, ...]
    times: int

    @property
    def wire(self) -> float:
        return self.times * wire_bytes(self.kind, self.payload, self.size)


@dataclass
class Analysis:
    """What a compiled computation does on each device.

    Attributes:
        flops, bytes_accessed: XLA's own count, in which the body of a loop counts once.
        arguments, outputs, temporaries, reused: bytes; `reused` are outputs in the place of arguments.
        collectives: a list of Collective.
    """

    flops: float
    bytes_accessed: float
    arguments: int
    outputs: int
    temporaries: int
    reused: int
    collectives: list[Collective] = field(default_factory=list)

    @property
    def memory(self) -> int:
        """Bytes of a device at the peak, as XLA plans them."""
        return self.arguments + self.outputs + self.temporaries - self.reused

    def totals(self) -> dict[tuple[str, tuple[str, ...]], tuple[int, float]]:
        """(kind, axes) -> (how many run, their payload in bytes)."""
        found: dict[tuple, tuple[int, float]] = {}
        for c in self.collectives:
            count, payload = found.get((c.kind, c.axes), (0, 0.0))
            found[c.kind, c.axes] = count + c.times, payload + c.times * c.payload
        return found

    def count(self, kind: str | None = None) -> int:
        """How many collectives (of a kind) run."""
        return sum(c.times for c in self.collectives if kind in (None, c.kind))

    def __str__(self) -> str:
        lines = [
            f"memory {readable(self.memory)} (arguments {readable(self.arguments)}, temporaries "
            f"{readable(self.temporaries)}), {self.flops:.3g} floating point operations"
        ]
        for (kind, axes), (count, payload) in sorted(self.totals().items()):
            lines.append(f"{kind:<20}{','.join(axes):<10}{count:>6} times {readable(payload):>12}")
        return "\n".join(lines)


def readable(n: float) -> str:
    """Bytes in words: 1.5 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 1024 or unit == "GiB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.2f} {unit}"
        n /= 1024
    return ""


def analyse(compiled: Any, mesh: Any = None) -> Analysis:
    """Look at what `jax.jit(f).lower(...).compile()` gives; with XLA's mesh the collectives tell their axes."""
    cost = compiled.cost_analysis() or {}
    cost = cost[0] if isinstance(cost, list) else cost
    memory = compiled.memory_analysis()
    return Analysis(
        float(cost.get("flops", 0)),
        float(cost.get("bytes accessed", 0)),
        memory.argument_size_in_bytes,
        memory.output_size_in_bytes,
        memory.temp_size_in_bytes,
        memory.alias_size_in_bytes,
        list(collectives(compiled.as_text(), mesh)),
    )


def collectives(text: str, mesh: Any = None) -> list[Collective]:
    """The collectives in the text of a module, those in loops as often as they run."""
    blocks, entry = _blocks(text)
    found: list[Collective] = []

    def walk(name: str, times: int) -> None:
        for line in blocks.get(name, ()):
            made = _collective(line, mesh, times)
            if made is not None:
                found.append(made)
            trips = _TRIPS.search(line)
            inside = times * (int(trips[1]) if trips and " while(" in line else 1)
            for called in _called(line):
                walk(called, inside)

    walk(entry, 1)
    return found


def _blocks(text: str) -> tuple[dict[str, list[str]], str]:
    blocks: dict[str, list[str]] = {}
    name = entry = ""
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head and "=" not in line.split("(")[0]:
            name = head[1]
            blocks[name] = []
            if line.startswith("ENTRY"):
                entry = name
        elif name and line.startswith(" "):
            blocks[name].append(line)
    return blocks, entry


def _called(line: str) -> Iterator[str]:
    for match in _CALLED.finditer(line):
        yield match[1]
    branches = _BRANCHES.search(line)
    if branches:
        for name in branches[1].split(","):
            yield name.strip().lstrip("%")


def _collective(line: str, mesh: Any, times: int) -> Collective | None:
    match = _COLLECTIVE.search(line)
    if match is None:
        return None
    shapes, kind = match[1], match[2]
    started = f"{kind}-start(" in line
    sizes = [math.prod(map(int, s[1].split(","))) if s[1] else 1 for s in _SHAPE.findall(shapes)]
    widths = [_width(s[0]) for s in _SHAPE.findall(shapes)]
    values = [n * w for n, w in zip(sizes, widths)]
    if started and kind in ("all-gather", "collective-permute") and len(values) > 1:
        values = values[len(values) // 2 :][: len(values) // 2]
    payload = float(sum(values))
    members = _members(line)
    if kind == "reduce-scatter":
        payload *= len(members)
    return Collective(kind, payload, len(members), _axes(members, mesh), times)


def _width(dtype: str) -> int:
    names = {"pred": "bool", "bf16": "bfloat16"}
    if dtype in names:
        return jnp.dtype(names[dtype]).itemsize
    digits = re.match(r"[a-z]+(\d+)", dtype)
    return max(1, int(digits[1]) // 8) if digits else 1


_GROUPS = re.compile(r"replica_groups=\{\{([0-9,]*)\}")
_IOTA = re.compile(r"replica_groups=\[([0-9,]+)\]<=\[([0-9,]+)\](?:T\(([0-9,]+)\))?")
_MESH = re.compile(r"replica_groups=mesh\[(.*?)\](?:, device_ids=\(\[([0-9,]+)\](?:T\(([0-9,]+)\))?\))? \{(.*?)\}")
_PART = re.compile(r"'([^']+)'(?::\((\d+)\)(\d+))?")
_PAIRS = re.compile(r"source_target_pairs=(\{\{.*?\}\})")


def _members(line: str) -> list[int]:
    """The devices of the first group; of a permutation one that sends and where it goes."""
    match = _GROUPS.search(line)
    if match:
        return [int(n) for n in match[1].split(",") if n]
    match = _IOTA.search(line)
    if match:
        return _ordered(match[2], match[3]).reshape([int(n) for n in match[1].split(",")])[0].tolist()
    match = _MESH.search(line)
    if match:
        return _of_mesh(*match.groups())
    match = _PAIRS.search(line)
    if match:
        pairs = json.loads(match[1].replace("{", "[").replace("}", "]"))
        return next((p for p in pairs if p[0] != p[1]), [0])
    return [0]


def _ordered(dims: str, order: str | None) -> np.ndarray:
    shape = [int(n) for n in dims.split(",")]
    ids = np.arange(math.prod(shape)).reshape(shape)
    return ids.transpose([int(n) for n in order.split(",")]) if order else ids


def _of_mesh(mesh: str, dims: str | None, order: str | None, over: str) -> list[int]:
    """The first group of a collective over some axes, or parts of axes, of a mesh that the line describes."""
    sizes = {name: int(n) for name, n in re.findall(r"'([^']+)'=(\d+)", mesh)}
    total = math.prod(sizes.values())
    ids = (_ordered(dims, order) if dims else np.arange(total)).reshape(list(sizes.values()))
    index: list[Any] = [0] * len(sizes)
    for name, before, size in _PART.findall(over):
        at = list(sizes).index(name)
        step = sizes[name] // (int(before) * int(size)) if size else 1
        index[at] = slice(0, step * int(size) if size else None, step)
    return np.atleast_1d(ids[tuple(index)]).reshape(-1).tolist()


def _axes(members: list[int], mesh: Any) -> tuple[str, ...]:
    if mesh is None or len(members) < 2 or max(members) >= mesh.size:
        return ()
    places = np.array(np.unravel_index(members, tuple(mesh.shape.values())))
    return tuple(name for name, row in zip(mesh.axis_names, places) if len(set(row.tolist())) > 1)
