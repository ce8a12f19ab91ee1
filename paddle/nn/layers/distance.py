"""Similarity and distance of pairs of vectors."""

from __future__ import annotations

from .. import functional as F
from ..layer import Layer, other_names
from .common import with_name


class CosineSimilarity(Layer):
    """The cosine of the angle between x1 and x2 along `axis`; `eps` keeps the division away from zero.

    Example:
        >>> paddle.nn.CosineSimilarity()(paddle.ones([2, 3]), paddle.ones([2, 3])).shape
        [2]
    """

    @other_names(dim="axis")
    def __init__(self, axis=1, eps=1e-8):
        super().__init__()
        self._axis, self._eps = axis, eps

    dim = property(lambda self: self._axis, lambda self, value: setattr(self, "_axis", value))

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self._axis, self._eps)

    def extra_repr(self):
        return f"axis={self._axis}, eps={self._eps}"


class PairwiseDistance(Layer):
    """The p-norm of x - y + epsilon along the last axis.

    Example:
        >>> paddle.nn.PairwiseDistance()(paddle.ones([2, 3]), paddle.zeros([2, 3])).shape
        [2]
    """

    @other_names(eps="epsilon")
    def __init__(self, p=2.0, epsilon=1e-6, keepdim=False, name=None):
        super().__init__()
        self.p, self.epsilon, self.keepdim, self.name = p, epsilon, keepdim, name

    eps = property(lambda self: self.epsilon, lambda self, value: setattr(self, "epsilon", value))
    norm = property(lambda self: self.p, lambda self, value: setattr(self, "p", value))

    @other_names(x1="x", x2="y")
    def forward(self, x, y):
        return F.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim)

    def extra_repr(self):
        text = f"p={self.p}"
        if self.epsilon != 1e-6:
            text += f", epsilon={self.epsilon}"
        if self.keepdim:
            text += f", keepdim={self.keepdim}"
        return with_name(text, self.name)
