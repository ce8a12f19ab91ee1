"""Profiling: where the time goes, and how fast steps are."""

from . import profiler, profiler_statistic, timer, utils
from .events import TracerEventType
from .profiler import (
    Profiler,
    ProfilerState,
    ProfilerTarget,
    export_chrome_tracing,
    export_protobuf,
    make_scheduler,
)
from .profiler_statistic import SortedKeys, SummaryView
from .utils import RecordEvent, load_profiler_result

__all__ = [
    "Profiler",
    "ProfilerState",
    "ProfilerTarget",
    "RecordEvent",
    "SortedKeys",
    "SummaryView",
    "export_chrome_tracing",
    "export_protobuf",
    "load_profiler_result",
    "make_scheduler",
]
