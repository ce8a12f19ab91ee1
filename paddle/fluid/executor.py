"""Running programs."""

from ..static.executor import Executor, global_scope, scope_guard

__all__ = ["Executor", "global_scope", "scope_guard"]
