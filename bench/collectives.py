#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times ditron's kernels of several GPUs beside NCCL, cuBLAS and PyTorch's async-TP, on this machine.

    python3 collectives.py [--program bin/ditron] [--ranks R] [--filter REGEX] [--quick] [--graph stream|graph|both]
                           [--save FOLDER] [--list] [--case 'KERNEL M=64,N=32']

`ditron bench --baseline` times a kernel, the libraries' sequence and the product alone, in turn in one process, and
verifies the results. In the same run processes of PyTorch, one a GPU, time the fused operations of its symmetric memory
(bench/async_tp.py). One statistic counts for all: the largest of the ranks' medians. Each result is a line of JSON on
stdout, a line for people is on stderr, and --save appends the line to the file of this machine at once.

--filter takes cases whose text (`--list` prints them) matches, such as 'gemm-rs.*K=4096' or '^all-'. cuBLAS and NCCL
come from DITRON_CUBLAS_DIR and DITRON_NCCL_DIR, or from the packages that PyTorch brings. Without PyTorch there is no
async-TP. Fails where a result is wrong or missing.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import processes
import saved_lines

# Layers of models, of which a rank has a part: rows of all ranks, N and K of the whole layer.
GATHERED = [(8192, 11008, 4096), (8192, 14336, 4096), (8192, 28672, 8192), (8192, 53248, 16384), (8192, 29568, 8192),
            (8192, 49152, 12288)]
SUMMED = [(8192, 4096, 11008), (8192, 4096, 14336), (8192, 3584, 14336), (8192, 4608, 36864), (8192, 8192, 28672),
          (8192, 8192, 29568)]
SMALL_SCATTERED, DECODED = (4096, 4096, 8192), (32, 5120, 25600)
RAGGED = [(4091, 5120, 1024), (997, 1031, 1009)]  # rows, N and K of a rank
SIZES = [64 << 10, 1 << 20, 8 << 20, 64 << 20, 256 << 20]  # bytes of the whole buffer
EXCHANGED = (128 * 8, 7168)  # rows that a rank sends, and their length
QUICK = {"ag-gemm": {0, 2}, "gemm-rs": {0, 4, 6}, "gemm-ar": {0, 6}, "all-gather": {0, 3}, "reduce-scatter": {0, 3},
         "all-reduce": {0, 3}, "all-to-all": {0}, "dense-all-to-all": {0, 3}, "broadcast": {0, 3}, "send-recv": {0, 3}}
WHOLE = ("all-reduce", "broadcast", "send-recv")  # a rank has all of the buffer
PER_CASE_S = 180  # a case that takes longer has failed


def divided(extent, ranks, unit=1):
    """A rank's part of an extent, in units, padded as models do where it does not come out even."""
    return -(-extent // (unit * ranks)) * unit


def shapes(kernel, ranks):
    """What a rank has, in bf16."""
    def product(m, n, k):
        return {"M": m, "N": n, "K": k}

    if kernel == "ag-gemm":
        layers = [product(divided(m, ranks), divided(n, ranks, 32), k) for m, n, k in GATHERED]
        return layers + [product(*ragged) for ragged in RAGGED]
    if kernel == "gemm-rs":
        layers = [product(divided(m, ranks), n, divided(k, ranks, 32)) for m, n, k in SUMMED + [SMALL_SCATTERED]]
        return layers + [product(*ragged) for ragged in RAGGED]
    if kernel == "gemm-ar":
        return [product(m, n, divided(k, ranks, 32)) for m, n, k in SUMMED + [DECODED]]
    if kernel == "all-to-all":
        return [{"T": EXCHANGED[0], "H": EXCHANGED[1]}]
    result = []
    for size in SIZES:
        columns = 1024 if size <= 1 << 20 else 4096
        rows = size // (2 * columns)
        result.append({"M": rows if kernel in WHOLE else divided(rows, ranks), "N": columns})
    return result


def text_of(kernel, shape):
    return f"{kernel} " + ",".join(f"{name}={extent}" for name, extent in shape.items())


def typed(texts):
    """Cases as they were typed, "gemm-rs M=64,N=32,K=16", by kernel."""
    result = {}
    for text in texts:
        kernel, _, extents = text.partition(" ")
        shape = {name: int(extent) for name, _, extent in (part.partition("=") for part in extents.split(","))}
        result.setdefault(kernel, []).append(shape)
    return result.items()


def cases(options, ranks):
    """Each kernel with its shapes."""
    if options.case:
        return typed(options.case)
    return chosen(options, ranks)


def chosen(options, ranks):
    for kernel, quick in QUICK.items():
        found = [shape for n, shape in enumerate(shapes(kernel, ranks)) if not options.quick or n in quick]
        found = [shape for shape in found if re.search(options.filter, text_of(kernel, shape))]
        if found:
            yield kernel, found


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- libraries ------------------------------------------------------------------------------------

def library_environment():
    """Where cuBLAS and NCCL are, if nobody has said so: in Python's packages."""
    found = dict(os.environ)
    for folder in sys.path:
        for variable, name in (("DITRON_CUBLAS_DIR", "libcublas.so.1[23]"), ("DITRON_NCCL_DIR", "libnccl.so.2")):
            for library in sorted(pathlib.Path(folder or ".").glob(f"nvidia/*/lib/{name}"), reverse=True):
                found.setdefault(variable, str(library.parent))
    return found


# ---- PyTorch --------------------------------------------------------------------------------------

class AsyncTp:
    """The processes of bench/async_tp.py. One that fails ends all of them, and what follows has no second peer."""

    def __init__(self, ranks):
        self.problem, self.ranks = None, processes.Ranks("async_tp.py", ranks)
        self.versions = self.answer(120)

    def answer(self, seconds):
        try:
            return self.ranks.answer(seconds)
        except processes.Failure as failure:
            return self.fail(str(failure))

    def fail(self, problem):
        say(f"collectives.py: {problem}; there is no async-TP from here on")
        self.problem = problem
        self.ranks.end(patience=0)
        return {}

    def time(self, kernel, shape, graph):
        """What it took, in seconds; {} where it was not timed."""
        if self.problem or kernel not in ("ag-gemm", "gemm-rs"):
            return {}
        try:
            self.ranks.tell(json.dumps({"kernel": kernel, "shape": shape, "graph": graph}))
        except processes.Failure as failure:
            return self.fail(str(failure))
        answer = self.answer(PER_CASE_S)
        if "error" in answer:
            say(f"collectives.py: async-TP: {text_of(kernel, shape)}: {answer['error']}")
            return {}
        return answer

    def end(self):
        if not self.problem:
            self.ranks.end()


# ---- ditron ---------------------------------------------------------------------------------------

class Ditron:
    """`ditron bench` of a kernel, at shapes of it one after another."""

    def __init__(self, options, ranks, environment):
        self.options, self.ranks, self.environment = options, ranks, environment

    def start(self, kernel, pending, graph, folder):
        command = [self.options.program, "bench", kernel, "--backend", "nvidia", "--ranks", str(self.ranks), "--dtype", "bf16",
                   "--baseline", "--explain", "--json", "--save", "--save-to", folder] + ["--graph"] * graph
        if self.options.config:
            command += ["--config", self.options.config]
        for shape in pending:
            command += ["--shape", text_of("", shape).strip()]
        return subprocess.Popen(command, stdout=subprocess.PIPE, env=self.environment)

    def time(self, kernel, pending, graph):
        """Yields shapes with their lines; None for one that failed, behind which a new process goes on."""
        while pending:
            with tempfile.TemporaryDirectory() as folder:
                process = self.start(kernel, pending, graph, folder)
                lines = processes.Lines(process)
                while pending and (text := lines.next(PER_CASE_S)):
                    line = json.loads(text)
                    yield pending.pop(0), {**line, **self.saved(folder, line)}
                if pending and process.poll() is None:
                    say(f"collectives.py: no result of {text_of(kernel, pending[0])} in {PER_CASE_S} s")
                    process.kill()
                process.wait()
            if pending:
                yield pending.pop(0), None

    @staticmethod
    def saved(folder, line):
        """Date, machine and versions, which the saved line has as soon as it is whole."""
        for _ in range(100 if line["ok"] else 1):
            for path in pathlib.Path(folder).glob("*.jsonl"):
                last = path.read_text().splitlines()[-1:]
                saved = json.loads(last[0]) if last and last[0].endswith("}") else {}
                if saved.get("shape") == line["shape"]:
                    return {key: saved[key] for key in ("date", "machine", "versions")}
            time.sleep(0.05)
        return {"date": None, "machine": "unknown", "versions": {}}


def summary(line):
    origin = " graph" if line["graph"] else ""
    text = f"{text_of(line['kernel'], line['shape'])}{origin}: {line['median_s'] * 1e6:.1f} us"
    for name, key in (("sequence", "ratio"), ("async-TP", "over_async_tp")):
        text += f", {line[key]:.2f} over {name}" if line.get(key) else ""
    if line.get("product_median_s"):
        text += f", {line['of_limit']:.3f} of the limit {line['limit_s'] * 1e6:.1f} us"
    elif line.get("limit_s"):
        text += f", {1 / line['of_limit']:.3f} of the link's {line['link_bytes_per_s'] / 1e9:.0f} GB/s"
    return text + ("" if line["ok"] else ", WRONG")


def add_peer(line, peer, versions):
    """What PyTorch took."""
    if peer:
        line.update(async_tp_s=peer["async_tp_s"], over_async_tp=peer["async_tp_s"] / line["median_s"],
                    torch_sequence_s=peer["sequence_s"], versions={**line["versions"], **versions})


def time_kernel(ditron, async_tp, kernel, found, graph, folder):
    """How many cases failed."""
    peers = [async_tp.time(kernel, shape, graph) if async_tp else {} for shape in found]
    failed = 0
    for (shape, line), peer in zip(ditron.time(kernel, list(found), graph), peers):
        if line is None:
            failed += 1
            say(f"collectives.py: {text_of(kernel, shape)} failed")
            continue
        failed += not line["ok"]
        add_peer(line, peer, async_tp.versions if async_tp else {})
        say(summary(line))
        print(json.dumps(line), flush=True)
        if folder and line["ok"]:
            saved_lines.append({key: value for key, value in line.items() if key != "explained"}, folder)
    return failed


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    installed = root / "bin" / "ditron"
    parser.add_argument("--program", default=str(installed if installed.exists() else root / "build" / "bin" / "ditron"))
    parser.add_argument("--ranks", type=int, default=0, help="as many as there are GPUs")
    parser.add_argument("--filter", default="", help="a regular expression of cases")
    parser.add_argument("--case", action="append", help="a case of a rank's extents, 'all-gather M=64,N=32', instead of these")
    parser.add_argument("--quick", action="store_true", help="two cases of a kernel")
    parser.add_argument("--graph", choices=("stream", "graph", "both"), default="stream", help="where launches come from")
    parser.add_argument("--config", default="", help="as of ditron bench")
    parser.add_argument("--save", type=pathlib.Path, help="a folder of lines, such as bench/baselines")
    parser.add_argument("--no-torch", action="store_true", help="without async-TP")
    parser.add_argument("--no-measure", action="store_true", help="the link as measured before, or its default")
    parser.add_argument("--list", action="store_true", help="print the cases")
    return parser.parse_args()


def gpus(program):
    done = subprocess.run([program, "info", "--json"], capture_output=True, text=True)
    info = json.loads(done.stdout)["nvidia"]
    if not info["available"]:
        say(f"skipped: {info['reason']}")
        sys.exit(77)
    return len(info["devices"])


def main():
    options = parse()
    ranks = options.ranks or (2 if options.list else gpus(options.program))
    if options.list:
        for kernel, found in cases(options, ranks):
            for shape in found:
                print(text_of(kernel, shape))
        return 0
    environment = library_environment()
    if not options.no_measure:
        done = subprocess.run([options.program, "info", "--measure", "--backend", "nvidia", "--ranks", str(ranks)], text=True,
                              capture_output=True, env=environment, timeout=PER_CASE_S)
        say((done.stdout + done.stderr).strip())
    hasTorch = not options.no_torch and subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0
    if not hasTorch and not options.no_torch:
        say("collectives.py: there is no PyTorch, so no async-TP")
    async_tp = AsyncTp(ranks) if hasTorch else None
    ditron, failed = Ditron(options, ranks, environment), 0
    try:
        for kernel, found in cases(options, ranks):
            for graph in {"stream": [False], "graph": [True], "both": [False, True]}[options.graph]:
                failed += time_kernel(ditron, async_tp, kernel, found, graph, options.save)
    finally:
        if async_tp:
            async_tp.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
