#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of the registry of one rank under compute-sanitizer, on small shapes.

    python3 sanitizer_test.py [--program bin/ditron] [--filter REGEX] [--tools memcheck,racecheck,synccheck]
                              [--jobs N] [--verbose]

Of every kernel: each element type once, and shapes with ragged edges, of several tiles and aligned ones.
compute-sanitizer is that of COMPUTE_SANITIZER, CUDA_HOME, PATH or /usr/local/cuda. Without it, or without a GPU,
it says what is missing and exits with 77, which CTest counts as skipped.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
TOOLS = ["memcheck", "racecheck", "synccheck"]

# A shape of several tiles with ragged edges, and one whose rows are multiples of 16 elements.
SHAPES = {
    ("N",): ["N=5000", "N=4096"],
    ("H", "T"): ["T=13,H=133", "T=9,H=1024", "T=3,H=8224"],
    ("K", "M", "N"): ["M=67,N=71,K=131", "M=192,N=160,K=192"],
    ("B", "K", "M", "N"): ["B=3,M=65,N=31,K=67", "B=2,M=128,N=64,K=96"],
    ("G", "K", "N", "T"): ["T=131,G=5,N=37,K=67", "T=200,G=4,N=128,K=128"],
    ("H", "N", "P", "T"): ["T=11,N=3,H=41,P=100", "T=17,N=4,H=64,P=64"],
    ("B", "D", "G", "N", "S", "T"): ["T=53,S=61,N=6,G=3,D=20,B=3", "T=130,S=140,N=2,G=1,D=64,B=2",
                                     "T=129,S=129,N=2,G=1,D=128,B=1"],
}


def sanitizer():
    """The program, or None."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    places = [os.environ.get("COMPUTE_SANITIZER"), f"{home}/bin/compute-sanitizer", shutil.which("compute-sanitizer"),
              "/usr/local/cuda/bin/compute-sanitizer"]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def cases(program):
    for line in subprocess.run([program, "list", "--json"], capture_output=True, text=True).stdout.splitlines():
        kernel = json.loads(line)
        if kernel["distributed"]:
            continue
        shapes = SHAPES.get(tuple(sorted(kernel["dims"])))
        if not shapes:
            print(f"skipped: {kernel['name']}, whose dimensions have no shapes here")
            continue
        for n, dtype in enumerate(kernel["dtypes"]):
            yield [kernel["name"], "--dtype", dtype, "--shape", shapes[n % len(shapes)]]
        for shape in shapes:
            yield [kernel["name"], "--dtype", "bf16" if "bf16" in kernel["dtypes"] else kernel["dtypes"][0],
                   "--shape", shape]


def check(job):
    """What is wrong; empty if nothing."""
    checker, tool, program, case = job
    command = [checker, "--tool", tool, "--error-exitcode", "99", program, "run", *case, "--backend", "nvidia",
               "--seed", "7"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "no end after 300 s"
    summary = re.findall(r"=+ (?:ERROR|RACECHECK) SUMMARY: .*", result.stdout + result.stderr)
    if result.returncode == 0 and summary:
        return ""
    return "\n    ".join(((result.stdout + result.stderr).strip().splitlines() or ["nothing said"])[-12:])


def main():
    parser = argparse.ArgumentParser()
    beside = pathlib.Path(__file__).resolve().parent.parent / "bin" / "ditron"
    parser.add_argument("--program", default=str(beside))
    parser.add_argument("--filter", default="")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--verbose", action="store_true", help="a line for each run")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    options = parser.parse_args()
    info = json.loads(subprocess.run([options.program, "info", "--json"], capture_output=True, text=True).stdout)
    if not info["nvidia"]["available"]:
        print(f"skipped: {info['nvidia']['reason']}")
        return SKIPPED
    checker = sanitizer()
    if not checker:
        print("skipped: no compute-sanitizer (COMPUTE_SANITIZER, CUDA_HOME or PATH says where it is)")
        return SKIPPED
    jobs = [(checker, tool, options.program, case) for tool in options.tools.split(",")
            for case in cases(options.program) if re.search(options.filter, " ".join(case))]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for job, problem in zip(jobs, pool.map(check, jobs)):
            if options.verbose and not problem:
                print(f"clean {job[1]} {' '.join(job[3])}", flush=True)
            if problem:
                failures += 1
                print(f"FAILED {job[1]} {' '.join(job[3])}\n    {problem}", flush=True)
    print(f"{len(jobs) - failures} clean, {failures} not")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
