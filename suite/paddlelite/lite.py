"""The official module name: ``from paddlelite.lite import *``."""

from . import *  # noqa: F403
from . import __all__  # noqa: F401
