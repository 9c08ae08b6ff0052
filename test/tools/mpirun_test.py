#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs started by other launchers: Open MPI's mpirun, where it is installed, and torchrun's
variables set by hand.

usage: mpirun_test.py DITRON
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from processes import isAlive  # noqa: E402

DITRON = sys.argv.pop(1)
SMALL = ["--shape", "M=16,N=16,K=16"]
MPIRUN = shutil.which("mpirun")
OPEN_MPI = bool(MPIRUN) and "Open MPI" in subprocess.run(
    [MPIRUN, "--version"], capture_output=True, text=True).stdout


def setEnvironment(**more):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return dict(environment, **more)


def startMpi(ranks, *arguments, **environment):
    return subprocess.Popen(
        [MPIRUN, "--oversubscribe", "-n", str(ranks), DITRON, "run", *arguments, *SMALL],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=setEnvironment(**environment))


def startRank(rank, size, *arguments, port="29611", **environment):
    return subprocess.Popen(
        [DITRON, "run", *arguments, *SMALL], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(size),
                            LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(size),
                            MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **environment))


def finish(processes):
    ended = [process.communicate(timeout=60) for process in processes]
    return ([process.returncode for process in processes], [out for out, _ in ended],
            [error for _, error in ended])


def ranksOf(launcher):
    """The ditron processes that the launcher started, by rank."""
    found = {}
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) != launcher.pid or fields[0] == "Z":
                continue
            variables = (status.parent / "environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        for variable in variables:
            if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                found[int(variable.split(b"=")[1])] = int(status.parent.name)
    return found


class Left(unittest.TestCase):
    """Nothing is left in /dev/shm, nor of ditron in the folder for temporary files."""

    def setUp(self):
        self.before = set(os.listdir("/dev/shm"))
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.outer = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = self.folder.name

    def tearDown(self):
        if self.outer is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = self.outer
        self.assertEqual([name for name in os.listdir(self.folder.name) if "ditron" in name], [])
        self.assertLessEqual(set(os.listdir("/dev/shm")), self.before)


@unittest.skipUnless(OPEN_MPI, "Open MPI's mpirun is not installed")
class Mpirun(Left):
    def testOneVerdict(self):
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                process = startMpi(ranks, "ag-gemm", "--json")
                out, error = process.communicate(timeout=60)
                line, = map(json.loads, out.splitlines())
                self.assertEqual((process.returncode, line["ok"], line["ranks"]), (0, True, ranks))
                self.assertEqual(error.count("verified"), 1)

    def testTwoJobsAtOnce(self):
        jobs = [startMpi(2, kernel, "--json") for kernel in ("ag-gemm", "gemm-rs", "ag-gemm")]
        statuses, outs, _ = finish(jobs)
        self.assertEqual(statuses, [0, 0, 0])
        self.assertEqual([json.loads(out)["kernel"] for out in outs],
                         ["ag-gemm", "gemm-rs", "ag-gemm"])

    def testALateWaitIsToldOnce(self):
        process = startMpi(3, "ag-gemm", "--straggler", "rank=1,ms=5000",
                           DITRON_WAIT_TIMEOUT_MS="300")
        start = time.monotonic()
        out, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (1, ""))
        self.assertEqual(error.count("ditron: "), 1, error)
        self.assertRegex(error, r"ditron: kernel 'ag-gemm': a wait outlived its bound of 300 ms\n"
                                r"  rank 0, core 0.*\n(  rank.*\n)*  rank 1: runs no kernel\n")
        self.assertLess(time.monotonic() - start, 20)

    def testAKilledRankEndsAll(self):
        process = startMpi(3, "ag-gemm", "--straggler", "rank=2,ms=20000")
        deadline = time.monotonic() + 20
        while len(ranksOf(process)) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(1)  # they have met, and wait for the straggler
        ranks = ranksOf(process)
        os.kill(ranks[1], signal.SIGKILL)
        start = time.monotonic()
        out, error = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(out, "")
        self.assertLessEqual(error.count("ditron: "), 1, error)
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual([rank for rank, number in ranks.items() if isAlive(number)], [])


class Torchrun(Left):
    """The variables that torchrun sets, and no other launcher to clean up."""

    def testOneVerdict(self):
        for size in (1, 2, 3, 4):
            with self.subTest(size=size):
                statuses, outs, _ = finish([startRank(rank, size, "gemm-rs", "--json")
                                            for rank in range(size)])
                self.assertEqual(statuses, [0] * size)
                self.assertEqual(json.loads(outs[0])["ranks"], size)
                self.assertEqual(outs[1:], [""] * (size - 1))

    def testTwoJobsAtOnce(self):
        jobs = [startRank(rank, 2, kernel, "--json", port=port)
                for port, kernel in (("29612", "ag-gemm"), ("29613", "gemm-rs"))
                for rank in range(2)]
        statuses, outs, _ = finish(jobs)
        self.assertEqual(statuses, [0] * 4)
        self.assertEqual([json.loads(outs[0])["kernel"], json.loads(outs[2])["kernel"]],
                         ["ag-gemm", "gemm-rs"])

    def testARankThatStartsLate(self):
        for late in (0, 2):
            with self.subTest(late=late):
                running = {rank: startRank(rank, 3, "ag-gemm", "--json")
                           for rank in range(3) if rank != late}
                time.sleep(1.5)
                running[late] = startRank(late, 3, "ag-gemm", "--json")
                statuses, outs, _ = finish([running[rank] for rank in range(3)])
                self.assertEqual(statuses, [0, 0, 0])
                self.assertTrue(json.loads(outs[0])["ok"])

    def testARankThatNeverStarts(self):
        for never, says in ((0, r"rank [12] waited 1000 ms for rank 0 to start on this host"),
                            (1, r"rank 0 waited 1000 ms for rank 1 to start")):
            with self.subTest(never=never):
                statuses, outs, errors = finish(
                    [startRank(rank, 3, "ag-gemm", DITRON_CONNECT_TIMEOUT_MS="1000")
                     for rank in range(3) if rank != never])
                self.assertEqual((statuses, outs), ([1, 1], ["", ""]))
                for error in errors:
                    self.assertRegex(error, says)

    def testTheBoundOfWaitsBoundsTheStart(self):
        start = time.monotonic()
        process = startRank(0, 2, "ag-gemm", DITRON_WAIT_TIMEOUT_MS="500")
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(error, "rank 0 waited 3000 ms for rank 1 to start")
        self.assertLess(time.monotonic() - start, 20)

    def testAKilledRankEndsAllWithOneError(self):
        running = [startRank(rank, 4, "ag-gemm", "--straggler", "rank=2,ms=2500")
                   for rank in range(4)]
        time.sleep(1.2)  # they have met, and wait for the straggler
        running[3].kill()
        start = time.monotonic()
        statuses, outs, errors = finish(running)
        self.assertEqual((statuses, outs), ([1, 1, 1, -signal.SIGKILL], [""] * 4))
        self.assertRegex("".join(errors), rf"^ditron: rank 3 \(process {running[3].pid}\) died\n$")
        self.assertLess(time.monotonic() - start, 10)


if __name__ == "__main__":
    if not OPEN_MPI:
        print("[SKIP] class Mpirun: Open MPI's mpirun is not installed", file=sys.stderr)
    unittest.main()
