#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `ditron check` costs, and prints the tables of docs/check.md.

  registry   seconds to check each kernel of the library on 1, 2, 3, 4, 8 ranks, at its own sizes
  mutants    mutants, killed + equivalent + missed, on 2, 3, 4 ranks
  growth     ag-gemm and all-reduce with more ranks, cores and tiles
  explored   states of a program that is outside of the language, with more ranks

Exit status 1 if a kernel is not clean, a mutant is missed, or a check takes longer than --limit.

usage: check_cost.py DITRON [registry|mutants|growth|explored]... [--limit SECONDS]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


def check(ditron, *arguments):
    """The JSON object of a check, and its seconds."""
    start = time.monotonic()
    done = subprocess.run([ditron, "check", *arguments, "--json"], capture_output=True, text=True)
    seconds = time.monotonic() - start
    if not done.stdout:
        sys.exit(f"ditron check {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout), seconds


def kernels(ditron):
    lines = subprocess.run([ditron, "list", "--json"], capture_output=True, text=True, check=True).stdout
    return [json.loads(line)["name"] for line in lines.splitlines()]


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def header(*names):
    row(*names)
    row(*["---"] * len(names))


def registry(ditron, limit):
    ranks, fine = (1, 2, 3, 4, 8), True
    header("kernel", *[f"R = {r}" for r in ranks])
    for kernel in kernels(ditron):
        cells = []
        for r in ranks:
            verdict, seconds = check(ditron, kernel, "--ranks", str(r))
            fine &= verdict["verdict"] == "clean" and verdict["method"] == "proved" and seconds < limit
            cells.append(f"{seconds:.2f} s" + ("" if verdict["verdict"] == "clean" else " finding"))
        row(f"`{kernel}`", *cells)
    return fine


def mutants(ditron, limit):
    ranks, fine = (2, 3, 4), True
    header("kernel", *[f"R = {r}" for r in ranks])
    for kernel in kernels(ditron):
        cells = []
        for r in ranks:
            score, _ = check(ditron, kernel, "--ranks", str(r), "--mutate")
            fine &= score["missed"] == 0
            cells.append(f"{score['mutants']} = {score['killed']} + {score['equivalent']} + {score['missed']}")
        row(f"`{kernel}`", *cells)
    return fine


GROWTH = [
    ("ag-gemm", "M=8,N=12,K=8", "m=4,n=4,k=4", ("ranks", (2, 4, 8, 16))),
    ("ag-gemm", "M=8,N=12,K=8", "m=4,n=4,k=4", ("cores", (2, 4, 8, 16))),
    ("ag-gemm", "M=8,N={},K=8", "m=4,n=4,k=4", ("tiles", (12, 48, 192, 768))),
    ("all-reduce", "N=64", "", ("ranks", (2, 4, 8, 16))),
]


def growth(ditron, limit):
    header("kernel", "what grows", "events", "operations", "seconds", "events a second")
    for kernel, shape, config, (what, values) in GROWTH:
        for value in values:
            options = {"--ranks": "4", "--cores": "2", "--shape": shape.format(value), "--schedules": "0"}
            if what in ("ranks", "cores"):
                options[f"--{what}"] = str(value)
            if config:
                options["--config"] = config
            verdict, seconds = check(ditron, kernel, *[word for pair in options.items() for word in pair])
            name = f"N = {value}" if what == "tiles" else f"{value} {what}"
            row(f"`{kernel}`", name, verdict["events"], verdict["operations"], f"{seconds:.2f}",
                f"{verdict['events'] / seconds:.0f}")
    return True


# In two rounds every rank gives a token to the next, and takes the one that it was given.
RING = """func.func @ring() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ranks = dist.num_ranks
  %me = dist.rank
  %after = arith.addi %me, %c1 : index
  %next = arith.remsi %after, %ranks : index
  %token = dist.signals "token"() : !dist.signals<0>
  scf.for %round = %c0 to %c2 step %c1 {
    dist.notify %token[] on %next add %c1 : !dist.signals<0>
    dist.wait %token[] >= %c1 take : !dist.signals<0>
  }
  return
}"""


def explored(ditron, limit):
    header("ranks", "states", "seconds", "states a second")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "ring.mlir")
        with open(file, "w") as out:
            out.write(RING)
        for ranks in (4, 8, 12, 16):
            verdict, seconds = check(ditron, file, "--ranks", str(ranks), "--cores", "1", "--launches", "1")
            if verdict["method"] != "exhaustive":
                return False
            row(ranks, verdict["states"], f"{seconds:.2f}", f"{verdict['states'] / seconds:.0f}")
    return True


TABLES = {"registry": registry, "mutants": mutants, "growth": growth, "explored": explored}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ditron")
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--limit", type=float, default=60)
    arguments = parser.parse_args()
    fine = True
    for table in arguments.tables:
        fine &= TABLES[table](arguments.ditron, arguments.limit)
        print()
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
