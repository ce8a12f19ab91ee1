"""paddle.incubate.optimizer: optimizers around others, and minimisation of functions."""

from ...optimizer.lbfgs import LBFGS
from . import functional
from .gradient_merge import GradientMergeOptimizer
from .lookahead import LookAhead
from .modelaverage import ModelAverage

__all__ = ["LBFGS"]
