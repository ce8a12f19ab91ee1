"""Tables of a profile."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..engine import errors
from .events import Event
from .events import TracerEventType as Kind


class SortedKeys(enum.Enum):
    """By what the rows of tables are sorted."""

    CPUTotal = 0
    CPUAvg = 1
    CPUMax = 2
    CPUMin = 3
    GPUTotal = 4
    GPUAvg = 5
    GPUMax = 6
    GPUMin = 7


class SummaryView(enum.Enum):
    """The tables of `Profiler.summary`."""

    DeviceView = 0
    OverView = 1
    ModelView = 2
    DistributedView = 3
    KernelView = 4
    OperatorView = 5
    MemoryView = 6
    MemoryManipulationView = 7
    UDFView = 8


_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
_PHASES = (Kind.Dataloader, Kind.Forward, Kind.Backward, Kind.Optimization)


@dataclass
class Item:
    """All events of one name."""

    name: str
    cpu: list[int] = field(default_factory=list)
    device: list[int] = field(default_factory=list)
    flops: int = 0
    bytes: int = 0
    shapes: dict[str, Item] = field(default_factory=dict)

    def add(self, e: Event) -> None:
        self.cpu.append(e.duration)
        self.device.append(e.device)
        self.flops += e.args.get("flops", 0)
        self.bytes += e.args.get("bytes", 0)

    def times(self, values: list[int], unit: float, ratio: float) -> str:
        n = [sum(values), sum(values) / len(values), max(values), min(values)]
        return " / ".join(f"{v / unit:.2f}" for v in n) + f" / {100 * ratio:.2f}"


_SORT: dict[SortedKeys, Callable[[Item], float]] = {
    SortedKeys.CPUTotal: lambda i: -sum(i.cpu),
    SortedKeys.CPUAvg: lambda i: -sum(i.cpu) / len(i.cpu),
    SortedKeys.CPUMax: lambda i: -max(i.cpu),
    SortedKeys.CPUMin: lambda i: min(i.cpu),
    SortedKeys.GPUTotal: lambda i: -sum(i.device),
    SortedKeys.GPUAvg: lambda i: -sum(i.device) / len(i.device),
    SortedKeys.GPUMax: lambda i: -max(i.device),
    SortedKeys.GPUMin: lambda i: min(i.device),
}


def merged(spans: Iterable[tuple[int, int]]) -> int:
    """The time that spans cover together, overlaps once."""
    total, last = 0, None
    for start, end in sorted(spans):
        if last is None or start > last:
            total += end - start
            last = end
        elif end > last:
            total += end - last
            last = end
    return total


def report(
    result: Any, sorted_by: SortedKeys, op_detail: bool, thread_sep: bool, time_unit: str, views: Any = None
) -> str:
    """The chosen tables as text."""
    if time_unit not in _UNITS:
        raise errors.ValueError_(f"Profiler.summary: time_unit must be one of {sorted(_UNITS)}, got {time_unit!r}")
    if sorted_by not in _SORT:
        raise errors.TypeError_(f"Profiler.summary: sorted_by must be a SortedKeys, got {sorted_by!r}")
    chosen = list(SummaryView) if views is None else views if isinstance(views, (list, tuple)) else [views]
    for view in chosen:
        if not isinstance(view, SummaryView):
            raise errors.TypeError_(f"Profiler.summary: views are members of SummaryView, got {view!r}")
    events, unit = result.events, _UNITS[time_unit]
    tables: list[str] = []
    for view in SummaryView:
        if view not in chosen:
            continue
        if view is SummaryView.DeviceView:
            tables.append(_devices(result))
        elif view is SummaryView.OverView:
            tables.append(_overview(events, unit, time_unit))
        elif view is SummaryView.ModelView:
            tables.append(_model(events, unit, time_unit))
        elif view is SummaryView.OperatorView:
            rows = [e for e in events if e.type is Kind.Operator]
            tables.append(_named("Operator Summary", rows, sorted_by, thread_sep, unit, time_unit, op_detail, True))
        elif view is SummaryView.MemoryView:
            tables.append(_memory(events))
        elif view is SummaryView.UDFView:
            rows = [e for e in events if e.type in (Kind.PythonUserDefined, Kind.UserDefined)]
            tables.append(_named("UserDefined Summary", rows, sorted_by, thread_sep, unit, time_unit, False, False))
    return "\n\n\n".join(t for t in tables if t)


def _table(title: str, heads: list[str], rows: list[Any], low: list[int], note: str = "", unit: str = "") -> str:
    """A table with a title; a str among the rows stands alone in its line."""
    cells = [r for r in rows if not isinstance(r, str)]
    widths = [max(w, *(len(str(r[i])) for r in [heads, *cells])) for i, w in enumerate(low)]

    def line(row: Any) -> str:
        return "".join(f"{c!s:<{w}}  " for c, w in zip(row, widths))

    total = sum(widths) + 2 * len(widths) - 2
    rule = line(["-" * w for w in widths])
    lines = [f"{title:-^{total}}"] + ([f"Time unit: {unit}"] if unit else [])
    lines += [rule, line(heads), rule]
    lines += [f"{r:-^{total}}" if isinstance(r, str) else line(r) for r in rows] + [rule]
    return "\n".join(lines + ([note] if note else []) + ["-" * total])


def _devices(result: Any) -> str:
    rows = [
        (f"CPU({kind})", f"{100 * float(result.extra.get(f'{kind} Cpu Utilization', 0)):.2f}")
        for kind in ("Process", "System")
    ]
    note = (
        "Note:\nCPU(Process) is the processor time of this process, CPU(System) that of all processes, as a share of the "
        "time of all processors."
    )
    return _table("Device Summary", ["Device", "Utilization (%)"], rows, [30, 20], note)


def _steps(events: list[Event]) -> tuple[int, int]:
    """The number of steps and their time; without steps the whole time."""
    steps = [e for e in events if e.type is Kind.ProfileStep]
    if steps:
        return len(steps), sum(e.duration for e in steps)
    return 0, max((e.end for e in events), default=0) - min((e.start for e in events), default=0)


def _overview(events: list[Event], unit: float, name: str) -> str:
    count, total = _steps(events)
    rows = [("ProfileStep", count, f"{total / unit:.2f}", "100.00")]
    kinds = [k for k in Kind if k is not Kind.ProfileStep and any(e.type is k for e in events)]
    times = {k: merged((e.start, e.end) for e in events if e.type is k) for k in kinds}
    for k in sorted(kinds, key=lambda k: -times[k]):
        calls = sum(e.type is k for e in events)
        rows.append((f"  {k.name}", calls, f"{times[k] / unit:.2f}", f"{100 * times[k] / max(total, 1):.2f}"))
    note = (
        "Note:\nTimes of one kind that overlap count once. Kinds may lie within each other: the ratios do not add up."
    )
    return _table("Overview Summary", ["Event Type", "Calls", "CPU Time", "Ratio (%)"], rows, [25] * 4, note, name)


def _model(events: list[Event], unit: float, name: str) -> str:
    count, total = _steps(events)
    steps = Item("ProfileStep", [e.duration for e in events if e.type is Kind.ProfileStep] or [total], [0])
    rows = [("ProfileStep", count, steps.times(steps.cpu, unit, 1), _device_times(events, None, unit))]
    rest = total
    for kind in _PHASES:
        outer = _outermost([e for e in events if e.type is kind])
        if outer:
            spent = sum(e.duration for e in outer)
            rest -= spent
            item = Item(kind.name, [e.duration for e in outer])
            text = item.times(item.cpu, unit, spent / max(total, 1))
            rows.append((f"  {kind.name}", len(outer), text, _device_times(events, outer, unit)))
    rest = max(rest, 0)
    rows.append(("  Others", "-", f"{rest / unit:.2f} / - / - / - / {100 * rest / max(total, 1):.2f}", "-"))
    heads = [
        "Name", "Calls", "CPU Total / Avg / Max / Min / Ratio(%)", "GPU Total",
    ]  # fmt: skip
    return _table("Model Summary", heads, rows, [15, 6, 40, 12], "", name)


def _device_times(events: list[Event], within: list[Event] | None, unit: float) -> str:
    inside = [
        e.device
        for e in events
        if e.device and (within is None or any(w.start <= e.start and e.end <= w.end for w in within))
    ]
    return f"{sum(inside) / unit:.2f}"


def _outermost(events: list[Event]) -> list[Event]:
    """The events that lie in no other one of the same thread."""
    found: list[Event] = []
    last: dict[int, int] = {}
    for e in sorted(events, key=lambda e: (e.start, -e.end)):
        if e.end > last.get(e.thread, -1):
            found.append(e)
            last[e.thread] = e.end
    return found


def _items(events: list[Event], shapes: bool) -> list[Item]:
    items: dict[str, Item] = {}
    for e in events:
        item = items.setdefault(e.name, Item(e.name))
        item.add(e)
        if shapes and "input_shapes" in e.args:
            key = str(e.args["input_shapes"])
            item.shapes.setdefault(key, Item(key)).add(e)
    return list(items.values())


def _named(
    title: str,
    events: list[Event],
    sorted_by: SortedKeys,
    thread_sep: bool,
    unit: float,
    unit_name: str,
    shapes: bool,
    flops: bool,
) -> str:
    if not events:
        return ""
    groups = {"All threads merged": events}
    if thread_sep:
        groups = {str(t): [e for e in events if e.thread == t] for t in dict.fromkeys(e.thread for e in events)}
    rows: list[Any] = []
    for group, members in groups.items():
        rows.append(f"Thread: {group}")
        cpu, device = sum(e.duration for e in members), sum(e.device for e in members)
        for item in sorted(_items(members, shapes), key=_SORT[sorted_by]):
            rows.append(_row(item, item.name, unit, cpu, device, flops))
            for part in sorted(item.shapes.values(), key=_SORT[sorted_by]):
                rows.append(_row(part, f"  {part.name}", unit, sum(item.cpu), sum(item.device), flops))
    heads = ["Name", "Calls", *(f"{d} Total / Avg / Max / Min / Ratio(%)" for d in ("CPU", "GPU"))]
    low = [4, 6, 40, 40]
    if flops:
        heads, low = [*heads, "FLOPs"], [*low, 10]
    return _table(title, heads, rows, low, "", unit_name)


def _row(item: Item, name: str, unit: float, cpu: int, device: int, flops: bool) -> tuple:
    row = (
        name,
        len(item.cpu),
        item.times(item.cpu, unit, sum(item.cpu) / max(cpu, 1)),
        item.times(item.device, unit, sum(item.device) / max(device, 1)),
    )
    return (*row, item.flops) if flops else row


def _memory(events: list[Event]) -> str:
    items = [i for i in _items([e for e in events if "bytes" in e.args], False) if i.bytes]
    if not items:
        return ""
    rows = [(i.name, len(i.cpu), f"{i.bytes:,}") for i in sorted(items, key=lambda i: -i.bytes)]
    return _table("Memory Summary", ["Name", "Calls", "Bytes of results"], rows, [40, 6, 20])
