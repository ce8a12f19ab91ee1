"""Legacy models of the official package: fixtures of single operators and small networks, damaged files."""

import io
import tarfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    "name", ["array_in_loop", "cond_true", "layer_while", "net_encoder", "net_head", "while_by_data"]
)
def test_a_model_runs_operator_by_operator(name):
    model = LegacyModel(files()[f"{name}.pdmodel"], files().get(f"{name}.pdiparams"))
    feeds, want = arrays(name)
    compare([t.numpy() for t in model.run(feeds)], want)
    with pytest.raises(ValueError, match="needs the input"):
        model.run({})


def test_shapes_can_be_given():
    name = "net_segmentation"
    model = LegacyModel(files()[f"{name}.pdmodel"], files()[f"{name}.pdiparams"])
    assert [tuple(v.shape) for v in model.feeds()] == [(-1, 3, -1, -1)]
    feeds, want = arrays(name)
    graph, _, values = model.graph({"x": feeds["x"].shape})
    assert all(v.is_static for v in values)
    compare(execute(graph, values, feeds), want)


def test_one_graph_serves_every_size():
    graph, _, values = read_legacy_model(files()["net_mobile.pdmodel"], files()["net_mobile.pdiparams"])
    model = LegacyModel(files()["net_mobile.pdmodel"], files()["net_mobile.pdiparams"])
    for shape in ((1, 3, 17, 40), (3, 3, 32, 24)):
        feeds = {"x": np.random.default_rng(1).standard_normal(shape).astype("float32")}
        compare(execute(graph, values, feeds), [t.numpy() for t in model.run(feeds)])


@pytest.mark.parametrize("combined", [True, False])
def test_folders_of_older_versions(tmp_path, combined):
    name = "net_text"
    (tmp_path / "__model__").write_bytes(files()[f"{name}.pdmodel"])
    weights = files()[f"{name}.pdiparams"]
    if combined:
        (tmp_path / "__params__").write_bytes(weights)
    else:
        described = programdesc.parse(files()[f"{name}.pdmodel"]).persistables()
        for n, array in params.read_combined(weights, [v.name for v in described]).items():
            with open(tmp_path / n, "wb") as f:
                params.write_tensor(f, array)
    feeds, want = arrays(name)
    graph, _, values = read_legacy_folder(tmp_path).graph()
    compare(execute(graph, values, feeds), want)
    with pytest.raises(ValueError, match="no parameter file 'other'"):
        read_legacy_folder(tmp_path, parameters="other")


def test_parameter_files_are_written_as_the_official_package_writes_them():
    for name in ("net_text", "net_mobile", "layer_attention"):
        described = programdesc.parse(files()[f"{name}.pdmodel"]).persistables()
        data = files()[f"{name}.pdiparams"]
        assert params.write_combined(params.read_combined(data, [v.name for v in described])) == data


def test_graphs_share_the_parameters_of_their_model():
    model = LegacyModel(files()["net_text.pdmodel"], files()["net_text.pdiparams"])
    first, second = model.graph()[0], model.graph()[0]
    assert set(first.states) == set(second.states) <= set(model.states)
    assert all(first.states[n].tensor is model.states[n] for n in first.states)


def test_what_a_program_writes_into_its_statistics_is_an_update():
    name = "net_mobile"
    model = LegacyModel(files()[f"{name}.pdmodel"], files()[f"{name}.pdiparams"])
    (norm,) = [o for o in model.program.blocks[0].operators if o.type == "batch_norm"]
    norm.attributes |= {"is_test": False, "use_global_stats": False}
    mean = model.states[norm.inputs["Mean"][0]]
    before = mean.numpy()
    graph, _, _ = model.graph()
    changed = {n for n, s in graph.states.items() if s.update is not None}
    assert changed == {norm.inputs["Mean"][0], norm.inputs["Variance"][0]}
    np.testing.assert_array_equal(mean.numpy(), before)


def test_the_order_of_classes_of_suppressed_boxes():
    """Against plain loops."""
    from paddle.interop.legacy import nms

    rng = np.random.default_rng(5)
    for normalized in (True, False):
        corners = rng.uniform(0, 20, (30, 2))
        boxes = np.concatenate([corners, corners + rng.uniform(-1, 10, (30, 2))], 1)
        more = 0 if normalized else 1
        for k in range(5):
            for j, found in enumerate(nms.overlap(boxes[k], boxes, normalized)):
                a, b = boxes[k], boxes[j]
                area = [
                    0 if x[2] < x[0] or x[3] < x[1] else (x[2] - x[0] + more) * (x[3] - x[1] + more) for x in (a, b)
                ]
                if b[0] > a[2] or b[2] < a[0] or b[1] > a[3] or b[3] < a[1]:
                    want = 0
                else:
                    common = (min(a[2], b[2]) - max(a[0], b[0]) + more) * (min(a[3], b[3]) - max(a[1], b[1]) + more)
                    want = common / (sum(area) - common) if sum(area) > common else 0
                assert found == pytest.approx(want)


def test_every_translator_of_a_fixture_is_covered():
    used = {o.type for n in names() for b in programdesc.parse(files()[f"{n}.pdmodel"]).blocks for o in b.operators}
    from paddle.interop.legacy import TRANSLATORS

    assert len(used & set(TRANSLATORS)) >= 330
