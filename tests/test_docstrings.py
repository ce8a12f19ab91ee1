"""Every example in the documentation of a public name runs and prints what it says."""

import doctest
import inspect
import sys

import pytest

import paddle

from _check import failures_of

MODULES = sorted(n for n in sys.modules if n == "paddle" or n.startswith("paddle."))


def examples():
    finder = doctest.DocTestFinder(recurse=False)
    seen = set()
    for module in MODULES:
        for name, value in sorted(vars(sys.modules[module]).items()):
            if name.startswith("_") or id(value) in seen or not (inspect.isfunction(value) or inspect.isclass(value)):
                continue
            if not (getattr(value, "__module__", "") or "").startswith("paddle"):
                continue
            seen.add(id(value))
            members = [(name, value)]
            if inspect.isclass(value):
                members += [
                    (f"{name}.{k}", v)
                    for k, v in vars(value).items()
                    if inspect.isfunction(v)
                    and not k.startswith("_")
                    and k == v.__name__
                    and v.__qualname__.startswith(value.__name__)
                ]
            for label, member in members:
                for test in finder.find(member, label, globs={"paddle": paddle}):
                    if test.examples:
                        yield pytest.param(test, id=f"{value.__module__}.{label}")


@pytest.mark.parametrize("example", list(examples()))
def test_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = failures_of(example)
    if paddle.distributed.is_initialized():
        paddle.distributed.destroy_process_group()
    assert wrong == ""
