"""File systems behind one interface: the local one, and HDFS through the `hadoop` command."""

from __future__ import annotations

import abc
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ....engine import errors

__all__: list[str] = []


class ExecuteError(Exception):
    """A command of the file system failed."""


class FSFileExistsError(Exception):
    """The target exists already."""


class FSFileNotExistsError(Exception):
    """There is no such file."""


class FSTimeOut(Exception):
    """A command still failed when the time was over."""


class FSShellCmdAborted(ExecuteError):
    """The command itself was aborted."""


class FS(abc.ABC):
    """What a file system can do."""

    @abc.abstractmethod
    def ls_dir(self, fs_path: str) -> tuple[list[str], list[str]]:
        """The names of the folders and of the files in a folder."""

    @abc.abstractmethod
    def is_file(self, fs_path: str) -> bool:
        """Whether it is a file."""

    @abc.abstractmethod
    def is_dir(self, fs_path: str) -> bool:
        """Whether it is a folder."""

    @abc.abstractmethod
    def is_exist(self, fs_path: str) -> bool:
        """Whether there is one of this name."""

    @abc.abstractmethod
    def mkdirs(self, fs_path: str) -> None:
        """Make a folder and those that it lies in."""

    @abc.abstractmethod
    def delete(self, fs_path: str) -> None:
        """Remove a file or a folder with all that is in it; nothing where there is none."""

    @abc.abstractmethod
    def need_upload_download(self) -> bool:
        """Whether files have to be copied here to be read."""

    @abc.abstractmethod
    def mv(self, fs_src_path: str, fs_dst_path: str, overwrite: bool = False, test_exists: bool = False) -> None:
        """Move. FSFileNotExistsError, FSFileExistsError."""

    @abc.abstractmethod
    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        """Make an empty file. FSFileExistsError where there is one and it is not `exist_ok`."""

    def rename(self, fs_src_path: str, fs_dst_path: str) -> None:
        """Move."""
        self.mv(fs_src_path, fs_dst_path)

    def list_dirs(self, fs_path: str) -> list[str]:
        """The names of the folders in a folder."""
        return self.ls_dir(fs_path)[0]

    def upload(self, local_path: str, fs_path: str) -> None:
        """Copy a local file to it."""
        raise errors.NotImplemented_(f"{type(self).__name__}.upload: files need not be copied")

    def download(self, fs_path: str, local_path: str) -> None:
        """Copy a file from it."""
        raise errors.NotImplemented_(f"{type(self).__name__}.download: files need not be copied")

    def upload_dir(self, local_dir: str, dest_dir: str) -> None:
        """Copy a local folder to it."""
        raise errors.NotImplemented_(f"{type(self).__name__}.upload_dir: files need not be copied")

    def cat(self, fs_path: str | None = None) -> str:
        """The text of a file."""
        raise errors.NotImplemented_(f"{type(self).__name__}.cat")


class LocalFS(FS):
    """The local file system.

    Example:
        >>> paddle.distributed.fleet.utils.LocalFS().is_exist("/no/such/file")
        False
    """

    def ls_dir(self, fs_path: str) -> tuple[list[str], list[str]]:
        names = sorted(os.listdir(fs_path)) if os.path.isdir(fs_path) else []
        folders = [n for n in names if os.path.isdir(os.path.join(fs_path, n))]
        return folders, [n for n in names if n not in folders]

    def mkdirs(self, fs_path: str) -> None:
        assert not os.path.isfile(fs_path), f"(AlreadyExists) mkdirs: {fs_path} is a file"
        os.makedirs(fs_path, exist_ok=True)

    def rename(self, fs_src_path: str, fs_dst_path: str) -> None:
        os.rename(fs_src_path, fs_dst_path)

    def delete(self, fs_path: str) -> None:
        if os.path.isdir(fs_path) and not os.path.islink(fs_path):
            shutil.rmtree(fs_path)
        elif os.path.lexists(fs_path):
            os.remove(fs_path)

    def need_upload_download(self) -> bool:
        return False

    def is_file(self, fs_path: str) -> bool:
        return os.path.isfile(fs_path)

    def is_dir(self, fs_path: str) -> bool:
        return os.path.isdir(fs_path)

    def is_exist(self, fs_path: str) -> bool:
        return os.path.exists(fs_path)

    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        if os.path.exists(fs_path):
            if exist_ok:
                return
            raise FSFileExistsError(f"touch: {fs_path} exists already")
        with open(fs_path, "a"):
            pass

    def mv(self, src_path: str, dst_path: str, overwrite: bool = False, test_exists: bool = False) -> None:
        if not os.path.exists(src_path):
            raise FSFileNotExistsError(f"mv: there is no {src_path}")
        if overwrite:
            self.delete(dst_path)
        if os.path.exists(dst_path):
            raise FSFileExistsError(f"mv: {dst_path} exists already")
        os.rename(src_path, dst_path)

    def list_dirs(self, fs_path: str) -> list[str]:
        return self.ls_dir(fs_path)[0]


class HDFSClient(FS):
    """HDFS, through `hadoop fs`.

    Args:
        hadoop_home: the folder with bin/hadoop.
        configs: settings for the command, such as {"fs.default.name": ..., "hadoop.job.ugi": ...}.
        time_out: milliseconds for which a command that fails is tried again.
        sleep_inter: milliseconds between two tries.

    Raises:
        FSTimeOut: a command still failed when the time was over.

    Example:
        >>> client = paddle.distributed.fleet.utils.HDFSClient("/opt/hadoop", {"fs.default.name": "hdfs://host:9000"})
        >>> client.need_upload_download()
        True
    """

    def __init__(self, hadoop_home, configs, time_out=5 * 60 * 1000, sleep_inter=1000):
        settings = [f"-D{name}={value}" for name, value in (configs or {}).items()]
        self.pre_commands = [f"{hadoop_home}/bin/hadoop", "fs", *settings]
        self._time_out, self._sleep_inter = time_out, sleep_inter

    def _call(self, *words: str) -> tuple[int, list[str]]:
        try:
            done = subprocess.run([*self.pre_commands, *words], capture_output=True, text=True, check=False)
        except OSError as error:
            raise ExecuteError(f"{self.pre_commands[0]} cannot be started ({error})") from None
        if done.returncode in (134, -6):
            raise FSShellCmdAborted(" ".join(words))
        lines = done.stdout.splitlines()
        return done.returncode, lines if not done.returncode else lines + done.stderr.splitlines()

    def _ask(self, question: str, path: str) -> bool:
        code, _ = self._again(lambda: self._call("-test", question, path))
        return code == 0

    def _do(self, *words: str) -> list[str]:
        """The lines that a command gives that has to succeed; it is tried again until the time is over."""

        def once() -> list[str]:
            code, lines = self._call(*words)
            if code:
                raise ExecuteError(f"{' '.join(words)}: {' '.join(lines[-3:])}")
            return lines

        return self._again(once)

    def _again(self, function: Callable) -> Any:
        end = time.monotonic() + self._time_out / 1000
        while True:
            try:
                return function()
            except FSShellCmdAborted:
                raise
            except ExecuteError as error:
                if time.monotonic() + self._sleep_inter / 1000 > end:
                    raise FSTimeOut(f"after {self._time_out} ms: {error}") from None
            time.sleep(self._sleep_inter / 1000)

    def list_dirs(self, fs_path: str) -> list[str]:
        return self.ls_dir(fs_path)[0]

    def ls_dir(self, fs_path: str) -> tuple[list[str], list[str]]:
        if not self.is_exist(fs_path):
            return [], []
        rows = [row for row in (line.split(None, 7) for line in self._do("-ls", fs_path)) if len(row) == 8]
        names = [(row[0].startswith("d"), os.path.basename(row[7])) for row in rows]
        return [n for folder, n in names if folder], [n for folder, n in names if not folder]

    def is_exist(self, fs_path: str) -> bool:
        return self._ask("-e", fs_path)

    def is_dir(self, fs_path: str) -> bool:
        return self._ask("-d", fs_path)

    def is_file(self, fs_path: str) -> bool:
        return self.is_exist(fs_path) and not self.is_dir(fs_path)

    def upload_dir(self, local_dir: str, dest_dir: str, overwrite: bool = False) -> None:
        """Copy a local folder into a folder there."""
        local_dir, dest_dir = local_dir.rstrip("/"), dest_dir.rstrip("/")
        if overwrite:
            self.delete(f"{dest_dir}/{os.path.basename(local_dir)}")
        self.mkdirs(dest_dir)
        self._do("-put", local_dir, dest_dir)

    def upload(self, local_path: str, fs_path: str, multi_processes: int = 5, overwrite: bool = False) -> None:
        """Copy a local file, or what is in a local folder, several at a time. FSFileNotExistsError."""
        if not os.path.exists(local_path):
            raise FSFileNotExistsError(f"upload: there is no {local_path}")
        several = os.path.isdir(local_path)
        files = sorted(os.path.join(local_path, n) for n in os.listdir(local_path)) if several else [local_path]
        if overwrite:
            self.delete(fs_path)
        if several:
            self.mkdirs(fs_path)
        self._many(lambda file: self._do("-put", file, fs_path), files, multi_processes)

    def download(self, fs_path: str, local_path: str, multi_processes: int = 5, overwrite: bool = False) -> None:
        """Copy a file from there, or what is in a folder there, several at a time. FSFileNotExistsError."""
        if not self.is_exist(fs_path):
            raise FSFileNotExistsError(f"download: there is no {fs_path}")
        if overwrite:
            LocalFS().delete(local_path)
        files = [fs_path]
        if self.is_dir(fs_path):
            folders, names = self.ls_dir(fs_path)
            files = [f"{fs_path}/{name}" for name in (*names, *folders)]
            os.makedirs(local_path, exist_ok=True)
        self._many(lambda file: self._do("-get", file, local_path), files, multi_processes)

    @staticmethod
    def _many(function: Callable, files: list[str], number: int) -> None:
        with ThreadPoolExecutor(max(number, 1)) as pool:
            list(pool.map(function, files))

    def mkdirs(self, fs_path: str) -> None:
        if not self.is_exist(fs_path):
            self._do("-mkdir", "-p", fs_path)

    def mv(self, fs_src_path: str, fs_dst_path: str, overwrite: bool = False, test_exists: bool = True) -> None:
        if overwrite:
            self.delete(fs_dst_path)
        if test_exists:
            if not self.is_exist(fs_src_path):
                raise FSFileNotExistsError(f"mv: there is no {fs_src_path}")
            if self.is_exist(fs_dst_path):
                raise FSFileExistsError(f"mv: {fs_dst_path} exists already")
        self._do("-mv", fs_src_path, fs_dst_path)

    def delete(self, fs_path: str) -> None:
        if self.is_exist(fs_path):
            self._do("-rm", "-r", fs_path)

    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        if self.is_exist(fs_path):
            if exist_ok:
                return
            raise FSFileExistsError(f"touch: {fs_path} exists already")
        self._do("-touchz", fs_path)

    def need_upload_download(self) -> bool:
        return True

    def cat(self, fs_path: str | None = None) -> str:
        """The text of a file, "" where there is none."""
        return "\n".join(self._do("-cat", fs_path)) if fs_path and self.is_file(fs_path) else ""

    def list_files_info(self, path_list: list[str]) -> list[dict[str, Any]]:
        """[{"path": ..., "size": bytes}, ...] of files and of what is in folders."""
        rows = (line.split(None, 7) for line in (self._do("-ls", *path_list) if path_list else []))
        return [{"path": row[7], "size": int(row[4])} for row in rows if len(row) == 8]
