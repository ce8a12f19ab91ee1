"""What observers have in common."""

from __future__ import annotations

import abc

from .base_quanter import BaseQuanter


class BaseObserver(BaseQuanter, metaclass=abc.ABCMeta):
    """A quanter that lets its input pass and computes the scales at the end."""

    @abc.abstractmethod
    def cal_thresholds(self) -> None:
        """Compute the scales from what was seen."""
