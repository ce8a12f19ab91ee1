"""The application: addresses, documentation, and what becomes of a request."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from ..version import full_version
from . import bodies, schemas
from .batching import Batcher, Failed, Full, retry_after
from .gate import Bodies, Gate, Refused, refuse
from .images import FORMATS, BadInput
from .metrics import Metrics
from .model import ServedModel, load
from .options import ServerOptions, server_options
from .repository import find

log = logging.getLogger("paddle.serving")

_BIG = 1 << 18  # bytes from which a body is read in a thread, so that others are answered meanwhile
_WHY = {
    401: "no valid API key", 406: "none of the accepted kinds can be given", 408: "the body came too slowly",
    413: "the body is too large", 415: "a kind of body that the model does not take", 422: "a body that does not fit",
    429: "too many requests wait", 500: "the model failed", 503: "the server is stopping", 504: "not answered in time",
}  # fmt: skip


class Endpoint:
    """A model with its batcher and the types of its requests and answers."""

    def __init__(self, model: ServedModel, metrics: Metrics, reader: Bodies, options: ServerOptions):
        self.model, self._reader, self._options = model, reader, options
        labels = model.name, str(model.version)
        self.request, self.answer = schemas.request_type(model), schemas.answer_type(model)
        metrics.compiled.labels(*labels).set(model.compiled_in)
        self._bytes = metrics.bytes.labels(*labels)
        counters = [c.labels(*labels) for c in (metrics.runs, metrics.joined, metrics.rows, metrics.padding)]
        seconds_of, rows_of = metrics.run_seconds.labels(*labels), metrics.run_rows.labels(*labels)

        def observe(requests: int, rows: int, padding: int, seconds: float) -> None:
            for counter, amount in zip(counters, (1, requests, rows, padding)):
                counter.inc(amount)
            seconds_of.observe(seconds)
            rows_of.observe(rows)

        self.batcher = Batcher(model, observe, metrics.waiting.labels(*labels).set)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request (ASGI)."""
        try:
            response = await self._predict(Request(scope, receive))
        except Exception as e:
            found = _problem(e)
            if found is None:
                log.error("a request failed", extra=scope.get("serving", {}), exc_info=e)
                found = _Problem(500, "internal error")
            response = found
        await response(scope, receive, send)

    async def _predict(self, request: Request) -> Response:
        """The answer. Refused or another exception of `_problem` where there is none."""
        reader, options = self._reader, self._options
        record, loop = request.scope["serving"], asyncio.get_running_loop()
        record["model"], record["version"] = self.model.name, self.model.version
        kind = bodies.kind_of(request.headers.get("content-type", schemas.JSON))
        wanted = _wanted(request.headers.get("accept", "*/*"), kind)
        body, release = await reader.read(request)
        try:
            record["bytes"] = len(body)
            self._bytes.inc(len(body))
            read = functools.partial(bodies.read, body, kind, self.model, self.request, options.max_pixels)
            in_thread = kind in FORMATS or len(body) > _BIG
            arrays = await loop.run_in_executor(None, read) if in_thread else read()
            rows = record["rows"] = self.model.check(arrays)
            if self.model.sizes and rows > schemas.max_rows(self.model):
                raise BadInput(f"the request has {rows} rows; {schemas.max_rows(self.model)} are allowed")
            found = await self._in_time(request, self.batcher.submit(arrays, rows))
        except BadInput as e:
            raise Refused(422, str(e))
        except NotImplementedError:
            takes = ", ".join(schemas.contents(self.model, {}))
            raise Refused(415, f"the model does not take {kind!r}; it takes {takes}")
        except Full as e:
            raise Refused(429, str(e), {"Retry-After": retry_after(e.retry_after)})
        except Failed:
            raise Refused(500, "the model failed on these inputs")
        finally:
            release()
        outputs = {s.name: a for s, a in zip(self.model.outputs, found)}
        for each in wanted:
            if (written := bodies.write(outputs, each, self.model)) is not None:
                return Response(written[0], media_type=written[1])
        raise Refused(406, f"the answer can be {schemas.JSON}, {schemas.NPY}, {schemas.NPZ} or {schemas.SAFETENSORS}")

    async def _in_time(self, request: Request, work: Any) -> Any:
        """The result, unless it takes too long or nobody waits for it any more."""
        limit, task = self.model.options.timeout, asyncio.ensure_future(work)
        gone = None
        try:
            done, _ = await asyncio.wait([task], timeout=min(limit, 0.05))
            if not done:  # it takes long: look whether the client is still there
                gone = asyncio.ensure_future(_disconnected(request))
                await asyncio.wait([task, gone], timeout=limit - 0.05, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if gone is not None and gone.done():
                raise ClientDisconnect
            raise Refused(504, f"not answered within {limit} s")
        finally:
            for each in (task, gone):
                if each is not None:
                    each.cancel()


def create_app(models: Any, options: ServerOptions | None = None, **given: Any) -> FastAPI:
    """A FastAPI application that serves models.

    Args:
        models: a folder or the beginning of the names of a model's files (see `find`), or loaded `ServedModel`s.
        options: of the server; or single ones by name.

    Raises:
        FileNotFoundError, ValueError, NotImplementedError: as `find` and `ServedModel`.

    Example:
        >>> paddle.jit.save(paddle.nn.Linear(2, 3), "models/small/1/model", [paddle.static.InputSpec([None, 2])])
        >>> app = paddle.serving.create_app("models", max_body=1000)
        >>> "/v1/models/small/predict" in app.openapi()["paths"]
        True
    """
    options = options or server_options(**given)
    if not isinstance(models, (list, tuple)):
        models = load(find(models, options.defaults))
    metrics = Metrics()
    reader = Bodies(options)
    endpoints = [Endpoint(m, metrics, reader, options) for m in models]
    state = SimpleNamespace(draining=False)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for endpoint in endpoints:
                await stack.enter_async_context(endpoint.batcher)
            yield

    app = FastAPI(
        title="paddle.serving", version=full_version, lifespan=lifespan, docs_url="/docs" if options.docs else None,
        redoc_url=None, openapi_url="/openapi.json" if options.docs else None,
    )  # fmt: skip
    app.state.serving, app.state.metrics, app.state.endpoints = state, metrics, endpoints
    _errors(app)
    _inquiries(app, endpoints, metrics, state)
    direct = _predictions(app, endpoints)
    app.add_middleware(Gate, options=options, metrics=metrics, state=state, direct=direct)
    app.openapi = functools.partial(_openapi, app, endpoints, options)  # type: ignore[method-assign]
    return app


def _problem(e: Exception) -> Response | None:
    """The answer to a request that is refused; None for an exception that is a fault of ours."""
    if isinstance(e, Refused):
        return _Problem(e.status, e.detail, e.headers)
    if isinstance(e, ValidationError):
        return _Problem(422, _without_input(e))
    if isinstance(e, ClientDisconnect):
        return Response(status_code=499)  # nobody reads it; the log and the figures do
    return None


def _errors(app: FastAPI) -> None:
    @app.exception_handler(Refused)
    async def refused(request: Request, e: Refused) -> Response:
        return _Problem(e.status, e.detail, e.headers)

    @app.exception_handler(500)
    async def broken(request: Request, e: Exception) -> Response:
        log.error("a request failed", extra=request.scope.get("serving", {}), exc_info=e)
        return _Problem(500, "internal error")


class _Problem(Response):
    def __init__(self, status: int, detail: Any, headers: dict[str, str] | None = None):
        super().__init__(status_code=status)
        self._detail, self._more = detail, headers or {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await refuse(send, self.status_code, self._detail, self._more)


def _inquiries(app: FastAPI, endpoints: Sequence[Endpoint], metrics: Metrics, state: Any) -> None:
    """What is served, and how it goes."""
    by_name: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        by_name.setdefault(endpoint.model.name, []).append(endpoint)

    @app.get("/healthz", response_model=schemas.Status, tags=["server"])
    async def healthz() -> Any:
        """Whether the process answers."""
        return {"status": "alive"}

    @app.get("/readyz", response_model=schemas.Status, responses=_problems(503), tags=["server"])
    async def readyz() -> Any:
        """Whether requests should be sent here: everything is compiled, and the server is not stopping."""
        if state.draining:
            raise Refused(503, "the server is stopping")
        return {"status": "ready"}

    @app.get("/metrics", tags=["server"], response_class=Response,
             responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})  # fmt: skip
    def figures() -> Any:
        """Figures for Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/v1/models", response_model=list[schemas.ModelInfo], tags=["models"])
    async def all_models() -> Any:
        """All versions of all models."""
        return [schemas.info(e.model) for e in endpoints]

    @app.get("/v1/models/{name}", response_model=list[schemas.ModelInfo], responses=_problems(404), tags=["models"])
    async def one_model(name: str) -> Any:
        """The versions of a model."""
        if name not in by_name:
            raise Refused(404, f"there is no model of this name; there are {', '.join(by_name)}")
        return [schemas.info(e.model) for e in by_name[name]]


def _predictions(app: FastAPI, endpoints: Sequence[Endpoint]) -> dict[str, Endpoint]:
    """An address for each version of each model, and for the newest version of each. The routes describe them; requests
    go from the gate to the endpoint, since FastAPI's way there costs more than small models take."""
    newest = {e.model.name: e for e in endpoints}
    direct: dict[str, Endpoint] = {}
    for endpoint in endpoints:
        name, version = endpoint.model.name, endpoint.model.version
        paths = [f"/v1/models/{name}/versions/{version}/predict"]
        if newest[name] is endpoint:
            paths.append(f"/v1/models/{name}/predict")
        direct |= dict.fromkeys(paths, endpoint)

        async def predict() -> None:
            raise AssertionError("the gate answers")

        binary = {"schema": {"type": "string", "format": "binary"}}
        answers: dict[int | str, Any] = {200: {"model": endpoint.answer, "content": dict.fromkeys(
            [*([schemas.NPY] if len(endpoint.model.outputs) == 1 else []), schemas.NPZ, schemas.SAFETENSORS], binary)}}  # fmt: skip
        body = schemas.contents(endpoint.model, {"$ref": f"#/components/schemas/{endpoint.request.__name__}"})
        for path in paths:
            app.add_api_route(
                path, predict, methods=["POST"], responses=answers | _problems(406, 408, 413, 415, 422, 429, 500, 504),
                tags=[name], name=f"{name}_{version}", response_class=Response,
                summary=f"Run {name}, version {version}", operation_id=path.strip("/").replace("/", "_"),
                openapi_extra={"requestBody": {"required": True, "content": body}},
            )  # fmt: skip
    return direct


def _openapi(app: FastAPI, endpoints: Sequence[Endpoint], options: ServerOptions) -> dict[str, Any]:
    """The description of all addresses, with the types of requests, which FastAPI does not read itself."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes)
        parts = made.setdefault("components", {}).setdefault("schemas", {})
        for endpoint in endpoints:
            own = endpoint.request.model_json_schema(ref_template="#/components/schemas/{model}")
            parts.update(own.pop("$defs", {}))
            parts[endpoint.request.__name__] = own
        if options.api_keys:
            made["components"]["securitySchemes"] = {
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                "bearer": {"type": "http", "scheme": "bearer"},
            }
            made["security"] = [{"key": []}, {"bearer": []}]
        app.openapi_schema = made
    return app.openapi_schema


def _problems(*codes: int) -> dict[int | str, Any]:
    return {code: {"model": schemas.Problem, "description": _WHY.get(code, "not found")} for code in codes}


def _without_input(e: ValidationError) -> list[Any]:
    """What is wrong where, the first ten, without what was sent."""
    return [{k: d[k] for k in ("type", "loc", "msg")} for d in e.errors(include_url=False, include_input=False)[:10]]  # type: ignore[literal-required]


def _wanted(accept: str, kind: str) -> list[str]:
    """The kinds of answers that are accepted; where all are, that of the request."""
    kinds = [bodies.kind_of(each) for each in accept.split(",")]
    return [kind if k in ("*/*", "application/*", "") else k for k in kinds]


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
