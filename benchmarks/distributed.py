"""Tables about distributed training: is it right, what does it send, what does it keep, what does the planner expect.

    python benchmarks/distributed.py [correctness] [volume] [planner] [--sizes 1 2 4 8] [--only data,tensor]
        [--keep FOLDER]

- correctness: the greatest difference of the losses of four steps from those of one process, float32, for every kind of
  parallelism on 1, 2, 4 and 8 processes. Exit status 1 where one is above 1e-5.
- volume: bytes that a process sends in a step (the kernel's count of its TCP connections), beside closed formulas, and bytes of
  the arrays that it keeps.
- planner: a GPT of 102.7 billion parameters on 512 devices: the ranking, and what the plan expects against what the compiled
  executable has (512 faked devices, nothing allocated; minutes). `--layouts dp=64,tp=8 ...` chooses which are compiled.

Processes run on this machine, over loopback.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import distributed_jobs as jobs
import numpy as np

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))
FAST = {  # most of the time is compilation
    "JAX_PLATFORMS": "cpu",
    "PADDLE_XLA_CAPTURE": "0",
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
}


def started(folder, what, n, names):
    """What each of n processes found: {kind: ...}. Kinds that are in the files of the folder already are not run again."""

    def known():
        files = [jobs.file_of(folder, what, n, r) for r in range(n)]
        return [json.loads(f.read_text()) if f.exists() else {} for f in files]

    missing = [name for name in names if not all(name in found for found in known())]
    if missing:
        code = (
            f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
            "import distributed_jobs as jobs, paddle.distributed as dist\n"
            f"if __name__ == '__main__':\n    dist.spawn(jobs.run, ({str(folder)!r}, {what!r}, {missing!r}), nprocs={n})\n"
        )
        script = Path(folder) / f"start_{what}_{n}.py"
        script.write_text(code)
        environment = {**FAST, **os.environ}
        environment["PYTHONPATH"] = os.pathsep.join([environment.get("PYTHONPATH", ""), str(HERE.parent), str(HERE)])
        subprocess.run([sys.executable, str(script)], check=True, env=environment, timeout=7200)
    return known()


def table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print()


# ---- correctness ----
def reference(size):
    """The losses of one process without any of it."""
    jobs.start()
    net = jobs.build(size)
    jobs.fill(net)
    step = jobs.loop(size, net, jobs.optimizer_of(net))
    return [step(i) for i in range(jobs.STEPS)]


def correctness(folder, sizes, names):
    for name, value in FAST.items():
        os.environ.setdefault(name, value)
    plain = {"transformer": reference(jobs.TINY)}
    found = {}
    for n in sizes:
        found[n] = started(folder, "curve", n, [name for name in names if n in jobs.KINDS[name][2]])
    if any(name.startswith("experts") for name in names):
        step, _ = jobs.experts(0, 1, jobs.TINY)
        plain["experts"] = [step(i) for i in range(jobs.STEPS)]
    rows, worst = [], 0.0
    for name in names:
        want = plain["experts" if name.startswith("experts") else "transformer"]
        cells = []
        for n in sizes:
            parts = [f[name] for f in found[n] if name in f]
            if not parts:
                cells.append("")
                continue
            curve = np.mean([p[0] for p in parts], 0) if parts[0][1] == "mean" else parts[0][0]
            difference = float(np.max(np.abs(np.asarray(curve) - want)))
            worst = max(worst, difference)
            cells.append(f"{difference:.1e}" if difference else "0")
        rows.append([name, *cells])
    first, *_, last = plain["transformer"]
    print(
        f"Greatest difference of the losses of {jobs.STEPS} steps (from {first:.3f} to {last:.3f}) from those of one process:\n"
    )
    table(["kind", *(f"{n} process{'es' if n > 1 else ''}" for n in sizes)], rows)
    return worst


# ---- bytes ----
def parameters():
    """(bytes of all parameters, of those of tensor parallel layers that are divided)"""
    size = jobs.WIDE
    w, v, blocks = size["width"], jobs.VOCAB, size["blocks"]
    divided = blocks * (3 * w * w + 3 * w + w * w + 4 * w * w + 4 * w + 4 * w * w) + 2 * v * w
    whole = blocks * (2 * w + 4 * w) + 2 * w
    return 4 * (divided + whole), 4 * divided


def expected(name, n):
    """Bytes that a process sends in a step, by the ring algorithm."""
    size, share = jobs.WIDE, (n - 1) / n
    whole, _ = parameters()
    activations = 4 * size["rows"] * size["length"] * size["width"]
    if name == "data parallel":
        return 2 * share * whole
    if name.startswith(("ZeRO 1", "ZeRO 2")):
        return 2 * share * whole  # gradients to their owner, parameters to all
    if name.startswith(("ZeRO 3", "`fully")):
        return 3 * share * whole  # parameters in the forward and the backward, gradients
    if name.startswith("tensor"):  # two sums in the forward and two in the backward of a block, embedding and head
        return 2 * share * (4 * size["blocks"] + 2) * activations
    if name.startswith(
        "pipeline"
    ):  # between stages: activations one way, gradients the other, in the mean of the stages
        return 2 * activations * (n - 1) / n
    return None


def volume(folder, sizes, names):
    found = {n: started(folder, "cost", n, names) for n in sizes}
    whole, _ = parameters()
    print(
        f"A transformer with {whole / 2**20:.2f} MiB of parameters in float32, AdamW; activations of {4 * 16 * 32 * 256 / 2**20:.2f} MiB.\n"
    )
    print(
        "MiB that a process sends in a step, measured (mean of the processes) and by the formulas of ring algorithms:\n"
    )
    rows = []
    for name in names:
        cells = []
        for n in sizes:
            if n > 1:
                measured = np.mean([f[name][0] for f in found[n]]) / 2**20
                cells.append(f"{measured:.2f} ({expected(name, n) / 2**20:.2f})")
        rows.append([name, *cells])
    table(["kind", *(f"{n} processes" for n in sizes if n > 1)], rows)
    print(
        "MiB of arrays that a process keeps between the steps / with gradients before the optimizer's step (largest of the processes):\n"
    )
    rows = []
    for name in names:
        cells = []
        for n in sizes:
            kept = max(f[name][1] for f in found[n]) / 2**20
            waiting = [f[name][2] for f in found[n]]
            cells.append(f"{kept:.2f}" + (f" / {max(waiting) / 2**20:.2f}" if waiting[0] is not None else ""))
        rows.append([name, *cells])
    table(["kind", *(f"{n} process{'es' if n > 1 else ''}" for n in sizes)], rows)


# ---- the planner ----
def planner(devices, layouts):
    code = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import distributed
distributed.planned({devices}, {layouts!r})
"""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags.strip()}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=3600)


def planned(devices, layouts):
    import time

    import paddle
    import paddle.nn.functional as F
    from paddle.distributed.auto_parallel import Cluster, plan
    from paddle.static import InputSpec

    from planned_model import GPT

    with paddle.LazyGuard():
        net = GPT(12288, 96, 56, 50304, 2048)
    spec = InputSpec([3 * devices, 2048], "int64")
    begin = time.perf_counter()
    found = plan(net, spec, Cluster(devices), spec, lambda o, y: F.cross_entropy(o.astype("float32"), y))
    print(f"{len(list(found))} layouts in {time.perf_counter() - begin:.1f} s\n\n{found}\n", flush=True)
    for text in layouts:
        begin = time.perf_counter()
        layout = found.find(**{k: int(v) for k, v in (part.split("=") for part in text.split(","))})
        print(
            f"{text}: compiled for {devices} devices\n{layout.compare()}\n({time.perf_counter() - begin:.0f} s)\n",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["correctness", "volume", "planner"], default=[])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--only", default="", help="kinds whose names contain one of these words")
    parser.add_argument("--devices", type=int, default=512)
    parser.add_argument(
        "--layouts",
        nargs="*",
        default=["dp=64,tp=8,stage=3,micro=2", "dp=64,tp=8,stage=1,micro=8", "dp=16,tp=8,pp=4,stage=1,micro=32"],
    )
    parser.add_argument("--keep", help="a folder for what processes find; what is there already is not measured again")
    args = parser.parse_args()
    parts = args.parts or ["correctness", "volume", "planner"]
    words = [w for w in args.only.split(",") if w]

    def chosen(kinds):
        return [k for k in kinds if not words or any(w in k for w in words)]

    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or temporary
        os.makedirs(folder, exist_ok=True)
        if "correctness" in parts:
            failed = correctness(folder, args.sizes, chosen(jobs.KINDS)) > 1e-5
        if "volume" in parts:
            volume(folder, args.sizes, chosen(jobs.SENDING))
    if "planner" in parts:
        planner(args.devices, args.layouts)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
