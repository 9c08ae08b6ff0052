# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that answer line by line, and that may fail: nobody waits for one without a bound."""
import json
import os
import pathlib
import select
import subprocess
import sys
import time


class Lines:
    """The output of a process, line by line."""

    def __init__(self, process):
        self.file, self.rest = process.stdout.fileno(), b""

    def next(self, seconds):
        """The next line; None where the output ends or the line takes too long."""
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.file], [], [], max(0, end - time.monotonic()))
            more = os.read(self.file, 65536) if ready else b""
            if not more:
                return None
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()


class Failure(Exception):
    """A process has ended, says nothing, or what it says is no JSON."""


class Ranks:
    """A process of a script in this folder for each rank, `script RANK RANKS PORT WORD...`. All of them are told the same,
    and the first one answers."""

    def __init__(self, script, ranks, *words):
        command = [sys.executable, str(pathlib.Path(__file__).resolve().parent / script)]
        port = 20000 + os.getpid() % 20000
        self.processes = [subprocess.Popen([*command, str(rank), str(ranks), str(port), *words], text=True, bufsize=1,
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE) for rank in range(ranks)]
        self.lines = Lines(self.processes[0])

    def tell(self, line):
        try:
            for process in self.processes:
                print(line, file=process.stdin)
        except OSError as error:
            raise Failure(str(error)) from error

    def answer(self, seconds):
        """What the first one says, JSON in a line."""
        line = self.lines.next(seconds)
        try:
            found = json.loads(line or "null")
        except ValueError:
            raise Failure(f"a process of PyTorch says {line.strip()!r}") from None
        if not found:
            raise Failure("the processes of PyTorch have ended, or say nothing")
        return found

    def end(self, patience=20):
        for process in self.processes:
            try:
                process.stdin.close()
            except OSError:
                pass  # it has ended
        for process in self.processes:
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
