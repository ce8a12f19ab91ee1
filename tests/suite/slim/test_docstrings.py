"""Every example in the documentation of paddleslim runs and prints what it says."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import paddle
import paddleslim

from _check import failures_of

MODULES = sorted(m.name for m in pkgutil.walk_packages(paddleslim.__path__, "paddleslim."))


def examples():
    finder = doctest.DocTestFinder(recurse=False)
    for module in map(importlib.import_module, MODULES):
        for name, value in sorted(vars(module).items()):
            if (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__ == module.__name__:
                globs = {"paddle": paddle, "Units": getattr(module, "Units", None)}
                for test in finder.find(value, f"{module.__name__}.{name}", globs=globs):
                    if test.examples:
                        yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("example", list(examples()))
def test_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert failures_of(example) == ""
