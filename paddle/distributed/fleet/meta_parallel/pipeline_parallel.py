"""Training of a net whose layers are divided over stages, one process (or several copies) each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ....amp import auto_cast
from ....engine import errors
from ....engine.modes import modes, set_mode
from ....engine.tensor import Tensor
from ...reducer import MEGABYTE, Reducer
from ..meta_optimizers.dygraph_optimizer.hybrid_parallel_gradscaler import share_overflow
from ..utils.hybrid_parallel_util import (
    broadcast_dp_parameters,
    broadcast_mp_parameters,
    broadcast_sep_parameters,
    broadcast_sharding_parameters,
    fused_allreduce_gradients,
)
from .meta_parallel_base import MetaParallelBase
from .parallel_layers.pp_layers import PipelineLayer
from .pp_utils import schedules
from .pp_utils.hooks import (
    PipelineHook,
    PipelineParallelMicroStepLocations,
    pipeline_parallel_callbacks_,
    register_global_pipeline_parallel_hook,  # noqa: F401  (the official place)
)
from .pp_utils.micro_batches import MicroBatches, PipelineDatasetPreprocessor  # noqa: F401
from .pp_utils.p2p_communication import Transfers, transfers_of
from .pp_utils.run import BatchRun
from .pp_utils.schedules import Step

__all__: list[str] = []

_NOT_BUILT = """enable_timer profiling enable_offload_queue forward_backward_overlap_scheduler
sharding_comm_overlap""".split()


class _MicroBatchTraining(MetaParallelBase):
    """What training in micro-batches is, with one stage or with several."""

    def __init__(self, layers: PipelineLayer, hcg: Any, strategy: Any):
        who = type(self).__name__
        if not isinstance(layers, PipelineLayer):
            raise errors.TypeError_(f"{who}: layers must be a PipelineLayer, got {errors.describe(layers)}")
        configs, own = strategy.pipeline_configs, strategy.hybrid_configs["pp_configs"]
        self.micro_batch_size, self.accumulate_steps = configs["micro_batch_size"], configs["accumulate_steps"]
        for name in ("micro_batch_size", "accumulate_steps"):
            number = configs[name]
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise errors.ValueError_(f"pipeline_configs: {name} must be a positive int, got {number!r}")
        asked = [name for name in _NOT_BUILT if own.get(name)]
        if asked:
            raise errors.NotImplemented_(f"{who}: pp_configs with {', '.join(asked)}")
        super().__init__(layers, hcg, strategy)
        self._delay_scale_loss = bool(own.get("delay_scale_loss"))
        self._release_gradients = bool(own.get("release_gradients"))
        self._clear_every_step_cache = bool(own.get("clear_every_step_cache"))
        self._dp_comm_overlap = bool(own.get("dp_comm_overlap"))
        self.num_stages, self.stage_id = layers._num_stages, layers._stage_id
        self.global_rank = layers.global_rank
        self.loss_fn_idx = 0
        self.processed_steps = 0
        self.user_hooks_enabled = True
        self._virtual_pp_rank = 0  # the part that is at work
        self.callbacks = pipeline_parallel_callbacks_
        self.most_live_micro_batches = (
            0  # of the last batch: between its forward and its backward, counted for each part
        )
        self._transfers: Transfers | None = None
        self._reducers: list[Reducer] = []
        self._init_user_hooks()

    def _prepare_for_model(self) -> None:
        """Copies of a stage begin with the values of the first one."""
        groups = self._hcg
        if groups is None:
            return
        for size, spread in (
            (groups.get_model_parallel_world_size(), broadcast_mp_parameters),
            (groups.get_sep_parallel_world_size(), broadcast_sep_parameters),
            (groups.get_sharding_parallel_world_size(), broadcast_sharding_parameters),
            (groups.get_data_parallel_world_size(), broadcast_dp_parameters),
        ):
            if size > 1:
                spread(self._layers, groups)

    # ---- hooks ----
    def _init_user_hooks(self) -> None:
        places = self.accumulate_steps * self._layers.get_num_virtual_stages()
        self.forward_hooks, self.backward_hooks = PipelineHook(), PipelineHook()
        for hooks in (self.forward_hooks, self.backward_hooks):
            hooks.set_hooks_capacity(places)
        self.bubble_hooks: PipelineHook | None = None

    # ---- a batch ----
    def _order(self) -> list[Step]:
        """The order of work of this stage."""
        return schedules.one_f_one_b(0, 1, self.accumulate_steps)

    @contextlib.contextmanager
    def _together(self) -> Iterator[None]:
        """A batch in all stages: where one fails, all do."""
        transfers = self._transfers
        if transfers is not None:
            transfers.begin()
        try:
            yield
            if transfers is not None:
                transfers.finish()
                if self._clear_every_step_cache:
                    transfers.forget()
        except Exception as error:
            if transfers is not None:
                transfers.fail(error, self._layers.get_num_virtual_stages())
            raise
        self.processed_steps += 1

    def _batches(self, data: Any, function: str) -> MicroBatches | None:
        places = self._layers._places
        inputs, labels = (places.owner(part)[0] == self.stage_id for part in (0, places.parts - 1))
        if not inputs and not labels:
            return None
        if data is None:
            raise errors.ValueError_(f"{function}: the first and the last stage need data, got None")
        return MicroBatches(data, inputs, labels, self.accumulate_steps, self.micro_batch_size, function)

    def _forward_backward(self, data: Any, scaler: Any, each: bool) -> Any:
        order = self._order()
        split = any(step.kind == "W" for step in order)
        batches = self._batches(data, "train_batch")
        run = BatchRun(self, batches, self._transfers, True, True, scaler, split)
        self._steps(order, run)
        self.most_live_micro_batches = run.peak
        self._layers.allreduce_shared_weight_gradients()
        return run.loss(each)

    def _forward_only(self, data: Any, compute_loss: bool) -> Any:
        run = BatchRun(self, self._batches(data, "eval_batch"), self._transfers, False, compute_loss)
        with set_mode(grad=False):
            for step in self._order():
                if step.kind == "F":
                    self._virtual_pp_rank = step.chunk
                    run(step)
        return run.loss(False) if compute_loss else run.outputs

    def _steps(self, order: list[Step], run: BatchRun) -> None:
        for hooks in (self.forward_hooks, self.backward_hooks, self.bubble_hooks):
            if hooks is not None:
                hooks.reset_current_id()
        finals = {step.chunk: i for i, step in enumerate(order) if step.kind != "F"}
        first_backward = next(i for i, step in enumerate(order) if step.kind == "B")
        last_forward = max(i for i, step in enumerate(order) if step.kind == "F")
        before, between = self.stage_id, self.num_stages - self.stage_id - 1
        self._bubbles(before)
        for i, step in enumerate(order):
            self._virtual_pp_rank = step.chunk
            if step.kind == "F":
                self.forward_hooks.run_hook()
            elif step.kind == "B":
                if i == first_backward:
                    self._bubbles(between)
                self.backward_hooks.run_hook()
            with self._averaging(step.chunk, i == finals[step.chunk]):
                run(step)
            if i == last_forward + 1:  # a backward
                self._bubbles(between)
        self._bubbles(before)

    def _bubbles(self, number: int) -> None:
        for _ in range(number if self.bubble_hooks is not None else 0):
            self.bubble_hooks.run_hook()  # type: ignore[union-attr]

    @contextlib.contextmanager
    def _averaging(self, chunk: int, final: bool) -> Iterator[None]:
        """With `dp_comm_overlap` the last backward of a part averages the gradients over the copies while it goes on."""
        if not (final and self._reducers):
            yield
            return
        reducer = self._reducers[chunk]
        reducer.enabled = True
        try:
            yield
        finally:
            reducer.enabled = False

    def _checked_loss(self, loss_fn_idx: int, function: str) -> None:
        functions = self._layers._loss_fn
        if isinstance(loss_fn_idx, bool) or not isinstance(loss_fn_idx, int) or not 0 <= loss_fn_idx < len(functions):
            raise errors.ValueError_(
                f"{function}: loss_fn_idx must be from 0 to {len(functions) - 1}, the loss functions of the PipelineLayer, "
                f"got {loss_fn_idx!r}"
            )
        if functions[loss_fn_idx] is None:
            raise errors.ValueError_(f"{function}: the PipelineLayer has no loss_fn")
        self.loss_fn_idx = loss_fn_idx

    def _prepare_training(self, data: Any, optimizer: Any, lr_scheduler: Any) -> Any:
        if not modes.grad:
            raise errors.RuntimeError_("train_batch: gradients are switched off (paddle.no_grad)")
        if not callable(getattr(optimizer, "step", None)) or not callable(getattr(optimizer, "clear_grad", None)):
            raise errors.TypeError_(f"train_batch: optimizer must be an Optimizer, got {errors.describe(optimizer)}")
        self.optimizer, self.lr_scheduler = optimizer, lr_scheduler
        self._layers.train()
        return data

    @errors.clean
    def train_batch(
        self,
        data: Any,
        optimizer: Any,
        lr_scheduler: Any = None,
        scaler: Any = None,
        loss_fn_idx: int = 0,
        return_micro_batch_loss: bool = False,
    ) -> Any:
        """Train with a batch: forward and backward of all micro-batches, the optimizer's step, the gradients cleared.

        All processes call it. Gradients are those of the mean of the losses of the micro-batches.

        Args:
            data: (inputs, labels), tensors of accumulate_steps x micro_batch_size rows, or tuples, dicts or lists of such
                (a list has one entry for each micro-batch), or an iterator over pairs of micro-batches. The first stage
                uses the inputs, the last one the labels; others may pass None.
            optimizer: of `fleet.distributed_optimizer`.
            lr_scheduler: makes a step, too.
            scaler: a GradScaler; an infinity in any process leaves the step out in all of them.
            loss_fn_idx: the number of the loss function to train with, where there are several.
            return_micro_batch_loss: return the losses of the micro-batches, [accumulate_steps], each divided by their
                number (unless `delay_scale_loss` is set).

        Returns:
            In all stages: the mean of the losses, or a list of them where there are several loss functions.

        Raises:
            ValueError: the rows are not accumulate_steps x micro_batch_size, no such loss function.
            RuntimeError: another stage failed; the message says which and why.

        Example:
            >>> loss = model.train_batch([x, y], optimizer)  # doctest: +SKIP
        """
        with self._together():
            data = self._prepare_training(data, optimizer, lr_scheduler)
            self._checked_loss(loss_fn_idx, "train_batch")
            loss = self._forward_backward(data, scaler, return_micro_batch_loss)
        with auto_cast(enable=False):
            self._optimizer_step(scaler)
        return loss

    def _optimizer_step(self, scaler: Any) -> None:
        optimizer = self.optimizer
        if self._delay_scale_loss and self.accumulate_steps > 1:
            with set_mode(grad=False):
                for param in self._layers.parameters():
                    if param.grad is not None:
                        param.grad.scale_(1 / self.accumulate_steps)
        groups = self._hcg
        copies = groups is not None and groups.get_data_parallel_world_size() > 1
        if copies and not self._reducers and not getattr(optimizer, "_dp_enable", False):
            fused_allreduce_gradients(list(self._layers.parameters()), groups)
        if scaler is not None:
            if groups is not None and groups.nranks > 1 and "_agreed" not in vars(scaler):
                share_overflow(scaler)
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        if self._release_gradients:
            optimizer.clear_grad(set_to_zero=False)
        else:
            optimizer.clear_grad()
        if self.lr_scheduler is not None:
            self.lr_scheduler.step()

    @errors.clean
    def eval_batch(
        self, data: Any, compute_loss: bool = False, loss_fn_idx: int = 0, return_host_tensor: bool = False
    ) -> Any:
        """The forward of a batch, without gradients, in the mode of evaluation. All processes call it.

        Args:
            data: as in `train_batch`.
            compute_loss: return the loss.
            loss_fn_idx: as in `train_batch`.
            return_host_tensor: put the result into the memory of the CPU.

        Returns:
            With `compute_loss`, in all stages: the mean of the losses, a list of them where there are several loss
            functions. Otherwise in the last stage: the list of the outputs for the micro-batches; in others [].
        """
        self.user_hooks_enabled = False
        with self._together():
            self._layers.eval()
            if compute_loss:
                self._checked_loss(loss_fn_idx, "eval_batch")
            result = self._forward_only(data, compute_loss)
        return _on_host(result) if return_host_tensor else result


def _on_host(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.cpu()
    if isinstance(value, dict):
        return {key: _on_host(v) for key, v in value.items()}
    return type(value)(_on_host(v) for v in value) if isinstance(value, (list, tuple)) else value


class NoPipelineParallel(_MicroBatchTraining):
    """A PipelineLayer of one stage, trained in micro-batches as one of several.

    Args:
        layers: the PipelineLayer.
        strategy: the DistributedStrategy, with `pipeline_configs`.
        hcg: the HybridCommunicateGroup, None for one process.

    Raises:
        ValueError: the layer has several stages.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import LayerDesc, NoPipelineParallel, PipelineLayer
        >>> strategy = paddle.distributed.fleet.DistributedStrategy()
        >>> strategy.pipeline_configs = {"accumulate_steps": 2, "micro_batch_size": 3}
        >>> net = PipelineLayer([LayerDesc(paddle.nn.Linear, 4, 2)], num_stages=1, loss_fn=paddle.nn.MSELoss())
        >>> model = NoPipelineParallel(net, strategy)
        >>> optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
        >>> model.train_batch([paddle.ones([6, 4]), paddle.ones([6, 2])], optimizer).shape
        []
    """

    def __init__(self, layers: PipelineLayer, strategy: Any, hcg: Any = None):
        super().__init__(layers, hcg, strategy)
        if layers._num_stages != 1:
            raise errors.ValueError_(f"NoPipelineParallel: the layer has {layers._num_stages} stages")

    def is_pipeline_last_stage(self, ignore_virtual: bool = False) -> bool:
        """True."""
        return True

    def forward_backward_pipeline(self, data: Any, scaler: Any = None, return_micro_batch_loss: bool = False) -> Any:
        """Forward and backward of a batch, which add to the gradients; returns the loss, see `train_batch`."""
        with self._together():
            return self._forward_backward(data, scaler, return_micro_batch_loss)


class PipelineParallel(_MicroBatchTraining):
    """A PipelineLayer whose stages are in different processes; `fleet.distributed_model` makes it.

    The orders of `schedule_mode` in `pipeline_configs`: "1F1B" (default), "FThenB" and "ZBH1" (zero bubble). Stage s of n
    keeps at most n - s micro-batches in 1F1B, n in ZBH1 and all in FThenB. Copies of a stage (data parallelism) average
    their gradients in the optimizer's step, or with `dp_comm_overlap` of `pp_configs` during the last backward.

    Args:
        layers: the PipelineLayer.
        hcg: the HybridCommunicateGroup.
        strategy: the DistributedStrategy.

    Raises:
        TypeError: another Layer.
        ValueError: the layer has another number of stages than `hcg`, or settings that do not exist.
    """

    _modes: tuple[str, ...] = ("1F1B", "FThenB", "F-then-B", "ZBH1")
    _several = _vee = False  # whether it wants stages of several parts, and in a V
    _virtual_pp_world_size: int | None = None

    def __init__(self, layers: PipelineLayer, hcg: Any, strategy: Any):
        super().__init__(layers, hcg, strategy)
        if (layers.get_num_virtual_stages() > 1, layers._use_dualpipev) != (self._several, self._vee):
            raise errors.ValueError_(
                f"{type(self).__name__}: this order of work does not fit the PipelineLayer, which has "
                f"num_virtual_pipeline_stages={layers._num_virtual_pipeline_stages}, use_dualpipev={layers._use_dualpipev}"
            )
        stages = hcg.get_pipe_parallel_world_size()
        if self.num_stages != stages or self.stage_id != hcg.get_stage_id():
            raise errors.ValueError_(
                f"{type(self).__name__}: the PipelineLayer was made for stage {self.stage_id} of {self.num_stages}, this "
                f"process is stage {hcg.get_stage_id()} of {stages}; give num_stages={stages} or the topology of fleet"
            )
        self._schedule_mode = schedules.named(
            strategy.pipeline_configs["schedule_mode"], layers.get_num_virtual_stages(), type(self)._modes
        )
        self.pp_group, self.dp_group = hcg.get_pipe_parallel_group(), hcg.get_data_parallel_group()
        self.use_data_parallel = hcg.get_data_parallel_world_size() > 1
        self.use_model_parallel = hcg.get_model_parallel_world_size() > 1
        self.use_sep_parallel = hcg.get_sep_parallel_world_size() > 1
        self.use_sharding_parallel = hcg.get_sharding_parallel_world_size() > 1
        if stages > 1:
            self._transfers = transfers_of(self.pp_group)
            self._transfers.cache = bool(strategy.pipeline_configs["p2p_cache_shape"])
        if self._dp_comm_overlap and self.use_data_parallel:
            for chunk in layers.get_model_chunks() or [layers]:
                params = [p for p in chunk.parameters() if not p.stop_gradient]
                reducer = Reducer(params, [], self.dp_group, (25 * MEGABYTE, MEGABYTE))
                reducer.enabled = False
                self._reducers.append(reducer)

    def _order(self) -> list[Step]:
        return schedules.SCHEDULES[self._schedule_mode](self.stage_id, self.num_stages, self.accumulate_steps)

    # ---- who is who ----
    def is_pipeline_first_stage(self, ignore_virtual: bool = False) -> bool:
        """Whether this is the first stage (and, unless `ignore_virtual`, its first part is at work)."""
        return self.stage_id == 0 and (ignore_virtual or not self._virtual_pp_rank)

    def is_pipeline_last_stage(self, ignore_virtual: bool = False) -> bool:
        """Whether this is the last stage (and, unless `ignore_virtual`, its last part is at work)."""
        part = self._virtual_pp_world_size is None or self._virtual_pp_rank == self._virtual_pp_world_size - 1
        return self.stage_id == self.num_stages - 1 and (ignore_virtual or part)

    def set_virtual_pipeline_rank(self, rank: int) -> None:
        """Say which part of the stage is at work."""
        self._virtual_pp_rank = rank

    # ---- hooks ----
    def register_hook(self, location: PipelineParallelMicroStepLocations, hook: Callable) -> None:
        """See `register_global_pipeline_parallel_hook`."""
        self.callbacks.register_hook(location, hook)

    def register_forward_pipeline_parallel_hook(self, location: int, hook: Callable) -> None:
        """Call hook(location) before the forward number `location` of every training batch."""
        self.forward_hooks.register_hook(location, hook)

    def register_backward_pipeline_parallel_hook(self, location: int, hook: Callable) -> None:
        """Call hook(location) before the backward number `location` of every training batch."""
        self.backward_hooks.register_hook(location, hook)

    def register_bubble_pipeline_parallel_hook(self, location: int, hook: Callable) -> None:
        """Call hook(location) in the idle time number `location`. ValueError where the schedule has none to offer."""
        if self.bubble_hooks is None:
            raise errors.ValueError_(
                "register_bubble_pipeline_parallel_hook: only for PipelineParallelWithInterleave and "
                "VPPFhenBInBalancedMemory"
            )
        self.bubble_hooks.register_hook(location, hook)

    @property
    def forward_pipeline_parallel_hook_capacity(self) -> int:
        """How many forwards a batch has."""
        return self.forward_hooks.hooks_capacity

    @property
    def backward_pipeline_parallel_hook_capacity(self) -> int:
        """How many backwards a batch has."""
        return self.backward_hooks.hooks_capacity

    @property
    def bubble_pipeline_parallel_hook_capacity(self) -> int:
        """How many idle times a batch has that hooks can use."""
        return 0 if self.bubble_hooks is None else self.bubble_hooks.hooks_capacity

    def register_sharding_comm_overlap_hook(self, optimizer: Any) -> None:
        """Not built: gradients are combined over sharding in the optimizer's step."""
        raise errors.NotImplemented_("register_sharding_comm_overlap_hook")

    def timer_printer(self) -> None:
        """Nothing: `enable_timer` is not built."""

    # ---- a batch ----
    def forward_backward_pipeline(
        self,
        data: Any,
        scaler: Any = None,
        static_scheduler: bool = False,
        return_micro_batch_loss: bool = False,
    ) -> Any:
        """Forward and backward of a batch, which add to the gradients; returns the loss, see `train_batch`, or with
        `static_scheduler` the order of work, see `get_static_scheduler`."""
        if static_scheduler:
            return self.get_static_scheduler()
        with self._together():
            return self._forward_backward(data, scaler, return_micro_batch_loss)

    def get_static_scheduler(self) -> str:
        """The order of work of this stage: "f0;f1;b0;..." ("f0_vp1;..." where it has several parts)."""
        return schedules.written(self._order(), self._layers.get_num_virtual_stages())


class PipelineParallelWithInterleave(PipelineParallel):
    """Stages of several parts, worked on in turns, which divides the idle time at the beginning and the end by the number
    of parts. See `PipelineParallel`; part number c of stage s comes after part c of stage s - 1. With the `schedule_mode`
    "ZBH1" the gradients of weights fill what is left of it.

    Raises:
        ValueError: the layer has one part a stage only, or fewer micro-batches than stages.
    """

    _modes: tuple[str, ...] = ("1F1B", "VPP", "ZBH1")
    _several = True
    _schedule: Callable = staticmethod(schedules.interleaved)
    _least = 1  # micro-batches for each stage

    def __init__(self, layers: PipelineLayer, hcg: Any, strategy: Any):
        who = type(self).__name__
        super().__init__(layers, hcg, strategy)
        self.num_model_chunks = self._virtual_pp_world_size = layers.get_num_virtual_stages()
        if self.accumulate_steps < self._least * self.num_stages:
            raise errors.ValueError_(
                f"{who}: accumulate_steps must be at least the number of stages ({self.num_stages}), "
                f"got {self.accumulate_steps}"
            )
        self.model_chunks = layers.get_model_chunks()

    def _init_user_hooks(self) -> None:
        super()._init_user_hooks()
        self.bubble_hooks = PipelineHook()
        self.bubble_hooks.set_hooks_capacity(2 * self.num_stages - 2)

    def _order(self) -> list[Step]:
        schedule = schedules.zero_bubble if self._schedule_mode == "ZBH1" else type(self)._schedule
        return schedule(self.stage_id, self.num_stages, self.accumulate_steps, self.num_model_chunks)

    def forward_backward_pipeline(  # type: ignore[override]
        self,
        data: Any,
        scaler: Any,
        forward_only: bool = False,
        compute_loss: bool = True,
        static_scheduler: bool = False,
        return_micro_batch_loss: bool = False,
    ) -> Any:
        """See `PipelineParallel.forward_backward_pipeline`; `forward_only` computes no gradients, and then
        `compute_loss=False` gives the outputs."""
        if not compute_loss and not forward_only:
            raise errors.ValueError_("forward_backward_pipeline: compute_loss=False needs forward_only=True")
        if not forward_only:
            return super().forward_backward_pipeline(data, scaler, static_scheduler, return_micro_batch_loss)
        with self._together():
            return self._forward_only(data, compute_loss)


class PipelineParallelWithInterleaveFthenB(PipelineParallelWithInterleave):
    """The same with all forwards before all backwards: part by part."""

    _schedule = staticmethod(schedules.f_then_b)
    _modes = ("1F1B", "VPP", "FThenB", "F-then-B")

    def _init_user_hooks(self) -> None:
        PipelineParallel._init_user_hooks(self)

    def forward_backward_pipeline(  # type: ignore[override]
        self,
        data: Any,
        scaler: Any,
        forward_only: bool = False,
        compute_loss: bool = True,
        return_micro_batch_loss: bool = False,
    ) -> Any:
        """See `PipelineParallelWithInterleave`."""
        return super().forward_backward_pipeline(
            data, scaler, forward_only, compute_loss, return_micro_batch_loss=return_micro_batch_loss
        )


class VPPFhenBInBalancedMemory(PipelineParallelWithInterleaveFthenB):
    """The same with 1F1B in the last part, which keeps fewer micro-batches."""

    _schedule = staticmethod(schedules.balanced)

    def _init_user_hooks(self) -> None:
        PipelineParallelWithInterleave._init_user_hooks(self)


class DualPipeVParallel(PipelineParallel):
    """Two parts a stage, the way there and the way back, with forwards of one and backwards of the other in turns; see
    `schedules.dual_pipe_v`. The first stage has the inputs and the loss. For PipelineLayers with `use_dualpipev` and
    `use_dualpipev` in `pp_configs`; needs at least two micro-batches for each stage.

    Raises:
        ValueError: another PipelineLayer, or fewer micro-batches.
    """

    _modes = ("1F1B",)
    _several = _vee = True

    def __init__(self, layers: PipelineLayer, hcg: Any, strategy: Any):
        super().__init__(layers, hcg, strategy)
        if self.accumulate_steps < 2 * self.num_stages:
            raise errors.ValueError_(
                f"DualPipeVParallel: accumulate_steps must be at least twice the number of stages ({self.num_stages}), "
                f"got {self.accumulate_steps}"
            )

    def _order(self) -> list[Step]:
        return schedules.dual_pipe_v(self.stage_id, self.num_stages, self.accumulate_steps)

    def is_pipeline_first_stage(self) -> bool:  # type: ignore[override]
        """Whether this is the first stage."""
        return self.stage_id == 0

    def is_pipeline_last_stage(self) -> bool:  # type: ignore[override]
        """Whether this is the last stage, where the way back begins."""
        return self.stage_id == self.num_stages - 1

    def forward_backward_pipeline(  # type: ignore[override]
        self, data: Any, scaler: Any, forward_only: bool = False, compute_loss: bool = True
    ) -> Any:
        """See `PipelineParallelWithInterleave.forward_backward_pipeline`."""
        if not compute_loss and not forward_only:
            raise errors.ValueError_("forward_backward_pipeline: compute_loss=False needs forward_only=True")
        with self._together():
            return (
                self._forward_only(data, compute_loss) if forward_only else self._forward_backward(data, scaler, False)
            )

    def train_batch(  # type: ignore[override]
        self, data: Any, optimizer: Any, lr_scheduler: Any = None, scaler: Any = None
    ) -> Any:
        """See `PipelineParallel.train_batch`."""
        return super().train_batch(data, optimizer, lr_scheduler, scaler)
