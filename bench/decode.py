#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoding step of a model of random weights: ditron's beside PyTorch's, in turn, on one GPU or the CPU.

    python3 decode.py [--program bin/decode-bench] [--model qwen3-8b] [--layers N] [--batch B] [--context S]
                      [--modes graph,stream] [--backend nvidia] [--peers graph,compiled] [--seconds T]

PyTorch's model has the same weights and caches, computed again from their numbers, and takes the same steps: fused
matrices of queries, keys and values and of gates, head norms, rope, scaled_dot_product_attention over the keys that there
are, argmax. `graph` is recorded in a CUDA graph; `compiled` too, its layers made by torch.compile. On a CPU there are
`eager` and `compiled`. Fails where a mode of ditron fails, or where tokens in f32 differ.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

QWEN3 = {"key_heads": 8, "head": 128, "vocabulary": 151936, "epsilon": 1e-6, "base": 1e6, "head_norms": True}
MODELS = {
    "qwen3-8b": {**QWEN3, "layers": 36, "width": 4096, "feed_forward": 12288, "heads": 32, "tied": False},
    "qwen3-0.6b": {**QWEN3, "layers": 28, "width": 1024, "feed_forward": 3072, "heads": 16, "tied": True},
    "tiny": {**QWEN3, "layers": 2, "width": 64, "feed_forward": 96, "heads": 4, "key_heads": 2, "head": 16,
             "vocabulary": 320, "tied": False},
    "smollm2-135m": {"layers": 30, "width": 576, "feed_forward": 1536, "heads": 9, "key_heads": 3, "head": 64,
                     "vocabulary": 49152, "epsilon": 1e-5, "base": 1e5, "head_norms": False, "tied": True}}
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
PAGE = 64  # positions of the cache that lie together


class Fill:
    """The numbers of decode-bench (examples/generate/bench/RandomModel.cpp), tensor by tensor."""

    def __init__(self, device):
        self.device, self.seed = device, 1

    def __call__(self, rows, columns, bound, dtype):
        result, apart, most = torch.empty(rows, columns, device=self.device, dtype=dtype), 7919 * self.seed, 1 << 26
        self.seed += 1
        for first in range(0, rows, max(1, most // columns)):
            part = result[first:first + max(1, most // columns)]
            n = (torch.arange(len(part), device=self.device)[:, None] + first + apart) * 0x3504f335
            n = (n + torch.arange(columns, device=self.device)) & 0xffffffff
            for bits, factor in ((16, 0x7feb352d), (15, 0x2c1b3c6d)):
                n = ((n ^ n >> bits) * factor) & 0xffffffff
            part.copy_(((n & 0xffffff).float() * 2.0 ** -23 - 1) * torch.tensor(bound, dtype=torch.float32))
        return result


def norm(x, gain, epsilon):
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon) * gain).to(x.dtype)


def turn(x, cosine, sine):
    first, second = x.float().chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1).to(x.dtype)


class Decoder:
    """The model of decode-bench, with caches that end behind the checked steps."""

    def __init__(self, sizes, dtype, batch, context, checked, device):
        self.__dict__.update(sizes)
        self.batch, self.positions = batch, context + checked
        fill = Fill(device)
        self.head_weights = self.matrix(fill, self.vocabulary, self.width, dtype)
        self.embedding = self.head_weights if self.tied else self.matrix(fill, self.vocabulary, self.width, dtype)
        queries = self.heads * self.head
        shapes = {"qkv": (queries + 2 * self.key_heads * self.head, self.width), "o": (self.width, queries),
                  "gate_up": (2 * self.feed_forward, self.width), "down": (self.width, self.feed_forward)}
        self.weights = [{name: self.matrix(fill, *shape, dtype) for name, shape in shapes.items()} for _ in range(self.layers)]
        fill = Fill(device)
        self.caches = [(self.cache(fill, dtype), self.cache(fill, dtype)) for _ in range(self.layers)]
        self.gain, self.head_gain = (1 + 0.1 * (torch.arange(n, device=device) % 7 - 3).float() for n in (self.width, self.head))
        pairs = self.head // 2
        angles = torch.arange(self.positions).double()[:, None] * self.base ** (-torch.arange(pairs).double() / pairs)
        self.cosines, self.sines = angles.cos().float().to(device), angles.sin().float().to(device)
        self.token = torch.arange(1, batch + 1, device=device)
        self.position = torch.full((1,), context, device=device)
        self.run_layer = self.layer

    @staticmethod
    def matrix(fill, rows, columns, dtype):
        return fill(rows, columns, math.sqrt(3 / columns), dtype)

    def cache(self, fill, dtype):
        """By sequence, head and position; pages of a sequence follow one another."""
        pages = -(-self.positions // PAGE)
        rows = fill(self.batch * pages * self.key_heads * PAGE, self.head, 1.0, dtype)
        rows = rows.view(self.batch, pages, self.key_heads, PAGE, self.head).transpose(1, 2)
        return rows.reshape(self.batch, self.key_heads, pages * PAGE, self.head)[:, :, :self.positions].contiguous()

    def layer(self, x, qkv, o, gate_up, down, keys, values, cosine, sine, position, count: int):
        rows = F.linear(norm(x, self.gain, self.epsilon), qkv).view(self.batch, -1, self.head)
        q, k, v = rows.split((self.heads, self.key_heads, self.key_heads), 1)
        if self.head_norms:
            q, k = (norm(h, self.head_gain, self.epsilon) for h in (q, k))
        q, k = turn(q, cosine, sine), turn(k, cosine, sine)
        keys.index_copy_(2, position, k[:, :, None])
        values.index_copy_(2, position, v[:, :, None])
        attended = F.scaled_dot_product_attention(q[:, :, None], keys[:, :, :count], values[:, :, :count], enable_gqa=True)
        x = x + F.linear(attended.reshape(self.batch, -1), o)
        gate, up = F.linear(norm(x, self.gain, self.epsilon), gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, down)

    def step(self, count):
        """Of the token and position that there are; the token behind it, in place."""
        x = F.embedding(self.token, self.embedding)
        cosine, sine = self.cosines[self.position], self.sines[self.position]
        for w, (keys, values) in zip(self.weights, self.caches):
            x = self.run_layer(x, w["qkv"], w["o"], w["gate_up"], w["down"], keys, values, cosine, sine, self.position, count)
        logits = F.linear(norm(x, self.gain, self.epsilon), self.head_weights).float()
        return logits.argmax(-1)


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def recorded(work):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()
    return graph.replay


class Peer:
    """A way to take a step in PyTorch, compiled or recorded when it is made."""

    def __init__(self, name, decoder, context, device):
        self.device = device
        decoder.run_layer = torch.compile(decoder.layer, dynamic=False) if name == "compiled" else decoder.layer
        work = lambda: decoder.step(context + 1)
        work()
        self.work = recorded(work) if device == "cuda" else work

    def times(self, seconds):
        """Of steps, several enqueued at a time."""
        synchronize(self.device)
        begin = time.perf_counter()
        self.work()
        synchronize(self.device)
        steps = max(1, min(32, int(0.04 / (time.perf_counter() - begin))))
        result, end = [], time.perf_counter() + seconds
        while len(result) < 3 or time.perf_counter() < end:
            begin = time.perf_counter()
            for _ in range(steps):
                self.work()
            synchronize(self.device)
            result.append((time.perf_counter() - begin) / steps)
        return result


def ditron(options, mode):
    command = [options.program, options.model, "--dtype", options.dtype, "--batch", options.batch, "--context", options.context,
               "--mode", mode, "--backend", options.backend, "--seconds", options.seconds, "--checked", options.checked]
    if options.layers:
        command += ["--layers", options.layers]
    if options.cores:
        command += ["--cores", options.cores]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def tokens_of(decoder, context, checked):
    """What the checked steps give, and the state of before them again."""
    begin, found = decoder.token.clone(), []
    for n in range(checked):
        decoder.position.fill_(context + n)
        decoder.token.copy_(decoder.step(context + n + 1))
        found += decoder.token.tolist()
    decoder.token.copy_(begin)
    decoder.position.fill_(context)
    return found


def compare(options, device):
    sizes = dict(MODELS[options.model])
    sizes["layers"] = options.layers or sizes["layers"]
    decoder = Decoder(sizes, DTYPES[options.dtype], options.batch, options.context, options.checked, device)
    expected = tokens_of(decoder, options.context, options.checked)
    peers = {name: Peer(name, decoder, options.context, device) for name in options.peers.split(",") if name}
    times = {name: peer.times(options.seconds / 2) for name, peer in peers.items()}
    results = [ditron(options, mode) for mode in options.modes.split(",")]
    for name, peer in peers.items():
        times[name] += peer.times(options.seconds / 2)
    medians = {name: statistics.median(several) for name, several in times.items()}
    isSame = True
    for result in results:
        same = sum(x == y for x, y in zip(result.pop("tokens"), expected)) / len(expected)
        isSame &= same == 1
        result |= {"torch": torch.__version__, "torch_same_tokens": same, "torch_median_s": medians,
                   "ratio": {name: median / result["median_s"] for name, median in medians.items()}}
        print(json.dumps(result), flush=True)
    return isSame or options.dtype != "f32"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    installed = root / "bin" / "decode-bench"
    parser.add_argument("--program", default=str(installed if installed.exists() else root / "build" / "bin" / "decode-bench"))
    parser.add_argument("--model", default="qwen3-8b", choices=MODELS)
    for name, usual in (("layers", 0), ("batch", 1), ("context", 512), ("checked", 4), ("cores", 0)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--dtype", default="bf16", choices=DTYPES)
    parser.add_argument("--backend", default="nvidia", choices=("nvidia", "cpu"))
    parser.add_argument("--modes", default="graph")
    parser.add_argument("--peers", default="")
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    device = "cuda" if options.backend == "nvidia" else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        return 77
    if options.cores:
        torch.set_num_threads(options.cores)
    options.peers = options.peers or ("graph,compiled" if device == "cuda" else "eager")
    with torch.inference_mode():
        return 0 if compare(options, device) else 1


if __name__ == "__main__":
    sys.exit(main())
