"""Visual logs: event files with the curves, pictures and histograms of a training run, which TensorBoard shows."""

from .reader import LogReader
from .writer import LogWriter

__all__ = ["LogReader", "LogWriter"]
