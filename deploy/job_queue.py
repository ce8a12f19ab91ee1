"""Training jobs from a queue: workers take them, run the launcher, and report what became of them.

    python deploy/job_queue.py serve --port 7070
    python deploy/job_queue.py put --queue host:7070 --nproc_per_node 2 deploy/train.py --checkpoints run1
    python deploy/job_queue.py work --queue host:7070            # on each machine that trains
    python deploy/job_queue.py results --queue host:7070

A job whose worker gives no sign of life for some seconds goes to another worker; the script then goes on from its last
checkpoint, which lies where all workers see it. The queue is the key-value store of `paddle.distributed`, in the memory of
`serve`; for jobs that have to outlive that process, put the same loop behind a message broker with acknowledgements.
"""

import argparse
import ctypes
import json
import signal
import subprocess
import sys
import time

from paddle.distributed.store import TCPStore


class JobQueue:
    """Jobs by number, from 1 on. One that was taken is held as long as `beat` is called.

    Args:
        host, port: where the queue is.
        serve: this process holds it.
        lease: seconds without a beat after which a job is free again.
    """

    def __init__(self, host="127.0.0.1", port=0, serve=False, lease=10.0):
        self.store = TCPStore(host, port, is_master=serve, timeout=30)
        self.port, self.lease = self.store.port, lease
        self._seen = {}  # of a job that is held: how many beats there were, and since when

    def put(self, job):
        """Add a job, a dict of what JSON can say; returns its number."""
        number = self.store.add("jobs/made", 1)
        self.store.set(f"jobs/{number}", json.dumps(job))
        self.store.add("jobs", 1)
        return number

    def take(self):
        """(number, turn, job) of one that nobody holds, or None. `turn` counts how often it was taken."""
        for number in range(1, self.store.add("jobs", 0) + 1):
            if self.result(number) is not None or not self._is_free(number):
                continue
            turn = self.store.add(f"turn/{number}", 0) + 1
            if self.store.add(f"claim/{number}/{turn}", 1) == 1:  # the first of those that try
                self.store.add(f"turn/{number}", 1)
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
        command = commands.add_parser(name)
        command.add_argument("--queue", required=True, help="host:port")
        if name == "work":
            command.add_argument("--lease", type=float, default=10.0, help="seconds without a sign of life")
            command.add_argument("--tries", type=int, default=3)
            command.add_argument("--until-empty", action="store_true")
        if name == "put":
            command.add_argument("arguments", nargs=argparse.REMAINDER, help="of python -m paddle.distributed.launch")
    args = parser.parse_args()
    if args.command == "serve":
        JobQueue(port=args.port, serve=True)
        signal.pause()
    host, port = args.queue.rsplit(":", 1)
    queue = JobQueue(host, int(port), lease=getattr(args, "lease", 10.0))
    if args.command == "put":
        print(queue.put({"arguments": args.arguments}))
    elif args.command == "work":
        work(queue, args.tries, args.until_empty)
    else:
        for number in range(1, queue.store.add("jobs", 0) + 1):
            print(number, queue.result(number) or "not done")


if __name__ == "__main__":
    main()
