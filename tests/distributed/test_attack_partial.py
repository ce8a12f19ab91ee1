"""Partial tensors of every kind and type, in one process with a mesh of one device and of four."""

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle.distributed.auto_parallel.api import dtensor_from_local

from _launched import on_devices

WAYS = {"kRedSum": np.sum, "kRedMax": np.max, "kRedMin": np.min, "kRedProd": np.prod, "kRedAvg": np.mean}
TRUTH = {
    "kRedAny": np.any,
    "kRedAll": np.all,
    "kRedSum": np.any,
    "kRedMax": np.any,
    "kRedMin": np.all,
    "kRedAvg": np.all,
}


def check(places):
    """Every device has the same part."""
    mesh = dist.ProcessMesh(list(range(places)), dim_names=["x"])
    for dtype in ("float32", "int32", "complex64", "bool"):
        part = np.array([1, 0, 2, 3]).astype(dtype)
        for kind, how in (TRUTH if dtype == "bool" else WAYS).items():
            placement = dist.Partial(getattr(dist.ReduceType, kind))
            if dtype == "complex64" and kind in ("kRedMax", "kRedMin"):
                with pytest.raises(ValueError, match="no order"):
                    dtensor_from_local(paddle.to_tensor(part), mesh, [placement])
                continue
            whole = dtensor_from_local(paddle.to_tensor(part), mesh, [placement])
            assert str(whole.dtype) == f"paddle.{dtype}", (dtype, kind)
            want = how(np.stack([part] * places), 0)
            for target in (dist.Replicate(), dist.Shard(0)):
                assert dist.reshard(whole, mesh, [target]).numpy().tolist() == want.tolist(), (dtype, kind, target)
            combined = dist.local_map(lambda t: t, [[placement]], [[dist.Replicate()]], mesh)(
                dist.shard_tensor(paddle.to_tensor(part), mesh, [dist.Replicate()])
            )
            assert combined.numpy().tolist() == want.tolist() and str(combined.dtype) == f"paddle.{dtype}"


def test_on_one_device():
    check(1)
    mesh = dist.ProcessMesh([0], dim_names=["x"])
    with pytest.raises(NotImplementedError, match="combines bool"):
        dtensor_from_local(paddle.ones([2]), mesh, [dist.Partial(dist.ReduceType.kRedAny)])


@pytest.mark.slow
def test_on_four_devices(tmp_path):
    on_devices(tmp_path, "import test_attack_partial as t; t.check(4)", 4)
