"""`export`: a layer as a file of ONNX."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor
from ..jit.saving import program_of
from ..utils.files import atomic_write
from ..utils.imports import try_import
from .convert import DEFAULT, OLDEST, to_onnx
from .writer import package

__all__ = ["export", "save_model"]

LARGEST = 2**31 - 2**24  # bytes of a file of ONNX; what is larger keeps its weights beside it
APART = 1024  # bytes from which a tensor goes into the file of the weights
_ACCEPTED = ("output_spec", "with_hook", "enable_onnx_checker", "external_data", "verify", "deploy_backend", "verbose")


@errors.clean
def export(
    layer: Any, path: str, input_spec: Sequence[Any] | None = None, opset_version: int = DEFAULT, **configs: Any
) -> None:
    """Write a layer or a function as an ONNX model, for inference, as ``path.onnx``.

    Lengths that the InputSpecs leave open stay open. Branches and loops become If and Loop, quantised layers int8 weights
    between QuantizeLinear and DequantizeLinear. Nothing is written unless everything can be.

    Args:
        layer: a Layer, a function, or what `to_static` made of them.
        path: folder and beginning of the file's name, with or without ".onnx".
        input_spec: a list of InputSpec or example tensors; may be missing where `to_static` got one or the layer was
            called.
        opset_version: the version of the operator set; lower ones than 13 become 13, with a warning.
        configs: `output_spec` (which results to keep), `with_hook` (keep the layer's hooks), `external_data` (True: the
            weights in ``path.onnx.data``, which models over 2 GB need anyway), `enable_onnx_checker` (True by default),
            `verify` (a list of example inputs, on which ONNX Runtime must agree); `verbose` and `deploy_backend` are
            accepted.

    Raises:
        NotImplementedError: operators have no translation; all are named, with the lines that call them.
        ValueError: an unknown option or opset, nothing tells what the inputs are.
        ImportError: the package onnx (for `verify` also onnxruntime) is missing.
        RuntimeError: ONNX Runtime computes something else than the layer.

    Source: official API; the operators are those of https://onnx.ai/onnx/operators/.

    Example:
        >>> import os, tempfile
        >>> path = tempfile.mkdtemp() + "/linear"
        >>> paddle.onnx.export(paddle.nn.Linear(2, 1), path, [paddle.static.InputSpec([None, 2], "float32", "x")])
        >>> os.path.isfile(path + ".onnx")
        True
    """
    unknown = [c for c in configs if c not in _ACCEPTED]
    if unknown:
        raise errors.ValueError_(f"onnx.export: unknown option {unknown[0]!r}; there are {', '.join(_ACCEPTED)}")
    if not isinstance(path, (str, os.PathLike)) or not os.path.basename(os.fspath(path)):
        raise errors.ValueError_(f"onnx.export: path must be folder/file_prefix, got {path!r}")
    opset = _opset(opset_version)
    graph, feeds, fetches = program_of(
        "onnx.export", layer, input_spec, bool(configs.get("with_hook")), configs.get("output_spec")
    )
    model = to_onnx(graph, feeds, fetches, opset)
    if configs.get("enable_onnx_checker", True) and model.ByteSize() < LARGEST:
        package().checker.check_model(model)
    if configs.get("verify") is not None:
        _verify(model, layer, configs["verify"])
    name = os.fspath(path)
    save_model(model, name if name.endswith(".onnx") else name + ".onnx", configs.get("external_data"))


def _opset(version: Any) -> int:
    newest = package().defs.onnx_opset_version()
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= newest:
        raise errors.ValueError_(f"onnx.export: opset_version must be an int from 1 to {newest}, got {version!r}")
    if version < OLDEST:
        warnings.warn(f"onnx.export: opset_version {version} is too old, {OLDEST} is written", stacklevel=3)
    return max(version, OLDEST)


def save_model(model: Any, path: str, apart: bool | None = None) -> None:
    """Write a ModelProto. The weights go to a file beside it, ``path.data``, where `apart` says so or the model is too large
    for one file; that one is complete before the model appears."""
    if apart or apart is None and model.ByteSize() >= LARGEST:
        _move_apart(model, path + ".data")
    with atomic_write(path) as file:
        file.write(model.SerializeToString())


def _move_apart(model: Any, path: str) -> None:
    proto = package().TensorProto
    at = 0
    with atomic_write(path) as file:
        for tensor in model.graph.initializer:
            data = tensor.raw_data
            if len(data) < APART:
                continue
            file.write(data)
            del tensor.external_data[:]
            for key, value in (("location", os.path.basename(path)), ("offset", at), ("length", len(data))):
                entry = tensor.external_data.add()
                entry.key, entry.value = key, str(value)
            tensor.data_location = proto.EXTERNAL
            tensor.ClearField("raw_data")
            at += len(data)
            gap = -at % 64
            file.write(bytes(gap))
            at += gap


def _verify(model: Any, layer: Any, examples: Any) -> None:
    """RuntimeError where ONNX Runtime gives something else for these inputs."""
    runtime = try_import("onnxruntime", "onnx.export: verify needs the package 'onnxruntime': pip install onnxruntime")
    if not isinstance(examples, (list, tuple)):
        raise errors.TypeError_(f"onnx.export: verify must be a list of inputs, got {errors.describe(examples)}")
    arrays = [np.asarray(x._value if isinstance(x, Tensor) else x) for x in examples]
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})
    training = getattr(layer, "training", False)
    if training:
        layer.eval()
    try:
        wanted = layer(*[Tensor(a) for a in arrays])
    finally:
        if training:
            layer.train()
    wanted = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    for i, (have, want) in enumerate(zip(found, wanted)):
        array = np.asarray(want._value)
        gap = float(np.max(np.abs(have.astype(np.float64) - array.astype(np.float64)), initial=0))
        size = float(np.max(np.abs(array.astype(np.float64)), initial=0))
        if not gap <= 1e-4 + 1e-3 * size:
            raise errors.RuntimeError_(
                f"onnx.export: result {i} of ONNX Runtime differs by {gap:.2g} from the layer's, whose largest element is "
                f"{size:.2g}; nothing was written"
            )
