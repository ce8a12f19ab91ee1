"""Back ends: the table, the report, what is asked of ONNX Runtime, and what happens when something is absent."""

import warnings
from types import SimpleNamespace

import numpy as np
import onnxruntime
import pytest

import paddlelite as lite
from paddlelite import accelerators as table
from paddlelite import predictor as predictors

TWELVE = "nnapi coreml xnnpack qnn cann openvino tensorrt rocm directml acl rknpu webgpu".split()


def config_of(saved, path=None):
    config = lite.MobileConfig()
    config.set_model_from_file(path or saved.nb)
    return config


def test_report():
    found = {b.name: b for b in lite.backends()}
    assert list(found) == [*TWELVE, "cpu"]
    here = onnxruntime.get_available_providers()
    for b in found.values():
        assert b.present == any(p in here for p in lite.BACKENDS[b.name].providers)
        assert b.name in str(b) and ("present" in str(b) if b.present else b.needs in str(b))


def test_providers_are_onnx_runtimes():
    known = onnxruntime.get_all_providers()
    removed = {"ROCMExecutionProvider", "ACLExecutionProvider", "NvTensorRTRTXExecutionProvider"}  # of other releases
    for row in lite.BACKENDS.values():
        assert any(p in known or p in removed for p in row.providers), row
    assert all(b is None or b in lite.BACKENDS for b in lite.TARGETS.values())


@pytest.mark.parametrize("name", TWELVE)
def test_absent_back_ends_warn_once_and_the_cpu_computes(saved, name):
    if any(b.present for b in lite.backends() if b.name == name):
        pytest.skip(f"{name} is present")
    config = config_of(saved)
    config.set_backend(name)
    with pytest.warns(UserWarning, match=f"absent on this machine: '{name}'.*runs on the CPU") as seen:
        predictor = lite.create_predictor(config)
    assert len(seen) == 1 and seen[0].filename == __file__
    x = np.random.RandomState(0).randn(2, 16).astype("float32")
    predictor.get_input(0).from_numpy(x)
    predictor.get_input(1).from_numpy(np.arange(2))
    predictor.run()
    np.testing.assert_allclose(predictor.get_output(0).numpy(), saved(x), rtol=1e-4, atol=1e-5)
    config.set_backend(name, strict=True)
    with pytest.raises(RuntimeError, match=f"absent on this machine: '{name}'"):
        lite.create_predictor(config)


def test_targets_of_files(saved):
    path = saved.optimised(lite, "several", "kunlunxin_xtcl, huawei_ascend_npu arm")
    with pytest.warns(UserWarning, match="kunlunxin_xtcl.*no execution provider.*CANNExecutionProvider") as seen:
        lite.create_predictor(config_of(saved, path))
    assert len(seen) == 1
    config = config_of(saved, path)
    config.set_backend("cpu", strict=True)
    assert lite.create_predictor(config).providers() == ["CPUExecutionProvider"]
    for target in ("arm", "x86", "host"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lite.create_predictor(config_of(saved, saved.optimised(lite, f"on_{target}", target)))


class Recorded:
    """ONNX Runtime with more providers than it has: notes what it is asked for, and computes on the CPU.

    `takes`: "all" of a model, "nothing" of it, or "" for failing.
    """

    def __init__(self, names, takes="all"):
        self.names, self.takes, self.asked, self.entries = names, takes, [], []

    def __getattr__(self, name):
        return getattr(onnxruntime, name)

    def get_available_providers(self):
        return [*self.names, "CPUExecutionProvider"]

    def SessionOptions(self):
        options, entries = onnxruntime.SessionOptions(), {}
        self.entries.append(entries)

        class Noting:
            def __getattr__(self, name):
                return getattr(options, name)

            def __setattr__(self, name, value):
                entries[name] = value
                setattr(options, name, value)

            def add_session_config_entry(self, key, value):
                entries[key] = value
                options.add_session_config_entry(key, value)

        noting = Noting()
        noting.__dict__["real"] = options
        return noting

    def InferenceSession(self, model, options, providers):
        self.asked.append(providers)
        if not self.takes and len(providers) > 1:
            raise RuntimeError("no such device")
        session = onnxruntime.InferenceSession(model, options.real, providers=["CPUExecutionProvider"])
        names = [p if isinstance(p, str) else p[0] for p in providers]

        class Session:
            def __getattr__(self, name):
                return getattr(session, name)

            def get_providers(self):
                return names

            def get_provider_graph_assignment_info(self):
                return [SimpleNamespace(ep_name=names[0 if taken == "all" else -1])]

        taken = self.takes
        return Session()


@pytest.fixture
def recorded(monkeypatch):
    def install(*names, takes="all"):
        fake = Recorded(names, takes)
        monkeypatch.setattr(table, "runtime", lambda: fake)
        monkeypatch.setattr(predictors, "runtime", lambda: fake)
        return fake

    return install


@pytest.mark.parametrize(
    ("name", "provider", "options"),
    [
        ("nnapi", "NnapiExecutionProvider", {}),
        ("metal", "CoreMLExecutionProvider", {"ModelFormat": "MLProgram", "MLComputeUnits": "ALL", "ModelCacheDirectory": "c"}),
        ("xnnpack", "XnnpackExecutionProvider", {"intra_op_num_threads": "1"}),
        ("qualcomm_qnn", "QNNExecutionProvider", {"backend_type": "htp", "enable_htp_fp16_precision": "1"}),
        ("huawei_ascend_npu", "CANNExecutionProvider", {"device_id": "2", "precision_mode": "force_fp16"}),
        ("openvino", "OpenVINOExecutionProvider", {"device_type": "CPU", "num_of_threads": "1", "cache_dir": "c"}),
        ("nvidia_tensorrt", "TensorrtExecutionProvider",
         {"device_id": "2", "trt_fp16_enable": "True", "trt_engine_cache_enable": "True", "trt_engine_cache_path": "c"}),
        ("rocm", "MIGraphXExecutionProvider", {"device_id": "2", "migraphx_fp16_enable": "1"}),
        ("directml", "DmlExecutionProvider", {"device_id": "2"}),
        ("acl", "ACLExecutionProvider", {"enable_fast_math": "true"}),
        ("rockchip_npu", "RknpuExecutionProvider", {}),
        ("opencl", "WebGpuExecutionProvider", {}),
    ],
)  # fmt: skip
def test_what_present_back_ends_are_asked_for(saved, recorded, name, provider, options):
    fake = recorded(provider)
    config = config_of(saved)
    config.set_backend(name, strict=True, options={"mine": 1})
    config.set_device_id(2)
    config.set_nnadapter_model_cache_dir("c")
    config.set_precision_mode(lite.PrecisionMode.LITE_PRECISION_LOW)
    predictor = lite.create_predictor(config)
    assert fake.asked == [[(provider, {**options, "mine": "1"}), "CPUExecutionProvider"]]
    assert predictor.providers() == [provider, "CPUExecutionProvider"]
    assert fake.entries[0]["enable_mem_pattern"] == (name != "directml")


def test_a_file_in_half_precision_asks_for_it(saved, recorded):
    fake = recorded("TensorrtExecutionProvider")
    path = saved.optimised(lite, "asks", "tensorrt", lambda o: o.enable_fp16())
    lite.create_predictor(config_of(saved, path))
    config = config_of(saved, path)
    config.set_precision_mode(lite.PrecisionMode.LITE_PRECISION_NORMAL)
    lite.create_predictor(config)
    assert [a[0][1]["trt_fp16_enable"] for a in fake.asked] == ["True", "False"]


def test_a_back_end_that_fails(saved, recorded):
    fake = recorded("QNNExecutionProvider", takes="")
    config = config_of(saved)
    config.set_nnadapter_device_names(["qualcomm_qnn"])
    with pytest.warns(UserWarning, match="QNNExecutionProvider cannot be used here: no such device.*CPU") as seen:
        lite.create_predictor(config)
    assert len(seen) == 1 and seen[0].filename == __file__
    assert len(fake.asked) == 2 and fake.asked[1] == ["CPUExecutionProvider"]
    config.set_backend("qnn", strict=True)
    with pytest.raises(RuntimeError, match="no such device"):
        lite.create_predictor(config)


def test_a_back_end_that_takes_nothing_is_told(saved, recorded):
    recorded("OpenVINOExecutionProvider", takes="nothing")
    config = config_of(saved)
    config.set_backend("openvino")
    with pytest.warns(
        UserWarning, match="OpenVINOExecutionProvider cannot be used here: it takes no part of this model"
    ):
        predictor = lite.create_predictor(config)
    assert predictor.providers() == ["CPUExecutionProvider"]
    config.set_backend("openvino", strict=True)
    with pytest.raises(RuntimeError, match="takes no part"):
        lite.create_predictor(config)


def test_only_weights_as_integers_are_unpacked_once(saved, recorded):
    fake = recorded()

    def change(opt):
        opt.set_quant_model(True)

    lite.create_predictor(config_of(saved, saved.optimised(lite, "weights", change=change)))
    lite.create_predictor(config_of(saved))
    assert [e.get("session.disable_quant_qdq") for e in fake.entries] == ["1", None]


def test_names_that_are_wrong(saved):
    config = lite.MobileConfig()
    for wrong in ("abacus", "", None, 3, ["cpu"]):
        with pytest.raises(ValueError, match="there is no target"):
            config.set_backend(wrong)
        with pytest.raises(ValueError, match="there is no target"):
            config.check_nnadapter_device_name(wrong)
    with pytest.raises(ValueError, match="abacus"):
        config.set_nnadapter_device_names(["cpu", "abacus"])
    with pytest.raises(TypeError, match="options"):
        config.set_backend("cpu", options=3)
    with pytest.raises(ValueError, match="there is no target 'BM2'"):
        lite.CxxConfig().set_valid_places(["BM2"])
    assert config.check_nnadapter_device_name("host") and not config.check_nnadapter_device_name("kunlunxin_xtcl")
    config.set_nnadapter_device_names(["Qualcomm_QNN", "qualcomm_qnn"])
    assert config.nnadapter_device_names() == ["qualcomm_qnn"]
