"""paddle.incubate.nn: layers on operators that officially are one kernel."""
from . import functional
