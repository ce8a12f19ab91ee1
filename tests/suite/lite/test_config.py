"""Configurations, enumerations, power modes."""

import os

import pytest

import paddlelite as lite
from paddlelite.power import core_kinds, settings

HIGH, LOW, FULL, NO_BIND = (lite.PowerMode[f"LITE_POWER_{m}"] for m in ("HIGH", "LOW", "FULL", "NO_BIND"))


@pytest.fixture
def cores(tmp_path, monkeypatch):
    """Makes a processor with cores of these speeds."""

    def make(speeds, name="cpu_capacity"):
        for i, speed in enumerate(speeds):
            path = tmp_path / f"cpu{i}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(speed))
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(len(speeds))), raising=False)
        return str(tmp_path)

    return make


def test_kinds_of_cores(cores):
    assert core_kinds(cores([400] * 4 + [1024] * 4)) == ([4, 5, 6, 7], [0, 1, 2, 3])
    assert core_kinds(cores([1000, 1024, 1000, 1024])) == ([0, 1, 2, 3], [])
    assert core_kinds(cores([0, "", "noise", 5])) == ([0, 1, 2, 3], [])


def test_frequencies_where_there_are_no_capacities(cores):
    assert core_kinds(cores([1800000] * 2 + [3000000], "cpufreq/cpuinfo_max_freq")) == ([2], [0, 1])


def test_power_modes(cores):
    folder = cores([400] * 4 + [1024] * 4)
    key, spin = "session.intra_op_thread_affinities", "session.intra_op.allow_spinning"
    assert settings(HIGH, 3, folder) == (3, {key: "6;7"})
    assert settings(HIGH, 9, folder) == (4, {key: "6;7;8"})
    assert settings(LOW, 2, folder) == (2, {spin: "0", key: "2"})
    assert settings(FULL, 9, folder) == (8, {}) and settings(NO_BIND, 1, folder) == (1, {})
    assert settings(HIGH, 1, folder) == (1, {})


def test_power_modes_where_cores_are_alike(cores):
    folder = cores([1024] * 2)
    assert settings(HIGH, 9, folder) == (2, {}) == settings(FULL, 9, folder)
    assert settings(LOW, 2, folder) == (2, {"session.intra_op.allow_spinning": "0"})


@pytest.mark.parametrize("mode", list(lite.PowerMode))
def test_modes_and_threads_run(saved, mode):
    config = lite.MobileConfig()
    config.set_model_from_file(saved.nb)
    config.set_power_mode(mode)
    config.set_threads(2**31)
    assert config.power_mode() == mode
    lite.create_predictor(config)


def test_wrong_values():
    config = lite.MobileConfig()
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="set_threads"):
            config.set_threads(wrong)
    for wrong in ("2", 1.5, None, True):
        with pytest.raises(TypeError, match="set_threads"):
            config.set_threads(wrong)
    for wrong in (6, -1, "HIGH", None, True, 1.0):
        with pytest.raises(ValueError, match="PowerMode"):
            config.set_power_mode(wrong)
    with pytest.raises(ValueError, match="TargetType"):
        lite.Place("arm")
    with pytest.raises(ValueError, match="device"):
        lite.Place(lite.TargetType.ARM, device=-1)
    with pytest.raises(NotImplementedError, match="model_cache_dir"):
        config.set_nnadapter_model_cache_buffers("x", b"")
    with pytest.raises(TypeError, match="CxxModelBuffer"):
        lite.CxxConfig().set_model_buffer(b"x")
    with pytest.raises(TypeError, match="got a str"):
        lite.CxxModelBuffer("x", 1, b"", 0)
    with pytest.raises(AttributeError, match="nothing"):
        lite.nothing  # noqa: B018


def test_what_is_given_comes_back():
    config = lite.CxxConfig()
    config.set_model_file("m")
    config.set_param_file("p")
    config.set_model_dir("d")
    config.set_x86_math_num_threads(3)
    config.set_passes_internal(["a"])
    config.add_discarded_pass("b")
    config.set_nnadapter_context_properties("K=V;")
    config.set_opencl_tune(lite.CLTuneMode.CL_TUNE_NORMAL)
    config.set_opencl_precision(lite.CLPrecisionType.CL_PRECISION_FP16)
    config.set_metal_use_mps()
    assert (config.model_file(), config.param_file(), config.model_dir(), config.threads()) == ("m", "p", "d", 3)
    assert config.get_passes_internal() == ["a"] and config.get_discarded_passes() == ["b"]
    assert config.nnadapter_context_properties() == "K=V;" and not config.is_model_from_memory()
    place = lite.Place(lite.TargetType.ARM, lite.PrecisionType.FP16)
    assert place.is_valid() and not lite.Place().is_valid() and "ARM, FP16, NCHW" in repr(place)
