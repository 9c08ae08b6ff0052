#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times kernels of ditron in turn with PyTorch's, on one GPU, and verifies both in the same run.

    python3 against_torch.py attention [--ditron PROGRAM] [--lengths 1024,4096,16384] [--causal no,yes] [--d 128]
    python3 against_torch.py grouped   [--ditron PROGRAM] [--rows 49152] [--groups 64] [--n 1408] [--k 2048]

attention: flash-attention forward in bf16 over packed sequences of one length, beside the flash and cuDNN backends of
scaled_dot_product_attention, of which the faster counts. grouped: grouped-gemm in bf16 with uneven groups, beside a
product of as many rows with one matrix. Results are compared with PyTorch's in f32. One line of JSON a case: medians in
seconds, TFLOP/s, and the ratio of the peer's time to ditron's (above 1 is faster). --config and --ptx choose ditron's
variant: a configuration of the kernel, or a file of PTX that `ditron compile --emit asm` wrote. Needs torch and the CUDA driver.
"""
import argparse
import ctypes
import json
import math
import statistics
import subprocess
import sys
import tempfile

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

driver = ctypes.CDLL("libcuda.so.1")


def check(status, what):
    if status:
        raise RuntimeError(f"{what}: CUDA error {status}")


class Program:
    """A kernel from its PTX, launched on PyTorch's stream."""

    def __init__(self, ptx):
        self.info = json.loads(ptx.split("\n", 1)[0].removeprefix("// ditron "))
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(driver.cuModuleLoadData(ctypes.byref(module), ptx.encode() + b"\0"), "cuModuleLoadData")
        check(driver.cuModuleGetFunction(ctypes.byref(self.function), module, b"ditron_kernel"), "cuModuleGetFunction")
        shared = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(driver.cuFuncSetAttribute(self.function, shared, self.info["shared_bytes"]), "cuFuncSetAttribute")
        self.status = torch.zeros(32, dtype=torch.int64, device="cuda")
        cores = ctypes.c_int()
        check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            ctypes.byref(cores), self.function, self.info["threads"], ctypes.c_size_t(self.info["shared_bytes"])), "occupancy")
        self.cores = cores.value * torch.cuda.get_device_properties(0).multi_processor_count

    def bind(self, *arguments):
        """A function that launches with these tensors and floats."""
        values = []
        for argument in arguments:
            if isinstance(argument, float):
                values.append(ctypes.c_float(argument))
                continue
            values.append(ctypes.c_uint64(argument.data_ptr()))
            values += [ctypes.c_int64(n) for n in (*argument.shape, *argument.stride())]
        values.append(ctypes.c_uint64(self.status.data_ptr()))
        values += [tensor_map(arguments[m["argument"]], m["box"]) for m in self.info["tensor_maps"]]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])

        def launch():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            check(driver.cuLaunchKernel(self.function, self.cores, 1, 1, self.info["threads"], 1, 1,
                                        self.info["shared_bytes"], stream, pointers, None), "cuLaunchKernel")

        launch.keep = (values, arguments)
        return launch

    def failed(self):
        words = self.status.tolist()
        return self.info["requirements"][words[1]]["message"] if words[0] else None


def tensor_map(tensor, box):
    memory = ctypes.create_string_buffer(128 + 64)
    start = -ctypes.addressof(memory) % 64
    result = (ctypes.c_char * 128).from_buffer(memory, start)
    result.memory = memory
    rank = tensor.dim()
    extents = (ctypes.c_uint64 * rank)(*reversed(tensor.shape))
    strides = (ctypes.c_uint64 * rank)(*[n * tensor.element_size() for n in reversed(tensor.stride()[:-1])], 0)
    boxes, steps = (ctypes.c_uint32 * rank)(*reversed(box)), (ctypes.c_uint32 * rank)(*[1] * rank)
    halves, swizzle128, promote256 = 1, 3, 3
    check(driver.cuTensorMapEncodeTiled(result, halves, rank, ctypes.c_void_p(tensor.data_ptr()), extents, strides, boxes,
                                        steps, 0, swizzle128, promote256, 0), "cuTensorMapEncodeTiled")
    return result


def compile(options, kernel, shape, config):
    if options.ptx:
        return Program(open(options.ptx).read())
    with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
        chosen = [text for text in (options.config, config) if text]
        subprocess.run([options.ditron, "compile", kernel, "--target", "sm_90a", "--dtype", "bf16", "--shape", shape, "--emit",
                        "asm", "-o", file.name, *(["--config", ",".join(chosen)] if chosen else [])],
                       check=True, capture_output=True, text=True)
        return Program(open(file.name).read())


def medians(contenders, rounds):
    """Seconds of each, taking turns; several launches at a time where they are short."""
    counts = {}
    for name, run in contenders.items():
        for _ in range(3):
            run()
        counts[name] = max(1, min(20, int(0.004 / timed(run, 1))))
    times = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            times[name].append(timed(run, counts[name]))
    return {name: statistics.median(all_) for name, all_ in times.items()}


def timed(run, count):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(count):
        run()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1000 / count


def report(case, times, flops, error, tolerance, failure):
    peers = {name: time for name, time in times.items() if name != "ditron"}
    best = min(peers, key=peers.get)
    line = {**case, "ok": failure is None and error <= tolerance, "error": error, "median_s": times["ditron"],
            "tflops": round(flops / times["ditron"] / 1e12, 1),
            "peers_tflops": {name: round(flops / time / 1e12, 1) for name, time in peers.items()}, "best": best,
            "ratio": round(peers[best] / times["ditron"], 3)}
    print(json.dumps({**line, "failure": failure} if failure else line), flush=True)
    return line["ok"]


def attention(options, length, causal):
    sequences, heads, d = options.tokens // length, options.heads, options.d
    q, k, v = (torch.randn(options.tokens, n, d, device="cuda", dtype=torch.bfloat16)
               for n in (heads, options.key_heads, options.key_heads))
    o = torch.full_like(q, math.nan)
    starts = torch.arange(0, options.tokens + 1, length, device="cuda", dtype=torch.int32)
    shape = f"T={options.tokens},S={options.tokens},N={heads},G={options.key_heads},D={d},B={sequences}"
    program = compile(options, "flash-attention", shape, "causal=yes" if causal else "")
    scale = d ** -0.5
    launch = program.bind(q, k, v, starts, starts, scale, o)
    launch()
    torch.cuda.synchronize()
    batched = [x.view(sequences, length, -1, d).transpose(1, 2) for x in (q, k, v)]

    def peer(backend, operands):
        def run():
            with sdpa_kernel(backend):
                torch.nn.functional.scaled_dot_product_attention(*operands, is_causal=causal, scale=scale,
                                                                 enable_gqa=options.key_heads != heads)
        return run

    contenders = {"ditron": launch}
    packed = [x.contiguous() for x in batched]
    for name, backend in (("cudnn", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)):
        for layout, operands in (("", batched), ("-heads-first", packed)):
            try:
                peer(backend, operands)()
                contenders[name + layout] = peer(backend, operands)
            except RuntimeError as error:
                print(f"{name}{layout}: {str(error).splitlines()[0]}", file=sys.stderr)
    times = medians(contenders, options.rounds)
    error = max(attention_error(q, k, v, o, length, head, causal, scale) for head in {0, heads // 2, heads - 1})
    flops = 4 * sequences * heads * length * length * d * (0.5 if causal else 1)
    case = {"kernel": "flash-attention", "shape": shape, "causal": causal}
    return report(case, times, flops, error, 0.02, program.failed())


def attention_error(q, k, v, o, length, head, causal, scale):
    """The largest error of a head's first and last sequences, relative to the largest value."""
    worst = 0.0
    key_head = head * k.shape[1] // q.shape[1]
    for first in {0, q.shape[0] - length}:
        part = slice(first, first + length)
        a, b, c = q[part, head].float(), k[part, key_head].float(), v[part, key_head].float()
        for row in range(0, length, 2048):
            scores = a[row:row + 2048] @ b.T * scale
            if causal:
                rows = torch.arange(row, row + len(scores), device="cuda")
                scores.masked_fill_(torch.arange(length, device="cuda") > rows[:, None], -math.inf)
            expected = scores.softmax(1) @ c
            found = o[part, head][row:row + 2048].float()
            gap = ((found - expected).abs().max() / expected.abs().max()).item()
            worst = max(worst, gap if math.isfinite(gap) else math.inf)
    return worst


def grouped(options):
    rows, groups, n, k = options.rows, options.groups, options.n, options.k
    generator = torch.Generator().manual_seed(1)
    share = torch.rand(groups, generator=generator) ** 2 + 0.02
    ends = (share.cumsum(0) / share.sum() * rows).round().long()
    counts = torch.diff(ends, prepend=torch.zeros(1, dtype=torch.long)).to(torch.int32).cuda()
    a = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(groups, n, k, device="cuda", dtype=torch.bfloat16)
    c = torch.full((rows, n), math.nan, device="cuda", dtype=torch.bfloat16)
    shape = f"T={rows},G={groups},N={n},K={k}"
    program = compile(options, "grouped-gemm", shape, "")
    launch = program.bind(a, w, counts, c)
    launch()
    torch.cuda.synchronize()
    dense = torch.empty_like(c)
    contenders = {"ditron": launch, "dense": lambda: torch.matmul(a, w[0].T, out=dense)}
    times = medians(contenders, options.rounds)
    error, first = 0.0, 0
    for group, count in enumerate(counts.tolist()):
        if count:
            expected = a[first:first + count].float() @ w[group].float().T
            gap = ((c[first:first + count].float() - expected).abs().max() / expected.abs().max()).item()
            error = max(error, gap if math.isfinite(gap) else math.inf)
        first += count
    case = {"kernel": "grouped-gemm", "shape": shape, "largest": int(counts.max()), "smallest": int(counts.min())}
    return report(case, times, 2 * rows * n * k, error, 0.02, program.failed())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", choices=["attention", "grouped"])
    parser.add_argument("--ditron", default="ditron")
    parser.add_argument("--ptx")
    parser.add_argument("--config", default="")
    parser.add_argument("--rounds", type=int, default=15)
    for name, value in (("tokens", 16384), ("heads", 32), ("key-heads", 32), ("d", 128), ("rows", 49152), ("groups", 64),
                        ("n", 1408), ("k", 2048)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lengths", default="1024,4096,16384")
    parser.add_argument("--causal", default="no,yes")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.zeros(1, device="cuda")
    if options.kernel == "grouped":
        return 0 if grouped(options) else 1
    cases = [(int(length), causal == "yes") for causal in options.causal.split(",") for length in options.lengths.split(",")]
    return 0 if all([attention(options, *case) for case in cases]) else 1


if __name__ == "__main__":
    sys.exit(main())
