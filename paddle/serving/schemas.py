"""The types of requests and answers, made from a model's inputs and outputs."""

from __future__ import annotations

from typing import Annotated, Any

import ml_dtypes
import numpy as np
from pydantic import BaseModel, ConfigDict, Field, create_model

from .images import FORMATS
from .model import ServedModel, Spec

NPY, NPZ, SAFETENSORS, JSON = (
    "application/x-npy",
    "application/x-npz",
    "application/vnd.safetensors",
    "application/json",
)


class Encoded(BaseModel):
    """A picture in JSON: a JPEG, PNG, WebP or BMP file in base64."""

    model_config = ConfigDict(extra="forbid")
    b64: Annotated[str, Field(min_length=1, json_schema_extra={"contentEncoding": "base64"})]


class Problem(BaseModel):
    """Why a request was not answered: a sentence, or for a body that does not fit the schema what is wrong where."""

    detail: str | list[dict[str, Any]]


class TensorInfo(BaseModel):
    """An input or output; lengths that vary are null."""

    name: str
    shape: list[int | None]
    dtype: str


class ModelInfo(BaseModel):
    """A version of a model."""

    name: str
    version: int
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    sizes: list[int] = Field(description="numbers of rows that are compiled; empty: requests run by themselves")


class Status(BaseModel):
    """Whether the server is there, or ready."""

    status: str


def info(model: ServedModel) -> dict[str, Any]:
    """What `ModelInfo` describes."""

    def tensors(specs: list[Spec]) -> list[dict]:
        return [
            {"name": s.name, "shape": [n if n >= 0 else None for n in s.shape], "dtype": s.dtype.name} for s in specs
        ]

    return {"name": model.name, "version": model.version, "inputs": tensors(model.inputs),
            "outputs": tensors(model.outputs), "sizes": model.sizes}  # fmt: skip


def request_type(model: ServedModel) -> type[BaseModel]:
    """What a JSON request to a model must be; inputs are the fields i0, i1, ..."""
    fields: dict[str, Any] = {}
    for i, spec in enumerate(model.inputs):
        kind = _tensor(spec, model, given=True)
        if spec.name in model.options.images:
            kind = Annotated[list[Encoded], Field(min_length=1)] | kind
        fields[f"i{i}"] = (kind, Field(alias=spec.name, description=f"{spec.dtype.name}{_shape(spec)}"))
    strict = ConfigDict(extra="forbid", strict=True, protected_namespaces=())
    inputs = create_model(f"{_title(model)}_inputs", __config__=strict, **fields)
    return create_model(f"{_title(model)}_request", __config__=strict, inputs=(inputs, ...))


def answer_type(model: ServedModel) -> type[BaseModel]:
    """What a JSON answer is; numbers that are not finite are null."""
    fields: dict[str, Any] = {}
    for i, spec in enumerate(model.outputs):
        fields[f"o{i}"] = (_tensor(spec, model, given=False), Field(alias=spec.name, description=spec.dtype.name))
    outputs = create_model(f"{_title(model)}_outputs", __config__=ConfigDict(protected_namespaces=()), **fields)
    return create_model(f"{_title(model)}_answer", model=(str, ...), version=(int, ...), outputs=(outputs, ...))


def contents(model: ServedModel, reference: dict[str, str]) -> dict[str, Any]:
    """The kinds of bodies that a model takes, for OpenAPI."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    found: dict[str, Any] = {JSON: {"schema": reference}}
    if len(model.inputs) == 1:
        found[NPY] = binary
    found[NPZ] = found[SAFETENSORS] = binary
    if image_input(model) is not None:
        found |= dict.fromkeys(FORMATS, binary)
    return found


def image_input(model: ServedModel) -> Spec | None:
    """The input that a picture as a body means: the only one, if it takes pictures."""
    only = model.inputs[0] if len(model.inputs) == 1 else None
    return only if only is not None and only.name in model.options.images else None


def _title(model: ServedModel) -> str:
    return f"{model.name}_{model.version}"


def _shape(spec: Spec) -> str:
    return str([n if n >= 0 else None for n in spec.shape]).replace("None", "null")


def _tensor(spec: Spec, model: ServedModel, given: bool) -> Any:
    """Nested lists of numbers."""
    kind: Any = _number(spec.dtype, given)
    shape = (*spec.shape, 2) if spec.dtype.kind == "c" else spec.shape
    for axis in reversed(range(len(shape))):
        n = shape[axis]
        if n >= 0:
            kind = Annotated[list[kind], Field(min_length=n, max_length=n)]
        elif not given:
            kind = list[kind]
        elif axis > 0 and model.options.lengths:
            kind = Annotated[list[kind], Field(min_length=1, max_length=model.options.lengths[-1])]
        elif axis == 0 and model.sizes:
            kind = Annotated[list[kind], Field(min_length=1, max_length=max_rows(model))]
        else:
            kind = Annotated[list[kind], Field(min_length=1)]
    return kind


def max_rows(model: ServedModel) -> int:
    """How many rows a request may have: what may wait."""
    return max(model.options.max_queue, model.sizes[-1])


def _number(dtype: Any, given: bool) -> Any:
    if dtype.kind == "b":
        return bool
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return Annotated[int, Field(ge=int(limits.min), le=int(limits.max))] if given else int
    if not given:
        return float | None
    largest = float(ml_dtypes.finfo(dtype).max)
    return Annotated[float, Field(ge=-largest, le=largest, allow_inf_nan=False)]
