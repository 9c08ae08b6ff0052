#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ditron run` verifies every kernel of the library on every number of ranks, by every transport.

usage: every_kernel_test.py DITRON PART PARTS, which takes each PARTS-th kernel from the PART-th on
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PARTS, PART, DITRON = int(sys.argv.pop()), int(sys.argv.pop()), sys.argv.pop()

# Of the rows, and of the other dimensions: one, odd, prime, ragged.
REFERENCE_SIZES = ((1, 1), (7, 7), (31, 13))
CPU_SIZES = ((1, 1), (7, 7), (61, 61), (997, 67))


def jsonLines(*arguments):
    result = subprocess.run([DITRON, *arguments, "--json"], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        raise AssertionError(f"ditron {' '.join(arguments)}: {result.returncode}\n{result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines()]


# Their tensors have all dimensions at once: 67 in each would be gigabytes.
OF_FOUR_DIMENSIONS = {"decode-attention", "combine-attention", "cache-append", "paged-append", "paged-attention"}
# Of many rows they have fewer heads, sequences or matrices, which are independent of one another: more of their results are
# compared in the time that a verification takes.
INDEPENDENT, MANY_ROWS = {"flash-attention": "BGN", "ring-attention": "BGN", "rope": "N", "batched-gemm": "B",
                          "packed-gemv": "B", "blocked-gemv": "B"}, 100


def shapeOf(kernel, rows, others):
    dims = kernel["dims"]
    if kernel["name"] in OF_FOUR_DIMENSIONS:
        others = min(others, 7)
    leading = next(dim for dim in ("M", "T", "S", "N", "J", "V", "P") if dim in dims)
    sizes = {dim: rows if dim == leading else others for dim in dims}
    if rows > MANY_ROWS:
        sizes |= {dim: min(others, 7) for dim in INDEPENDENT.get(kernel["name"], "")}
    if "L" in dims:  # a cache in pages: enough of them, and places for all rows
        sizes |= {"P": others * others, "T": min(rows, others**3)}
    return ",".join(f"{dim}={size}" for dim, size in sizes.items())


class EveryKernel(unittest.TestCase):
    def testIsVerified(self):
        with tempfile.TemporaryDirectory() as cache:
            os.environ["DITRON_CACHE_DIR"] = cache
            kernels = jsonLines("list")[PART::PARTS]
            self.assertTrue(kernels)
            for kernel in kernels:
                for ranks in (1, 2, 3, 4, 8):
                    self.verify(kernel, ranks)

    def verify(self, kernel, ranks):
        for place in (["--backend", "reference"], ["--transport", "threads"], ["--transport", "processes"]):
            sizes = REFERENCE_SIZES if "reference" in place else CPU_SIZES
            shapes = [part for size in sizes for part in ("--shape", shapeOf(kernel, *size))]
            with self.subTest(kernel=kernel["name"], ranks=ranks, place=place[1]):
                lines = jsonLines("run", kernel["name"], "--ranks", str(ranks), "--cores", "2", *place, *shapes)
                self.assertEqual(len(lines), len(sizes))
                self.assertTrue(all(line["ok"] for line in lines))


if __name__ == "__main__":
    unittest.main()
