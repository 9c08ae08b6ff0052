#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ./dev refuses, before it builds anything.

usage: dev_test.py SOURCE_FOLDER
"""
import os
import pathlib
import subprocess
import sys

DEV = pathlib.Path(sys.argv[1]) / "dev"
for words, said in (("build --preset fast", "no preset fast: there are release"), ("build --all", "unknown option --all"),
                    ("test a b", "one filter at most: a b"), ("test --gpu a b", "one filter at most: a b"),
                    ("fuzz it", "no target it: there are ir options"), ("fuzz ir soon", "takes a target and seconds, and not: ir soon"),
                    ("fuzz ir -5", "and not: ir -5"), ("fuzz ir 5 6", "and not: ir 5 6"), ("demo 2", "demo takes no arguments"),
                    ("dist 2", "dist takes no arguments"), ("setup 2", "setup takes no arguments"), ("format --all", "unknown option --all"),
                    ("tset", "no verb tset"), ("build --preset", "dev: --preset needs a name")):
    done = subprocess.run([DEV, *words.split()], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and f"{said}" in done.stderr and not done.stdout, (words, done)
for jobs in ("0", "-1", "all"):
    done = subprocess.run([DEV, "build"], capture_output=True, text=True, timeout=60, env=os.environ | {"DITRON_JOBS": jobs})
    assert done.returncode == 1 and done.stderr == f"dev: DITRON_JOBS is '{jobs}', expected an integer of at least 1\n", done
print("each refused")
