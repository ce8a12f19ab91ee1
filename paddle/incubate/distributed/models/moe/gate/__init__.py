"""What chooses the experts of a token."""

from .base_gate import BaseGate
from .gshard_gate import GShardGate
from .naive_gate import NaiveGate
from .switch_gate import SwitchGate

__all__: list[str] = []
