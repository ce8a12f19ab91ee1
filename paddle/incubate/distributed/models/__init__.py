"""Models that are spread over processes."""

from . import moe
