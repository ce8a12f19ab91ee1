"""Loss layers: each calls the function of the same subject in paddle.nn.functional.

`reduction` is "mean", "sum" or "none" in all of them.
"""

from __future__ import annotations

import itertools
from typing import Any

from ...engine import errors
from ...ops.joining import concat
from .. import functional as F
from ..layer import Layer, other_names


def _check_reduction(layer: str, reduction: Any) -> Any:
    if reduction not in ("mean", "sum", "none"):
        raise errors.ValueError_(f"{layer}: reduction must be 'mean', 'sum' or 'none', got {reduction!r}")
    return reduction


class CrossEntropyLoss(Layer):
    """Cross entropy between labels and the softmax of the input.

    Args:
        weight: a factor for each class, `[C]`.
        ignore_index: a label that does not count.
        reduction: "mean", "sum" or "none".
        soft_label: the labels are distributions over the classes.
        axis: the axis of the classes.
        use_softmax: False when the input holds probabilities.
        label_smoothing: how much of each label is spread over all classes (Szegedy et al., CVPR 2016).

    Example:
        >>> float(paddle.nn.CrossEntropyLoss()(paddle.zeros([2, 1]), paddle.to_tensor([0, 0])))
        0.0
    """

    def __init__(
        self,
        weight=None,
        ignore_index=-100,
        reduction="mean",
        soft_label=False,
        axis=-1,
        use_softmax=True,
        label_smoothing=0.0,
        name=None,
    ):
        super().__init__()
        self.weight, self.reduction, self.ignore_index, self.soft_label = weight, reduction, ignore_index, soft_label
        self.axis, self.use_softmax, self.label_smoothing, self.name = axis, use_softmax, label_smoothing, name

    @other_names(target="label")
    def forward(self, input, label):
        return F.cross_entropy(
            input,
            label,
            self.weight,
            self.ignore_index,
            self.reduction,
            self.soft_label,
            self.axis,
            self.use_softmax,
            self.label_smoothing,
        )


class NLLLoss(Layer):
    """Minus the input (logarithms of probabilities) at the label.

    Args:
        weight: a factor for each class, `[C]`.
        ignore_index: a label that does not count.
        reduction: "mean", "sum" or "none".

    Example:
        >>> float(paddle.nn.NLLLoss()(paddle.to_tensor([[0.0, -2.0]]), paddle.to_tensor([1])))
        2.0
    """

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", name=None):
        super().__init__()
        self._weight, self._ignore_index, self._name = weight, ignore_index, name
        self._reduction = _check_reduction("NLLLoss", reduction)

    def forward(self, input, label):
        return F.nll_loss(input, label, self._weight, self._ignore_index, self._reduction)


class MSELoss(Layer):
    """(input - label) squared.

    Example:
        >>> float(paddle.nn.MSELoss()(paddle.ones([2]), paddle.zeros([2])))
        1.0
    """

    def __init__(self, reduction="mean"):
        super().__init__()
        self.reduction = _check_reduction("MSELoss", reduction)

    def forward(self, input, label):
        return F.mse_loss(input, label, self.reduction)


class L1Loss(Layer):
    """|input - label|.

    Example:
        >>> round(float(paddle.nn.L1Loss()(paddle.ones([2]), paddle.zeros([2]))), 4)
        1.0
    """

    def __init__(self, reduction="mean", name=None):
        super().__init__()
        self.reduction, self.name = _check_reduction("L1Loss", reduction), name

    def forward(self, input, label):
        return F.l1_loss(input, label, self.reduction)


class SmoothL1Loss(Layer):
    """Quadratic where |input - label| < delta and linear beyond (Huber 1964).

    Args:
        reduction: "mean", "sum" or "none".
        delta: where the parts meet.
        is_huber: False divides by delta.

    Example:
        >>> round(float(paddle.nn.SmoothL1Loss()(paddle.ones([2]), paddle.zeros([2]))), 4)
        0.5
    """

    def __init__(self, reduction="mean", delta=1.0, is_huber=True, name=None):
        super().__init__()
        self.reduction, self.delta, self.is_huber, self.name = reduction, delta, is_huber, name

    @other_names(target="label")
    def forward(self, input, label):
        return F.smooth_l1_loss(input, label, self.reduction, self.delta, self.is_huber)


class BCELoss(Layer):
    """Cross entropy of probabilities of two classes; `weight` is a factor for each sample.

    Example:
        >>> round(float(paddle.nn.BCELoss()(paddle.full([2], 0.5), paddle.ones([2]))), 4)
        0.6931
    """

    def __init__(self, weight=None, reduction="mean", name=None):
        super().__init__()
        self.weight, self.reduction, self.name = weight, _check_reduction("BCELoss", reduction), name

    def forward(self, input, label):
        return F.binary_cross_entropy(input, label, self.weight, self.reduction)


class BCEWithLogitsLoss(Layer):
    """Cross entropy of the sigmoid of logits; `pos_weight` is a factor for positive labels.

    Example:
        >>> round(float(paddle.nn.BCEWithLogitsLoss()(paddle.zeros([2]), paddle.ones([2]))), 4)
        0.6931
    """

    def __init__(self, weight=None, reduction="mean", pos_weight=None, name=None):
        super().__init__()
        self.weight, self.pos_weight, self.name = weight, pos_weight, name
        self.reduction = _check_reduction("BCEWithLogitsLoss", reduction)

    def forward(self, logit, label):
        return F.binary_cross_entropy_with_logits(logit, label, self.weight, self.reduction, self.pos_weight)


class KLDivLoss(Layer):
    """label * (log(label) - input), `input` being logarithms; with `log_target` so is the label. `reduction` may also be
    "batchmean".

    Example:
        >>> round(float(paddle.nn.KLDivLoss()(paddle.zeros([2]), paddle.ones([2]))), 4)
        0.0
    """

    def __init__(self, reduction="mean", log_target=False):
        super().__init__()
        self.reduction, self.log_target = reduction, log_target

    def forward(self, input, label):
        return F.kl_div(input, label, self.reduction, self.log_target)


class MarginRankingLoss(Layer):
    """max(0, margin - label * (input - other)).

    Example:
        >>> round(float(paddle.nn.MarginRankingLoss()(paddle.zeros([2]), paddle.ones([2]), paddle.ones([2]))), 4)
        1.0
    """

    def __init__(self, margin=0.0, reduction="mean", name=None):
        super().__init__()
        self.margin, self.reduction, self.name = margin, _check_reduction("MarginRankingLoss", reduction), name

    def forward(self, input, other, label):
        return F.margin_ranking_loss(input, other, label, self.margin, self.reduction)


class HingeEmbeddingLoss(Layer):
    """The input where the label is 1, max(0, margin - input) where it is -1.

    Example:
        >>> round(float(paddle.nn.HingeEmbeddingLoss()(paddle.ones([2]), paddle.ones([2]))), 4)
        1.0
    """

    def __init__(self, margin=1.0, reduction="mean", name=None):
        super().__init__()
        self.margin, self.reduction, self.name = margin, reduction, name

    def forward(self, input, label):
        return F.hinge_embedding_loss(input, label, self.margin, self.reduction)


class CosineEmbeddingLoss(Layer):
    """1 - cos where the label is 1, max(0, cos - margin) where it is -1.

    Example:
        >>> round(float(paddle.nn.CosineEmbeddingLoss()(paddle.ones([1, 2]), paddle.ones([1, 2]), paddle.ones([1]))), 4)
        0.0
    """

    def __init__(self, margin=0, reduction="mean", name=None):
        super().__init__()
        if not -1 <= margin <= 1:
            raise errors.ValueError_(f"CosineEmbeddingLoss: margin must lie in [-1, 1], got {margin}")
        self.margin, self.reduction, self.name = margin, _check_reduction("CosineEmbeddingLoss", reduction), name

    def forward(self, input1, input2, label):
        return F.cosine_embedding_loss(input1, input2, label, self.margin, self.reduction)


class TripletMarginLoss(Layer):
    """max(0, margin + distance to `positive` - distance to `negative`) (Balntas et al., BMVC 2016).

    Args:
        margin: the margin.
        p: of the norm.
        epsilon: added to the differences.
        swap: take the distance from `positive` to `negative` where that is smaller.
        reduction: "mean", "sum" or "none".

    Example:
        >>> round(float(paddle.nn.TripletMarginLoss()(paddle.zeros([1, 2]), paddle.zeros([1, 2]), paddle.zeros([1, 2]))), 4)
        1.0
    """

    def __init__(self, margin=1.0, p=2.0, epsilon=1e-6, swap=False, reduction="mean", name=None):
        super().__init__()
        self.margin, self.p, self.epsilon, self.swap, self.name = margin, p, epsilon, swap, name
        self.reduction = _check_reduction("TripletMarginLoss", reduction)

    def forward(self, input, positive, negative):
        return F.triplet_margin_loss(
            input, positive, negative, self.margin, self.p, self.epsilon, self.swap, self.reduction
        )


class TripletMarginWithDistanceLoss(Layer):
    """TripletMarginLoss with a distance of one's own, by default the Euclidean one.

    Example:
        >>> x = paddle.zeros([1, 2])
        >>> float(paddle.nn.TripletMarginWithDistanceLoss(margin=0.5)(x, x, x))
        0.5
    """

    def __init__(self, distance_function=None, margin=1.0, swap=False, reduction="mean", name=None):
        super().__init__()
        self.distance_function, self.margin, self.swap, self.name = distance_function, margin, swap, name
        self.reduction = _check_reduction("TripletMarginWithDistanceLoss", reduction)

    def forward(self, input, positive, negative):
        return F.triplet_margin_with_distance_loss(
            input, positive, negative, self.distance_function, self.margin, self.swap, self.reduction
        )


class SoftMarginLoss(Layer):
    """log(1 + exp(-label * input)).

    Example:
        >>> round(float(paddle.nn.SoftMarginLoss()(paddle.zeros([2]), paddle.ones([2]))), 4)
        0.6931
    """

    def __init__(self, reduction="mean", name=None):
        super().__init__()
        self.reduction, self.name = _check_reduction("SoftMarginLoss", reduction), name

    def forward(self, input, label):
        return F.soft_margin_loss(input, label, self.reduction)


class MultiMarginLoss(Layer):
    """max(0, margin - input[label] + input[j]) to the power p, over the other classes j.

    Example:
        >>> round(float(paddle.nn.MultiMarginLoss()(paddle.zeros([1, 2]), paddle.to_tensor([1]))), 4)
        0.5
    """

    def __init__(self, p=1, margin=1.0, weight=None, reduction="mean", name=None):
        super().__init__()
        self.p, self.margin, self.weight, self.name = p, margin, weight, name
        self.reduction = _check_reduction("MultiMarginLoss", reduction)

    def forward(self, input, label):
        return F.multi_margin_loss(input, label, self.p, self.margin, self.weight, self.reduction)


class MultiLabelMarginLoss(Layer):
    """MultiMarginLoss where each sample has several labels, filled up with -1.

    Example:
        >>> round(float(paddle.nn.MultiLabelMarginLoss()(paddle.zeros([1, 2]), paddle.to_tensor([[1, -1]]))), 4)
        0.5
    """

    def __init__(self, reduction="mean", name=None):
        super().__init__()
        self.reduction, self.name = _check_reduction("MultiLabelMarginLoss", reduction), name

    def forward(self, input, label):
        return F.multi_label_margin_loss(input, label, self.reduction)


class MultiLabelSoftMarginLoss(Layer):
    """The mean over the classes of the cross entropy of sigmoids; `weight` is a factor for each class.

    Example:
        >>> round(float(paddle.nn.MultiLabelSoftMarginLoss()(paddle.zeros([1, 2]), paddle.ones([1, 2]))), 4)
        0.6931
    """

    def __init__(self, weight=None, reduction="mean", name=None):
        super().__init__()
        self.weight, self.reduction, self.name = weight, _check_reduction("MultiLabelSoftMarginLoss", reduction), name

    def forward(self, input, label):
        return F.multi_label_soft_margin_loss(input, label, self.weight, self.reduction)


class PoissonNLLLoss(Layer):
    """Minus the logarithm of the Poisson probability of the label.

    Args:
        log_input: the input is the logarithm of the rate.
        full: add Stirling's term.
        epsilon: keeps the logarithm away from zero.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `epsilon` is not positive.

    Example:
        >>> round(float(paddle.nn.PoissonNLLLoss()(paddle.zeros([2]), paddle.ones([2]))), 4)
        1.0
    """

    def __init__(self, log_input=True, full=False, epsilon=1e-8, reduction="mean", name=None):
        super().__init__()
        if epsilon <= 0:
            raise errors.ValueError_(f"PoissonNLLLoss: epsilon must be positive, got {epsilon}")
        self._log_input, self._full, self._epsilon, self._name = log_input, full, epsilon, name
        self._reduction = _check_reduction("PoissonNLLLoss", reduction)

    def forward(self, input, label):
        return F.poisson_nll_loss(input, label, self._log_input, self._full, self._epsilon, self._reduction)


class GaussianNLLLoss(Layer):
    """Minus the logarithm of the normal density of the label, with mean `input` and the given variance.

    Args:
        full: add the constant term.
        epsilon: the least variance.
        reduction: "mean", "sum" or "none".

    Example:
        >>> round(float(paddle.nn.GaussianNLLLoss()(paddle.ones([2]), paddle.ones([2]), paddle.ones([2]))), 4)
        0.0
    """

    def __init__(self, full=False, epsilon=1e-6, reduction="mean", name=None):
        super().__init__()
        self.full, self.epsilon = full, epsilon
        self.reduction, self.name = _check_reduction("GaussianNLLLoss", reduction), name

    def forward(self, input, label, variance):
        return F.gaussian_nll_loss(input, label, variance, self.full, self.epsilon, self.reduction)


class CTCLoss(Layer):
    """Minus the logarithm of the probability of a label sequence under all alignments (Graves et al., ICML 2006).

    Args:
        blank: the class that stands for nothing.
        reduction: "mean", "sum" or "none".
        zero_infinity: an impossible alignment costs nothing instead of infinity.

    Example:
        >>> paddle.nn.CTCLoss(blank=0).reduction
        'mean'
    """

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs, labels, input_lengths, label_lengths, norm_by_times=False):
        return F.ctc_loss(
            log_probs,
            labels,
            input_lengths,
            label_lengths,
            self.blank,
            self.reduction,
            norm_by_times,
            self.zero_infinity,
        )


class RNNTLoss(Layer):
    """The loss of transducers (Graves 2012), with FastEmit regularization (Yu et al. 2021).

    Args:
        blank: the class that stands for nothing.
        fastemit_lambda: how much early output is favoured.
        reduction: "mean", "sum" or "none".

    Example:
        >>> paddle.nn.RNNTLoss().fastemit_lambda
        0.001
    """

    def __init__(self, blank=0, fastemit_lambda=0.001, reduction="mean", name=None):
        super().__init__()
        self.blank, self.fastemit_lambda, self.reduction, self.name = blank, fastemit_lambda, reduction, name

    def forward(self, input, label, input_lengths, label_lengths):
        return F.rnnt_loss(input, label, input_lengths, label_lengths, self.blank, self.fastemit_lambda, self.reduction)


class HSigmoidLoss(Layer):
    """Cross entropy over a binary tree of classes (Morin and Bengio, AISTATS 2005).

    Args:
        feature_size: length of a sample.
        num_classes: number of classes (with a tree of one's own: of inner nodes).
        weight_attr: of the weight `[num_classes - 1, feature_size]`.
        bias_attr: of the bias `[num_classes - 1, 1]`; False for none.
        is_custom: the tree comes with each call as `path_table` and `path_code`.
        is_sparse: ask for sparse gradients.

    Raises:
        ValueError: fewer than two classes.

    Example:
        >>> paddle.nn.HSigmoidLoss(4, 6).weight.shape
        [5, 4]
    """

    def __init__(
        self, feature_size, num_classes, weight_attr=None, bias_attr=None, is_custom=False, is_sparse=False, name=None
    ):
        super().__init__()
        if num_classes < 2 and not is_custom:
            raise errors.ValueError_(f"HSigmoidLoss: num_classes must be 2 or more, got {num_classes}")
        self._feature_size, self._num_classes = feature_size, num_classes
        self._is_custom, self._is_sparse = is_custom, is_sparse
        nodes = num_classes if is_custom else num_classes - 1
        self.weight = self.create_parameter([nodes, feature_size], weight_attr)
        self.bias = self.create_parameter([nodes, 1], bias_attr, is_bias=True)

    def forward(self, input, label, path_table=None, path_code=None):
        return F.hsigmoid_loss(
            input, label, self._num_classes, self.weight, self.bias, path_table, path_code, self._is_sparse
        )


class AdaptiveLogSoftmaxWithLoss(Layer):
    """Softmax over many classes in clusters, of which frequent ones are cheap (Grave et al., ICML 2017).

    Args:
        in_features: length of a sample.
        n_classes: number of classes, the frequent ones first.
        cutoffs: where clusters end, increasing, each below n_classes.
        weight_attr, bias_attr: of the weights, and of the bias of the head.
        div_value: by how much each cluster's inner size shrinks.
        head_bias: the head has a bias.

    Raises:
        ValueError: cutoffs of another form.

    Example:
        >>> paddle.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]).log_prob(paddle.ones([3, 8])).shape
        [3, 20]
    """

    def __init__(
        self,
        in_features,
        n_classes,
        cutoffs,
        weight_attr=None,
        bias_attr=None,
        div_value=4.0,
        head_bias=False,
        name=None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if (
            not cutoffs
            or cutoffs != sorted(set(cutoffs))
            or any(int(c) != c for c in cutoffs)
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
        ):
            raise errors.ValueError_(
                "AdaptiveLogSoftmaxWithLoss: cutoffs must be increasing integers between 1 and n_classes - 1, "
                f"got {cutoffs} with n_classes={n_classes}"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs, self.div_value = [*cutoffs, n_classes], div_value
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head_weight = self.create_parameter([in_features, self.head_size], weight_attr)
        self.head_bias = self.create_parameter([self.head_size], bias_attr, is_bias=True) if head_bias else None
        self.tail_weights = []
        for i, (start, end) in enumerate(itertools.pairwise(self.cutoffs)):
            inner = int(in_features // div_value ** (i + 1))
            pair = [self.create_parameter(shape, weight_attr) for shape in ([in_features, inner], [inner, end - start])]
            # Officially the tails are not registered, so that they neither train nor save; here they are.
            for j, weight in enumerate(pair):
                self.add_parameter(f"tail_{i}_{j}", weight)
            self.tail_weights.append(pair)

    def forward(self, input, label):
        return F.adaptive_log_softmax_with_loss(
            input, label, self.head_weight, self.tail_weights, self.cutoffs, self.head_bias
        )

    def log_prob(self, input):
        """Logarithms of the probabilities of all classes, `[N, n_classes]`."""
        head = F.linear(input, self.head_weight, self.head_bias)
        head = F.log_softmax(head, axis=1)
        parts = [head[:, : self.shortlist_size]]
        for i, (inner, outer) in enumerate(self.tail_weights):
            tail = F.log_softmax(F.linear(F.linear(input, inner), outer), axis=1)
            parts.append(tail + head[:, self.shortlist_size + i : self.shortlist_size + i + 1])
        return concat(parts, axis=1)

    def predict(self, input):
        """The most probable class of each sample, `[N]`."""
        return self.log_prob(input).argmax(axis=1)
