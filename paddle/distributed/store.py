"""A small key-value store over TCP by which processes find each other, wait for each other and compare notes."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time

from ..engine import errors
from ..engine.meshed import before_waiting

_SET, _GET, _ADD, _WAIT, _DELETE, _HELLO = range(6)
_HEAD = struct.Struct("!BIId")  # what is asked, lengths of key and value, seconds to wait
_REPLY = struct.Struct("!BI")
_PIECE = 1 << 22  # bytes


class Timeout(TimeoutError, RuntimeError):
    """Another process did not come in time."""


def receive(connection: socket.socket, size: int) -> bytearray:
    """Exactly `size` bytes; ConnectionError when the other side ends before. Memory grows as they come: a stranger may have
    sent any size."""
    data = bytearray(min(size, _PIECE))
    receive_into(connection, memoryview(data))
    while len(data) < size:
        data += receive(connection, min(size - len(data), _PIECE))
    return data


def receive_into(connection: socket.socket, view: memoryview) -> None:
    """Fill a buffer."""
    got, size = 0, len(view)
    while got < size:
        n = connection.recv_into(view[got:], size - got)
        if n == 0:
            raise ConnectionError("the connection was closed")
        got += n


def open_connection(host: str, port: int, timeout: float) -> socket.socket:
    """A connection to a server that may still be starting."""
    end = time.monotonic() + timeout
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=max(0.1, end - time.monotonic()))
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except OSError as error:
            if time.monotonic() >= end:
                raise errors.RuntimeError_(
                    f"no process answered at {host}:{port} within {timeout:g} seconds ({error}); is the first process "
                    "running, and are PADDLE_MASTER and PADDLE_TRAINER_ENDPOINTS right?"
                ) from None
            time.sleep(0.05)


def where_to_listen(host: str) -> str:
    """The address for a server that others reach at a host: no other machine reaches this one at 127.0.0.1, so none shall
    be able to connect. Otherwise all addresses, since a machine need not know under which one it is seen."""
    return "127.0.0.1" if host in ("localhost", "127.0.0.1") else ""


class _Server:
    def __init__(self, host: str, port: int):
        self.socket = socket.create_server((where_to_listen(host), port), backlog=1024)
        self.port = self.socket.getsockname()[1]
        self._data: dict[bytes, bytes] = {}
        self._changed = threading.Condition()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self.socket.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        name = b""
        with contextlib.suppress(OSError, ValueError), connection:  # ValueError: a number that is none
            while True:
                asked, key_size, value_size, seconds = _HEAD.unpack(receive(connection, _HEAD.size))
                key, value = bytes(receive(connection, key_size)), bytes(receive(connection, value_size))
                name = key if asked == _HELLO else name
                found, reply = self._answer(asked, key, value, seconds)
                connection.sendall(_REPLY.pack(found, len(reply)) + reply)
        if name:
            with self._changed:
                if b"left/" + name not in self._data:
                    self._data.setdefault(b"lost", name)
                    self._changed.notify_all()

    def _answer(self, asked: int, key: bytes, value: bytes, seconds: float) -> tuple[bool, bytes]:
        data = self._data
        with self._changed:
            if asked == _GET:
                found = self._changed.wait_for(lambda: key in data, seconds)
                return found, data.get(key, b"")
            if asked == _WAIT:
                keys = key.split(b"\n")
                self._changed.wait_for(lambda: all(k in data for k in keys), seconds)
                return True, b"\n".join(k for k in keys if k not in data)
            if asked == _DELETE:
                return data.pop(key, None) is not None, b""
            if asked == _HELLO:
                return True, b""
            if asked == _ADD:
                value = str(int(data.get(key, b"0")) + int(value)).encode()
            data[key] = value
            self._changed.notify_all()
            return True, value if asked == _ADD else b""

    def close(self) -> None:
        self.socket.close()


class TCPStore:
    """A key-value store that all processes of a job share; one of them holds it.

    Args:
        host, port: where it is. Port 0 lets the holder choose one (see `port`). Only this machine reaches one that is held
            at 127.0.0.1.
        is_master: this process holds it.
        world_size: how many processes use it (for information).
        timeout: seconds that `get` and `wait` wait for a key, and the first contact for the holder.

    Example:
        >>> from paddle.distributed.store import TCPStore
        >>> store = TCPStore("127.0.0.1", 0, is_master=True)
        >>> store.set("color", "red"); store.get("color"), store.add("count", 2)
        (b'red', 2)
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, is_master: bool = False, world_size: int = 1, timeout: float = 900
    ):
        try:
            self._server = _Server(host, port) if is_master else None
        except (OSError, OverflowError) as error:
            raise errors.RuntimeError_(f"TCPStore: cannot listen at port {port} ({error})") from None
        self.host, self.port = host, self._server.port if self._server else port
        self.world_size, self.timeout = world_size, timeout
        self._local = threading.local()
        self._connection()

    def _connection(self) -> socket.socket:
        found = getattr(self._local, "connection", None)
        if found is None:  # one for each thread, since a request may wait
            host = "127.0.0.1" if self._server else self.host
            found = self._local.connection = open_connection(host, self.port, self.timeout)
        return found

    def _ask(self, what: int, key: bytes, value: bytes = b"", seconds: float = 0.0) -> tuple[bool, bytes]:
        if what in (_GET, _WAIT):
            before_waiting()
        try:
            connection = self._connection()
            connection.sendall(_HEAD.pack(what, len(key), len(value), seconds) + key + value)
            found, size = _REPLY.unpack(receive(connection, _REPLY.size))
            return bool(found), bytes(receive(connection, size))
        except OSError as error:
            self._local.connection = None
            raise errors.RuntimeError_(
                f"the store at {self.host}:{self.port} does not answer any more ({error}): the process that holds it, "
                "usually rank 0, has ended"
            ) from None

    def set(self, key: str, value: bytes | str) -> None:
        """Put a value under a key."""
        self._ask(_SET, key.encode(), value.encode() if isinstance(value, str) else bytes(value))

    def get(self, key: str, timeout: float | None = None) -> bytes:
        """The value under a key, once there is one. Raises TimeoutError (a RuntimeError, too)."""
        seconds = self.timeout if timeout is None else timeout
        found, value = self._ask(_GET, key.encode(), seconds=seconds)
        if not found:
            raise Timeout(f"(ExecutionTimeout) TCPStore: nothing was put under {key!r} within {seconds:g} seconds")
        return value

    def add(self, key: str, amount: int) -> int:
        """Add to the number under a key (0 before the first time) and return it."""
        return int(self._ask(_ADD, key.encode(), str(int(amount)).encode())[1])

    def missing(self, keys: list[str], timeout: float) -> list[str]:
        """Wait until all keys have values; which have none after `timeout` seconds."""
        left = self._ask(_WAIT, "\n".join(keys).encode(), seconds=timeout)[1].decode()
        return left.split("\n") if left else []

    def wait(self, key: str | list[str], timeout: float | None = None) -> None:
        """Wait until there are values under one or several keys. Raises TimeoutError naming those without."""
        keys = [key] if isinstance(key, str) else list(key)
        seconds = self.timeout if timeout is None else timeout
        missing = self.missing(keys, seconds)
        if missing:
            raise Timeout(f"(ExecutionTimeout) TCPStore: nothing was put under {missing} within {seconds:g} seconds")

    def delete(self, key: str) -> bool:
        """Take a key out; whether it was there."""
        return self._ask(_DELETE, key.encode())[0]

    def lost(self, name: str) -> str:
        """Wait until a process that called this ends without a word (`set("left/NAME", ...)`); its name."""
        host = "127.0.0.1" if self._server else self.host
        self._presence = open_connection(host, self.port, self.timeout)  # its end tells the server
        self._presence.sendall(_HEAD.pack(_HELLO, len(name), 0, 0.0) + name.encode())
        return self._ask(_GET, b"lost", seconds=1e9)[1].decode()

    def close(self) -> None:
        """Stop holding the store."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None
        if self._server is not None:
            self._server.close()
