import base64
import json
import time
import zlib

import numpy as np
import pytest

import paddle
import paddle.profiler as P
from paddle.engine.modes import modes
from paddle.profiler.events import Event, TracerEventType
from paddle.profiler.profiler_statistic import merged


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def quiet(**options):
    options.setdefault("on_trace_ready", lambda p: None)
    return P.Profiler(targets=[P.ProfilerTarget.CPU], **options)


def train(profiler, steps=3):
    layer = paddle.nn.Sequential(paddle.nn.Linear(4, 5), paddle.nn.ReLU(), paddle.nn.Linear(5, 1))
    sgd = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    data = paddle.io.TensorDataset([paddle.ones([2 * steps, 4])])
    for (x,) in paddle.io.DataLoader(data, batch_size=2):
        with P.RecordEvent("mine"):
            layer(x).sum().backward()
        sgd.step()
        sgd.clear_grad()
        profiler.step(2)


def test_scheduler():
    # official values
    plan = P.make_scheduler(closed=0, ready=0, record=3, repeat=1, skip_first=2)
    assert [plan(i).name for i in range(6)] == ["CLOSED"] * 2 + ["RECORD"] * 2 + ["RECORD_AND_RETURN", "CLOSED"]
    plan = P.make_scheduler(closed=1, ready=0, record=1)
    assert [plan(i).value for i in range(4)] == [0, 3, 0, 3]
    assert [P.Profiler(scheduler=(1, 3)).scheduler(i).value for i in range(4)] == [1, 2, 3, 0]
    assert [P.Profiler(scheduler=(0, 2)).scheduler(i).value for i in range(3)] == [2, 3, 0]
    for wrong in (dict(closed=-1, ready=0, record=1), dict(closed=1, ready=0, record=0)):
        with pytest.raises(ValueError):
            P.make_scheduler(**wrong)
    with pytest.raises(ValueError):
        P.Profiler(scheduler=(3, 3))
    with pytest.raises(TypeError):
        P.Profiler(scheduler=3)
    with pytest.raises(TypeError):
        P.Profiler(targets=[3])


def test_events_of_training_steps():
    before = vars(paddle.nn.Layer)["__call__"], vars(paddle.io.DataLoader)["__iter__"]
    with quiet(record_shapes=True, with_flops=True, profile_memory=True) as p:
        train(p)
    assert (vars(paddle.nn.Layer)["__call__"], vars(paddle.io.DataLoader)["__iter__"]) == before
    assert modes.watcher is None and not modes.special
    events = p.profiler_result.get_data()
    by = {}
    for e in events:
        assert e.end >= e.start
        by.setdefault((e.type.name, e.name), []).append(e)
    assert len(by["Operator", "linear"]) == 6 and len(by["Operator", "linear_grad"]) == 6
    assert len(by["Operator", "relu"]) == 3 and len(by["Operator", "sum_grad"]) == 3
    assert len(by["Forward", "Linear"]) == 6 and len(by["Forward", "Sequential"]) == 3
    assert len(by["Backward", "backward"]) == 3 and len(by["Optimization", "SGD.step"]) == 3
    assert len(by["PythonUserDefined", "mine"]) == 3 and len(by["Dataloader", "DataLoader"]) == 4
    assert [len(by["ProfileStep", f"ProfileStep#{i}"]) for i in range(4)] == [1] * 4
    first = by["Operator", "linear"][0]
    assert first.args == {"input_shapes": [[2, 4], [4, 5], [5]], "bytes": 40, "flops": 2 * 10 * 4}
    # what lies within what
    for name, kind in (("linear", "Forward"), ("linear_grad", "Backward")):
        outer = [e for k, es in by.items() if k[0] == kind for e in es]
        assert all(any(o.start <= e.start and e.end <= o.end for o in outer) for e in by["Operator", name])
    assert all(e.end <= by["ProfileStep", "ProfileStep#0"][0].end for e in [first])


def test_plan_decides_what_is_recorded():
    said = []

    def ready(p):
        names = [e.name for e in p.profiler_result.get_data() if e.type.name == "ProfileStep"]
        said.append((p.step_num, p.current_state.name, p.previous_state.name, names))

    p = quiet(scheduler=P.make_scheduler(closed=1, ready=1, record=1, repeat=2), on_trace_ready=ready)
    p.start()
    for _ in range(8):
        paddle.ones([2]) + 1
        p.step()
    p.stop()
    # official: handed over in the step that follows
    assert said == [
        (3, "CLOSED", "RECORD_AND_RETURN", ["ProfileStep#2"]),
        (6, "CLOSED", "RECORD_AND_RETURN", ["ProfileStep#5"]),
    ]


def test_files(tmp_path):
    with P.Profiler(on_trace_ready=P.export_chrome_tracing("log", "me")) as p:
        train(p, 1)
    (path,) = (tmp_path / "log").iterdir()
    assert path.name.startswith("me_time_") and path.name.endswith(".paddle_trace.json")
    trace = json.loads(path.read_text())
    assert trace["schemaVersion"] == "1.0.2" and trace["displayTimeUnit"] == "ms"
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert {"name", "pid", "tid", "ts", "dur", "cat"} <= set(spans[0])
    assert any(e["cat"] == "Operator" and e["name"].startswith("linear[") for e in spans)
    again = P.load_profiler_result(str(path))
    assert [(e.name, e.type, e.start, e.end) for e in again.get_data()] == [
        (e.name, e.type, e.start, e.end) for e in sorted(p.profiler_result.get_data(), key=lambda e: (e.start, -e.end))
    ]
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ValueError):
        P.load_profiler_result("bad.json")
    with pytest.raises(FileNotFoundError):
        P.load_profiler_result("nowhere.json")
    with pytest.raises(ValueError):
        p.export("x", "yaml")


OFFICIAL = (  # a file of the official package: two steps with an addition each, base85 of zlib
    "c-"
    "oDWPiPZC7{!y?G?QuCj){Mk6=X;Sd$4tz(0_OmJqdzPJuhoAF^ikcve^jnl(ZG0P{bl=L8L+{1t}s@Q0YN>sv<?a*jB`YDOQA7i>"
    "7I-)M+w{cG94GTG;RR-uK?@E_AiGNo_&o5SKk*X3*(t1rD@jUrzBb^q7f+h4n;)Ah+Paf1b5CB!@2qoRn>a4d={6RMkkYMT}+%)d"
    "<<ySGl>&bV0z&8|&q}7OF38dxStuCDcx#`%gC+)K|<d@z9=1C`h5==f3hNUSI3ypjJ?eoZ?aFj;FDqm=<ajMhE7Y$D?d9$B(;E&C"
    "c=b!#~;h;B$VZlb{aOiYMTqXiC$tk-n(v5m}8J#8fQx3X!8JJxoixF*(m9Ha_Gz$1}i9B~HU5vaCcRvWycZmSuDM-WD_zD;%@69?"
    "q{Yt;u(V9KQ}gu79sHad(SJOg+df@#}b~#Q(3e{*o!+l{<VpK>$&mcno?=>qOF*OvQ*Hhw%98BJ+PSmalj-"
    ">XCc<kdt9WBY#1^*1j=l><yng2)qdFVzl|*4mv)Tsd$?jkY_ie*Kh4aL$~-"
    "u9iS0G@i=TM8L4`dm~xz03IalYHOIV0#y@fUb%Q2~1);BmT_&bZG^{DK!5C^1rf0t}a<QMUqZ1%hFG>)Vx7^`4JN2D$Gq-"
    "<mTo2ewxe)Z1Io@(<gaLTr314Oh@FDN+8E+QsKA#QneRcys#j0hzcg-"
    "$!VU#C3!9LVbCF93co10kUxgM~ea#b@HZ2%7sapxHDLsxrOS4i@~vx=&pkC{Y?1e)PN`ezA~WD=h;Quu<UYU)+`;Ush)klLiu6$r"
    "osz3HSy;?-w<1K%|sp8"
)


def test_binary_files(tmp_path):
    with P.Profiler(on_trace_ready=P.export_protobuf("log", "me"), record_shapes=True) as p:
        train(p, 1)
    (path,) = (tmp_path / "log").iterdir()
    assert path.name.startswith("me_time_") and path.name.endswith(".paddle_trace.pb")
    again = P.load_profiler_result(str(path))
    told = lambda events: [(e.name, e.type, e.start, e.end, e.thread, e.device, e.args) for e in events]
    want = sorted(p.profiler_result.get_data(), key=lambda e: (e.start, -e.end))
    assert json.dumps(told(again.get_data()), default=str) == json.dumps(told(want), default=str)
    assert again.get_extra_info() == p.profiler_result.get_extra_info()
    (tmp_path / "official.pb").write_bytes(zlib.decompress(base64.b85decode(OFFICIAL)))
    events = P.load_profiler_result("official.pb").get_data()
    mine = [(e.type.name, e.duration) for e in events if e.name == "my part"]
    assert mine == [("PythonUserDefined", 687761), ("PythonUserDefined", 87811)] and len(events) == 21
    for bad in (b"", b"\x0a\x03zzz", path.read_bytes()[:-3], b"\xff" * 40):
        (tmp_path / "bad.pb").write_bytes(bad)
        with pytest.raises(ValueError, match="bad.pb"):
            P.load_profiler_result("bad.pb")


def test_default_writes_a_file(tmp_path):
    with P.Profiler() as p:
        p.step()
    assert len(list((tmp_path / "profiler_log").iterdir())) == 1


def test_tables(capsys):
    with quiet(record_shapes=True, profile_memory=True) as p:
        train(p)
    p.summary()
    out = capsys.readouterr().out
    for title in ("Device", "Overview", "Model", "Operator", "Memory", "UserDefined"):
        assert f"{title} Summary-" in out
    lines = out.splitlines()
    assert "---------------Thread: All threads merged---" in out
    linear = next(l for l in lines if l.startswith("linear "))
    assert linear.split()[1] == "6"
    assert any(l.startswith("  [[2, 4], [4, 5], [5]] ") for l in lines)
    p.summary(P.SortedKeys.CPUMax, False, True, "us", P.SummaryView.OperatorView)
    out = capsys.readouterr().out
    assert "Overview" not in out and "Time unit: us" in out and "[[2, 4]" not in out
    longest = [float(l.split("/")[2]) for l in out.splitlines() if " / " in l and l[:4] not in ("Name", "----")]
    assert longest == sorted(longest, reverse=True) and len(longest) > 4
    for wrong, error in ((dict(time_unit="h"), ValueError), (dict(views=3), TypeError), (dict(sorted_by=0), TypeError)):
        with pytest.raises(error):
            p.summary(**wrong)


def test_merged_times():
    assert merged([(0, 4), (2, 6), (8, 9), (3, 5)]) == 7
    assert merged([]) == 0


def test_record_event():
    @P.RecordEvent("function")
    def double(x):
        return x * 2

    event = P.RecordEvent("open")
    event.begin()  # nothing records
    event.end()
    with quiet() as p:
        double(paddle.ones([1]))
        event.begin()
        event.end()
        event.end()
        with pytest.raises(KeyError):
            with P.RecordEvent("failing"):
                raise KeyError
    names = [e.name for e in p.profiler_result.get_data() if e.type is TracerEventType.PythonUserDefined]
    assert names == ["function", "open", "failing"]
    with pytest.raises(TypeError):
        P.RecordEvent(3)


def test_failing_operators_and_nesting():
    with quiet() as p:
        with pytest.raises(ValueError):
            paddle.ones([2, 3]) @ paddle.ones([2, 3])
        paddle.ones([2]) + 1
        with pytest.raises(RuntimeError):
            quiet().start()
        with pytest.raises(RuntimeError):
            p.start()
    adds = [e for e in p.profiler_result.get_data() if e.name == "add"]
    assert len(adds) == 1
    with pytest.raises(RuntimeError):
        p.stop()


def test_compiled_functions_are_one_operator():
    f = paddle.jit.to_static(lambda x: (x * 2).exp())
    f(paddle.ones([2]))
    with quiet() as p:
        f(paddle.ones([2]))
    assert [e.name for e in p.profiler_result.get_data() if e.type.name == "Operator"] == ["full", "run_program"]


def test_derivatives_of_derivatives_count_once():
    x = paddle.to_tensor([2.0], stop_gradient=False)
    with quiet() as p:
        (g,) = paddle.grad((x**3).sum(), x, create_graph=True)
        (h,) = paddle.grad(g.sum(), x)
    assert float(h) == 12
    names = [e.name for e in p.profiler_result.get_data() if e.type.name == "Operator"]
    assert names.count("sum_grad") == 2 and names.count("integer_pow_grad") == 1


def test_timer(capsys):
    p = P.Profiler(timer_only=True)
    p.start()
    assert p.step_info() == ""
    for _ in range(2):
        time.sleep(0.01)
        p.step(num_samples=32)
    words = p.step_info(unit="images").split()
    assert words[0] == "batch_cost:" and words[2:4] == ["s", "ips:"] and words[5] == "images/s"
    np.testing.assert_allclose(float(words[4]), 32 / float(words[1]), rtol=2e-3)
    assert 0.01 <= float(words[1]) < 0.1 and p.step_info() == ""
    p.step()
    assert p.step_info().endswith(" steps/s")
    p.stop()
    assert capsys.readouterr().out == ""  # ten steps are warming up
    p.start()
    for _ in paddle.io.DataLoader([[1.0]] * 15):
        p.step(1)
    assert p.step_info().startswith(" reader_cost: ")
    p.stop()
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "=" * 44 + "Perf Summary" + "=" * 44 and out[1].startswith("Reader Ratio: ")
    assert out[3] == "|                 |       avg       |       max       |       min       |"
    assert [l.split()[1] for l in out[4:]] == ["reader_cost", "batch_cost", "ips"]
    assert out[5].startswith("|    batch_cost   |")


def test_events_keep_their_numbers():
    assert (TracerEventType.PythonUserDefined.value, TracerEventType.Backward.value) == (14, 10)
    assert Event("a", TracerEventType.Operator, 3, 7, 0).duration == 4


def test_a_profiler_that_was_lost_is_not_in_the_way():
    before = vars(paddle.nn.Layer)["__call__"]
    lost = quiet()
    lost.start()
    with pytest.raises(RuntimeError, match="needs a `stop"):
        quiet().start()
    del lost
    assert vars(paddle.nn.Layer)["__call__"] == before and modes.watcher is None
    with quiet() as p:
        paddle.add(paddle.ones([2]), paddle.ones([2]))
    assert "add" in [e.name for e in p.profiler_result.get_data()]
