"""Marking parts of one's own code, and reading profiles."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

from ..engine import errors
from .events import Event, TracerEventType, recorder


class RecordEvent(ContextDecorator):
    """Names a part of a program in the profile: a context manager, a decorator, or `begin` and `end`.

    Args:
        name: what is shown.
        event_type: a kind of event.

    Example:
        >>> with paddle.profiler.RecordEvent("my part"):
        ...     y = paddle.ones([2]) + 1
    """

    def __init__(self, name: str, event_type: TracerEventType = TracerEventType.PythonUserDefined):
        if not isinstance(name, str):
            raise errors.TypeError_(f"RecordEvent: name must be a str, got {type(name).__name__}")
        self.name = name
        self.event_type = event_type
        self.event: int | None = None  # when it began

    def __enter__(self) -> RecordEvent:
        self.begin()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.end()

    def begin(self) -> None:
        """The part begins."""
        self.event = time.perf_counter_ns() if recorder.on else None

    def end(self) -> None:
        """The part ends."""
        if self.event is not None:
            recorder.add(self.name, self.event_type, self.event)
            self.event = None

    def __call__(self, func: Callable) -> Callable:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with RecordEvent(self.name, self.event_type):
                return func(*args, **kwargs)

        return wrapper


def in_profiler_mode() -> bool:
    """Whether a profiler records now."""
    return recorder.on


class ProfilerResult:
    """What was recorded: `events` and facts about the run."""

    def __init__(self, events: list[Event], extra: dict[str, str]):
        self.events, self.extra = events, extra

    def get_data(self) -> list[Event]:
        """The events, in the order in which they ended."""
        return self.events

    def get_extra_info(self) -> dict[str, str]:
        """Facts about the run, as text."""
        return self.extra

    def save(self, path: str, format: str = "json") -> None:
        """Write a file in the format of Chrome's tracing ("json", for chrome://tracing and https://ui.perfetto.dev) or the
        official binary one ("pb")."""
        from . import chrome, protobuf

        if format not in ("json", "pb"):
            raise errors.ValueError_(f"profiler: the format must be 'json' or 'pb', got {format!r}")
        (chrome if format == "json" else protobuf).write(self, path)


def load_profiler_result(filename: str) -> ProfilerResult:
    """Read a profile that `export_protobuf`, `export_chrome_tracing` or `Profiler.export` has written; in the binary format
    also one of the official package.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no such profile.

    Example:
        >>> profiler = paddle.profiler.Profiler(on_trace_ready=lambda p: p.export("trace.json"))
        >>> with profiler: _ = paddle.ones([2]) + 1
        >>> any(e.name == "add" for e in paddle.profiler.load_profiler_result("trace.json").get_data())
        True
    """
    from . import protobuf

    with open(filename, "rb") as file:
        data = file.read()
    try:
        if not data.lstrip().startswith(b"{"):
            return ProfilerResult(*protobuf.read(data))
        trace = json.loads(data)
        events = [
            Event(
                e["args"]["name"],
                TracerEventType[e["cat"]],
                int(e["args"]["start_ns"]),
                int(e["args"]["end_ns"]),
                int(e["args"]["thread"]),
                int(e["args"].get("device_ns", 0)),
                dict(e["args"].get("more", {})),
            )
            for e in trace["traceEvents"]
            if e["ph"] == "X" and e["cat"] in TracerEventType.__members__ and "start_ns" in e["args"]
        ]
        return ProfilerResult(events, dict(trace.get("ExtraInfo", {})))
    except (ValueError, KeyError, TypeError) as e:
        raise errors.ValueError_(f"load_profiler_result: {filename!r} is no profile of this package ({e})") from None
