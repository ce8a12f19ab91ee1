"""Metrics over all workers."""

from .metric import acc, auc, mae, max, min, mse, rmse, sum

__all__: list[str] = []
