#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/performance.md from the lines of bench/baselines/: of every machine, the last result
of each kernel, shape, element type and number of ranks, of each step of a decoder, and of texts.

usage: report.py [--check]          --check: fails if the page is not what the lines say
       report.py --print FOLDER     the page of other lines, on stdout
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
is the largest of the ranks' medians, of the kernel and of everything beside it. Collectives take the same buffers each time.

The *limit* of a product on several GPUs is the longer of two times: that of the product alone, and that of the bytes which a rank
receives over its link. Parentheses give ditron's time over the limit. Of a collective they give the rate that it reaches, of the
link's. Both are 1 at best. *Async-TP* is PyTorch's fused
operation on symmetric memory, in the same run; its time over ditron's stands there too. The variant *graph* is launched from a
CUDA graph.
"""

DECODERS = """
*Steps of decoders* are steps of models of random weights (`bench/decode.py --save`), several enqueued together. The *floor* is the time of
the bytes of weights and caches, at the bandwidth that the same run measured. *Over the floor* is the step's time over it, 1 at best. The
ratios are PyTorch's times over ditron's, of the same model in the same run: a step in a CUDA graph, and also with compiled layers. On
several GPUs PyTorch's ranks have parts of every matrix, and NCCL adds what they have. On CPUs
PyTorch's step is eager, or has compiled layers.
"""

TEXTS = """
*Texts* are those of a model's file on a CPU (`bench/texts.py --save`): tokens a second of batches of sequences behind their prompts, and of a
prompt. The peer takes the same file and threads in the same run, in turn. The ratio is ditron's rate over the peer's.
"""

# Choices of a configuration that the tables leave out: tile sizes and cluster multicast are the kernel's own choice.
USUAL = {"no", "none", "full", "tensor", "given", "either"}
OWN = ("pairs=",)


def lines(folder):
    for path in sorted(folder.glob("*.jsonl")):
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


# What a step is timed beside in PyTorch, and what its column is called.
PEERS = {"nvidia": {"graph": "ratio, CUDA graph", "compiled": "ratio, compiled"},
         "cpu": {"eager": "ratio, eager", "compiled": "ratio, compiled"}}


def devices(line):
    return str(line["ranks"]) if line["backend"] == "nvidia" else f"{line['ranks']} x {line['cores']}"


def decoder_row(line):
    found = [line.get("ratio", {}).get(name) for name in PEERS[line["backend"]]]
    beside = " | ".join(f"**{ratio:.2f}**" if ratio else "" for ratio in found)
    return (f"| {line['model']} | {line['dtype']} | {line['batch']} | {line['context']} | {devices(line)} | {line['mode']} | "
            f"{duration(line['median_s'])} | {duration(line['floor_s'])} | {line['over_floor']:.2f} | {beside} | {line['date'][:10]} |")


def decoders(steps):
    """The table of steps of one machine; nothing of none."""
    if not steps:
        return ""
    backend = steps[0]["backend"]
    heads = ["model", "type", "batch", "context", "GPUs" if backend == "nvidia" else "ranks x cores", "mode", "median", "floor",
             "over the floor", *PEERS[backend].values(), "measured"]
    order = sorted(steps, key=lambda line: (line["model"], line["dtype"], line["context"], line["batch"], line["ranks"], line["cores"]))
    return "\n".join(["\n### Steps of decoders\n", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|",
                      *map(decoder_row, order)]) + "\n"


def kernels(results):
    """The table of kernels of one machine; nothing of none."""
    if not results:
        return ""
    if results[0]["backend"] == "nvidia":
        heads, rows = ["kernel", "type", "shape", "variant", "median", "rate", "baseline", "ratio", "measured"], gpu_rows(results)
    else:
        heads, rows = ["kernel", "type", "shape", "ranks x cores", "median", "rate", "baseline", "ratio", "measured"], map(row, results)
    return "\n".join(["", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *rows]) + "\n"


def text_row(line):
    return (f"| {line['file']} | {line['text']} | {line['batch']} | {line['tokens']} | {line['cores']} | {line['tokens_per_second']:.0f} | "
            f"{line['peer']} | {line['peer_tokens_per_second']:.0f} | **{line['ratio']:.2f}** | {line['date'][:10]} |")


def texts(found):
    """The table of texts on one machine; nothing of none."""
    if not found:
        return ""
    heads = ["file", "part", "batch", "tokens", "cores", "tokens a second", "peer", "its tokens a second", "ratio", "measured"]
    order = sorted(found, key=lambda line: (line["file"], line["cores"], line["text"], line["batch"]))
    return "\n".join(["\n### Texts\n", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *map(text_row, order)]) + "\n"


def section(machine, results, steps, found):
    versions = {}
    for line in results + steps + found:
        versions.update(line["versions"])
    names = ", ".join(text if name.lower() in text.lower() else f"{name} {text}"
                      for name, text in sorted(versions.items()) if not name.startswith("cublas"))
    return f"\n## {machine}\n\n{names}.\n" + kernels(results) + decoders(steps) + texts(found)


def kind_of(line):
    """Which table a line is in, and which lines it takes the place of; None of a line that is in none."""
    if line.get("baseline"):
        return "kernel", (line["kernel"], line["dtype"], json.dumps(line["shape"], sort_keys=True), line["ranks"],
                          variant(line) if line["backend"] == "nvidia" else line["cores"])
    if "model" in line:  # a step is another one beside other peers
        return "step", (*(line[name] for name in ("model", "dtype", "batch", "context", "ranks", "cores", "mode")), *line.get("ratio", ()))
    if "text" in line:
        return "text", tuple(line[name] for name in ("file", "text", "batch", "tokens", "cores", "peer"))
    return None


def page(folder):
    """Of every machine the last line of each result."""
    machines, kinds = {}, set()
    for line in lines(folder):
        if found := kind_of(line):
            kind, key = found
            kinds.add(kind)
            machines.setdefault(line["machine"], {"kernel": {}, "step": {}, "text": {}})[kind][key] = line
    sections = [section(machine, *(list(table.values()) for table in tables.values())) for machine, tables in machines.items()]
    return HEAD + DECODERS * ("step" in kinds) + TEXTS * ("text" in kinds) + "".join(sections)


def main():
    baselines = ROOT / "bench" / "baselines"
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page(baselines):
            sys.exit(f"{PAGE.relative_to(ROOT)}: is not what bench/baselines/ says: run bench/report.py")
    elif len(sys.argv) == 3 and sys.argv[1] == "--print":
        print(page(pathlib.Path(sys.argv[2])), end="")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PAGE.write_text(page(baselines))


main()
