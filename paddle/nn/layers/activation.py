"""Activation layers: each calls the function of the same name in paddle.nn.functional."""

from __future__ import annotations

from .. import functional as F
from ..initializer import Constant
from ..layer import Layer, other_names
from .common import with_name


class _Activation(Layer):
    """`_shown` names the settings, kept as attributes with an underscore, that repr() shows."""

    _shown: tuple[str, ...] = ()

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def extra_repr(self):
        return with_name(", ".join(f"{key}={getattr(self, '_' + key)}" for key in self._shown), self._name)


class CELU(_Activation):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron 2017).

    Example:
        >>> paddle.nn.CELU()(paddle.to_tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    _shown = ("alpha",)

    def __init__(self, alpha=1.0, name=None):
        super().__init__(name)
        self._alpha = alpha

    def forward(self, x):
        return F.celu(x, self._alpha)


class ELU(_Activation):
    """x where positive, otherwise alpha * (exp(x) - 1) (Clevert et al., ICLR 2016).

    Example:
        >>> paddle.nn.ELU()(paddle.to_tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    _shown = ("alpha",)

    def __init__(self, alpha=1.0, name=None):
        super().__init__(name)
        self._alpha = alpha

    def forward(self, x):
        return F.elu(x, self._alpha)


class GELU(_Activation):
    """x times the normal distribution function of x (Hendrycks and Gimpel 2016).

    Args:
        approximate: use tanh in place of the error function.

    Example:
        >>> paddle.nn.GELU()(paddle.zeros([1])).tolist()
        [0.0]
    """

    _shown = ("approximate",)

    def __init__(self, approximate=False, name=None):
        super().__init__(name)
        self._approximate = approximate

    def forward(self, x):
        return F.gelu(x, self._approximate)


class GLU(_Activation):
    """First half times the sigmoid of the second half, split along `axis` (Dauphin et al., ICML 2017).

    Example:
        >>> paddle.nn.GLU()(paddle.to_tensor([2.0, 0.0])).tolist()
        [1.0]
    """

    _shown = ("axis",)

    @other_names(dim="axis")
    def __init__(self, axis=-1, name=None):
        super().__init__(name)
        self._axis = axis

    dim = property(lambda self: self._axis, lambda self, value: setattr(self, "_axis", value))

    @other_names(input="x")
    def forward(self, x):
        return F.glu(x, self._axis)


class Hardshrink(_Activation):
    """x where |x| > threshold, otherwise zero.

    Example:
        >>> paddle.nn.Hardshrink()(paddle.to_tensor([0.25, 1.0])).tolist()
        [0.0, 1.0]
    """

    _shown = ("threshold",)

    @other_names(lambd="threshold")
    def __init__(self, threshold=0.5, name=None):
        super().__init__(name)
        self._threshold = threshold

    lambd = property(lambda self: self._threshold, lambda self, value: setattr(self, "_threshold", value))

    @other_names(input="x")
    def forward(self, x):
        return F.hardshrink(x, self._threshold)


class Hardsigmoid(_Activation):
    """x / 6 + 1 / 2, cut at 0 and 1.

    Example:
        >>> paddle.nn.Hardsigmoid()(paddle.to_tensor([-3.0, 0.0, 3.0])).tolist()
        [0.0, 0.5, 1.0]
    """

    def forward(self, x):
        return F.hardsigmoid(x)


class Hardswish(_Activation):
    """x times hardsigmoid(x) (Howard et al., ICCV 2019).

    Example:
        >>> paddle.nn.Hardswish()(paddle.to_tensor([-3.0, 3.0])).tolist()
        [0.0, 3.0]
    """

    def forward(self, x):
        return F.hardswish(x)


class Hardtanh(_Activation):
    """x cut at `min` and `max`.

    Example:
        >>> paddle.nn.Hardtanh()(paddle.to_tensor([-2.0, 0.5])).tolist()
        [-1.0, 0.5]
    """

    _shown = ("min", "max")

    def __init__(self, min=-1.0, max=1.0, name=None):
        super().__init__(name)
        self._min, self._max = min, max

    def forward(self, x):
        return F.hardtanh(x, self._min, self._max)


class LeakyReLU(_Activation):
    """x where positive, otherwise negative_slope * x.

    Example:
        >>> paddle.nn.LeakyReLU(0.5)(paddle.to_tensor([-2.0, 2.0])).tolist()
        [-1.0, 2.0]
    """

    _shown = ("negative_slope",)

    def __init__(self, negative_slope=0.01, name=None):
        super().__init__(name)
        self._negative_slope = negative_slope

    def forward(self, x):
        return F.leaky_relu(x, self._negative_slope)


class LogSigmoid(_Activation):
    """The logarithm of the sigmoid.

    Example:
        >>> round(float(paddle.nn.LogSigmoid()(paddle.to_tensor(0.0))), 4)
        -0.6931
    """

    def forward(self, x):
        return F.log_sigmoid(x)


class LogSoftmax(_Activation):
    """The logarithm of softmax along `axis`.

    Example:
        >>> paddle.nn.LogSoftmax()(paddle.zeros([1])).tolist()
        [0.0]
    """

    _shown = ("axis",)

    def __init__(self, axis=-1, name=None):
        super().__init__(name)
        self._axis = axis

    def forward(self, x):
        return F.log_softmax(x, self._axis)


class Maxout(_Activation):
    """The largest of each group of `groups` neighbours along `axis` (Goodfellow et al., ICML 2013).

    Example:
        >>> paddle.nn.Maxout(2)(paddle.ones([1, 4, 2, 2])).shape
        [1, 2, 2, 2]
    """

    _shown = ("groups", "axis")

    def __init__(self, groups, axis=1, name=None):
        super().__init__(name)
        self._groups, self._axis = groups, axis

    def forward(self, x):
        return F.maxout(x, self._groups, self._axis)


class Mish(_Activation):
    """x * tanh(softplus(x)) (Misra, BMVC 2020).

    Example:
        >>> paddle.nn.Mish()(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """

    def forward(self, x):
        return F.mish(x)


class PReLU(_Activation):
    """x where positive, otherwise x times a trained slope (He et al., ICCV 2015).

    Args:
        num_parameters: 1 for one slope, or the number of channels.
        init: the first value of the slopes.
        weight_attr: ParamAttr of the slopes.
        data_format: the order of the axes, which tells where the channels are.

    Example:
        >>> paddle.nn.PReLU()(paddle.to_tensor([-4.0])).tolist()
        [-1.0]
    """

    def __init__(self, num_parameters=1, init=0.25, weight_attr=None, data_format="NCHW", name=None):
        super().__init__(name)
        self._num_parameters, self._init, self._data_format = num_parameters, init, data_format
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=Constant(init))

    def forward(self, x):
        return F.prelu(x, self._weight, self._data_format)

    def extra_repr(self):
        return with_name(
            f"num_parameters={self._num_parameters}, data_format={self._data_format}, init={self._init}, "
            f"dtype={self._dtype}",
            self._name,
        )


class RReLU(_Activation):
    """x where positive, otherwise x times a slope that is drawn from [lower, upper] in training, and their mean in
    evaluation (Xu et al. 2015).

    Example:
        >>> paddle.nn.RReLU().eval()(paddle.to_tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    def __init__(self, lower=1.0 / 8.0, upper=1.0 / 3.0, name=None):
        super().__init__(name)
        self._lower, self._upper = lower, upper

    def forward(self, x):
        return F.rrelu(x, self._lower, self._upper, self.training)

    def extra_repr(self):
        return with_name(
            f"lower={self._lower}, upper={self._upper}, training={self.training}, dtype={self._dtype}", self._name
        )


class ReLU(_Activation):
    """max(x, 0).

    Example:
        >>> paddle.nn.ReLU()(paddle.to_tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    def forward(self, x):
        return F.relu(x)


class ReLU6(_Activation):
    """x cut at 0 and 6.

    Example:
        >>> paddle.nn.ReLU6()(paddle.to_tensor([-1.0, 7.0])).tolist()
        [0.0, 6.0]
    """

    def forward(self, x):
        return F.relu6(x)


class SELU(_Activation):
    """scale * (x where positive, otherwise alpha * (exp(x) - 1)) (Klambauer et al., NeurIPS 2017).

    Example:
        >>> paddle.nn.SELU()(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """

    _shown = ("scale", "alpha")

    def __init__(self, scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717, name=None):
        super().__init__(name)
        self._scale, self._alpha = scale, alpha

    def forward(self, x):
        return F.selu(x, self._scale, self._alpha)


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)).

    Example:
        >>> paddle.nn.Sigmoid()(paddle.to_tensor([0.0])).tolist()
        [0.5]
    """

    def forward(self, x):
        return F.sigmoid(x)


class Silu(_Activation):
    """x * sigmoid(x). With `inplace` the input is overwritten.

    Example:
        >>> paddle.nn.Silu()(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """

    _shown = ("inplace",)

    def __init__(self, inplace=False, name=None):
        super().__init__(name)
        self._inplace = inplace

    def forward(self, x):
        return F.silu(x, self._inplace)


class Softmax(_Activation):
    """exp(x) over its sum along `axis`.

    Example:
        >>> paddle.nn.Softmax()(paddle.zeros([2])).tolist()
        [0.5, 0.5]
    """

    _shown = ("axis",)

    def __init__(self, axis=-1, name=None):
        super().__init__(name)
        self._axis = axis

    def forward(self, x):
        return F.softmax(x, self._axis)


class Softmax2D(_Activation):
    """Softmax over the channels of [C, H, W] or [N, C, H, W]. AssertionError for another number of axes.

    Example:
        >>> paddle.nn.Softmax2D()(paddle.zeros([2, 1, 1])).tolist()
        [[[0.5]], [[0.5]]]
    """

    def forward(self, x):
        if x.ndim not in (3, 4):
            raise AssertionError(f"(InvalidArgument) Softmax2D: x must have 3 or 4 axes, its shape is {list(x.shape)}")
        return F.softmax(x, -3)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta, and x where beta * x > threshold.

    Example:
        >>> round(float(paddle.nn.Softplus()(paddle.to_tensor(0.0))), 4)
        0.6931
    """

    _shown = ("beta", "threshold")

    def __init__(self, beta=1, threshold=20, name=None):
        super().__init__(name)
        self._beta, self._threshold = beta, threshold

    def forward(self, x):
        return F.softplus(x, self._beta, self._threshold)


class Softshrink(_Activation):
    """x moved towards zero by `threshold`, at most to zero. ValueError for a negative threshold when it is called.

    Example:
        >>> paddle.nn.Softshrink()(paddle.to_tensor([-1.0, 0.25])).tolist()
        [-0.5, 0.0]
    """

    _shown = ("threshold",)

    @other_names(lambd="threshold")
    def __init__(self, threshold=0.5, name=None):
        super().__init__(name)
        self._threshold = threshold

    lambd = property(lambda self: self._threshold, lambda self, value: setattr(self, "_threshold", value))

    @other_names(input="x")
    def forward(self, x):
        return F.softshrink(x, self._threshold)


class Softsign(_Activation):
    """x / (1 + |x|).

    Example:
        >>> paddle.nn.Softsign()(paddle.to_tensor([1.0])).tolist()
        [0.5]
    """

    def forward(self, x):
        return F.softsign(x)


class Swish(_Activation):
    """x * sigmoid(x) (Ramachandran et al. 2017).

    Example:
        >>> paddle.nn.Swish()(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """

    def forward(self, x):
        return F.swish(x)


class Tanh(_Activation):
    """The hyperbolic tangent.

    Example:
        >>> paddle.nn.Tanh()(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """

    def forward(self, x):
        return F.tanh(x)


class Tanhshrink(_Activation):
    """x - tanh(x).

    Example:
        >>> paddle.nn.Tanhshrink()(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """

    def forward(self, x):
        return F.tanhshrink(x)


class ThresholdedReLU(_Activation):
    """x where x > threshold, otherwise `value`.

    Example:
        >>> paddle.nn.ThresholdedReLU()(paddle.to_tensor([0.5, 2.0])).tolist()
        [0.0, 2.0]
    """

    _shown = ("threshold", "value")

    def __init__(self, threshold=1.0, value=0.0, name=None):
        super().__init__(name)
        self._threshold, self._value = threshold, value

    def forward(self, x):
        return F.thresholded_relu(x, self._threshold, self._value)
