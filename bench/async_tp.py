#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One rank of PyTorch's async tensor parallelism, as bench/collectives.py starts it: products fused with collectives on
symmetric memory, and the same as NCCL and cuBLAS one after the other.

usage: async_tp.py RANK RANKS PORT

Takes a case a line from stdin, {"kernel", "shape", "graph"}, and rank 0 answers each with a line: the seconds of both,
{"async_tp_s", "sequence_s", "graph"}, or {"error"}. The statistic is that of `ditron bench`: batches back to back in
rounds, behind one that is not timed; the median of each rank, and the largest of these. Multicast is off.
"""
import json
import math
import os
import statistics
import sys

LEAST_S, MOMENT_S, TIMED = 500e-6, 0.6, 4  # of a batch, of all rounds, batches of a round
RANK, RANKS, PORT = (int(word) for word in sys.argv[1:4]) if len(sys.argv) == 4 else (0, 1, 0)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT), NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1")

import torch  # noqa: E402: reads the variables above
import torch.distributed as dist  # noqa: E402
import torch.distributed._symmetric_memory as symmetric_memory  # noqa: E402


def tensor(*shape):
    return torch.rand(*shape, device="cuda", dtype=torch.bfloat16) - 0.5


def largest(seconds):
    value = torch.tensor([seconds], device="cuda", dtype=torch.float64)
    dist.all_reduce(value, dist.ReduceOp.MAX)
    return value.item()


class Contender:
    """Work that is launched in batches, of which a graph may hold one."""

    def __init__(self, work, as_graph):
        self.work, self.graph, self.seconds = work, None, []
        for launches in (1, 3, 5):
            one = largest(self.time(launches))
        self.batch = min(max(math.ceil(LEAST_S / max(one, 1e-7)), 1), 100)
        self.about = one * self.batch * (TIMED + 1)
        if as_graph:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
                self.enqueue()

    def time(self, launches):
        torch.cuda.synchronize()
        dist.barrier()
        self.work()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(launches):
            self.work()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1e-3 / launches

    def enqueue(self):
        for _ in range(self.batch):
            self.work()

    def launch(self):
        self.graph.replay() if self.graph else self.enqueue()

    def round(self):
        self.launch()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(TIMED + 1)]
        events[0].record()
        for event in events[1:]:
            self.launch()
            event.record()
        return events

    def collect(self, events):
        self.seconds += [a.elapsed_time(b) * 1e-3 / self.batch for a, b in zip(events, events[1:])]


def contenders(kernel, shape, as_graph):
    """The fused operation and the sequence."""
    m, n, k = shape["M"], shape["N"], shape["K"]
    group = dist.group.WORLD.group_name
    b = tensor(k, n)
    if kernel == "ag-gemm":
        a, full, c = tensor(m, k), tensor(RANKS * m, k), tensor(RANKS * m, n)

        def fused():
            torch.ops.symm_mem.fused_all_gather_matmul(a, [b], 0, group)

        def sequence():
            dist.all_gather_into_tensor(full, a)
            torch.matmul(full, b, out=c)
    else:
        a, part, c = tensor(RANKS * m, k), tensor(RANKS * m, n), tensor(m, n)

        def fused():
            torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", 0, group)

        def sequence():
            torch.matmul(a, b, out=part)
            dist.reduce_scatter_tensor(c, part)
    return [Contender(fused, as_graph), Contender(sequence, as_graph)]


def time_case(kernel, shape, as_graph):
    competing = contenders(kernel, shape, as_graph)
    rounds = int(min(max(MOMENT_S / sum(one.about for one in competing), 5), 50))
    dist.barrier()
    for n in range(rounds):
        order = competing[n % 2:] + competing[:n % 2]
        events = [(one, one.round()) for one in order]
        torch.cuda.synchronize()
        for one, recorded in events:
            one.collect(recorded)
    fused, sequence = (largest(statistics.median(one.seconds)) for one in competing)
    return {"async_tp_s": fused, "sequence_s": sequence, "graph": as_graph}


def enable():
    """Symmetric memory for all ranks, where that has to be asked for."""
    ask = getattr(symmetric_memory, "enable_symm_mem_for_group", None)
    if ask:
        ask(dist.group.WORLD.group_name)


def answer(value):
    if RANK == 0:
        print(json.dumps(value), flush=True)


def main():
    torch.cuda.set_device(RANK)
    dist.init_process_group("nccl", rank=RANK, world_size=RANKS, device_id=torch.device("cuda", RANK))
    enable()
    answer({"torch": torch.__version__})
    for text in sys.stdin:
        case = json.loads(text)
        try:
            result = time_case(case["kernel"], case["shape"], case["graph"])
        except RuntimeError as error:  # the same on all ranks: shapes that are refused, too little memory
            result = {"error": str(error).splitlines()[0]}
        answer(result)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
