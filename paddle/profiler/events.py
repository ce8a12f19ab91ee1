"""What a profiler records: events with a kind, a beginning and an end."""

from __future__ import annotations

import enum
import threading
import time
from dataclasses import dataclass, field
from typing import Any


class TracerEventType(enum.Enum):
    """The kinds of events, with their official numbers."""

    Operator = 0
    Dataloader = 1
    ProfileStep = 2
    CudaRuntime = 3
    Kernel = 4
    Memcpy = 5
    Memset = 6
    UserDefined = 7
    OperatorInner = 8
    Forward = 9
    Backward = 10
    Optimization = 11
    Communication = 12
    PythonOp = 13
    PythonUserDefined = 14
    DygraphKernelLaunch = 15
    StaticKernelLaunch = 16


@dataclass
class Event:
    """Something that took time, in nanoseconds of `time.perf_counter_ns`; `device` is how long an accelerator was at it."""

    name: str
    type: TracerEventType
    start: int
    end: int
    thread: int
    device: int = 0
    args: dict[str, Any] = field(default_factory=dict)

    @property
    def duration(self) -> int:
        return self.end - self.start


class Recorder:
    """Collects events while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.events: list[Event] = []

    def start(self) -> None:
        self.events = []
        self.on = True

    def stop(self) -> list[Event]:
        self.on = False
        events, self.events = self.events, []
        return events

    def add(
        self, name: str, type: TracerEventType, start: int, end: int | None = None, device: int = 0, **args: Any
    ) -> None:
        if self.on:
            end = time.perf_counter_ns() if end is None else end
            self.events.append(Event(name, type, start, end, threading.get_ident(), device, args))


recorder = Recorder()
