"""Training a compressed program with its original as the teacher."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import paddle
from paddle.engine import errors
from paddle.engine.tensor import _make
from paddle.incubate.asp.masks import MaskAlgo
from paddle.incubate.asp.pruning import prune_by_inputs
from paddle.ir.passes.quantization import sites
from paddle.static import Executor, Program, program_guard, scope_guard
from paddle.static.quantization import convert, quant_aware

from ..dist import losses
from ..dist.single_distiller import merge, tensors_of
from ..prune import GMPUnstructuredPruner, UnstructuredPruner
from ..structure.programs import record
from .models import Model, batches_of
from .strategy_config import Distillation, QuantAware, TrainConfig, UnstructurePrune

LOSSES: dict[str, Callable] = {
    "l2": losses.l2_loss, "soft_label": losses.soft_label_loss, "dkd": losses.dkd_loss, "skd": losses.skd_loss,
}  # fmt: skip
Evaluate = Callable[[Model], float] | None


class Trainer:
    """How a program is trained.

    Args:
        loader: batches, see `batches_of`.
        config: a TrainConfig.
        evaluate: from a Model to its metric, or None.
        callback: called as ``callback(iteration, loss)``, or None.
    """

    def __init__(self, loader: Any, config: TrainConfig, evaluate: Evaluate = None, callback: Callable | None = None):
        for name in ("amp_config", "recompute_config", "sharding_config"):
            if getattr(config, name) is not None:
                raise errors.NotImplemented_(f"AutoCompression: {name} of TrainConfig")
        self.loader, self.config, self.evaluate, self.callback = loader, config, evaluate, callback

    def scaled(self, factor: float) -> Trainer:
        """A shorter training with smaller steps, as after pruning."""
        config = self.config
        rate = config.learning_rate
        if isinstance(rate, dict):
            rate = {k: _times(v, factor) if k in ("learning_rate", "values") else v for k, v in rate.items()}
        else:
            rate = rate * factor
        changes = {
            "learning_rate": rate,
            "epochs": None if config.epochs is None else max(1, int(config.epochs * factor)),
            "train_iter": None if config.train_iter is None else max(1, int(config.train_iter * factor)),
        }
        return Trainer(self.loader, dataclasses.replace(config, **changes), self.evaluate, self.callback)

    # ---- building ----
    def _optimizer(self) -> tuple[Any, Any]:
        """(optimizer, schedule or None)"""
        rate, schedule = self.config.learning_rate, None
        if isinstance(rate, dict):
            options = dict(rate)
            rate = schedule = _named(paddle.optimizer.lr, options.pop("type", None), "learning_rate")(**options)
        builder = self.config.optimizer_builder
        if isinstance(builder, str):
            builder = {"optimizer": {"type": builder}}
        chosen = dict(builder.get("optimizer") or {"type": "SGD"})
        further: dict[str, Any] = {}
        if builder.get("weight_decay") is not None:
            further["weight_decay"] = builder["weight_decay"]
        if builder.get("regularizer"):
            options = dict(builder["regularizer"])
            further["weight_decay"] = _named(paddle.regularizer, options.pop("type", None), "regularizer")(**options)
        if builder.get("grad_clip"):
            options = dict(builder["grad_clip"])
            further["grad_clip"] = _named(paddle.nn, options.pop("type", None), "grad_clip")(**options)
        kind = _named(paddle.optimizer, chosen.pop("type", None), "optimizer")
        return kind(learning_rate=rate, **chosen, **further), schedule

    def run(
        self,
        student: Model,
        teacher: Model,
        distillation: Distillation,
        quantization: QuantAware | None = None,
        after_step: Callable[[Model], Callable[[], None]] | None = None,
    ) -> Model:
        """Train a student.

        Args:
            student: its variables are overwritten.
            teacher: stays as it is.
            distillation: which variables are compared, and how.
            quantization: round while training; the result holds integers.
            after_step: from the student to a function that is called after each step (masks).

        Returns:
            The trained model.
        """
        scope, feeds = student.scope, student.program.feeds
        train, startup = Program(), Program()
        with scope_guard(scope), program_guard(train, startup):
            tensors = record(student.program, train, train_statistics=quantization is None)
            results = [tensors[v].name for v in student.program.fetches]
            merge(teacher.program, train, {n: n for n in feeds}, None, scope, teacher.scope)
            total = _distillation_loss(train, distillation, results, [v.name for v in teacher.program.fetches])
            optimizer, schedule = self._optimizer()
            optimizer.minimize(total)
            executor = Executor()
            executor.run(startup)
            test, settings = student, None
            if quantization is not None:
                settings = quantization_settings(quantization)
                train = quant_aware(train, None, settings, scope)
                test = Model(quant_aware(student.program, None, settings, scope, for_test=True), scope)
                test.program.feeds, test.program.fetches = list(feeds), list(student.program.fetches)
            step = after_step(student) if after_step is not None else None
            self._loop(executor, train, total, schedule, test, step)
            if quantization is None:
                return student
            made = convert(test.program, None, settings, scope)
            made.feeds, made.fetches = list(feeds), list(student.program.fetches)
        return Model(made, scope)

    def _loop(
        self, executor: Any, train: Program, total: Any, schedule: Any, test: Model, step: Callable | None
    ) -> None:
        config, iteration, best = self.config, 0, None
        epochs = config.epochs if config.epochs is not None else 1 if config.train_iter is None else 10**9
        kept: dict[str, Any] = {}
        done = False
        for _ in range(epochs):
            before = iteration
            for batch in batches_of(self.loader, test.program.feeds):
                (loss,) = executor.run(train, feed=batch, fetch_list=[total])
                if not np.isfinite(loss).all():
                    raise errors.RuntimeError_(
                        f"AutoCompression: the loss is {float(np.mean(loss))} in iteration {iteration}; try a smaller "
                        "learning_rate"
                    )
                if step is not None:
                    step()
                if schedule is not None:
                    schedule.step()
                if self.callback is not None:
                    self.callback(iteration, float(np.mean(loss)))
                iteration += 1
                done = config.train_iter is not None and iteration >= config.train_iter
                if self.evaluate is not None and iteration % config.eval_iter == 0:
                    best, done = self._evaluated(test, best, kept, done)
                if done:
                    break
            if iteration == before:
                raise errors.ValueError_("AutoCompression: train_dataloader gives no batches")
            if done:
                break
        if self.evaluate is not None:
            self._evaluated(test, best, kept, done)
            for name, array in kept.items():
                test.scope.var(name).array = array

    def _evaluated(self, test: Model, best: float | None, kept: dict, done: bool) -> tuple[float, bool]:
        """(the best metric so far, whether it is enough); `kept` holds the variables that belong to it."""
        assert self.evaluate is not None
        metric = float(self.evaluate(test))
        if best is None or metric >= best:
            best = metric
            for name, state in test.program.states.items():
                kept[name] = np.array(test.scope.array_of(state))
        target = self.config.target_metric
        return best, done or target is not None and metric >= target


def _times(value: Any, factor: float) -> Any:
    return [v * factor for v in value] if isinstance(value, (list, tuple)) else value * factor


def _named(module: Any, name: Any, what: str) -> Any:
    """A class of a module by its name. ValueError when there is none."""
    found = getattr(module, name, None) if isinstance(name, str) and not name.startswith("_") else None
    if not isinstance(found, type):
        raise errors.ValueError_(f"AutoCompression: {what} must name a class of {module.__name__}, got {name!r}")
    return found


def quantization_settings(config: QuantAware) -> dict[str, Any]:
    """The settings of `quant_aware`; what belongs to a teacher is left alone."""
    if config.use_pact:
        raise errors.NotImplemented_("AutoCompression: use_pact of QuantAware")
    settings = {k: v for k, v in dataclasses.asdict(config).items() if k != "use_pact"}
    pattern = settings["not_quant_pattern"]
    settings["not_quant_pattern"] = [*([pattern] if isinstance(pattern, str) else pattern), "teacher_"]
    return settings


def _distillation_loss(program: Program, config: Distillation, own: list[str], theirs: list[str]) -> Any:
    """The weighted sum of losses between variables of student and teacher."""
    node = config.node
    groups = [list(zip(theirs, own))] if not node else None
    if groups is None:
        lists = node if isinstance(node[0], (list, tuple)) else [node]
        groups = [[(n, n) for n in names] for names in lists]
    kinds = list(config.loss) if isinstance(config.loss, (list, tuple)) else [config.loss] * len(groups)
    weights = list(config.alpha) if isinstance(config.alpha, (list, tuple)) else [config.alpha] * len(groups)
    if not len(kinds) == len(weights) == len(groups):
        raise errors.ValueError_(
            f"AutoCompression: Distillation has {len(groups)} lists of nodes, {len(kinds)} losses and {len(weights)} alphas"
        )
    known, total = tensors_of(program), None
    for pairs, kind, weight in zip(groups, kinds, weights):
        if kind not in LOSSES:
            raise errors.ValueError_(
                f"AutoCompression: loss of Distillation must be one of {', '.join(LOSSES)}, got {kind!r}"
            )
        for teacher, student in pairs:
            for name in ("teacher_" + teacher, student):
                if name not in known:
                    raise errors.ValueError_(
                        f"AutoCompression: Distillation names {name!r}, which the model does not have"
                    )
            a, b = known["teacher_" + teacher], known[student]
            if [int(d) for d in a.shape] != [int(d) for d in b.shape]:
                raise errors.ValueError_(
                    f"AutoCompression: node {student!r} of Distillation has shape {list(b.shape)} in the compressed model and "
                    f"{list(a.shape)} in the teacher"
                )
            part = LOSSES[kind](a, b) * weight
            total = part if total is None else total + part
    return total


# ---- sparsity while training ----


def unstructured(config: UnstructurePrune) -> Callable[[Model], Callable[[], None]]:
    """What keeps single weights at zero."""
    if config.prune_strategy not in (None, "base", "gmp"):
        raise errors.ValueError_(
            f"AutoCompression: prune_strategy must be 'base' or 'gmp', got {config.prune_strategy!r}"
        )
    common = {"prune_params_type": config.prune_params_type, "local_sparsity": config.local_sparsity}

    def start(model: Model) -> Callable[[], None]:
        if config.prune_strategy == "gmp":
            return GMPUnstructuredPruner(
                model.program, config.ratio, model.scope, configs=config.gmp_config, **common
            ).step
        pruner = UnstructuredPruner(
            model.program, config.prune_mode, config.ratio, config.threshold, model.scope, **common
        )
        pruner.step()
        return pruner.step

    return start


def two_in_four(names: Iterable[str] | None) -> Callable[[Model], Callable[[], None]]:
    """What keeps the pattern of two in four."""

    def start(model: Model) -> Callable[[], None]:
        found = {s.weight.name for s in sites(model.program)}
        unknown = [n for n in names or () if n not in found]
        if unknown:
            raise errors.ValueError_(f"AutoCompression: ASPPrune names {unknown[0]!r}, which is no weight of the model")
        masks = {}
        for name in names or sorted(found):
            array = np.asarray(model.scope.var(name).array)
            _, masks[name] = prune_by_inputs(array, 4, 2, MaskAlgo.MASK_1D, name)

        def apply() -> None:
            for name, mask in masks.items():
                variable = model.scope.var(name)
                variable.array = variable.array * np.asarray(mask, np.float32)

        apply()
        return apply

    return start


def evaluation(callback: Callable | None) -> Evaluate:
    """From the official signature (executor, program, names of inputs, results) to one of models."""
    if callback is None:
        return None

    def evaluate(model: Model) -> float:
        fetches = [_make(v) for v in model.program.fetches]
        with scope_guard(model.scope):
            metric = callback(Executor(), model.program, list(model.program.feeds), fetches)
        return float(metric[0] if isinstance(metric, (list, tuple)) else metric)

    return evaluate
