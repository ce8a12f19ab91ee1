"""What every request passes: its id, the key, the limits, the log, the figures."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import re
import time
import uuid
from typing import Any

import orjson

from .metrics import Metrics
from .options import ServerOptions

log = logging.getLogger("paddle.serving.access")

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:\-]{0,127}")
OPEN_PATHS = frozenset(("/healthz", "/readyz"))


class Refused(Exception):
    """A request that is not answered, with the status that says why."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None):
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}


class Gate:
    """The outermost part of the application (ASGI).

    Args:
        state: while its `draining` is true, answers close their connections.
        direct: by path, what POST requests go to without passing the application.
    """

    def __init__(self, app: Any, options: ServerOptions, metrics: Metrics, state: Any, direct: dict[str, Any]):
        self._app, self._options, self._metrics, self._state, self._direct = app, options, metrics, state, direct
        self._keys = [hashlib.sha256(k.encode()).digest() for k in options.api_keys]

    async def __call__(self, scope: dict, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"").decode("latin-1")
        record = {"request_id": given if _ID.fullmatch(given) else uuid.uuid4().hex}
        scope["serving"] = record
        status = 0

        async def answer(message: dict) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                more = [(b"x-request-id", record["request_id"].encode())]
                if self._state.draining:
                    more.append((b"connection", b"close"))
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        self._metrics.open.inc()
        try:
            if self._keys and scope["path"] not in OPEN_PATHS and not self._knows(headers):
                await refuse(answer, 401, "an API key is needed, as X-API-Key or Authorization: Bearer",
                             {"WWW-Authenticate": "Bearer"})  # fmt: skip
            else:
                way = self._direct.get(scope["path"]) if scope["method"] == "POST" else None
                await (way or self._app)(scope, receive, answer)
        except asyncio.CancelledError:
            status = status or 499
            raise
        finally:
            self._metrics.open.dec()
            self._tell(scope, record, status or 499, time.perf_counter() - start)

    def _knows(self, headers: dict[bytes, bytes]) -> bool:
        key = headers.get(b"x-api-key", b"")
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        if not key and kind.lower() == b"bearer":
            key = token.strip()
        digest = hashlib.sha256(key).digest()
        return any([hmac.compare_digest(digest, k) for k in self._keys])  # all of them: takes the same time

    def _tell(self, scope: dict, record: dict, status: int, seconds: float) -> None:
        labels = str(record.get("model", "")), str(record.get("version", ""))
        self._metrics.requests.labels(*labels, str(status)).inc()
        self._metrics.seconds.labels(*labels).observe(seconds)
        if self._options.access_log:
            client = scope.get("client") or ("", 0)
            log.info("%s %s %s", scope["method"], scope["path"], status, extra={
                **record, "method": scope["method"], "path": scope["path"], "status": status,
                "ms": round(seconds * 1e3, 3), "client": client[0],
            })  # fmt: skip


async def refuse(send: Any, status: int, detail: Any, headers: dict[str, str] | None = None) -> None:
    """Send an answer that says why there is none."""
    body = orjson.dumps({"detail": detail})
    more = [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()]
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


class Bodies:
    """Reads bodies, within limits for each, for all together, and in time."""

    def __init__(self, options: ServerOptions):
        self._options, self._held = options, 0

    async def read(self, request: Any) -> tuple[bytes, Any]:
        """The body, and a function to call when it is not needed any more. Refused where a limit is passed."""
        most, size, parts = self._options.max_body, 0, []
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > most:
            raise self._too_large(int(announced))

        def release() -> None:
            nonlocal size
            self._held -= size
            size = 0

        try:
            async with asyncio.timeout(self._options.body_timeout):
                async for part in request.stream():
                    size += len(part)
                    self._held += len(part)
                    if size > most:
                        raise self._too_large(size)
                    if self._held > self._options.max_waiting:
                        raise Refused(429, "too many bytes wait to be answered", {"Retry-After": "1"})
                    parts.append(part)
        except TimeoutError:
            release()
            raise Refused(
                408, f"the body did not arrive within {self._options.body_timeout} s", {"Connection": "close"}
            )
        except BaseException:
            release()
            raise
        return parts[0] if len(parts) == 1 else b"".join(parts), release

    def _too_large(self, size: int) -> Refused:
        text = f"the body has {size} bytes or more; {self._options.max_body} are allowed"
        return Refused(413, text, {"Connection": "close"})
