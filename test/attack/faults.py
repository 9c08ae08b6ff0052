#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of the machine at random times: killed and stopped ranks, full disks, crowds, limits.

Every run ends well, or with one error in one line of its own, and leaves nothing behind: no process, no file but
what was there before, no name of a socket. Afterwards launches under a straggler give the same bits as ever.

usage: faults.py DITRON [--count N] [--launches N] [--seed S] [--only PART]
  --count     killed ranks, full disks and limited runs of each kind; half as many compilers, 8 at least (default: 4)
  --launches  of each transport afterwards (default: 100)
"""
import argparse
import collections
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from processes import childrenOf, isAlive  # noqa: E402

NOBODY = 65533
RANKS = ["--shape", "M=32,N=32,K=32"]
CRASHES = re.compile(r"terminate called|Segmentation|core dumped|std::|LLVM ERROR|Stack dump|Resource temporarily")


class Wrong(Exception):
    pass


def require(condition, *what):
    if not condition:
        raise Wrong("\n".join(map(str, what)))


class Workplace:
    """Folders of a run's own, and what must be as it was when they go."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="attack-"))
        self.folder.chmod(0o777)
        self.cache = self.folder / "cache"
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.temporary.chmod(0o777)

    def environment(self, **more):
        base = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
        return base | {"DITRON_CACHE_DIR": str(self.cache), "TMPDIR": str(self.temporary),
                       "DITRON_WAIT_TIMEOUT_MS": "2000", "DITRON_CONNECT_TIMEOUT_MS": "4000"} | more

    def requireClean(self):
        require(not os.listdir(self.temporary), "left in TMPDIR:", os.listdir(self.temporary))
        if self.cache.exists():
            rest = [name for name in os.listdir(self.cache) if not re.fullmatch(r"[0-9a-f]{32}\.kernel", name)]
            require(not rest, "left in the cache:", rest)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def workplace():
    place = Workplace()
    try:
        yield place
        place.requireClean()
    finally:
        place.close()


def judge(status, error, mayFail=True):
    """What a run ended with: "verified", or the kind of its one error."""
    require(not CRASHES.search(error), "a crash or a raw message:", status, error)
    told = [line for line in error.splitlines() if line.startswith("ditron: ")]
    if status == 0:
        return "verified"
    require(mayFail and status in (1, 3) and len(told) == 1, f"status {status}, {len(told)} errors:", error)
    kind = re.sub(r"'[^']*'|\d+", "_", told[0].removeprefix("ditron: "))
    return kind[:70]


class Faults:
    def __init__(self, arguments):
        self.program, self.count, self.launches = arguments.ditron, arguments.count, arguments.launches
        self.random = random.Random(arguments.seed)
        self.wrong = []

    def attempt(self, case, *arguments):
        """What a case gave; what is wrong about it is told at the end."""
        try:
            return case(*arguments)
        except Wrong as wrong:
            values = [value for value in arguments if not isinstance(value, Workplace)]
            self.wrong.append(f"{case.__name__} {values}: {wrong}")
            return "WRONG"

    # ---- a rank that is killed or stopped ---------------------------------------------------------

    def killed(self):
        """A rank is killed or stopped at a random time."""
        with workplace() as place:
            start = time.monotonic()
            self.runRanks(place).communicate()
            whole = time.monotonic() - start
            plans = [(self.random.uniform(0, 1.2 * whole), self.random.choice([signal.SIGKILL, signal.SIGSTOP]),
                      self.random.randrange(3)) for _ in range(self.count)]
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                return list(pool.map(lambda plan: self.attempt(self.killOne, place, *plan), plans))

    def runRanks(self, place):
        return subprocess.Popen([self.program, "run", "ag-gemm", "--procs", "3", "--repeat", "200", *RANKS],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=place.environment())

    def killOne(self, place, after, what, rank):
        process = self.runRanks(place)
        time.sleep(after)
        ranks = childrenOf(process.pid)
        if rank < len(ranks):
            with contextlib.suppress(ProcessLookupError):
                os.kill(ranks[rank], what)
        try:
            _, error = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Wrong(f"a run hangs after signal {what} to rank {rank} at {after:.3f} s")
        require(not any(map(isAlive, ranks)), "ranks live on")
        return f"{what.name}: {judge(process.returncode, error)}"

    # ---- a disk that is full ----------------------------------------------------------------------

    def full(self):
        """The disk of the cache and of an output has too little room, or a limit says so."""
        return [self.attempt(self.fullOne, self.random.randrange(0, 48), number % 2 == 1 or os.geteuid() != 0)
                for number in range(self.count)]

    def fullOne(self, kilobytes, byLimit):
        with workplace() as place:
            disk = place.folder / "disk"
            disk.mkdir()
            mounted = not byLimit and subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={max(kilobytes, 4)}k", "none", disk]).returncode == 0
            try:
                return self.writeTo(disk, place, None if mounted else kilobytes * 1024)
            finally:
                if mounted:
                    subprocess.run(["umount", disk], check=True)

    def writeTo(self, disk, place, limit):
        def limited():
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        cache, output = disk / "cache", disk / "output"
        output.write_text("before")
        environment = place.environment(DITRON_CACHE_DIR=str(cache))
        run = subprocess.run([self.program, "run", "ag-gemm", "--ranks", "2", *RANKS], capture_output=True, text=True,
                             env=environment, preexec_fn=limited, timeout=120)
        require(run.returncode == 0, "a run fails by its cache:", run.stderr)
        warnings = sum("kernel cache:" in line for line in run.stderr.splitlines())
        require(warnings <= 1, run.stderr)
        emitted = subprocess.run([self.program, "compile", "gemm", "--target", "x86-64", "--emit", "asm", "-o", output],
                                 capture_output=True, text=True, env=environment, preexec_fn=limited, timeout=120)
        kind = judge(emitted.returncode, emitted.stderr)
        require((kind == "verified") == (output.read_text() != "before"), "half an output:", kind, output.stat())
        require(set(os.listdir(disk)) <= {"cache", "output"}, os.listdir(disk))
        left = os.listdir(cache) if cache.exists() else []
        require(all(name.endswith(".kernel") for name in left), left)
        return f"{'limit' if limit is not None else 'disk'}: cache {'full' if warnings else 'written'}, output " + (
            "written" if kind == "verified" else kind)

    # ---- a crowd ----------------------------------------------------------------------------------

    def crowd(self):
        """Many compilers of one cold kernel."""
        with workplace() as place:
            command = [self.program, "run", "ag-gemm", "--ranks", "2", *RANKS]
            crowd = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env=place.environment(DITRON_WAIT_TIMEOUT_MS="60000"))
                     for _ in range(max(8, self.count // 2))]
            kinds = []
            for process in crowd:
                _, error = process.communicate(timeout=300)
                require("kernel cache:" not in error, error)
                kinds.append(judge(process.returncode, error, mayFail=False))
            require(len(os.listdir(place.cache)) == 1, os.listdir(place.cache))
            return kinds

    # ---- limits -----------------------------------------------------------------------------------

    def limits(self):
        """Limits on processes, files, memory and stack, of runs of threads and of processes."""
        ranges = {resource.RLIMIT_NPROC: (1, 24, "processes"), resource.RLIMIT_NOFILE: (4, 40, "files"),
                  resource.RLIMIT_AS: (150 << 20, 700 << 20, "memory"), resource.RLIMIT_STACK: (32 << 10, 2 << 20, "stack")}
        kinds = []
        for limit, (least, most, name) in ranges.items():
            if limit == resource.RLIMIT_NPROC and os.geteuid() != 0:
                continue  # it would count all processes of this user
            for number in range(self.count):
                value = self.random.randint(least, most)
                kind = self.attempt(self.limited, limit, value, ["--ranks", "--procs"][number % 2])
                kinds.append(f"{name}: {kind}")
        return kinds

    def limited(self, limit, value, ranks):
        def setUp():
            if limit == resource.RLIMIT_NPROC:  # root has no such limit
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            resource.setrlimit(limit, (value, value))
        with workplace() as place:
            environment = place.environment(DITRON_HEAP_BYTES="1000000")
            try:
                run = subprocess.run([self.program, "run", "ag-gemm", ranks, "3", "--cores", "2", *RANKS], preexec_fn=setUp,
                                     capture_output=True, text=True, env=environment, timeout=120)
            except subprocess.TimeoutExpired:
                raise Wrong("a run hangs")
            return judge(run.returncode, run.stderr)

    # ---- what is left of it -----------------------------------------------------------------------

    def afterwards(self):
        """Launches under a straggler give bit for bit what they always gave."""
        kinds = []
        with workplace() as place:
            for ranks in ("--ranks", "--procs"):
                run = subprocess.run([self.program, "run", "all-gather", ranks, "3", "--shape", "M=48,N=64", "--repeat",
                                      str(self.launches), "--straggler", "rank=1,ms=1", "--json"], capture_output=True,
                                     text=True, env=place.environment(DITRON_WAIT_TIMEOUT_MS="20000"), timeout=3000)
                judge(run.returncode, run.stderr, mayFail=False)
                line = json.loads(run.stdout)
                require(line["ok"] and line["max_rel_error"] == 0, line)
                kinds.append(f"{line['launches']} launches on {line['transport']}, bit for bit")
        return kinds


def leftBehind():
    names = pathlib.Path("/proc/net/unix").read_text(errors="replace")
    return len(os.listdir("/dev/shm")), len(re.findall("@ditron-", names))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ditron")
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--launches", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {arguments.seed}", flush=True)
    faults, before = Faults(arguments), leftBehind()
    for part in (faults.killed, faults.full, faults.crowd, faults.limits, faults.afterwards):
        if arguments.only not in part.__name__:
            continue
        start = time.monotonic()
        kinds = faults.attempt(part)
        for kind, times in sorted(collections.Counter([kinds] if kinds == "WRONG" else kinds).items()):
            print(f"{part.__name__:10} {times:4} {kind}")
        print(f"{part.__name__:10} {time.monotonic() - start:.0f} s", flush=True)
    after = leftBehind()
    print(f"left behind: {after[0] - before[0]} in /dev/shm, {after[1] - before[1]} names of sockets")
    print("\n".join(f"WRONG: {wrong}" for wrong in faults.wrong) or "nothing wrong")
    sys.exit(bool(faults.wrong))


if __name__ == "__main__":
    main()
