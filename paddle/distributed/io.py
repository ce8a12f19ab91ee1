"""Variables of programs in files, under the names that `paddle.distributed` has for them."""

from __future__ import annotations

import os
from typing import Any

from ..engine import errors
from ..static import io as static_io
from ..static.program import Program
from ..static.variables import is_persistable

__all__: list[str] = []

assert is_persistable  # part of this module officially


@errors.clean
def save_persistables(
    executor: Any, dirname: str | None, main_program: Program | None = None, filename: str | None = None
) -> None:
    """Write what a program keeps between runs.

    Args:
        executor: an Executor.
        dirname: the folder.
        main_program: the program, by default the default one.
        filename: one file for all; None: a file for each variable.

    Tables of parameter servers are written by `fleet.save_persistables`.
    """
    static_io.save_vars(executor, dirname, main_program, None, is_persistable, filename)


@errors.clean
def load_persistables(
    executor: Any, dirname: str, main_program: Program | None = None, filename: str | None = None
) -> None:
    """Read what `save_persistables` (or the official one) wrote.

    Args:
        executor, dirname, main_program, filename: see there.

    Raises:
        ValueError: a file is missing or damaged.
    """
    static_io.load_vars(executor, dirname, main_program, None, is_persistable, filename)


@errors.clean
def load_inference_model_distributed(
    dirname: str | None,
    executor: Any,
    model_filename: str | None = None,
    params_filename: str | None = None,
    pserver_endpoints: list[str] | None = None,
) -> list[Any]:
    """A program for inference from a folder.

    Args:
        dirname: the folder; None: `model_filename` and `params_filename` are the contents of the files, as bytes.
        executor: an Executor.
        model_filename: the file of the program, by default `__model__`.
        params_filename: the file of all parameters, None where each has its own.
        pserver_endpoints: accepted: rows are in the file of the model.

    Returns:
        [program, names of the inputs, variables of the results].

    Raises:
        ValueError: there is no such folder, or no parameters where there is none.
    """
    name = "load_inference_model_distributed"
    if dirname is None:
        if params_filename is None:
            raise errors.ValueError_(f"{name}: params_filename must be the parameters, as bytes, where dirname is None")
    elif not os.path.isdir(dirname):
        raise errors.ValueError_(f"{name}: there is no folder {dirname!r}")
    else:
        model_filename = model_filename or "__model__"
    return static_io.load_inference_model(
        dirname, executor, model_filename=model_filename, params_filename=params_filename
    )
