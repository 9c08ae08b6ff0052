#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of tasks on this machine's GPU: as one kernel they compute what launches one by one compute.

    python3 tasks_test.py [--build FOLDER] [--model FILE.gguf] [--ranks 1,2]

Runs the tests of test/unit/task and lesson 12, all of them, and then a model in every mode. Needs a build folder.
Without a GPU it says what is missing and exits with 77, which CTest counts as skipped.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
UNAVAILABLE = 3
ENVIRONMENT = dict(os.environ, DITRON_BACKEND="nvidia")


def answer(program, model, mode, ranks):
    command = [program, model, "--backend", "nvidia", "--mode", mode, "--ranks", str(ranks), "--tokens", "64", "--json",
               "The capital of France is"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode:
        raise SystemExit(f"{mode}, {ranks} ranks: {result.stderr.strip()}")
    found = json.loads(result.stdout)
    print(f"{mode}, {ranks} ranks: {found['tokens_per_second']:.1f} tokens a second", flush=True)
    return found["text"]


def checkModel(program, model, ranks):
    expected = answer(program, model, "stream", 1)
    for count in ranks:
        for mode in ("graph", "megakernel"):
            if (found := answer(program, model, mode, count)) != expected:
                raise SystemExit(f"{mode}, {count} ranks: {found!r}, expected {expected!r}")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
parser.add_argument("--model", help="a model of generate")
parser.add_argument("--ranks", default="1", help="of the model, each a GPU or a part of one")
arguments = parser.parse_args()
probe = subprocess.run([arguments.build / "bin/ditron", "run", "vector-add", "--backend", "nvidia"],
                       capture_output=True, text=True)
if probe.returncode == UNAVAILABLE:
    print(probe.stderr.strip())
    sys.exit(SKIPPED)
for program in ("bin/task-test", "examples/12-task-graph"):
    subprocess.run([arguments.build / program], env=ENVIRONMENT, timeout=600, check=True)
if arguments.model:
    checkModel(arguments.build / "bin/generate", arguments.model, [int(n) for n in arguments.ranks.split(",")])
print("graphs of tasks: verified")
