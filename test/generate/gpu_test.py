# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small model on emulated GPUs, as one kernel: generate says what it says on the CPU.

usage: gpu_test.py GENERATE FOLDER DRIVER, the folder of the emulated driver
"""
import json
import os
import pathlib
import subprocess
import sys

import tiny_models

GENERATE, FOLDER, DRIVER = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]


def text(path, backend, *options, gpus=1):
    environment = dict(os.environ, LD_LIBRARY_PATH=DRIVER, EMULATED_GPUS=str(gpus)) if backend == "nvidia" else None
    result = subprocess.run([GENERATE, path, "--backend", backend, "--tokens", "2", "--json", *options, "the thing of"],
                            capture_output=True, text=True, env=environment)
    assert result.returncode == 0, f"{path} {backend} {options}: {result.returncode}, {result.stderr}"
    return json.loads(result.stdout)["text"]


FOLDER.mkdir(parents=True, exist_ok=True)
tiny_models.llama().writeGguf(FOLDER / "llama.gguf", "llama")
tiny_models.llama(3, ("Q4_1",), tied=False).writeGguf(FOLDER / "Q4_1.gguf", "llama")
tiny_models.llama(3, ("Q8_0", "Q6_K", "Q4_K"), tied=False).writeGguf(FOLDER / "several.gguf", "llama")
tiny_models.llama(3, ("F16",), tied=False).writeGguf(FOLDER / "F16.gguf", "llama")
tiny_models.llama(3, ("BF16",), tied=False).writeGguf(FOLDER / "BF16.gguf", "llama")  # whose matrices lie in blocks
tiny_models.qwen3().writeGguf(FOLDER / "qwen3.gguf", "qwen3", "qwen2")
for name, ranks, gpus in (("llama", 1, 1), ("Q4_1", 2, 2), ("several", 1, 1), ("F16", 2, 1), ("BF16", 1, 1), ("qwen3", 2, 1)):
    path, options = FOLDER / f"{name}.gguf", ("--mode", "megakernel", "--ranks", str(ranks))
    found, expected = text(path, "nvidia", *options, gpus=gpus), text(path, "cpu")
    assert found == expected, f"{path}, {ranks} ranks on {gpus} GPUs: {found!r}, expected {expected!r}"
print("six models, on emulated GPUs as on the CPU")
