#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of GPUs that are processes, on the driver that emulates: right results, one error, nothing left behind.

usage: processes_test.py DITRON DRIVER_TEST FOLDER_OF_LIBCUDA
"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

FOLDER, DRIVER_TEST, DITRON = (sys.argv.pop() for _ in range(3))
SMALL = {"ag-gemm": "M=16,N=16,K=16", "gemm-rs": "M=16,N=16,K=16", "all-gather": "M=7,N=13",
         "all-reduce": "M=7,N=13", "all-to-all": "T=7,H=13", "broadcast": "M=7,N=13"}


def environment(**more):
    return dict(os.environ, LD_LIBRARY_PATH=FOLDER, **more)


def run(kernel, *arguments, **variables):
    return subprocess.run([DITRON, "run", kernel, "--backend", "nvidia", "--shape", SMALL[kernel], *arguments],
                          capture_output=True, text=True, timeout=100, env=environment(**variables))


def start_ranks(count, command, **variables):
    """Processes with the variables that torchrun sets."""
    return [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=environment(RANK=str(rank), WORLD_SIZE=str(count), LOCAL_RANK=str(rank),
                                             LOCAL_WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1",
                                             MASTER_PORT=str(20000 + os.getpid() % 20000), **variables))
            for rank in range(count)]


def finish(processes):
    return [(*process.communicate(timeout=100), process.returncode) for process in processes]


class Processes(unittest.TestCase):
    def test_right_results(self):
        for kernel in SMALL:
            for count in (2, 3):
                with self.subTest(kernel=kernel, count=count):
                    result = run(kernel, "--procs", str(count), "--repeat", "3", "--json")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    line, = map(json.loads, result.stdout.splitlines())
                    self.assertEqual((line["ok"], line["ranks"], line["transport"]), (True, count, "processes"))

    def test_started_by_mpirun(self):
        command = [DITRON, "run", "all-reduce", "--backend", "nvidia", "--shape", SMALL["all-reduce"], "--json"]
        first, second = finish([
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=environment(OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE="2"))
            for rank in range(2)])
        self.assertEqual((first[2], second[2]), (0, 0), (first, second))
        self.assertEqual((json.loads(first[0])["transport"], second[0]), ("processes", ""))

    def test_programs(self):
        """What contexts promise of several ranks: launches back to back, graphs, loading in between."""
        for out, error, status in finish(start_ranks(3, [DRIVER_TEST, "--gtest_filter=Backends.*Ranks*"])):
            self.assertEqual(status, 0, out + error)
            self.assertIn("[  PASSED  ]", out)

    def test_a_wait_that_outlives_its_bound(self):
        begin = time.monotonic()
        command = [DITRON, "run", "ag-gemm", "--backend", "nvidia", "--shape", SMALL["ag-gemm"], "--config", "engine=cores",
                   "--straggler", "rank=1,ms=3000"]
        ended = finish(start_ranks(3, command, DITRON_WAIT_TIMEOUT_MS="300"))
        self.assertEqual([status for _, _, status in ended], [1, 1, 1], ended)
        error = "".join(error for _, error, _ in ended)
        self.assertEqual(error.count("ditron: "), 1, error)  # the others know that it was told
        self.assertIn("kernel 'ag-gemm': a wait outlived its bound of 300 ms\n", error)
        self.assertRegex(error, r"\n  ranks? [02].*, core.*, role 'multiply', AllGatherGemm.cpp:\d+: waits for signal "
                                r"'ready'\[1, 0\]: expected \d+, seen 0\n")
        self.assertRegex(error, r"\n  rank 1: has not completed launch 1\n")
        self.assertLess(time.monotonic() - begin, 60)

    def test_a_killed_rank(self):
        command = [DITRON, "run", "ag-gemm", "--backend", "nvidia", "--shape", SMALL["ag-gemm"], "--straggler", "rank=1,ms=60000"]
        processes = start_ranks(3, command, DITRON_WAIT_TIMEOUT_MS="4000")
        time.sleep(2)  # they have met, and wait for the straggler
        processes[1].kill()
        ended = finish(processes)
        self.assertEqual([status for _, _, status in ended], [1, -signal.SIGKILL, 1], ended)
        self.assertRegex("".join(error for _, error, _ in ended), rf"rank 1 \(process {processes[1].pid}\) died")

    def test_memory_that_cannot_be_shared(self):
        result = run("ag-gemm", "--procs", "2", EMULATED_CUDA="threads")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("Emulated GPU shares no memory with other processes", result.stderr)
        self.assertEqual(run("ag-gemm", "--ranks", "2", EMULATED_CUDA="threads").returncode, 0)

    def test_several_hosts(self):
        result = run("ag-gemm", RANK="0", WORLD_SIZE="4", LOCAL_RANK="0", LOCAL_WORLD_SIZE="2", MASTER_PORT="29777")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("the 4 ranks of this run are on several hosts", result.stderr)
        result = run("ag-gemm", "--procs", "2", "--mesh", "node=2,local=1")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("reaches the GPUs of one node, but the mesh has 2 nodes", result.stderr)


if __name__ == "__main__":
    before = set(os.listdir("/dev/shm"))
    outcome = unittest.main(exit=False)
    assert set(os.listdir("/dev/shm")) <= before
    sys.exit(not outcome.result.wasSuccessful())
