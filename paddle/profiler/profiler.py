"""Profiler: where the time of a program goes."""

from __future__ import annotations

import datetime
import enum
import os
import socket
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ..engine import errors
from .events import TracerEventType, recorder
from .profiler_statistic import SortedKeys, report
from .timer import benchmark
from .utils import ProfilerResult, RecordEvent
from .watch import Doorways, OperatorWatcher


class ProfilerState(enum.Enum):
    """What a profiler does in a step: nothing, get ready, record, record and hand over the result."""

    CLOSED = 0
    READY = 1
    RECORD = 2
    RECORD_AND_RETURN = 3


class ProfilerTarget(enum.Enum):
    """A kind of device."""

    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM_DEVICE = 3


_RECORDING = (ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN)


def make_scheduler(
    *, closed: int, ready: int, record: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], ProfilerState]:
    """A plan: after `skip_first` steps, again and again `closed` steps of nothing, `ready` steps of getting ready and
    `record` steps of recording, the last of which hands over the result.

    Args:
        repeat: how often; 0 is for ever.

    Raises:
        ValueError: negative numbers, or `record` is 0.

    Example:
        >>> plan = paddle.profiler.make_scheduler(closed=1, ready=1, record=2, repeat=1)
        >>> [plan(step).name for step in range(5)]
        ['CLOSED', 'READY', 'RECORD', 'RECORD_AND_RETURN', 'CLOSED']
    """
    numbers = {"closed": closed, "ready": ready, "repeat": repeat, "skip_first": skip_first}
    for name, value in {**numbers, "record": record}.items():
        if not isinstance(value, int) or value < (name == "record"):
            raise errors.ValueError_(f"make_scheduler: invalid profiler scheduler arguments: {name}={value!r}")
    length = closed + ready + record

    def plan(step: int) -> ProfilerState:
        if step < 0:
            raise errors.ValueError_(f"make_scheduler: a step is not negative, got {step}")
        step -= skip_first
        if step < 0 or (repeat and step // length >= repeat):
            return ProfilerState.CLOSED
        at = step % length
        if at < closed:
            return ProfilerState.CLOSED
        if at < closed + ready:
            return ProfilerState.READY
        return ProfilerState.RECORD_AND_RETURN if at == length - 1 else ProfilerState.RECORD

    return plan


def export_chrome_tracing(dir_name: str, worker_name: str | None = None) -> Callable[[Profiler], None]:
    """What to give as `on_trace_ready`: writes ``dir_name/<worker_name>_time_<...>.paddle_trace.json``, for
    chrome://tracing or https://ui.perfetto.dev.

    Example:
        >>> profiler = paddle.profiler.Profiler(on_trace_ready=paddle.profiler.export_chrome_tracing("./log"))
    """
    return _exporter(dir_name, worker_name, "json")


def _exporter(dir_name: str, worker_name: str | None, format: str) -> Callable[[Profiler], None]:
    os.makedirs(dir_name, exist_ok=True)

    def write(profiler: Profiler) -> None:
        worker = worker_name or f"host_{socket.gethostname()}pid_{os.getpid()}"
        now = datetime.datetime.now().strftime("%Y_%m_%d_%H_%M_%S_%f")
        profiler.export(os.path.join(dir_name, f"{worker}_time_{now}.paddle_trace.{format}"), format=format)

    return write


def export_protobuf(dir_name: str, worker_name: str | None = None) -> Callable[[Profiler], None]:
    """What to give as `on_trace_ready`: writes ``dir_name/<worker_name>_time_<...>.paddle_trace.pb`` in the official binary
    format, which `load_profiler_result` reads.

    Example:
        >>> profiler = paddle.profiler.Profiler(on_trace_ready=paddle.profiler.export_protobuf("./log"))
    """
    return _exporter(dir_name, worker_name, "pb")


class Profiler:
    """Records operators, layers, backward passes, optimizer steps, loading, and the parts that `RecordEvent` names, in
    the thread that started it. While it records, each operator is waited for, so that its time is its own.

    Args:
        targets: kinds of devices; default all there are. With an accelerator the time until a result is there is shown
            as its time, that until the call returned as the CPU's.
        scheduler: a plan of `make_scheduler`, a function of the step, or (first, last): record steps first to last - 1;
            default all steps.
        on_trace_ready: called with the profiler when a result is ready; default writes a file of Chrome's tracing
            format into ``./profiler_log``.
        record_shapes: keep the shapes of the inputs of operators.
        profile_memory: keep the bytes of the results of operators.
        timer_only: only measure steps, see `step_info`.
        emit_nvtx, custom_device_types: accepted; they concern other devices.
        with_flops: count floating point operations of operators, see `profiler.watch.flops_of`.

    Raises:
        TypeError, ValueError: arguments that make no sense.

    Example:
        >>> profiler = paddle.profiler.Profiler(timer_only=True)
        >>> profiler.start()
        >>> for _ in range(3): profiler.step(num_samples=8)
        >>> profiler.step_info()  # doctest: +ELLIPSIS
        ' batch_cost: ... s ips: ... samples/s'
        >>> profiler.stop()
    """

    def __init__(
        self,
        *,
        targets: Iterable[ProfilerTarget] | None = None,
        scheduler: Any = None,
        on_trace_ready: Callable[[Profiler], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        timer_only: bool = False,
        emit_nvtx: bool = False,
        custom_device_types: list | None = [],
        with_flops: bool = False,
    ):
        self.targets = _targets(targets)
        self.scheduler = _plan(scheduler)
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory, self.with_flops = record_shapes, profile_memory, with_flops
        self.timer_only, self.emit_nvtx = timer_only, emit_nvtx
        self.step_num = 0
        self.previous_state = ProfilerState.CLOSED
        self.current_state = self.scheduler(0)
        self.record_event: RecordEvent | None = None
        self.profiler_result: ProfilerResult | None = None
        device = any(t in self.targets for t in (ProfilerTarget.GPU, ProfilerTarget.XPU))
        watcher = None if timer_only else OperatorWatcher(record_shapes, profile_memory, with_flops, device)
        self._timing, self._doorways = Doorways(None), Doorways(watcher)
        self._running = False

    @property
    def profiler(self) -> Any:
        """What collects the events."""
        return recorder

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        if self._running:
            raise errors.RuntimeError_("Profiler.start: it runs already")
        if recorder.on and not self.timer_only:
            raise errors.RuntimeError_("Profiler.start: another profiler records at present; it needs a `stop()` first")
        self._running = True
        self._forgotten = weakref.finalize(self, _let_go, self._doorways, self._timing)
        benchmark().begin()
        if self.timer_only:
            self._timing.open()
            return
        self.current_state = self.scheduler(self.step_num)
        self._enter_state()

    def _enter_state(self) -> None:
        if self.current_state in _RECORDING and not recorder.on:
            recorder.start()
            self._doorways.open()
            self._clock = (time.perf_counter(), time.process_time(), _busy())
        if recorder.on:
            self.record_event = RecordEvent(f"ProfileStep#{self.step_num}", TracerEventType.ProfileStep)
            self.record_event.begin()

    def _leave_state(self, hand_over: bool) -> None:
        if self.record_event is not None:
            self.record_event.end()
            self.record_event = None
        if not recorder.on or not (hand_over or self.current_state not in _RECORDING):
            return
        self._doorways.close()
        self.profiler_result = ProfilerResult(recorder.stop(), self._facts())

    def _facts(self) -> dict[str, str]:
        wall, process, busy = self._clock
        elapsed = max(time.perf_counter() - wall, 1e-9)
        now = _busy()
        system = (now[0] - busy[0]) / max(now[1] - busy[1], 1e-9) if now and busy else 0.0
        threads = {str(t.ident): t.name for t in threading.enumerate()}
        return threads | {
            "Process Cpu Utilization": f"{(time.process_time() - process) / elapsed / (os.cpu_count() or 1):.6f}",
            "System Cpu Utilization": f"{system:.6f}",
        }

    def step(self, num_samples: int | None = None) -> None:
        """A step is over, the next one begins; `num_samples` is how many samples it had."""
        if not self._running:
            return
        benchmark().step(num_samples)
        if self.timer_only:
            return
        hand_over = self.current_state == ProfilerState.RECORD_AND_RETURN
        self._leave_state(hand_over)
        self.previous_state = self.current_state
        self.step_num += 1
        self.current_state = self.scheduler(self.step_num)
        if not hand_over and recorder.on and self.current_state not in _RECORDING:  # a plan of the user's own
            self._leave_state(True)
            hand_over = True
        if hand_over:
            self._ready()
        self._enter_state()

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)
        else:
            export_chrome_tracing("./profiler_log/")(self)

    def stop(self) -> None:
        """End, and hand over what has been recorded."""
        if not self._running:
            raise errors.RuntimeError_("Profiler.stop: it has not been started")
        self._running = False
        self._forgotten.detach()
        benchmark().end()
        if self.timer_only:
            self._timing.close()
        elif recorder.on:
            self._leave_state(True)
            self._ready()
        self.current_state = ProfilerState.CLOSED

    def step_info(self, unit: str | None = None) -> str:
        """The average times of loading and of steps since the last call, and samples in a second, as text.

        Args:
            unit: what samples are called.
        """
        return benchmark().step_info(unit)

    def export(self, path: str = "", format: str = "json") -> None:
        """Write the last result as a file of Chrome's tracing format ("json") or of the official binary format ("pb").

        Raises:
            ValueError: another format.
        """
        if self.profiler_result is not None:
            self.profiler_result.save(path, format)

    def summary(
        self,
        sorted_by: SortedKeys = SortedKeys.CPUTotal,
        op_detail: bool = True,
        thread_sep: bool = False,
        time_unit: str = "ms",
        views: Any = None,
    ) -> None:
        """Print tables of the last result.

        Args:
            sorted_by: a `SortedKeys`.
            op_detail: also the shapes of inputs, if they were recorded.
            thread_sep: a table of operators for each thread.
            time_unit: "s", "ms", "us" or "ns".
            views: a `SummaryView`, or a list of them; default all.
        """
        if self.profiler_result is not None:
            print(report(self.profiler_result, sorted_by, op_detail, thread_sep, time_unit, views))


def _let_go(doorways: Doorways, timing: Doorways) -> None:
    """What a profiler that nobody can stop any more leaves behind would be in the way of the next one."""
    if doorways.are_open:
        doorways.close()
        recorder.stop()
    timing.close()


def _available() -> list[ProfilerTarget]:
    import jax

    return [ProfilerTarget.CPU] + ([ProfilerTarget.GPU] if jax.default_backend() == "gpu" else [])


def _targets(targets: Iterable[ProfilerTarget] | None) -> Any:
    there = _available()
    if targets is None:
        return there
    chosen = set()
    for target in targets:
        if not isinstance(target, ProfilerTarget):
            raise errors.TypeError_(f"Profiler: targets are members of ProfilerTarget, got {target!r}")
        if target in there:
            chosen.add(target)
        else:
            warnings.warn(f"Profiling {target.name} is not supported here: there is no such device.", stacklevel=3)
    return chosen


def _plan(scheduler: Any) -> Callable[[int], ProfilerState]:
    if scheduler is None:
        return lambda step: ProfilerState.RECORD
    if callable(scheduler):
        return scheduler
    if isinstance(scheduler, (tuple, list)) and len(scheduler) == 2:
        first, last = scheduler
        if not isinstance(first, int) or not isinstance(last, int) or not last > first:
            raise errors.ValueError_(f"Profiler: scheduler=(first, last) needs first < last, got {tuple(scheduler)}")
        first = max(first, 0)
        ready = min(first, 1)
        return make_scheduler(closed=first - ready, ready=ready, record=last - first, repeat=1)
    raise errors.TypeError_(
        f"Profiler: scheduler must be a function, (first, last) or None, got {errors.describe(scheduler)}"
    )


def _busy() -> tuple[float, float] | None:
    """Busy and total time of all processors, where the system tells."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            numbers = [float(n) for n in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return sum(numbers) - sum(numbers[3:5]), sum(numbers)
