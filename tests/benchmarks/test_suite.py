"""The workloads of the benchmark suite at tiny sizes, ours only, and the comparison of result files."""

import json
import math
import sys
from pathlib import Path

import pytest

import paddle

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import compare  # noqa: E402
import suite  # noqa: E402
import suite_workloads  # noqa: E402

# The values after two steps that official PaddlePaddle 3.3.1 and PyTorch 2.13 both give from the same weights.
RECORDED = {
    "op_add": 45.7647,
    "op_chain": 7.28674,
    "mlp": 2.52729,
    "lenet": 1.70693,
    "resnet18_train": 7.1628,
    "resnet18_infer": 883.396,
    "mobilenet_v2_train": 5.88555,
    "mobilenet_v2_infer": 135.9,
    "encoder_train": 1.81723,
    "encoder_infer": 252.874,
    "encoder_bf16": 1.81659,
    "gpt_decode": 34,
    "lstm": 3.02417,
    "crnn": 7.4336,
    "pinn": 0.435539,
    "adam_300": 5.31457,
    "recommender": 0.521614,
}


@pytest.mark.parametrize("name", suite_workloads.WORKLOADS)
def test_workload_gives_the_values_of_the_rivals(name):
    step = suite_workloads.make(paddle, name, same=True, small=True)
    first, second = (suite_workloads.value(step()) for _ in range(2))
    assert math.isfinite(first)
    assert second == pytest.approx(RECORDED[name], rel=0.02 if name == "encoder_bf16" else 2e-4)


def result(step, loss=1.0, memory=100.0, compiles=10):
    ours = {"step": step, "losses": [loss], "memory": memory, "first": {"total": 1.0}, "compiles": compiles}
    rival = {"step": 0.01, "losses": [1.0], "memory": 50.0, "first": {"total": 1.0}}
    return {"ours": ours, "torch": rival}


def test_table_has_ratios_means_and_disagreements():
    results = {"mlp": result(0.005), "lenet": result(0.02, loss=1.5)}
    heads, mlp, lenet = suite.rows(results)
    assert mlp[heads.index("x torch")] == "2.00" and mlp[heads.index("x paddle")] == "-"
    assert mlp[-1] == "agree" and "ours 1.5, torch 1" in lenet[-1]
    assert suite.summary(results) == ["geometric mean against torch: 1.00; slower in lenet"]


def test_compare_finds_what_got_worse(tmp_path, monkeypatch, capsys):
    before = {"a": result(0.01), "b": result(0.01), "c": result(0.01), "d": result(0.01)}
    after = {"a": result(0.02), "b": result(0.01, memory=200.0), "c": result(0.01, loss=2.0), "d": result(0.009)}
    after["a"]["torch"]["step"] = 0.011  # the machine is hardly slower
    _, regressions = compare.worse(before, after, 1.1)
    assert [r[:2] for r in regressions] == ["a:", "b:", "c:"]
    for name, results in (("before", before), ("after", after)):
        (tmp_path / name).write_text(json.dumps({"workloads": results}))
    monkeypatch.setattr(sys, "argv", ["compare.py", str(tmp_path / "before"), str(tmp_path / "after")])
    assert compare.main() == 1
    monkeypatch.setattr(sys, "argv", ["compare.py", str(tmp_path / "before"), str(tmp_path / "before")])
    assert compare.main() == 0 and "no regressions" in capsys.readouterr().out


def test_compare_forgives_a_slower_machine():
    before, after = {"a": result(0.01)}, {"a": result(0.02)}
    after["a"]["torch"]["step"] = 0.02
    assert compare.worse(before, after, 1.1)[1] == []
