"""`load`: an ONNX model as a Layer that runs, trains, and can be saved like any other."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.modes import modes, set_mode
from ..engine.op import registry
from ..engine.parameter import as_parameter
from ..engine.tensor import Tensor, _make
from ..ir.record import KNOWN_SIZE
from ..nn.layer import Layer
from .writer import package

__all__ = ["OnnxLayer", "load"]

READERS: dict[str, Callable] = {}
OLDEST = 7  # operators before this version broadcast by attributes
LARGEST = 1 << 36  # bytes of one tensor
# Inputs that are settings or statistics of a layer, not weights: the positions by operator.
_NO_WEIGHTS = {"BatchNormalization": (3, 4), "Resize": (1, 2, 3), "Upsample": (1,), "Clip": (1, 2), "Pad": (1, 2),
               "Dropout": (1, 2), "QuantizeLinear": (1, 2), "DequantizeLinear": (0, 1, 2)}  # fmt: skip


def reads(*names: str) -> Callable:
    """Make a function (node, *inputs) what runs operators of ONNX. Inputs are Tensors, arrays of NumPy where they are known
    without running, or None where they are absent; it returns one result, or a tuple."""

    def add(function: Callable) -> Callable:
        for name in names:
            READERS[name] = function
        return function

    return add


@errors.clean
def load(file_or_model: Any) -> OnnxLayer:
    """A Layer made of an ONNX model, of whatever exporter.

    Floating initializers become parameters, under their names (dots are sublayers), so the layer can be trained, converted by
    `to_static`, saved and exported again; statistics of batch normalisation are buffers. In `eval()` (the state it comes in)
    it computes what the model says.

    Args:
        file_or_model: a path, the bytes of a file, a binary file, or a ModelProto. Weights that lie in files beside the
            model are read from its folder only.

    Raises:
        ValueError: it is no ONNX model, or damaged.
        NotImplementedError: operators that are not supported; all are named.
        ImportError: the package onnx is missing.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/linear.onnx"
        >>> paddle.onnx.export(paddle.nn.Linear(2, 3), path, [paddle.static.InputSpec([None, 2])])
        >>> layer = paddle.onnx.load(path)
        >>> layer(paddle.ones([5, 2])).shape, [p.shape for p in layer.parameters()]
        ([5, 3], [[2, 3], [3]])
    """
    from . import readers_control, readers_elementwise, readers_network, readers_shape  # noqa: F401

    onnx = package()
    folder = None
    if isinstance(file_or_model, onnx.ModelProto):
        model = file_or_model
    else:
        if isinstance(file_or_model, (str, os.PathLike)):
            folder = os.path.dirname(os.path.abspath(file_or_model))
            if not os.path.isfile(file_or_model):
                raise errors.NotFound(f"onnx.load: there is no file {os.fspath(file_or_model)!r}")
            with open(file_or_model, "rb") as file:
                content = file.read()
        elif isinstance(file_or_model, (bytes, bytearray)):
            content = bytes(file_or_model)
        elif hasattr(file_or_model, "read"):
            content = file_or_model.read()
        else:
            raise errors.TypeError_(f"onnx.load: a path, bytes or a ModelProto, got {errors.describe(file_or_model)}")
        model = onnx.ModelProto()
        try:
            model.ParseFromString(content)
        except Exception:  # protobuf has several errors of its own
            raise errors.ValueError_("onnx.load: it is no ONNX model, or damaged") from None
    if not model.graph.node and not model.graph.output:
        raise errors.ValueError_("onnx.load: it is no ONNX model, or damaged: it has no graph")
    layer = OnnxLayer(model, folder)
    layer.eval()
    return layer


class Node:
    """A node as readers see it.

    Attributes:
        kind: the operator.
        opset: the version of the operator set.
        outputs: the names of its results, "" for those that nobody wants.
        training: whether the layer is being trained.
    """

    def __init__(self, proto: Any, opset: int, tensors: Callable, places: str):
        onnx = package()
        self.kind, self.opset, self.where = proto.op_type, opset, places
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        self.attributes: dict[str, Any] = {}
        self.training = False
        self.run: Callable = lambda *_: []  # (graph, known) -> results; set by the layer for subgraphs
        for a in proto.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                self.attributes[a.name] = Graph(a.g, opset, tensors)
            elif a.type == onnx.AttributeProto.TENSOR:
                self.attributes[a.name] = tensors(a.t)
            elif a.type in (onnx.AttributeProto.GRAPHS, onnx.AttributeProto.SPARSE_TENSOR):
                raise errors.NotImplemented_(f"onnx.load: the attribute {a.name!r} of {self.kind}")
            else:
                value = onnx.helper.get_attribute_value(a)
                self.attributes[a.name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        found = self.attributes.get(name, default)
        return list(found) if not isinstance(found, (str, bytes)) and hasattr(found, "append") else found

    def wants(self, position: int) -> bool:
        """Whether somebody reads this result."""
        return position < len(self.outputs) and bool(self.outputs[position])

    def missing(self, what: str) -> Exception:
        return errors.NotImplemented_(f"onnx.load: {self.kind} with {what}{self.where}")


class Graph:
    """The nodes of a graph in order, checked: what each reads is there."""

    def __init__(self, proto: Any, opset: int, tensors: Callable):
        self.constants = {t.name: tensors(t) for t in proto.initializer}
        if proto.sparse_initializer:
            raise errors.NotImplemented_("onnx.load: sparse initializers")
        self.inputs = [i for i in proto.input if i.name not in self.constants]
        self.names = [i.name for i in self.inputs]
        self.outputs = [o.name for o in proto.output]
        self.nodes = []
        for number, node in enumerate(proto.node):
            where = f" (node {node.name or number})"
            self.nodes.append(Node(node, opset, tensors, where))

    def check(self, known: Iterable[str]) -> None:
        """ValueError where something is read that nothing has made before."""
        made = {*known, *self.constants, *self.names}
        for node in self.nodes:
            for name in node.inputs:
                if name and name not in made:
                    raise errors.ValueError_(
                        f"onnx.load: {node.kind}{node.where} reads {name!r}, which nothing made before"
                    )
            for graph in node.attributes.values():
                if isinstance(graph, Graph):
                    graph.check(made)
            made.update(node.outputs)
        for name in self.outputs:
            if name not in made:
                raise errors.ValueError_(f"onnx.load: nothing makes the output {name!r}")

    def kinds(self) -> Iterable[str]:
        for node in self.nodes:
            yield node.kind
            for graph in node.attributes.values():
                if isinstance(graph, Graph):
                    yield from graph.kinds()


class OnnxLayer(Layer):
    """A layer that runs an ONNX model; made by `load`.

    Attributes:
        input_names, output_names: of the model.
    """

    def __init__(self, model: Any, folder: str | None = None):
        super().__init__()
        opset = _opset(model)
        tensors = _Tensors(folder)
        try:
            graph = Graph(model.graph, opset, tensors)
        except RecursionError:
            raise errors.ValueError_("onnx.load: the graphs are nested too deeply") from None
        unknown = sorted({k for k in graph.kinds() if k not in READERS} | _foreign(model.graph))
        if unknown:
            raise errors.NotImplemented_(f"onnx.load: these operators are not supported: {', '.join(unknown)}")
        graph.check(())
        self._graph = graph
        self.input_names, self.output_names = list(graph.names), list(graph.outputs)
        self._held: dict[str, Any] = {}  # constants and tensors by the names of the model
        self._keep(graph, _weights(graph))
        self._fold()
        self._last = _last_uses(graph)

    # ---- what it holds ----
    def _keep(self, graph: Graph, weights: dict[str, bool]) -> None:
        for name, array in graph.constants.items():
            kind = weights.get(name)
            if kind is None:
                self._held[name] = array
                continue
            tensor = _make(jnp.asarray(array))
            if kind:
                tensor = as_parameter(tensor, name)
            self._place(name, tensor, kind)
            self._held[name] = tensor

    def _place(self, name: str, tensor: Tensor, parameter: bool) -> None:
        """Register a tensor under its name; dots lead into sublayers."""
        *path, leaf = [part for part in name.replace("/", ".").split(".") if part] or ["tensor"]
        layer: Layer = self
        for part in path:
            inner = layer._sub_layers.get(part)
            if inner is None and not hasattr(layer, part):
                layer.add_sublayer(part, Layer())
                inner = layer._sub_layers[part]
            if inner is None:  # the name of something else
                layer, leaf = self, name.replace(".", "_").replace("/", "_")
                break
            layer = inner
        while hasattr(layer, leaf):
            leaf += "_"
        (layer.add_parameter if parameter else layer.register_buffer)(leaf, tensor)

    def _fold(self) -> None:
        """Run at once what depends on constants only."""
        kept = []
        for node in self._graph.nodes:
            given = [self._held.get(n) for n in node.inputs if n]
            plain = all(isinstance(x, np.ndarray) for x in given) and not any(
                isinstance(g, Graph) for g in node.attributes.values()
            )
            if not plain or node.kind in ("RandomNormal", "RandomUniform"):
                kept.append(node)
                continue
            for name, out in zip(node.outputs, self._call(node, dict(self._held))):
                self._held[name] = out
        self._graph.nodes = kept

    # ---- running ----
    def forward(self, *inputs: Any) -> Any:
        """The results for tensors in the order of the model's inputs; a list where there are several."""
        if len(inputs) != len(self.input_names):
            raise errors.ValueError_(
                f"the model takes {len(self.input_names)} inputs ({', '.join(self.input_names)}), got {len(inputs)}"
            )
        known = dict(self._held)
        for spec, x in zip(self._graph.inputs, inputs):
            known[spec.name] = _fitting(spec, x)
        last = dict(self._last)
        for number, node in enumerate(self._graph.nodes):
            for name, out in zip(node.outputs, self._call(node, known)):
                known[name] = out
            for name in last.pop(number, ()):
                known.pop(name, None)
        outs = [tensor(known[n]) for n in self.output_names]
        return outs[0] if len(outs) == 1 else outs

    def _run(self, graph: Graph, known: dict[str, Any]) -> list:
        """The results of a subgraph, which reads what is known around it."""
        known = {**known, **graph.constants}
        for node in graph.nodes:
            for name, out in zip(node.outputs, self._call(node, known)):
                known[name] = out
        return [known[n] for n in graph.outputs]

    def _call(self, node: Node, known: dict[str, Any]) -> tuple:
        given = [known[n] if n else None for n in node.inputs]
        node = copy.copy(node)  # what it refers to during the call ends with it
        node.training = self.training
        node.run = lambda graph, more: self._run(graph, {**known, **more})
        subgraphs = any(isinstance(g, Graph) for g in node.attributes.values())
        try:
            if not subgraphs and all(x is None or isinstance(x, np.ndarray) for x in given):
                with set_mode(program=None, grad=False, amp=None):
                    out = READERS[node.kind](node, *given)
                out = out if isinstance(out, tuple) else (out,)
                return tuple(np.asarray(o._value) if isinstance(o, Tensor) else o for o in out)
            out = READERS[node.kind](node, *given)
        except (AttributeError, KeyError, IndexError, AssertionError) as e:  # what damaged files lead to
            raise errors.ValueError_(f"onnx.load: {node.kind}{node.where}: {type(e).__name__}: {e}") from None
        except TypeError as e:
            if "positional argument" not in str(e):
                raise
            raise errors.ValueError_(f"onnx.load: {node.kind}{node.where} has a wrong number of inputs") from None
        return out if isinstance(out, tuple) else (out,)


def tensor(x: Any) -> Tensor:
    """A known array as a Tensor; a few integers stay known where a program is built."""
    if isinstance(x, Tensor):
        return x
    if modes.program is not None and x.dtype.kind in "iub" and x.size <= KNOWN_SIZE:
        return registry["assign"].public(np.asarray(x))
    return _make(jnp.asarray(x))


def _fitting(spec: Any, x: Any) -> Tensor:
    """An input of the type and shape that the model says."""
    found = x if isinstance(x, Tensor) else Tensor(x)
    declared = spec.type.tensor_type
    helper = package().helper
    if declared.elem_type:
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(declared.elem_type))
        if found._raw.dtype != dtype:
            raise errors.ValueError_(f"the input {spec.name!r} is {dtype.name} in the model, got {found.dtype.name}")
    if declared.HasField("shape"):
        shape = [d.dim_value if d.HasField("dim_value") else -1 for d in declared.shape.dim]
        have = list(found._raw.shape)
        if len(shape) != len(have) or any(d > 0 and d != n for d, n in zip(shape, have)):
            raise errors.ValueError_(
                f"the input {spec.name!r} has shape {shape} in the model, got {[int(n) for n in have]}"
            )
    return found


def _opset(model: Any) -> int:
    versions = {o.domain: o.version for o in model.opset_import}
    version = versions.get("", versions.get("ai.onnx", 0))
    newest = package().defs.onnx_opset_version()
    if not OLDEST <= version <= newest:
        raise errors.NotImplemented_(f"onnx.load: opset {version}; {OLDEST} to {newest} are read")
    return version


def _foreign(graph: Any) -> set[str]:
    """Operators of other domains."""
    found = {f"{n.domain}.{n.op_type}" for n in graph.node if n.domain not in ("", "ai.onnx")}
    for node in graph.node:
        for a in node.attribute:
            if a.HasField("g"):
                found |= _foreign(a.g)
    return found


def _weights(graph: Graph) -> dict[str, bool]:
    """Which initializers are parameters (True) or buffers (False); the others stay arrays."""
    uses: dict[str, list[tuple[str, int]]] = {}
    inner: set[str] = set()
    for node in graph.nodes:
        for position, name in enumerate(node.inputs):
            uses.setdefault(name, []).append((node.kind, position))
        for g in node.attributes.values():
            if isinstance(g, Graph):
                inner |= {n for m in g.nodes for n in m.inputs}
    found = {}
    for name, array in graph.constants.items():
        if not jnp.issubdtype(array.dtype, jnp.floating):
            continue
        used = uses.get(name, [])
        settings = [position in _NO_WEIGHTS.get(kind, ()) for kind, position in used]
        if any(kind == "BatchNormalization" and position > 2 for kind, position in used):
            found[name] = False
        elif array.ndim and array.size > 1 and (used or name in inner) and not any(settings):
            found[name] = True
    return found


def _last_uses(graph: Graph) -> dict[int, list[str]]:
    """Names that can be forgotten after a node."""
    last: dict[str, int] = {}
    for number, node in enumerate(graph.nodes):
        names = {*node.inputs, *node.outputs}
        for g in node.attributes.values():
            if isinstance(g, Graph):
                names |= _inside(g)
        last.update((n, number) for n in names)
    found: dict[int, list[str]] = {}
    for name, number in last.items():
        if name not in graph.outputs:
            found.setdefault(number, []).append(name)
    return found


def _inside(graph: Graph) -> set[str]:
    found = set(graph.outputs)
    for node in graph.nodes:
        found.update(node.inputs)
        for g in node.attributes.values():
            if isinstance(g, Graph):
                found |= _inside(g)
    return found


class _Tensors:
    """Reads tensors of a model; those in other files from one folder only."""

    def __init__(self, folder: str | None):
        self.folder = folder

    def __call__(self, proto: Any) -> np.ndarray:
        onnx = package()
        try:
            dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(proto.data_type))
        except Exception:
            raise errors.ValueError_(
                f"onnx.load: the tensor {proto.name!r} has the unknown type {proto.data_type}"
            ) from None
        shape, size = tuple(proto.dims), 1
        for n in shape:
            size *= n
            if n < 0 or size * max(dtype.itemsize, 1) > LARGEST:
                raise errors.ValueError_(f"onnx.load: the tensor {proto.name!r} has the shape {list(shape)}")
        if proto.data_location == onnx.TensorProto.EXTERNAL:
            return self._external(proto, dtype, shape, size)
        try:
            array = onnx.numpy_helper.to_array(proto)
        except Exception as e:
            raise errors.ValueError_(f"onnx.load: the tensor {proto.name!r} is damaged: {str(e)[:100]}") from None
        if array.dtype == object or tuple(array.shape) != shape:
            raise errors.ValueError_(
                f"onnx.load: the tensor {proto.name!r} holds strings, or other elements than it says"
            )
        return array

    def _external(self, proto: Any, dtype: np.dtype, shape: tuple, size: int) -> np.ndarray:
        told = {e.key: e.value for e in proto.external_data}
        name = told.get("location", "")
        if self.folder is None:
            raise errors.ValueError_(
                f"onnx.load: the tensor {proto.name!r} lies in the file {name!r}; load from a path"
            )
        folder = os.path.realpath(self.folder)
        path = os.path.realpath(os.path.join(folder, name))
        if os.path.isabs(name) or os.path.commonpath([folder, path]) != folder or not os.path.isfile(path):
            raise errors.ValueError_(f"onnx.load: the file {name!r} of weights is not in the folder of the model")
        try:
            offset = int(told.get("offset", 0))
            length = int(told.get("length", size * dtype.itemsize))
        except ValueError:
            offset = length = -1
        if offset < 0 or length != size * dtype.itemsize or offset + length > os.path.getsize(path):
            raise errors.ValueError_(f"onnx.load: the file {name!r} does not hold the tensor {proto.name!r}")
        return np.fromfile(path, dtype, size, offset=offset).reshape(shape)


def known(x: Any) -> bool:
    """Whether something is known without running."""
    return isinstance(x, np.ndarray)


def elements(node: Node, x: Any) -> list:
    """The numbers of a small tensor as a list, Tensors of one number while a program is built."""
    if isinstance(x, Tensor):
        if modes.program is None and not isinstance(x._value, jax.core.Tracer):
            return np.asarray(x._value).reshape(-1).tolist()
        if not all(type(d) is int for d in x.shape):
            raise node.missing("a list of numbers whose length is not known")
        flat = x.reshape([-1])
        trials = getattr(x._value, "known", None)
        if trials is None:
            return [flat[i] for i in range(flat.shape[0])]
        columns = zip(*[np.asarray(t).reshape(-1).tolist() for t in trials])
        return [c[0] if len(set(c)) == 1 else flat[i] for i, c in enumerate(columns)]
    return np.asarray(x).reshape(-1).tolist()
