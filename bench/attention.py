#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times flash-attention forward beside PyTorch's backends (cuDNN, flash), on one GPU, in one process, in turn.

    python3 attention.py [--program bin/ditron] [--lengths 1024,4096,16384] [--causal no,yes] [--config CONFIG]
                         [--dim 128] [--heads 32] [--key-heads 32] [--tokens 16384] [--rounds 15] [--save FOLDER]

Packed sequences of one length in bf16, fresh random data, results compared with PyTorch's in f32. Kernel and baselines are
recorded in CUDA graphs, of which rounds take one after another in random order; the baselines get their operands in both
orders of memory, tokens and heads first, and the fastest counts. The operations of causal attention are half of all.
--save appends a line as `ditron bench --save` does to the file of this GPU in a folder.
"""
import argparse
import math
import random
import sys

try:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as problem:
    sys.exit(f"attention.py times PyTorch, which Python does not find: {problem}")

import saved_lines
import torch_programs as programs

TOLERANCE = 0.02  # of the largest value: the baselines round weights to bf16 as well
ROWS_AT_ONCE = 2048


def baselines(operands, causal, scale, shares):
    """work(n) of each backend and order of memory that has this attention."""
    orders = {"": operands, ", heads first": [x.contiguous() for x in operands]}
    found = {}
    for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("PyTorch flash", SDPBackend.FLASH_ATTENTION)):
        for order, tensors in orders.items():
            def work(n, backend=backend, tensors=tensors):
                with sdpa_kernel(backend):
                    torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal, scale=scale, enable_gqa=shares)
            try:
                work(0)
                found[name + order] = work
            except RuntimeError as error:
                print(f"{name}{order}: {str(error).splitlines()[0]}", file=sys.stderr)
    return found


def error_of(q, k, v, o, length, head, causal, scale):
    """The largest error of a head's first and last sequences, relative to the largest value."""
    worst, key_head = 0.0, head * k.shape[1] // q.shape[1]
    for first in {0, q.shape[0] - length}:
        part = slice(first, first + length)
        a, b, c = q[part, head].float(), k[part, key_head].float(), v[part, key_head].float()
        for row in range(0, length, ROWS_AT_ONCE):
            scores = a[row:row + ROWS_AT_ONCE] @ b.T * scale
            if causal:
                rows = torch.arange(row, row + len(scores), device="cuda")
                scores.masked_fill_(torch.arange(length, device="cuda") > rows[:, None], -math.inf)
            expected = scores.softmax(1) @ c
            found = o[part, head][row:row + ROWS_AT_ONCE].float()
            gap = ((found - expected).abs().max() / expected.abs().max()).item()
            worst = max(worst, gap if math.isfinite(gap) else math.inf)
    return worst


def compare(options, length, causal):
    tokens, heads, shared, dim = options.tokens, options.heads, options.key_heads, options.dim
    sequences, scale = tokens // length, dim ** -0.5
    q, k, v = (torch.randn(tokens, count, dim, device="cuda", dtype=torch.bfloat16) for count in (heads, shared, shared))
    o = torch.full_like(q, math.nan)
    starts = torch.arange(0, tokens + 1, length, device="cuda", dtype=torch.int32)
    shape = {"T": tokens, "S": tokens, "N": heads, "G": shared, "D": dim, "B": sequences}
    config = ",".join(filter(None, [options.config, f"causal={'yes' if causal else 'no'}"]))
    program = programs.Program(programs.compiled(options.program, "flash-attention", "bf16", shape, config))
    launch = program.bind(q, k, v, starts, starts, scale, o)
    launch()
    torch.cuda.synchronize()
    error = max(error_of(q, k, v, o, length, head, causal, scale) for head in {0, heads // 2, heads - 1})
    batched = [x.view(sequences, length, -1, dim).transpose(1, 2) for x in (q, k, v)]
    contenders = {"ditron": lambda n: launch(), **baselines(batched, causal, scale, heads != shared)}
    flops = 4 * sequences * heads * length * length * dim * (0.5 if causal else 1)
    times = programs.medians(contenders, options.rounds, max(1, min(10, int(4e-3 / (flops / 500e12)))))
    mine = times.pop("ditron")
    best = min(times, key=times.get, default=None)
    result = programs.line(options.program, "flash-attention", "bf16", shape, config, flops, mine, best, times.get(best), error,
                           TOLERANCE, program.failure())
    result["baselines_s"] = times
    programs.show(result)
    if options.save:
        saved_lines.append(result, options.save)
    return result["ok"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=programs.beside())
    parser.add_argument("--config", default="")
    for name, value in (("rounds", 15), ("tokens", 16384), ("heads", 32), ("key-heads", 32), ("dim", 128)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384")
    parser.add_argument("--causal", default="no,yes")
    parser.add_argument("--save", default="")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        return 77
    torch.manual_seed(random.randrange(1 << 30))
    cases = [(int(length), causal == "yes") for causal in options.causal.split(",") for length in options.lengths.split(",")]
    return 0 if all([compare(options, *case) for case in cases]) else 1


if __name__ == "__main__":
    sys.exit(main())
