"""Files of programs and readers of data, by their names before version 2."""

from __future__ import annotations

import os
from typing import Any

from ..engine import errors
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor
from ..framework.reader import batch
from ..reader import buffered, cache, chain, compose, firstn, map_readers, multiprocess_reader, shuffle, xmap_readers
from ..static import io as static_io
from ..static.executor import global_scope, program_of
from ..static.io import load, load_program_state, load_vars, save, save_vars, set_program_state
from ..static.program import default_main_program
from .reader import GeneratorLoader

__all__ = [
    "DataLoader",
    "PyReader",
    "batch",
    "buffered",
    "cache",
    "chain",
    "compose",
    "firstn",
    "get_program_parameter",
    "get_program_persistable_vars",
    "load",
    "load_inference_model",
    "load_params",
    "load_persistables",
    "load_program_state",
    "load_vars",
    "map_readers",
    "multiprocess_reader",
    "save",
    "save_inference_model",
    "save_params",
    "save_persistables",
    "save_vars",
    "set_program_state",
    "shuffle",
    "xmap_readers",
]


def get_program_parameter(program: Any) -> list[Parameter]:
    """The parameters of a program."""
    return program.all_parameters()


def get_program_persistable_vars(program: Any) -> list[Tensor]:
    """The variables of a program that live in the scope."""
    found = program.global_block().vars
    return [found[name] for name in program.states]


def save_params(executor: Any, dirname: str, main_program: Any = None, filename: str | None = None) -> None:
    """Write the parameters of a program to a folder, each in a file of its name, or all in the file `filename`."""
    program = main_program or default_main_program()
    save_vars(executor, dirname, program, [p.name for p in program.all_parameters()], None, filename)


def load_params(executor: Any, dirname: str, main_program: Any = None, filename: str | None = None) -> None:
    """Read what `save_params` wrote."""
    program = main_program or default_main_program()
    load_vars(executor, dirname, program, [p.name for p in program.all_parameters()], None, filename)


def save_persistables(executor: Any, dirname: str, main_program: Any = None, filename: str | None = None) -> None:
    """Write all variables of a program that live in the scope; see `save_params`."""
    program = main_program or default_main_program()
    save_vars(executor, dirname, program, list(program.states), None, filename)


def load_persistables(executor: Any, dirname: str, main_program: Any = None, filename: str | None = None) -> None:
    """Read what `save_persistables` wrote."""
    program = main_program or default_main_program()
    load_vars(executor, dirname, program, list(program.states), None, filename)


def save_inference_model(
    dirname: str,
    feeded_var_names: list[str],
    target_vars: list[Tensor],
    executor: Any,
    main_program: Any = None,
    model_filename: str | None = None,
    params_filename: str | None = None,
    export_for_deployment: bool = True,
    program_only: bool = False,
) -> list[str]:
    """Write the part of a program that computes `target_vars`, and its parameters, to a folder.

    Args:
        dirname: the folder.
        feeded_var_names: the names of the inputs.
        target_vars: the results.
        model_filename, params_filename: the names of the files; default `__model__` and `__params__`.

    Returns:
        The names of the results.
    """
    program = program_of("save_inference_model", main_program)
    inputs = program.global_block().vars
    unknown = [n for n in feeded_var_names if n not in program.inputs]
    if unknown:
        raise errors.ValueError_(f"save_inference_model: the program has no input {unknown[0]!r}")
    feeds = [inputs[n] for n in feeded_var_names]
    normalized = static_io._normalized("save_inference_model", program, feeds, target_vars)
    os.makedirs(dirname, exist_ok=True)
    static_io.write_inference_model(
        normalized,
        os.path.join(dirname, ""),
        global_scope(),
        model_filename=model_filename or "__model__",
        params_filename=params_filename or "__params__",
    )
    return [v.name for v in target_vars]


def load_inference_model(
    dirname: str,
    executor: Any,
    model_filename: str | None = None,
    params_filename: str | None = None,
    pserver_endpoints: Any = None,
) -> list[Any]:
    """[program, names of its inputs, variables of its results] from what `save_inference_model`, or the official one,
    wrote to a folder."""
    if params_filename is None and os.path.isfile(os.path.join(dirname, "__params__")):
        params_filename = "__params__"
    names = dict(model_filename=model_filename or "__model__", params_filename=params_filename)
    return static_io.load_inference_model(dirname, executor, **names)


class DataLoader:
    """Loaders of data that generators make: `from_generator`; `from_dataset` is not available."""

    @staticmethod
    def from_generator(
        feed_list: Any = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        use_multiprocess: bool = False,
        drop_last: bool = True,
    ) -> GeneratorLoader:
        """A loader whose data a generator makes; see `GeneratorLoader`."""
        return GeneratorLoader(feed_list, iterable, return_list)

    @staticmethod
    def from_dataset(dataset: Any, places: Any, drop_last: bool = True) -> Any:
        """Not available: data sets of parameter servers."""
        raise errors.NotImplemented_("DataLoader.from_dataset: data sets of parameter servers")


class PyReader(GeneratorLoader):
    """A `GeneratorLoader` with the older names of its methods."""

    def __init__(
        self,
        feed_list: Any = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
    ):
        super().__init__(feed_list, iterable, return_list)

    decorate_sample_generator = GeneratorLoader.set_sample_generator
    decorate_sample_list_generator = GeneratorLoader.set_sample_list_generator
    decorate_batch_generator = GeneratorLoader.set_batch_generator
