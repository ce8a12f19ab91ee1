"""Streams and events. XLA orders its work by the data that it reads and writes, so a stream is a name here, and an
event
stands for the arrays that were being computed when it was recorded."""

from __future__ import annotations

import time
import weakref
from typing import Any

import jax

from ..engine import capture, errors
from ..engine import place as _place

__all__ = [
    "Stream",
    "Event",
    "stream_guard",
    "StreamContext",
    "current_stream",
    "set_stream",
    "stream",
    "get_stream_from_external",
    "is_current_stream_capturing",
]


def _place_of(device: Any) -> _place.Place:
    if device is None:
        return _place.current_place()
    found = _place.parse_place(f"gpu:{device}" if isinstance(device, int) else device)
    found.device()
    return found


class Event:
    """A point in the work of a device.

    Args:
        enable_timing: measure the time; recording then waits for the work before.
        blocking, interprocess: accepted, without effect.

    Example:
        >>> start, end = paddle.device.Event(enable_timing=True), paddle.device.Event(enable_timing=True)
        >>> start.record(); x = paddle.ones([8]) * 2; end.record()
        >>> start.elapsed_time(end) >= 0
        True
    """

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self.device, self.enable_timing, self.event_base = _place.current_place(), bool(enable_timing), self
        self._arrays: list = []
        self._time: float | None = None

    def record(self, stream=None):
        """Mark the work that was started until now."""
        capture.flush()
        found = [a for a in jax.live_arrays() if not a.is_deleted()]
        if self.enable_timing:
            for array in found:
                array.block_until_ready()
            self._time = time.perf_counter()
        else:
            self._arrays = [weakref.ref(a) for a in found]

    def _waiting(self) -> list:
        alive = (reference() for reference in self._arrays)
        return [a for a in alive if a is not None and not a.is_deleted() and not a.is_ready()]

    def query(self):
        """Whether the marked work has finished."""
        return not self._waiting()

    def synchronize(self):
        """Wait until the marked work has finished."""
        for array in self._waiting():
            array.block_until_ready()

    def elapsed_time(self, end_event):
        """Milliseconds from this event to another. RuntimeError unless both were recorded with enable_timing=True."""
        if self._time is None or end_event._time is None:
            raise errors.RuntimeError_("elapsed_time: both events must be made with enable_timing=True and recorded")
        return (end_event._time - self._time) * 1000


class Stream:
    """A queue of work. All streams of a device are one: XLA finds by itself what can run side by side.

    Args:
        device: a device, default the current one.
        priority: accepted, without effect.
        stream_base: another stream that this shall be equal to.

    Example:
        >>> stream = paddle.device.Stream()
        >>> stream.synchronize()
        >>> stream.query()
        True
    """

    def __init__(self, device=None, priority=2, stream_base=None):
        self.device = stream_base.device if isinstance(stream_base, Stream) else _place_of(device)
        self.priority = priority
        self.stream_base = self if stream_base is None else getattr(stream_base, "stream_base", stream_base)

    def wait_event(self, event):
        """Later work on this stream waits for the event."""
        event.synchronize()

    def wait_stream(self, stream):
        """Later work on this stream waits for that of another one; XLA keeps this order by itself."""

    def record_event(self, event=None):
        """Record an event (a new one by default) and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self):
        """Whether all work has finished."""
        event = Event()
        event.record(self)
        return event.query()

    def synchronize(self):
        """Wait for all work."""
        self.record_event().synchronize()

    def __eq__(self, o):
        return isinstance(o, Stream) and self.stream_base is o.stream_base

    def __hash__(self):
        return id(self.stream_base)

    def __repr__(self):
        return f"<paddle.device.Stream device={self.device}>"


_current: dict[_place.Place, Stream] = {}


def current_stream(device: Any = None) -> Stream:
    """The stream of a device.

    Example:
        >>> paddle.device.current_stream() == paddle.device.current_stream()
        True
    """
    place = _place_of(device)
    return _current.setdefault(place, Stream(place)) if place not in _current else _current[place]


def set_stream(stream: Stream) -> Stream:
    """Make a stream the current one of its device; returns the one before. TypeError for anything else."""
    if not isinstance(stream, Stream):
        raise errors.TypeError_(f"set_stream: stream must be a Stream, got {type(stream).__name__}")
    before = current_stream(stream.device)
    _current[stream.device] = stream
    return before


class stream_guard:
    """Work inside belongs to a stream: a context manager. None changes nothing.

    Example:
        >>> with paddle.device.stream_guard(paddle.device.Stream()) as stream:
        ...     paddle.device.current_stream() == stream
        True
    """

    def __init__(self, stream=None):
        self.stream = stream

    def __enter__(self):
        self._before = None if self.stream is None else set_stream(self.stream)
        return self.stream

    def __exit__(self, exc_type, exc_val, exc_tb):
        if self._before is not None:
            set_stream(self._before)


StreamContext = stream_guard


def stream(stream: Stream | None) -> stream_guard:
    """`stream_guard` under another name."""
    return stream_guard(stream)


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """A stream of another library: NotImplementedError, since XLA runs on streams of its own only."""
    raise errors.NotImplemented_("get_stream_from_external: XLA runs on streams of its own")


def is_current_stream_capturing() -> bool:
    """False: CUDA graphs are captured by XLA itself, not by the user."""
    return False
