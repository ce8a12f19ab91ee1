"""Every example in the documentation of paddlelite runs and prints what it says."""

import doctest
import importlib
import pkgutil

import pytest

import paddlelite

from _check import failures_of

MODULES = [f"paddlelite.{m.name}" for m in pkgutil.iter_modules(paddlelite.__path__)]


def examples():
    for name in MODULES:
        for test in doctest.DocTestFinder().find(importlib.import_module(name)):
            if test.examples:
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("example", list(examples()))
def test_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert failures_of(example, 0) == ""


def test_public_names_are_documented_and_files_short():
    for name in paddlelite.__all__:
        value = getattr(paddlelite, name)
        assert not callable(value) or value.__doc__, name
    for name in MODULES:
        with open(importlib.import_module(name).__file__) as file:
            assert len(file.readlines()) <= 800
