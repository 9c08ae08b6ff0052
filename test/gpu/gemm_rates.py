#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of ditron beside PyTorch's (cuBLAS) on one GPU, in one process, in turn, results verified.

    python3 gemm_rates.py DITRON [--rounds N] CASE...

A case is KERNEL:DTYPE:M,N,K and configurations of the kernel, each behind another colon; without any, the one that
ditron chooses. `gemm:bf16:8192,2752,4096:m=128,n=256:` times two. gemm takes B as weights (N x K).

Each kernel is compiled by `ditron compile`, loaded by the driver and recorded in a CUDA graph of several launches, as
PyTorch's product is. Rounds take the graphs in random order; a line gives medians, the ratio of speeds (above 1:
ditron is faster) and the largest error, in units of the root of the mean square of a product in f32.
"""
import argparse
import ctypes
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import torch

CUDA = ctypes.CDLL("libcuda.so.1")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "i8": torch.int8,
          "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
RESULTS = {"i8": torch.int32, "f8e4m3": torch.bfloat16, "f8e5m2": torch.bfloat16}


def check(status, call):
    if status:
        text = ctypes.c_char_p()
        CUDA.cuGetErrorString(status, ctypes.byref(text))
        raise RuntimeError(f"{call}: {(text.value or b'?').decode()}")


def tensor_map(tensor, box, rounds, swizzle):
    """What cuTensorMapEncodeTiled makes: 128 bytes at a multiple of 64."""
    kinds = {1: 0, 2: 1, 4: 11 if rounds else 2}
    memory = ctypes.create_string_buffer(256)
    place = (ctypes.addressof(memory) + 63) // 64 * 64
    extents = (ctypes.c_uint64 * 2)(tensor.shape[1], tensor.shape[0])
    strides = (ctypes.c_uint64 * 1)(tensor.stride(0) * tensor.element_size())
    boxes, steps = (ctypes.c_uint32 * 2)(box[1], box[0]), (ctypes.c_uint32 * 2)(1, 1)
    check(CUDA.cuTensorMapEncodeTiled(ctypes.c_void_p(place), kinds[tensor.element_size()], 2,
                                      ctypes.c_void_p(tensor.data_ptr()), extents, strides, boxes, steps, 0, swizzle, 3, 0),
          "cuTensorMapEncodeTiled")
    return memory, place


class Attribute(ctypes.Structure):
    """CUlaunchAttribute: a number, and 64 bytes of value."""
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint32 * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]


class Kernel:
    """A kernel's PTX, loaded."""

    def __init__(self, ptx):
        self.info = json.loads(ptx.split("\n", 1)[0].removeprefix("// ditron "))
        module = ctypes.c_void_p()
        self.function = ctypes.c_void_p()
        check(CUDA.cuModuleLoadData(ctypes.byref(module), ptx.encode()), "cuModuleLoadData")
        check(CUDA.cuModuleGetFunction(ctypes.byref(self.function), module, b"ditron_kernel"), "cuModuleGetFunction")
        check(CUDA.cuFuncSetAttribute(self.function, 8, self.info["shared_bytes"]), "cuFuncSetAttribute")
        blocks = ctypes.c_int()
        check(CUDA.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(blocks), self.function, self.info["threads"],
                                                               ctypes.c_size_t(self.info["shared_bytes"])), "occupancy")
        self.cluster = self.info.get("cluster", 1)
        self.cores = blocks.value * torch.cuda.get_device_properties(0).multi_processor_count
        self.cores = self.cores // self.cluster * self.cluster
        if self.cluster > 1:
            clusters, attribute = ctypes.c_int(), self.attribute()
            config = self.config(attribute, None)
            check(CUDA.cuOccupancyMaxActiveClusters(ctypes.byref(clusters), self.function, ctypes.byref(config)), "clusters")
            self.cores = clusters.value * self.cluster

    def attribute(self):
        attribute = (Attribute * 1)()
        attribute[0].id = 4  # the dimensions of a cluster
        attribute[0].value[0:3] = [self.cluster, 1, 1]
        return attribute

    def config(self, attribute, stream):
        return LaunchConfig((self.cores, 1, 1), (self.info["threads"], 1, 1), self.info["shared_bytes"], stream,
                            ctypes.cast(attribute, ctypes.POINTER(Attribute)), 1 if self.cluster > 1 else 0)

    def launch(self, tensors, status, stream):
        """Launches with these tensors; what must outlive the launch is kept here."""
        words = []
        for tensor in tensors:
            words += [tensor.data_ptr(), *tensor.shape, *tensor.stride()]
        words.append(status.data_ptr())
        values = [ctypes.c_int64(word) for word in words]
        pointers = [ctypes.addressof(value) for value in values]
        maps = [tensor_map(tensors[one["argument"]], one["box"], one["tf32"], 0 if one.get("plain") else 3)
                for one in self.info["tensor_maps"]]
        pointers += [place for _, place in maps]
        parameters = (ctypes.c_void_p * len(pointers))(*pointers)
        attribute = self.attribute()
        config = self.config(attribute, stream)
        check(CUDA.cuLaunchKernelEx(ctypes.byref(config), self.function, parameters, None), "cuLaunchKernelEx")


def compile_kernel(program, kernel, dtype, shape, config):
    M, N, K = shape
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "k.ptx")
        chosen = (["weights=yes"] if kernel == "gemm" else []) + ([config] if config else [])
        done = subprocess.run([program, "compile", kernel, "--target", "sm_90a", "--dtype", dtype, "--shape", f"M={M},N={N},K={K}",
                               *(["--config", ",".join(chosen)] if chosen else []), "--emit", "asm", "-o", path],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        with open(path) as file:
            return file.read()


def inputs_of(dtype, M, N, K, copies):
    def one(rows):
        if dtype == "i8":
            return torch.randint(-8, 9, (rows, K), device="cuda", dtype=torch.int8)
        return (torch.rand(rows, K, device="cuda") * 2 - 1).to(DTYPES[dtype])
    return one(M), [one(N) for _ in range(copies)]


def library(kernel, dtype, a, b, out, scales):
    if dtype.startswith("f8"):
        torch._scaled_mm(a, b.t(), scale_a=scales[0], scale_b=scales[1], out_dtype=torch.bfloat16, out=out,
                         use_fast_accum=os.environ.get("FAST_ACCUM", "0") == "1")
    elif dtype == "i8":
        out.copy_(torch._int_mm(a, b.t())) if a.shape[0] < 17 else torch._int_mm(a, b.t(), out=out)
    else:
        torch.matmul(a, b.t(), out=out)


def graph_of(work, launches):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work(0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for n in range(launches):
                work(n)
    return graph


def timed(graph):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def run_case(program, rounds, pool, text):
    kernel, dtype, shape, *configs = text.split(":")
    M, N, K = (int(n) for n in shape.split(","))
    configs = configs or [""]
    compiled = [pool.submit(compile_kernel, program, kernel, dtype, (M, N, K), config) for config in configs]
    torch.manual_seed(random.randrange(1 << 30))
    small = N * K * DTYPES[dtype].itemsize < 512e6
    a, weights = inputs_of(dtype, M, N, K, 3 if small else 1)
    scales = [torch.tensor([0.5], device="cuda"), torch.tensor([0.25], device="cuda")]
    status = torch.zeros(32, dtype=torch.int64, device="cuda")
    out = torch.empty(M, N, device="cuda", dtype=RESULTS.get(dtype, DTYPES[dtype]))
    torch.backends.cuda.matmul.allow_tf32 = False
    expected = torch.matmul(a.float(), weights[0].float().t()) * (0.125 if kernel == "fp8-gemm" else 1)
    torch.backends.cuda.matmul.allow_tf32 = True
    unit = expected.square().mean().sqrt()
    launches = max(1, min(20, int(2e-3 / (2 * M * N * K / 600e12 + 30e-6))))
    graphs, results = {}, {}
    if dtype.startswith("f8e5m2"):
        print("  the library multiplies no f8e5m2 by f8e5m2")
    else:
        scale_of_all = [s.reshape(()) for s in scales]
        graphs["library"] = graph_of(lambda n: library(kernel, dtype, a, weights[n % len(weights)], out, scale_of_all), launches)
    kept = []
    for config, future in zip(configs, compiled):
        try:
            one = Kernel(future.result())
        except RuntimeError as error:
            print(f"  {config}: {str(error).strip()[:300]}")
            continue
        mine = torch.full_like(out, 77)
        extra = scales if kernel == "fp8-gemm" else []

        def work(n, one=one, mine=mine):
            one.launch([a, weights[n % len(weights)], *extra, mine], status, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        try:
            work(0)
            torch.cuda.synchronize()
            error = float(((mine.float() - expected).abs().max() / unit))
            bound = 2e-6 if dtype == "i8" else 3e-2 if out.dtype != torch.float32 else 3e-3
            if not error <= bound:
                print(f"  {config}: WRONG, error {error:.3g}")
                continue
            results[config] = error
            graphs[config] = graph_of(work, launches)
            kept.append((one, mine))
        except RuntimeError as problem:
            print(f"  {config}: {problem}")
            raise
    times = {name: [] for name in graphs}
    for graph in graphs.values():
        timed(graph)
    names = list(graphs)
    for _ in range(rounds):
        random.shuffle(names)
        for name in names:
            times[name].append(timed(graphs[name]) / launches)
    base = statistics.median(times["library"]) if "library" in times else None
    flops = 2 * M * N * K
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        ratio = f" {base / middle:.3f}" if base and name != "library" else ""
        error = f" error {results[name]:.2g}" if name in results else ""
        print(f"{kernel} {dtype} {M}x{N}x{K} {name or '(default)'}: {middle * 1e6:.1f} us {flops / middle * 1e-12:.0f} TFLOP/s{ratio}{error}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    torch.zeros(1, device="cuda")
    print(torch.cuda.get_device_name(), torch.__version__)
    with ThreadPoolExecutor(8) as pool:
        for case in arguments.cases:
            try:
                run_case(arguments.program, arguments.rounds, pool, case)
            except (RuntimeError, torch.OutOfMemoryError) as problem:
                print(f"{case}: {str(problem)[:400]}")
                if "CUDA" in str(problem) or "illegal" in str(problem):
                    raise
    return 0


if __name__ == "__main__":
    sys.exit(main())
