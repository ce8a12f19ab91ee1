"""Bodies of requests and answers: JSON, NumPy's .npy and .npz, safetensors, pictures.

Nothing that a client sends is executed: arrays are read by their header, which must name the type and shape that the
model has, and the number of bytes must agree; there are no pickles and no names of files.
"""

from __future__ import annotations

import base64
import binascii
import io
import zipfile
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import orjson
from numpy.lib import format as npy
from pydantic import BaseModel

from ..framework import io as files
from .images import FORMATS, BadInput, prepared
from .model import ServedModel, Spec
from .schemas import JSON, NPY, NPZ, SAFETENSORS, image_input

KINDS = {
    "application/octet-stream": NPY, "application/npy": NPY, "application/npz": NPZ, "application/x-safetensors": SAFETENSORS,
    "application/safetensors": SAFETENSORS,
}  # fmt: skip


def kind_of(content_type: str) -> str:
    """The media type alone, one name for each kind."""
    kind = content_type.partition(";")[0].strip().lower()
    return KINDS.get(kind, kind)


def read(body: bytes, kind: str, model: ServedModel, schema: type[BaseModel], max_pixels: int) -> list[np.ndarray]:
    """The inputs of a request.

    Args:
        kind: as `kind_of` gives it.
        schema: of JSON requests to this model.
        max_pixels: of a picture.

    Raises:
        pydantic.ValidationError: JSON that does not fit.
        BadInput: any other body that does not fit.
        NotImplementedError: a kind that is not known.
    """
    if kind == JSON:
        return _from_json(body, model, schema, max_pixels)
    if kind == NPY and len(model.inputs) == 1:
        return [_from_npy(io.BytesIO(body), len(body), model.inputs[0])]
    if kind == NPZ:
        return _by_name(_from_npz(body, model), model)
    if kind == SAFETENSORS:
        try:
            return _by_name(files._from_safetensors(body, "body", as_numpy=True), model)
        except BadInput:
            raise
        except Exception:
            raise BadInput("the body is no safetensors file, or is damaged") from None
    spec = image_input(model)
    if kind in FORMATS and spec is not None:
        return [prepared(body, model.options.images[spec.name], spec.shape[1:], spec.dtype, max_pixels)[None]]
    raise NotImplementedError(kind)


def write(outputs: Mapping[str, np.ndarray], kind: str, model: ServedModel) -> tuple[bytes, str] | None:
    """The body of an answer and its kind; None for one that is not known. Pictures are answered with JSON."""
    if kind == JSON or kind in FORMATS:
        values = {name: _plain(array) for name, array in outputs.items()}
        answer = {"model": model.name, "version": model.version, "outputs": values}
        return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY), JSON
    if kind == NPY and len(outputs) == 1:
        file = io.BytesIO()
        npy.write_array(file, np.ascontiguousarray(*outputs.values()), allow_pickle=False)
        return file.getvalue(), NPY
    if kind in (NPZ, NPY):
        file = io.BytesIO()
        np.savez(file, **outputs)
        return file.getvalue(), NPZ
    if kind == SAFETENSORS:
        return files._safetensors(dict(outputs)), SAFETENSORS
    return None


def _plain(array: np.ndarray) -> np.ndarray:
    """What JSON can say of an array: complex numbers as pairs, small floating types as float32."""
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    elif array.dtype.kind not in "biuf" or array.dtype.itemsize < 4 and array.dtype.kind == "f":
        array = array.astype(np.float32)
    return np.ascontiguousarray(array).reshape(array.shape) if array.ndim else array.item()


def _from_json(body: bytes, model: ServedModel, schema: type[BaseModel], max_pixels: int) -> list[np.ndarray]:
    if (plain := _plain_arrays(body, model)) is not None:
        return plain
    inputs: Any = schema.model_validate_json(body).inputs  # type: ignore[attr-defined]
    arrays = []
    for i, spec in enumerate(model.inputs):
        given = getattr(inputs, f"i{i}")
        if isinstance(given, list) and given and hasattr(given[0], "b64"):
            arrays.append(np.stack([_picture(each.b64, spec, model, max_pixels) for each in given]))
            continue
        try:
            arrays.append(np.array(given, spec.dtype))
        except ValueError:
            raise BadInput(f"the input {spec.name!r} is {spec}, got lists of different lengths") from None
    return arrays


def _plain_arrays(body: bytes, model: ServedModel) -> list[np.ndarray] | None:
    """The inputs, where they are plain lists of numbers that fit; None leaves it to the schema, which is slower, to say
    what is wrong, or to take what is unusual."""
    if b"true" in body or b"false" in body:  # among numbers NumPy takes them for numbers
        return None
    try:
        given = orjson.loads(body)
        if len(given) != 1 or len(given["inputs"]) != len(model.inputs):
            return None
        arrays = []
        for spec in model.inputs:
            array = np.array(given["inputs"][spec.name])
            if array.dtype.kind not in ("iu" if spec.dtype.kind in "iu" else "iuf") or spec.dtype.kind == "b":
                return None
            limits: Any = np.iinfo(spec.dtype) if spec.dtype.kind in "iu" else ml_dtypes.finfo(spec.dtype)
            if not array.size or not limits.min <= array.min() or not array.max() <= limits.max:
                return None
            if array.ndim != len(spec.shape) or any(w not in (-1, n) for n, w in zip(array.shape, spec.shape)):
                return None
            arrays.append(array.astype(spec.dtype))
        return arrays
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def _picture(text: str, spec: Spec, model: ServedModel, max_pixels: int) -> np.ndarray:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadInput(f"the input {spec.name!r}: b64 is no base64") from None
    return prepared(data, model.options.images[spec.name], spec.shape[1:], spec.dtype, max_pixels)


def _from_npy(file: Any, size: int, spec: Spec) -> np.ndarray:
    """An array from a file of `size` bytes, whose header must agree with what follows."""
    try:
        version = npy.read_magic(file)
        header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = header(file)
    except Exception:
        raise BadInput(f"the input {spec.name!r} is no .npy file, or is damaged") from None
    if dtype.hasobject or dtype.newbyteorder("=") != spec.dtype:
        raise BadInput(f"the input {spec.name!r} is {spec}, got {dtype}")
    count = 1
    for n in shape:
        count *= n
    if any(n < 0 for n in shape) or len(shape) != len(spec.shape) or count * dtype.itemsize != size - file.tell():
        raise BadInput(f"the input {spec.name!r} is {spec}, got the shape {list(shape)}, or a file of another length")
    array = np.frombuffer(file.read(), dtype)
    array = array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
    return np.ascontiguousarray(array, spec.dtype)


def _from_npz(body: bytes, model: ServedModel) -> dict[str, np.ndarray]:
    """The arrays of an archive; each may unpack to as many bytes as 64 times the body, at least 1 MB."""
    most, found = max(1 << 20, 64 * len(body)), {}
    specs = {s.name + ".npy": s for s in model.inputs}
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            entries = archive.infolist()
            if len(entries) > len(specs):
                raise BadInput(f"the archive has {len(entries)} entries, the model {len(specs)} inputs")
            for entry in entries:
                if entry.filename not in specs:
                    raise BadInput(
                        f"the archive has the entry {entry.filename[:80]!r}; the inputs are {', '.join(specs)}"
                    )
                with archive.open(entry) as file:
                    data = file.read(most + 1)
                if len(data) > most:
                    raise BadInput(f"the entry {entry.filename!r} unpacks to more than {most} bytes")
                spec = specs[entry.filename]
                found[spec.name] = _from_npy(io.BytesIO(data), len(data), spec)
    except BadInput:
        raise
    except Exception:  # zipfile and its decoders raise many kinds
        raise BadInput("the body is no .npz file, or is damaged") from None
    return found


def _by_name(arrays: dict[str, np.ndarray], model: ServedModel) -> list[np.ndarray]:
    wanted = [s.name for s in model.inputs]
    if set(arrays) != set(wanted):
        raise BadInput(f"the inputs are {', '.join(wanted)}, got {', '.join(sorted(arrays))[:200] or 'none'}")
    return [arrays[n] for n in wanted]
