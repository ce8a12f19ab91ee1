"""Distillation between layers: losses on what layers of students and teachers take or give."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import paddle.nn.functional as F
from paddle import nn
from paddle.engine import errors
from paddle.engine.modes import no_grad
from paddle.nn.layer import Layer

from ..auto_compression.strategy_config import load_config
from ..dist import losses


def _cross_entropy(student: Any, teacher: Any) -> Any:
    if teacher.shape[-1] == student.shape[-1]:
        return losses.soft_label_loss(teacher, student)
    return F.cross_entropy(student, teacher)


def _mutual(student: Any, teacher: Any) -> Any:
    a, b = F.log_softmax(student), F.log_softmax(teacher)
    return (F.kl_div(a, b.exp(), reduction="batchmean") + F.kl_div(b, a.exp(), reduction="batchmean")) / 2


# By official name: (student, teacher) -> loss.
LOSSES: dict[str, Callable] = {
    "CELoss": _cross_entropy,
    "DMLLoss": _mutual,
    "KLLoss": lambda student, teacher: losses.kl_loss(teacher, student),
    "L1Loss": lambda student, teacher: losses.l1_loss(teacher, student),
    "MSELoss": lambda student, teacher: losses.l2_loss(teacher, student),
    "L2Loss": lambda student, teacher: losses.l2_loss(teacher, student),
    "SmoothL1Loss": lambda student, teacher: losses.smooth_l1_loss(teacher, student),
    "RKDLoss": lambda student, teacher: losses.relation_distances(teacher, student),
}


@dataclass
class Pair:
    """Two layers whose values are compared, an entry of `layers` with what the configuration says for all.

    Attributes:
        layers_name: the names of a layer of the student and one of the teacher, as `named_sublayers` gives them; "" is the
            network itself.
        loss_function: a key of LOSSES.
        model_name_pairs: such as [["student_0", "teacher_0"]].
        io: "output" or "input" of each.
        idx: which of several values, or None.
        weight: of the loss.
        temperature: by which both are divided.
        align_params: `align_type` ("1x1conv", "3x3conv", "1x1conv+bn", "3x3conv+bn", "linear"), `in_channel`,
            `out_channel`: a layer that learns to give the student's value the teacher's channels.
    """

    layers_name: list[str]
    loss_function: str
    model_name_pairs: list = field(default_factory=lambda: [["student_0", "teacher_0"]])
    io: Sequence[str] = ("output", "output")
    idx: Sequence[Any] = (None, None)
    weight: float = 1.0
    temperature: float = 1.0
    align_params: dict[str, Any] | None = None


class ShapeAlign(Layer):
    """Gives features other channels.

    Args:
        align_type: "1x1conv", "3x3conv", "1x1conv+bn", "3x3conv+bn" or "linear".
        in_channel, out_channel: numbers of channels.

    Raises:
        ValueError: another type.
    """

    def __init__(self, align_type: str, in_channel: int, out_channel: int):
        super().__init__()
        kind = align_type.lower()
        if kind not in ("1x1conv", "3x3conv", "1x1conv+bn", "3x3conv+bn", "linear"):
            raise errors.ValueError_(f"ShapeAlign: there is no align_type {align_type!r}")
        layers: list[Layer] = []
        if kind == "linear":
            layers.append(nn.Linear(in_channel, out_channel))
        else:
            size = int(kind[0])
            layers.append(nn.Conv2D(in_channel, out_channel, size, padding=size // 2))
            if kind.endswith("bn"):
                layers.append(nn.BatchNorm2D(out_channel))
        self.align_op = nn.Sequential(*layers)

    def forward(self, feat: Any) -> Any:
        """The features with `out_channel` channels."""
        return self.align_op(feat)


class Distill(Layer):
    """Students that learn from teachers: calling it runs both and gives the loss between their layers.

    Args:
        configs: a list of dicts, or the path of a YAML file with `DistillConfig`: each dict has `layers`, a list of dicts
            with the fields of `Pair`; other fields beside it hold for all of them.
        students: a Layer or a list; only they (and layers that align) learn.
        teachers: a Layer or a list; they run without gradients.
        convert_fn: accepted; only layers can be named.
        return_model_outputs: also give what students and teachers return.

    Raises:
        ValueError: an unknown layer, loss or field.

    Example:
        >>> from paddleslim.dygraph.distill import Distill
        >>> student, teacher = [paddle.nn.Sequential(paddle.nn.Linear(4, n), paddle.nn.Linear(n, 2)) for n in (3, 8)]
        >>> layers = [{"layers_name": ["1", "1"], "loss_function": "KLLoss"}]
        >>> loss, _, _ = Distill([{"layers": layers}], student, teacher)(paddle.ones([2, 4]))
        >>> loss.backward(); student[0].weight.grad is not None, teacher[0].weight.grad is None
        (True, True)
    """

    def __init__(
        self,
        configs: Any,
        students: Any,
        teachers: Any,
        convert_fn: bool = True,
        return_model_outputs: bool = True,
    ):
        super().__init__()
        self._students = nn.LayerList([students] if isinstance(students, Layer) else list(students))
        self.__dict__["_teachers"] = [teachers] if isinstance(teachers, Layer) else list(teachers)
        self._return_outputs = return_model_outputs
        self._pairs = _pairs_of(configs)
        self._seen: dict[tuple, Any] = {}
        self._align = nn.LayerList(
            [ShapeAlign(**{k: v for k, v in p.align_params.items() if k != "transpose_model"}) if p.align_params else nn.Identity()
             for p in self._pairs]
        )  # fmt: skip
        for pair in self._pairs:
            for models in pair.model_name_pairs:
                for model, layer, io in zip(models, pair.layers_name, pair.io):
                    self._watch(model, layer, io)

    def _model(self, name: str) -> Layer:
        kind, _, number = str(name).rpartition("_")
        models = {"student": self._students, "teacher": self.__dict__["_teachers"]}.get(kind)
        if models is None or not number.isdigit() or int(number) >= len(models):
            raise errors.ValueError_(f"Distill: there is no model {name!r}; they are student_0, teacher_0, ...")
        return models[int(number)]

    def _watch(self, model: str, name: str, io: str) -> None:
        if io not in ("input", "output"):
            raise errors.ValueError_(f"Distill: io must be 'input' or 'output', got {io!r}")
        layers = dict(self._model(model).named_sublayers(include_self=True))
        if name not in layers:
            raise errors.ValueError_(
                f"Distill: {model} has no layer {name!r}; it has {', '.join(list(layers)[1:9])}, ..."
            )
        key = (model, name, io)
        if key in self._seen:
            return
        self._seen[key] = None

        def keep(layer: Layer, inputs: Any, output: Any) -> None:
            self._seen[key] = inputs if io == "input" else output

        layers[name].register_forward_post_hook(keep)

    def _value(self, pair: Pair, side: int, model: str) -> Any:
        found = self._seen[model, pair.layers_name[side], pair.io[side]]
        if found is None:
            raise errors.RuntimeError_(f"Distill: layer {pair.layers_name[side]!r} of {model} did not run")
        if pair.idx[side] is not None:
            return found[int(pair.idx[side])]
        if isinstance(found, (list, tuple)):
            if len(found) != 1:
                raise errors.ValueError_(
                    f"Distill: {pair.layers_name[side]!r} of {model} has {len(found)} values; give idx"
                )
            return found[0]
        return found

    def parameters(self, include_sublayers: bool = True) -> list:
        """Those of the students and of the layers that align."""
        return [*self._students.parameters(), *self._align.parameters()]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run all networks.

        Returns:
            The loss, or (loss, results of the students, results of the teachers).
        """
        own = [m(*inputs, **kwargs) for m in self._students]
        with no_grad():
            theirs = [m(*inputs, **kwargs) for m in self.__dict__["_teachers"]]
        total: Any = 0.0
        for pair, align in zip(self._pairs, self._align):
            for first, second in pair.model_name_pairs:
                student, teacher = self._value(pair, 0, first), self._value(pair, 1, second)
                if (pair.align_params or {}).get("transpose_model", "student") == "student":
                    student = align(student)
                else:
                    teacher = align(teacher)
                loss = LOSSES[pair.loss_function](student / pair.temperature, teacher / pair.temperature)
                total = total + loss * pair.weight
        for key in self._seen:
            self._seen[key] = None
        if not self._return_outputs:
            return total
        return total, own[0] if len(own) == 1 else own, theirs[0] if len(theirs) == 1 else theirs


def _pairs_of(configs: Any) -> list[Pair]:
    if isinstance(configs, (str, os.PathLike)):
        configs = load_config(os.fspath(configs)).get("DistillConfig")
    if not isinstance(configs, (list, tuple)) or not all(isinstance(c, dict) and "layers" in c for c in configs):
        raise errors.ValueError_(f"Distill: configs must be a list of dicts with 'layers', got {configs!r}")
    known, found = [f.name for f in dataclasses.fields(Pair)], []
    for config in configs:
        common = {k: v for k, v in config.items() if k != "layers"}
        for layer in config["layers"]:
            fields = {**common, **layer}
            unknown = [k for k in fields if k not in known]
            if unknown:
                raise errors.ValueError_(f"Distill: there is no field {unknown[0]!r}; there are {', '.join(known)}")
            for needed in ("layers_name", "loss_function"):
                if needed not in fields:
                    raise errors.ValueError_(f"Distill: an entry of 'layers' lacks {needed!r}")
            if fields["loss_function"] not in LOSSES:
                raise errors.ValueError_(
                    f"Distill: loss_function must be one of {', '.join(LOSSES)}, got {fields['loss_function']!r}"
                )
            pairs = fields.get("model_name_pairs")
            if pairs and isinstance(pairs[0], str):
                fields["model_name_pairs"] = [pairs]
            found.append(Pair(**fields))
    return found
