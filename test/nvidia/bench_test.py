#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ditron bench of kernels of several ranks, beside stand-ins of NCCL and cuBLAS on the emulated driver.

usage: bench_test.py DITRON FOLDER_OF_LIBCUDA FOLDER_OF_LIBRARIES
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

LIBRARIES, FOLDER, DITRON = (sys.argv.pop() for _ in range(3))
SEQUENCES = {"ag-gemm": "ncclAllGather, cublasGemmEx", "gemm-rs": "cublasGemmEx, ncclReduceScatter",
             "gemm-ar": "cublasGemmEx, ncclAllReduce", "all-gather": "ncclAllGather",
             "reduce-scatter": "ncclReduceScatter", "all-reduce": "ncclAllReduce", "all-to-all": "ncclSend, ncclRecv",
             "dense-all-to-all": "ncclSend, ncclRecv", "broadcast": "ncclBroadcast", "send-recv": "ncclSend, ncclRecv"}
SOME_ROWS_TRAVEL, NO_ROW_TRAVELS = "452540803", "2274257640"  # seeds of all-to-all, T=3, between 3 ranks


ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": FOLDER, "DITRON_NCCL_DIR": LIBRARIES, "DITRON_CUBLAS_DIR": LIBRARIES}


def shape(kernel):
    if kernel == "ring-attention":
        return "T=5,S=5,N=2,G=1,D=3,B=1"
    return "M=3,N=5,K=11" if "gemm" in kernel else "T=3,H=5" if kernel == "all-to-all" else "M=3,N=5"


def moved(kernel, ranks):
    """Bytes of bf16 that a rank receives from others."""
    gathered, summed = 3 * 11 * 2, 3 * 5 * 2
    return {"ag-gemm": (ranks - 1) * gathered, "gemm-ar": 2 * (ranks - 1) / ranks * summed,
            "all-reduce": 2 * (ranks - 1) / ranks * summed, "broadcast": summed, "send-recv": summed}.get(kernel, (ranks - 1) * summed)


def bench(kernel, *arguments, gpus=2, **variables):
    """Ranks, and what is given over them."""
    environment = {**ENVIRONMENT, "EMULATED_GPUS": str(gpus), **variables}
    command = [DITRON, "bench", kernel, "--backend", "nvidia", "--dtype", "bf16", "--shape", shape(kernel), "--repeat", "1",
               "--json", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)


class Bench(unittest.TestCase):
    def line(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        line, = map(json.loads, result.stdout.splitlines())
        self.assertTrue(line["ok"])
        return line

    def test_sequences(self):
        """Each kernel beside the libraries' calls, whose results are verified: no warning says otherwise."""
        for kernel, baseline in SEQUENCES.items():
            for ranks in (3,) if kernel in ("gemm-rs", "all-to-all", "dense-all-to-all") else (2,):
                with self.subTest(kernel=kernel, ranks=ranks):
                    result = bench(kernel, "--ranks", str(ranks), "--baseline", "--seed", SOME_ROWS_TRAVEL, gpus=ranks)
                    line = self.line(result)
                    self.assertNotIn("warning", result.stderr)
                    self.assertEqual(line["baseline"], baseline)
                    self.assertAlmostEqual(line["ratio"], line["baseline_median_s"] / line["median_s"])
                    self.assertGreater(min(line["launch_s"], line["baseline_launch_s"]), 0)
                    if kernel != "all-to-all":
                        self.assertAlmostEqual(line["moved_bytes"], moved(kernel, ranks))
                    product = line["product_median_s"] or 0
                    self.assertEqual(product > 0, "gemm" in kernel)
                    self.assertAlmostEqual(line["limit_s"], max(product, line["moved_bytes"] / line["link_bytes_per_s"]))
                    self.assertAlmostEqual(line["of_limit"], line["median_s"] / line["limit_s"], places=3)

    def test_no_row_for_others(self):
        """Where nothing travels and nothing is multiplied, no limit is named."""
        result = bench("all-to-all", "--ranks", "3", "--baseline", "--seed", NO_ROW_TRAVELS, gpus=3)
        line = self.line(result)
        self.assertEqual(line["baseline"], SEQUENCES["all-to-all"])
        self.assertEqual([name for name in ("limit_s", "of_limit", "moved_bytes") if name in line], [])
        self.assertNotIn("of the link", result.stderr)

    def test_numbers(self):
        """A kernel has the numbers among its arguments, as the scale of attention, with every set of operands."""
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                self.assertGreater(self.line(bench("ring-attention", "--ranks", str(ranks)))["sets"], 1)

    def test_along_an_axis(self):
        """The libraries' calls are those of the ranks of a line."""
        for kernel in ("all-gather", "all-to-all", "send-recv", "gemm-rs"):
            with self.subTest(kernel=kernel):
                result = bench(kernel, "--ranks", "4", "--mesh", "row=2,col=2", "--axis", "row", "--baseline", gpus=4)
                line = self.line(result)
                self.assertNotIn("warning", result.stderr)
                self.assertEqual((line["ranks"], line["axis"], line["team"]), (4, "row", 2))
                self.assertEqual(line["baseline"], SEQUENCES[kernel])
                if kernel != "all-to-all":
                    self.assertAlmostEqual(line["moved_bytes"], moved(kernel, 2))

    def test_from_a_graph(self):
        line = self.line(bench("ag-gemm", "--ranks", "2", "--graph"))
        self.assertEqual((line["graph"], line["launches"], line["baseline"]), (True, 4, None))

    def test_saved_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            self.line(bench("all-gather", "--ranks", "2", "--baseline", "--save", "--save-to", folder))
            with open(os.path.join(folder, "2-x-emulated-gpu.jsonl")) as file:
                line = json.load(file)
        self.assertEqual(line["versions"]["NCCL"], "2.28.9")

    def test_missing_libraries(self):
        result = bench("ag-gemm", "--ranks", "2", "--baseline", DITRON_NCCL_DIR="/nowhere")
        self.assertIsNone(self.line(result)["baseline"])
        self.assertIn("warning: the baseline is not whole: no libnccl.so.2 is found (DITRON_NCCL_DIR", result.stderr)

    def test_ranks_that_share_a_gpu(self):
        for kernel in ("all-gather", "ag-gemm", "gemm-rs"):
            result = bench(kernel, "--ranks", "2", "--baseline", gpus=1)
            line = self.line(result)
            self.assertIsNone(line["baseline"])
            self.assertEqual(line["product_median_s"] is not None, "gemm" in kernel)
            self.assertIn("warning: the baseline is not whole: ranks share a GPU, which NCCL refuses", result.stderr)

    def test_explanation(self):
        with tempfile.TemporaryDirectory() as folder:
            explained = self.line(bench("gemm-rs", "--ranks", "2", "--explain", DITRON_CACHE_DIR=folder))["explained"]
            self.assertFalse(explained["calibrated"])
            self.assertGreater(explained["sequence"]["seconds"], 0)
            with open(os.path.join(folder, "calibration-emulated-gpu.txt"), "w") as file:
                file.write("copy_latency 1\nsignal_latency 1\n")
            explained = self.line(bench("gemm-rs", "--ranks", "2", "--explain", DITRON_CACHE_DIR=folder))["explained"]
            self.assertTrue(explained["calibrated"])
            self.assertIn("all cores, one step after the other", explained["chosen"]["choice"])
            self.assertGreater(explained["chosen"]["seconds"], 1)  # a signal takes one

    def test_chosen_engine(self):
        """ag-gemm sends by what the calibration says is fast."""
        slow = "bandwidth_of_core 1\ncore_copy_bandwidth 1"
        for numbers, engine in (("copy_latency 1", "direct"), (f"copy_latency 1e-9\n{slow}", "copy")):
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "calibration-emulated-gpu.txt"), "w") as file:
                    file.write(numbers)
                line = self.line(bench("ag-gemm", "--ranks", "2", DITRON_CACHE_DIR=folder))
            self.assertRegex(line["config"], f"engine={engine},")

    def test_measured_calibration(self):
        """Every number is measured between two GPUs, and bench takes them."""
        with tempfile.TemporaryDirectory() as folder:
            variables = {**ENVIRONMENT, "EMULATED_GPUS": "2", "DITRON_CACHE_DIR": folder}
            result = subprocess.run([DITRON, "info", "--measure", "--json"], capture_output=True, text=True, timeout=100,
                                    env=variables)
            self.assertEqual(result.returncode, 0, result.stderr)
            found = json.loads(result.stdout)
            self.assertEqual((found["device"], found["ranks"], found["notes"]), ("Emulated GPU", 2, []))
            self.assertEqual([name for name, one in found["numbers"].items() if not one["measured"] or one["value"] <= 0], [])
            line = self.line(bench("all-gather", "--ranks", "2", "--baseline", DITRON_CACHE_DIR=folder))
        self.assertTrue(line["link_measured"])
        self.assertAlmostEqual(line["link_bytes_per_s"] / found["numbers"]["copy_bandwidth"]["value"], 1, places=4)

    def test_damaged_calibration(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "calibration-emulated-gpu.txt"), "w") as file:
                file.write("copy_latency fast\n")
            result = bench("gemm-rs", "--ranks", "2", "--explain", DITRON_CACHE_DIR=folder)
        self.assertFalse(self.line(result)["explained"]["calibrated"])
        self.assertIn("calibration: 'copy_latency fast': expected a name and a positive number", result.stderr)

    def tuned(self, folder, kernel, *arguments):
        """What tune finds on two ranks, and that run takes it."""
        variables = {**ENVIRONMENT, "EMULATED_GPUS": "2", "DITRON_CACHE_DIR": folder}
        common = [kernel, "--backend", "nvidia", "--ranks", "2", "--dtype", "bf16", "--shape", shape(kernel), "--json"]
        found, taken = (subprocess.run([DITRON, *command, *common], capture_output=True, text=True, timeout=600, env=variables)
                        for command in (["tune", "--budget", "600", *arguments], ["run"]))
        self.assertEqual((found.returncode, taken.returncode), (0, 0), found.stderr + taken.stderr)
        found = json.loads(found.stdout)
        self.assertTrue(found["kept"])
        self.assertEqual(json.loads(taken.stdout)["config"], found["config"])
        return found

    def test_tune(self):
        with tempfile.TemporaryDirectory() as folder:
            fixed = "rows=2,columns=4,senders=0,warps=4,stages=1,ctas-per-sm=1"
            found = self.tuned(folder, "reduce-scatter", "--config", fixed)
            self.assertTrue(found["complete"])
            self.assertGreaterEqual(found["trials"], 3)  # cores by packets, by signals, copy engines; the best of them varied
            self.assertGreaterEqual(found["speedup"], 1)
            batches = self.tuned(folder, "reduce-scatter", "--config", fixed + ",engine=cores,protocol=simple,stagger=no")
            self.assertEqual((batches["complete"], batches["trials"]), (True, 3))
            one = self.tuned(folder, "gemm-rs", "--config", "engine=copy,chunks=1", "--trials", "1")
            self.assertIn("engine=copy,chunks=1,", one["config"])


if __name__ == "__main__":
    unittest.main()
