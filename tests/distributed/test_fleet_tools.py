"""The file systems, the log and the timing of collectives of fleet."""

import logging
import os
import stat

import pytest

import paddle
from paddle.distributed import fleet
from paddle.distributed.fleet.utils import fs, log_util

from _jobs import Job


def test_local_files(tmp_path):
    local, root = fleet.utils.LocalFS(), str(tmp_path)
    local.mkdirs(f"{root}/a/b")
    local.touch(f"{root}/a/file")
    local.touch(f"{root}/a/file")
    assert local.ls_dir(f"{root}/a") == (["b"], ["file"]) and local.list_dirs(root) == ["a"]
    assert local.ls_dir(f"{root}/none") == ([], []) and not local.need_upload_download()
    assert local.is_dir(f"{root}/a/b") and local.is_file(f"{root}/a/file") and not local.is_exist(f"{root}/none")
    with pytest.raises(fs.FSFileExistsError):
        local.touch(f"{root}/a/file", exist_ok=False)
    with pytest.raises(fs.FSFileNotExistsError):
        local.mv(f"{root}/none", f"{root}/c")
    local.touch(f"{root}/c")
    with pytest.raises(fs.FSFileExistsError):
        local.mv(f"{root}/a/file", f"{root}/c")
    local.mv(f"{root}/a/file", f"{root}/c", overwrite=True)
    local.rename(f"{root}/c", f"{root}/d")
    local.delete(f"{root}/a"), local.delete(f"{root}/none")
    assert local.ls_dir(root) == ([], ["d"])
    with pytest.raises(AssertionError, match="is a file"):
        local.mkdirs(f"{root}/d")


HADOOP = """#!/bin/sh
# `hadoop fs` on a folder, which -Droot names; the first -put of a run fails
root=${2#-Droot=}; shift 2; what=$1; shift
case $what in
  -test) test $1 $root$2 ;;
  -ls) for d in "$@"; do for f in $root$d/*; do
      test -d $f && echo "drwxr-xr-x - me us 0 2026-01-01 10:00 ${f#$root}"
      test -f $f && echo "-rw-r--r-- 3 me us $(wc -c < $f) 2026-01-01 10:00 ${f#$root}"
    done; done; true ;;
  -mkdir) mkdir -p $root$2 ;;
  -put) test -e $root/.tried || { touch $root/.tried; echo "no node" >&2; exit 1; }; cp -r $1 $root$2 ;;
  -get) cp -r $root$1 $2 ;;
  -mv) mv $root$1 $root$2 ;;
  -rm) rm -r $root$2 ;;
  -touchz) touch $root$1 ;;
  -cat) cat $root$1 ;;
esac
"""


def test_hdfs(tmp_path):
    home, root, here = tmp_path / "home", tmp_path / "root", tmp_path / "here"
    for folder in (home / "bin", root, here):
        os.makedirs(folder)
    (home / "bin" / "hadoop").write_text(HADOOP)
    os.chmod(home / "bin" / "hadoop", stat.S_IRWXU)
    client = fleet.utils.HDFSClient(str(home), {"root": root}, time_out=20000, sleep_inter=10)
    (here / "x").write_text("text\nmore")
    client.mkdirs("/data/in")
    client.upload(str(here / "x"), "/data/x")  # the second try succeeds
    assert client.is_file("/data/x") and client.is_dir("/data/in") and not client.is_exist("/none")
    assert client.ls_dir("/data") == (["in"], ["x"]) and client.list_dirs("/data") == ["in"]
    assert client.cat("/data/x") == "text\nmore" and client.cat("/none") == ""
    assert client.list_files_info(["/data"])[1] == {"path": "/data/x", "size": 9}
    client.upload_dir(str(here), "/data/in")
    client.mv("/data/x", "/data/in/y")
    client.touch("/data/in/z")
    client.download("/data/in", str(here / "back"))
    assert sorted(os.listdir(here / "back")) == ["here", "y", "z"]
    with pytest.raises(fs.FSFileNotExistsError):
        client.mv("/data/x", "/data/w")
    client.delete("/data")
    assert not client.is_exist("/data")
    with pytest.raises(fs.FSTimeOut, match="cannot be started"):
        fleet.utils.HDFSClient(str(here), {}, time_out=30, sleep_inter=10).touch("/x")


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append((record.levelname, record.getMessage()))


def test_log():
    handler = Lines()
    log_util.logger.addHandler(handler)
    try:
        fleet.set_log_level("warning")
        fleet.check_memory_usage("unseen")
        assert fleet.get_log_level_code() == 30 and not handler.lines
        fleet.set_log_level(20)
        fleet.check_memory_usage("now")
        assert fleet.get_log_level_name() == "INFO" and " now: memory_allocated" in handler.lines[0][1]
        with pytest.raises(TypeError, match="level must be"):
            fleet.set_log_level(None)
    finally:
        log_util.logger.removeHandler(handler)


def timed(rank):
    handler = Lines()
    log_util.logger.addHandler(handler)
    strategy = fleet.DistributedStrategy()
    for degrees in ({"dp_degree": 2, "mp_degree": 1}, {"dp_degree": 1, "mp_degree": 2}):
        strategy.hybrid_configs = degrees
        fleet.init(is_collective=True, strategy=strategy)
        for kind in (
            ("allreduce", "reduce", "broadcast") if degrees["dp_degree"] == 2 else ("allgather", "reduce_scatter")
        ):
            fleet.collective_perf(kind, 2, {4096: 1e-9})
    fleet.fleet.allreduce_perf(1, paddle.ones([2]), None, 8, 1.0)
    return handler.lines


def test_timing_of_collectives():
    job = Job(2)
    try:
        found = job.run(timed)
    finally:
        job.close()
    for lines in found:
        measured = [text.split()[0] for level, text in lines if level == "INFO"]
        assert measured == ["allreduce", "reduce", "broadcast", "allgather", "reduce_scatter"]
        slow = [text for level, text in lines if level == "WARNING"]
        assert len(slow) == 6 and all("more than 1e-09 s" in text for text in slow[:5]) and "no group" in slow[5]
