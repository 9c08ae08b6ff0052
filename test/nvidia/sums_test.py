#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose sums or rows copy engines move, or a warp beside the product, on the emulated driver: packed tiles, the
notifier, CTA pairs, ragged shapes.

usage: sums_test.py DITRON FOLDER_OF_LIBCUDA
"""
import os
import subprocess
import sys
import unittest

FOLDER, DITRON = (sys.argv.pop() for _ in range(2))
FORMS = ("explicit", "placed")
WARPGROUPS = "m=128,n=256,k=64,pairs=rows"  # the tile of large products: warp-specialised, in clusters


class Sums(unittest.TestCase):
    def verify(self, ranks, shape, config, dtype="bf16", repeat=1, **variables):
        """Both kernels in both forms, verified."""
        for kernel in ("gemm-rs", "gemm-ar"):
            for form in FORMS:
                self.run_one(kernel, ranks, shape, f"engine=copy,form={form},{config}", dtype, repeat, **variables)

    def run_one(self, kernel, ranks, shape, config, dtype="bf16", repeat=1, **variables):
        environment = {**os.environ, "LD_LIBRARY_PATH": FOLDER, "DITRON_BACKEND": "nvidia", "DITRON_CACHE": "0", **variables}
        with self.subTest(kernel=kernel, ranks=ranks, shape=shape, config=config):
            command = [DITRON, "run", kernel, "--dtype", dtype, "--ranks", str(ranks), "--shape", shape, "--repeat", str(repeat),
                       "--config", config]
            result = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def send(self, ranks, shape, config, dtype="bf16", repeat=1, rounds=(1, 2)):
        """Both kernels with tiles that a warp sends, verified."""
        config = f"engine=direct,form=placed,{config}"
        self.run_one("gemm-rs", ranks, shape, config, dtype, repeat)
        for number in rounds:
            self.run_one("gemm-ar", ranks, shape, f"{config},rounds={number}", dtype, repeat)

    def test_tiles_that_a_warp_sends(self):
        self.send(2, "M=130,N=264,K=72", WARPGROUPS, repeat=2)
        self.send(3, "M=33,N=48,K=96", "m=64,n=64,k=64,pairs=rows", repeat=2)
        self.send(3, "M=200,N=130,K=64", "m=64,n=64,k=64,pairs=none", rounds=(3, 4))  # more posts than the outbox has slots
        self.send(2, "M=70,N=130,K=96", "m=64,n=128,k=64,partials=accumulator,pairs=columns")

    def test_rows_that_a_warp_sends(self):
        for ranks, shape, config in ((2, "M=130,N=264,K=72", WARPGROUPS), (3, "M=33,N=48,K=96", "m=64,n=64,k=64,pairs=rows"),
                                     (4, "M=7,N=13,K=11", "m=64,n=64,k=64,pairs=none"),
                                     (2, "M=40,N=70,K=4100", "m=64,n=64,k=64,pairs=columns,transB=yes,bias=yes,activation=silu"),
                                     (3, "M=7,N=13,K=11", "m=16,n=32,k=16")):  # without roles
            self.run_one("ag-gemm", ranks, shape, f"engine=cores,form=placed,comm=0,{config}", repeat=2)

    def test_tiles_without_roles(self):
        self.send(3, "M=7,N=13,K=11", "m=16,n=32,k=16", "f32")

    def test_pairs_at_the_edges(self):
        self.verify(2, "M=130,N=264,K=72", WARPGROUPS, repeat=2)

    def test_ranks(self):
        for ranks in (1, 3):
            self.verify(ranks, "M=33,N=48,K=96", "m=64,n=64,k=64,chunks=2,pairs=rows")

    def test_sums_in_f32(self):
        self.verify(2, "M=70,N=130,K=96", "m=64,n=128,k=64,partials=accumulator,pairs=columns")

    def test_epilogues(self):
        self.verify(2, "M=70,N=130,K=96", "m=64,n=64,k=64,transB=yes,bias=yes,residual=yes,activation=silu,scale=yes", "f16")

    def test_without_roles(self):
        self.verify(2, "M=7,N=13,K=11", "m=16,n=32,k=16", "f32")
        self.verify(2, "M=65,N=70,K=64", "m=64,n=64,k=64", DITRON_GPU="sm_80")

    def test_swapped_operands(self):
        self.verify(2, "M=5,N=130,K=130", "m=8,n=64,k=64,transB=yes,pairs=none")


if __name__ == "__main__":
    unittest.main()
