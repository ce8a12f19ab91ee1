"""VisualDL's writer and reader of logs, by the framework's own: `paddle.visual_log`."""

from paddle.visual_log import LogReader, LogWriter

__all__ = ["LogReader", "LogWriter"]
