"""From a saved model to ONNX: the only part that needs paddle, which is imported in its functions."""

from __future__ import annotations

from typing import Any

from .container import read_file

__all__ = ["Converted", "need_paddle", "optimise", "saved"]

FEWEST = 256  # elements from which a weight is worth halving


def need_paddle(where: str) -> None:
    """ImportError where paddle, or what writes ONNX, is missing."""
    try:
        import onnx  # noqa: F401

        import paddle  # noqa: F401
    except ImportError as e:
        raise ImportError(
            f"{where}: a saved model is optimised with the packages paddle-xla and onnx ({e}); only .nb files run without "
            "them: make one with paddlelite.Opt on a machine that has both"
        ) from e


class Converted:
    """A model of ONNX and what it takes and gives."""

    def __init__(self, model: bytes, inputs: list[dict], outputs: list[dict], quantized: str, operators: list[str]):
        self.model, self.inputs, self.outputs = model, inputs, outputs
        self.quantized, self.operators = quantized, operators

    def about(self, target: list[str], half: bool) -> dict[str, Any]:
        """The description for the file."""
        return {
            "target": target,
            "precision": "fp16" if half else "fp32",
            "quantized": self.quantized,
            "inputs": self.inputs,
            "outputs": self.outputs,
        }


def saved(where: str, model: Any = "", params: Any = "", folder: Any = "", contents: Any = None) -> Any:
    """A Config of paddle.inference for a saved model: its files, its folder, or the contents of both files."""
    need_paddle(where)
    from paddle.inference import Config

    if contents is not None:
        config = Config()
        config.set_model_buffer(contents[0], len(contents[0]), contents[1], len(contents[1]))
        return config
    if model:
        config = Config()
        parts = read_file(model, where), read_file(params, where) if params else b""
        config.set_model_buffer(parts[0], len(parts[0]), parts[1], len(parts[1]))
        return config
    if not folder:
        raise ValueError(f"{where}: no model is named")
    return Config(folder)


def optimise(
    source: Any,
    bits: int = 0,
    half: bool = False,
    passes: list[str] | None = None,
    discarded: list[str] = [],  # noqa: B006
) -> Converted:
    """Read, optimise and translate a saved model.

    Args:
        source: what `saved` gave.
        bits: 8 or 16: weights of convolutions and linear layers as such integers, a scale for each channel; 0: as they are.
        half: floating weights are stored in float16. What computes in it decides the back end; the CPU unpacks them once.
        passes, discarded: passes to run instead of the usual ones, and passes to leave out.

    Raises:
        NotImplementedError: operators that ONNX does not have, all named.
        ValueError: contents that are no model, an unknown pass.
    """
    from paddle.inference.backends import NOT_FOR_OTHERS
    from paddle.inference.predictor import _different, _read
    from paddle.ir.passes import apply
    from paddle.onnx.convert import DEFAULT, to_onnx
    from paddle.quantization.program import quantized

    graph, feeds, fetches = _read(source)
    names = passes or [n for n in source.pass_builder().all_passes() if n not in NOT_FOR_OTHERS]
    graph = apply(graph, fetches, [n for n in names if n not in discarded])
    kind = ""
    found = sorted({o.name for o in graph.kept(fetches, updates=False)})
    if any("quantize" in n for n in found):
        kind = "int8_activations"
    elif bits:
        graph = quantized(graph, fetches, weight_bits=bits)
        kind = f"int{bits}"
    outputs = _different(graph.output_names or [v.name for v in fetches])
    model = to_onnx(graph, feeds, fetches, DEFAULT, outputs)
    if half:
        _halve(model)
    return Converted(model.SerializeToString(), _ports(model.graph.input), _ports(model.graph.output), kind, found)


def _ports(values: Any) -> list[dict]:
    """Names, types and shapes of inputs or outputs; -1 for lengths that vary."""
    import onnx

    rows = []
    for value in values:
        kind = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else -1 for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).name
        rows.append({"name": value.name, "dtype": dtype, "shape": shape})
    return rows


def _halve(model: Any) -> None:
    """Weights in float16 with a Cast behind each, which runtimes compute once while loading; those with elements out of
    float16's range stay."""
    import numpy as np
    import onnx

    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        array = onnx.numpy_helper.to_array(tensor)
        if array.size < FEWEST or np.abs(array).max() > np.finfo(np.float16).max:
            continue
        name = tensor.name
        tensor.CopyFrom(onnx.numpy_helper.from_array(array.astype(np.float16), name + ".half"))
        casts.append(onnx.helper.make_node("Cast", [name + ".half"], [name], to=onnx.TensorProto.FLOAT))
    for cast in reversed(casts):
        model.graph.node.insert(0, cast)
