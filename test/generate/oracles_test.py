# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks as PyPI's gguf reads them, and tokens as PyPI's tokenizers makes them.

usage: oracles_test.py GENERATE INSPECT PACKAGES
"""
import json
import pathlib
import random
import subprocess
import sys

import packages

packages.restartWith(sys.argv[3])

import gguf
import numpy
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

import tiny_models

INSPECT, FOLDER, MODEL = sys.argv[2], pathlib.Path(sys.argv[3]), packages.modelOf(sys.argv[3])

# First and last characters of blocks of Unicode that have not changed for years, and words that
# pre-tokenizers cut in ways of their own.
RANGES = [*[(0x20, 0x7E)] * 6, (0, 0x1F), (9, 13), (0x7F, 0x9F), (0xA0, 0x17F), (0x370, 0x377), (0x400, 0x4FF),
          (0x531, 0x556), (0x5D0, 0x5EA), (0x600, 0x6FF), (0x904, 0x97F), (0x985, 0x9B2), (0xB83, 0xBD7), (0xE01, 0xE5B),
          (0x10A0, 0x10C5), (0x10D0, 0x10FA), (0x1100, 0x11FF), (0x1200, 0x1248), (0x1780, 0x17DD), (0x1810, 0x1842),
          (0x1E00, 0x1EFF), (0x2000, 0x206F), (0x2070, 0x209C), (0x20A0, 0x20BF), (0x2100, 0x218B), (0x2190, 0x23F3),
          (0x2460, 0x24FF), (0x3000, 0x303F), (0x3041, 0x30FF), (0x3131, 0x318E), (0x3220, 0x33FF), (0x4E00, 0x9FEF),
          (0xA000, 0xA48C), (0xAC00, 0xD7A3), (0xF900, 0xFA6D), (0xFE00, 0xFE6B), (0xFF01, 0xFFEE), (0x10000, 0x100FA),
          (0x10330, 0x1034A), (0x1D400, 0x1D7FF), (0x1F300, 0x1F64F), (0x20000, 0x2A6D6)]
WORDS = ["don't", "I'LL", "we've", "'S", "'\u017f", "  ", "   ", "\n\n", "\r\n", "\t", " 123", "12345", "\u00a0", "\u0085",
         "\u180e", "\u3000", "e\u0301", "\u212b", "<|im_start|>", "<|im_end|>"]


def randomTexts(count):
    rng, texts = random.Random(20), []
    for _ in range(count):
        parts = []
        for _ in range(rng.randint(1, 8)):
            first, last = rng.choice(RANGES)
            letters = "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 6)))
            parts.append(rng.choice(WORDS) if rng.random() < 0.3 else letters)
        texts.append("".join(parts))
    return texts


def preTokenizer(name):
    splits = {"gpt-2": [], "smollm": [pre_tokenizers.Digits(individual_digits=True)]}
    if name in splits:
        return pre_tokenizers.Sequence([*splits[name], pre_tokenizers.ByteLevel(add_prefix_space=False)])
    digits = {"qwen2": r"\p{N}", "llama-bpe": r"\p{N}{1,3}"}[name]
    words = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + digits +
             r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(words), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def oracle(tokens, merges, specials, name):
    model = models.BPE(vocab={t: n for n, t in enumerate(tokens)}, merges=merges, ignore_merges=name == "llama-bpe")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = preTokenizer(name)
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in specials])
    return tokenizer


def checkTokens(path, tokenizer, texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    output = subprocess.run([INSPECT, path, "tokens"], input=lines, capture_output=True, text=True, check=True).stdout
    found = [json.loads(line)["tokens"] for line in output.split("\n")[:-1]]
    assert len(found) == len(texts)
    for text, tokens in zip(texts, found):
        expected = tokenizer.encode(text, add_special_tokens=False).ids
        assert tokens == expected, f"{path.name}, {text!a}: {tokens}, expected {expected}"


def checkElements(path):
    """Every tensor of a file, bit by bit."""
    process = subprocess.Popen([INSPECT, path, "tensors"], stdout=subprocess.PIPE)
    for tensor in sorted(gguf.GGUFReader(path).tensors, key=lambda t: t.name.encode()):
        head = json.loads(process.stdout.readline())
        expected = gguf.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32).ravel()
        found = numpy.frombuffer(process.stdout.read(expected.nbytes), numpy.float32)
        assert head["name"] == tensor.name and head["shape"] == [int(n) for n in tensor.shape[::-1]], head
        assert (found == expected).all(), f"{tensor.name}, {tensor.tensor_type.name}: other elements"
    assert process.stdout.read() == b"" and process.wait() == 0


def smollm2():
    fields = gguf.GGUFReader(MODEL).fields
    values = lambda key: fields[f"tokenizer.ggml.{key}"].contents()
    tokens, kinds = values("tokens"), values("token_type")
    specials = [t for t, kind in zip(tokens, kinds) if kind == gguf.TokenType.CONTROL]
    return oracle(tokens, [tuple(m.split(" ")) for m in values("merges")], specials, "smollm")


texts = randomTexts(10_000)
checkTokens(MODEL, smollm2(), texts)
model = tiny_models.llama()
for name in ("gpt-2", "smollm", "qwen2", "llama-bpe"):
    model.writeGguf(FOLDER / f"{name}.gguf", "llama", name)
    checkTokens(FOLDER / f"{name}.gguf", oracle(model.tokens, model.merges, tiny_models.SPECIALS, name), texts)
checkElements(FOLDER / "gpt-2.gguf")
checkElements(MODEL)
print(f"{len(texts)} texts by five tokenizers; the elements of {len(tiny_models.FORMATS)} formats and of SmolLM2")
