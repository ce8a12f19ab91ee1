"""Who a process is: a trainer or a server, and which one."""

from __future__ import annotations

import os
from typing import Any

from ....engine import errors


class Role:
    """What a process does in the job."""

    WORKER = 1
    SERVER = 2
    HETER_WORKER = 3
    ALL = 4
    COORDINATOR = 5


class PaddleCloudRoleMaker:
    """Reads the role from the environment variables of the launcher.

    Args:
        is_collective: all processes are trainers that talk to each other; otherwise there are servers, too.

    Example:
        >>> role = paddle.distributed.fleet.PaddleCloudRoleMaker(is_collective=True)
        >>> role._worker_index(), role._worker_num(), role._is_worker()
        (0, 1, True)
    """

    def __init__(self, is_collective: bool = False, **kwargs: Any):
        self._is_collective = bool(is_collective)
        self._kwargs = kwargs
        environ = os.environ.get
        role = (environ("TRAINING_ROLE") or "TRAINER").upper()
        if role not in ("TRAINER", "PSERVER", "HETER_TRAINER", "COORDINATOR"):
            raise errors.ValueError_(f"PaddleCloudRoleMaker: TRAINING_ROLE must be TRAINER or PSERVER, got {role!r}")
        self._role = {"PSERVER": Role.SERVER, "HETER_TRAINER": Role.HETER_WORKER, "COORDINATOR": Role.COORDINATOR}.get(
            role, Role.WORKER
        )
        if self._is_collective:
            self._role = Role.WORKER
        self._current_id = int(environ("PADDLE_TRAINER_ID") or 0)
        self._workers = int(environ("PADDLE_TRAINERS_NUM") or 1)
        self._worker_endpoints = [e for e in (environ("PADDLE_TRAINER_ENDPOINTS") or "").split(",") if e]
        self._server_endpoints = [e for e in (environ("PADDLE_PSERVERS_IP_PORT_LIST") or "").split(",") if e]
        if self._role == Role.SERVER:
            own = f"{environ('POD_IP') or '127.0.0.1'}:{environ('PADDLE_PORT') or 0}"
            if own not in self._server_endpoints:
                raise errors.ValueError_(
                    f"PaddleCloudRoleMaker: this server, {own} (POD_IP and PADDLE_PORT), is not one of "
                    f"PADDLE_PSERVERS_IP_PORT_LIST, {self._server_endpoints}"
                )
            self._current_id = self._server_endpoints.index(own)

    def _is_worker(self) -> bool:
        return self._role in (Role.WORKER, Role.HETER_WORKER)

    def _is_server(self) -> bool:
        return self._role == Role.SERVER

    def _is_coordinator(self) -> bool:
        return self._role == Role.COORDINATOR

    def _is_first_worker(self) -> bool:
        return self._role == Role.WORKER and self._current_id == 0

    def _worker_index(self) -> int:
        return self._current_id

    def _worker_num(self) -> int:
        return self._workers

    def _server_index(self) -> int:
        return self._current_id

    def _server_num(self) -> int:
        return len(self._server_endpoints)

    def _get_trainer_endpoints(self) -> list[str]:
        return self._worker_endpoints

    def _get_pserver_endpoints(self) -> list[str]:
        return self._server_endpoints

    def to_string(self) -> str:
        """The role in words."""
        return (
            f"role: {self._role}, current_id: {self._current_id}, worker_endpoints: {self._worker_endpoints}, "
            f"server_endpoints: {self._server_endpoints}"
        )


class UserDefinedRoleMaker(PaddleCloudRoleMaker):
    """The role as the arguments say: `current_id`, `role`, `worker_num` or `worker_endpoints`, `server_endpoints`."""

    def __init__(self, is_collective: bool = False, init_gloo: bool = False, **kwargs: Any):
        super().__init__(is_collective, **kwargs)
        self._role = kwargs.get("role", Role.WORKER)
        self._current_id = int(kwargs.get("current_id", 0))
        self._worker_endpoints = list(kwargs.get("worker_endpoints", []))
        self._server_endpoints = list(kwargs.get("server_endpoints", []))
        self._workers = int(kwargs.get("worker_num", len(self._worker_endpoints) or 1))
