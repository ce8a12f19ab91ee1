"""Structured logs: one JSON object in a line."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

import orjson

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}


class JsonFormatter(logging.Formatter):
    """time, level, logger, message, the fields given as `extra`, and the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        seconds, part = divmod(record.created, 1)
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(part * 1e3):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
        }
        line.update((k, v) for k, v in vars(record).items() if k not in _OWN)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode(errors="replace")


def to_stderr(level: int = logging.INFO) -> None:
    """Send the logs of the server and of what it stands on to the standard error stream."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("paddle.serving").setLevel(level)
    logging.captureWarnings(True)
