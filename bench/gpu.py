#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the kernels of one GPU at the shapes of docs/performance.md, and saves the lines that it is made from.

    python3 gpu.py [--program bin/ditron] [--save FOLDER] [--filter REGEX]

Each is timed by `ditron bench --baseline`, in turn with cuBLAS (DITRON_CUBLAS_DIR says where it is) or a copy, and
verified. About three minutes; attention beside PyTorch is bench/attention.py. Fails where a result is wrong.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

# M, N, K of layers of models, and few rows.
LAYERS = [(8192, 2752, 4096), (8192, 3584, 4096), (8192, 7168, 8192), (8192, 13312, 16384), (8192, 7392, 8192),
          (4096, 4096, 4096), (8192, 8192, 8192)]
FEW_ROWS = [(1, 7168, 8192), (16, 7168, 8192), (64, 7168, 8192)]
ROWS = {"softmax": "T=32768,H=4096", "rms-norm": "T=32768,H=4096", "layer-norm": "T=32768,H=4096",
        "rope": "T=16384,N=32,H=64,P=16384", "silu-mul": "T=16384,H=4096", "vector-add": "N=134217728"}
# Longer rows, and some that begin anywhere: as many elements in all.
LENGTHS = ["T=32760,H=4097", "T=16384,H=8192", "T=8192,H=16384", "T=4096,H=32768"]


def cases():
    """Arguments of ditron bench."""
    for dtype in ("bf16", "f32"):
        for kernel, shape in ROWS.items():
            yield [kernel, "--dtype", dtype, "--shape", shape]
        for kernel in ("softmax", "rms-norm", "layer-norm"):
            for shape in LENGTHS:
                yield [kernel, "--dtype", dtype, "--shape", shape]
    for dtype, shapes in (("bf16", LAYERS + FEW_ROWS + [(49152, 1408, 2048)]), ("f16", LAYERS)):
        for m, n, k in shapes:
            yield ["gemm", "--dtype", dtype, "--config", "transB=yes", "--shape", f"M={m},N={n},K={k}"]
    for m, n, k in LAYERS:
        yield ["fp8-gemm", "--dtype", "f8e4m3", "--shape", f"M={m},N={n},K={k}"]
    yield ["grouped-gemm", "--dtype", "bf16", "--shape", "T=49152,G=64,N=1408,K=2048"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    installed = root / "bin" / "ditron"
    parser.add_argument("--program", default=str(installed if installed.exists() else root / "build" / "bin" / "ditron"))
    parser.add_argument("--save", default="")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    info = json.loads(subprocess.run([options.program, "info", "--json"], capture_output=True, text=True).stdout)["nvidia"]
    if not info["available"]:
        print(f"skipped: {info['reason']}")
        return 77
    saving = ["--save", "--save-to", options.save] if options.save else []
    wrong = 0
    for case in cases():
        if not re.search(options.filter, " ".join(case)):
            continue
        result = subprocess.run([options.program, "bench", *case, "--backend", "nvidia", "--baseline", *saving],
                                capture_output=True, text=True)
        wrong += result.returncode != 0
        print((result.stdout + result.stderr).strip(), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
