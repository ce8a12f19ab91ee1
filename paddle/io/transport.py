"""Objects from process to process: what is large through shared memory (`blocks`), the rest through the connection."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import socket
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.reduction import recvfds, sendfds
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor
from .blocks import Arrivals, Block, Blocks, Part
from .host import host_tensor, read

_INLINE = 32 << 10  # bytes that go through the connection itself: less than the price of a block


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        return (_tensor, (read(value), value.stop_gradient)) if isinstance(value, Tensor) else NotImplemented


def _tensor(array: np.ndarray, stop_gradient: bool) -> Tensor:
    out = host_tensor(array)
    out.stop_gradient = stop_gradient
    return out


class Parcel:
    """An object, packed. Between packing and sending the sender lets go of it: arrays in blocks that nobody holds then go
    as they are, others may still be written to and are copied.

    Args:
        value: the object.
        blocks: where large parts go; None, or no memory for it, and everything goes through the connection.
    """

    def __init__(self, value: Any, blocks: Blocks | None = None):
        self._blocks = blocks
        self._retained: dict[int, Block] = {}
        buffers: list[pickle.PickleBuffer] = []
        out = io.BytesIO()
        _Pickler(out, 5, buffer_callback=buffers.append).dump(value)
        self._parts: list[memoryview | Part] = [out.getbuffer(), *(buffer.raw() for buffer in buffers)]
        if blocks is not None:
            for i, view in enumerate(self._parts):
                if (part := blocks.find(view)) is not None:
                    self._parts[i] = part
                    self._retained[part.block.number] = part.block
            for block in self._retained.values():
                blocks.retain(block)

    def send(self, connection: Connection) -> None:
        """Send it."""
        blocks, parts = self._blocks, self._parts
        held = {number: block for number, block in self._retained.items() if block.lease() is not None}
        loose: dict[int, memoryview] = {}
        for i, part in enumerate(parts):
            if isinstance(part, Part) and part.block.number in held:
                parts[i] = part = part.view()
            if isinstance(part, memoryview) and part.nbytes:
                loose[i] = part
        inline = sum(view.nbytes for view in loose.values()) <= _INLINE
        if blocks is not None and not inline:
            for i, copy in zip(loose, blocks.store(list(loose.values())) or ()):
                parts[i] = copy
        places: list[tuple[int, int, int] | bytearray | int] = []  # in a block, here, or as a message of so many bytes
        new: dict[int, Block] = {}
        for part in parts:
            if isinstance(part, Part):
                places.append((part.block.number, part.start, part.size))
                if part.block.descriptor is not None:
                    new[part.block.number] = part.block
            else:
                places.append(bytearray(part) if inline or not part.nbytes else part.nbytes)
        gone = blocks.next_batch() if blocks is not None else []
        connection.send_bytes(pickle.dumps((places, [(n, block.mapping.size) for n, block in new.items()], gone)))
        if new:
            with _socket(connection) as way:
                for block in new.values():
                    sendfds(way, [block.descriptor])
                    os.close(block.descriptor)
                    block.descriptor = None
        for part, place in zip(parts, places):
            if isinstance(place, int):
                connection.send_bytes(part)
        for block in held.values():
            blocks.release(block)


def receive(connection: Connection, arrivals: Arrivals | None = None) -> Any:
    """The next object. `arrivals`: the blocks of the sender, if it has any. EOFError when the other side is closed."""
    places, new, gone = pickle.loads(connection.recv_bytes())
    if new:
        with _socket(connection) as way:
            for number, size in new:
                descriptor = _descriptor(way)
                try:
                    arrivals.add(number, size, descriptor)
                finally:
                    os.close(descriptor)
    views = arrivals.views({place[0] for place in places if isinstance(place, tuple)}) if arrivals is not None else {}
    parts: list[Any] = []
    for place in places:
        if isinstance(place, tuple):
            number, start, size = place
            parts.append(views[number][start : start + size])
        elif isinstance(place, int):
            parts.append(bytearray(place))
            if connection.recv_bytes_into(parts[-1]) != place:
                raise EOFError
        else:
            parts.append(place)
    if gone:
        arrivals.forget(gone)
    return pickle.loads(parts[0], buffers=parts[1:])


def _descriptor(way: socket.socket) -> int:
    try:
        return recvfds(way, 1)[0]
    except ConnectionError:
        raise
    except (OSError, RuntimeError) as e:
        raise errors.RuntimeError_(
            f"a batch did not arrive: this process has too many open files (`ulimit -n` raises the limit; {e})"
        ) from None


@contextlib.contextmanager
def _socket(connection: Connection) -> Iterator[socket.socket]:
    """The socket of a connection, without a descriptor of its own."""
    way = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=connection.fileno())
    try:
        way.setblocking(True)  # whatever `socket.setdefaulttimeout` says
        yield way
    finally:
        way.detach()
