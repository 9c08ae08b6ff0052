#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random command lines: each ends by itself, with an exit status of its contract and one readable error.

usage: commands.py DITRON [--runs N] [--from N] [--seconds S] [--jobs J]
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

WORDS = ("", "0", "1", "2", "3", "4", "7", "16", "-1", "x", "1.5", "2147483648", "4294967296", "9223372036854775807",
         "99999999999999999999", "1e9", "inf", "nan", "a=b", "=", ",", "--", "\u00e9", "%s", "../..", "/dev/null", "$(id)")
DTYPES = "f32 f16 bf16 f8e4m3 f8e5m2 i8 i16 i32 i64 i1 f64 F32".split()
# What a user must never read: the text of a library instead of an error of the program.
RAW = re.compile(r"std::|bad_alloc|terminate called|basic_string|stoi|stoll|vector::|max_size|map::at|json\.exception|"
                 r"Resource temporarily unavailable$|LLVM ERROR|Stack dump|AddressSanitizer|runtime error:")
STATUSES = (0, 1, 2, 3)
LONGEST = 30


def kernelsOf(ditron):
    """What the library has: names, dimensions, configurations."""
    done = subprocess.run([ditron, "list", "--json"], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def pairs(draw, values):
    """Some names with values: mostly one of theirs, else any."""
    names = [draw(sorted(values)) for _ in range(draw((1, 1, 2, 3)))]
    return ",".join(f"{name}={draw(values[name]) if values[name] and draw(range(4)) else value(draw)}" for name in names)


def small(draw, kernel):
    return ",".join(f"{name}={draw(range(1, 13))}" for name in kernel["dims"])


def value(draw):
    return draw((str(draw(range(1, 40))), str(draw(range(1, 40))), draw(WORDS), str(2 ** draw(range(64)))))


def option(draw, kernel):
    """One option with a value that may be good for a kernel."""
    name = draw(("--ranks", "--cores", "--procs", "--shape", "--dtype", "--config", "--seed", "--repeat", "--backend",
                 "--transport", "--mesh", "--straggler", "--json", "--launches", "--schedules", "--states", "--budget",
                 "--nodes", "--target", "--emit", "--mutate", "--seconds", "--elements", "--replay", "--function",
                 "--help", "--baseline", "-o", "--explain"))
    good = {
        "--ranks": ("1", "2", "3"), "--cores": ("1", "2"), "--procs": ("1", "2"), "--dtype": DTYPES,
        "--backend": ("cpu", "reference", "nvidia"), "--transport": ("threads", "processes", "automatic"),
        "--mesh": ("row=2,col=1", "node=2,local=1", "row=0", "a=9999999999,b=9999999999"),
        "--straggler": ("rank=0,ms=1", "rank=9,ms=1"), "--target": ("x86-64", "sm_90a", "gfx942", "sm_80"),
        "--emit": ("ir", "llvm", "asm", "object"), "-o": ("/dev/null",), "--repeat": ("1", "2"),
        "--schedules": ("0", "2"), "--launches": ("1", "2"), "--replay": ("0.0:1", "9.9:99999999999")}
    if name in ("--json", "--mutate", "--help", "--baseline", "--explain"):
        return [name]
    if name == "--shape":
        return [name, pairs(draw, dict.fromkeys((*kernel["dims"], "tokens"), range(1, 40)))]
    if name == "--config":
        return [name, pairs(draw, {one["name"]: one["candidates"] for one in kernel["config"]} | {"stages": ()})]
    word = draw(good[name]) if name in good and draw(range(3)) else value(draw)
    return [f"{name}={word}"] if not draw(range(5)) else [name, word]


def commandLine(number, kernels):
    source = random.Random(number)
    draw = lambda choices: source.choice(choices)
    verb = draw(("run", "run", "run", "check", "check", "bench", "compile", "compile", "list", "info", "trace", "tune",
                 "", "rum", "--help", "--version"))
    words, kernel = [verb] if verb else [], draw(kernels)
    if verb in ("run", "check", "bench", "compile", "trace", "tune", "list", "rum"):
        words.append(kernel["name"] if draw(range(10)) else draw(WORDS))
    for _ in range(draw(range(5))):
        words += option(draw, kernel)
    if verb in ("run", "bench", "trace", "tune") and draw(range(4)): # what runs is small
        words += ["--shape", small(draw, kernel)] if "--shape" not in words else []
    if verb == "check" and "--seconds" not in words: # and what is checked ends in time, whatever its size
        words += ["--seconds", str(LONGEST // 2)]
    return words


def limit():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))


def problemOf(ditron, folder, words):
    """Why a command line is a finding, or nothing."""
    environment = dict(os.environ, DITRON_CACHE_DIR=folder, DITRON_WAIT_TIMEOUT_MS="3000")
    start = time.monotonic()
    try:
        done = subprocess.run([ditron, *words], capture_output=True, cwd=folder, timeout=LONGEST, env=environment,
                              preexec_fn=limit, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"is not over after {LONGEST} s"
    except ValueError: # a byte of value 0
        return ""
    text = (done.stdout + done.stderr).decode(errors="replace")
    if done.returncode not in STATUSES:
        return f"ends with {done.returncode} after {time.monotonic() - start:.1f} s: {text[-300:]}"
    if found := RAW.search(done.stderr.decode(errors="replace")):
        return f"says '{found.group()}': {text[-300:]}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ditron")
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=86400)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    end, count, findings = time.monotonic() + arguments.seconds, 0, 0
    kernels = kernelsOf(arguments.ditron)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        def one(number):
            if time.monotonic() > end:
                return None
            words = commandLine(number, kernels)
            return words, problemOf(os.path.abspath(arguments.ditron), folder, words)
        last, batch = arguments.first + arguments.runs, 8 * arguments.jobs
        batches = (range(first, min(first + batch, last)) for first in range(arguments.first, last, batch))
        for result in itertools.chain.from_iterable(pool.map(one, numbers) for numbers in batches):
            if result is None:
                break
            count += 1
            if result[1]:
                findings += 1
                print(f"ditron {' '.join(map(repr, result[0]))}: {result[1]}", flush=True)
    print(f"commands: {count} command lines, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
