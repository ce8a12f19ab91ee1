"""Calls from process to process over TCP. Both sides prove first that they know the secret of the job; only then is
anything unpickled. Arrays travel beside the pickle, as they are.

The connection is not encrypted: it belongs into a network that one trusts.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import pickle
import queue
import socket
import struct
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from ...engine import errors
from ..store import open_connection, receive, receive_into

_HEAD = struct.Struct("!QBI")  # number of the call, what it is, how many parts
_CALL, _RESULT, _ERROR = range(3)
_HELLO = b"paddle-xla call\n"
_NONCE, _PROOF = 32, 32
_HANDSHAKE = 10.0  # seconds for a stranger to prove itself


class Lost(RuntimeError, ConnectionError):
    """The process at the other end has gone."""


class RemoteTraceback(Exception):
    """The traceback of an error in another process, as its cause."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


def _proof(token: bytes, side: bytes, *parts: bytes) -> bytes:
    return hmac.new(token, side + b"".join(parts), "sha256").digest()


def _send(connection: socket.socket, lock: Any, number: int, kind: int, payload: Any) -> None:
    buffers: list[memoryview] = []
    body = pickle.dumps(payload, protocol=5, buffer_callback=lambda b: buffers.append(b.raw()))
    lengths = struct.pack(f"!{len(buffers) + 1}Q", len(body), *(b.nbytes for b in buffers))
    with lock:
        connection.sendall(_HEAD.pack(number, kind, len(buffers) + 1) + lengths + body)
        for buffer in buffers:
            connection.sendall(buffer)


def _receive(connection: socket.socket) -> tuple[int, int, list[bytearray]]:
    number, kind, count = _HEAD.unpack(receive(connection, _HEAD.size))
    lengths = struct.unpack(f"!{count}Q", receive(connection, 8 * count))
    parts = [bytearray(n) for n in lengths]
    for part in parts:
        receive_into(connection, memoryview(part))
    return number, kind, parts


def _loads(parts: list[bytearray]) -> Any:
    return pickle.loads(parts[0], buffers=parts[1:])


def _prepare(connection: socket.socket) -> None:
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a machine that vanishes says nothing
    for option, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


class _Threads:
    """Threads that are kept and as many as calls run at once: a call may wait for others that come later."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue = queue.SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()

    def run(self, function: Callable, *args: Any) -> None:
        with self._lock:
            if self._idle:
                self._idle -= 1
            else:
                threading.Thread(target=self._work, daemon=True).start()
        self._tasks.put((function, args))

    def _work(self) -> None:
        while True:
            function, args = self._tasks.get()
            function(*args)
            with self._lock:
                self._idle += 1


class Listener:
    """Takes calls of other processes of the job.

    Args:
        host, port: where; port 0 lets the system choose one (`port`).
        handle: (name of the caller, what it sent) -> what it gets; runs in a thread for each call.
        token: the secret of the job.
        came, gone: called with the name of a caller when its connection is there, and when it has ended.
    """

    def __init__(
        self,
        host: str,
        port: int,
        handle: Callable,
        token: bytes,
        came: Callable[[str], None] = lambda name: None,
        gone: Callable[[str], None] = lambda name: None,
    ):
        try:
            self._socket = socket.create_server((host, port), backlog=256)
        except OSError as error:
            raise errors.RuntimeError_(f"cannot listen at {host}:{port} ({error})") from None
        self.port = self._socket.getsockname()[1]
        self._handle, self._token, self._came, self._gone = handle, token, came, gone
        self._threads = _Threads()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        name = None
        try:
            with contextlib.suppress(OSError), connection:
                name = self._greet(connection)
                if name is None:
                    return
                self._open.add(connection)
                self._came(name)
                lock = threading.Lock()
                while True:
                    number, _, parts = _receive(connection)
                    self._threads.run(self._answer, connection, lock, number, name, parts)
        finally:
            self._open.discard(connection)
            if name is not None:
                self._gone(name)

    def _greet(self, connection: socket.socket) -> str | None:
        """The name of a caller that knows the secret, None for a stranger."""
        connection.settimeout(_HANDSHAKE)
        own = os.urandom(_NONCE)
        connection.sendall(_HELLO + own)
        theirs, proof = bytes(receive(connection, _NONCE)), bytes(receive(connection, _PROOF))
        name = bytes(receive(connection, receive(connection, 1)[0]))
        if not hmac.compare_digest(proof, _proof(self._token, b"caller", own, theirs, name)):
            return None
        connection.sendall(_proof(self._token, b"listener", own, theirs))
        _prepare(connection)
        return name.decode()

    def _answer(self, connection: socket.socket, lock: Any, number: int, name: str, parts: list) -> None:
        try:
            kind, answer = _RESULT, self._handle(name, _loads(parts))
        except BaseException as error:
            kind, answer = _ERROR, _told(error)
        with contextlib.suppress(OSError):  # the caller has gone
            try:
                _send(connection, lock, number, kind, answer)
            except OSError:
                raise
            except Exception as error:  # the result cannot be pickled
                _send(connection, lock, number, _ERROR, _told(error))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._socket.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _told(error: BaseException) -> tuple[bytes, str]:
    """An error for another process: pickled, where it can be, and its traceback."""
    text = traceback.format_exc()
    try:
        if not isinstance(error, Exception):  # SystemExit is not to end the caller
            raise error
        body = pickle.dumps(error)
        pickle.loads(body)
    except BaseException:
        body = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return body, text


class Channel:
    """A connection to a `Listener`. Several threads may call at once.

    Args:
        host, port: where it listens.
        token: the secret of the job.
        name: of the caller.
        peer: how errors call the other end.
        timeout: seconds to wait for a listener that is still starting.

    Raises:
        RuntimeError: nobody listens there, or one of the two does not know the secret.
    """

    def __init__(self, host: str, port: int, token: bytes, name: str, peer: str, timeout: float = 60.0):
        self.peer = peer
        self._connection = open_connection(host, port, timeout)
        self._waiting: dict[int, Future] = {}
        self._number = 0
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._closed: str | None = None
        try:
            self._greet(token, name.encode())
        except BaseException:
            self._connection.close()
            raise
        _prepare(self._connection)
        threading.Thread(target=self._read, daemon=True).start()

    def _greet(self, token: bytes, name: bytes) -> None:
        connection, own = self._connection, os.urandom(_NONCE)
        connection.settimeout(_HANDSHAKE)
        try:
            hello = bytes(receive(connection, len(_HELLO)))
            if hello != _HELLO:
                raise errors.RuntimeError_(f"what listens at the address of {self.peer} is something else")
            theirs = bytes(receive(connection, _NONCE))
            connection.sendall(own + _proof(token, b"caller", theirs, own, name) + bytes([len(name)]) + name)
            proof = bytes(receive(connection, _PROOF))
        except OSError as error:
            raise errors.RuntimeError_(
                f"{self.peer} refused this process ({error}): the two do not have the same secret; set PADDLE_XLA_TOKEN "
                "to the same text in all processes of the job"
            ) from None
        if not hmac.compare_digest(proof, _proof(token, b"listener", theirs, own)):
            raise errors.RuntimeError_(
                f"what listens at the address of {self.peer} does not know the secret of the job"
            )

    def call(self, payload: Any) -> Future:
        """Send something to the handler of the listener; the future of what it returns or raises."""
        future: Future = Future()
        with self._lock:
            if self._closed is not None:
                raise Lost(self._closed)
            number = self._number
            self._number += 1
            self._waiting[number] = future
        try:
            _send(self._connection, self._sending, number, _CALL, payload)
        except OSError as error:
            self._end(f"{self.peer} has ended ({error})")
        except Exception as error:
            self._waiting.pop(number, None)
            raise errors.TypeError_(f"{self.peer}: what is sent cannot be pickled ({error})") from error
        return future

    def pending(self) -> list[Future]:
        """What is waited for."""
        with self._lock:
            return list(self._waiting.values())

    def _read(self) -> None:
        try:
            while True:
                number, kind, parts = _receive(self._connection)
                future = self._waiting.pop(number, None)
                if future is not None:
                    _settle(future, kind, parts)
        except OSError as error:
            self._end(f"{self.peer} has ended ({error})")
        except Exception as error:
            self._end(f"{self.peer} sent what nobody understands ({type(error).__name__}: {error})")

    def _end(self, why: str) -> None:
        with self._lock:
            self._closed = self._closed or why
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(Lost(self._closed))

    def close(self) -> None:
        """End the connection; calls that still wait fail."""
        self._end(f"the connection to {self.peer} was closed")
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


def _settle(future: Future, kind: int, parts: list) -> None:
    try:
        answer = _loads(parts)
        if kind == _RESULT:
            future.set_result(answer)
            return
        body, text = answer
        error = pickle.loads(body)
        error.__cause__ = RemoteTraceback(text)
    except BaseException as problem:  # of the unpickling
        error = problem if isinstance(problem, Exception) else RuntimeError(f"{type(problem).__name__}: {problem}")
    future.set_exception(error)
