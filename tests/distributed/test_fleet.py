"""The grid of processes, the settings and the roles of fleet, against values of the official package."""

import copy

import pytest

from paddle.distributed import fleet


def test_topology():
    grid = fleet.CommunicateTopology(["data", "pipe", "model"], [2, 2, 3])
    assert grid.get_comm_list("data") == [[0, 6], [1, 7], [2, 8], [3, 9], [4, 10], [5, 11]]
    assert grid.get_comm_list("pipe") == [[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8, 11]]
    assert repr(grid.get_coord(7)) == "Coordinate(data=1, pipe=0, model=1)"
    assert grid.get_rank(data=1, pipe=0, model=2) == 8 and grid.get_rank_from_stage(5, pipe=0) == 2
    assert grid.get_axis_list("pipe", 1) == [3, 4, 5, 9, 10, 11]
    assert grid.get_fused_ranks(["data", "model"]) == [[0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]]
    assert grid.get_dim("model") == 3 and grid.world_size() == 12
    with pytest.raises(ValueError, match="no axis 'tensor'"):
        grid.get_dim("tensor")
    with pytest.raises(ValueError, match="dims must be"):
        fleet.CommunicateTopology(["data"], [0])


def test_strategy(tmp_path):
    strategy = fleet.DistributedStrategy()
    assert (strategy.fuse_grad_size_in_MB, strategy.fuse_all_reduce_ops, strategy.amp) == (32, True, False)
    strategy.hybrid_configs = {"mp_degree": 2}
    assert strategy.hybrid_configs["mp_degree"] == 2 and strategy.hybrid_configs["dp_degree"] == -1
    other = copy.deepcopy(strategy)
    other.amp = True
    assert not strategy.amp
    other.save_to_prototxt(str(tmp_path / "s"))
    strategy.load_from_prototxt(str(tmp_path / "s"))
    assert strategy.amp and strategy.hybrid_configs["mp_degree"] == 2
    with pytest.raises(ValueError, match="no entry 'tp'"):
        strategy.hybrid_configs = {"tp": 2}
    with pytest.raises(TypeError, match="amp must be a bool"):
        strategy.amp = 1
    with pytest.raises(ValueError, match="no setting 'ampp'"):
        strategy.ampp = True


def test_roles(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "3")
    role = fleet.PaddleCloudRoleMaker(is_collective=True)
    assert (role._worker_index(), role._worker_num(), role._is_worker(), role._is_server()) == (1, 3, True, False)
    assert fleet.UtilBase().get_file_shard(list("abcde")) == ["c", "d"]
    monkeypatch.setenv("TRAINING_ROLE", "PSERVER")
    monkeypatch.setenv("PADDLE_PSERVERS_IP_PORT_LIST", "127.0.0.1:81,127.0.0.1:82")
    monkeypatch.setenv("POD_IP", "127.0.0.1")
    monkeypatch.setenv("PADDLE_PORT", "82")
    server = fleet.PaddleCloudRoleMaker()
    assert server._is_server() and server._server_index() == 1 and server._server_num() == 2
    monkeypatch.setenv("PADDLE_PORT", "99")
    with pytest.raises(ValueError, match="is not one of"):
        fleet.PaddleCloudRoleMaker()
    with pytest.raises(TypeError, match="strategy must be"):
        fleet.init(strategy={})
