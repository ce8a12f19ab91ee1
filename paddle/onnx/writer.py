"""What a model of ONNX is written with: nodes, constants, lengths that stay open, subgraphs.

A `Ref` is the name of a tensor of the model, with its type and shape. Lengths that are not known are the symbols of
`jax.export` and expressions of them; where a node needs them as numbers, `shape_of` and `length` compute them from the
shapes of inputs while the model runs.
"""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax.export
import numpy as np

from ..utils.imports import try_import

__all__ = ["Ref", "Unsupported", "Writer", "package"]

KEPT_APART = 1024  # bytes from which a constant is shared only with itself, not compared with others


def package() -> Any:
    """The package onnx. ImportError, which says what to install, where it is missing."""
    onnx = try_import("onnx", "paddle.onnx needs the package 'onnx': pip install onnx")
    try_import("onnx.helper")
    try_import("onnx.numpy_helper")
    return onnx


class Unsupported(Exception):
    """Something has no translation; the text says what."""


class Ref(str):
    """The name of a tensor of the model, with its shape (ints and expressions of open lengths) and NumPy dtype."""

    shape: tuple
    dtype: np.dtype

    def __new__(cls, name: str, shape: Iterable[Any], dtype: Any) -> Ref:
        self = super().__new__(cls, name)
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        return self

    @property
    def ndim(self) -> int:
        return len(self.shape)


def is_open(shape: Iterable[Any]) -> bool:
    """Whether a shape holds a length that is not known."""
    return not all(isinstance(n, (int, np.integer)) for n in shape)


class Writer:
    """The nodes and constants of a model that is being written.

    Args:
        opset: the version of the operator set.
    """

    def __init__(self, opset: int):
        self.onnx = package()
        self.opset = opset
        self.nodes: list[Any] = []
        self.arrays: dict[str, np.ndarray] = {}  # initializers, in one place for all subgraphs
        self.scope = jax.export.SymbolicScope()
        self._names: dict[str, int] = {}
        self._constants: dict[tuple, str] = {}
        self._symbols: dict[str, tuple[Ref, int]] = {}  # where an open length is read: a tensor and an axis
        self._lengths: dict[str, str] = {}  # tensors of shape [1] with open lengths that are there already
        self._shapes: dict[str, str] = {}  # the results of Shape

    # ---- names and types ----
    def name(self, stem: str) -> str:
        """A name that is free."""
        number = self._names.get(stem)
        self._names[stem] = 0 if number is None else number + 1
        return self.name(f"{stem}_{number}") if number is not None else stem

    def kind(self, dtype: Any) -> int:
        """The number that ONNX has for a type. Unsupported for one that it does not have."""
        try:
            return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        except (KeyError, ValueError):
            raise Unsupported(f"the type {np.dtype(dtype).name}") from None

    def typed(self, name: str, shape: Iterable[Any] | None, dtype: Any) -> Any:
        """The declaration of a tensor."""
        lengths = None if shape is None else [int(n) if isinstance(n, (int, np.integer)) else str(n) for n in shape]
        return self.onnx.helper.make_tensor_value_info(name, self.kind(dtype), lengths)

    # ---- nodes ----
    def __call__(self, operator: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; returns the name of its output, a list of them where there are several. Inputs are names, arrays
        (which become constants), or None for what is absent."""
        given = ["" if x is None else x if isinstance(x, str) else self.constant(x) for x in inputs]
        while given and not given[-1]:
            given.pop()
        made = [self.name(operator.lower()) for _ in range(outputs)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        self.nodes.append(self.onnx.helper.make_node(operator, given, made, **attributes))
        return made[0] if outputs == 1 else made

    def constant(self, array: Any, dtype: Any = None, name: str | None = None) -> Ref:
        """An array or a number as a constant of the model; equal ones are one, except those that have a name."""
        array = np.asarray(array) if dtype is None else np.asarray(array, dtype)
        self.kind(array.dtype)
        if name is not None or array.nbytes >= KEPT_APART:
            key: tuple = (id(array),)
        else:
            key = (array.dtype.str, array.dtype.name, array.shape, array.tobytes())
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self.name(name or "constant")
            self.arrays[found] = array
        return Ref(found, array.shape, array.dtype)

    def array(self, x: Any) -> np.ndarray | None:
        """The elements of a constant, None for what is computed."""
        return x if isinstance(x, np.ndarray) else self.arrays.get(x) if isinstance(x, str) else None

    def ints(self, *values: Any) -> Ref:
        return self.constant(np.array(values, np.int64))

    def cast(self, x: Any, dtype: Any) -> Ref:
        """A tensor in another type."""
        dtype = np.dtype(dtype)
        if not isinstance(x, str):
            return self.constant(np.asarray(x).astype(dtype))
        if isinstance(x, Ref) and x.dtype == dtype:
            return x
        return Ref(self("Cast", x, to=self.kind(dtype)), getattr(x, "shape", ()), dtype)

    # ---- lengths ----
    def symbols(self, name: str, shape: Iterable[Any]) -> tuple:
        """A shape with a symbol for each length that is negative or None, and nothing said about the others."""
        words = [str(int(n)) if n is not None and int(n) >= 0 else f"{name}_{i}" for i, n in enumerate(shape)]
        return tuple(jax.export.symbolic_shape(", ".join(words), scope=self.scope)) if words else ()

    def know(self, ref: Ref) -> Ref:
        """Let open lengths that are plain symbols be read from this tensor, where nothing else has them yet."""
        for axis, n in enumerate(ref.shape):
            if not isinstance(n, (int, np.integer)) and str(n).isidentifier():
                self._symbols.setdefault(str(n), (ref, axis))
        return ref

    def length(self, n: Any) -> str:
        """A length as a tensor of shape [1]."""
        if isinstance(n, (int, np.integer)):
            return self.ints(int(n))
        return self._evaluate(ast.parse(str(n).replace("^", "**"), mode="eval").body)

    def _evaluate(self, tree: ast.AST) -> str:
        if isinstance(tree, ast.Constant):
            return self.ints(tree.value)
        key = ast.unparse(tree)
        if key not in self._lengths:
            self._lengths[key] = self._computed(tree)
        return self._lengths[key]

    def _computed(self, tree: Any) -> str:
        if isinstance(tree, ast.Name):
            if tree.id not in self._symbols:
                raise Unsupported(f"the length {tree.id}, which nothing tells")
            tensor, axis = self._symbols[tree.id]
            return self("Gather", self._whole_shape(tensor), self.ints(axis))
        if isinstance(tree, ast.UnaryOp):
            return self("Neg", self._evaluate(tree.operand))
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow):
            return self("Pow", self._evaluate(tree.left), self._evaluate(tree.right))
        if isinstance(tree, ast.BinOp):
            a, b = self._evaluate(tree.left), self._evaluate(tree.right)
            return self({ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul"}[type(tree.op)], a, b)
        if isinstance(tree, ast.Call):
            a, b = map(self._evaluate, tree.args)
            kind = tree.func.id  # type: ignore[attr-defined]
            if kind == "floordiv":  # Div rounds toward zero
                return self("Div", self("Sub", a, self("Mod", a, b)), b)
            return self({"mod": "Mod", "max": "Max", "min": "Min"}[kind], a, b)
        raise Unsupported(f"the length {ast.unparse(tree)}")

    def _whole_shape(self, tensor: Ref) -> str:
        if tensor not in self._shapes:
            self._shapes[tensor] = self("Shape", tensor)
        return self._shapes[tensor]

    def shape_of(self, shape: Iterable[Any]) -> str:
        """A shape as a tensor."""
        shape = list(shape)
        if not is_open(shape):
            return self.ints(*shape)
        for tensor, axis in self._symbols.values():
            if axis == 0 and list(tensor.shape) == shape:
                return self._whole_shape(tensor)
        parts: list[str] = []
        run: list[int] = []
        for n in [*shape, None]:
            if isinstance(n, (int, np.integer)):
                run.append(int(n))
                continue
            if run:
                parts.append(self.ints(*run))
                run = []
            if n is not None:
                parts.append(self.length(n))
        return parts[0] if len(parts) == 1 else self("Concat", *parts, axis=0)

    def scalar(self, n: Any) -> str:
        """A length as a tensor without axes."""
        if isinstance(n, (int, np.integer)):
            return self.constant(np.int64(n))
        return self("Squeeze", self.length(n), self.ints(0))

    # ---- shapes ----
    def reshape(self, x: Any, before: Iterable[Any], after: Iterable[Any]) -> Any:
        """x, of the shape `before`, in the shape `after`."""
        before, after = list(before), list(after)
        if before == after:
            return x
        if isinstance(x, np.ndarray):
            return x.reshape(after) if not is_open(after) else self.reshape(self.constant(x), before, after)
        wanted: list[Any] = []
        for i, n in enumerate(after):
            same = not isinstance(n, (int, np.integer)) and i < len(before) and before[i] == n
            wanted.append(0 if same else n)
        unknown = [i for i, n in enumerate(wanted) if not isinstance(n, (int, np.integer))]
        if 0 in [n for n in after if isinstance(n, int)]:  # an empty tensor: nothing to find out
            return self("Reshape", x, self.shape_of(after), allowzero=1)
        if len(unknown) == 1:
            wanted[unknown[0]] = -1
        return self("Reshape", x, self.shape_of(wanted))

    def transpose(self, x: Any, perm: Iterable[int]) -> Any:
        perm = [int(p) for p in perm]
        if perm == sorted(perm):
            return x
        return x.transpose(perm) if isinstance(x, np.ndarray) else self("Transpose", x, perm=perm)

    def unsqueeze(self, x: Any, *axes: int) -> Any:
        if isinstance(x, np.ndarray):
            return np.expand_dims(x, axes)
        return self("Unsqueeze", x, self.ints(*axes)) if axes else x

    def squeeze(self, x: Any, *axes: int) -> Any:
        return self("Squeeze", x, self.ints(*axes)) if axes else x

    def expand(self, x: Any, shape: Iterable[Any]) -> str:
        return self("Expand", x, self.shape_of(shape))

    def slice(self, x: Any, starts: Any, ends: Any, axes: Any, steps: Any = None) -> str:
        """A region: starts and ends are lists of numbers and open lengths, or names of tensors."""
        bounds = [b if isinstance(b, str) else self.shape_of(b) for b in (starts, ends)]
        return self("Slice", x, *bounds, self.ints(*axes), None if steps is None else self.ints(*steps))

    def reduce(self, kind: str, x: Any, axes: Iterable[int], keep: bool = False) -> str:
        """ReduceSum, ReduceMax ...: axes are an input or an attribute, by version."""
        axes = [int(a) for a in axes]
        if not axes:
            return x
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            return self(kind, x, self.ints(*axes), keepdims=int(keep))
        return self(kind, x, axes=axes, keepdims=int(keep))

    # ---- subgraphs ----
    @contextlib.contextmanager
    def _inside(self) -> Iterator[list]:
        kept = self.nodes, self._lengths, self._symbols, self._shapes
        self.nodes, self._lengths = [], dict(self._lengths)
        self._symbols, self._shapes = dict(self._symbols), dict(self._shapes)
        try:
            yield self.nodes
        finally:
            self.nodes, self._lengths, self._symbols, self._shapes = kept

    def subgraph(self, name: str, inputs: list[Ref], body: Callable[[], list]) -> Any:
        """A graph for If, Loop or Scan; it reads what it needs from outside by name. `body` adds its nodes and returns its
        results as Refs."""
        with self._inside() as nodes:
            results = body()
            made = {n for node in nodes for n in node.output}
            outputs, taken = [], set()
            for r in results:
                own = str(r) if r in made and r not in taken else self("Identity", r)
                taken.add(own)
                outputs.append(self.typed(own, None, r.dtype))
            return self.onnx.helper.make_graph(
                nodes, self.name(name), [self.typed(r, r.shape, r.dtype) for r in inputs], outputs
            )

    def fresh(self, stem: str, shape: Iterable[Any], dtype: Any) -> Ref:
        """A tensor that the surroundings provide."""
        return self.know(Ref(self.name(stem), shape, dtype))

    # ---- the model ----
    def model(self, inputs: list[Ref], outputs: list[Ref], title: str) -> Any:
        """The whole, as a ModelProto with the lowest versions that have everything."""
        helper = self.onnx.helper
        tensors, read = [], _read(self.nodes) | set(outputs)
        for name, array in self.arrays.items():
            if name not in read:
                continue
            tensors.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        declared = [[self.typed(r, r.shape, r.dtype) for r in refs] for refs in (inputs, outputs)]
        graph = helper.make_graph(self.nodes, title, *declared, initializer=tensors)
        versions = [helper.make_opsetid("", self.opset)]
        version = max(helper.find_min_ir_version_for(versions), 8)
        return helper.make_model(graph, opset_imports=versions, ir_version=version, producer_name="paddle-xla")


def _read(nodes: Iterable[Any]) -> set[str]:
    """The names that nodes read, those inside of subgraphs included."""
    found: set[str] = set()
    for node in nodes:
        found.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= _read(attribute.g.node) | {o.name for o in attribute.g.output}
    return found


def count(shape: Iterable[Any]) -> Any:
    """The number of elements."""
    return math.prod(shape)
