"""Quantisation of saved models and programs after training."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.value import Value
from ...ir.passes import apply
from ...ir.passes.quantization import Weight, integers_of, sites, with_integer_weights
from ...quantization.calibration import ALGORITHMS
from ...quantization.program import observe, prepared, quantized
from ..executor import global_scope
from ..io import _as_program, _with_arrays, read_inference_model, write_inference_model
from ..program import Program
from .transform import ACTIVATIONS, chosen_of, weighted_kinds

_NAMES = ("__model__", "inference.pdmodel", "model.pdmodel", "inference.json", "model.json")


def _read(model_dir: str, model_filename: str | None, params_filename: str | None, scope: Any) -> Program:
    """The program of a folder or of the beginning of file names."""
    model_dir = os.fspath(model_dir)
    if model_filename is None and os.path.isdir(model_dir):
        name = next((n for n in _NAMES if os.path.isfile(os.path.join(model_dir, n))), None)
        if name is None:
            raise errors.ValueError_(f"quantization: the folder {model_dir!r} holds no model ({', '.join(_NAMES)})")
        if name != "__model__":
            return read_inference_model(os.path.join(model_dir, os.path.splitext(name)[0]), scope)
    return read_inference_model(model_dir, scope, model_filename=model_filename, params_filename=params_filename)


class PostTrainingQuantization:
    """Quantises a saved model: data runs through it, and the ranges of values follow from what was seen.

    Args:
        executor: accepted.
        model_dir: a folder, or the beginning of the file names.
        scope: where its variables are kept; default: the global one.
        model_filename, params_filename: other file names in the folder.
        batch_generator: a function that gives an iterator of batches.
        sample_generator: a function that gives an iterator of samples, which are put into batches of `batch_size`.
        data_loader: an iterable of batches (dicts by name, or lists in the order of the inputs).
        batch_size: see above.
        batch_nums: how many batches; default: all.
        algo: "KL", "hist", "avg", "mse", "emd", "abs_max" or "min_max".
        hist_percent: of "hist".
        quantizable_op_type: kinds of operators with weights; default: all.
        round_type: "round"; "adaround" raises NotImplementedError.
        learning_rate, is_use_cache_file, cache_dir, freeze_model, deploy_backend, return_graph: accepted.
        is_full_quantize: accepted; operators without weights stay as they are.
        bias_correction: True raises NotImplementedError.
        activation_bits, weight_bits: widths of the integers.
        activation_quantize_type: accepted; the ranges come from the data.
        weight_quantize_type: "abs_max" or "channel_wise_abs_max".
        onnx_format: accepted; what is written always has this form.
        optimize_model: first put batch normalisation into the weights.
        skip_tensor_list: names of variables; operators that have one are left out.
        same_scale_tensor_list: lists of names of values that get one range, the largest.
        scale_dict: magnitudes by name of the value, in place of those from data.

    Raises:
        ValueError: no data, an unknown algorithm or kind, no model.

    Example:
        >>> import tempfile, numpy as np
        >>> from paddle.static.quantization import PostTrainingQuantization
        >>> path = tempfile.mkdtemp() + "/net"
        >>> paddle.jit.save(paddle.nn.Linear(4, 2), path, [paddle.static.InputSpec([None, 4])])
        >>> data = [[np.ones([8, 4], "float32")]]
        >>> ptq = PostTrainingQuantization(paddle.static.Executor(), path, data_loader=data, algo="abs_max")
        >>> _ = ptq.quantize()
        >>> ptq.save_quantized_model(path + "_int8")
        >>> paddle.jit.load(path + "_int8/model")(paddle.ones([1, 4])).shape
        [1, 2]
    """

    def __init__(
        self,
        executor,
        model_dir,
        scope=None,
        model_filename=None,
        params_filename=None,
        batch_generator=None,
        sample_generator=None,
        data_loader=None,
        batch_size=10,
        batch_nums=None,
        algo="KL",
        hist_percent=0.99999,
        quantizable_op_type=[],  # noqa: B006
        round_type="round",
        learning_rate=0.001,
        is_full_quantize=False,
        bias_correction=False,
        activation_bits=8,
        weight_bits=8,
        activation_quantize_type="range_abs_max",
        weight_quantize_type="channel_wise_abs_max",
        onnx_format=False,
        freeze_model=True,
        optimize_model=False,
        is_use_cache_file=False,
        skip_tensor_list=None,
        same_scale_tensor_list=None,
        cache_dir=None,
        scale_dict=None,
        return_graph=False,
        deploy_backend=None,
    ):
        if round_type != "round" or bias_correction:
            raise errors.NotImplemented_("PostTrainingQuantization: round_type 'adaround', bias_correction")
        chosen_of("algo", algo, tuple(ALGORITHMS))
        chosen_of("activation_quantize_type", activation_quantize_type, ACTIVATIONS)
        chosen_of("weight_quantize_type", weight_quantize_type, ("abs_max", "channel_wise_abs_max"))
        given = [d for d in (batch_generator, sample_generator, data_loader) if d is not None]
        if not given and scale_dict is None:
            raise errors.ValueError_(
                "PostTrainingQuantization: data is missing: data_loader, batch_generator or sample_generator"
            )
        self._scope = scope or global_scope()
        self._generators = batch_generator, sample_generator, data_loader
        self._batch_size, self._batch_nums = batch_size, batch_nums
        self._algo, self._percent = algo, hist_percent
        self._kinds = list(quantizable_op_type) or None
        self._bits, self._weight_bits = activation_bits, weight_bits
        self._per_channel, self._optimize = weight_quantize_type == "channel_wise_abs_max", optimize_model
        self._skip, self._same = skip_tensor_list or (), same_scale_tensor_list or ()
        self._scale_dict = dict(scale_dict or {})
        self._source = (model_dir, model_filename, params_filename)
        self._program: Program | None = None
        self._quantized: Program | None = None

    def _given(self) -> tuple[Program, list[str], list[Value]]:
        """(program, names of its inputs, results)"""
        program = _read(*self._source, self._scope)
        return program, list(program.feeds), list(program.fetches)

    def _batches(self, feeds: list[str]) -> Iterator[dict[str, Any]]:
        batches, samples, loader = self._generators
        source = loader if loader is not None else batches if batches is not None else None
        found = (source() if callable(source) else source) if source is not None else self._of_samples(samples)
        for number, batch in enumerate(found):
            if self._batch_nums and number >= self._batch_nums:
                return
            if isinstance(batch, (list, tuple)) and len(batch) == 1 and isinstance(batch[0], dict):
                batch = batch[0]
            if not isinstance(batch, dict):
                batch = dict(zip(feeds, batch if isinstance(batch, (list, tuple)) else [batch]))
            yield batch

    def _of_samples(self, samples: Any) -> Iterator[list]:
        rows: list = []
        for sample in samples():
            rows.append(sample if isinstance(sample, (list, tuple)) else [sample])
            if len(rows) == self._batch_size:
                yield [np.stack([np.asarray(r) for r in column]) for column in zip(*rows)]
                rows = []
        if rows:
            yield [np.stack([np.asarray(r) for r in column]) for column in zip(*rows)]

    def quantize(self):
        """Run the data through the model and quantise it.

        Returns:
            The quantised Program.
        """
        program, feeds, fetches = self._given()
        graph = prepared(_with_arrays("PostTrainingQuantization", program, self._scope), fetches, self._optimize)
        kinds = None if self._kinds is None else weighted_kinds(self._kinds)[0]
        chosen = sites(graph, kinds, self._skip)
        values = list(dict.fromkeys(s.x for s in chosen))
        ranges = {v: float(self._scale_dict[v.name]) for v in values if v.name in self._scale_dict}
        watched = [v for v in values if v not in ranges]
        if watched:
            options = {"percent": self._percent} if self._algo == "hist" else {}
            seen = observe(graph, watched, self._batches(feeds), self._algo, self._bits, **options)
            ranges.update((v, s.magnitude()) for v, s in seen.items() if s.seen)
        for names in self._same:
            together = [v for v in ranges if v.name in names]
            top = max((ranges[v] for v in together), default=0.0)
            ranges.update((v, top) for v in together)
        self._scale_dict = {v.name: r for v, r in ranges.items()}
        made = quantized(
            graph, fetches, weight_bits=self._weight_bits, activation_bits=self._bits, per_channel=self._per_channel,
            ranges=ranges, chosen=chosen,
        )  # fmt: skip
        self._quantized = _as_program(made, feeds, fetches, self._scope)
        return self._quantized

    def save_quantized_model(self, save_model_path, model_filename=None, params_filename=None):
        """Write the model into a folder, as ``model.pdmodel`` and ``model.pdiparams`` unless other names are given.

        Raises:
            RuntimeError: `quantize` was not called.
        """
        if self._quantized is None:
            raise errors.RuntimeError_("save_quantized_model: call quantize() first")
        _write(self._quantized, save_model_path, model_filename, params_filename, self._scope)


def _write(program: Program, folder: str, model_filename: str | None, params_filename: str | None, scope: Any) -> None:
    os.makedirs(folder, exist_ok=True)
    stem = os.path.splitext(model_filename)[0] if model_filename else "model"
    names = {"model_filename": stem + ".pdmodel", "params_filename": params_filename or stem + ".pdiparams"}
    write_inference_model(program, os.path.join(folder, stem), scope, **names)


class PostTrainingQuantizationProgram(PostTrainingQuantization):
    """Quantises a program after training; the arguments are those of PostTrainingQuantization, and:

    Args:
        program: a Program.
        feed_list: names of its inputs; default: those that it was loaded with, or all.
        fetch_list: its results, variables or names.
    """

    def __init__(
        self,
        executor,
        program,
        feed_list=None,
        fetch_list=None,
        scope=None,
        batch_generator=None,
        sample_generator=None,
        data_loader=None,
        batch_size=10,
        batch_nums=None,
        algo="KL",
        hist_percent=0.99999,
        quantizable_op_type=["conv2d", "depthwise_conv2d", "mul"],  # noqa: B006
        round_type="round",
        learning_rate=0.001,
        is_full_quantize=False,
        bias_correction=False,
        activation_bits=8,
        weight_bits=8,
        activation_quantize_type="range_abs_max",
        weight_quantize_type="channel_wise_abs_max",
        onnx_format=False,
        freeze_model=True,
        optimize_model=False,
        is_use_cache_file=False,
        skip_tensor_list=None,
        same_scale_tensor_list=None,
        cache_dir=None,
        scale_dict=None,
        return_graph=True,
    ):
        if not isinstance(program, Program):
            raise errors.TypeError_(
                f"PostTrainingQuantizationProgram: program must be a Program, got {errors.describe(program)}"
            )
        super().__init__(
            executor, None, scope, None, None, batch_generator, sample_generator, data_loader, batch_size, batch_nums,
            algo, hist_percent, quantizable_op_type, round_type, learning_rate, is_full_quantize, bias_correction,
            activation_bits, weight_bits, activation_quantize_type, weight_quantize_type, onnx_format, freeze_model,
            optimize_model, is_use_cache_file, skip_tensor_list, same_scale_tensor_list, cache_dir, scale_dict, return_graph,
        )  # fmt: skip
        self._program = program
        self._feed_list, self._fetch_list = feed_list, fetch_list

    def _given(self):
        program = self._program
        fetches = [program.find(f) if isinstance(f, str) else f._value for f in (self._fetch_list or [])] or list(
            program.fetches
        )
        if not fetches:
            raise errors.ValueError_("PostTrainingQuantizationProgram: fetch_list must name the results")
        feeds = [f if isinstance(f, str) else f.name for f in (self._feed_list or [])]
        program = program.clone(for_test=True)
        return program, feeds or list(program.feeds) or list(program.inputs), fetches


class WeightQuantization:
    """Quantises the weights of a saved model, without data.

    Args:
        model_dir: a folder, or the beginning of the file names.
        model_filename, params_filename: other file names in the folder.
    """

    def __init__(self, model_dir, model_filename=None, params_filename=None):
        self._source = (model_dir, model_filename, params_filename)

    def _load(self) -> tuple[Program, Any]:
        scope = global_scope().new_scope()
        return _read(*self._source, scope), scope

    def quantize_weight_to_int(
        self,
        save_model_dir,
        save_model_filename=None,
        save_params_filename=None,
        quantizable_op_type=["conv2d", "mul"],  # noqa: B006
        weight_bits=8,
        weight_quantize_type="channel_wise_abs_max",
        generate_test_model=False,
        threshold_rate=0.0,
    ):
        """Write the model with integer weights into a folder.

        Args:
            save_model_dir: the folder.
            save_model_filename, save_params_filename: other names than model.pdmodel and model.pdiparams.
            quantizable_op_type: kinds of operators.
            weight_bits: 8 or 16.
            weight_quantize_type: "channel_wise_abs_max" or "abs_max".
            generate_test_model: accepted.
            threshold_rate: the share of the largest magnitudes that is cut off, with "abs_max".

        Raises:
            ValueError: another width, type or kind.
        """
        if weight_bits not in (8, 16):
            raise errors.ValueError_(f"quantize_weight_to_int: weight_bits must be 8 or 16, got {weight_bits!r}")
        chosen_of("weight_quantize_type", weight_quantize_type, ("abs_max", "channel_wise_abs_max"))
        program, scope = self._load()
        graph = _with_arrays("WeightQuantization", program, scope)
        weights = {}
        for site in sites(graph, quantizable_op_type):
            array = np.asarray(graph.states[site.weight.name].tensor._value)
            if weight_quantize_type == "abs_max":
                axis, scale = None, np.float32(np.quantile(np.abs(array), 1 - threshold_rate, method="higher"))
            else:
                axis = site.axis
                scale = np.abs(array).max(tuple(i for i in range(array.ndim) if i != axis))
            weights[site.weight] = Weight(integers_of(array, scale, weight_bits, axis), scale, weight_bits, axis)
        made = apply(with_integer_weights(graph, weights), program.fetches, ["dead_code"])
        other = _as_program(made, program.feeds, program.fetches, scope)
        _write(other, save_model_dir, save_model_filename, save_params_filename, scope)

    def convert_weight_to_fp16(self, save_model_dir):
        """Write the model in half precision into a folder."""
        from ...inference.mixed_precision import to_low_precision

        program, scope = self._load()
        graph = _with_arrays("WeightQuantization", program, scope)
        made = to_low_precision(graph, program.fetches, "float16", set())
        other = _as_program(made, program.feeds, program.fetches, scope)
        _write(other, save_model_dir, None, None, scope)
