"""A model, its loss and its optimizer as programs over a mesh: each call is one executable, in which XLA communicates."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from ... import amp
from ...engine import errors
from ...engine.modes import set_mode
from ...engine.tensor import Tensor
from ...engine.value import Value
from ...jit.static_function import Call, StaticFunction
from ...jit.static_function import to_static as jit_to_static
from ...jit.trace import Traced
from ...jit.transform import convert
from ...nn.layer import Layer
from ...optimizer.optimizer import Optimizer
from .api import _sharding, is_dist, unshard_dtensor
from .hlo import Analysis, analyse
from .interface import fetching
from .process_mesh import ProcessMesh, get_mesh
from .repeated import recomputed
from .sharded_optimizer import ShardingStage1, ShardingStage2, ShardingStage3, shard_optimizer
from .strategy import Strategy

MODES = ("train", "eval", "predict")


class DistModel:
    """A model as programs over a mesh; made by `paddle.distributed.to_static`.

    `dist_model(*inputs, *labels)` runs the program of the mode: "train" gives the loss and makes a step of the optimizer,
    "eval" the loss, "predict" a dict of the outputs. A step is one executable.

    Args:
        layer: the model; its parameters say how they lie on the mesh.
        loader: gives the batches, from which a program is made before the first call where one is asked for.
        loss: a function (outputs, labels) -> loss.
        optimizer: the optimizer.
        strategy: a Strategy.
        metrics: accepted.
        input_spec: [specs of the inputs, specs of the labels].

    Example:
        >>> import paddle.distributed as dist
        >>> mesh = dist.ProcessMesh([0], dim_names=["dp"])
        >>> net = dist.shard_layer(paddle.nn.Linear(2, 1), mesh)
        >>> sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        >>> model = dist.to_static(net, loss=paddle.nn.MSELoss(), optimizer=sgd)
        >>> model(paddle.ones([4, 2]), paddle.zeros([4, 1])).shape
        []
    """

    def __init__(
        self,
        layer: Layer,
        loader: Any = None,
        loss: Callable | None = None,
        optimizer: Optimizer | None = None,
        strategy: Strategy | None = None,
        metrics: Any = None,
        input_spec: Any = None,
    ):
        if not isinstance(layer, Layer):
            raise errors.TypeError_(f"DistModel: layer must be a Layer, got {errors.describe(layer)}")
        if loss is not None and not callable(loss):
            raise errors.TypeError_(f"DistModel: loss must be a function, got {errors.describe(loss)}")
        self._layer, self._loader, self._loss, self._optimizer = layer, loader, loss, optimizer
        self._strategy = Strategy() if strategy is None else strategy
        self._metrics, self._input_spec = metrics, input_spec
        self._structured_to_parameter_name = {k: v.name for k, v in layer.state_dict().items()}
        self._parameter_to_structured_name = {v: k for k, v in self._structured_to_parameter_name.items()}
        self._scaler: Any = None
        self._calls = 0
        self._apply_strategy()
        self._functions = {
            mode: StaticFunction(getattr(self, f"_{mode}_step"), full_graph=True)
            for mode in ("train", "add", "eval", "predict")
        }
        self._traced: dict[str, Traced] = {}
        self._fetched: dict[str, list[str]] = {}  # the names of what `auto_parallel.fetch` names, for each program
        self.fetched: dict[str, Tensor] = {}  # what the last call fetched
        self._mode = ""
        if optimizer is not None and loss is not None:
            self.train()
        elif loss is not None:
            self.eval()
        else:
            self.predict()

    def _mesh(self) -> ProcessMesh | None:
        return get_mesh() or next((p.process_mesh for p in self._layer.parameters() if is_dist(p)), None)

    def _apply_strategy(self) -> None:
        strategy, optimizer = self._strategy, self._optimizer
        sharding, mixed = strategy.sharding, strategy.amp
        if sharding.enable and optimizer is not None and getattr(optimizer, "_shard_fn", None) is None:
            stages = {1: ShardingStage1, 2: ShardingStage2, 3: ShardingStage3}
            if sharding.stage not in stages:
                raise errors.ValueError_(f"DistModel: sharding.stage must be 1, 2 or 3, got {sharding.stage!r}")
            mesh = self._mesh()
            if mesh is None:
                raise errors.ValueError_("DistModel: sharding needs a mesh: set_mesh, or distributed parameters")
            axis = next((n for n in ("sharding", "dp") if n in mesh.dim_names), mesh.dim_names[0])
            shard_optimizer(optimizer, stages[sharding.stage](axis, mesh))
        if mixed.enable:
            level = mixed.level.upper()
            if level == "O2":
                amp.decorate(self._layer, level="O2", dtype=mixed.dtype)
                if optimizer is not None:
                    optimizer._multi_precision = True
            if mixed.dtype == "float16":
                self._scaler = amp.GradScaler(
                    init_loss_scaling=mixed.init_loss_scaling,
                    incr_ratio=mixed.incr_ratio,
                    decr_ratio=mixed.decr_ratio,
                    incr_every_n_steps=mixed.incr_every_n_steps,
                    decr_every_n_nan_or_inf=mixed.decr_every_n_nan_or_inf,
                    use_dynamic_loss_scaling=mixed.use_dynamic_loss_scaling,
                )
        if strategy.recompute.enable:
            recomputed(self._layer)
        self._micro = int(strategy.pipeline.accumulate_steps) if strategy.pipeline.enable else 1
        chain = self._layer.__dict__.get("_pipeline")
        if chain is not None and self._micro > 1:  # a pipeline cuts the batch itself
            chain.schedule.micro, self._micro = self._micro, 1

    # ---- modes ----
    def train(self) -> None:
        """Calls train. ValueError without loss and optimizer."""
        if self._optimizer is None or self._loss is None:
            raise errors.ValueError_("DistModel.train: loss and optimizer must be given")
        self._mode = "train"
        self._layer.train()

    def eval(self) -> None:
        """Calls give the loss. ValueError without one."""
        if self._loss is None:
            raise errors.ValueError_("DistModel.eval: loss must be given")
        self._mode = "eval"
        self._layer.eval()

    def predict(self) -> None:
        """Calls give the outputs."""
        self._mode = "predict"
        self._layer.eval()

    def _checked(self, mode: str | None) -> str:
        mode = self._mode if mode is None else mode
        if mode not in MODES:
            raise errors.ValueError_(f"DistModel: mode must be 'train', 'eval' or 'predict', got {mode!r}")
        return mode

    # ---- what is recorded ----
    def _precision(self) -> Any:
        mixed = self._strategy.amp
        if not mixed.enable:
            return contextlib.nullcontext()
        return amp.auto_cast(
            custom_white_list=mixed.custom_white_list or None,
            custom_black_list=mixed.custom_black_list or None,
            level=mixed.level.upper(),
            dtype=mixed.dtype,
        )

    def _outputs(self, inputs: list) -> Any:
        with self._precision():
            return self._layer(*inputs)

    def _loss_of(self, inputs: list, labels: list) -> Tensor:
        assert self._loss is not None
        with self._precision():
            outputs = self._layer(*inputs)
            loss = self._loss if isinstance(self._loss, Layer) else convert(self._loss)
            found = loss(*(outputs if isinstance(outputs, (list, tuple)) else [outputs]), *labels)
        if isinstance(found, (list, tuple)):
            found = found[0]
        return found if found.ndim == 0 else found.mean()

    def _backward(self, inputs: list, labels: list) -> Tensor:
        self._mark([*inputs, *labels])
        strategy = self._strategy
        merged = (
            strategy.gradient_merge.k_steps if strategy.gradient_merge.enable and strategy.gradient_merge.avg else 1
        )
        micro = self._micro
        total = None
        for i in range(micro):
            loss = self._loss_of(_micro(inputs, i, micro), _micro(labels, i, micro))
            scaled = loss if merged * micro == 1 else loss * (1 / (merged * micro))
            (scaled if self._scaler is None else self._scaler.scale(scaled)).backward()
            total = loss.detach() if total is None else total + loss.detach()
        assert total is not None
        return total if micro == 1 else total * (1 / micro)

    def _collected(self, program: str, compute: Callable, *args: Any) -> list:
        """The results of a step, and behind them what it fetches."""
        fetching.append({})
        try:
            found = compute(*args)
        finally:
            extra = fetching.pop()
        self._fetched[program] = list(extra)
        return [*(found if isinstance(found, list) else [found]), *(x.detach() for x in extra.values())]

    def _train_step(self, inputs: list, labels: list) -> list:
        found = self._collected("train", self._backward, inputs, labels)
        if self._scaler is None:
            self._optimizer.step()  # type: ignore[union-attr]
        else:
            self._scaler.step(self._optimizer)
            self._scaler.update()
        self._optimizer.clear_grad(set_to_zero=False)  # type: ignore[union-attr]
        return found

    def _add_step(self, inputs: list, labels: list) -> list:
        return self._collected("add", self._backward, inputs, labels)

    def _eval_step(self, inputs: list, labels: list) -> list:
        self._mark([*inputs, *labels])
        return self._collected("eval", self._loss_of, inputs, labels)

    def _predict_step(self, inputs: list, labels: list) -> list:
        self._mark(inputs)

        def outputs() -> list:
            found = self._outputs(inputs)
            return list(found) if isinstance(found, (list, tuple)) else [found]

        return self._collected("predict", outputs)

    def _mark(self, placeholders: list) -> None:
        """Let what stands for the batch know how it lies on the mesh."""
        for tensor, sharding in zip(placeholders, self._shardings):
            if sharding is not None and isinstance(tensor._raw, Value):
                tensor.__dict__["_chosen_sharding"] = sharding

    # ---- calls ----
    def _split(self, args: tuple) -> tuple[list, list]:
        """Inputs and labels of a call."""
        flat: list = []
        for arg in args:
            flat += list(arg) if isinstance(arg, (list, tuple)) else [arg]
        for x in flat:
            if not isinstance(x, Tensor):
                raise errors.TypeError_(f"DistModel: inputs must be tensors or lists of them, got {errors.describe(x)}")
        if self._mode == "predict":
            return flat, []
        n = 1
        if self._input_spec is not None:
            labels = self._input_spec[1]
            n = len(labels) if isinstance(labels, (list, tuple)) else 1
        elif args and isinstance(args[-1], (list, tuple)):
            n = len(args[-1])
        return flat[: len(flat) - n], flat[len(flat) - n :]

    def _function(self) -> tuple[str, StaticFunction]:
        name = self._mode
        merge = self._strategy.gradient_merge
        if name == "train" and merge.enable and (self._calls + 1) % int(merge.k_steps):
            name = "add"
        return name, self._functions[name]

    def __call__(self, *args: Any) -> Any:
        """Run the program of the mode.

        Args:
            args: the inputs and then the labels, tensors or lists of tensors.

        Returns:
            "train" and "eval": the loss. "predict": a dict of the outputs, "out0", "out1", ...
        """
        inputs, labels = self._split(args)
        name, function = self._function()
        self._shardings = [_sharding(x) for x in (*inputs, *labels)]
        with set_mode(grad=self._mode == "train", amp=None):
            found = function(inputs, labels)
        self._traced[name] = function._last  # type: ignore[assignment]
        if self._mode == "train":
            self._calls += 1
        names = self._fetched.get(name, [])
        found, extra = found[: len(found) - len(names)], found[len(found) - len(names) :]
        self.fetched = dict(zip(names, extra))
        return {f"out{i}": x for i, x in enumerate(found)} if self._mode == "predict" else found[0]

    # ---- programs ----
    def _program(self, mode: str | None) -> Any:
        from ...jit.program import as_program

        mode = self._checked(mode)
        if mode not in self._traced:
            self._traced[mode] = self._record(mode, self._sample(mode))[0]
        return as_program(self._traced[mode].graph)

    def _sample(self, mode: str) -> tuple:
        """Inputs and labels of a batch, without labels to predict."""
        return self._sample_batch()[: 1 if mode == "predict" else 2]

    def _sample_batch(self) -> tuple:
        if self._input_spec is not None:
            from ...ops.creation import zeros

            mesh = self._mesh()
            open_length = 1 if mesh is None else mesh.size  # of a batch that can be cut over any axis
            return tuple(
                [
                    zeros([open_length if n is None or n < 0 else n for n in s.shape], s.dtype)
                    for s in (part if isinstance(part, (list, tuple)) else [part])
                ]
                for part in self._input_spec
            )
        if self._loader is None:
            raise errors.ValueError_("DistModel: there is no program yet: give a loader or input_spec, or call it once")
        batch = next(iter(self._loader))
        entries = list(batch.values()) if isinstance(batch, dict) else list(batch)
        return entries[:-1], entries[-1]

    def _record(self, mode: str, args: tuple) -> tuple[Traced, Call]:
        before = self._mode
        getattr(self, mode)()
        try:
            inputs, labels = self._split(args)
            self._shardings = [_sharding(x) for x in (*inputs, *labels)]
            function = self._functions[mode]
            with set_mode(grad=mode == "train", amp=None):
                _, traced = function.get_concrete_program(inputs, labels)
                return traced, Call(function, (inputs, labels), {})
        finally:
            getattr(self, before)()

    def dist_main_program(self, mode: str | None = None) -> Any:
        """The program of a mode, by default the present one; what XLA does to it is in `analysis`."""
        return self._program(mode)

    serial_main_program = dist_main_program

    def dist_startup_program(self, mode: str | None = None) -> Any:
        """An empty program: parameters have their values already."""
        from ...static.program import Program

        self._checked(mode)
        return Program()

    serial_startup_program = dist_startup_program

    def analysis(self, *args: Any, mode: str | None = None) -> Analysis:
        """What XLA makes of a call: floating point operations, memory of a device, and the collectives with their bytes.
        Nothing runs.

        Args:
            args: as for a call; by default a batch of the loader.
            mode: by default the present one.
        """
        mode = self._checked(mode)
        traced, call = self._record(mode, args or self._sample(mode))
        run = traced.run
        tensors = [*call.tensors, *map(traced._state, traced.states, traced.readers)]
        specs = [_spec(t._value) for t in tensors]
        words = jax.ShapeDtypeStruct((4,), np.uint32) if run.ticks else None
        if run.overwritten:
            old = [specs[i] for i in run.overwritten]
            lowered = run._replacing.lower(old, [s for i, s in enumerate(specs) if i not in run.overwritten], words)
        else:
            lowered = jax.jit(run._run).lower(*([] if words is None else [words]), *specs)
        return analyse(lowered.compile())

    # ---- state ----
    def state_dict(self, mode: str = "all", split_fusion: bool = True) -> dict[str, Tensor]:
        """Parameters and buffers by their names in the layer, and the states of the optimizer by theirs.

        Args:
            mode: "all", "param" or "opt".
            split_fusion: accepted: parameters are not fused.

        Raises:
            ValueError: another mode.
        """
        if mode not in ("all", "param", "opt"):
            raise errors.ValueError_(f"DistModel.state_dict: mode must be 'all', 'param' or 'opt', got {mode!r}")
        found: dict[str, Tensor] = {}
        if mode in ("all", "param"):
            found.update(self._layer.state_dict())
        if mode in ("all", "opt") and self._optimizer is not None:
            states = self._optimizer.state_dict()
            masters = states.pop("master_weights", {})
            states.pop("LR_Scheduler", None)
            found.update(states)
            found.update((f"{name}_fp32_master_0", value) for name, value in masters.items())
        return found

    def set_state_dict(self, state_dict: dict[str, Tensor]) -> None:
        """Put back what `state_dict` returned, in place; how the tensors lie on the mesh stays."""
        rest = dict(state_dict)
        own = self._layer.state_dict()
        for key in list(rest):
            name = self._parameter_to_structured_name.get(key, key)
            if name in own:
                value = rest.pop(key)
                own[name].set_value(_whole(value))
        if self._optimizer is not None and rest:
            suffix = "_fp32_master_0"
            states = {k: _whole(v) for k, v in rest.items() if not k.endswith(suffix)}
            masters = {k.removesuffix(suffix): _whole(v) for k, v in rest.items() if k.endswith(suffix)}
            self._optimizer.set_state_dict({**states, **({"master_weights": masters} if masters else {})})
        elif rest:
            warnings.warn(
                f"DistModel.set_state_dict: {len(rest)} entries belong to nothing: {list(rest)[:3]}", stacklevel=2
            )


def _whole(value: Any) -> Any:
    return unshard_dtensor(value) if isinstance(value, Tensor) and is_dist(value) else value


def _spec(array: Any) -> jax.ShapeDtypeStruct:
    sharding = getattr(array, "sharding", None)
    return jax.ShapeDtypeStruct(
        array.shape, array.dtype, sharding=sharding if isinstance(sharding, NamedSharding) else None
    )


def _micro(tensors: list, number: int, parts: int) -> list:
    """Every `parts`-th sample, from `number` on: a batch that is cut over the mesh stays where it is."""
    if parts == 1:
        return tensors
    found = []
    for x in tensors:
        n = x.shape[0]
        if n % parts:
            raise errors.ValueError_(f"DistModel: a batch of {n} samples cannot be cut into {parts} micro-batches")
        found.append(x.reshape([n // parts, parts, *x.shape[1:]])[:, number])
    return found


@errors.clean
def to_static(
    layer: Layer,
    loader: Any = None,
    loss: Callable | None = None,
    optimizer: Optimizer | None = None,
    strategy: Strategy | None = None,
    input_spec: Any = None,
) -> Any:
    """A model with loss and optimizer as programs over the mesh on which its parameters lie.

    Args:
        layer, loader, loss, optimizer, strategy, input_spec: see DistModel.

    Returns:
        A DistModel; with `strategy.full_graph` False the layer, converted by `paddle.jit.to_static`.
    """
    if strategy is not None and not strategy.full_graph:
        return jit_to_static(layer, full_graph=False)
    return DistModel(layer, loader, loss, optimizer, strategy, input_spec=input_spec)
