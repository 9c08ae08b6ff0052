#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of several ranks along an axis of a mesh, on the emulated driver: each way to move data, each line of ranks by itself.

usage: teams_test.py DITRON FOLDER_OF_LIBCUDA
"""
import json
import os
import subprocess
import sys
import unittest

FOLDER, DITRON = (sys.argv.pop() for _ in range(2))
TRANSFERS = ("engine=cores,protocol=simple", "engine=cores,protocol=ll", "engine=copy,chunks=2")
PRODUCTS = ("engine=cores", "engine=copy", "engine=direct", "form=placed,engine=copy")
CONFIGS = {**{kernel: TRANSFERS for kernel in ("all-gather", "reduce-scatter", "broadcast", "send-recv", "dense-all-to-all")},
           "all-reduce": tuple(f"{one},shots={shots}" for one in TRANSFERS for shots in ("one", "two")),
           "all-to-all": ("",), "expert-gemm": ("comm=0", "comm=2"), "ring-attention": ("engine=cores", "engine=copy", "engine=copy,way=direct"),
           **{kernel: PRODUCTS for kernel in ("ag-gemm", "gemm-rs", "gemm-ar")}}
SHAPES = {"all-to-all": "T=5,H=7", "expert-gemm": "T=9,G=2,N=5,K=6", "ring-attention": "T=9,S=9,N=2,G=1,D=8,B=1"}


class Teams(unittest.TestCase):
    def verify(self, kernel, config, mesh, axis, ranks):
        environment = {**os.environ, "LD_LIBRARY_PATH": FOLDER, "DITRON_BACKEND": "nvidia", "EMULATED_GPUS": str(ranks)}
        shape = SHAPES.get(kernel, "M=5,N=7,K=6" if "gemm" in kernel else "M=5,N=7")
        command = [DITRON, "run", kernel, "--json", "--ranks", str(ranks), "--mesh", mesh, "--axis", axis, "--shape", shape,
                   "--repeat", "2", *(["--config", config] if config else [])]
        with self.subTest(kernel=kernel, config=config, mesh=mesh, axis=axis):
            result = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            line = json.loads(result.stdout)
            self.assertEqual((line["ok"], line["axis"], line["coverage"]), (True, axis, "full"))

    def test_every_way(self):
        for kernel, configs in CONFIGS.items():
            for config in configs:
                self.verify(kernel, config, "row=2,col=2", "row", 4)

    def test_teams_of_three(self):
        for kernel in ("all-reduce", "gemm-rs"):
            self.verify(kernel, "", "row=2,col=3", "col", 6)


if __name__ == "__main__":
    unittest.main()
