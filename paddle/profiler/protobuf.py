"""Profiles in the official binary format: messages with a tree of events for each thread.

The field numbers are those of the files that the official package writes. What it has no field for (the time of the
device, and what more is known of an event) lies in a field of our own, which others skip.
"""

from __future__ import annotations

import json
import os
from typing import Any

from ..engine import errors
from ..visual_log.messages import decode, encode
from .events import Event, TracerEventType

_VERSION = "1.0.2"
_MORE = 1000  # our own field of an event
_NO_PARENT = (1 << 64) - 1


def write(result: Any, path: str) -> None:
    """Write a ProfilerResult."""
    from ..utils.files import atomic_write

    fields: list[tuple] = [(1, "bytes", _VERSION), (2, "int", 0)]
    for thread in sorted({e.thread for e in result.events}):
        fields.append((3, "bytes", _thread(thread, [e for e in result.events if e.thread == thread])))
    fields += [(4, "bytes", encode([(1, "bytes", k), (2, "bytes", str(v))])) for k, v in result.extra.items()]
    with atomic_write(path) as file:
        file.write(encode(fields))


def _thread(thread: int, events: list[Event]) -> bytes:
    """The tree of the events of a thread: an event is the child of that in whose time it lies."""
    root = Event("root node", TracerEventType.UserDefined, 0, _NO_PARENT, 0)
    nodes = [_node(0, _NO_PARENT, root, 0)]
    around = [(root.end, 0)]
    for i, e in enumerate(sorted(events, key=lambda e: (e.start, -e.end)), 1):
        while e.end > around[-1][0]:
            around.pop()
        nodes.append(_node(i, around[-1][1], e, os.getpid()))
        around.append((e.end, i))
    return encode([(1, "int", thread), *((2, "bytes", node) for node in nodes)])


def _node(number: int, parent: int, e: Event, process: int) -> bytes:
    more = json.dumps({"device": e.device, "args": e.args}) if e.device or e.args else None
    event = [
        (1, "bytes", e.name),
        (2, "int", e.type.value),
        (3, "int", e.start),
        (4, "int", e.end),
        (5, "int", process),
        (6, "int", e.thread),
        (_MORE, "bytes", more),
    ]
    return encode([(1, "int", number), (2, "int", parent), (3, "bytes", encode(event))])


def read(data: bytes) -> tuple[list[Event], dict[str, str]]:
    """Events and facts in the bytes of such a file, also one of the official package. ValueError for other bytes."""
    try:
        top = decode(data)
        if not top[1][0].decode()[:2] == "1.":
            raise ValueError("its version is unknown")
        events = [_event(node) for tree in top.get(3, []) for node in decode(tree).get(2, [])]
        extra = {str(f[1][0], "utf-8"): str(f[2][0], "utf-8") for f in map(decode, top.get(4, []))}
    except (KeyError, IndexError, AttributeError, TypeError, UnicodeDecodeError) as e:
        raise errors.ValueError_(f"the messages are not those of a profile ({e!r})") from None
    return [e for e in events if e.thread], extra


def _event(node: bytes) -> Event:
    found = decode(decode(node)[3][0])
    kinds = {kind.value: kind for kind in TracerEventType}
    kind = kinds.get(found.get(2, [7])[0], TracerEventType.UserDefined)
    more = json.loads(found[_MORE][0]) if _MORE in found else {}
    name, start, end, thread = found[1][0].decode(), found[3][0], found[4][0], found[6][0]
    return Event(name, kind, start, end, thread, more.get("device", 0), more.get("args", {}))
