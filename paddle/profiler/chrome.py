"""Profiles as files of Chrome's tracing format."""

from __future__ import annotations

import json
import os
from typing import Any

from .events import Event

_COLOURS = {
    "ProfileStep": "thread_state_runnable",
    "Forward": "rail_load",
    "Backward": "rail_response",
    "Optimization": "rail_animation",
    "Dataloader": "cq_build_failed",
    "Operator": "thread_state_running",
}


def write(result: Any, path: str) -> None:
    """Write a ProfilerResult. Times are microseconds from the first event."""
    from ..utils.files import atomic_write

    pid = os.getpid()
    first = min((e.start for e in result.events), default=0)
    threads = sorted({e.thread for e in result.events})
    trace: list[dict] = []
    for thread in threads:
        tid = f"{thread}(Python)"
        name = result.extra.get(str(thread), "thread")
        trace.append(_meta("process_name", pid, tid, name=f"Process {pid} (CPU)"))
        trace.append(_meta("thread_name", pid, tid, name=f"thread {thread}:{name}(Python)"))
    for e in sorted(result.events, key=lambda e: (e.start, -e.end)):
        trace.append(_complete(e, pid, f"{e.thread}(Python)", first, e.start, e.duration))
        if e.device:
            trace.append(_complete(e, pid, "device", first, e.start, e.device) | {"cat": "Kernel", "args": {}})
    steps = sum(e.type.name == "ProfileStep" for e in result.events)
    content = {
        "displayTimeUnit": "ms",
        "schemaVersion": "1.0.2",
        "span_index": str(steps),
        "traceEvents": trace,
        "ExtraInfo": result.extra,
    }
    with atomic_write(path) as file:
        file.write(json.dumps(content).encode())


def _meta(kind: str, pid: int, tid: str, **args: Any) -> dict:
    return {"name": kind, "pid": pid, "tid": tid, "ph": "M", "args": args}


def _complete(e: Event, pid: int, tid: str, first: int, start: int, duration: int) -> dict:
    us = duration / 1000
    args = {
        "start_time": f"{(e.start - first) / 1000:.3f} us",
        "end_time": f"{(e.end - first) / 1000:.3f} us",
        "name": e.name,
        "start_ns": e.start,
        "end_ns": e.end,
        "thread": e.thread,
    }
    if e.device:
        args["device_ns"] = e.device
    if e.args:
        args["more"] = e.args
    return {
        "name": f"{e.name}[{us:.3f} us]",
        "pid": pid,
        "tid": tid,
        "ts": (start - first) / 1000,
        "dur": us,
        "ph": "X",
        "cat": e.type.name,
        "cname": _COLOURS.get(e.type.name, "thread_state_unknown"),
        "args": args,
    }
