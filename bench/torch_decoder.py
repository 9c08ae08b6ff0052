# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of decode-bench in PyTorch, with the same weights and caches, and its steps: what bench/decode.py times beside
ditron's. `graph` is recorded in a CUDA graph; `compiled` too, its layers made by torch.compile. On a CPU there are `eager` and
`compiled`."""
import math
import statistics
import time

import torch
import torch.nn.functional as F

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
        x = x + self.summed(F.linear(attended.reshape(self.batch, -1), o))
        gate, up = F.linear(norm(x, self.gain, self.epsilon), gate_up).chunk(2, -1)
        return x + self.summed(F.linear(F.silu(gate) * up, down))

    def summed(self, part):
        """The sum over the ranks of what each has; there is one."""
        return part

    def best(self, logits):
        return logits.argmax(-1)

    def step(self, count):
        """Of the token and position that there are; the token behind it, in place."""
        x = F.embedding(self.token, self.embedding)
        cosine, sine = self.cosines[self.position], self.sines[self.position]
        for w, (keys, values) in zip(self.weights, self.caches):
            x = self.run_layer(x, w["qkv"], w["o"], w["gate_up"], w["down"], keys, values, cosine, sine, self.position, count)
        logits = F.linear(norm(x, self.gain, self.epsilon), self.head_weights).float()
        return self.best(logits)


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
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        work()
    return graph.replay


class Peer:
    """A way to take a step in PyTorch, compiled or recorded when it is made."""

    def __init__(self, name, decoder, context, device):
        self.device = device
        layer = torch.compile(decoder.layer, dynamic=False) if name == "compiled" else decoder.layer

        def work():
            decoder.run_layer = layer
            decoder.step(context + 1)

        work()
        self.work = recorded(work) if device == "cuda" else work

    def times(self, seconds, batches=None):
        """Of steps, several enqueued at a time: for so long, or so often, which ranks have to agree on."""
        synchronize(self.device)
        begin = time.perf_counter()
        self.work()
        synchronize(self.device)
        steps = 8 if batches else max(1, min(32, int(0.04 / (time.perf_counter() - begin))))
        result, end = [], time.perf_counter() + seconds
        while len(result) < (batches or 3) or (not batches and time.perf_counter() < end):
            begin = time.perf_counter()
            for _ in range(steps):
                self.work()
            synchronize(self.device)
            result.append((time.perf_counter() - begin) / steps)
        return result


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


class Peers:
    """Ways to take a step. `expected`: the tokens of the checked steps."""

    def __init__(self, sizes, options):
        device = device_of(options.backend)
        if options.cores:
            torch.set_num_threads(options.cores)
        self.version = torch.__version__
        with torch.inference_mode():
            decoder = Decoder(sizes, DTYPES[options.dtype], options.batch, options.context, options.checked, device)
            self.expected = tokens_of(decoder, options.context, options.checked)
            self.peers = {name: Peer(name, decoder, options.context, device) for name in options.peers}
        self.seconds = {name: [] for name in self.peers}

    def time(self, seconds):
        """Each for so long, in addition to what was timed before."""
        with torch.inference_mode():
            for name, peer in self.peers.items():
                self.seconds[name] += peer.times(seconds)

    def medians(self):
        return {name: statistics.median(several) for name, several in self.seconds.items()}


def device_of(backend):
    return "cuda" if backend == "nvidia" else "cpu"


def is_there(backend):
    """Whether PyTorch finds what this backend runs on."""
    return backend != "nvidia" or torch.cuda.is_available()
