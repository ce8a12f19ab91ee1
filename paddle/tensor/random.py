"""Random numbers, under the official module path; the functions are those of `paddle`."""

from ..ops.random import (
    bernoulli_,
    binomial,
    exponential_,
    log_normal,
    log_normal_,
    multinomial,
    normal,
    normal_,
    poisson,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    random_,
    randperm,
    standard_normal,
    uniform,
    uniform_,
)
