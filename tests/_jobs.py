"""Runs functions of a test module in several processes that stay for the whole module: starting them costs seconds."""

import contextlib
import faulthandler
import functools
import importlib.util
import inspect
import multiprocessing
import os
import time
import traceback

import pytest

from paddle.distributed.launch.main import free_ports


@functools.cache
def _module(path):
    """Test modules have no names by which another process could import them."""
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _serve(rank, size, port, pipe):
    os.environ.update(PADDLE_TRAINER_ID=str(rank), PADDLE_TRAINERS_NUM=str(size), PADDLE_MASTER=f"127.0.0.1:{port}")
    import paddle

    paddle.distributed.init_parallel_env()
    while True:
        task = pipe.recv()
        if task is None:
            os._exit(0)  # the others do, too
        path, name, args = task
        faulthandler.dump_traceback_later(190)  # shortly before the test gives up
        try:
            pipe.send((True, getattr(_module(path), name)(rank, *args)))
        except BaseException:
            pipe.send((False, traceback.format_exc()))
        finally:
            faulthandler.cancel_dump_traceback_later()


class Job:
    """`run(function, *args)` calls function(rank, *args) in all processes and gives the list of the results."""

    def __init__(self, size):
        context = multiprocessing.get_context("spawn")
        port = free_ports(1, None)[0]
        self.pipes, self.processes = [], []
        for rank in range(size):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(rank, size, port, there), daemon=True)
            process.start()
            self.pipes.append(here)
            self.processes.append(process)

    def run(self, function, *args, timeout=200):
        if not self.processes:
            pytest.fail("the processes were ended after an earlier failure")
        for pipe in self.pipes:
            pipe.send((inspect.getfile(function), function.__name__, args))
        end, answers, failed = time.monotonic() + timeout, {}, []
        while len(answers) < len(self.pipes) and time.monotonic() < end:
            for rank, pipe in enumerate(self.pipes):
                if rank not in answers and pipe.poll(0.01):
                    well, answers[rank] = pipe.recv()
                    if not well:
                        failed.append(f"rank {rank}:\n{answers[rank]}")
                        end = min(end, time.monotonic() + 5)  # the others may wait for it
        waiting = sorted(set(range(len(self.pipes))) - set(answers))
        if waiting:
            self.close()
            failed.append(f"no answer from rank {waiting} in {function.__name__}")
        assert not failed, "\n".join(failed)
        return [answers[rank] for rank in range(len(self.pipes))]

    def close(self):
        for pipe in self.pipes:
            with contextlib.suppress(OSError):
                pipe.send(None)
        for process in reversed(self.processes):  # rank 0 holds the store
            process.join(2)
            if process.is_alive():
                process.kill()
                process.join()
        self.processes.clear()


def raised(function, *args, **kwargs):
    """The class and the message of the error of a call."""
    try:
        function(*args, **kwargs)
    except Exception as e:
        return type(e).__name__, str(e)
    return None, "no error"
