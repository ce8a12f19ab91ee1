"""Streams, events and properties of devices; on the CPU, where they are simple."""

import types

import pytest

import paddle
from paddle import device


def test_events_measure_time_and_wait():
    start, end = device.Event(enable_timing=True), device.Event(enable_timing=True)
    start.record()
    x = paddle.ones([200, 200])
    for _ in range(5):
        x = x @ x * 1e-3
    end.record()
    assert start.elapsed_time(end) > 0
    event = device.Stream().record_event()
    event.synchronize()
    assert event.query()
    with pytest.raises(RuntimeError, match="enable_timing"):
        event.elapsed_time(end)


def test_streams():
    s, before = device.Stream("cpu"), device.current_stream()
    assert s != before and device.Stream(stream_base=s) == s and before == device.current_stream("cpu")
    with device.stream_guard(s):
        assert device.current_stream() is s
        (paddle.ones([2]) * 2).numpy()
    assert device.current_stream() is before
    s.wait_stream(before), s.wait_event(before.record_event()), s.synchronize()
    assert s.query() and device.set_stream(s) is before and device.set_stream(before) is s
    with pytest.raises(TypeError):
        device.set_stream("cpu")
    with pytest.raises(NotImplementedError):
        device.get_stream_from_external(0)


def test_properties():
    found = device.get_device_properties("cpu")
    assert found.name == device.get_device_name("cpu") and found.total_memory > 2**20
    assert found.multi_processor_count >= 1
    assert device.get_device_capability("cpu") == (0, 0) and device.is_bf16_supported()
    with pytest.raises(ValueError):
        device.get_device_properties([1])
    with pytest.raises(RuntimeError, match="gpu:99"):
        device.get_device_properties("gpu:99")


def test_default_device_and_modules():
    name = paddle.get_default_device()
    paddle.set_default_device("cpu")
    assert paddle.get_device() == "cpu" and paddle.get_device(paddle.ones([1])) == -1
    assert paddle.get_device_module("cpu") is device.cpu
    assert isinstance(paddle.get_device_module("cpu"), types.ModuleType)
    paddle.set_default_device(name)
    with pytest.raises(NotImplementedError):
        paddle.get_device_module("xpu")
    with pytest.raises(RuntimeError):
        paddle.XPUPinnedPlace()


def test_random_states_of_devices():
    state = device.get_rng_state()
    first = paddle.rand([3]).tolist()
    device.set_rng_state(state)
    assert paddle.rand([3]).tolist() == first
    device.manual_seed(5)
    second = paddle.rand([3]).tolist()
    paddle.seed(5)
    assert paddle.rand([3]).tolist() == second


def test_the_device_context():
    with device.device("cpu"):
        assert paddle.ones([1]).place.is_cpu_place()
    with device.device(None):
        pass


def test_xpus_are_named_but_absent():
    assert device.xpu.device_count() == 0 and not device.is_compiled_with_xpu()
    for call in (device.xpu.synchronize, device.xpu.Stream, device.xpu.memory_total, device.xpu.empty_cache):
        with pytest.raises(RuntimeError, match=r"device\.xpu\.\w+: not compiled with XPU"):
            call()


def test_plug_in_devices():
    assert device.custom_device.device_count("npu") == 0
    with pytest.raises((RuntimeError, ValueError), match="npu"):
        device.custom_device.Stream("npu")
    stream = device.custom_device.Stream("cpu")
    assert stream.place == paddle.CPUPlace() and stream.raw_stream and stream.query()
    event = device.custom_device.Event("cpu", enable_timing=True)
    event.record(stream)
    assert event.query() and event.place == paddle.CPUPlace() and event.raw_event
