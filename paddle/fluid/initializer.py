"""Initializers by their names before version 2."""

from ..nn.initializer import (
    Assign,
    Bilinear,
    Constant,
    Initializer,
    KaimingNormal,
    KaimingUniform,
    Normal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    set_global_initializer,
)

__all__ = [
    "Bilinear",
    "BilinearInitializer",
    "Constant",
    "ConstantInitializer",
    "Initializer",
    "MSRA",
    "MSRAInitializer",
    "Normal",
    "NormalInitializer",
    "NumpyArrayInitializer",
    "TruncatedNormal",
    "TruncatedNormalInitializer",
    "Uniform",
    "UniformInitializer",
    "Xavier",
    "XavierInitializer",
    "set_global_initializer",
]


class ConstantInitializer(Constant):
    """`paddle.nn.initializer.Constant`."""

    def __init__(self, value=0.0, force_cpu=False):
        super().__init__(value)


class UniformInitializer(Uniform):
    """`paddle.nn.initializer.Uniform`."""

    def __init__(self, low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0):
        super().__init__(low, high)


class NormalInitializer(Normal):
    """`paddle.nn.initializer.Normal`."""

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        super().__init__(loc, scale)


class TruncatedNormalInitializer(TruncatedNormal):
    """`paddle.nn.initializer.TruncatedNormal`, cut at two standard deviations."""

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        super().__init__(loc, scale)


def XavierInitializer(uniform: bool = True, fan_in=None, fan_out=None, seed: int = 0) -> Initializer:
    """`paddle.nn.initializer.XavierUniform` or `XavierNormal`."""
    return (XavierUniform if uniform else XavierNormal)(fan_in, fan_out)


def MSRAInitializer(uniform: bool = True, fan_in=None, seed: int = 0) -> Initializer:
    """`paddle.nn.initializer.KaimingUniform` or `KaimingNormal`."""
    return (KaimingUniform if uniform else KaimingNormal)(fan_in)


NumpyArrayInitializer, BilinearInitializer = Assign, Bilinear
Constant, Uniform, Normal = ConstantInitializer, UniformInitializer, NormalInitializer  # type: ignore[misc,assignment]
TruncatedNormal, Xavier, MSRA = TruncatedNormalInitializer, XavierInitializer, MSRAInitializer  # type: ignore[misc,assignment]
