"""Objects from process to process. Their arrays lie in anonymous shared memory whose descriptor goes along: it has no
name and no limit of its own, nothing is copied on arrival, and the system frees it when the last process lets go of it,
however that one ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import mmap
import os
import pickle
import socket
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, sendfds
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor
from .host import host_tensor, read

_INLINE = 32 << 10  # bytes that go through the connection itself: less than the price of a mapping
_ALIGNMENT = 64  # the CPU device takes memory at such addresses as it is
_POPULATE = getattr(mmap, "MAP_POPULATE", 0)


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        return (_tensor, (read(value), value.stop_gradient)) if isinstance(value, Tensor) else NotImplemented


def _tensor(array: np.ndarray, stop_gradient: bool) -> Tensor:
    out = host_tensor(array)
    out.stop_gradient = stop_gradient
    return out


def send(connection: Connection, value: Any, shared: bool = True) -> None:
    """Send an object. `shared=False`, or no memory for it: everything goes through the connection."""
    parts: list[pickle.PickleBuffer] = []
    out = io.BytesIO()
    _Pickler(out, 5, buffer_callback=parts.append).dump(value)
    views = [out.getbuffer(), *(part.raw() for part in parts)]
    sizes = [view.nbytes for view in views]
    with contextlib.ExitStack() as stack:
        memory = None
        if shared and sum(sizes) > _INLINE:
            with contextlib.suppress(OSError, MemoryError):
                way = stack.enter_context(socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM))
                memory = stack.enter_context(_shared(views))
        connection.send_bytes(pickle.dumps((sizes, memory is not None)))
        if memory is not None:
            sendfds(way, [memory])
        else:
            for view in views:
                connection.send_bytes(view)


def receive(connection: Connection) -> Any:
    """The next object. EOFError when the other side is closed."""
    sizes, shared = pickle.loads(connection.recv_bytes())
    if shared:
        try:
            memory = recv_handle(connection)
        except ConnectionError:
            raise
        except (OSError, RuntimeError) as e:
            raise errors.RuntimeError_(
                f"a batch did not arrive: this process has too many open files (`ulimit -n` raises the limit; {e})"
            ) from None
        try:
            whole = _mapped(memory, _starts(sizes)[-1])
        finally:
            os.close(memory)
        views = [whole[start : start + size] for start, size in zip(_starts(sizes), sizes)]
    else:
        views = [memoryview(bytearray(size)) for size in sizes]
        for view in views:
            if connection.recv_bytes_into(view) != view.nbytes if view.nbytes else connection.recv_bytes():
                raise EOFError
    return pickle.loads(views[0], buffers=views[1:])


def _starts(sizes: list[int]) -> list[int]:
    """Where each part begins, and the size of the whole."""
    return [0, *np.cumsum([-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes]).tolist()]


@contextlib.contextmanager
def _shared(views: list[memoryview]) -> Iterator[int]:
    """Anonymous memory that holds the parts. OSError where there is no room."""
    memory = anonymous_memory()
    try:
        starts = _starts([view.nbytes for view in views])
        os.ftruncate(memory, starts[-1])
        for view, start in zip(views, starts):
            left = view
            while left.nbytes:
                written = os.pwrite(memory, left, start)
                left, start = left[written:], start + written
        yield memory
    finally:
        os.close(memory)


def anonymous_memory() -> int:
    """The descriptor of a file without a name, in memory where the system knows that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("paddle-batch", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as f:
        return os.dup(f.fileno())


class _Mapping:
    """Memory behind a descriptor, for NumPy. (Python's `mmap` would keep one more descriptor open for each.)"""

    address: int | None = None
    _system = ctypes.CDLL(None, use_errno=True)
    _system.mmap.restype = ctypes.c_void_p
    _system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    _system.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def __init__(self, memory: int, size: int):
        self.size = size
        address = self._system.mmap(
            None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _POPULATE, memory, 0
        )
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.address = address
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        if self.address is not None:
            self._system.munmap(self.address, self.size)


def _mapped(memory: int, size: int) -> memoryview:
    try:
        return memoryview(np.asarray(_Mapping(memory, size)))  # type: ignore[arg-type]
    except OSError:  # too many mappings: read it
        os.lseek(memory, 0, os.SEEK_SET)
        whole = memoryview(bytearray(size))
        with open(memory, "rb", buffering=0, closefd=False) as f:
            done = 0
            while done < size and (more := f.readinto(whole[done:])):
                done += more
        return whole
