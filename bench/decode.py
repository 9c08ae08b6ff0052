#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoding step of a model of random weights: ditron's beside PyTorch's, in turn, on one GPU or the CPU.

    python3 decode.py [--program bin/decode-bench] [--model qwen3-8b] [--layers N] [--batch B] [--context S] [--ranks R]
                      [--modes graph,stream] [--backend nvidia] [--peers graph,compiled] [--seconds T]
                      [--save [--save-to FOLDER]]

PyTorch's model has the same weights and caches, computed again from their numbers, and takes the same steps: fused
matrices of queries, keys and values and of gates, head norms, rope, scaled_dot_product_attention over the keys that there
are, argmax. `graph` is recorded in a CUDA graph; `compiled` too, its layers made by torch.compile. On a CPU there are
`eager` and `compiled`. On several ranks there is `graph`, of a process each (bench/torch_ranks.py), with NCCL. `--peers none`
needs no PyTorch. Each mode is a line of JSON on stdout.
--save appends the lines to the file of this machine in bench/baselines, or in another folder. Fails where a mode of ditron
fails, or where tokens in f32 differ.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import processes
import saved_lines

PACKED = ("q8-0", "q4-1")
QWEN3 = {"key_heads": 8, "head": 128, "vocabulary": 151936, "epsilon": 1e-6, "base": 1e6, "head_norms": True}
MODELS = {
    "qwen3-8b": {**QWEN3, "layers": 36, "width": 4096, "feed_forward": 12288, "heads": 32, "tied": False},
    "qwen3-0.6b": {**QWEN3, "layers": 28, "width": 1024, "feed_forward": 3072, "heads": 16, "tied": True},
    "tiny": {**QWEN3, "layers": 2, "width": 64, "feed_forward": 96, "heads": 4, "key_heads": 2, "head": 16,
             "vocabulary": 320, "tied": False},
    "smollm2-135m": {"layers": 30, "width": 576, "feed_forward": 1536, "heads": 9, "key_heads": 3, "head": 64,
                     "vocabulary": 49152, "epsilon": 1e-5, "base": 1e5, "head_norms": False, "tied": True}}
PEERS = {"nvidia": ("graph", "compiled"), "cpu": ("eager", "compiled")}
SKIPPED = 77


def ditron(options, mode):
    command = [options.program, options.model, "--dtype", options.dtype, "--batch", options.batch, "--context", options.context,
               "--mode", mode, "--backend", options.backend, "--seconds", options.seconds, "--checked", options.checked,
               "--ranks", options.ranks]
    if options.layers:
        command += ["--layers", options.layers]
    if options.cores:
        command += ["--cores", options.cores]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


class RankPeers:
    """PyTorch's step on several GPUs: the processes of bench/torch_ranks.py. It gives no tokens to compare."""

    READY_S, SLACK_S = 300, 120  # until all have their weights; beside what is timed

    def __init__(self, sizes, options):
        what = {"sizes": sizes, **{name: getattr(options, name) for name in ("dtype", "batch", "context", "peers")}}
        self.ranks = processes.Ranks("torch_ranks.py", options.ranks, json.dumps(what))
        self.version, self.expected = self.answer(self.READY_S)["torch"], None
        self.seconds = {name: [] for name in options.peers}

    def answer(self, seconds):
        try:
            return self.ranks.answer(seconds)
        except processes.Failure as failure:
            self.ranks.end(patience=0)
            sys.exit(str(failure))

    def time(self, seconds):
        self.ranks.tell(seconds)
        for name, median in self.answer(self.SLACK_S + seconds * len(self.seconds)).items():
            self.seconds[name].append(median)

    def medians(self):
        return {name: statistics.median(several) for name, several in self.seconds.items()}

    def end(self):
        self.ranks.end()


def timed(options, peers):
    """The line of each mode; PyTorch is timed before and behind them."""
    if peers:
        peers.time(options.seconds / 2)
    results = [ditron(options, mode) for mode in options.modes.split(",")]
    if not peers:
        return results
    peers.time(options.seconds / 2)
    medians = peers.medians()
    for result in results:
        result |= {"torch": peers.version, "torch_median_s": medians,
                   "ratio": {name: median / result["median_s"] for name, median in medians.items()}}
        if peers.expected:
            same = sum(x == y for x, y in zip(result["tokens"], peers.expected)) / len(peers.expected)
            result["torch_same_tokens"] = same
    return results


def provenance(options):
    """Machine and versions as `ditron bench --save` has them, and the file of the machine."""
    program = pathlib.Path(options.program).resolve().parent / "ditron"
    if not program.exists():
        sys.exit(f"--save: {program} is missing, which tells the machine and the versions: expected it beside --program")
    done = subprocess.run([program, "info", "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    info = json.loads(done.stdout)
    nvidia = info["nvidia"]
    if options.backend == "cpu":
        cpu, usable = info["cpu"], info["usable_cpus"]
        return {"machine": f"{cpu}, {usable} CPUs", "versions": info["versions"]}, saved_lines.file_of(f"{cpu}-x{usable}")
    if not nvidia["available"]:
        sys.exit(nvidia["reason"])
    driver, module = f"CUDA {nvidia['cuda'] // 1000}.{nvidia['cuda'] % 1000 // 10}", pathlib.Path("/sys/module/nvidia/version")
    if module.exists():
        driver = f"{module.read_text().strip()} ({driver})"
    gpus, name = min(options.ranks, len(nvidia["devices"])), nvidia["devices"][0]["name"]
    machine = f"{gpus} x {name}" if gpus > 1 else name
    return {"machine": machine, "versions": {**info["versions"], "driver": driver}}, saved_lines.file_of(machine)


def save(results, origin, file, folder):
    for result in results:
        line = {key: value for key, value in result.items() if key not in ("tokens", "device", "torch")} | origin
        line["date"] = saved_lines.now()
        if "torch" in result:
            line["versions"] = line["versions"] | {"torch": result["torch"]}
        saved_lines.append(line, folder, file)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    installed = root / "bin" / "decode-bench"
    parser.add_argument("--program", default=str(installed if installed.exists() else root / "build" / "bin" / "decode-bench"))
    parser.add_argument("--model", default="qwen3-8b", choices=MODELS)
    for name, usual in (("layers", 0), ("batch", 1), ("context", 512), ("checked", 4), ("ranks", 1), ("cores", 0)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--dtype", default="bf16", choices=("bf16", "f16", "f32", *PACKED))
    parser.add_argument("--backend", default="nvidia", choices=PEERS)
    parser.add_argument("--modes", default="graph")
    parser.add_argument("--peers", default="", help="ways to take a step in PyTorch, or none")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--save", action="store_true", help="append the lines to the file of this machine")
    parser.add_argument("--save-to", help="the folder of that file (bench/baselines)")
    options = parser.parse_args()
    usual = "eager" if options.backend == "cpu" else "graph,compiled"
    if options.ranks > 1:
        usual = "none" if options.backend == "cpu" else "graph"
    if options.dtype in PACKED:
        usual = "none"
    options.peers = [name for name in (options.peers or usual).split(",") if name != "none"]
    for name in options.peers:
        if name not in PEERS[options.backend]:
            parser.error(f"--peers is {name}, expected none, or some of {', '.join(PEERS[options.backend])}")
    if options.dtype in PACKED and options.peers:
        parser.error(f"--peers is {','.join(options.peers)}, expected none: PyTorch's model has no matrices in {options.dtype}")
    if options.ranks > 1 and options.peers not in ([], ["graph"]):
        parser.error(f"--peers is {','.join(options.peers)}, expected none or graph on several ranks")
    if options.ranks > 1 and options.peers and options.backend == "cpu":
        parser.error("on CPUs PyTorch's model is of one rank: expected --peers none")
    if options.peers:
        for name in ("heads", "key_heads", "feed_forward"):
            if MODELS[options.model][name] % options.ranks:
                parser.error(f"--ranks is {options.ranks}, expected a divisor of {MODELS[options.model][name]}, the {name} of "
                             f"{options.model}, or --peers none")
    if options.save_to and not options.save:
        parser.error("--save-to is given, expected --save with it")
    if options.save and options.layers:
        parser.error("what is saved is of a whole model: expected no --layers")
    return options


def main():
    options, peers = parse(), None
    place = provenance(options) if options.save else ()
    if options.peers:
        import torch_decoder  # which takes PyTorch
        if not torch_decoder.is_there(options.backend):
            print("skipped: PyTorch finds no GPU")
            return SKIPPED
        sizes = MODELS[options.model]
        make = RankPeers if options.ranks > 1 else torch_decoder.Peers
        peers = make({**sizes, "layers": options.layers or sizes["layers"]}, options)
    results = timed(options, peers)
    if options.peers and options.ranks > 1:
        peers.end()
    for result in results:
        print(json.dumps({key: value for key, value in result.items() if key != "tokens"}), flush=True)
    if options.dtype == "f32" and any(result.get("torch_same_tokens", 1) != 1 for result in results):
        return 1
    if options.save:
        save(results, *place, options.save_to or "bench/baselines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
