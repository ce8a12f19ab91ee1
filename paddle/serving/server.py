"""One process of a server: it loads the models, compiles what they need, and then takes connections.

It is started by the supervisor with the listening socket and a channel to it, over which it says that it is ready and
that it is alive; when the supervisor is gone, or on SIGTERM, it answers what it has accepted and ends.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import select
import signal
import socket
import sys
import threading
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from .app import create_app
from .logs import to_stderr
from .options import ServerOptions

log = logging.getLogger("paddle.serving")

READY, ALIVE = b"r", b"."


def _protocol(seconds: float) -> Any:
    """uvicorn's protocol, which also closes connections whose request is not complete after so long."""

    class Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._incomplete_since = self.loop.time()  # None when no head of a request is on its way
            self._timer = self.loop.call_later(seconds / 2, self._look)

        def _look(self) -> None:
            since = self._incomplete_since
            if since is not None and self.loop.time() - since > seconds:
                self.transport.close()
            elif not self.transport.is_closing():
                self._timer = self.loop.call_later(seconds / 2, self._look)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self._incomplete_since = None
            elif self._incomplete_since is None and self.cycle.response_complete:
                self._incomplete_since = self.loop.time()

        def connection_lost(self, exc: Exception | None) -> None:
            self._timer.cancel()
            super().connection_lost(exc)

    return Protocol


class Server(uvicorn.Server):
    """uvicorn's server, which on SIGTERM finishes every connection that was made, and talks to the supervisor."""

    def __init__(self, app: Any, options: ServerOptions, channel: socket.socket | None = None):
        config = uvicorn.Config(
            app, http=_protocol(options.body_timeout), ws="none", log_config=None, access_log=False, server_header=False,
            timeout_graceful_shutdown=int(options.grace) or 1, backlog=2048, timeout_keep_alive=75,
        )  # fmt: skip
        super().__init__(config)
        self._options, self._channel, self._state = options, channel, app.state.serving

    def handle_exit(self, sig: int, frame: Any) -> None:
        if sig == signal.SIGTERM or self._channel is None:
            self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._say(READY)

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self._say(ALIVE)
        return await super().on_tick(counter) or self.should_exit

    def _say(self, word: bytes) -> None:
        if self._channel is None:
            return
        try:
            self._channel.send(word)
            if self._channel.recv(1) == b"":  # the supervisor is gone
                self.should_exit = True
        except BlockingIOError:
            pass
        except OSError:
            self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("stopping: %d connections are open", len(self.server_state.connections))
        self._state.draining = True
        await self._accept_the_rest(sockets or [])
        loop = asyncio.get_running_loop()
        end = loop.time() + self._options.drain
        while self.server_state.connections and loop.time() < end and not self.force_exit:
            await asyncio.sleep(0.02)
            self._say(ALIVE)
        beats = asyncio.ensure_future(self._beat())
        await super().shutdown(sockets)
        beats.cancel()

    async def _beat(self) -> None:
        while True:
            self._say(ALIVE)
            await asyncio.sleep(1)

    async def _accept_the_rest(self, sockets: list[socket.socket]) -> None:
        """Take the connections that were made before the listening sockets are closed: closing would break them off."""
        loop = asyncio.get_running_loop()
        for server in self.servers:
            for listening in [s.fileno() for s in server.sockets]:
                loop.remove_reader(listening)
        for listening in sockets:
            listening.setblocking(False)
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError as e:
                    if e.errno not in (errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED):
                        log.warning("accept: %s", e)
                    if e.errno == errno.ECONNABORTED:
                        continue
                    break
                connection.setblocking(False)
                await loop.connect_accepted_socket(self._made, connection)
            listening.close()
        for server in self.servers:
            server.close()

    def _made(self) -> Any:
        return self.config.http_protocol_class(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )


def _end_without_supervisor(channel: socket.socket, loaded: threading.Event) -> None:
    """In a thread, while models are loaded: later the server looks itself."""
    while not loaded.wait(0.5):
        if select.select([channel], [], [], 0)[0]:  # nothing is ever sent: it was closed
            os._exit(3)


def main() -> None:
    """The process of a worker; its arguments come as JSON on the standard input."""
    for number in (signal.SIGINT, signal.SIGHUP):  # meant for the supervisor
        signal.signal(number, signal.SIG_IGN)
    given = json.loads(sys.stdin.buffer.read())
    options = ServerOptions.model_validate(given["options"])
    to_stderr()
    channel = socket.socket(fileno=given["channel"])
    channel.setblocking(False)
    listening = socket.socket(fileno=given["listening"])
    loaded = threading.Event()
    threading.Thread(target=_end_without_supervisor, args=(channel, loaded), daemon=True).start()
    try:
        app = create_app(given["models"], options)
    except Exception as e:
        log.error("the models cannot be served: %s", e, exc_info=not isinstance(e, (ValueError, OSError)))
        sys.exit(3)
    app.state.metrics.started.set(given["starts"])
    loaded.set()
    Server(app, options, channel).run(sockets=[listening])


if __name__ == "__main__":
    main()
