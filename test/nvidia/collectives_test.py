#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/collectives.py on the emulated driver: its lines, what it keeps, what it does about cases that fail.

usage: collectives_test.py SCRIPT DITRON FOLDER_OF_LIBCUDA FOLDER_OF_LIBRARIES
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARIES, FOLDER, DITRON, SCRIPT = (sys.argv.pop() for _ in range(4))


FAKE_TORCH = str(pathlib.Path(__file__).resolve().parent / "fake_torch")


def collectives(*arguments, **variables):
    environment = {**os.environ, "LD_LIBRARY_PATH": FOLDER, "DITRON_NCCL_DIR": LIBRARIES, "DITRON_CUBLAS_DIR": LIBRARIES,
                   "EMULATED_GPUS": "2", **variables}
    return subprocess.run([sys.executable, SCRIPT, "--program", DITRON, "--no-measure", *arguments],
                          capture_output=True, text=True, timeout=110, env=environment)


class Collectives(unittest.TestCase):
    def test_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            result = collectives("--case", "gemm-ar M=3,N=5,K=2", "--case", "gemm-ar M=0,N=5,K=2", "--case", "all-gather M=1,N=3",
                                 "--no-torch", "--save", folder)
            saved = (pathlib.Path(folder) / "2-x-emulated-gpu.jsonl").read_text().splitlines()
        self.assertEqual(result.returncode, 1, result.stderr)  # of the shape that is refused
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["kernel"] for line in lines], ["gemm-ar", "all-gather"])
        self.assertEqual([line["kernel"] for line in map(json.loads, saved)], ["gemm-ar", "all-gather"])
        self.assertIn("gemm-ar M=0,N=5,K=2 failed", result.stderr)
        for line in lines:
            self.assertEqual((line["machine"], line["versions"]["NCCL"]), ("2 x Emulated GPU", "2.28.9"))
            self.assertGreater(line["ratio"], 0)

    def test_async_tp(self):
        """Beside the line of a product stands what PyTorch took; other kernels have no such peer."""
        result = collectives("--case", "gemm-rs M=1,N=5,K=2", "--case", "all-gather M=1,N=3", "--graph", "both",
                             PYTHONPATH=FAKE_TORCH)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(line["kernel"], line["graph"]) for line in lines],
                         [("gemm-rs", False), ("gemm-rs", True), ("all-gather", False), ("all-gather", True)])
        for line in lines:
            self.assertEqual("async_tp_s" in line, line["kernel"] == "gemm-rs")
            self.assertEqual("torch" in line["versions"], line["kernel"] == "gemm-rs")
        self.assertAlmostEqual(lines[0]["over_async_tp"], lines[0]["async_tp_s"] / lines[0]["median_s"])
        self.assertGreater(lines[0]["async_tp_s"], 150e-6)
        self.assertGreater(lines[0]["torch_sequence_s"], 100e-6)

    def test_async_tp_that_fails(self):
        for how, what in (("refuses", "async-TP: ag-gemm M=1,N=5,K=2: no such operation\n"),
                          ("ends", "the processes of PyTorch have ended, or say nothing; there is no async-TP from here on")):
            result = collectives("--case", "ag-gemm M=1,N=5,K=2", PYTHONPATH=FAKE_TORCH, FAKE_TORCH=how)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(what, result.stderr)
            line, = map(json.loads, result.stdout.splitlines())
            self.assertNotIn("async_tp_s", line)

    def test_cases(self):
        cases = collectives("--list", "--ranks", "4").stdout.splitlines()
        self.assertIn("ag-gemm M=2048,N=2752,K=4096", cases)
        self.assertIn("gemm-rs M=1024,N=4096,K=2048", cases)
        self.assertIn("all-to-all T=1024,H=7168", cases)
        self.assertIn("dense-all-to-all M=8,N=1024", cases)
        self.assertIn("broadcast M=32,N=1024", cases)
        quick = collectives("--list", "--quick", "--filter", "^gemm").stdout.splitlines()
        self.assertTrue(quick and all(case.startswith("gemm-") for case in quick))
        for ranks in range(1, 9):
            for case in collectives("--list", "--ranks", str(ranks)).stdout.splitlines():
                self.assertNotIn("=0", case)

    def test_without_a_gpu(self):
        result = collectives(LD_LIBRARY_PATH="/nowhere")
        self.assertEqual(result.returncode, 77, result.stderr)
        self.assertIn("skipped: no NVIDIA driver", result.stderr)


if __name__ == "__main__":
    unittest.main()
