#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times ditron's kernels of several GPUs beside NCCL and cuBLAS in sequence, on this machine.

usage: collectives.py [--program build/bin/ditron] [--ranks R] [--save-to FOLDER] [--quick]

The baseline runs in PyTorch, one process a GPU: a collective of NCCL, then a product of cuBLAS, or the other way
round, medians of launches timed by events, the slowest rank's. Beside them stands the speed-of-light: the product
alone, or the bytes that a rank receives over its link, whichever takes longer. ditron's results are verified
in its own run. One line of JSON a kernel and shape is printed, and with --save-to appended to FOLDER.
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

LINK = 390e9  # bytes a second from one GPU to another, as copies reach them: docs/performance.md

# Products as layers of models have them: M rows in all, N and K of the whole layer, of which a rank has a part.
AG = [(8192, 11008, 4096), (8192, 14336, 4096), (8192, 28672, 8192), (8192, 29568, 8192)]
RS = [(8192, 4096, 11008), (8192, 4096, 14336), (8192, 8192, 28672), (8192, 8192, 29568)]
MOVED = [(8, 4096), (128, 4096), (2048, 4096), (8192, 4096)]


def cases(ranks, quick):
    """(kernel, shape of a rank, in bf16). Parts that do not come out even are padded, as models do."""
    def part(extent):
        return -(-extent // (32 * ranks)) * 32

    for m, n, k in AG[:2] if quick else AG:
        yield "ag-gemm", {"M": part(m), "N": part(n), "K": k}
    for m, n, k in RS[:2] if quick else RS:
        yield "gemm-rs", {"M": part(m), "N": n, "K": part(k)}
    for m, n in MOVED[1:3] if quick else MOVED:
        yield "all-gather", {"M": m, "N": n}
        yield "all-reduce", {"M": m, "N": n}
        yield "reduce-scatter", {"M": m, "N": n}


def time_rank(rank, ranks, port, quick, out):
    """One process of the baseline: times all cases, rank 0 writes them."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_NVLS_ENABLE="0")
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))

    def tensor(*shape):
        return torch.rand(*shape, device="cuda", dtype=torch.bfloat16) - 0.5

    def median(work, launches=30):
        for _ in range(5):
            work()
        torch.cuda.synchronize()
        dist.barrier()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(launches + 1)]
        events[0].record()
        for event in events[1:]:
            work()
            event.record()
        torch.cuda.synchronize()
        own = statistics.median(a.elapsed_time(b) * 1e-3 for a, b in zip(events[1:], events[2:]))
        slowest = torch.tensor([own], device="cuda", dtype=torch.float64)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        return slowest.item()

    results = []
    for kernel, shape in cases(ranks, quick):
        m = shape["M"]
        line = {"kernel": kernel, "shape": shape}
        if kernel == "ag-gemm":
            a, b = tensor(m, shape["K"]), tensor(shape["K"], shape["N"])
            full, c = tensor(ranks * m, shape["K"]), tensor(ranks * m, shape["N"])

            def gather():
                dist.all_gather_into_tensor(full, a)

            def multiply():
                torch.matmul(full, b, out=c)

            line["baseline"] = median(lambda: (gather(), multiply()))
            line["gemm"], line["moved"] = median(multiply), (ranks - 1) * a.numel() * 2
        elif kernel == "gemm-rs":
            a, b = tensor(ranks * m, shape["K"]), tensor(shape["K"], shape["N"])
            part, c = tensor(ranks * m, shape["N"]), tensor(m, shape["N"])

            def multiply():
                torch.matmul(a, b, out=part)

            line["baseline"] = median(lambda: (multiply(), dist.reduce_scatter_tensor(c, part)))
            line["gemm"], line["moved"] = median(multiply), (ranks - 1) * c.numel() * 2
        elif kernel == "all-gather":
            x, y = tensor(m, shape["N"]), tensor(ranks * m, shape["N"])
            line["baseline"] = median(lambda: dist.all_gather_into_tensor(y, x))
            line["moved"] = (ranks - 1) * x.numel() * 2
        elif kernel == "reduce-scatter":
            x, y = tensor(ranks * m, shape["N"]), tensor(m, shape["N"])
            line["baseline"] = median(lambda: dist.reduce_scatter_tensor(y, x))
            line["moved"] = (ranks - 1) * y.numel() * 2
        else:
            x = tensor(m, shape["N"])
            line["baseline"] = median(lambda: dist.all_reduce(x))
            line["moved"] = 2 * (ranks - 1) * x.numel() * 2 / ranks
        results.append(line)
    if rank == 0:
        versions = {"torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version()))}
        pathlib.Path(out).write_text(json.dumps({"results": results, "versions": versions}))
    dist.destroy_process_group()


def time_baselines(ranks, quick):
    out = f"/tmp/ditron-baselines-{os.getpid()}.json"
    port = 20000 + os.getpid() % 20000
    command = [sys.executable, __file__, "--rank-of", str(ranks), "--port", str(port), "--out", out]
    processes = [subprocess.Popen(command + ["--rank", str(rank)] + ["--quick"] * quick) for rank in range(ranks)]
    if any([process.wait() for process in processes]):
        sys.exit("collectives.py: the baseline failed")
    timed = json.loads(pathlib.Path(out).read_text())
    pathlib.Path(out).unlink()
    return timed


def time_ditron(program, kernel, shape, ranks):
    text = ",".join(f"{name}={extent}" for name, extent in shape.items())
    result = subprocess.run([program, "bench", kernel, "--backend", "nvidia", "--ranks", str(ranks), "--dtype", "bf16",
                             "--shape", text, "--json"], capture_output=True, text=True)
    if result.returncode:
        print(f"collectives.py: {kernel} {text}: {result.stderr.strip()}", file=sys.stderr)
        return None
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--program", default=str(root / "build" / "bin" / "ditron"))
    parser.add_argument("--ranks", type=int, default=0, help="as many as there are GPUs")
    parser.add_argument("--save-to")
    parser.add_argument("--quick", action="store_true", help="fewer shapes")
    for name, kind in (("rank", int), ("rank-of", int), ("port", int), ("out", str)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        return time_rank(options.rank, options.rank_of, options.port, options.quick, options.out)
    info = json.loads(subprocess.run([options.program, "info", "--json"], capture_output=True, text=True).stdout)["nvidia"]
    if not info["available"]:
        sys.exit(f"collectives.py: {info['reason']}")
    ranks = options.ranks or len(info["devices"])
    timed = time_baselines(ranks, options.quick)
    for baseline in timed["results"]:
        line = time_ditron(options.program, baseline["kernel"], baseline["shape"], ranks)
        if line is None:
            continue
        limit = max(baseline.get("gemm", 0), baseline["moved"] / LINK)
        line.update(baseline="NCCL + cuBLAS" if "gemm" in baseline else "NCCL", baseline_median_s=baseline["baseline"],
                    ratio=baseline["baseline"] / line["median_s"], limit_s=limit,
                    date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                    machine=f"{ranks} x {info['devices'][0]['name']}", versions={"ditron": "0.1.0", **timed["versions"]})
        print(json.dumps(line), flush=True)
        if options.save_to:
            name = line["machine"].lower().replace(" ", "-")
            with open(pathlib.Path(options.save_to) / f"{name}.jsonl", "a") as file:
                file.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
