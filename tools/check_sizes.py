#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints how long the files and functions of the C++ code are, its dialects with it; fails above the limits.

Limits: a file 600 lines, a function 80, and 40 for nine functions out of ten.

usage: check_sizes.py [ROOT]
"""
import collections
import json
import pathlib
import shutil
import subprocess
import sys

FILE_LIMIT, FUNCTION_LIMIT, P90_LIMIT = 600, 80, 40
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
FOLDERS = ("ditron", "tools", "examples", "test", "bench")


def functionsOf(files):
    """(file, line, name, lines) of every function body, by universal-ctags."""
    command = ["ctags", "--output-format=json", "--languages=C++", "--langmap=C++:.cpp.h", "--c++-kinds=f",
               "--fields=+ne", "-L", "-", "-o", "-"]
    tags = subprocess.run(command, input="\n".join(map(str, files)), capture_output=True, text=True, check=True)
    for tag in map(json.loads, tags.stdout.splitlines()):
        if "end" in tag:
            name = f"{tag['scope']}::{tag['name']}" if "scope" in tag else tag["name"]
            yield tag["path"], tag["line"], name, tag["end"] - tag["line"] + 1


def percentile90(sizes):
    return sorted(sizes)[(len(sizes) * 9 - 1) // 10] if sizes else 0


def printTable(lines, functions):
    """One row for each folder of two levels: files, lines, longest file, functions, p90, longest."""
    rows = collections.defaultdict(lambda: ([], []))
    for name, count in lines.items():
        rows["/".join(name.split("/")[:-1][:2])][0].append(count)
    for name, _, _, count in functions:
        rows["/".join(name.split("/")[:-1][:2])][1].append(count)
    rows["all"] = (list(lines.values()), [f[3] for f in functions])
    print(f"{'folder':24}{'files':>6}{'lines':>8}{'longest':>9}{'functions':>11}{'p90':>5}{'longest':>9}")
    for folder, (files, bodies) in rows.items():
        print(f"{folder:24}{len(files):6}{sum(files):8}{max(files):9}"
              f"{len(bodies):11}{percentile90(bodies):5}{max(bodies, default=0):9}")


if not shutil.which("ctags"):
    sys.exit("check_sizes: ctags is missing: install universal-ctags (./dev setup)")
paths = sorted(p for f in FOLDERS for e in ("cpp", "h", "td") for p in (ROOT / f).glob(f"**/*.{e}"))
lines = {p.relative_to(ROOT).as_posix(): len(p.read_text().splitlines()) for p in paths}
functions = [(pathlib.Path(path).relative_to(ROOT).as_posix(), *rest)
             for path, *rest in functionsOf([p for p in paths if p.suffix != ".td"])]
printTable(lines, functions)

findings = [f"{name}: {count} lines, the limit is {FILE_LIMIT}" for name, count in lines.items() if count > FILE_LIMIT]
findings += [f"{path}:{line}: {name} has {count} lines, the limit is {FUNCTION_LIMIT}"
             for path, line, name, count in functions if count > FUNCTION_LIMIT]
if percentile90([f[3] for f in functions]) > P90_LIMIT:
    findings.append(f"one function in ten is longer than {P90_LIMIT} lines")
print("\n".join(findings))
sys.exit(bool(findings))
