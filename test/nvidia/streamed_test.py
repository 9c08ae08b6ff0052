#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products by rows of weights that stream, sliced over tensor cores, on the emulated driver: each number of rows x, both
tiles of long rows, ragged shapes.

usage: streamed_test.py DITRON FOLDER_OF_LIBCUDA
"""
import os
import subprocess
import sys
import unittest

FOLDER, DITRON = (sys.argv.pop() for _ in range(2))
ROWS = (1, 2, 3, 4, 5, 8)


class Streamed(unittest.TestCase):
    def verify(self, rows, N, K, config, dtype="bf16"):
        self.multiply("gemv", rows, f"N={N},K={K}", config, dtype)

    def multiply(self, kernel, rows, shape, config, dtype="bf16"):
        with self.subTest(kernel=kernel, rows=rows, shape=shape, config=config, dtype=dtype):
            taken = 1 << (rows - 1).bit_length()  # rows of a tile
            command = [DITRON, "run", kernel, "--dtype", dtype, "--shape", f"B={rows},{shape}", "--backend", "nvidia",
                       "--config", f"rows=long,by=tiles,m={taken},{config}"]
            environment = {**os.environ, "LD_LIBRARY_PATH": FOLDER, "DITRON_CACHE": "0"}
            result = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_sixteen_rows_of_weights(self):
        for rows in ROWS:
            self.verify(rows, 37, 2600, "n=16,k=1024")

    def test_eight_rows_of_weights(self):
        for rows in ROWS[:4]:
            self.verify(rows, 37, 5000, "n=8,k=2048")

    def test_blocks(self):
        for rows in ROWS:
            self.multiply("blocked-gemv", rows, "J=5,G=67", "n=16,k=1024")
        self.multiply("blocked-gemv", 2, "J=5,G=67", "n=8,k=2048,gated=halves")

    def test_blocks_with_scales(self):
        for rows in ROWS:
            self.multiply("blocked-gemv", rows, "J=5,G=67", "n=16,k=1024,blocks=q8-0")
        self.multiply("blocked-gemv", 2, "J=5,G=67", "n=8,k=2048,blocks=q8-0,gated=halves")
        self.multiply("blocked-gemv", 1, "J=5,G=3", "n=8,k=256,blocks=q8-0,together=2", "f16")

    def test_gates(self):
        self.verify(1, 37, 5000, "n=8,k=2048,gated=halves")
        self.verify(4, 21, 2056, "n=16,k=1024,gated=halves", "f16")


if __name__ == "__main__":
    unittest.main()
