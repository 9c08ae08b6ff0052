#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of several processes: one report, one error, nothing left behind.

usage: processes_test.py DITRON
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from processes import childrenOf, isAlive  # noqa: E402

DITRON = sys.argv.pop(1)
SMALL = ["--shape", "M=16,N=16,K=16"]


def shared():
    return set(os.listdir("/dev/shm"))


class Processes(unittest.TestCase):
    def setUp(self):
        self.before = shared()

    def tearDown(self):
        self.assertLessEqual(shared(), self.before)

    def testOneReport(self):
        result = subprocess.run([DITRON, "run", "ag-gemm", "--procs", "3", *SMALL, "--json"],
                                capture_output=True, text=True, timeout=60)
        line, = map(json.loads, result.stdout.splitlines())
        self.assertEqual((result.returncode, line["ok"], line["ranks"], line["transport"]),
                         (0, True, 3, "processes"))
        self.assertEqual(result.stderr.count("verified"), 1)

    def testStartedByALauncher(self):
        for rankName, sizeName in (("RANK", "WORLD_SIZE"),
                                   ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
                                   ("PMI_RANK", "PMI_SIZE")):
            with self.subTest(rankName):
                running = [subprocess.Popen(
                    [DITRON, "run", "gemm-rs", *SMALL, "--json"], stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=dict(os.environ, **{rankName: str(rank), sizeName: "2"}))
                    for rank in range(2)]
                first, second = (process.communicate(timeout=60)[0] for process in running)
                self.assertEqual([process.returncode for process in running], [0, 0])
                self.assertEqual((json.loads(first)["ranks"], second), (2, b""))

    def testAGraphIsTracedByOneRank(self):
        graph = str(pathlib.Path(__file__).parent.parent / "task/commands.mlir")
        with tempfile.TemporaryDirectory() as folder:
            running = [subprocess.Popen(
                [DITRON, "trace", graph, "--graph", "mlp", "--shape", "M=40", "--cores", "2", "--json", "-o", f"{folder}/{rank}.json"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2"))
                for rank in range(2)]
            (first, text), second = (process.communicate(timeout=60) for process in running)
            self.assertEqual([process.returncode for process in running], [0, 0], text)
            self.assertEqual(second, ("", ""))
            self.assertEqual(json.loads(first)["ranks"], 2)
            self.assertEqual({"0.json", "0.html"}, set(os.listdir(folder)))
            traced = json.loads(pathlib.Path(folder, "0.json").read_text())["traceEvents"]
            self.assertEqual({1, 2}, {event["pid"] for event in traced})

    def testAWaitThatOutlivesItsBound(self):
        for place in ("threads", "processes"):
            with self.subTest(place):
                start = time.monotonic()
                result = subprocess.run(
                    [DITRON, "run", "ag-gemm", "--ranks", "2", "--cores", "1", "--transport",
                     place, *SMALL, "--straggler", "rank=1,ms=4000"], capture_output=True, text=True, timeout=60,
                    env=dict(os.environ, DITRON_WAIT_TIMEOUT_MS="300"))
                self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
                self.assertRegex(
                    result.stderr,
                    r"^ditron: kernel 'ag-gemm': a wait outlived its bound of 300 ms\n"
                    r"  rank 0, core 0, role 'multiply', AllGatherGemm.cpp:\d+: waits for signal "
                    r"'ready'\[1, 0\]: expected \d, seen 0; nobody has notified it in this launch\n"
                    r"  rank 1: runs no kernel\n$")
                self.assertEqual(result.stderr.count("ditron: "), 1)
                self.assertLess(time.monotonic() - start, 30)

    def testAStragglerIsNoHang(self):
        for place in (["--ranks", "3"], ["--procs", "3"]):
            with self.subTest(place):
                result = subprocess.run(
                    [DITRON, "run", "ag-gemm", *place, *SMALL, "--repeat", "4", "--straggler",
                     "rank=1,ms=30", "--json"], capture_output=True, text=True, timeout=60,
                    env=dict(os.environ, DITRON_WAIT_TIMEOUT_MS="3000"))
                self.assertEqual((result.returncode, json.loads(result.stdout)["ok"]), (0, True),
                                 result.stderr)

    def testAKilledProcess(self):
        process = subprocess.Popen(
            [DITRON, "run", "ag-gemm", "--procs", "3", *SMALL, "--straggler", "rank=2,ms=8000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 20
        while len(childrenOf(process.pid)) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(1)  # they have met, and wait for the straggler
        os.kill(childrenOf(process.pid)[1], signal.SIGKILL)
        out, error = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (1, ""))
        self.assertRegex(error, r"^ditron: .*rank 1 (\(process \d+\) died|was ended by signal 9)")
        self.assertEqual(error.count("ditron: "), 1)

    def testAStoppedProcess(self):
        process = subprocess.Popen(
            [DITRON, "run", "ag-gemm", "--procs", "3", *SMALL, "--straggler", "rank=1,ms=2000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, DITRON_WAIT_TIMEOUT_MS="3000"))
        while len(childrenOf(process.pid)) < 3:
            time.sleep(0.01)
        time.sleep(1)  # they have met, and wait for the straggler
        stopped = childrenOf(process.pid)[1]
        os.kill(stopped, signal.SIGSTOP)
        start, error = time.monotonic(), ""
        while "is stopped" not in error:  # the report comes before all have ended
            line = process.stderr.readline()
            self.assertTrue(line, error)
            error += line
        self.assertLess(time.monotonic() - start, 9)
        self.assertTrue(isAlive(stopped))
        self.assertIsNone(process.poll())
        os.kill(stopped, signal.SIGKILL)  # the launcher does it, later
        out, rest = process.communicate(timeout=30)
        error += rest
        self.assertEqual((process.returncode, out), (1, ""))
        self.assertEqual(error.count("ditron: "), 1)
        self.assertRegex(error, r"a wait outlived its bound of 3000 ms\n(.*\n)+")
        self.assertRegex(error, rf"\n  rank 1: runs no kernel; its process {stopped} is stopped\n")

    def testAJobThatIsStoppedAndGoesOn(self):
        """As by Ctrl-Z, for longer than the bound of waits: no rank is late."""
        for place in ("--ranks", "--procs"):
            with self.subTest(place):
                process = subprocess.Popen(
                    [DITRON, "run", "ag-gemm", place, "2", *SMALL, "--cores", "1", "--repeat", "5", "--straggler",
                     "rank=1,ms=500", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    env=dict(os.environ, DITRON_WAIT_TIMEOUT_MS="2000"), start_new_session=True)
                time.sleep(1.5)  # rank 0 waits for the straggler
                os.killpg(process.pid, signal.SIGSTOP)
                time.sleep(2.5)
                os.killpg(process.pid, signal.SIGCONT)
                out, error = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, error)

    def testTheLauncherIsKilled(self):
        process = subprocess.Popen(
            [DITRON, "run", "ag-gemm", "--procs", "2", *SMALL, "--straggler", "rank=1,ms=8000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while len(childrenOf(process.pid)) < 2:
            time.sleep(0.01)
        children = childrenOf(process.pid)
        process.kill()
        process.communicate()
        deadline = time.monotonic() + 10
        alive = children
        while alive and time.monotonic() < deadline:
            alive = [child for child in children if isAlive(child)]
            time.sleep(0.01)
        self.assertEqual(alive, [])


if __name__ == "__main__":
    unittest.main()
