#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/performance.md from the lines of bench/baselines/: of every machine, the last result
of each kernel, shape, element type and number of ranks.

usage: report.py [--check]     --check: fails if the page is not what the lines say
"""
import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
HEAD = """# Performance

`bench/report.py` generates this page from `bench/baselines/`. `ditron bench KERNEL --baseline --save` appends the lines there.

A *ratio* is the baseline's time over ditron's; above 1, ditron is faster. Both times are medians of one run on one machine,
with the same number of threads. Every timed result was verified in that run, on random data.

| machine | kernels | baseline |
|---|---|---|
| CPU | products of f32 | OpenBLAS |
| CPU | products of narrower types | ditron's own f32 product |
| CPU | memory-bound kernels | `memcpy` by every thread, of the bytes that the kernel reads and writes |
| GPU | products | cuBLAS |
| GPU | attention | the fastest backend of PyTorch (`bench/attention.py`) |
| GPU | memory-bound kernels | a device copy of the bytes that the kernel reads and writes |
| several GPUs | collectives, and products with collectives | NCCL and cuBLAS, one after the other (`bench/collectives.py`) |

On a GPU, kernel and baseline alternate in rounds. The operands are in no cache, and events measure the time. On several GPUs the time
is the largest of the ranks' medians, of the kernel and of everything beside it.

The *limit* of a product on several GPUs is the longer of two times: that of the product alone, and that of the bytes which a rank
receives over its link. Parentheses give ditron's time over the limit. Of a collective they give the rate that it reaches, of the
link's. Both are 1 at best. *Async-TP* is PyTorch's fused
operation on symmetric memory, in the same run; its time over ditron's stands there too. The variant *graph* is launched from a
CUDA graph.
"""

# Choices of a configuration that the tables leave out: tile sizes and cluster multicast are the kernel's own choice.
USUAL = {"no", "none", "full", "tensor", "given", "either"}
OWN = ("pairs=",)


def lines():
    for path in sorted((ROOT / "bench" / "baselines").glob("*.jsonl")):
        for text in path.read_text().splitlines():
            yield json.loads(text)


def duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale or unit == "us":
            return f"{seconds / scale:.3g} {unit}"


def row(line):
    shape = " ".join(f"{name}={extent}" for name, extent in sorted(line["shape"].items()))
    rate, unit = line["rate"], line["unit"]
    if rate < 1 and unit == "TFLOP/s":
        rate, unit = rate * 1000, "GFLOP/s"
    return (f"| {line['kernel']} | {line['dtype']} | {shape} | {line['ranks']} x {line['cores']} | "
            f"{duration(line['median_s'])} | {rate:.3g} {unit} | {line['baseline']} | **{line['ratio']:.2f}** | "
            f"{line['date'][:10]} |")


def variant(line):
    """The choices of a line's configuration that are names, and not the usual ones."""
    choices = [part for part in (line.get("config") or "").split(",") if part.partition("=")[2].isalpha()]
    ranks = [f"{line['ranks']} GPUs"] if line["ranks"] > 1 else []
    ranks += ["graph"] if line["ranks"] > 1 and line.get("graph") else []
    return " ".join(ranks + [part for part in choices if part.partition("=")[2] not in USUAL and not part.startswith(OWN)])


def of_limit(line):
    """Of products ditron's time over the limit, of collectives the link's time over ditron's; None where that is unknown."""
    if not line.get("limit_s"):
        return None
    ratio = line["median_s"] / line["limit_s"]
    return 1 / ratio if moves(line) else ratio


def moves(line):
    return line["unit"] == "GB/s"


def mean(values):
    return math.prod(values) ** (1 / len(values))


def ratios(lines):
    """The ratios of a line, or the geometric means of several; those beside the baseline where all lines have them."""
    others = []
    if all(line.get("over_async_tp") for line in lines):
        others.append(f"{mean([line['over_async_tp'] for line in lines]):.2f} over async-TP")
    if all(map(of_limit, lines)):
        others.append(f"{mean([of_limit(line) for line in lines]):.2f} of the {'link' if moves(lines[0]) else 'limit'}")
    beside = f" ({', '.join(others)})" if others else ""
    return f"**{mean([line['ratio'] for line in lines]):.2f}**{beside}"


def gpu_row(line):
    shape = " ".join(f"{name}={extent}" for name, extent in sorted(line["shape"].items()))
    return (f"| {line['kernel']} | {line['dtype']} | {shape} | {variant(line)} | {duration(line['median_s'])} | "
            f"{line['rate']:.4g} {line['unit']} | {line['baseline']} | {ratios([line])} | {line['date'][:10]} |")


def gpu_rows(results):
    """The rows of each kernel, type and variant together, with the geometric mean of the ratios of several."""
    groups = {}
    for line in results:
        groups.setdefault((line["kernel"], line["dtype"], variant(line)), []).append(line)
    for (kernel, dtype, choices), lines in sorted(groups.items()):
        yield from map(gpu_row, lines)
        if len(lines) > 1:
            yield f"| {kernel} | {dtype} | *geometric mean of {len(lines)} shapes* | {choices} | | | | {ratios(lines)} | |"


def section(machine, results):
    versions = {}
    for line in results:
        versions.update(line["versions"])
    names = ", ".join(text if name.lower() in text.lower() else f"{name} {text}"
                      for name, text in sorted(versions.items()) if not name.startswith("cublas"))
    if results[0]["backend"] == "nvidia":
        return "\n".join([f"\n## {machine}\n", f"{names}.\n",
                          "| kernel | type | shape | variant | median | rate | baseline | ratio | measured |",
                          "|---|---|---|---|---|---|---|---|---|", *gpu_rows(results)]) + "\n"
    return "\n".join([f"\n## {machine}\n", f"{names}.\n",
                      "| kernel | type | shape | ranks x cores | median | rate | baseline | ratio | measured |",
                      "|---|---|---|---|---|---|---|---|---|", *map(row, results)]) + "\n"


def page():
    machines = {}
    for line in lines():
        if line.get("baseline"):
            key = (line["kernel"], line["dtype"], json.dumps(line["shape"], sort_keys=True), line["ranks"], line["cores"],
                   variant(line) if line["backend"] == "nvidia" else "")
            machines.setdefault(line["machine"], {})[key] = line
    return HEAD + "".join(section(machine, list(results.values())) for machine, results in machines.items())


def main():
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit(f"{PAGE.relative_to(ROOT)}: is not what bench/baselines/ says: run bench/report.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PAGE.write_text(page())


main()
