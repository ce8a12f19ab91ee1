"""The grid of the processes and its groups, of eight processes seen from one of them, against the official package."""

import pytest

import paddle
from paddle.distributed import fleet
from paddle.distributed.communication import group as groups
from paddle.distributed.fleet.base import topology


@pytest.fixture
def seen_from(monkeypatch):
    """Groups need no connection: a rank is told to each process by its environment."""
    made = []

    def new_group(ranks):
        made.append(sorted(ranks))
        return groups.Group(ranks.index(rank) if rank in ranks else -1, 100 + len(made), sorted(ranks))

    def see(own, names, dims, **environment):
        nonlocal rank
        rank = own
        monkeypatch.setattr(topology, "get_rank", lambda: own)
        monkeypatch.setattr(topology, "get_world_size", lambda: 8)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        made.clear()
        if "expert" in names:
            return topology.EPHybridCommunicateGroup(names, dims), list(made)
        return fleet.HybridCommunicateGroup(fleet.CommunicateTopology(names, dims)), list(made)

    rank = 0
    monkeypatch.setattr(topology, "new_group", new_group)
    monkeypatch.setattr(topology, "_HYBRID_PARALLEL_GROUP", None)
    return see


NAMES = ["data", "pipe", "sharding", "sep", "model"]


def test_groups_of_data_pipeline_and_tensor_parallelism(seen_from):
    found, _ = seen_from(5, NAMES, [2, 2, 1, 1, 2])
    assert (found.get_data_parallel_rank(), found.get_stage_id(), found.get_model_parallel_rank()) == (1, 0, 1)
    assert found.get_data_parallel_group().ranks == [1, 5] and found.get_data_parallel_group_src_rank() == 1
    assert found.get_pipe_parallel_group().ranks == [5, 7] and found.get_model_parallel_group().ranks == [4, 5]
    assert found.get_sharding_parallel_group().ranks == [5] and found.get_sharding_parallel_world_size() == 1
    assert found.get_check_parallel_group().ranks == [4, 5, 6, 7]
    assert found.get_check_parallel_group(True).ranks == list(range(8))
    assert found.get_pp_mp_parallel_group().ranks == [4, 5, 6, 7]
    assert found.get_parallel_mode() == topology.ParallelMode.PIPELINE_PARALLEL
    assert (found.is_first_stage, found.is_last_stage, found.next_rank, found.prev_rank) == (True, False, 7, 7)
    assert found.get_rank_from_stage(1) == 7 and found.get_rank_from_stage(1, model=0) == 6
    assert topology.current_groups() is found
    with pytest.raises(RuntimeError, match="PADDLE_USE_FOUR_DIRECTIONS_P2P"):
        found.get_p2p_groups()


def test_groups_of_sharding_and_segments(seen_from):
    found, _ = seen_from(6, NAMES, [2, 1, 2, 2, 1])
    assert found.get_sharding_parallel_group().ranks == [4, 6] and found.get_sharding_parallel_rank() == 1
    assert found.get_sep_parallel_group().ranks == [6, 7] and found.get_sep_parallel_group_src_rank() == 6
    assert found.get_dp_sep_parallel_group().ranks == [2, 3, 6, 7]
    assert found.get_check_parallel_group(True).ranks == [2, 3, 6, 7]
    assert found.get_model_parts_group().ranks == [4, 6]
    assert found.get_parallel_mode() == topology.ParallelMode.SEGMENT_PARALLEL
    assert found.create_fuse_group(["sharding", "sep"])[0] == [4, 5, 6, 7]
    with pytest.raises(ValueError, match="no axis 'tensor'"):
        found.create_fuse_group(["tensor"])


def test_another_order_of_the_axes(seen_from):
    found, _ = seen_from(3, ["model", "data"], [2, 4])
    assert found.get_model_parallel_group().ranks == [3, 7] and found.get_data_parallel_group().ranks == [0, 1, 2, 3]
    assert found.get_pipe_parallel_world_size() == 1 and found.get_stage_id() == 0
    assert found.get_parallel_mode() == topology.ParallelMode.TENSOR_PARALLEL


def test_neighbours_in_the_pipeline(seen_from):
    found, made = seen_from(2, ["pipe", "data"], [4, 2], PADDLE_USE_FOUR_DIRECTIONS_P2P="1")
    assert [g.ranks for g in found.get_p2p_groups()] == [[2, 4], [0, 2], [2, 4], [0, 2]]
    assert (found.next_rank, found.prev_rank) == (4, 0)
    assert len({g.id for g in found.get_p2p_groups()}) == 4
    # every process makes the same groups in the same order
    assert all(seen_from(r, ["pipe", "data"], [4, 2])[1] == made for r in range(8))


EXPERTS = ["moe_sharding", "pipe", "sharding", "sep", "context", "expert", "data", "model"]


def test_groups_of_experts(seen_from):
    """Values of the official package."""
    found, made = seen_from(5, EXPERTS, [2, 1, 4, 1, 2, 4, 1, 2])
    assert found.get_expert_parallel_group().ranks == [4, 5, 6, 7] and found.get_expert_parallel_rank() == 1
    assert found.get_moe_sharding_parallel_group().ranks == [1, 5] and found.get_moe_sharding_parallel_rank() == 1
    assert found.get_sharding_parallel_group().ranks == [1, 3, 5, 7] and found.get_sharding_parallel_rank() == 2
    assert (found.get_sharding_parallel_rank(True), found.get_sharding_parallel_world_size(True)) == (1, 2)
    assert found.get_context_parallel_group().ranks == [5, 7] and found.get_context_parallel_rank() == 0
    assert found.get_cp_sharding_parallel_group().ranks == [1, 5]
    assert found.get_cp_mp_parallel_group().ranks == [4, 5, 6, 7] and found.get_model_parallel_group().ranks == [4, 5]
    assert found.get_check_parallel_group().ranks == list(range(8))
    assert found.get_check_parallel_group(True).ranks == [4, 5, 6, 7]
    assert found.get_parallel_mode() == topology.ParallelMode.TENSOR_PARALLEL
    assert found.get_moe_sharding_parallel_world_size() == 2 and found.get_expert_parallel_group_src_rank() == 4
    assert all(seen_from(r, EXPERTS, [2, 1, 4, 1, 2, 4, 1, 2])[1] == made for r in range(8))
    names = ["pipe", "moe_sharding", "expert", "data", "sharding", "sep", "context", "model"]
    found, _ = seen_from(3, names, [2, 1, 4, 1, 2, 1, 1, 2])
    assert found.get_expert_parallel_group().ranks == [0, 1, 2, 3] and found.get_pipe_parallel_group().ranks == [3, 7]
    assert found.get_sharding_parallel_group().ranks == [1, 3] and found.get_stage_id() == 0
    with pytest.raises(ValueError, match=r"pipe x moe_sharding x expert \(4\) must be the product of the others \(8\)"):
        seen_from(0, names, [2, 1, 2, 1, 2, 1, 1, 2])


def test_a_topology_of_another_size(seen_from):
    with pytest.raises(ValueError, match=r"6 places \(data=2, model=3\), but the job has 8 processes"):
        seen_from(0, ["data", "model"], [2, 3])


@pytest.fixture
def alone(monkeypatch):
    monkeypatch.setattr(topology, "_HYBRID_PARALLEL_GROUP", None)
    yield
    if paddle.distributed.is_initialized():
        paddle.distributed.destroy_process_group()


def test_degrees(alone):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {
        "dp_degree": 2,
        "order": ["mp", "dp"],
        "pp_configs": {"delay_scale_loss": True},
        "mp_configs": {"sync_param": True, "sync_mode": "average"},
    }
    configs = strategy.hybrid_configs
    assert configs["pp_configs"].delay_scale_loss and configs["mp_configs"].sync_mode == "average"
    assert not configs["mp_configs"].sync_grad and strategy.hybrid_parallel_order == ["mp", "dp"]
    for wrong, match in (
        ({"mp_degree": 0.5}, "mp_degree must be an int"),
        ({"pp_configs": {"overlap": True}}, "pp_configs has no entry 'overlap'"),
        ({"pp_configs": True}, "pp_configs must be a dict"),
        ({"order": ["dp", "tp"]}, "order must be a list of different ones"),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            strategy.hybrid_configs = wrong
    strategy.hybrid_configs = {"mp_degree": 2, "order": ["dp", "pp", "sharding", "sep", "cp", "mp"]}
    with pytest.raises(ValueError, match=r"must multiply to the number of processes \(1\), got dp_degree=2"):
        fleet.init(is_collective=True, strategy=strategy)


def test_one_process_needs_no_wrapping(alone):
    fleet.init(is_collective=True, strategy=fleet.DistributedStrategy())
    net = paddle.nn.Linear(2, 2)
    sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    assert fleet.distributed_model(net) is net and fleet.distributed_optimizer(sgd) is sgd
    scaler = paddle.amp.GradScaler()
    assert fleet.distributed_scaler(scaler) is scaler
    assert fleet.get_hybrid_parallel_topology().world_size() == 1
    with pytest.raises(TypeError, match="model must be a Layer"):
        fleet.distributed_model(len)
