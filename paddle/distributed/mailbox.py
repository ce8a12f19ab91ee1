"""Messages from process to process over TCP: point to point transfers and Python objects. A message is taken in as it
comes, so that two processes may send to each other before either receives."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import struct
import threading
import time
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.meshed import before_waiting
from .store import TCPStore, Timeout, open_connection, receive, receive_into, where_to_listen

_HEAD = struct.Struct("!iQIQ")  # sender, channel, lengths of description and contents
_WORD = 16  # bytes, the first ones of a connection


ALIGNED = 64  # bytes: where arrays of JAX begin, so that it can use the memory of a message


def _room(size: int) -> memoryview:
    """Memory for a message."""
    whole = np.empty(size + ALIGNED, np.uint8)
    start = -whole.ctypes.data % ALIGNED
    return memoryview(whole[start : start + size])  # type: ignore[arg-type]


class Mailbox:
    """The messages of one process. `channel` keeps those of different groups and purposes apart."""

    def __init__(self, store: TCPStore, rank: int, host: str):
        self.rank = rank
        self._store = store
        self._arrived = threading.Condition()
        self._messages: dict[tuple[int, int, int], tuple[dict, Any]] = {}  # by sender, channel and number
        self._counts: dict[tuple[int, int], int] = {}  # how many arrived from a sender in a channel
        self._asked: dict[tuple[int, int], int] = {}  # for how many was asked
        self._gone: set[int] = set()
        self._connections: dict[int, tuple[socket.socket, threading.Lock]] = {}
        self._opening = threading.Lock()
        self._socket = socket.create_server((where_to_listen(host), 0), backlog=256)
        self._word = secrets.token_bytes(_WORD)  # who has it from the store belongs to the job
        store.set(f"mailbox/{rank}", f"{host}:{self._socket.getsockname()[1]}:{self._word.hex()}")
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._take, args=(connection,), daemon=True).start()

    def _take(self, connection: socket.socket) -> None:
        sender = None
        try:
            if not hmac.compare_digest(receive(connection, _WORD), self._word):
                connection.close()
                return
            while True:
                sender, channel, about, size = _HEAD.unpack(receive(connection, _HEAD.size))
                description = json.loads(receive(connection, about).decode())
                contents = _room(size)
                receive_into(connection, contents)
                self._put(sender, channel, description, contents)
        except OSError:
            with self._arrived:
                if sender is not None:
                    self._gone.add(sender)
                self._arrived.notify_all()

    def _put(self, sender: int, channel: int, description: dict, contents: Any) -> None:
        with self._arrived:
            number = self._counts.get((sender, channel), 0)
            self._counts[sender, channel] = number + 1
            self._messages[sender, channel, number] = description, contents
            self._arrived.notify_all()

    def _connection(self, to: int) -> tuple[socket.socket, threading.Lock]:
        with self._opening:
            found = self._connections.get(to)
            if found is None:
                host, port, word = self._store.get(f"mailbox/{to}").decode().rsplit(":", 2)
                connection = open_connection(host, int(port), self._store.timeout)
                connection.sendall(bytes.fromhex(word))
                found = self._connections[to] = connection, threading.Lock()
            return found

    def send(self, to: int, channel: int, description: dict, contents: Any) -> None:
        """Send a description (what JSON can say) and bytes, or a list of several, to a process."""
        parts = contents if isinstance(contents, list) else [contents]
        if to == self.rank:
            self._put(to, channel, description, b"".join(parts))
            return
        about = json.dumps(description).encode()
        connection, lock = self._connection(to)
        try:
            with lock:
                connection.sendall(_HEAD.pack(self.rank, channel, len(about), sum(map(len, parts))) + about)
                for part in parts:
                    connection.sendall(part)
        except OSError as error:
            raise errors.RuntimeError_(f"cannot send to rank {to}: that process has ended ({error})") from None

    def ticket(self, sender: int, channel: int) -> int:
        """The number of the next message from a sender that nobody asked for yet."""
        with self._arrived:
            number = self._asked.get((sender, channel), 0)
            self._asked[sender, channel] = number + 1
            return number

    def receive(self, sender: int, channel: int, number: int, timeout: float) -> tuple[dict, Any]:
        """The message with this number, once it is there."""
        before_waiting()
        key = sender, channel, number
        end = time.monotonic() + timeout
        with self._arrived:
            self._arrived.wait_for(lambda: key in self._messages or sender in self._gone, end - time.monotonic())
            if key in self._messages:
                return self._messages.pop(key)
            if sender in self._gone:
                raise errors.RuntimeError_(f"nothing to receive from rank {sender}: that process has ended")
        raise Timeout(f"(ExecutionTimeout) rank {sender} sent nothing within {timeout:g} seconds")

    def has(self, sender: int, channel: int, number: int) -> bool:
        with self._arrived:
            return (sender, channel, number) in self._messages

    def close(self) -> None:
        self._socket.close()
        for connection, _ in self._connections.values():
            connection.close()
