"""Utilities: installation check, compile counter, DLPack, names, and small helpers."""

from __future__ import annotations

from ..engine.compile import count_compiles, stats as compile_stats
from . import dlpack, plot, unique_name
from .deprecation import deprecated
from .install_check import run_check
from .imports import require_version, try_import
from .structure import flatten, is_sequence, map_structure, pack_sequence_as, to_sequence

__all__ = ["deprecated", "require_version", "run_check", "try_import"]
