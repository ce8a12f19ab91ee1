"""Where a recorded program can be cut over devices: pairs of products between which every device works on its own columns.

A product `x @ w` with `w` cut by columns gives a result that is cut along its last axis. The cut is followed through the
operators: as long as they treat the places of that axis independently, no communication is needed, until a product with a
weight that is cut by rows makes partial sums of it, which are added up once. Attention heads are the case where the axis is
split into (heads, width) on the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from ....engine.value import Value
from ....ir.program import Operator

_UNARY = frozenset(
    """gelu relu silu swish sigmoid tanh elu leaky_relu hardswish mish softplus relu6 dropout cast scale square sqrt rsqrt exp
    abs neg pow clip assign stop_gradient identity""".split()
)
_SLICES = frozenset("getitem slice strided_slice split chunk tensor_split roll".split())
_BINARY = frozenset("add subtract multiply divide maximum minimum".split())


@dataclass(eq=False)
class Product:
    """A product with a weight of the model.

    Attributes:
        role: "column", "row" or "".
        lengths: lengths that the number of pieces has to divide.
    """

    operator: Operator
    weight: Value
    role: str = ""
    lengths: set[int] = field(default_factory=set)


def products_of(operators: list[Operator], weights: set[Value]) -> list[Product]:
    """The products with a two-dimensional weight, in order."""
    found = []
    for operator in operators:
        arguments = operator.arguments() if operator.name in ("linear", "matmul", "mm") else {}
        weight = arguments.get("weight", arguments.get("y"))
        if isinstance(weight, Value) and weight in weights and len(weight.shape) == 2:
            if not (arguments.get("transpose_y") or arguments.get("transpose_x")):
                found.append(Product(operator, weight))
    return found


def assign_roles(operators: list[Operator], weights: set[Value], open_end: bool = False) -> list[Product]:
    """The products with their roles. With `open_end` a result that stays cut to the end is possible, such as logits."""
    products = products_of(operators, weights)
    by_operator = {p.operator: p for p in products}
    possible = set(products)
    while True:
        walk = _Walk(by_operator, possible)
        for operator in operators:
            walk.visit(operator)
        bad = set(walk.failed)
        closed = {s for row in walk.rows.values() for s in row}
        if not open_end:
            bad |= {p for p in walk.columns if p not in closed}
        if not bad & possible:
            break
        possible -= bad
    for product in walk.columns:
        product.role = "column"
        product.lengths = walk.lengths[product]
    for product, sources in walk.rows.items():
        product.role = "row"
        product.lengths = set().union(*(walk.lengths[s] for s in sources))
    return products


class _Walk:
    """Follows cuts through operators."""

    def __init__(self, products: dict[Operator, Product], possible: set[Product]):
        self.products, self.possible = products, possible
        self.cut: dict[Value, tuple[int, frozenset]] = {}
        self.columns: list[Product] = []
        self.rows: dict[Product, frozenset] = {}
        self.failed: set[Product] = set()
        self.lengths: dict[Product, set[int]] = {}

    def visit(self, operator: Operator) -> None:
        product = self.products.get(operator)
        if product is not None:
            self._product(product)
            return
        given = [self.cut[v] for v in operator.inputs if isinstance(v, Value) and v in self.cut]
        if not given:
            return
        sources = frozenset().union(*(s for _, s in given))
        if "cross_entropy" in operator.name:  # sums over the classes, wherever they are
            return
        axis = self._axis(operator)
        for value in operator.outputs:
            if axis is None or not axis < len(value.shape):
                self.failed |= sources
                return
            self.cut[value] = axis, sources
            for source in sources:
                self.lengths[source].add(value.trials[0][axis])

    def _product(self, product: Product) -> None:
        arguments = product.operator.arguments()
        x = arguments.get("x", arguments.get("input"))
        if x in self.cut:
            axis, sources = self.cut[x]
            if axis == len(x.shape) - 1:
                self.rows[product] = sources
            else:
                self.failed |= sources
        elif product in self.possible:
            out = product.operator.outputs[0]
            self.columns.append(product)
            self.lengths[product] = {out.trials[0][-1]}
            self.cut[out] = len(out.shape) - 1, frozenset([product])

    def _axis(self, operator: Operator) -> int | None:
        """Along which axis the results are cut, None where places depend on each other."""
        name, out = operator.name, operator.outputs[0]
        inputs = [v for v in operator.inputs if isinstance(v, Value)]
        cuts = [self.cut[v][0] if v in self.cut else None for v in inputs]
        arguments = operator.arguments()
        if name in _UNARY and len(inputs) >= 1 and cuts[0] is not None and out.shape == inputs[0].shape:
            return cuts[0]
        if name in _BINARY or name == "swiglu" and len(inputs) == 2:
            return self._joint(inputs, cuts, out)
        if name in ("reshape", "unsqueeze", "squeeze", "flatten"):
            return _reshaped(inputs[0].trials[0], cuts[0], out.trials[0])
        if name in _SLICES and len(inputs) == 1 and len(out.shape) == len(inputs[0].shape):  # of other axes
            axis = cuts[0]
            return axis if out.trials[0][axis] == inputs[0].trials[0][axis] else None
        if name in ("concat", "stack") and len(set(cuts)) == 1:
            axis = arguments.get("axis", 0)
            if name == "concat" and isinstance(axis, int):
                return cuts[0] if axis % len(out.shape) != cuts[0] else None
        if name == "repeat_interleave":  # heads that share keys and values
            return cuts[0]
        if name == "transpose":
            order = arguments.get("perm")
            return list(order).index(cuts[0]) if order is not None and cuts[0] in list(order) else None
        if name == "attention":
            return 2 if len(set(cuts[:3])) == 1 and cuts[0] == 2 else None
        if name in ("softmax", "log_softmax"):
            axis = arguments.get("axis", -1)
            return cuts[0] if isinstance(axis, int) and axis % len(out.shape) != cuts[0] else None
        if name == "matmul" and len(inputs) == 2 and cuts[0] == cuts[1] and cuts[0] is not None:
            return cuts[0] if cuts[0] < len(out.shape) - 2 else None
        return None

    @staticmethod
    def _joint(inputs: list[Value], cuts: list, out: Value) -> int | None:
        found = {len(out.shape) - len(v.shape) + c for v, c in zip(inputs, cuts) if c is not None}
        if len(found) != 1:
            return None
        axis = found.pop()
        for value, cut in zip(inputs, cuts):
            own = axis - (len(out.shape) - len(value.shape))
            if cut is None and own >= 0 and value.trials[0][own] != 1:
                return None
        return axis


def _reshaped(before: Any, axis: int | None, after: Any) -> int | None:
    if axis is None:
        return None
    lead = math.prod(int(n) for n in before[:axis])
    for j in range(len(after)):
        if math.prod(int(n) for n in after[:j]) == lead and int(after[j]) > 1:
            a, b = int(before[axis]), int(after[j])
            odd = b % 2 and b < a  # queries, keys and values in one, say: pieces would not fall on heads
            return j if (a % b == 0 or b % a == 0) and not odd else None
    return None


def share_cut(operators: list[Operator], products: list[Product]) -> float:
    """The part of the bytes of all results that lies between column and row products."""
    walk = _Walk({p.operator: p for p in products}, {p for p in products if p.role == "column"})
    total = cut = 0
    for operator in operators:
        walk.visit(operator)
        for value in operator.outputs:
            n = math.prod(value.trials[0]) * value.dtype.itemsize
            total += n
            cut += n if value in walk.cut else 0
    return cut / total if total else 0.0
