#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the kernels of the registry on this machine's GPU and verifies every result.

    python3 kernels_test.py [--program bin/ditron] [--filter REGEX] [--skip N] [--list]

Needs the program and a driver, nothing else: it runs from an unpacked archive. Without a GPU it says what
is missing and exits with 77, which CTest counts as skipped.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

SKIPPED = 77
UNAVAILABLE = 3

# Sizes: tiny, odd, with ragged edges, several tiles a core, rows longer than a tile; a list for each
# set of dimensions.
SHAPES = {
    ("N",): ["N=1", "N=97", "N=5000", "N=1000003", "N=4194304"],
    ("H", "T"): ["T=1,H=1", "T=5,H=37", "T=13,H=128", "T=67,H=1000", "T=4096,H=4096", "T=33,H=20000",
                 "T=7,H=8195"],
    ("K", "M", "N"): ["M=1,N=1,K=1", "M=64,N=48,K=96", "M=67,N=71,K=131", "M=1,N=130,K=37",
                      "M=128,N=128,K=64", "M=512,N=512,K=512", "M=1000,N=1032,K=520",
                      "M=2048,N=2752,K=4096", "M=16,N=7168,K=2048"],
    ("B", "K", "M", "N"): ["B=1,M=1,N=1,K=1", "B=3,M=65,N=31,K=67", "B=4,M=256,N=256,K=256"],
    ("G", "K", "N", "T"): ["T=1,G=1,N=1,K=1", "T=5,G=13,N=7,K=3", "T=131,G=5,N=37,K=67", "T=1024,G=8,N=256,K=256",
                           "T=4099,G=64,N=712,K=520"],
    ("H", "N", "P", "T"): ["T=1,N=1,H=1,P=1", "T=7,N=5,H=3,P=11", "T=11,N=3,H=41,P=100", "T=1000,N=32,H=64,P=4096"],
    ("B", "G", "N"): ["B=1,N=1,G=1", "B=1,N=130,G=3", "B=5,N=71,G=5", "B=64,N=4096,G=128", "B=3,N=1000,G=66"],
    ("B", "G", "J"): ["B=1,J=1,G=1", "B=1,J=17,G=3", "B=5,J=9,G=5", "B=64,J=512,G=128", "B=3,J=125,G=66"],
    ("G", "T", "V"): ["T=1,V=1,G=1", "T=7,V=3,G=3", "T=13,V=100,G=128"],
    ("B", "K", "N"): ["B=1,N=1,K=1", "B=1,N=130,K=37", "B=5,N=71,K=160", "B=64,N=4096,K=4096", "B=3,N=1000,K=2112"],
    ("B", "D", "G", "S"): ["B=1,G=1,S=1,D=1", "B=3,G=2,S=5,D=20", "B=7,G=3,S=11,D=128"],
    ("B", "D", "G", "N", "S"): ["B=1,N=1,G=1,S=1,D=1", "B=3,N=2,G=1,S=7,D=3", "B=4,N=6,G=3,S=61,D=20", "B=2,N=32,G=8,S=1000,D=128",
                                "B=5,N=9,G=3,S=257,D=64", "B=1,N=32,G=8,S=8192,D=128"],
    ("B", "D", "N", "P"): ["B=1,N=1,P=1,D=1", "B=2,N=5,P=3,D=20", "B=3,N=4,P=9,D=64"],
    ("H", "T", "V"): ["T=1,V=1,H=1", "T=7,V=3,H=37", "T=13,V=100,H=160", "T=100,V=1000,H=4096"],
    ("B", "D", "G", "L", "P", "S", "T"): ["T=1,G=1,D=1,P=1,S=1,B=1,L=1", "T=5,G=2,D=20,P=9,S=2,B=3,L=3",
                                          "T=7,G=3,D=64,P=4,S=16,B=2,L=2", "T=64,G=8,D=128,P=1024,S=32,B=64,L=16"],
    ("B", "D", "G", "L", "N", "P", "S", "T"): [
        "T=1,N=1,G=1,D=1,P=1,S=1,B=1,L=1", "T=5,N=2,G=1,D=3,P=9,S=2,B=3,L=3",
        "T=4,N=9,G=3,D=64,P=20,S=16,B=2,L=10", "T=7,N=16,G=1,D=64,P=70,S=33,B=2,L=33",
        "T=64,N=32,G=8,D=128,P=1024,S=32,B=64,L=16"],
    ("B", "V"): ["B=1,V=1", "B=5,V=37", "B=3,V=5000", "B=1,V=151936", "B=64,V=151936"],
    ("B", "P"): ["B=1,P=1", "B=5,P=37", "B=3,P=300", "B=64,P=38"],
    ("B", "D", "G", "N", "S", "T"): ["T=1,S=1,N=1,G=1,D=1,B=1", "T=7,S=5,N=2,G=1,D=3,B=4",
                                     "T=53,S=61,N=6,G=3,D=20,B=3", "T=1000,S=1003,N=8,G=2,D=64,B=3",
                                     "T=515,S=2000,N=4,G=4,D=128,B=5", "T=300,S=300,N=2,G=1,D=256,B=2"],
}
# The same for kernels of several ranks; for products also shapes that the roles of sm_90a take.
DISTRIBUTED = {
    ("M", "N"): ["M=1,N=1", "M=7,N=13", "M=131,N=1000", "M=997,N=512"],
    ("H", "T"): ["T=1,H=1", "T=7,H=13", "T=131,H=1000", "T=997,H=512"],
    ("K", "M", "N"): ["M=1,N=1,K=1", "M=7,N=13,K=11", "M=256,N=520,K=192", "M=997,N=512,K=256"],
    ("G", "K", "N", "T"): ["T=1,G=1,N=1,K=1", "T=5,G=13,N=7,K=3", "T=131,G=5,N=37,K=67", "T=512,G=8,N=128,K=128"],
    ("B", "D", "G", "N", "S", "T"): ["T=1,S=1,N=1,G=1,D=1,B=1", "T=7,S=5,N=2,G=1,D=3,B=4", "T=150,S=170,N=4,G=2,D=64,B=2",
                                     "T=300,S=290,N=2,G=2,D=128,B=3"],
}
RANKS = (1, 2, 3, 4)
OLDER = ("sm_89", "sm_80")  # whose code runs on newer GPUs


def each(shapes):
    """Options for all of them in one program, which takes less time than one each."""
    return [word for shape in shapes for word in ("--shape", shape)]


# Variants of what the roles of sm_90a compute: attention, products by weights in one core and in pairs, few rows,
# and rows that TMA refuses.
VARIANTS = [["flash-attention", "--dtype", dtype, "--shape", shape, "--config", "causal=yes"]
            for dtype in ("bf16", "f16")
            for shape in ("T=1000,S=1003,N=8,G=2,D=64,B=3", "T=515,S=2000,N=4,G=4,D=128,B=5", "T=2048,S=2048,N=4,G=2,D=128,B=2",
                          "T=900,S=700,N=2,G=1,D=72,B=9")]
VARIANTS += [["gemm", "--dtype", dtype, "--config", "transB=yes" + more,
              *each(["M=512,N=512,K=512", "M=1000,N=1040,K=528", "M=8192,N=2752,K=1024", "M=9,N=1408,K=2048", "M=70,N=66,K=130"])]
             for dtype, more in (("bf16", ""), ("f16", ""), ("i8", ""), ("f32", ",accuracy=fast"), ("f8e4m3", ",accuracy=fast"))]
# Several CTAs per SM, each warp-specialised.
VARIANTS += [["gemm", "--dtype", "bf16", "--config", "transB=yes," + tile, *each(["M=1000,N=1040,K=528", "M=2048,N=2752,K=1024"])]
             for tile in ("m=64,n=200,ctas-per-sm=2", "m=64,n=56,ctas-per-sm=4", "m=128,n=104,ctas-per-sm=2,pairs=rows")]
VARIANTS += [["fp8-gemm", "--dtype", "f8e4m3", *each(["M=512,N=512,K=512", "M=8192,N=3584,K=512", "M=1000,N=1040,K=528"])]]


# Sums whose tiles a warp copies to other ranks: whole tiles, ragged ones, parts that some ranks have none of.
SENT = [[kernel, "--dtype", dtype, "--config", "engine=direct,form=placed,partials=result" + more,
         *each(["M=256,N=520,K=192", "M=997,N=512,K=256", "M=130,N=264,K=64", "M=640,N=1032,K=128"])]
        for kernel, more in (("gemm-rs", ""), ("gemm-rs", ",transB=yes,bias=yes,residual=yes"), ("gemm-ar", ""),
                             ("gemm-ar", ",rounds=2"), ("gemm-ar", ",rounds=4,bias=yes,activation=silu"))
        for dtype in ("bf16", "f16")]
# Rows that a warp sends before their product.
SENT += [["ag-gemm", "--dtype", "bf16", "--config", "engine=cores,form=placed,comm=0" + more,
          *each(["M=256,N=520,K=192", "M=997,N=512,K=1009", "M=130,N=264,K=4160"])]
         for more in ("", ",transB=yes,bias=yes,activation=silu", ",pairs=none")]


def ditron(program, *arguments, timeout=300):
    """Arguments of the form NAME=value that come first are variables."""
    variables = list(itertools.takewhile(lambda word: re.match("[A-Z_]+=", word), arguments))
    try:
        return subprocess.run([program, *arguments[len(variables):]], capture_output=True, text=True, timeout=timeout,
                              env={**os.environ, **dict(variable.split("=", 1) for variable in variables)})
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, 124, "", f"no end after {timeout} s")


def apart(case):
    """The same case for each of its shapes."""
    places = [n for n, word in enumerate(case) if word == "--shape"]
    rest = [word for n, word in enumerate(case) if n not in places and n - 1 not in places]
    return [[*rest, "--shape", case[place + 1]] for place in places]


def cases(program):
    """Every kernel of one rank, with each element type and shape, each variant once, and 100 launches back
    to back and from a captured graph; with each type also by the code for older chips."""
    for line in ditron(program, "list", "--json").stdout.splitlines():
        kernel = json.loads(line)
        if kernel["distributed"]:
            continue
        shapes = SHAPES[tuple(sorted(kernel["dims"]))]
        for dtype in kernel["dtypes"]:
            yield ["run", kernel["name"], "--dtype", dtype, *each(shapes)]
        for variant in kernel["variants"]:
            yield ["run", kernel["name"], "--shape", shapes[2], "--config", variant]
        yield ["run", kernel["name"], "--shape", shapes[2], "--repeat", "100"]
        yield ["bench", kernel["name"], "--shape", shapes[2], "--repeat", "100", "--graph"]
        for chip in OLDER:
            for dtype in kernel["dtypes"]:
                yield [f"DITRON_GPU={chip}", "run", kernel["name"], "--dtype", dtype, *each(shapes)]
    for variant in VARIANTS:
        yield ["run", *variant]
    for chip in OLDER:
        for variant in VARIANTS:
            yield [f"DITRON_GPU={chip}", "run", *variant]


def cases_of_ranks(program):
    """Every kernel of several ranks: each element type, each shape on 1 to 4 ranks, each variant, launches back
    to back with the rank that starts late being another one, and from a captured graph. Ranks share GPUs where
    there are fewer of them."""
    for line in ditron(program, "list", "--json").stdout.splitlines():
        kernel = json.loads(line)
        if not kernel["distributed"]:
            continue
        shapes = DISTRIBUTED[tuple(sorted(kernel["dims"]))]
        run = ["run", kernel["name"], "--shape"]
        for dtype in kernel["dtypes"]:
            yield [*run, shapes[2], "--dtype", dtype, "--ranks", "2"]
        fast = "bf16" if "bf16" in kernel["dtypes"] else kernel["dtypes"][0]
        for ranks in RANKS:
            yield [*run[:2], *each(shapes), "--dtype", fast, "--ranks", str(ranks), "--repeat", "10"]
        for variant in kernel["variants"]:
            yield [*run, shapes[1], "--config", variant, "--ranks", "3", "--repeat", "5"]
        for ranks, late in ((2, 0), (3, 1), (4, 3)):
            yield [*run, shapes[2], "--dtype", fast, "--ranks", str(ranks), "--repeat", "20", "--straggler",
                   f"rank={late},ms=10"]
        yield [*run, shapes[0], "--dtype", fast, "--ranks", "2", "--repeat", "100"]
        yield ["bench", kernel["name"], "--shape", shapes[2], "--ranks", "2", "--repeat", "100", "--graph"]
        yield [f"DITRON_GPU={OLDER[-1]}", *run[:2], *each(shapes), "--dtype", fast, "--ranks", "3", "--repeat", "5"]
    for sent in SENT:
        for ranks in RANKS:
            yield ["run", *sent, "--ranks", str(ranks), "--repeat", "5"]
        yield ["run", *sent, "--ranks", "4", "--repeat", "10", "--straggler", "rank=2,ms=10"]


def cases_of_processes(gpus):
    """Ranks that are processes, of a GPU each: every shape with launches back to back, each rank being late once, and
    from a captured graph. With one GPU the ranks take turns on it, so there is only a small case of each kernel."""
    for kernel in ("all-gather", "ag-gemm", "all-reduce"):
        shapes = DISTRIBUTED[("K", "M", "N") if kernel == "ag-gemm" else ("M", "N")]
        run = ["run", kernel, "--dtype", "bf16", "--procs", "2"]
        if gpus < 2:
            yield [*run, "--shape", shapes[1]]
            continue
        yield [*run, *each(shapes), "--repeat", "10"]
        for late in (0, 1):
            yield [*run, "--shape", shapes[2], "--repeat", "20", "--straggler", f"rank={late},ms=10"]
        yield ["bench", *run[1:], "--shape", shapes[2], "--repeat", "100", "--graph"]


def check_errors(program):
    """What several ranks are refused, and what they end with; the cases that went wrong."""
    wrong = []
    for arguments, environment, status, words in (
            (["--ranks", "999"], {}, UNAVAILABLE, "expected at most"),
            (["--ranks", "2", "--straggler", "rank=1,ms=1500"], {"DITRON_WAIT_TIMEOUT_MS": "300"}, 1,
             "waits for inbox 'box'[1, 0, 0]: expected 1, seen 0"),
            (["--procs", "2", "--straggler", "rank=1,ms=1500"], {"DITRON_WAIT_TIMEOUT_MS": "300"}, 1,
             "rank 1: has not completed launch 1")):
        result = subprocess.run([program, "run", "all-gather", "--backend", "nvidia", *arguments], capture_output=True,
                                text=True, timeout=60, env={**os.environ, **environment})
        if result.returncode != status or words not in result.stderr:
            wrong.append(" ".join(arguments))
            print(f"FAILED ({result.returncode}, expected {status}) {arguments}: no '{words}' in\n{result.stderr}")
    return wrong


def check_programs(program):
    """The contract of contexts, and the lesson that runs on every backend; those that went wrong."""
    bin, wrong = pathlib.Path(program).resolve().parent, []
    places = {"driver-test": (bin.parent / "test" / "driver-test", bin / "driver-test"),
              "09-backends": (bin.parent / "test" / "09-backends", bin.parent / "examples" / "09-backends")}
    for name, paths in places.items():
        found = next((path for path in paths if path.exists()), None)
        if not found:
            print(f"{name} is not there: not run")
            continue
        result = subprocess.run([str(found)], capture_output=True, text=True, timeout=300,
                                env={**os.environ, "DITRON_BACKEND": "nvidia"})
        print(f"{name}: {result.stdout.strip().splitlines()[-1] if result.stdout.strip() else result.returncode}")
        if result.returncode:
            wrong.append(name)
            print(f"FAILED ({result.returncode}) {name}\n{result.stdout[-3000:]}{result.stderr[-3000:]}")
    return wrong


def run_all(program, chosen, jobs):
    """Runs the cases, so many at a time; those that failed."""
    def run(case):
        return ditron(program, *case, "--backend", "nvidia", "--seed", "7")

    failures, begin = [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, (case, result) in enumerate(zip(chosen, pool.map(run, chosen)), 1):
            if number % 20 == 0 or number == len(chosen):
                print(f"{number} of {len(chosen)} run, {time.monotonic() - begin:.0f} s", flush=True)
            wrong = [(case, result)] if result.returncode else []
            if wrong and len(apart(case)) > 1:  # which of the shapes?
                alone = [(one, run(one)) for one in apart(case)]
                wrong = [(one, found) for one, found in alone if found.returncode] or wrong
            for one, found in wrong:
                failures.append(" ".join(one))
                words = (found.stderr.strip() or found.stdout.strip()).splitlines()
                print(f"FAILED ({found.returncode}) {' '.join(one)}\n    " + "\n    ".join(words[-3:]), flush=True)
    return failures


def chosen_of(options, gpus):
    """The cases of one rank, of several, and of processes that the filter takes, without the first ones."""
    skipped = itertools.count()
    return [[case for case in batch if re.search(options.filter, " ".join(case)) and next(skipped) >= options.skip]
            for batch in (cases(options.program), cases_of_ranks(options.program), cases_of_processes(gpus))]


def main():
    parser = argparse.ArgumentParser()
    beside = pathlib.Path(__file__).resolve().parent.parent / "bin" / "ditron"
    parser.add_argument("--program", default=str(beside))
    parser.add_argument("--filter", default="")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count()), help="programs of one rank at a time")
    parser.add_argument("--rank-jobs", type=int, default=4, help="programs of several ranks at a time; on a GPU they take turns")
    parser.add_argument("--list", action="store_true", help="print the cases and run none; needs no GPU")
    parser.add_argument("--skip", type=int, default=0, help="the first cases of those chosen, which a run that was cut off has run")
    options = parser.parse_args()
    if not shutil.which(options.program):
        parser.error(f"--program is {options.program}, and there is no such program")
    if options.skip < 0:
        parser.error(f"--skip is {options.skip}, expected 0 or more")
    others = {name: re.search(options.filter, name) for name in ("run all-gather --ranks", "programs")}
    listed = chosen_of(options, 2)
    if not any(listed) and not any(others.values()):
        parser.error(f"--filter is '{options.filter}' and --skip is {options.skip}, expected some that leave a case")
    if options.list:
        print(*(" ".join(case) for batch in listed for case in batch), sep="\n")
        return 0
    info = json.loads(ditron(options.program, "info", "--json").stdout)["nvidia"]
    if not info["available"]:
        print(f"skipped: {info['reason']}")
        return SKIPPED
    print(*(f"{device['name']}, capability {device['capability']}" for device in info["devices"]))
    failures = []
    for chosen, jobs in zip(chosen_of(options, len(info["devices"])), (options.jobs, options.rank_jobs, 1)):
        failures += run_all(options.program, chosen, jobs)
    if others["run all-gather --ranks"]:
        failures += check_errors(options.program)
    if others["programs"]:
        failures += check_programs(options.program)
    print(f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
