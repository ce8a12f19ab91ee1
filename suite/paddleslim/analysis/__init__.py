"""paddleslim.analysis: operations, sizes and times of networks."""

from .counting import dygraph_flops, flops, latencies, latency, model_size
from .latency_tables import LatencyEvaluator, TableLatencyEvaluator
from .report import Measurement, Report, measure, report

__all__ = [
    "LatencyEvaluator",
    "Measurement",
    "Report",
    "TableLatencyEvaluator",
    "dygraph_flops",
    "flops",
    "latencies",
    "latency",
    "measure",
    "model_size",
    "report",
]
