"""paddleslim.dist: distillation in programs, losses, and networks that teach each other."""

from . import losses
from .dml import DML
from .single_distiller import dkd, fsp, l2, loss, merge, skd, soft_label

__all__ = ["DML", "dkd", "fsp", "l2", "loss", "losses", "merge", "skd", "soft_label"]
