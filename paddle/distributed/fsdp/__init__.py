"""Training of which each process keeps a part, by one call."""

from .fully_shard import fully_shard

__all__ = ["fully_shard"]
