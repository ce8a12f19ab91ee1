"""What a server and the models in it are told: command line, Python arguments, and `serving.json` beside a model."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..engine import errors

Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]
Size = Positive | tuple[Positive, Positive]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ImageOptions(_Strict):
    """How a picture becomes an input: decoded, resized, cropped, scaled, normalised, laid out; as the transforms of
    `paddle.vision` do it.

    Attributes:
        mode: "RGB", "L" (grey) or "RGBA".
        resize: an int for the shorter side, or (height, width); the model's size where nothing is said.
        crop: the centre, an int or (height, width).
        interpolation: how it is resized.
        scale: what the values 0 to 255 are multiplied with; not used where the input is uint8.
        mean, std: then taken off and divided by, one number or one for each channel.
        layout: "CHW" or "HWC".
    """

    mode: Literal["RGB", "L", "RGBA"] = "RGB"
    resize: Size | None = None
    crop: Size | None = None
    interpolation: Literal["nearest", "bilinear", "bicubic", "lanczos"] = "bilinear"
    scale: float = 1 / 255
    mean: list[float] = [0.0]
    std: list[Annotated[float, Field(gt=0)]] = [1.0]
    layout: Literal["CHW", "HWC"] = "CHW"


class ModelOptions(_Strict):
    """How one model is run: the content of `serving.json`; what it does not say comes from the server's options.

    Attributes:
        max_batch: rows that run together at most; 1 runs each request by itself.
        sizes: numbers of rows that are compiled, increasing; powers of two up to `max_batch` by default.
        max_delay_ms: how long a request waits for others to join when the model is idle; those that come while it runs join anyway.
        max_queue: rows that may wait; more are refused with 429.
        timeout: seconds from the arrival of a request to its answer; later is 504.
        instances: runs at the same time in one process.
        lengths: what open lengths other than the rows are padded to, increasing.
        pad: what an input is padded with along open lengths, by name; 0 by default.
        max_shapes: without `lengths`, how many different shapes may be compiled; further ones are refused with 422.
        images: by the name of an input, how pictures become its values.
        versions: "all", "latest", or a list of numbers.
        device: "cpu", "gpu", or "auto" for a GPU where there is one.
    """

    max_batch: Annotated[int, Field(ge=1, le=65536)] = 32
    sizes: list[Positive] | None = None
    max_delay_ms: Annotated[float, Field(ge=0, le=60_000)] = 0.0
    max_queue: Positive = 1024
    timeout: Seconds = 30.0
    instances: Annotated[int, Field(ge=1, le=64)] = 1
    lengths: list[Positive] | None = None
    pad: dict[str, float] = {}
    max_shapes: Positive = 32
    images: dict[str, ImageOptions] = {}
    versions: Literal["all", "latest"] | list[Positive] = "all"
    device: Literal["auto", "cpu", "gpu"] = "auto"

    @model_validator(mode="after")
    def _consistent(self) -> ModelOptions:
        for name in ("sizes", "lengths"):
            given = getattr(self, name)
            if given is not None and (not given or any(a >= b for a, b in zip(given, given[1:]))):
                raise ValueError(f"{name} must be increasing, got {given}")
        if self.sizes and self.sizes[-1] != self.max_batch:
            raise ValueError(f"the last of sizes ({self.sizes[-1]}) must be max_batch ({self.max_batch})")
        return self


class ServerOptions(_Strict):
    """How the server runs.

    Attributes:
        host, port: where it listens; port 0 takes a free one.
        workers: processes, each with all models.
        max_body: bytes of a request at most; larger ones are refused with 413.
        max_waiting: bytes of all requests that are being read or answered at most; beyond, 429.
        max_pixels: of a picture.
        body_timeout: seconds for a request to arrive; later is 408, and connections that send no request are closed.
        drain: after SIGTERM, seconds for connections that are open to bring a last request.
        grace: after SIGTERM, seconds until what is not finished is broken off.
        hang: seconds without a sign of life after which a process is replaced.
        reload: seconds between looks at the folder for new versions; 0 does not look (SIGHUP does).
        api_keys: with any given, requests need one of them.
        access_log: a line for each request.
        docs: the pages /docs and /openapi.json.
        defaults: options of models that their `serving.json` does not give.
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    workers: Annotated[int, Field(ge=1, le=256)] = 1
    max_body: Positive = 32 << 20
    max_waiting: Positive = 512 << 20
    max_pixels: Positive = 25_000_000
    body_timeout: Seconds = 30.0
    drain: Annotated[float, Field(ge=0)] = 2.0
    grace: Seconds = 60.0
    hang: Seconds = 120.0
    reload: Annotated[float, Field(ge=0)] = 0.0
    api_keys: list[Annotated[str, Field(min_length=1)]] = []
    access_log: bool = True
    docs: bool = True
    defaults: dict[str, Any] = {}


def model_options(text: bytes | None, defaults: dict[str, Any], where: str) -> ModelOptions:
    """The options of a model from the bytes of its `serving.json`. ValueError names what is wrong and where."""
    try:
        own = ModelOptions.model_validate_json(text).model_dump(exclude_unset=True) if text is not None else {}
        if "max_batch" in own or "sizes" in own:
            defaults = {k: v for k, v in defaults.items() if k not in ("max_batch", "sizes")}
        return ModelOptions.model_validate({**defaults, **own})
    except ValidationError as e:
        raise errors.ValueError_(f"serving: {where}: {explained(e)}") from None


def server_options(**given: Any) -> ServerOptions:
    """Options of a server, checked. ValueError names what is wrong; keys also come from PADDLE_SERVING_API_KEYS."""
    if not given.get("api_keys"):
        keys = os.environ.get("PADDLE_SERVING_API_KEYS", "")
        given["api_keys"] = [k for k in keys.replace("\n", ",").replace(" ", ",").split(",") if k]
    try:
        options = ServerOptions.model_validate(given)
        ModelOptions.model_validate(options.defaults)
        return options
    except ValidationError as e:
        raise errors.ValueError_(f"serving: {explained(e)}") from None


def explained(e: ValidationError) -> str:
    """One line that says where and what."""
    return "; ".join(".".join(map(str, d["loc"])) + (": " if d["loc"] else "") + d["msg"] for d in e.errors()[:3])
