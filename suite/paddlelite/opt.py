"""The optimiser: a saved model becomes one `.nb` file.

python -m paddlelite.opt --model_file=model.pdmodel --param_file=model.pdiparams --valid_targets=arm --optimize_out=model
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .accelerators import TARGETS, backends, target_names
from .config import as_path
from .container import pack, unpack_file
from .enums import QuantType, member

__all__ = ["Opt", "main"]

_ENDINGS = {"naive_buffer": ".nb", "onnx": ".onnx"}


class Opt:
    """Optimises a saved model for a target: fuses, chooses the precision of the weights, and writes one file.

    Example:
        >>> import os, tempfile, paddle, paddlelite
        >>> path = tempfile.mkdtemp() + "/model"
        >>> net = paddle.nn.Linear(4, 2)
        >>> paddle.jit.save(net, path, input_spec=[paddle.static.InputSpec([None, 4], "float32", "x")])
        >>> opt = paddlelite.Opt()
        >>> opt.set_model_file(path + ".pdmodel")
        >>> opt.set_param_file(path + ".pdiparams")
        >>> opt.set_valid_places("arm")
        >>> opt.set_optimize_out(path)
        >>> os.path.basename(opt.run())
        'model.nb'
    """

    def __init__(self) -> None:
        self._folder = self._model = self._params = self._out = ""
        self._targets = ["arm"]
        self._half = self._record = self._quantise = False
        self._quant_type = QuantType.QUANT_INT16
        self._form = "naive_buffer"
        self._passes: list[str] = []

    def set_model_dir(self, path: Any) -> None:
        """Name the model's folder."""
        self._folder = as_path("set_model_dir", path)

    def set_model_file(self, path: Any) -> None:
        """Name the file of the graph: `.pdmodel`, `.json` or `__model__`."""
        self._model = as_path("set_model_file", path)

    def set_param_file(self, path: Any) -> None:
        """Name the file of the weights."""
        self._params = as_path("set_param_file", path)

    def set_valid_places(self, targets: Any) -> None:
        """Which targets the file is for, the first choice first: names with commas between them, such as "arm,opencl".

        Raises:
            ValueError: an unknown target.
        """
        self._targets = target_names("set_valid_places", targets)

    def enable_fp16(self) -> None:
        """Store floating weights in float16, and let accelerators compute in it; the CPU computes in float32."""
        self._half = True

    def set_optimize_out(self, path: Any) -> None:
        """Name the file to be written, without its ending."""
        self._out = as_path("set_optimize_out", path)

    def set_model_type(self, form: str) -> None:
        """ "naive_buffer" for an `.nb` file, "onnx" for plain ONNX, which ONNX Runtime reads in any language.

        Raises:
            NotImplementedError: "protobuf".
            ValueError: anything else.
        """
        if form == "protobuf":
            raise NotImplementedError("set_model_type: protobuf is not written; choose naive_buffer or onnx")
        if form not in _ENDINGS:
            raise ValueError(f"set_model_type: one of {', '.join(_ENDINGS)} is needed, got {form!r}")
        self._form = form

    def set_quant_model(self, flag: bool) -> None:
        """Store the weights of convolutions and linear layers as integers, see `set_quant_type`. Models that are quantised
        already stay as they are."""
        self._quantise = bool(flag)

    def set_quant_type(self, kind: Any) -> None:
        """QUANT_INT8 or QUANT_INT16, which is the default."""
        self._quant_type = member("set_quant_type", QuantType, kind)

    def set_passes_internal(self, passes: list[str] = []) -> None:  # noqa: B006
        """Run these passes of `paddle.ir` and no others."""
        self._passes = [str(p) for p in passes]

    def record_model_info(self, flag: bool) -> None:
        """Write the operators into ``.NAME.ops`` beside the file, for builds of ONNX Runtime with few operators."""
        self._record = bool(flag)

    def set_sparse_model(self, flag: bool) -> None:
        """Sparse convolutions are not built: NotImplementedError for True."""
        if flag:
            raise NotImplementedError("set_sparse_model: sparse convolutions are not built")

    def run(self) -> str:
        """Optimise and write; a file appears whole or not at all.

        Returns:
            The name of the file.

        Raises:
            ValueError: no model or no output was named, or the file is no model.
            FileNotFoundError: a file that is not there.
            NotImplementedError: the model has operators that are not supported; all are named.
            ImportError: paddle or onnx are missing.
        """
        if not self._out:
            raise ValueError("Opt.run: no output is named; call set_optimize_out")
        converted = self._convert()
        from paddle.utils.files import atomic_write

        ending = _ENDINGS[self._form]
        path = self._out if self._out.endswith(ending) else self._out + ending
        data = converted.model
        if self._form == "naive_buffer":
            data = pack(converted.about(self._targets, self._half), data)
        with atomic_write(path) as file:
            file.write(data)
        if self._record:
            folder, slash, name = path.rpartition("/")
            with atomic_write(f"{folder}{slash}.{name}.ops") as file:
                file.write(_operator_list(converted.model).encode())
        return path

    def run_optimize(self, model_dir: Any, model_file: Any, params_file: Any, targets: Any, out: Any) -> str:
        """All in one call; the arguments are those of the setters."""
        self.set_model_dir(model_dir)
        self.set_model_file(model_file)
        self.set_param_file(params_file)
        self.set_valid_places(targets)
        self.set_optimize_out(out)
        return self.run()

    def _convert(self) -> Any:
        from .convert import optimise, saved

        source = saved("Opt.run", self._model, self._params, self._folder)
        bits = 0 if not self._quantise else 8 if self._quant_type == QuantType.QUANT_INT8 else 16
        return optimise(source, bits, self._half, self._passes or None)

    # ---- reports ----
    def version(self) -> str:
        from . import __version__

        return __version__

    def help(self) -> None:
        """Print the options of the command."""
        _parser().print_help()

    executablebin_help = help

    def supported_ops(self) -> list[str]:
        """The operators that have a translation of their own; others are translated piece by piece, so this is no bound."""
        from .convert import need_paddle

        need_paddle("Opt.supported_ops")
        from paddle.onnx import (  # noqa: F401
            operators_control,
            operators_elementwise,
            operators_network,
            operators_quantized,
            operators_shape,
        )
        from paddle.onnx.convert import ROWS

        return sorted(ROWS)

    def print_supported_ops(self) -> None:
        """Print the operators with a translation of their own; others are translated piece by piece. They are the same for all
        targets, since the CPU does what an accelerator cannot."""
        print("\n".join(self.supported_ops()))

    print_all_ops = print_supported_ops

    def display_kernels_info(self) -> None:
        """Print the back ends and which of them are here."""
        print("\n".join(map(str, backends())))

    def check_if_model_supported(self, print_ops: bool = False) -> bool:
        """Whether the model can be translated; what cannot is printed. The errors are those of `run` otherwise."""
        try:
            converted = self._convert()
        except NotImplementedError as e:
            print(e)
            return False
        if print_ops:
            print("\n".join(converted.operators))
        return True

    def visualize_optimized_nb_model(self, path: Any, out: Any) -> None:
        """Write the nodes of an `.nb` file as text. ValueError for another file."""
        import onnx

        about, model = unpack_file(path, "visualize_optimized_nb_model")
        from paddle.utils.files import atomic_write

        text = onnx.printer.to_text(onnx.load_from_string(model))
        with atomic_write(as_path("visualize_optimized_nb_model", out)) as file:
            file.write(f"{about}\n{text}\n".encode())


def _operator_list(model: bytes) -> str:
    """The operators of a model of ONNX, those of its branches and loops too: a line "domain;version;names" for each domain."""
    import onnx

    proto = onnx.load_from_string(model)
    found: dict[str, set[str]] = {}

    def walk(graph: Any) -> None:
        for node in graph.node:
            found.setdefault(node.domain or "ai.onnx", set()).add(node.op_type)
            for attribute in node.attribute:
                for inner in (attribute.g, *attribute.graphs):
                    walk(inner)

    walk(proto.graph)
    versions = {o.domain or "ai.onnx": o.version for o in proto.opset_import}
    return "".join(f"{d};{versions.get(d, 1)};{','.join(sorted(names))}\n" for d, names in sorted(found.items()))


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0", "yes", "no"):
        raise argparse.ArgumentTypeError(f"true or false is needed, got {text!r}")
    return text.lower() in ("true", "1", "yes")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m paddlelite.opt", description="A saved model becomes one .nb file.")
    add = parser.add_argument
    add("--model_dir", default="", help="folder of the model")
    add("--model_file", default="", help="file of the graph")
    add("--param_file", default="", help="file of the weights")
    add("--valid_targets", default="arm", help=f"targets with commas between them: {', '.join(sorted(TARGETS))}")
    add("--optimize_out", default="", help="the file to be written, without its ending")
    add("--optimize_out_type", default="naive_buffer", help="naive_buffer (.nb) or onnx")
    add("--quant_type", default="QUANT_INT16", help="QUANT_INT8 or QUANT_INT16")
    add("--optimized_nb_model_path", default="", help="an .nb file to be shown as text")
    add("--visualization_file_output_path", default="", help="where that text is written")
    for name, text in (
        ("quant_model", "weights become integers"),
        ("enable_fp16", "weights become float16, and accelerators may compute in it"),
        ("record_tailoring_info", "write the names of the operators beside the file"),
        ("sparse_model", "not built"),
        ("print_supported_ops", "print the operators with a translation of their own"),
        ("print_all_ops", "the same"),
        ("print_model_ops", "print the model's operators"),
        ("display_kernels", "print the back ends and which of them are here"),
    ):
        add(f"--{name}", type=_flag, nargs="?", const=True, default=False, help=text)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The command; its result is the exit status."""
    parser = _parser()
    given = parser.parse_args(arguments)
    opt = Opt()
    try:
        opt.set_model_dir(given.model_dir)
        opt.set_model_file(given.model_file)
        opt.set_param_file(given.param_file)
        opt.set_valid_places(given.valid_targets)
        opt.set_optimize_out(given.optimize_out)
        opt.set_model_type(given.optimize_out_type)
        opt.set_quant_model(given.quant_model)
        opt.set_quant_type(given.quant_type)
        opt.set_sparse_model(given.sparse_model)
        opt.record_model_info(given.record_tailoring_info)
        if given.enable_fp16:
            opt.enable_fp16()
        if given.display_kernels:
            opt.display_kernels_info()
        elif given.print_supported_ops or given.print_all_ops:
            opt.print_supported_ops()
        elif given.optimized_nb_model_path and given.visualization_file_output_path:
            opt.visualize_optimized_nb_model(given.optimized_nb_model_path, given.visualization_file_output_path)
        elif given.print_model_ops:
            return 0 if opt.check_if_model_supported(True) else 1
        elif not (given.model_dir or given.model_file) or not given.optimize_out:
            parser.print_help()
            return 1
        else:
            print(opt.run())
    except (ValueError, TypeError, NotImplementedError, ImportError, OSError) as e:
        print(f"paddlelite.opt: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
