"""Programs that are built first and run later."""

from . import amp
