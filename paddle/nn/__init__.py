"""paddle.nn: layers, and the functions that they are made of."""
from . import functional
