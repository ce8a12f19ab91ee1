"""The interface before version 2, as far as older programs need it."""

from . import dygraph
