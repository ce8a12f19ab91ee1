"""Features that are officially still under way."""
from . import autograd, distributed
