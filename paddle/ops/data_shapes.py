"""The results of functions whose shapes depend on data, for programs: (trial shapes of the inputs, number of the trial,
attributes) -> (shape, type) of the result, or a list of them. Lengths that only data tell are the trial lengths."""

from __future__ import annotations

import numpy as np

from ..engine.value import PROBES


def masked_select(specs, trial):
    return (PROBES[trial],), specs[0].dtype


def nonzero(specs, trial, as_tuple):
    n = len(specs[0].shape)
    return [((PROBES[trial],), np.int64)] * n if as_tuple else ((PROBES[trial], n), np.int64)


def unique(specs, trial, return_index, return_inverse, return_counts, axis, dtype, sorted):
    (x,), n = specs, PROBES[trial]
    whole = x.shape if axis is None else (x.shape[axis],)
    positions = [((n,), dtype)] * return_index + [((int(np.prod(whole)),), dtype)] * return_inverse
    return _distinct(x, n, axis, positions + [((n,), dtype)] * return_counts)


def unique_consecutive(specs, trial, return_inverse, return_counts, axis, dtype):
    (x,), n = specs, PROBES[trial]
    whole = x.shape if axis is None else (x.shape[axis],)
    return _distinct(x, n, axis, [((int(np.prod(whole)),), dtype)] * return_inverse + [((n,), dtype)] * return_counts)


def _distinct(x, n, axis, rest):
    shape = (n,) if axis is None else (*x.shape[:axis], n, *x.shape[axis:][1:])
    rest = [(s, np.dtype(getattr(d, "name", d))) for s, d in rest]
    return [(shape, x.dtype), *rest] if rest else (shape, x.dtype)


def bincount(specs, trial, *rest):
    dtype = np.int64 if len(specs) == 1 else np.float32 if specs[1].dtype == np.float32 else np.float64
    return (PROBES[trial],), dtype
