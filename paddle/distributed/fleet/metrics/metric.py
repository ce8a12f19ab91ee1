"""Metrics over all workers: what each has counted is added up first.

Arguments are arrays, variables of a program or their names, which are read in `scope` (default: the global one). `util` is
`fleet.util` unless another one is given.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....engine.tensor import Tensor
from ....engine.value import Value


def _array(given: Any, scope: Any) -> np.ndarray:
    if isinstance(given, str) or isinstance(given, Tensor) and isinstance(given._raw, Value):
        from ....static import global_scope

        name = given if isinstance(given, str) else given.name
        return np.array((scope or global_scope()).find_var(name).get_tensor())
    return np.asarray(given.numpy() if isinstance(given, Tensor) else given)


def _combined(given: Any, mode: str, scope: Any, util: Any) -> np.ndarray:
    if util is None:
        from ... import fleet

        util = fleet.util
    return np.asarray(util.all_reduce(_array(given, scope), mode))


def _quotient(above: Any, below: Any, scope: Any, util: Any) -> float:
    total = _combined(above, "sum", scope, util), _combined(below, "sum", scope, util)
    return float(total[0].reshape(-1)[0]) / float(total[1].reshape(-1)[0])


def sum(input: Any, scope: Any = None, util: Any = None) -> np.ndarray:
    """The sum over all workers, of the shape of `input`.

    Example:
        >>> from paddle.distributed import fleet
        >>> import paddle.distributed.fleet.metrics
        >>> fleet.metrics.sum([1.0, 2.0]).tolist()
        [1.0, 2.0]
    """
    return _combined(input, "sum", scope, util)


def max(input: Any, scope: Any = None, util: Any = None) -> np.ndarray:
    """The largest over all workers, elementwise."""
    return _combined(input, "max", scope, util)


def min(input: Any, scope: Any = None, util: Any = None) -> np.ndarray:
    """The smallest over all workers, elementwise."""
    return _combined(input, "min", scope, util)


def auc(stat_pos: Any, stat_neg: Any, scope: Any = None, util: Any = None) -> float:
    """The area under the ROC curve of all workers.

    Args:
        stat_pos, stat_neg: how many samples of each class had a prediction in each of equal parts of [0, 1], shape
            [1, parts], as `paddle.static.auc` counts them.

    Returns:
        A float; 0.5 where one class is empty.

    Example:
        >>> from paddle.distributed.fleet.metrics import auc
        >>> auc([[0, 1, 3]], [[2, 1, 0]])
        0.9583333333333334
    """
    positive = _combined(stat_pos, "sum", scope, util).reshape(-1)[::-1].astype(np.float64)
    negative = _combined(stat_neg, "sum", scope, util).reshape(-1)[::-1].astype(np.float64)
    above = np.cumsum(positive)
    area = float(np.sum(negative * (above - positive / 2)))
    total = float(above[-1] * negative.sum()) if len(above) else 0.0
    return 0.5 if total == 0 else area / total


def mae(abserr: Any, total_ins_num: Any, scope: Any = None, util: Any = None) -> float:
    """The mean absolute error: the sum of absolute errors by the number of samples, over all workers."""
    return _quotient(abserr, total_ins_num, scope, util)


def rmse(sqrerr: Any, total_ins_num: Any, scope: Any = None, util: Any = None) -> float:
    """The root of the mean squared error, from the sum of squares and the number of samples."""
    return math.sqrt(_quotient(sqrerr, total_ins_num, scope, util))


def mse(sqrerr: Any, total_ins_num: Any, scope: Any = None, util: Any = None) -> float:
    """The mean squared error, from the sum of squares and the number of samples."""
    return _quotient(sqrerr, total_ins_num, scope, util)


def acc(correct: Any, total: Any, scope: Any = None, util: Any = None) -> float:
    """The share of correct predictions, from their number and that of all."""
    return _quotient(correct, total, scope, util)
