"""Single operators at three sizes, in turns with official PaddlePaddle and PyTorch (microseconds a call), and the list of
those slower than half the speed of the faster rival."""

from op_workloads import OPS, SIZES
from turns import main

CALLS = {"small": 300, "middle": 60, "large": 5}

if __name__ == "__main__":
    results = main("op_workloads", {f"{name}_{size}": CALLS[size] for size in SIZES for name in OPS}, 1e6, "us")
    slow = {}
    for name, found in results.items():
        rivals = [t for f, t in found.items() if f != "ours"]
        if "ours" in found and rivals and found["ours"] > 2 * min(rivals):
            slow[name] = found["ours"] / min(rivals)
    print(f"\n{len(slow)} of {len(results)} take more than twice the time of the faster rival:")
    for name, factor in sorted(slow.items(), key=lambda item: -item[1]):
        print(f"  {name:<22} {factor:6.1f}")
