"""Training jobs from a queue: workers take them, run the launcher, and report what became of them.

    python deploy/job_queue.py serve --port 7070
    python deploy/job_queue.py put --queue host:7070 --nproc_per_node 2 deploy/train.py --checkpoints run1
    python deploy/job_queue.py work --queue host:7070            # on each machine that trains
    python deploy/job_queue.py results --queue host:7070

A job whose worker gives no sign of life for some seconds goes to another worker; the script then goes on from its last
checkpoint, which lies where all workers see it. The queue is the key-value store of `paddle.distributed`, in the memory of
`serve`. With `--queue redis://host:6379/0` it lies in a Redis server instead, without `serve`: jobs then outlive all these
processes, and with Redis's append-only file also Redis itself (`pip install 'paddle-xla[queue]'`).
"""

import argparse
import ctypes
import json
import signal
import subprocess
import sys
import time
import uuid

from paddle.distributed.store import TCPStore


class RedisStore:
    """What the queue needs of a store, in a Redis server.

    Args:
        address: as redis://:password@host:6379/0; rediss:// for TLS, unix:// for a socket.
        prefix: before all keys, so that several queues share a server.
        patience: seconds for which a server that cannot be reached is tried again.
    """

    port = None

    def __init__(self, address, prefix="paddle/jobs/", patience=60.0):
        import redis
        from redis.backoff import ExponentialBackoff
        from redis.retry import Retry

        errors = (redis.ConnectionError, redis.TimeoutError)
        turns = Retry(ExponentialBackoff(cap=2.0, base=0.1), int(patience / 2) + 5)
        self._redis = redis.Redis.from_url(address, retry=turns, retry_on_error=list(errors), socket_timeout=10)
        self._prefix = prefix
        self._redis.ping()

    # adding again because the answer was lost must not count twice, so each call has a number of its own
    _ADD = """
        local before = redis.call('get', KEYS[2])
        if before then return tonumber(before) end
        local value = redis.call('incrby', KEYS[1], ARGV[1])
        redis.call('set', KEYS[2], value, 'EX', 600)
        return value
    """

    def add(self, key, amount):
        if amount == 0:
            return int(self._redis.get(self._prefix + key) or 0)
        call = f"{self._prefix}calls/{uuid.uuid4().hex}"
        return int(self._redis.eval(self._ADD, 2, self._prefix + key, call, amount))

    def set(self, key, value):
        self._redis.set(self._prefix + key, value)

    def get(self, key):
        end = time.monotonic() + 30
        while (value := self._redis.get(self._prefix + key)) is None:  # it is on its way
            if time.monotonic() > end:
                raise TimeoutError(f"the store has no {key!r}")
            time.sleep(0.02)
        return value

    def close(self):
        self._redis.close()

    def missing(self, keys, timeout):
        return [k for k, v in zip(keys, self._redis.mget([self._prefix + k for k in keys])) if v is None]


class JobQueue:
    """Jobs by number, from 1 on. One that was taken is held as long as `beat` is called.

    Args:
        host, port: where the queue is; or `host` is the address of a Redis server.
        serve: this process holds it.
        lease: seconds without a beat after which a job is free again.
    """

    def __init__(self, host="127.0.0.1", port=0, serve=False, lease=10.0):
        if "://" in host:
            self.store = RedisStore(host)
        else:
            self.store = TCPStore(host, port, is_master=serve, timeout=30)
        self.port, self.lease = self.store.port, lease
        self._seen = {}  # of a job that is held: how many beats there were, and since when
        self._done = 0  # all jobs up to this number are done

    def close(self):
        """Leave the queue; with `serve`, end it."""
        self.store.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def put(self, job):
        """Add a job, a dict of what JSON can say; returns its number."""
        number = self.store.add("jobs/made", 1)
        self.store.set(f"jobs/{number}", json.dumps(job))
        self.store.add("jobs", 1)
        return number

    def take(self):
        """(number, turn, job) of one that nobody holds, or None. `turn` counts how often it was taken."""
        for number in range(self._done + 1, self.store.add("jobs", 0) + 1):
            if self.result(number) is not None:
                self._done += number == self._done + 1
                continue
            if not self._is_free(number):
                continue
            turn = self.store.add(f"turn/{number}", 0) + 1
            first = self.store.add(f"claim/{number}/{turn}", 1) == 1
            self.store.set(f"turn/{number}", str(turn))  # all that try say so: the first may have died before it could
            if first:
                self.beat(number, turn)
                return number, turn, json.loads(self.store.get(f"jobs/{number}"))
        return None

    def _is_free(self, number):
        turn = self.store.add(f"turn/{number}", 0)
        if turn == 0 or self.store.add(f"free/{number}", 0) == turn:
            return True
        now, beats = time.monotonic(), (turn, self.store.add(f"beat/{number}", 0))
        if self._seen.get(number, (None, 0))[0] != beats:
            self._seen[number] = beats, now
        return now > self._seen[number][1] + self.lease

    def beat(self, number, turn):
        """Say that the job goes on; whether it is still ours."""
        self.store.add(f"beat/{number}", 1)
        return self.store.add(f"turn/{number}", 0) == turn

    def give_back(self, number, turn):
        """Let others take it at once."""
        if self.store.add(f"turn/{number}", 0) == turn:
            self.store.add(f"free/{number}", turn - self.store.add(f"free/{number}", 0))

    def finish(self, number, turn, result):
        """Say what became of it, if it is still ours."""
        if self.store.add(f"turn/{number}", 0) == turn:
            self.store.set(f"done/{number}", json.dumps(result))

    def result(self, number):
        """What became of it, None while it is not done."""
        key = f"done/{number}"
        return None if self.store.missing([key], 0) else json.loads(self.store.get(key))

    def open_jobs(self):
        """The numbers of those that are not done."""
        return [n for n in range(1, self.store.add("jobs", 0) + 1) if self.result(n) is None]


def _end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def work(queue, tries=3, until_empty=False):
    """Run jobs, {"arguments": [...]} of `python -m paddle.distributed.launch`, one after the other."""
    while True:
        taken = queue.take()
        if taken is None:
            if until_empty and not queue.open_jobs():
                return
            time.sleep(min(1.0, queue.lease / 4))
            continue
        number, turn, job = taken
        print(f"job {number}, turn {turn}: {' '.join(job['arguments'])}", flush=True)
        command = [sys.executable, "-m", "paddle.distributed.launch", *job["arguments"]]
        process = subprocess.Popen(command, preexec_fn=_end_with_parent)
        try:
            while process.poll() is None and queue.beat(number, turn):
                time.sleep(min(1.0, queue.lease / 4))
        finally:
            process.terminate()
            code = process.wait()
        print(f"job {number} ended with {code}", flush=True)
        if code == 0 or turn >= tries:
            queue.finish(number, turn, {"code": code, "turns": turn})
        else:
            queue.give_back(number, turn)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve")
    serve.add_argument("--port", type=int, default=7070)
    for name in ("put", "work", "results"):
        command = commands.add_parser(name, allow_abbrev=False)
        command.add_argument("--queue", required=True, help="host:port, or redis://host:6379/0")
        if name == "work":
            command.add_argument("--lease", type=float, default=10.0, help="seconds without a sign of life")
            command.add_argument("--tries", type=int, default=3)
            command.add_argument("--until-empty", action="store_true")
        if name == "put":
            command.usage = f"{command.prog} --queue QUEUE [arguments of python -m paddle.distributed.launch]"
    args, others = parser.parse_known_args()
    if others and args.command != "put":
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    if args.command == "serve":
        JobQueue("", args.port, serve=True)  # at all addresses of this machine
        signal.pause()
    host, port = (args.queue, 0) if "://" in args.queue else args.queue.rsplit(":", 1)
    with JobQueue(host, int(port), lease=getattr(args, "lease", 10.0)) as queue:
        if args.command == "put":
            if not others:
                parser.error("put needs the arguments of a job")
            print(queue.put({"arguments": others}))
        elif args.command == "work":
            work(queue, args.tries, args.until_empty)
        else:
            for number in range(1, queue.store.add("jobs", 0) + 1):
                print(number, queue.result(number) or "not done")


if __name__ == "__main__":
    main()
