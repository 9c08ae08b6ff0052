#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what being recorded costs, and prints the table of docs/trace.md.

Each measurement is a `ditron trace --overhead`: one process that launches the kernel with and
without being recorded, in turn, and takes the median of the ratios. The kernels take turns too, for
a number of rounds; of their overheads the median counts, and the least and the most are printed. It
runs at real-time priority where that is allowed, as other work on the machine would be measured too.

Exit status 1 if a median is above --limit.

usage: trace_cost.py DITRON [KERNEL]... [--rounds N] [--limit PERCENT]
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile

# (kernel, ranks, cores, shape, configuration, processes)
CASES = [
    ("gemm", 1, 1, "M=512,N=512,K=512", "", False),
    ("ag-gemm", 2, 1, "M=256,N=512,K=512", "", False),
    ("ag-gemm", 2, 1, "M=256,N=512,K=512", "", True),
    ("ag-gemm", 4, 2, "M=256,N=512,K=512", "comm=1", False),
    ("gemm-rs", 2, 1, "M=256,N=512,K=512", "", False),
    ("gemm-ar", 2, 1, "M=256,N=512,K=512", "", False),
    ("vector-add", 1, 1, "N=1000000", "", False),
    ("all-reduce", 2, 1, "N=100000", "", False),
    ("reduce-scatter", 2, 1, "M=512,N=512", "", False),
    ("all-gather", 2, 1, "M=512,N=512", "", False),
    ("silu-mul", 1, 1, "T=1000,H=1000", "", False),
    ("rms-norm", 1, 1, "T=1000,H=1000", "", False),
    ("softmax", 1, 1, "T=1000,H=1000", "", False),
    ("batched-gemm", 1, 1, "", "", False),
    ("all-to-all", 2, 1, "", "", False),
    ("all-to-all", 2, 1, "T=128,H=7168", "", False),
]


def priority():
    """What a command begins with to run at real-time priority."""
    command = ["chrt", "-f", "10"]
    allowed = shutil.which("chrt") and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    return command if allowed else []


def measure(ditron, case, folder):
    """The JSON object of one measurement. The seed is the same, so that the work is."""
    kernel, ranks, cores, shape, config, processes = case
    command = [*priority(), ditron, "trace", kernel, "--ranks", str(ranks), "--cores", str(cores), "--seed", "1",
               "--overhead", "--no-html", "--json", "-o", folder + "/t.json"]
    command += ["--shape", shape] if shape else []
    command += ["--config", config] if config else []
    command += ["--transport", "processes"] if processes else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def time(seconds):
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} us"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.rsplit("usage: ", 1)[1])
    parser.add_argument("ditron")
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=3)
    arguments = parser.parse_args()
    cases = [case for case in CASES if not arguments.kernels or case[0] in arguments.kernels]
    results = [[] for _ in cases]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            for case, result in zip(cases, results):
                result.append(measure(arguments.ditron, case, folder))
    print("| kernel | ranks x cores | shape | time | slices | overhead | least to most |\n|---|---|---|---|---|---|---|")
    worst = 0
    for (kernel, ranks, cores, _, config, processes), result in zip(cases, results):
        overheads = [100 * one["overhead"] for one in result]
        worst = max(worst, statistics.median(overheads))
        shape = ",".join(f"{dim}={extent}" for dim, extent in result[0]["shape"].items())
        print(f"| {kernel}{', processes' if processes else ''} | {ranks} x {cores} "
              f"| {shape}{', ' + config if config else ''} "
              f"| {time(statistics.median(one['seconds'] for one in result))} | {result[0]['slices']} "
              f"| {statistics.median(overheads):+.1f} % | {min(overheads):+.1f} to {max(overheads):+.1f} % |")
    return worst > arguments.limit


if __name__ == "__main__":
    sys.exit(main())
