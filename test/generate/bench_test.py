# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""decode-bench on small models: every mode takes the same steps, on the CPU and on an emulated GPU. bench/decode.py keeps
what they take, and bench/texts.py what texts take.

usage: bench_test.py DECODE-BENCH DRIVER SCRIPTS DITRON; DRIVER and SCRIPTS: the folders of the emulated driver and of bench/*.py
"""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tiny_models

BENCH, DRIVER, SCRIPTS, DITRON = sys.argv[1:5]
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
for dtype, element in (("bf16", 2), ("f16", 2), ("f32", 4), ("q8-0", 1 + 2 / 32), ("q4-1", 1 / 2 + 4 / 32)):
    checkBytes(lines("--dtype", dtype, "--batch", "3", *modes)[0], element)
alone = lines(*modes)[0]["tokens"]
assert lines("--ranks", "2", *modes)[0]["ranks"] == 2
assert lines("--backend", "reference")[0]["tokens"] == alone
emulated = lines("--backend", "nvidia", "--mode", "stream,megakernel", driver=DRIVER)[0]
assert emulated["tokens"] == alone
checkBytes(emulated, 2, ofCache=2)  # which rounds rows to bf16
checkBytes(lines("--backend", "nvidia", "--dtype", "q4-1", "--mode", "megakernel", driver=DRIVER)[0], 2, ofCache=2)
lines("--backend", "nvidia", "--batch", "2", "--layers", "1", driver=DRIVER)
# The code of a step does not grow with the layers.
texts = [run("tiny", "--text", "--layers", layers).stdout for layers in ("2", "36")]
assert len({text.count("func.func") for text in texts}) == 1, "kernels of 2 and of 36 layers"
assert texts[1].count("task.node") - texts[0].count("task.node") == 34 * 7, "tasks of 34 layers"
# And is free of races and deadlocks, as the check proves from the text.
for batch, ranks in ((1, 1), (3, 1), (8, 2)):
    text = run("tiny", "--text", "--batch", str(batch), "--ranks", str(ranks)).stdout
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        shape = ["--shape", f"T={batch},W={batch}"] if batch > 1 else []
        checked = subprocess.run([DITRON, "check", file.name, "--ranks", str(ranks), *shape], capture_output=True, text=True, timeout=170)
    assert checked.returncode == 0 and "clean (proved" in checked.stdout, (batch, checked)
for options, said in ((["gpt"], "the model is 'gpt', expected one of qwen3-0.6b"), (["tiny", "--batch", "65"], "--batch is 65"),
                      (["tiny", "--mode", "fast"], "--mode is 'fast'"), (["tiny", "--mode", "stream,,graph"], "--mode is ''"),
                      (["tiny", "--mode", "stream,"], "--mode is ''"), (["tiny", "--dtype", "i8"], "--dtype is 'i8'"),
                      (["tiny", "--context", "0"], "--context is 0"), (["tiny", "--ranks", "3"], "--ranks is 3"),
                      (["tiny", "--layers", "0"], "--layers is 0"), (["tiny", "--bandwidth", "0"], "--bandwidth is 0"),
                      (["tiny", "--bandwidth", "inf"], "--bandwidth is inf"), (["tiny", "--trace", "-"], "other than '-'"),
                      (["tiny", "--text", "--trace", "x.json"], "expected no --trace with it"),
                      (["tiny", "--seconds", "-1"], "--seconds is -1"), (["tiny", "--seconds", "1s"], "--seconds is '1s', expected a number"), (["tiny", "--checked", "0"], "--checked is 0")):
    error = run(*options, status=2).stderr
    assert said in error and error.count("\n") == 1, f"{options}: {error}"

# What bench/decode.py keeps, also beside a stand-in for PyTorch, which has these tokens.
PYTORCH = """version = "0.0"
class Peers:
    def __init__(self, sizes, options):
        self.version, self.options, self.rounds = version, options, 0
        self.expected = {tokens}
    def time(self, seconds):
        self.rounds += 1
    def medians(self):
        return {{name: self.rounds * 1e-3 for name in self.options.peers}}
def is_there(backend):
    return True
"""
RANK = """import itertools, json, sys
rank, ranks, options = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[4])
assert ranks == 2 and options["peers"] == ["graph"] and options["sizes"]["width"] == 64, sys.argv
for answer in itertools.chain([{"torch": "0.0"}], ({"graph": 4e-3} for _ in sys.stdin)):
    if rank == 0:
        print(json.dumps(answer), flush=True)
"""


def decode(scripts, *arguments, status=0, driver=None):
    """Lines on stdout, and those of the one file that was kept; else what it says."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, os.path.join(scripts, "decode.py"), "--program", BENCH, "--model", "tiny", *SHORT, *arguments]
        environment = {**os.environ, "LD_LIBRARY_PATH": driver or ""}
        done = subprocess.run(command + ["--save", "--save-to", folder], capture_output=True, text=True, env=environment, timeout=170)
        assert done.returncode == status, f"{arguments}: {done.returncode}, {done.stderr}"
        kept = {path.name: [json.loads(line) for line in path.read_text().splitlines()] for path in pathlib.Path(folder).iterdir()}
        if status:
            assert not kept, kept
            return done.stderr
        (name, lines), = kept.items()
        return [json.loads(line) for line in done.stdout.splitlines()], lines, name


printed, kept, name = decode(SCRIPTS, "--backend", "cpu", "--cores", "2", "--modes", "stream,megakernel", "--peers", "none")
assert [line["mode"] for line in kept] == ["stream", "megakernel"] and name.endswith(".jsonl"), (name, kept)
for line, same in zip(kept, printed):
    assert all(line[key] == same[key] for key in same if key != "device"), line
    assert line["machine"].endswith(" CPUs") and set(line["versions"]) == {"ditron", "llvm"} and line["date"].endswith("Z"), line
    assert math.isclose(line["over_floor"], line["median_s"] / line["floor_s"]) and "tokens" not in line, line
(_,), (line,), name = decode(SCRIPTS, "--modes", "stream", "--peers", "none", driver=DRIVER)
assert (line["machine"], name, line["versions"]["driver"][-9:]) == ("Emulated GPU", "emulated-gpu.jsonl", "CUDA 13.0"), line
for options, said in ((["--peers", "fast"], "--peers is fast"), (["--ranks", "2", "--peers", "compiled"], "expected none or graph on several ranks"),
                      (["--ranks", "2", "--peers", "graph", "--backend", "cpu"], "--peers is graph"),
                      (["--ranks", "3"], "--ranks is 3, expected a divisor of 4, the heads of tiny"),
                      (["--dtype", "q4-1", "--peers", "graph"], "--peers is graph, expected none: PyTorch's model has no matrices in q4-1"),
                      (["--layers", "1"], "expected no --layers")):
    assert said in decode(SCRIPTS, *options, status=2), options
(_,), (line,), _ = decode(SCRIPTS, "--backend", "cpu", "--modes", "stream", "--dtype", "q8-0")
assert line["dtype"] == "q8-0" and "torch_median_s" not in line, line
ofF32 = lines("--dtype", "f32")[0]["tokens"]
with tempfile.TemporaryDirectory() as scripts:
    for script in ("decode.py", "processes.py", "saved_lines.py"):
        shutil.copy(os.path.join(SCRIPTS, script), scripts)
    for tokens, status in ((ofF32, 0), ([token + 1 for token in ofF32], 1)):
        pathlib.Path(scripts, "torch_decoder.py").write_text(PYTORCH.format(tokens=tokens))
        found = decode(scripts, "--backend", "cpu", "--dtype", "f32", "--modes", "stream", "--peers", "eager,compiled", status=status)
        if not status:
            (line,), (same,), _ = found
            assert line["torch_median_s"] == same["torch_median_s"] == {"eager": 2e-3, "compiled": 2e-3}, line
            assert math.isclose(same["ratio"]["eager"], 2e-3 / same["median_s"]) and same["versions"]["torch"] == "0.0", same
    # Several ranks have processes of their own, of which the first one speaks.
    pathlib.Path(scripts, "torch_ranks.py").write_text(RANK)
    program = """import json, types, decode
options = types.SimpleNamespace(ranks=2, dtype="bf16", batch=1, context=40, peers=["graph"])
peers = decode.RankPeers(decode.MODELS["tiny"], options)
peers.time(0), peers.time(0), peers.end()
print(json.dumps([peers.version, peers.medians(), [process.returncode for process in peers.ranks.processes]]))"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=scripts, timeout=170)
    assert done.stdout and json.loads(done.stdout) == ["0.0", {"graph": 4e-3}, [0, 0]], (done.stdout, done.stderr)

# A stand-in for llama.cpp: tokens are bytes, and the likeliest one is always the same.
LLAMA = """import ctypes, types
llama_token, llama_log_callback = ctypes.c_int32, lambda function: function
llama_model_default_params = llama_context_default_params = types.SimpleNamespace
llama_model_load_from_file = llama_init_from_model = lambda first, settings: settings
llama_model_get_vocab, llama_vocab_n_tokens = lambda model: model, lambda vocabulary: 8
llama_log_set = llama_backend_init = llama_batch_free = llama_free = llama_decode = lambda *_: 0
llama_get_logits_ith = lambda context, n: None
def llama_tokenize(vocabulary, data, size, tokens, room, special, parsed):
    tokens[:size] = data
    return size
def llama_batch_init(rows, embeddings, sequences):
    return types.SimpleNamespace(**{name: [0] * rows for name in ("token", "pos", "logits", "n_seq_id")}, seq_id=[[0] for _ in range(rows)])
"""
NUMPY = """import types
ctypeslib, argmax = types.SimpleNamespace(as_array=lambda row, shape: row), lambda row: 5
"""
with tempfile.TemporaryDirectory() as folder:
    stand_ins, kept, model = (pathlib.Path(folder, name) for name in ("modules", "kept", "tiny.gguf"))
    (stand_ins / "llama_cpp").mkdir(parents=True)
    (stand_ins / "llama_cpp" / "__init__.py").write_text("__version__ = '0.0'\n")
    (stand_ins / "llama_cpp" / "llama_cpp.py").write_text(LLAMA)
    (stand_ins / "numpy.py").write_text(NUMPY)
    tiny_models.llama(3, ("F32",)).writeGguf(model, "llama")
    program = pathlib.Path(BENCH).with_name("generate")
    done = subprocess.run([sys.executable, os.path.join(SCRIPTS, "texts.py"), model, "--program", program, "--batches", "1,2", "--tokens", "3",
                           "--words", "2", "--rounds", "1", "--cores", "2", "--save", "--save-to", kept],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(stand_ins)}, timeout=170)
    assert done.returncode == 0, done.stderr
    (file,) = kept.iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["text"], line["batch"]) for line in lines] == [("decode", 1), ("decode", 2), ("prompt", 1)], lines
    for line, printed in zip(lines, map(json.loads, done.stdout.splitlines()), strict=True):
        assert all(line[key] == printed[key] for key in printed) and line["versions"]["llama-cpp-python"] == "0.0", line
        assert math.isclose(line["ratio"], line["tokens_per_second"] / line["peer_tokens_per_second"]), line
print("random models of five types, in all modes, and lines that are kept")
