#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operations mean, on this machine's GPU: every test of test/unit/semantics, and random programs.

    python3 semantics_test.py [--program build/bin/semantics-test] [--jobs N] [--seed S] [--programs P]

Each of N processes has a part of the tests, of P programs of each type from number S on, and of a quarter as many of several ranks, which each compile
them. Without a GPU it says what is missing and exits with 77, which CTest counts as skipped.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

SKIPPED = 77
UNAVAILABLE = 3
SECONDS = 1800
SLOWER_OF_RANKS = 4
RAN_AT_LEAST = 0.8  # of the random programs


def run(program, pattern, **variables):
    environment = os.environ | {"DITRON_BACKEND": "nvidia"} | {name: str(value) for name, value in variables.items()}
    done = subprocess.run([program, "--gtest_brief=1", f"--gtest_filter={pattern}"], env=environment, capture_output=True,
                          text=True, errors="replace", timeout=SECONDS)
    passed = re.search(r"PASSED  \] (\d+) test", done.stdout)
    return done.returncode, int(passed[1]) if passed else 0, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parent
    installed = here / "semantics-test"
    usual = installed if installed.exists() else here.parent.parent / "build/bin/semantics-test"
    parser.add_argument("--program", type=pathlib.Path, default=usual)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=100)
    options = parser.parse_args()
    program = options.program.resolve()
    beside = (program.parent / "ditron", program.parent.parent / "bin/ditron")
    ditron = next((path for path in beside if path.exists()), None)
    if not program.exists() or not ditron:
        parser.error(f"--program is {program}, expected semantics-test with ditron beside it, as a build or an archive has them")
    if options.jobs < 1 or options.programs < 1:
        parser.error(f"--jobs is {options.jobs} and --programs {options.programs}, expected 1 or more")
    probe = subprocess.run([ditron, "run", "vector-add", "--backend", "nvidia"],
                           capture_output=True, text=True)
    if probe.returncode == UNAVAILABLE:
        print(probe.stderr.strip())
        return SKIPPED
    each = -(-options.programs // options.jobs)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        parts = [pool.submit(run, program, "-Random*", GTEST_TOTAL_SHARDS=options.jobs, GTEST_SHARD_INDEX=n)
                 for n in range(options.jobs)]
        for pattern, count in (("RandomPrograms*", each), ("RandomRanks*", -(-each // SLOWER_OF_RANKS))):
            parts += [pool.submit(run, program, pattern, DITRON_TEST_SEED=options.seed + n * count,
                                  DITRON_TEST_PROGRAMS=count) for n in range(options.jobs)]
        results, programs = [], []
        for part in concurrent.futures.as_completed(parts):
            status, passed, text = part.result()
            results.append((status, passed))
            programs += [(int(ran), int(all)) for ran, all in re.findall(r"programs that ran: (\d+) of (\d+)", text)]
            if status:
                print(text, file=sys.stderr, flush=True)
    failed = sum(status != 0 for status, _ in results)
    print(f"{sum(passed for _, passed in results)} tests passed, {failed} of {len(results)} parts failed")
    ran, count = (sum(numbers) for numbers in zip(*programs)) if programs else (0, 0)
    print(f"{ran} of {count} random programs ran; a GPU had too little room for the others")
    return failed != 0 or ran < RAN_AT_LEAST * count or not count


if __name__ == "__main__":
    sys.exit(main())
