# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of random numbers, of every format: generate computes what plain Python computes.

usage: model_test.py GENERATE INSPECT FOLDER PART

PART: all of one model (llama), several prompts at a time (batches), every form of weights (weights), or other
architectures and files (files).
"""
import json
import math
import pathlib
import struct
import subprocess
import sys

import tiny_models

GENERATE, INSPECT = sys.argv[1:3]
FOLDER, PART = pathlib.Path(sys.argv[3]), sys.argv[4]
TEXT = "In the été of 12 the 世界's    thing,\n\nhere."
PROMPT = "the thing of"


def run(*arguments, status=0, **more):
    result = subprocess.run(arguments, capture_output=True, text=True, **more)
    assert result.returncode == status, f"{arguments}: {result.returncode}, {result.stderr}"
    return result


def tokensOf(path, text):
    return json.loads(run(INSPECT, path, "tokens", input=json.dumps(text) + "\n").stdout)["tokens"]


def textOf(model, tokens):
    back = {c: b for b, c in tiny_models.ALPHABET.items()}
    data = bytes(back[c] for t in tokens if model.tokens[t] not in tiny_models.SPECIALS for c in model.tokens[t])
    return data.decode(errors="replace")


def checkPerplexity(path, model):
    (FOLDER / "text.txt").write_text(TEXT)
    expected = model.perplexity(tokensOf(path, TEXT))
    found = json.loads(run(GENERATE, path, "--perplexity", FOLDER / "text.txt", "--json").stdout)
    assert abs(found["perplexity"] / expected - 1) < 1e-4, f"{path}: perplexity {found}, expected {expected}"
    return found["perplexity"]


def checkModel(path, model, ends):
    """Perplexity of a text, and what follows a prompt as long as the choice is clear."""
    checkPerplexity(path, model)
    tokens, gap = model.greedy(tokensOf(path, PROMPT), 12)
    assert gap > 1e-4, f"{path}: the best two logits are {gap} apart: take another seed"
    tokens = tokens[:min([tokens.index(e) for e in ends if e in tokens], default=12)]
    for mode, ranks in (("stream", 1), ("graph", 1), ("megakernel", 1), ("stream", 2), ("graph", 2),
                        ("megakernel", 2)):
        found = json.loads(run(GENERATE, path, "--tokens", "12", "--mode", mode, "--ranks", str(ranks), "--json",
                               PROMPT).stdout)
        assert set(found) == {"text", "tokens", "prompt_seconds", "seconds", "tokens_per_second"}, found
        where = f"{path}, {mode}, {ranks} ranks"
        assert found["tokens"] == len(tokens), f"{where}: {found}, expected {tokens}"
        sameText(found["text"], textOf(model, tokens), where)
    return tokens


def sameText(found, expected, where):
    """Bytes that are no UTF-8 are replaced one by one, or several at once."""
    squeeze = lambda text: "".join(text.split("\ufffd"))
    assert squeeze(found) == squeeze(expected), f"{where}: {found!r}, expected {expected!r}"


def checkInterpreter(path, model, tokens):
    for options in ([], ["--ranks", "2"], ["--mode", "megakernel"]):
        found = json.loads(run(GENERATE, path, "--tokens", "3", "--backend", "reference", *options, "--json", PROMPT).stdout)
        sameText(found["text"], textOf(model, tokens[:3]), f"reference {options}")


LINES = ["the thing of", "a", "In the été of 12 the 世界's    thing,\n\nhere. ".replace("\n", " ") * 3, "ing in", "the the the", "er"]


def checkBatch(path, *options):
    """Texts of a batch are those that each prompt has alone, in any company."""
    alone = [json.loads(run(GENERATE, path, "--tokens", "8", "--json", *options, line).stdout) for line in LINES]
    for batch, end in (("1", "\n"), ("2", "\r\n"), ("6", "\n"), ("64", "\n")):
        (FOLDER / "prompts.txt").write_bytes("".join(line + end for line in LINES).encode())
        lines = run(GENERATE, path, "--tokens", "8", "--prompts", FOLDER / "prompts.txt", "--batch", batch, *options)
        found = [json.loads(line) for line in lines.stdout.splitlines()]
        for line, one, other in zip(LINES, alone, found, strict=True):
            assert all(one[key] == other[key] for key in ("text", "tokens")), f"{line} in a batch of {batch}: {other}, alone {one}"


def checkLinesAtOnce(path):
    """Each line is there when its prompt is done."""
    (FOLDER / "many.txt").write_text("a\n" * 500)
    process = subprocess.Popen([GENERATE, path, "--tokens", "30", "--batch", "1", "--prompts", FOLDER / "many.txt"], stdout=subprocess.PIPE, text=True)
    first = json.loads(process.stdout.readline())
    assert process.poll() is None
    process.kill()
    process.communicate()
    assert first["tokens"] == 30, first


def checkLostSequence():
    """A token whose embedding is no number ends the sequences that have it, and no other."""
    model, plain, path = tiny_models.llama(3, ("F32",)), FOLDER / "plain.gguf", FOLDER / "lost.gguf"
    model.writeGguf(plain, "llama")
    model.loseToken("q")
    model.writeGguf(path, "llama")
    (FOLDER / "prompts.txt").write_text("\n".join(["the thing", "a q", "ing in", "q"]) + "\n")
    options = ("--tokens", "8", "--prompts", FOLDER / "prompts.txt")
    for more in ([], ["--mode", "megakernel"], ["--ranks", "2"], ["--temperature", "1"]):
        expected = [json.loads(line)["text"] for line in run(GENERATE, plain, *options, *more).stdout.splitlines()]
        result = run(GENERATE, path, *options, *more, status=1)
        found = [json.loads(line) for line in result.stdout.splitlines()]
        assert [("error" in one, one["tokens"]) for one in found] == [(False, 8), (True, 0), (False, 8), (True, 0)], found
        assert [found[n]["text"] for n in (0, 2)] == [expected[n] for n in (0, 2)], (found, expected)
        assert "no numbers" in found[1]["error"] and "2 of 4 prompts: the model's logits are no numbers" in result.stderr, result


def checkTrace(path):
    """The last step as a timeline: each task of the model on the cores that executed it."""
    plain = json.loads(run(GENERATE, path, "--tokens", "4", "--json", PROMPT).stdout)["text"]
    labels = {}
    for mode, ranks in (("stream", "1"), ("graph", "1"), ("megakernel", "1"), ("megakernel", "2")):
        result = run(GENERATE, path, "--tokens", "4", "--mode", mode, "--ranks", ranks, "--cores", "2", "--json",
                     "--trace", FOLDER / "step.json", PROMPT)
        assert json.loads(result.stdout)["text"] == plain
        for said in ("the last step took", "tasks by type", "tasks by core", "critical path"):
            assert said in result.stderr, f"{mode}: {result.stderr}"
        events = json.loads((FOLDER / "step.json").read_text())["traceEvents"]
        labels[mode, ranks] = {e["name"] for e in events if e.get("cat") == "role"}
        assert any(e.get("cat") == "wait" and e["name"].startswith("wait for ") for e in events) == (mode == "megakernel")
    assert len(labels["stream", "1"]) > 8 and labels["stream", "1"] == labels["graph", "1"] == labels["megakernel", "1"], labels
    run(GENERATE, path, "--tokens", "1", "--mode", "megakernel", "--trace", FOLDER / "step.html", PROMPT)
    assert (FOLDER / "step.html").read_text().startswith("<!")


def checkSampling(path):
    def text(*options):
        return json.loads(run(GENERATE, path, "--tokens", "8", "--json", *options, PROMPT).stdout)["text"]
    greedy = text()
    assert text("--temperature", "1", "--top-k", "1") == greedy
    assert text("--temperature", "1", "--top-p", "1e-9") == greedy
    hot = ("--temperature", "3", "--top-k", "100", "--top-p", "0.95", "--seed")
    assert text(*hot, "1") == text(*hot, "1")
    assert len({text(*hot, str(seed)) for seed in range(4)}) > 1


def checkOptions(path):
    (FOLDER / "empty.txt").write_text("a\n\na\n")
    (FOLDER / "bytes.txt").write_bytes(b"the\na \xff\n")
    (FOLDER / "long.txt").write_text("q" * 600)
    for options, status, said in [
            (["--tokens", "0", "a"], 2, "--tokens is 0"), (["--mode", "fast", "a"], 2, "--mode is 'fast'"),
            (["--temperature", "-1", "a"], 2, "--temperature is -1"), (["--top-k", "-1", "a"], 2, "--top-k is -1"),
            (["--top-p", "0", "a"], 2, "--top-p is 0"), (["--ranks", "0", "a"], 2, "--ranks is 0"),
            (["--ranks", "3", "a"], 2, "--ranks is 3, expected a divisor of the model's 4 heads"),
            ([], 2, "no prompt is given"), (["--system", "x", "a"], 2, "--system is given"),
            (["--tokens", "9999", "a"], 2, "the model's context"), (["--batch", "65", "a"], 2, "--batch is 65, expected 1 to 64"),
            (["--prompts", "none.txt"], 1, "'none.txt' cannot be read"), (["--prompts", "x", "a"], 2, "--prompts is a file"),
            (["--perplexity", "none.txt"], 1, "'none.txt' cannot be read"),
            (["--prompts", "/"], 1, "'/' cannot be read: Is a directory"), (["--prompts", FOLDER / "empty.txt"], 2, "empty.txt', line 2: the text has 0 tokens"),
            (["--batch", "2", "a"], 2, "--batch is given, expected --prompts"), (["--top-k", "5", "a"], 2, "--top-k is given without --temperature"),
            (["--seed", "1", "a"], 2, "--seed is given without"), (["--top-p", "0.5", "a"], 2, "--top-p is given without"),
            (["--seed", "-1", "a"], 2, "--seed is -1, expected 0 or more"), (["--tokens", "1e3", "a"], 2, "--tokens is '1e3', expected an integer\n"),
            (["--tokens", str(2**63 - 1), "a"], 2, f"the prompt: {2**63} tokens of prompt and answer, expected at most 512, the model's context"),
            (["--prompts", FOLDER / "bytes.txt"], 1, "bytes.txt', line 2: the text is not UTF-8 at byte 2"),
            (["--perplexity", FOLDER / "bytes.txt"], 1, "bytes.txt': the text is not UTF-8 at byte 6"),
            *[(["--perplexity", FOLDER / "empty.txt", *option], 2, f"{option[0]} is given with --perplexity, which generates nothing")
              for option in (["--trace", "x.json"], ["--temperature", "1"], ["--top-k", "5"], ["--top-p", "0.5"], ["--seed", "1"],
                             ["--tokens", "3"])],
            (["--temperature", "0,5", "a"], 2, "--temperature is '0,5', expected a number\n"),
            (["--temperature", "1", "--top-p", "half", "a"], 2, "--top-p is 'half', expected a number\n"),
            (["--chat", "--system", b"a \xff", "a"], 1, "--system: the text is not UTF-8 at byte 2\n"),
            (["--perplexity", FOLDER / "long.txt"], 2, "long.txt': 600 tokens, expected at most 512, the model's context\n"),
            (["--tokens", str(10**20), "a"], 2, f"--tokens is {10**20}, expected at most"),
            (["--trace", "/none/x", "a"], 1, "'/none/x' cannot be written: No such file"), (["--trace", "-", "a"], 2, "expected a name other than '-'"),
            (["--trace", "", "a"], 2, "--trace is empty"), (["a", "b"], 2, "unexpected argument 'b'"), (["--", "a", "-b"], 2, "unexpected argument '-b' behind --"),
            (["--cores", "1025", "a"], 2, "--cores is 1025, expected 1 to 1024"),
            (["--cores", "2", "--backend", "nvidia", "a"], 2, "--cores 2: backend 'nvidia' runs ranks on all cores of their devices"),
            (["--tokns", "3", "a"], 2, "did you mean --tokens?"), (["--unknown", "a"], 2, "--unknown"), (["--backend", "abacus", "a"], 2, "abacus")]:
        error = run(GENERATE, path, *options, status=status).stderr
        assert said in error and error.count("\n") == 1, f"{options}: {error}"
    (FOLDER / "dash.txt").write_text("-5 the\n")
    behind = run(GENERATE, path, "--tokens", "4", "--json", "--", "-5 the")
    assert json.loads(behind.stdout)["text"] == json.loads(run(GENERATE, path, "--tokens", "4", "--prompts", FOLDER / "dash.txt").stdout)["text"]
    assert "cannot be read" in run(GENERATE, "none.gguf", "a", status=1).stderr


def refused(path, said, *options, status=1, **more):
    error = subprocess.run([GENERATE, path, *options, "a"], capture_output="stdout" not in more, text=True, timeout=60, **more)
    assert error.returncode == status and said in error.stderr and error.stderr.count("\n") == 1, f"{path}: {error}"


def checkFaults(path, model):
    """Files and systems that are not what they should be."""
    with open("/dev/full", "w") as full:
        refused(path, "standard output cannot be written: No space left on device", stdout=full, stderr=subprocess.PIPE)
    wide = FOLDER / "wide.gguf"
    model.writeGguf(wide, "llama", changes={f"llama.attention.{name}_length": 1 << 31 for name in ("key", "value")})
    refused(wide, "the size of a head is 2147483648, expected 1 to 1024")
    for name in ("finalNorm", "embedding"):
        broken = tiny_models.llama(3, ("F32",))
        broken.weight(name).data = struct.pack("<f", math.nan) * (len(broken.weight(name).data) // 4)
        broken.writeGguf(FOLDER / "broken.gguf", "llama")
        for options in ([], ["--temperature", "1"], ["--mode", "megakernel"]):
            refused(FOLDER / "broken.gguf", "the model's logits are no numbers", *options)
            refused(FOLDER / "broken.gguf", "are NaN)", *options)
    small = FOLDER / "small"
    tiny_models.llama(3, ("F32",), form="halves").writeHub(small, "LlamaForCausalLM")
    config = json.loads((small / "config.json").read_text())
    (small / "config.json").write_text(json.dumps(config | {"vocab_size": 100, "eos_token_id": 0}))
    refused(small, "tokens, expected at most 100, the vocabulary's")
    (small / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1e20}))
    refused(small, '"num_hidden_layers" has a number that is not whole')


def checkInfiniteLogits():
    """No token has a probability beside an infinite one; one that is infinitely unlikely is never taken."""
    path, text = FOLDER / "infinite.gguf", FOLDER / "few.txt"
    text.write_text("ab")
    def write(sign):
        model = tiny_models.llama(3, ("F32",))
        gain, head, row = model.weight("finalNorm"), model.weight("head"), model.tokens.index("z")
        gain.values[0] = 100.0
        values = head.values
        values[row * model.width:(row + 1) * model.width] = [sign * 3e38] + [0.0] * (model.width - 1)
        model.tensors |= {"finalNorm": tiny_models.Tensor.ofValues(gain.values), "head": tiny_models.Tensor.ofValues(values)}
        model.weight("head").shape = [len(model.tokens), model.width]
        model.writeGguf(path, "llama")
        return model, row
    model, row = write(1.0)
    logits = model.step(tokensOf(path, "a")[0], 0, model.newCaches())
    assert abs(logits[row]) > 1e39, logits[row]
    sign = math.copysign(1.0, logits[row])
    write(sign)
    for options in (["--temperature", "1", "a"], ["--temperature", "2", "--top-k", "3", "a"], ["--temperature", "1", "--top-p", "0.5", "a"],
                    ["--perplexity", text]):
        error = run(GENERATE, path, *(["--tokens", "1"] if "a" in options else []), *options, status=1).stderr
        assert "the model's logits are no numbers" in error and "(the largest is inf)" in error, error
    model, row = write(-sign)
    run(GENERATE, path, "--tokens", "1", "--temperature", "1", "a")
    expected = model.perplexity(tokensOf(path, "ab"))
    found = json.loads(run(GENERATE, path, "--perplexity", text, "--json").stdout)["perplexity"]
    assert abs(found / expected - 1) < 1e-4, (found, expected)
    text.write_text("abz")
    assert json.loads(run(GENERATE, path, "--perplexity", text, "--json").stdout)["perplexity"] is None
    assert run(GENERATE, path, "--perplexity", text).stdout == "perplexity inf of 3 tokens\n"


def checkLlama():
    """All that generate does, with one model."""
    model, path = tiny_models.llama(), FOLDER / "llama.gguf"
    model.writeGguf(path, "llama")
    tokens = checkModel(path, model, [0])
    checkInterpreter(path, model, tokens)
    checkTrace(path)
    checkSampling(path)
    checkOptions(path)
    checkFaults(path, model)
    checkInfiniteLogits()


def checkBatches():
    """Several prompts at a time, with the same model."""
    path = FOLDER / "llama.gguf"
    tiny_models.llama().writeGguf(path, "llama")
    for options in ([], ["--mode", "megakernel"], ["--ranks", "2"], ["--temperature", "2", "--seed", "5"]):
        checkBatch(path, *options)
    checkLinesAtOnce(path)
    checkLostSequence()


def checkWeights():
    """Models of other weights."""
    # Matrices that stay in 16 bits, and the same numbers in f32.
    for dtype in ("BF16", "F16"):
        short = tiny_models.llama(5, (dtype,), tied=True)
        short.writeGguf(FOLDER / f"{dtype}.gguf", "llama")
        expected = checkPerplexity(FOLDER / f"{dtype}.gguf", short)
        short.tensors = {name: tensor.asF32() for name, tensor in short.tensors.items()}
        short.writeGguf(FOLDER / "wide.gguf", "llama")
        wide = checkPerplexity(FOLDER / "wide.gguf", short)
        assert abs(expected / wide - 1) < 1e-6, f"{dtype}: perplexity {expected}, in f32 {wide}"

    # Matrices that stay in blocks.
    for dtype, isTied in (("Q8_0", True), ("Q4_1", False)):
        packed = tiny_models.llama(3, (dtype,), tied=isTied)
        packed.writeGguf(FOLDER / f"{dtype}.gguf", "llama")
        checkModel(FOLDER / f"{dtype}.gguf", packed, [0])


def checkRope():
    """Rope as transformers 5 writes it, and as versions before it do."""
    model, folder = tiny_models.qwen3(1), FOLDER / "rope"
    plain = model.perplexity(tokensOf(FOLDER / "llama", TEXT))
    model.base, scaled = 1e6, {"rope_type": "linear", "factor": 4.0}
    for factor, forms in ((1.0, [{"rope_theta": 1e6}, {"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}},
                                 {"rope_theta": 1e6, "rope_parameters": {"rope_type": "default"}}]),
                          (4.0, [{"rope_theta": 1e6, "rope_scaling": scaled}, {"rope_parameters": {"rope_theta": 1e6} | scaled},
                                 {"rope_theta": 1e6, "rope_scaling": scaled, "rope_parameters": {"rope_theta": 1e6} | scaled}])):
        model.ropeFactor = factor
        added = [("qwen3.rope.scaling.factor", 6, factor)]
        for more in ({"added": added}, {"added": [*added, ("qwen3.rope.scaling.type", 8, "linear")]},
                     {"extra": {"rope_freqs.weight": tiny_models.Tensor.ofValues([factor] * 8)}}):
            model.writeGguf(FOLDER / "rope.gguf", "qwen3", **more)
            checkPerplexity(FOLDER / "rope.gguf", model)
        for form in forms:
            model.writeHub(folder, "Qwen3ForCausalLM")
            tiny_models.changeConfig(folder, **{"rope_theta": None, "rope_scaling": None} | form)
            assert abs(checkPerplexity(folder, model) / plain - 1) > 1e-3, "rope of other angles is to be seen"


def checkFiles():
    """Models of another architecture, and those of several files."""
    qwen = tiny_models.qwen3()
    qwen.writeGguf(FOLDER / "qwen3.gguf", "qwen3", "qwen2")
    checkModel(FOLDER / "qwen3.gguf", qwen, [0])

    hub = tiny_models.llama(3, ("F32", "F16", "BF16"), tied=True, form="halves")
    hub.writeHub(FOLDER / "llama", "LlamaForCausalLM")
    checkModel(FOLDER / "llama", hub, [0, 2])

    checkRope()

    qwen = tiny_models.qwen3(4, ("BF16",), tied=False)
    qwen.writeHub(FOLDER / "qwen3", "Qwen3ForCausalLM", parts=3)
    checkModel(FOLDER / "qwen3", qwen, [0, 2])
    checkModel(FOLDER / "qwen3" / "model.safetensors.index.json", qwen, [0, 2])


FOLDER.mkdir(parents=True, exist_ok=True)
{"llama": checkLlama, "batches": checkBatches, "weights": checkWeights, "files": checkFiles}[PART]()
print(f"{PART}: as plain Python computes it")
