"""Programs that are compiled; every program is."""

from ..static.executor import CompiledProgram
from ..static.strategy import BuildStrategy, ExecutionStrategy

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy"]
