#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ptxas assembles every kernel of one rank for every chip, and small messages and products of several, spills no
register, has no warning about speed, and reads packets as a whole.

    python3 assemble_test.py DITRON [--shard N/COUNT]

The cases are dealt to COUNT shards, and those of shard N (1 to COUNT) are assembled. Without ptxas: exits with 77, which CTest counts as skipped.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import machine_code

SKIPPED = 77
CHIPS = ["sm_90a", "sm_89", "sm_80"]
SHAPES = {("N",): "N=1048576", ("H", "T"): "T=4096,H=4096", ("K", "M", "N"): "M=4096,N=4096,K=4096",
          ("B", "K", "M", "N"): "B=2,M=4096,N=4096,K=4096", ("G", "K", "N", "T"): "T=8192,G=64,N=1408,K=2048",
          ("H", "N", "P", "T"): "T=4096,N=32,H=64,P=4096", ("B", "D", "G", "N", "S", "T"): "T=4096,S=4096,N=32,G=8,D=128,B=4",
          ("B", "K", "N"): "B=8,N=4096,K=4096", ("B", "G", "N"): "B=8,N=4096,G=128", ("B", "G", "J"): "B=8,J=512,G=128", ("G", "T", "V"): "T=64,V=32000,G=128", ("B", "D", "G", "S"): "B=8,G=8,S=512,D=128", ("B", "D", "G", "N", "S"): "B=8,N=32,G=8,S=512,D=128",
          ("B", "D", "N", "P"): "B=8,N=32,P=8,D=128", ("H", "T", "V"): "T=64,V=32000,H=4096", ("B", "V"): "B=8,V=32000",
          ("B", "P"): "B=64,P=38",
          ("B", "D", "G", "L", "P", "S", "T"): "T=8,G=8,D=128,P=128,S=32,B=8,L=16",
          ("B", "D", "G", "L", "N", "P", "S", "T"): "T=8,N=32,G=8,D=128,P=128,S=32,B=8,L=16"}


def assembler():
    usual = "/usr/local/cuda/bin/ptxas"
    return shutil.which("ptxas") or (usual if os.access(usual, os.X_OK) else None)


# Products whose tiles are not those chosen by default.
CONFIGS = ["m=64,n=64", "m=64,n=256", "m=128,n=64", "m=128,n=128,k=128", "m=128,n=176", "m=128,n=192", "m=128,n=256",
           "m=256,n=128", "m=256,n=192"]
# And of weights, at the shapes whose speed is measured (docs/nvidia.md) where none is given.
WEIGHTS = {"bf16": ["m=128,n=256,pairs=rows", "m=256,n=176,pairs=columns", "m=256,n=184", "m=128,n=248", "m=64,n=56", "m=32,n=64,k=128",
                    "m=16,n=64,k=128", "m=8,n=64,k=128", "m=8,n=128,k=64,pairs=columns",
                    "m=64,n=200,ctas-per-sm=2", "m=64,n=56,ctas-per-sm=3", "m=128,n=104,ctas-per-sm=2,pairs=rows"],
           "i8": ["m=128,n=224,k=128"], "f32": ["accuracy=fast,m=128,n=224,k=32"], "f8e5m2": ["accuracy=fast,m=128,n=192,k=128"]}
EPILOGUES = ["bias=yes", "residual=yes", "activation=gelu", "bias=yes,activation=gelu", "scale=yes,bias=yes,activation=silu",
             "scale=yes,bias=yes,activation=silu,residual=yes"]
# What a step of a decoder multiplies.
DECODED = [",rms=yes", ",rms=yes,gated=halves", ",residual=yes", ""]
# The same beside weights that stream through a megakernel.
STREAMED = ["wide=results,rms=started", "gated=halves,rms=started", "wide=results,residual=yes,next=yes"]
# Kernels of whole rows, and lengths of rows that take other tiles and warps than the others.
ROWS, ROW_LENGTHS = ["softmax", "rms-norm", "layer-norm", "silu-mul"], [2560, 5120, 6144, 8192, 12288, 16384, 20480]
# Kernels of several ranks whose time is that of few instructions, and packets that hold the least.
OF_RANKS = [("reduce-scatter", "M=1,N=1"), ("dense-all-to-all", "M=1,N=1"), ("all-reduce", "M=32,N=1024"), ("all-reduce", "M=512,N=1024"), ("all-gather", "M=16,N=1024"),
            ("gemm-ar", "M=32,N=5120,K=6400"), ("gemm-ar", "M=128,N=5120,K=6400")]
MEASURED = [(8192, 2752, 4096), (8192, 3584, 4096), (8192, 7168, 8192), (8192, 13312, 16384), (8192, 7392, 8192), (8192, 8192, 8192),
            (1, 7168, 8192), (16, 7168, 8192), (64, 7168, 8192)]


def cases(program):
    """Every element type on the newest chip, two of them on the others, for any tensors and for aligned ones;
    products in several tiles."""
    for config in CONFIGS:
        yield "gemm", CHIPS[0], "bf16", SHAPES["K", "M", "N"], config
    for dtype, configs in WEIGHTS.items():
        for config in configs:
            yield "gemm", CHIPS[0], dtype, SHAPES["K", "M", "N"], "transB=yes," + config
    for M, N, K in MEASURED:
        yield "gemm", CHIPS[0], "bf16", f"M={M},N={N},K={K}", "transB=yes"
        yield "fp8-gemm", CHIPS[0], "f8e4m3", f"M={M},N={N},K={K}", ""
    for epilogue in EPILOGUES:
        for M, N, K in MEASURED[:2]:
            yield "gemm", CHIPS[0], "bf16", f"M={M},N={N},K={K}", "transB=yes," + epilogue
    for M, N, K in MEASURED[:6]:
        yield "gemm", CHIPS[0], "i8", f"M={M},N={N},K={K}", "transB=yes"
        yield "gemm", CHIPS[0], "f32", f"M={M},N={N},K={K}", "transB=yes,accuracy=fast"
        yield "fp8-gemm", CHIPS[0], "f8e4m3", f"M={M},N={N},K={K}", "scaling=rows"
    for config in DECODED:
        for dtype in ("bf16", "f16"):
            yield "gemv", CHIPS[0], dtype, "B=1,N=12288,K=4096", "wide=exact" + config, "--alignment=16"
        several = ("wide=no" if "gated" in config else "wide=results") + config.replace(",rms=yes", "")
        yield "gemv", CHIPS[0], "bf16", "B=8,N=12288,K=4096", several, "--alignment=16"
    for config in STREAMED:
        for B, N in ((1, 12288), (1, 3072), (8, 3072)): # tiles of 16 rows, of 8, and those that fewer rows take
            yield "gemv", CHIPS[0], "bf16", f"B={B},N={N},K=4096", "rows=long," + config, "--alignment=16"
            yield "blocked-gemv", CHIPS[0], "bf16", f"B={B},J={N // 8},G=128", "rows=long," + config, "--alignment=16"
    for dtype in ("bf16", "f16", "f32"):
        for heads in (128, 64):
            for kernel in ("decode-attention", "paged-attention"):
                dims = "B=1,N=32,G=8,S=8192" if kernel.startswith("decode") else "T=8,N=32,G=8,P=128,S=32,B=8,L=16"
                for readers in (4, 8) if dtype == "f32" else (4,): # as caches are beside weights that stream
                    yield kernel, CHIPS[0], dtype, f"{dims},D={heads}", f"parts=apart,readers={readers}", "--alignment=16"
                if kernel.startswith("paged") and dtype != "f32": # all keys of a head, by one warpgroup
                    yield kernel, CHIPS[0], dtype, f"T=64,N=32,G=8,P=1024,S=64,B=64,L=16,D={heads}", "flat=yes", "--alignment=16"
    for rows in (1, 8, 64, 512):
        for dtype in ("bf16", "f32"):
            yield "argmax", CHIPS[0], dtype, f"B={rows},V=151936", "parts=apart", "--alignment=16"
    yield "grouped-gemm", CHIPS[0], "bf16", "T=49152,G=64,N=1408,K=2048", ""
    for dtype in ("bf16", "f16"):
        for heads in (128, 64):
            shape = SHAPES["B", "D", "G", "N", "S", "T"].replace("D=128", f"D={heads}")
            yield "flash-attention", CHIPS[0], dtype, shape, "causal=yes"
            yield "flash-attention", CHIPS[0], dtype, shape, "causal=yes", "--alignment=16"
            yield "flash-attention", CHIPS[0], dtype, shape, ""
    for kernel in ROWS:
        for H in ROW_LENGTHS:
            for dtype in ("bf16", "f32"):
                yield kernel, CHIPS[0], dtype, f"T=4096,H={H}", "", "--alignment=16"
        for dtype, element in (("bf16", 2), ("f16", 2), ("f32", 4)):
            for H in (4097, 8209):
                yield kernel, CHIPS[0], dtype, f"T=4096,H={H}", "", f"--alignment={element}"
    for kernel, shape in OF_RANKS:
        for ranks in (2, 4, 8):
            yield kernel, CHIPS[0], "bf16", shape, "", "--alignment=16", f"--ranks={ranks}"
    for line in subprocess.run([program, "list", "--json"], capture_output=True, text=True).stdout.splitlines():
        kernel = json.loads(line)
        if kernel["distributed"]:
            continue
        shape = SHAPES[tuple(sorted(kernel["dims"]))]
        for chip in CHIPS:
            for dtype in kernel["dtypes"]:
                if chip == CHIPS[0] or dtype in ("bf16", "f32"):
                    yield kernel["name"], chip, dtype, shape, ""
                    yield kernel["name"], chip, dtype, shape, "", "--alignment=16"


def assemble(program, ptxas, folder, case):
    """What is wrong; nothing if all is well."""
    kernel, chip, dtype, shape, config, *more = case
    ptx = os.path.join(folder, "kernel.ptx")
    chosen = ["--config", config] if config else []
    compiled = subprocess.run([program, "compile", kernel, "--target", chip, "--dtype", dtype, "--shape", shape,
                               *chosen, *more, "--emit", "asm", "-o", ptx], capture_output=True, text=True)
    if compiled.returncode:
        return compiled.stderr
    assembled = subprocess.run([ptxas, f"-arch={chip}", "-v", "-o", os.path.join(folder, "cubin"), ptx],
                               capture_output=True, text=True)
    if assembled.returncode:
        return assembled.stderr
    spilled = [int(n) for n in re.findall(r"(\d+) bytes spill", assembled.stderr)]
    if not spilled or sum(spilled):
        return f"spills: {assembled.stderr}"
    if "Potential Performance Loss" in assembled.stderr:
        return assembled.stderr
    return torn(folder, ptx)


# Words 0 and 3 of a packet by two loads, and all of them by one.
LOADS = {(0, 1): "ld.relaxed.sys.global.u32 a, [p]; ld.relaxed.sys.global.u32 b, [p+12]; st.global.v2.u32 [p+64], {a, b};",
         (1, 0): "ld.relaxed.sys.global.b128 q, [p]; st.global.b128 [p+64], q;"}


def misread(ptxas, folder):
    """What is wrong with the reading of machine code; nothing if it tells these two apart."""
    ptx, cubin = os.path.join(folder, "loads.ptx"), os.path.join(folder, "loads")
    for expected, body in LOADS.items():
        with open(ptx, "w") as file:
            file.write(".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry f(.param .u64 x) {\n"
                       f".reg .b64 p; .reg .b32 a, b; .reg .b128 q; ld.param.u64 p, [x]; {body} ret; }}\n")
        subprocess.run([ptxas, f"-arch={CHIPS[0]}", "-o", cubin, ptx], check=True)
        with open(cubin, "rb") as file:
            if (found := machine_code.packets(file.read())) != expected:
                return f"packets (whole, in pieces) of '{body}': found {found}, expected {expected}"
    return ""


def torn(folder, ptx):
    """Packets that are read in pieces: old data may come with a new flag."""
    with open(ptx) as file:
        has_packets = "ld.relaxed.sys.global.b128" in file.read()
    with open(os.path.join(folder, "cubin"), "rb") as file:
        whole, split = machine_code.packets(file.read())
    return f"packets read as a whole: {whole}, in pieces: {split}" if split or has_packets and not whole else ""


def parseArguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--shard", default="1/1")
    arguments = parser.parse_args()
    number, count = map(int, arguments.shard.split("/"))
    if not 1 <= number <= count:
        parser.error(f"--shard is {arguments.shard}, expected N/COUNT with N from 1 to COUNT")
    return arguments.program, number, count


def main():
    program, shard, shards = parseArguments()
    ptxas = assembler()
    if not ptxas:
        print("skipped: ptxas of CUDA is not found")
        return SKIPPED
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        if problem := misread(ptxas, folder):
            print(problem)
            return 1
        for case in list(dict.fromkeys(cases(program)))[shard - 1::shards]:
            count += 1
            if problem := assemble(program, ptxas, folder, case):
                failures += 1
                print(" ".join(case), "\n   ", problem)
    print(f"{count} assembled, {failures} of them wrong")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
