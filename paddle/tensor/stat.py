"""Statistics, under the official module path; the functions are those of `paddle`."""

from ..ops.attributes import numel
from ..ops.manipulation import cast
from ..ops.reduction import mean, std, var
from ..ops.statistics import median, nanmedian, nanquantile, quantile
