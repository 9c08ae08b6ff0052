# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SmolLM2-135M-Instruct: the tokens and the perplexity that a reference in NumPy has.

usage: smollm2_test.py GENERATE INSPECT PACKAGES
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import packages

GENERATE, MODEL = sys.argv[1], packages.modelOf(sys.argv[3])
TEXT = (
    "The Roman Empire was one of the largest empires in history. At its height, it stretched from Britain in the north "
    "to Egypt in the south. Roads, aqueducts and cities were built across its provinces, and Latin became the common "
    "language of law and trade. After the death of Emperor Theodosius, the empire was divided into a western and an "
    "eastern half. The western half fell in the fifth century, while the eastern half survived for another thousand "
    "years with its capital at Constantinople.")


def generate(*arguments):
    return json.loads(subprocess.run([GENERATE, MODEL, "--json", *arguments], capture_output=True, check=True).stdout)


for mode in ("stream", "graph", "megakernel"):
    found = generate("--tokens", "24", "--mode", mode, "The capital of France is")
    assert found["text"] == " Paris.\n\nThe answer is: 2018-01-22 12:1" and found["tokens"] == 24, found
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "text"
    file.write_text(TEXT)
    found = generate("--perplexity", file)
assert abs(found["perplexity"] / 8.56 - 1) < 0.005 and found["tokens"] == 97, found
texts = {(mode, ranks): generate("--tokens", "64", "--mode", mode, "--ranks", ranks, "Once upon a time")["text"]
         for mode, ranks in (("stream", "1"), ("graph", "1"), ("megakernel", "1"), ("stream", "3"), ("graph", "3"), ("megakernel", "3"))}
assert len(set(texts.values())) == 1, texts
answer = generate("--chat", "--tokens", "40", "What is the capital of France?")
assert "Paris" in answer["text"] and answer["tokens"] < 40, answer
print(found, answer)
