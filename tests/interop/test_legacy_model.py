"""Legacy models of the official package: fixtures of single operators and small networks, damaged files."""

import io
import tarfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.interop import params, programdesc
from paddle.interop.legacy_model import LegacyModel, read_legacy_folder, read_legacy_model
from paddle.ir.run import Executable

FIXTURES = Path(__file__).parent / "fixtures"


@cache
def files():
    found = {}
    for name in ("operators", "networks"):
        with tarfile.open(FIXTURES / f"{name}.tar.xz") as archive:
            found |= {m.name: archive.extractfile(m).read() for m in archive.getmembers()}
    return found


def names():
    return sorted(n[:-8] for n in files() if n.endswith(".pdmodel"))


def arrays(name):
    with np.load(io.BytesIO(files()[f"{name}.npz"])) as found:
        feeds = {n[3:]: found[n] for n in found if n.startswith("in_")}
        outs = [found[f"out_{k}"] for k in range(sum(n.startswith("out_") for n in found))]
    return feeds, outs


def execute(graph, values, feeds):
    executable = Executable(graph, values, updates=False)
    states = {n: s.tensor._value for n, s in executable.states.items()}
    found, _ = executable.run({n: feeds[n] for n in executable.inputs}, states, None)
    return [np.asarray(o) for o in found]


def compare(got, want):
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.shape == w.shape and g.dtype == w.dtype, (g.shape, g.dtype, w.shape, w.dtype)
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", names())
def test_a_model_gives_what_the_official_package_gives(name):
    graph, fed, values = read_legacy_model(files()[f"{name}.pdmodel"], files().get(f"{name}.pdiparams"))
    feeds, want = arrays(name)
    assert set(fed) <= set(feeds)
    compare(execute(graph, values, feeds), want)
