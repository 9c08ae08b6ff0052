#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of ditron beside PyTorch's (cuBLAS) on one GPU, in one process, alternating, results verified.

    python3 products.py [--program bin/ditron] [--rounds N] [--save FOLDER] CASE...

A case is KERNEL:DTYPE:M,N,K and configurations of the kernel, each behind another colon; without any, the one that
ditron chooses. `gemm:bf16:8192,2752,4096:m=128,n=256:` times two. gemm takes B as weights (N x K).

Kernels and PyTorch's product are recorded in CUDA graphs of several launches, of which rounds take one after another in
random order; a line gives medians, the ratio of speeds (above 1: ditron is faster) and the largest error, in units
of the root of the mean square of a product in f32.
"""
import argparse
import random
import sys
from concurrent.futures import ThreadPoolExecutor

try:
    import torch
except ImportError as problem:
    sys.exit(f"products.py times PyTorch, which Python does not find: {problem}")

import saved_lines
import torch_programs as programs

DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "i8": torch.int8,
          "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
RESULTS = {"i8": torch.int32, "f8e4m3": torch.bfloat16, "f8e5m2": torch.bfloat16}
CACHE_BYTES = 512e6  # operands of fewer bytes come in three copies, which launches take in turn


def random_rows(dtype, rows, columns):
    if dtype == "i8":
        return torch.randint(-8, 9, (rows, columns), device="cuda", dtype=torch.int8)
    return (torch.rand(rows, columns, device="cuda") * 2 - 1).to(DTYPES[dtype])


def library(dtype, a, b, out, scales):
    if dtype.startswith("f8"):
        torch._scaled_mm(a, b.t(), scale_a=scales[0], scale_b=scales[1], out_dtype=torch.bfloat16, out=out, use_fast_accum=False)
    elif dtype == "i8":
        torch._int_mm(a, b.t(), out=out)
    else:
        torch.matmul(a, b.t(), out=out)


class Product:
    """The operands of a case, and what is to come out."""

    def __init__(self, kernel, dtype, m, n, k):
        self.kernel, self.dtype, self.shape = kernel, dtype, {"M": m, "N": n, "K": k}
        copies = 3 if n * k * DTYPES[dtype].itemsize < CACHE_BYTES else 1
        self.a, self.weights = random_rows(dtype, m, k), [random_rows(dtype, n, k) for _ in range(copies)]
        self.scales = [torch.tensor([0.5], device="cuda"), torch.tensor([0.25], device="cuda")]
        self.out = torch.empty(m, n, device="cuda", dtype=RESULTS.get(dtype, DTYPES[dtype]))
        torch.backends.cuda.matmul.allow_tf32 = False
        product = torch.matmul(self.a.float(), self.weights[0].float().t())
        self.expected = product * (0.125 if kernel == "fp8-gemm" else 1)
        torch.backends.cuda.matmul.allow_tf32 = True
        self.unit = self.expected.square().mean().sqrt()
        self.tolerance = 2e-6 if dtype == "i8" else 3e-2 if self.out.dtype != torch.float32 else 3e-3

    def bind(self, program):
        """work(n) with the n-th copy of the weights, and its result."""
        mine = torch.full_like(self.out, 77)
        extra = self.scales if self.kernel == "fp8-gemm" else []
        launches = [program.bind(self.a, one, *extra, mine) for one in self.weights]
        return (lambda n: launches[n % len(launches)]()), mine

    def error(self, result):
        gap = float((result.float() - self.expected).abs().max() / self.unit)
        return gap if gap == gap else float("inf")

    def baseline(self, n):
        scales = [scale.reshape(()) for scale in self.scales]
        library(self.dtype, self.a, self.weights[n % len(self.weights)], self.out, scales)


def run_case(options, pool, text):
    kernel, dtype, extents, *configs = text.split(":")
    product = Product(kernel, dtype, *(int(n) for n in extents.split(",")))
    configs = [",".join((["transB=yes"] if kernel == "gemm" else []) + ([config] if config else [])) for config in configs or [""]]
    compiling = [pool.submit(programs.compiled, options.program, kernel, dtype, product.shape, config) for config in configs]
    contenders, errors, loaded = {}, {}, {}
    if dtype == "f8e5m2":
        print("  the library multiplies no f8e5m2 by f8e5m2")
    else:
        contenders["library"] = product.baseline
    for config, ptx in zip(configs, compiling):
        try:
            loaded[config] = programs.Program(ptx.result())
        except RuntimeError as problem:
            print(f"  {config}: {str(problem)[:300]}")
            continue
        work, mine = product.bind(loaded[config])
        work(0)
        torch.cuda.synchronize()
        errors[config] = product.error(mine)
        contenders[config] = work
    m, n, k = product.shape.values()
    launches = max(1, min(20, int(2e-3 / (2 * m * n * k / 600e12 + 30e-6))))
    times = programs.medians(contenders, options.rounds, launches)
    results = [programs.line(options.program, kernel, dtype, product.shape, config, 2 * m * n * k, times[config], "cuBLAS",
                             times.get("library"), errors[config], product.tolerance, loaded[config].failure())
               for config in errors]
    for result in results:
        programs.show(result)
        if options.save:
            saved_lines.append(result, options.save)
    return bool(results) and all(result["ok"] for result in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--program", default=programs.beside())
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--save", default="")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        return 77
    torch.manual_seed(random.randrange(1 << 30))
    with ThreadPoolExecutor(8) as pool:
        return 0 if all([run_case(options, pool, case) for case in options.cases]) else 1


if __name__ == "__main__":
    sys.exit(main())
