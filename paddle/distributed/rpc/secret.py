"""The secret by which processes of a job know each other."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from ...engine import errors

VARIABLE = "PADDLE_XLA_TOKEN"


def path() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return Path(folder) / "paddle-xla" / "token"


def job_token() -> bytes:
    """The secret of this job: the variable PADDLE_XLA_TOKEN, which the launcher sets, or else a file that only this user
    can read, made when it is first needed.

    Raises:
        RuntimeError: there is no such file and it cannot be made, or others can read it.
    """
    given = os.environ.get(VARIABLE)
    if given:
        return given.encode()
    file = path()
    try:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_name(f"token.{os.getpid()}")
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as f:
                f.write(secrets.token_hex(32))
            with contextlib.suppress(FileExistsError):  # another process was first
                os.link(part, file)
            os.unlink(part)
        about = file.stat()
        if about.st_mode & 0o077 or about.st_uid != os.getuid():
            raise errors.RuntimeError_(f"others than this user can read {file}: make it private (chmod 600)")
        return file.read_text().strip().encode()
    except OSError as error:
        raise errors.RuntimeError_(
            f"the processes of a job need a shared secret: {file} cannot be made ({error}); set {VARIABLE} to the same "
            "text in all of them"
        ) from None
