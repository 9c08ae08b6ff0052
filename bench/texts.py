#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts of a language model on a CPU: ditron's `generate` beside llama.cpp, the same file and threads, in turn.

    python3 texts.py MODEL.gguf [--program build/bin/generate] [--cores C] [--batches 1,8,64] [--tokens N] [--words W] [--rounds R]
                     [--save [--save-to FOLDER]]

Needs llama-cpp-python (built for this machine: CMAKE_ARGS=-DGGML_NATIVE=ON). Both take the likeliest token, of B prompts of
twelve words at a time, and a prompt of W words. Each batch, and the prompt, is a line of JSON on stdout: tokens a second,
medians of the rounds. --save appends them to the file of this machine in bench/baselines, or in another folder.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import decode
import saved_lines

SKIPPED = 77
WORDS = "the quick brown fox jumps over a lazy dog and then goes home to sleep because it was tired of running all day".split()


def prompt(number, words):
    choose = random.Random(number)
    return " ".join(choose.choice(WORDS) for _ in range(words))


class Llama:
    """llama.cpp by its C interface, as its own programs drive it: one call a step for all sequences."""

    def __init__(self, path, cores):
        from llama_cpp import __version__, llama_cpp
        self.lib, self.cores, self.version = llama_cpp, cores, __version__
        self.silence = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(self.silence, None)
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        self.vocabulary = llama_cpp.llama_model_get_vocab(self.model)
        self.size = llama_cpp.llama_vocab_n_tokens(self.vocabulary)

    def tokens(self, text):
        data, room = text.encode(), 4 * len(text) + 8
        found = (self.lib.llama_token * room)()
        count = self.lib.llama_tokenize(self.vocabulary, data, len(data), found, room, False, False)
        return list(found[:count])

    def context(self, sequences, positions):
        settings = self.lib.llama_context_default_params()
        settings.n_ctx, settings.n_batch, settings.n_seq_max = sequences * positions, 2048, sequences
        settings.n_threads = settings.n_threads_batch = self.cores
        return self.lib.llama_init_from_model(self.model, settings)

    def step(self, context, rows):
        """Rows are (token, position, sequence, whether what follows is wanted). Returns the likeliest tokens."""
        import numpy
        batch = self.lib.llama_batch_init(len(rows), 0, 1)
        batch.n_tokens = len(rows)
        for n, (token, position, sequence, wanted) in enumerate(rows):
            batch.token[n], batch.pos[n], batch.logits[n] = token, position, wanted
            batch.n_seq_id[n], batch.seq_id[n][0] = 1, sequence
        if self.lib.llama_decode(context, batch):
            sys.exit("llama.cpp fails to take a step")
        self.lib.llama_batch_free(batch)
        logits = (self.lib.llama_get_logits_ith(context, n) for n, row in enumerate(rows) if row[3])
        return [int(numpy.argmax(numpy.ctypeslib.as_array(row, shape=(self.size,)))) for row in logits]

    def decodes(self, prompts, tokens):
        """Tokens a second behind the prompts."""
        texts = [self.tokens(text) for text in prompts]
        context = self.context(len(texts), max(map(len, texts)) + tokens)
        last = [self.step(context, [(token, n, s, n + 1 == len(text)) for n, token in enumerate(text)])[0]
                for s, text in enumerate(texts)]
        start = time.perf_counter()
        for n in range(tokens):
            last = self.step(context, [(last[s], len(text) + n, s, True) for s, text in enumerate(texts)])
        seconds = time.perf_counter() - start
        self.lib.llama_free(context)
        return len(texts) * tokens / seconds

    def reads(self, text):
        """Tokens a second of a prompt."""
        tokens = self.tokens(text)
        context = self.context(1, len(tokens) + 1)
        start = time.perf_counter()
        self.step(context, [(token, n, 0, n + 1 == len(tokens)) for n, token in enumerate(tokens)])
        seconds = time.perf_counter() - start
        self.lib.llama_free(context)
        return len(tokens) / seconds


class Ditron:
    def __init__(self, options):
        self.command = [options.program, options.model, "--json"] + (["--cores", str(options.cores)] if options.cores else [])

    def run(self, *words):
        done = subprocess.run([*self.command, *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr.strip())
        return [json.loads(line) for line in done.stdout.splitlines()]

    def decodes(self, prompts, tokens):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(prompts) + "\n")
            file.flush()
            texts = self.run("--prompts", file.name, "--batch", len(prompts), "--tokens", tokens)
        return sum(text["tokens"] for text in texts) / max(text["seconds"] for text in texts)

    def reads(self, text, tokens):
        return tokens / self.run("--tokens", 1, text)[0]["prompt_seconds"]


def measured(options, llama):
    """A line for each batch and for the prompt."""
    ditron, long = Ditron(options), prompt(0, options.words)
    count, cores = len(llama.tokens(long)), llama.cores
    ways = {("decode", b): (lambda b=b: ditron.decodes([prompt(n, 12) for n in range(b)], options.tokens),
                            lambda b=b: llama.decodes([prompt(n, 12) for n in range(b)], options.tokens)) for b in options.batches}
    ways["prompt", 1] = lambda: ditron.reads(long, count), lambda: llama.reads(long)
    for (part, batch), (ours, theirs) in ways.items():
        ours()  # compiles
        rates = [(ours(), theirs()) for _ in range(options.rounds)]
        mine, other = (statistics.median(column) for column in zip(*rates))
        yield {"text": part, "file": pathlib.Path(options.model).name, "backend": "cpu", "batch": batch, "cores": cores,
               "tokens": options.tokens if part == "decode" else count, "tokens_per_second": mine, "peer": "llama.cpp",
               "peer_tokens_per_second": other, "ratio": mine / other, "rounds": options.rounds}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = pathlib.Path(__file__).resolve().parent.parent
    installed = root / "bin" / "generate"
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--program", default=str(installed if installed.exists() else root / "build" / "bin" / "generate"))
    for name, usual in (("cores", 0), ("tokens", 32), ("words", 400), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--batches", default=[1, 8, 64], type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--save", action="store_true", help="append the lines to the file of this machine")
    parser.add_argument("--save-to", default="bench/baselines", help="the folder of that file (bench/baselines)")
    return parser.parse_args(namespace=argparse.Namespace(backend="cpu", ranks=1))


def main():
    options = parse()
    origin, file = decode.provenance(options)
    try:
        llama = Llama(options.model, options.cores or int(origin["machine"].split()[-2]))
    except ImportError as error:
        print(f"skipped: {error}")
        return SKIPPED
    origin["versions"] = origin["versions"] | {"llama-cpp-python": llama.version}
    for line in measured(options, llama):
        print(json.dumps(line), flush=True)
        if options.save:
            saved_lines.append(line | origin | {"date": saved_lines.now()}, options.save_to, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
