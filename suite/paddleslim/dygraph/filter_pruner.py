"""Pruning of channels of layers, in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from paddle.engine import errors
from paddle.nn.layer import Layer

from ..analysis.counting import flops
from ..criteria import criterion_of
from ..sensitivities import RATIOS, Sensitivities, get_ratios_by_loss, load_sensitivities, measure, searched
from ..structure import Group, Removal, Structure
from ..structure.layers import specs_of, structure_of
from ..structure.plan import chosen, ratio_of

_APPLIED = ("impretive", "imperative", "lazy", None)  # the first is the official spelling


class PruningPlan:
    """What is to be removed from a layer.

    Attributes:
        masks: for each parameter, {axis: bool array of what stays}.
        pruned_flops: the share of operations that goes, once it is applied.
    """

    def __init__(self, pruner: FilterPruner, structure: Structure, units: Iterable[int]):
        self._pruner, self._structure = pruner, structure
        self.units = sorted(set(units))
        self.kept = structure.keep(self.units)
        self.pruned_flops: float | None = None
        self._removal: Removal | None = None
        self._masked: list[tuple[Any, np.ndarray]] = []

    @property
    def masks(self) -> dict[str, dict[int, np.ndarray]]:
        found: dict[str, dict[int, np.ndarray]] = {}
        for (name, axis), left in self.kept.items():
            mask = np.zeros(self._structure.graph.states[name].value.shape[axis], bool)
            mask[left] = True
            found.setdefault(name, {})[axis] = mask
        return found

    def contains(self, var_name: str, dims: int | None = None) -> bool:
        """Whether a parameter (along an axis) becomes smaller."""
        return any(n == var_name and dims in (None, a) for n, a in self.kept)

    def apply(self, model: Layer | None = None, lazy: bool = False, opt: Any = None, prune_type: str = "conv") -> None:
        """Remove the channels; with `lazy`, set their weights to zero only.

        Args:
            model: the layer of the pruner; others raise ValueError.
            lazy: only set to zero.
            opt: an optimizer whose states become smaller as well.
            prune_type: accepted.
        """
        self._own(model)
        self.restore()
        if lazy:
            for name, masks in self.masks.items():
                tensor = self._structure.graph.states[name].tensor
                assert tensor is not None
                array = tensor.numpy()
                self._masked.append((tensor, array))
                for axis, mask in masks.items():
                    array = array * mask.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
                tensor.set_value(array.astype(self._masked[-1][1].dtype))
        else:
            optimizers = [o for o in (opt if opt is not None else self._pruner.opt,) if o is not None]
            self._removal = Removal(self._pruner.model, self._structure, self.units, self._pruner.specs, optimizers)

    def restore(self, model: Layer | None = None, opt: Any = None) -> None:
        """Make the layer what it was before `apply`."""
        self._own(model)
        for tensor, array in self._masked:
            tensor.set_value(array)
        self._masked = []
        if self._removal is not None:
            self._removal.restore()
            self._removal = None

    def _own(self, model: Layer | None) -> None:
        if model is not None and model is not self._pruner.model:
            raise errors.ValueError_("PruningPlan: the plan was made for another model")

    def __str__(self) -> str:
        lines = [f"{n}, axis {a}: {len(left)} of {self._structure.graph.states[n].value.shape[a]} stay"
                 for (n, a), left in self.kept.items()]  # fmt: skip
        return "\n".join(lines)


class FilterPruner:
    """Prunes channels of a layer with everything that depends on them: the program that the layer records tells what that is.
    `L1NormFilterPruner`, `L2NormFilterPruner` and `FPGMFilterPruner` choose what matters least.

    Args:
        model: a Layer, changed in place.
        inputs: the shape of its input, or a list of shapes, tensors or InputSpecs; the first length counts as it is given.
        sen_file: sensitivities that were written before.
        opt: an optimizer whose states become smaller as well.
        skip_leaves: keep the channels of what the network returns.
        prune_type: "conv" or "fc": which weights `sensitive` tries.
        num_head: accepted; the heads of attention are found.
        input_dtype: of inputs that are given as shapes.

    Raises:
        TypeError: no Layer, inputs of another kind.
        ValueError: another prune_type.

    Example:
        >>> from paddleslim.dygraph import L1NormFilterPruner
        >>> net = paddle.nn.Sequential(paddle.nn.Conv2D(1, 8, 3), paddle.nn.ReLU(), paddle.nn.Conv2D(8, 4, 3))
        >>> pruner = L1NormFilterPruner(net, [1, 1, 8, 8])
        >>> plan = pruner.prune_vars({net[0].weight.name: 0.25}, axis=0)
        >>> net[0].weight.shape, net[2].weight.shape
        ([6, 1, 3, 3], [4, 6, 3, 3])
        >>> plan.restore(net); net[0].weight.shape
        [8, 1, 3, 3]
    """

    criterion: str | Callable = "l1_norm"

    def __init__(
        self,
        model: Layer,
        inputs: Any,
        sen_file: str | None = None,
        opt: Any = None,
        skip_leaves: bool = True,
        prune_type: str = "conv",
        num_head: int = -1,
        input_dtype: str = "float32",
    ):
        if prune_type not in ("conv", "fc"):
            raise errors.ValueError_(f"{type(self).__name__}: prune_type must be 'conv' or 'fc', got {prune_type!r}")
        if not isinstance(model, Layer):
            raise errors.TypeError_(f"{type(self).__name__}: model must be a Layer, got {errors.describe(model)}")
        self.model, self.inputs, self.opt = model, inputs, opt
        self.skip_leaves, self.prune_type = skip_leaves, prune_type
        self.specs = specs_of(inputs, input_dtype, type(self).__name__)
        self.plan: PruningPlan | None = None
        self._sensitivities = load_sensitivities(sen_file)
        self._known: tuple[tuple, Structure] | None = None

    @property
    def structure(self) -> Structure:
        """The dependencies of the channels as the layer is now."""
        shapes = tuple(tuple(p.shape) for p in self.model.parameters())
        if self._known is None or self._known[0] != shapes:
            self._known = shapes, structure_of(self.model, self.specs, self.skip_leaves)
        return self._known[1]

    @property
    def groups(self) -> list[Group]:
        """The weights with channels, those that depend on each other together, and why some cannot be pruned."""
        return self.structure.groups()

    def cal_mask(self, pruned_ratio: float, name: str, axis: int = 0) -> np.ndarray:
        """Which channels of a weight would stay, a bool array."""
        structure = self.structure
        gone = self._chosen(structure, name, axis, pruned_ratio)
        return ~np.isin(structure.ids(name, axis), gone)

    def _chosen(self, structure: Structure, name: str, axis: int, ratio: float) -> list[int]:
        function = "prune_var"
        structure.ids(name, axis, function)
        tensor = structure.graph.states[name].tensor
        assert tensor is not None
        scores = criterion_of(self.criterion, function)(tensor.numpy(), axis)
        return chosen(structure, name, axis, ratio, scores, function)

    def prune_var(
        self, var_name: str, pruned_axis: Any, pruned_ratio: float, apply: str | None = "impretive"
    ) -> PruningPlan:
        """Prune one parameter; see `prune_vars`."""
        return self.prune_vars({var_name: pruned_ratio}, pruned_axis, apply)

    def prune_vars(self, ratios: dict[str, float], axis: Any, apply: str | None = "impretive") -> PruningPlan:
        """Prune parameters.

        Args:
            ratios: the share of channels that goes, by the names of parameters. Where two depend on each other, the one
                that comes first decides.
            axis: 0 for the outputs of a convolution, 1 for those of a linear layer.
            apply: "impretive" removes now, "lazy" sets to zero, None only plans.

        Raises:
            ValueError: an unknown name or axis, a ratio outside of [0, 1), channels that cannot be removed (with the
                reason), code that counts with fixed numbers of channels. The layer stays as it was.
        """
        if apply not in _APPLIED:
            raise errors.ValueError_(f"prune_vars: apply must be 'impretive', 'lazy' or None, got {apply!r}")
        if not isinstance(ratios, dict):
            raise errors.TypeError_(f"prune_vars: ratios must be a dict, got {errors.describe(ratios)}")
        axis = axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
        if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
            raise errors.TypeError_(f"prune_vars: axis must be an int, got {errors.describe(axis)}")
        axis = int(axis)
        structure, units = self.structure, []
        decided: set[int] = set()
        for name, ratio in ratios.items():
            ratio_of("prune_vars", ratio)
            own = set(structure.ids(name, axis, "prune_vars").tolist())
            if ratio > 0 and not own <= decided:
                units += self._chosen(structure, name, axis, ratio)
            decided |= own
        plan = PruningPlan(self, structure, structure.spared(units))
        if apply == "lazy":
            plan.apply(lazy=True)
        elif apply is not None:
            plan.apply()
        self.plan = plan
        return plan

    def restore(self) -> None:
        """Undo the last plan."""
        if self.plan is not None:
            self.plan.restore()

    # ---- sensitivity ----
    def _targets(self) -> list[tuple[str, int]]:
        wanted = (lambda n: n == 2) if self.prune_type == "fc" else (lambda n: n > 2)
        states = self.structure.graph.states
        return [(g.name, g.axis) for g in self.groups if g.reason is None and wanted(states[g.name].value.ndim)]

    def sensitive(
        self,
        eval_func: Callable[[], float] | None = None,
        sen_file: str | None = None,
        target_vars: Sequence[str] | None = None,
        skip_vars: Sequence[str] = (),
    ) -> Sensitivities:
        """How far a metric falls when each group of channels is pruned alone by 0.1, 0.2, ... 0.9. Without arguments what was
        measured before.

        Args:
            eval_func: a function without arguments that gives the metric of the layer.
            sen_file: where results are written (JSON) and taken from.
            target_vars: names of weights; default: all that can be pruned.
            skip_vars: names that are left out.
        """
        if eval_func is None and sen_file is None:
            return self._sensitivities
        if eval_func is None:
            self._sensitivities = load_sensitivities(sen_file)
            return self._sensitivities
        axes = {n: a for n, a in self._targets() if (target_vars is None or n in target_vars) and n not in skip_vars}

        def pruned_metric(name: str, ratio: float) -> float:
            plan = self.prune_var(name, axes[name], ratio)
            try:
                return eval_func()
            finally:
                plan.restore()

        self._sensitivities = measure(axes, RATIOS, pruned_metric, eval_func, sen_file)
        return self._sensitivities

    def get_ratios_by_sensitivity(
        self, pruned_flops: float, align: int | None = None, dims: int = 0, skip_vars: Sequence[str] = ()
    ) -> tuple[dict[str, float], float]:
        """(ratios, share): ratios for equal losses that together take away a share of the operations.

        Args:
            pruned_flops: the share, in (0, 1).
            align: numbers of channels become multiples of it.
            dims: the axis.
            skip_vars: names that are left out.

        Raises:
            ValueError: nothing was measured yet, a share outside of (0, 1).
        """
        if not self._sensitivities:
            raise errors.ValueError_("get_ratios_by_sensitivity: call sensitive() first")
        if not 0 < pruned_flops < 1:
            raise errors.ValueError_(
                f"get_ratios_by_sensitivity: pruned_flops must lie in (0, 1), got {pruned_flops!r}"
            )
        known = {n: x for n, x in self._sensitivities.items() if n not in skip_vars}
        base, states = flops(self.model, self.specs), self.structure.graph.states

        def ratios_of(loss: float) -> dict[str, float]:
            ratios = get_ratios_by_loss(known, loss)
            for name in ratios if align else ():
                length = states[name].value.shape[dims]
                left = max(align, round((1 - ratios[name]) * length / align) * align)  # type: ignore[operator,type-var]
                ratios[name] = max(0.0, (length - left) / length)
            return {n: min(r, 0.99) for n, r in ratios.items()}

        def share_of(ratios: dict) -> float:
            plan = self.prune_vars(ratios, dims)
            try:
                return 1 - flops(self.model, self.specs) / base
            finally:
                plan.restore()

        return searched(ratios_of, share_of, pruned_flops)

    def sensitive_prune(
        self, pruned_flops: float, skip_vars: Sequence[str] = (), align: int | None = None
    ) -> PruningPlan:
        """Prune a share of the operations where it costs least; `sensitive` has to be called before."""
        self.restore()
        dims = 1 if self.prune_type == "fc" else 0
        ratios, share = self.get_ratios_by_sensitivity(pruned_flops, align, dims, skip_vars)
        plan = self.prune_vars(ratios, dims)
        plan.pruned_flops = share
        return plan


class L1NormFilterPruner(FilterPruner):
    """Removes the channels whose weights have the smallest sum of magnitudes; see `FilterPruner`."""

    criterion = "l1_norm"


class L2NormFilterPruner(FilterPruner):
    """Removes the channels whose weights have the smallest Euclidean length; see `FilterPruner`."""

    criterion = "l2_norm"


class FPGMFilterPruner(FilterPruner):
    """Removes the channels whose weights are nearest to all others; see `FilterPruner`."""

    criterion = "geometry_median"
