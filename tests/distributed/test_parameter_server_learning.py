"""Two servers and two workers, in processes, learn to predict clicks as well as one process alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from _launched import environment, finish, launch, logs

CLICKS = Path(__file__).with_name("_clicks.py")
STEPS = "200"


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run([sys.executable, CLICKS, folder, "alone", STEPS], env=environment(), check=True, timeout=200)
    return json.loads((folder / "alone.json").read_text())["auc"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["sync", "async", "geo"])
def test_two_servers_and_two_workers_learn_as_much_as_one_process(tmp_path, alone, mode):
    flags = ("--server_num", "2", "--trainer_num", "2")
    code, _, err = finish(launch(tmp_path, CLICKS, str(tmp_path), mode, STEPS, flags=flags))
    assert code == 0, err + logs(tmp_path)
    found = json.loads((tmp_path / f"{mode}.json").read_text())
    assert (found["workers"], found["servers"]) == (2, 2)
    assert alone > 0.8 and found["auc"] > alone - 0.005
