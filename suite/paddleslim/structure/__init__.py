"""The dependencies of channels in programs: what must leave together, what must stay and why.

A weight's rows are numbered and followed through the operators of a recorded program. `Structure` says which weights depend
on each other; `Removal` takes units out of a layer and follows the channels through the smaller network again, so that a
network in which a channel would meet another one's weights is never handed out.
"""

from .layers import Removal, of_layer
from .plan import Group, Structure
from .units import Units

__all__ = ["Group", "Removal", "Structure", "Units", "of_layer"]
