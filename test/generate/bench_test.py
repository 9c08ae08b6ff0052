# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""decode-bench on small models: every mode takes the same steps, on the CPU and on an emulated GPU.

usage: bench_test.py DECODE-BENCH DRIVER, the folder of the emulated driver
"""
import json
import math
import os
import subprocess
import sys

BENCH, DRIVER = sys.argv[1:3]
SHORT = ("--seconds", "0", "--checked", "2", "--context", "40")


def run(*arguments, status=0, driver=None):
    environment = dict(os.environ, LD_LIBRARY_PATH=driver) if driver else None
    result = subprocess.run([BENCH, *arguments], capture_output=True, text=True, env=environment, timeout=170)
    assert result.returncode == status, f"{arguments}: {result.returncode}, {result.stderr}"
    return result


def lines(*arguments, driver=None):
    found = [json.loads(line) for line in run("tiny", *SHORT, *arguments, driver=driver).stdout.splitlines()]
    for line in found:
        assert line["same_tokens"] and line["min_s"] <= line["median_s"] and line["steps"] >= 3, line
        assert math.isclose(line["floor_s"], (line["weight_bytes"] + line["cache_bytes"]) / line["bandwidth"]), line
        assert len(line["tokens"]) == line["batch"] * 2 and line["tokens"] == found[0]["tokens"], line
    return found


def checkBytes(line, element, ofCache=4):
    width, feedForward, heads, keyHeads, head = 64, 96, 4, 2, 16
    layer = width * ((heads + 2 * keyHeads) * head + heads * head + 3 * feedForward)
    assert line["weight_bytes"] == element * (320 * width + 2 * layer), line
    assert line["cache_bytes"] == 2 * 2 * keyHeads * head * ofCache * line["batch"] * 41, line


modes = ("--mode", "stream,graph,megakernel")
for dtype, element in (("bf16", 2), ("f16", 2), ("f32", 4)):
    checkBytes(lines("--dtype", dtype, "--batch", "3", *modes)[0], element)
alone = lines(*modes)[0]["tokens"]
assert lines("--ranks", "2", *modes)[0]["ranks"] == 2
assert lines("--backend", "reference")[0]["tokens"] == alone
emulated = lines("--backend", "nvidia", "--mode", "stream,megakernel", driver=DRIVER)[0]
assert emulated["tokens"] == alone
checkBytes(emulated, 2, ofCache=2)  # which rounds rows to bf16
lines("--backend", "nvidia", "--batch", "2", "--layers", "1", driver=DRIVER)
# The code of a step does not grow with the layers.
texts = [run("tiny", "--text", "--layers", layers).stdout for layers in ("2", "36")]
assert len({text.count("func.func") for text in texts}) == 1, "kernels of 2 and of 36 layers"
assert texts[1].count("task.node") - texts[0].count("task.node") == 34 * 7, "tasks of 34 layers"
for options, said in ((["gpt"], "the model is 'gpt', expected one of qwen3-0.6b"), (["tiny", "--batch", "65"], "--batch is 65"),
                      (["tiny", "--mode", "fast"], "--mode is 'fast'"), (["tiny", "--dtype", "i8"], "--dtype is 'i8'"),
                      (["tiny", "--context", "0"], "--context is 0"), (["tiny", "--ranks", "3"], "--ranks is 3"),
                      (["tiny", "--seconds", "-1"], "--seconds is -1"), (["tiny", "--checked", "0"], "--checked is 0")):
    error = run(*options, status=2).stderr
    assert said in error and error.count("\n") == 1, f"{options}: {error}"
print("random models of three types, in all modes")
