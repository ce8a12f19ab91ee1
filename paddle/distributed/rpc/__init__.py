"""Remote procedure calls: a function runs in another process of the job and its result comes back.

Arguments and results are pickled, so functions must be importable in both processes. Only processes that know the secret
of the job can call (see `secret`); the connections are not encrypted.
"""

from .agent import (
    WorkerInfo,
    get_all_worker_infos,
    get_current_worker_info,
    get_worker_info,
    init_rpc,
    rpc_async,
    rpc_sync,
    shutdown,
)

__all__ = [
    "init_rpc",
    "shutdown",
    "rpc_async",
    "rpc_sync",
    "get_worker_info",
    "get_all_worker_infos",
    "get_current_worker_info",
]
