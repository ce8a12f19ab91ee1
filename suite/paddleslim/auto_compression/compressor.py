"""Compression of a saved model with one object: folder in, folder out."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from paddle.engine import errors
from paddle.ir.passes.quantization import KINDS
from paddle.quantization.program import prepared, quantized, runs
from paddle.static import Executor, scope_guard
from paddle.static.io import _as_program, _with_arrays
from paddle.static.quantization import PostTrainingQuantization

from ..analysis.counting import flops
from ..prune import Pruner
from ..sensitivities import searched
from ..structure import Structure
from .models import Model, batches_of
from .strategy_config import (
    SECTIONS,
    ChannelPrune,
    Distillation,
    HyperParameterOptimization,
    QuantAware,
    QuantPost,
    TrainConfig,
    sections_of,
)  # fmt: skip
from .training import Trainer, evaluation, two_in_four, unstructured

_QUANT_CONFIG = {"quantize_op_types": None, "weight_bits": 8, "per_channel": True}
_PRUNING = ("ChannelPrune", "TransformerPrune", "ASPPrune", "UnstructurePrune")


class AutoCompression:
    """Compresses a saved model.

    Args:
        model_dir: a folder with a saved model, ours or an official one; it is only read.
        train_dataloader: batches for training and calibration: a DataLoader, an iterable, or a function that gives an
            iterator; batches are dicts by the names of the inputs, or lists of which the first arrays are the inputs.
        model_filename, params_filename: names of the files in the folder; default: those that are there.
        save_dir: the folder of the result, ``model.pdmodel`` and ``model.pdiparams``.
        config: a dict of sections, or the path of a YAML file with it: QuantAware, QuantPost, HyperParameterOptimization,
            Distillation, ChannelPrune, TransformerPrune, ASPPrune, UnstructurePrune, TrainConfig
            (`paddleslim.auto_compression`). Pruning comes before quantisation; what trains has the original model as its
            teacher. Default: QuantAware with Distillation when there is data, else the weights become integers.
        input_shapes: lengths of inputs that the model leaves open: a dict by name, or the shape of the only input.
        target_speedup: without `config`: channels are pruned until the number of operations is divided by it.
        eval_callback: a function (executor, program, names of the inputs, results) -> metric, larger is better.
        eval_dataloader: accepted; the callback brings its data.
        deploy_hardware: accepted.
        train_callback: a function (iteration, loss), called after each step.
        strategy: "basic": without data, the weights of operators become integers with a scale for each output channel; or
            the name of a section.
        quant_config: of "basic": `quantize_op_types` (a list such as ["conv", "linear"]), `weight_bits`, `per_channel`.

    Raises:
        ValueError: no model, an unknown strategy, section or field, no data where training needs it, `save_dir` that is
            `model_dir`.
        NotImplementedError: MultiTeacherDistillation, PACT, reconstruction, AMP, recomputation, sharding.

    Example:
        >>> from paddleslim.auto_compression import AutoCompression
        >>> net = paddle.nn.Sequential(paddle.nn.Linear(16, 64), paddle.nn.ReLU(), paddle.nn.Linear(64, 4))
        >>> paddle.jit.save(net, "float/model", [paddle.static.InputSpec([None, 16])])
        >>> AutoCompression(model_dir="float", save_dir="int8", strategy="basic").compress()
        >>> paddle.jit.load("int8/model")(paddle.ones([2, 16])).shape
        [2, 4]
    """

    def __init__(
        self,
        model_dir: str,
        train_dataloader: Any = None,
        model_filename: str | None = None,
        params_filename: str | None = None,
        save_dir: str = "./output",
        config: Any = None,
        input_shapes: Any = None,
        target_speedup: float | None = None,
        eval_callback: Callable | None = None,
        eval_dataloader: Any = None,
        deploy_hardware: str = "gpu",
        train_callback: Callable | None = None,
        strategy: str | None = None,
        quant_config: dict[str, Any] | None = None,
    ):
        self.model_dir, self.save_dir = model_dir, os.fspath(save_dir)
        self._model = Model.read(model_dir, model_filename, params_filename)
        if os.path.realpath(self.save_dir) == os.path.realpath(os.fspath(model_dir)):
            raise errors.ValueError_(f"AutoCompression: save_dir {save_dir!r} is model_dir, which is not overwritten")
        if input_shapes is not None:
            self._model = self._model.with_shapes(input_shapes)
        self._loader, self._callback = train_dataloader, train_callback
        self._evaluate = evaluation(eval_callback)
        if target_speedup is not None and not target_speedup >= 1:
            raise errors.ValueError_(f"AutoCompression: target_speedup must be at least 1, got {target_speedup!r}")
        self.deploy_hardware, self._speedup = deploy_hardware, target_speedup
        self._weights = self._weight_settings(strategy, quant_config)
        sections = sections_of(config)
        if strategy is not None and self._weights is None:
            sections = {**sections_of([strategy]), **sections}
        self.train_config: TrainConfig = sections.pop("TrainConfig", None) or TrainConfig()
        self.sections = sections
        if self._weights is None and not sections:
            self._by_default()
        if self._weights is None and not any(k in sections for k in (*_PRUNING, "QuantAware", "QuantPost")):
            if "HyperParameterOptimization" in sections:
                sections["QuantPost"] = QuantPost()
            elif not sections:
                raise errors.ValueError_("AutoCompression: config names nothing to do")
        if self._weights is None and train_dataloader is None:
            raise errors.ValueError_(f"AutoCompression: train_dataloader is needed for {', '.join(sections)}")
        if sum(k in sections for k in _PRUNING) > 1:
            raise errors.ValueError_("AutoCompression: one kind of pruning at a time")
        if getattr(sections.get("QuantPost"), "recon_level", None) is not None:
            raise errors.NotImplemented_("AutoCompression: recon_level of QuantPost")
        self.final_metric: float | None = None

    @staticmethod
    def _weight_settings(strategy: str | None, quant_config: dict[str, Any] | None) -> dict[str, Any] | None:
        if strategy is not None and strategy != "basic" and strategy not in SECTIONS:
            raise errors.ValueError_(
                f"AutoCompression: strategy must be 'basic' or one of {', '.join(SECTIONS)}, got {strategy!r}"
            )
        if strategy != "basic":
            if quant_config is not None:
                raise errors.ValueError_("AutoCompression: quant_config belongs to strategy='basic'")
            return None
        for key in quant_config or {}:
            if key not in _QUANT_CONFIG:
                raise errors.ValueError_(
                    f"AutoCompression: quant_config has no {key!r}; it has {', '.join(_QUANT_CONFIG)}"
                )
        settings = {**_QUANT_CONFIG, **(quant_config or {})}
        for kind in settings["quantize_op_types"] or ():
            if kind not in KINDS:
                raise errors.ValueError_(
                    f"AutoCompression: {kind!r} is no kind of operator with weights; there are {', '.join(KINDS)}"
                )
        return settings

    def _by_default(self) -> None:
        if self._speedup is not None:
            self.sections["ChannelPrune"] = ChannelPrune(self._ratio_for(self._speedup))
        elif self._loader is not None:
            self.sections.update(QuantAware=QuantAware(), Distillation=Distillation())
        else:
            self._weights = dict(_QUANT_CONFIG)

    def compress(self) -> None:
        """Compress and write. Nothing is written when a step fails."""
        if self._weights is not None:
            made = self._with_integer_weights(self._model)
        else:
            made = self._compressed()
        if self._evaluate is not None:
            self.final_metric = self._evaluate(made)
        made.write(self.save_dir)

    def _with_integer_weights(self, model: Model) -> Model:
        settings = self._weights or _QUANT_CONFIG
        program = model.program
        graph = prepared(_with_arrays("AutoCompression", program, model.scope), program.fetches)
        made = quantized(
            graph,
            program.fetches,
            settings["quantize_op_types"],
            weight_bits=settings["weight_bits"],
            per_channel=settings["per_channel"],
        )
        scope = model.scope.new_scope()
        return Model(_as_program(made, program.feeds, program.fetches, scope), scope)

    def _compressed(self) -> Model:
        sections, original = self.sections, self._model
        self._check_origin(original)
        teacher, distillation = original, sections.get("Distillation") or Distillation()
        if distillation.teacher_model_dir is not None:
            teacher = Model.read(
                distillation.teacher_model_dir,
                distillation.teacher_model_filename,
                distillation.teacher_params_filename,
            )
        trainer = Trainer(self._loader, self.train_config, self._evaluate, self._callback)
        model = original.copy()
        pruning = next((sections[k] for k in _PRUNING if k in sections), None)
        if pruning is not None:
            model, after_step = self._pruned(model, pruning)
            model = trainer.run(model, teacher, distillation, after_step=after_step)
            trainer = trainer.scaled(0.1)
        elif "Distillation" in sections and not any(k in sections for k in ("QuantAware", "QuantPost")):
            return trainer.run(model, teacher, distillation)
        if "QuantAware" in sections:
            model = trainer.run(model, teacher, distillation, sections["QuantAware"])
        elif "QuantPost" in sections:
            model = self._post_trained(model, sections["QuantPost"], sections.get("HyperParameterOptimization"))
        return model

    def _check_origin(self, model: Model) -> None:
        wanted = self.train_config.origin_metric
        if wanted is None or self._evaluate is None:
            return
        metric = self._evaluate(model)
        if abs(metric - wanted) > 0.01 * abs(wanted):
            raise errors.RuntimeError_(
                f"AutoCompression: the metric of the original model is {metric}, origin_metric says {wanted}: check data and "
                "eval_callback"
            )

    # ---- pruning ----
    def _pruned(self, model: Model, config: Any) -> tuple[Model, Callable | None]:
        kind = type(config).__name__
        if kind == "UnstructurePrune":
            return model, unstructured(config)
        if kind == "ASPPrune":
            return model, two_in_four(config.prune_params_name)
        names, criterion = getattr(config, "prune_params_name", None), getattr(config, "criterion", "l1_norm")
        if names is None:
            names = self._prunable(model, linear=kind == "TransformerPrune")
        ratios = config.pruned_ratio
        ratios = list(ratios) if isinstance(ratios, (list, tuple)) else [ratios] * len(names)
        program, _, _ = Pruner(criterion).prune(model.program, model.scope, names, ratios)
        return Model(program, model.scope), None

    @staticmethod
    def _prunable(model: Model, linear: bool = False) -> list[str]:
        structure = Structure(model.program, model.program.fetches)
        states = model.program.states
        groups = [g for g in structure.groups() if g.reason is None]
        found = [g.name for g in groups if (states[g.name].value.ndim == 2) == linear]
        found = found or [g.name for g in groups]
        if not found:
            raise errors.ValueError_("AutoCompression: the model has no channels that can be pruned")
        return found

    def _ratio_for(self, speedup: float) -> float:
        """The share of channels with which the operations are divided by a number."""
        names, model = self._prunable(self._model), self._model
        base = flops(model.program)

        def share_of(ratios: dict[str, float]) -> float:
            made, _, _ = Pruner().prune(model.program, model.scope, names, list(ratios.values()), only_graph=True)
            return 1 - flops(made) / base

        ratios, _ = searched(lambda r: dict.fromkeys(names, min(r, 0.99)), share_of, 1 - 1 / speedup)
        return next(iter(ratios.values()))

    # ---- quantisation after training ----
    def _post_trained(self, model: Model, config: QuantPost, search: HyperParameterOptimization | None) -> Model:
        if search is None:
            return self._calibrated(model, config.algo, config.hist_percent, config.weight_quantize_type, config)
        best: tuple[float, Model] | None = None
        percents = sorted({min(search.hist_percent), max(search.hist_percent)})
        choices = [
            (algo, percent, kind)
            for algo, percent, kind in itertools.product(search.ptq_algo, percents, search.weight_quantize_type)
            if algo == "hist" or percent == percents[0]
        ]
        for algo, percent, kind in choices[: search.max_quant_count]:
            made = self._calibrated(model, algo, percent, kind, config)
            score = self._evaluate(made) if self._evaluate is not None else -self._distance(model, made)
            if best is None or score > best[0]:
                best = score, made
        if best is None:
            raise errors.ValueError_("AutoCompression: HyperParameterOptimization has nothing to try")
        return best[1]

    def _calibrated(self, model: Model, algo: str, percent: float, kind: str, config: QuantPost) -> Model:
        scope = model.scope.new_scope()
        feeds = model.program.feeds
        with tempfile.TemporaryDirectory() as folder, scope_guard(scope):
            model.write(folder)
            ptq = PostTrainingQuantization(
                Executor(), folder, scope, data_loader=lambda: batches_of(self._loader, feeds),
                batch_nums=config.batch_nums, algo=algo, hist_percent=percent, optimize_model=True,
                quantizable_op_type=config.quantize_op_types, bias_correction=config.bias_correction,
                activation_bits=config.activation_bits, weight_bits=config.weight_bits, weight_quantize_type=kind,
                skip_tensor_list=config.skip_tensor_list, is_full_quantize=config.is_full_quantize,
            )  # fmt: skip
            return Model(ptq.quantize(), scope)

    def _distance(self, model: Model, made: Model) -> float:
        """How far the results are from those of another model, on the first batch."""
        batch = next(iter(batches_of(self._loader, model.program.feeds)))
        found = []
        for each in (model, made):
            graph = _with_arrays("AutoCompression", each.program, each.scope)
            found.append(next(runs(graph, each.program.fetches, [batch])))
        return float(sum(np.square(a - b).mean() for a, b in zip(*found)))
