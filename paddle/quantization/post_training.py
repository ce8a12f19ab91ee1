"""Post-training quantisation of a layer in three calls: configure, quantize, save."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.value import Value
from ..ir.passes.quantization import sites
from ..ir.program import Graph
from ..jit import files
from ..nn.layer import Layer
from .export import batches_of, traced
from .program import observe, prepared, quantized
from .weights import gptq, smoothed

_BITS = {"QUANT_INT8": 8, "QUANT_INT4": 4, "QUANT_NONE": None}
_DEFAULTS: dict[str, Any] = {
    "quantize_type": "QUANT_INT8",
    "weight_quant_type": "QUANT_INT8",
    "quantize_op_types": None,
    "algo": "hist",
    "per_channel": True,
    "smooth": None,
    "gptq": False,
}


class PostTrainingStaticQuant:
    """Quantises a trained model and writes it: weights as integers with a scale for each output channel, activations to
    integers on the way, with the ranges of calibration data or, without data, those of each sample while running.

    Example:
        >>> import tempfile
        >>> quant = paddle.quantization.PostTrainingStaticQuant()
        >>> quant.set_quant_config({"quantize_type": "QUANT_INT8", "weight_quant_type": "QUANT_INT8"})
        >>> net = paddle.nn.Sequential(paddle.nn.Linear(4, 2)).eval()
        >>> _ = net(paddle.ones([1, 4]))
        >>> quant.quantize(net)
        >>> path = tempfile.mkdtemp() + "/int8"
        >>> quant.save_quantized_model(path)
        >>> paddle.jit.load(path)(paddle.ones([3, 4])).shape
        [3, 2]
    """

    def __init__(self) -> None:
        self._config = dict(_DEFAULTS)
        self._quantized: tuple[Graph, list[str], list[Value]] | None = None

    def set_quant_config(self, config: dict[str, Any]) -> None:
        """Choose what is quantised, and how.

        Args:
            config: `quantize_type` of activations and `weight_quant_type` of weights, each "QUANT_INT8", "QUANT_INT4" or
                "QUANT_NONE"; `quantize_op_types`, a list such as ["conv2d", "linear"]; `algo` for calibration data, see
                `paddle.static.quantization.PostTrainingQuantization`; `per_channel`; with calibration data also `smooth`
                (0 to 1, SmoothQuant) and `gptq` (True), see `paddle.quantization.weights`.

        Raises:
            ValueError: an unknown key or type.
        """
        for key, value in config.items():
            if key not in _DEFAULTS:
                raise errors.ValueError_(f"set_quant_config: there is no {key!r}; there are {', '.join(_DEFAULTS)}")
            if key.endswith("_type") and value not in _BITS:
                raise errors.ValueError_(f"set_quant_config: {key} must be one of {', '.join(_BITS)}, got {value!r}")
        self._config.update(config)
        if _BITS[self._config["weight_quant_type"]] is None:
            raise errors.ValueError_("set_quant_config: weight_quant_type must be QUANT_INT8 or QUANT_INT4")

    def quantize(self, model: Layer, data: Any = None, input_spec: Any = None) -> None:
        """Quantise a copy of the model's computation; the model stays as it is.

        Args:
            model: a Layer.
            data: calibration data, an iterable of batches.
            input_spec: a list of InputSpec; default: the shapes of the last call, the first length open.

        Raises:
            TypeError: what is no Layer.
            ValueError: nothing tells what the inputs are; nothing can be quantised.
        """
        if not isinstance(model, Layer):
            raise errors.TypeError_(f"quantize: model must be a Layer, got {errors.describe(model)}")
        settings = self._config
        graph, feeds, fetches = traced(model, input_spec)
        graph = prepared(graph, fetches)
        batches = None if data is None else list(batches_of(data, feeds))
        if batches is None and (settings["smooth"] is not None or settings["gptq"]):
            raise errors.ValueError_("quantize: 'smooth' and 'gptq' need calibration data")
        if settings["smooth"] is not None:
            graph = smoothed(graph, fetches, batches, settings["smooth"])
        chosen = sites(graph, settings["quantize_op_types"])
        if not chosen:
            raise errors.ValueError_("quantize: the model has no operator with weights that could be quantised")
        weight_bits = _BITS[settings["weight_quant_type"]] or 8
        bits, ranges = _BITS[settings["quantize_type"]], None
        if batches is not None and bits is not None:
            values = list(dict.fromkeys(s.x for s in chosen))
            seen = observe(graph, values, batches, settings["algo"], bits)
            ranges = {v: s.magnitude() for v, s in seen.items() if s.seen}
        made = quantized(
            graph,
            fetches,
            weight_bits=weight_bits,
            activation_bits=bits,
            per_channel=settings["per_channel"],
            ranges=ranges,
            chosen=chosen,
            weights=gptq(graph, chosen, batches, weight_bits) if settings["gptq"] else None,
        )
        self._quantized = made, feeds, fetches

    def save_quantized_model(self, path: str) -> None:
        """Write ``path.pdmodel`` and ``path.pdiparams``, for `paddle.jit.load` and `paddle.inference`.

        Args:
            path: folder and beginning of the file names.

        Raises:
            RuntimeError: `quantize` was not called.
        """
        if self._quantized is None:
            raise errors.RuntimeError_("save_quantized_model: call quantize() first")
        files.write_model(files.split_prefix(path, "save_quantized_model"), "forward", *self._quantized)
