"""Searching and sorting, under the official module path; the functions are those of `paddle`."""

from ..ops.sampling import top_p_sampling
from ..ops.scatter import index_sample, index_select
from ..ops.search import argmax, argmin, argsort, bucketize, kthvalue, mode, msort, searchsorted, sort, topk
from ..ops.selection import argwhere, masked_select, nonzero, where, where_
