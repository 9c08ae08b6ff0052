# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of weights: every format exact, and whatever is wrong in a file is one error that says so.

usage: formats_test.py INSPECT FOLDER
"""
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys

import tiny_models

INSPECT = sys.argv[1]
FOLDER = pathlib.Path(sys.argv[2])


def tensorsOf(path):
    """Name, shape and elements of each tensor."""
    output = subprocess.run([INSPECT, path, "tensors"], capture_output=True, check=True).stdout
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        head = json.loads(output[at:end])
        count = tiny_models.math.prod(head["shape"])
        yield head["name"], head["shape"], list(struct.unpack_from(f"<{count}f", output, end + 1))
        at = end + 1 + 4 * count


def checkElements(path, nameOf, model):
    expected = {nameOf(name): tensor for name, tensor in model.tensors.items()}
    found = 0
    for name, shape, values in tensorsOf(path):
        assert shape == expected[name].shape, f"{name} is {shape}, expected {expected[name].shape}"
        assert values == expected[name].values, f"{name}, {expected[name].dtype}: other elements"
        found += 1
    assert found == len(expected)


def refused(path, *said):
    """The file is refused, in one line with these words."""
    result = subprocess.run([INSPECT, path, "tokens"], capture_output=True, input=b'"the"\n', timeout=60)
    error = result.stderr.decode(errors="replace")
    assert result.returncode == 1 and error.count("\n") == 1, f"{said}: {result.returncode}, {error}"
    for words in said:
        assert words in error, f"'{words}' is not in: {error}"


def refusedOrRead(path):
    """One line, or no error at all."""
    result = subprocess.run([INSPECT, path, "tokens"], capture_output=True, input=b'"the"\n', timeout=60)
    error = result.stderr.decode(errors="replace")
    assert (result.returncode, error.count("\n")) in ((0, 0), (1, 1)), f"{result.returncode}, {error}"


def accepted(path):
    result = subprocess.run([INSPECT, path, "tokens"], capture_output=True, input=b'"the"\n', timeout=60)
    assert result.returncode == 0, result


def checkOtherGguf(model):
    """What would change the results of a model is refused where no step does it; what would not is left out."""
    path = FOLDER / "other.gguf"
    ones = tiny_models.Tensor.ofValues([1.0] * 256)
    for name in ("blk.0.attn_q.bias", "blk.1.ffn_down.bias", "blk.0.attn_q_norm.weight", "blk.0.attn_q.scale",
                 "blk.2.attn_norm.weight", "output.bias", "rope_factors_long.weight"):
        model.writeGguf(path, "llama", extra={name: ones})
        refused(path, "other.gguf", f"tensor '{name}' has no part in this architecture, expected a file without it")
    model.writeGguf(path, "llama", extra={"cls.output.weight": ones, "rope_freqs.weight": tiny_models.Tensor.ofValues([2.0] * 32)},
                    added=[("llama.vocab_size", 4, 279), ("llama.unknown", 4, 1)])
    accepted(path)
    for value in (0.0, -1.0, float("inf"), float("nan")):
        model.writeGguf(path, "llama", extra={"rope_freqs.weight": tiny_models.Tensor.ofValues([1.0, value] + [1.0] * 30)})
        refused(path, f"rope_freqs.weight has {value:g} at 1, expected more than 0")
    factor = ("llama.rope.scaling.factor", 6, -2.0)
    for keys, said in (([factor], "llama.rope.scaling.factor is -2, expected more than 0"),
                       ([factor[:2] + (0.0,)], "llama.rope.scaling.factor is 0"),
                       ([factor[:2] + (float("inf"),)], "llama.rope.scaling.factor is inf"),
                       ([("llama.rope.scale_linear", 6, 0.0)], "llama.rope.scale_linear is 0"),
                       ([("tokenizer.ggml.add_eos_token", 7, True)], "tokenizer.ggml.add_eos_token is true, expected false"),
                       ([("llama.rope.scaling.type", 8, "yarn")], "llama.rope.scaling.type is 'yarn', expected none or linear")):
        model.writeGguf(path, "llama", added=keys, extra={"rope_freqs.weight": tiny_models.Tensor.ofValues([1.0] * 32)})
        refused(path, said)


def checkChangedGguf(model):
    path = FOLDER / "changed.gguf"
    headless = tiny_models.llama()
    headless.metadata = lambda *names: [value for value in model.metadata(*names) if value[0] != "tokenizer.ggml.bos_token_id"]
    headless.writeGguf(path, "llama")
    accepted(path)
    headless.writeGguf(path, "llama", changes={"tokenizer.ggml.add_bos_token": True})
    refused(path, "texts begin with a token, but key tokenizer.ggml.bos_token_id is missing")
    for key, value, said in [
            ("general.architecture", "mamba", "is 'mamba', expected llama or qwen3"),
            ("general.alignment", 48, "general.alignment is 48, expected a power of two"),
            ("llama.block_count", 0, "number of layers is 0"), ("llama.block_count", 2**32 - 1, "number of layers is"),
            ("llama.attention.head_count", 0, "attention.head_count is 0"),
            ("llama.attention.head_count_kv", 3, "4 heads do not share 3 key heads"),
            ("llama.attention.key_length", 63, "attention.value_length is 64, expected 63"),
            ("llama.attention.layer_norm_rms_epsilon", -1.0, "epsilon is -1"),
            ("llama.rope.freq_base", 0.0, "base is 0"), ("tokenizer.ggml.model", "llama", "is 'llama', expected gpt2"),
            ("tokenizer.ggml.pre", "bert", "is 'bert', expected gpt-2, smollm, qwen2 or llama-bpe"),
            ("tokenizer.ggml.eos_token_id", 99999, "eos_token_id is 99999, expected 0 to"),
            ("tokenizer.ggml.token_type", [1], "have 1 types"),
            ("tokenizer.ggml.merges", ["nospace"], "'nospace', expected two tokens"),
            ("tokenizer.ggml.merges", ["q zz"], "'zz' is no token")]:
        model.writeGguf(path, "llama", changes={key: value})
        refused(path, "changed.gguf", said)


def checkBrokenGguf(good):
    path, data = FOLDER / "broken.gguf", good.read_bytes()
    def broken(said, *changes):
        copy = bytearray(data)
        for place, bytes_ in changes:
            copy[place:place + len(bytes_)] = bytes_
        path.write_bytes(copy)
        refused(path, "broken.gguf", said)
    number = lambda value, code="<Q": struct.pack(code, value)
    broken("does not begin with GGUF", (0, b"GGML"))
    broken("version is 1", (4, number(1, "<I")))
    broken("it is big-endian, expected a little-endian one", (4, number(3, ">I")))
    broken("18446744073709551615 tensors do not fit", (8, number(2**64 - 1)))
    broken("keys do not fit", (16, number(2**40)))
    broken("bytes of a key do not fit", (24, number(2**63)))
    place = data.index(b"token_embd.weight") + len(b"token_embd.weight")
    broken("has 9 dimensions", (place, number(9, "<I")))
    broken("has the shape", (place + 4, number(0)))
    broken("has the shape", (place + 4, number(2**63)))
    broken("expected a multiple of", (place + 24, number(17)))
    broken("but the file has", (place + 24, number(2**60)))
    for kind, name in ((99, "99"), (13, "Q5_K (13)"), (23, "IQ4_XS (23)"), (28, "F64 (28)"), (39, "MXFP4 (39)")):
        broken(f"is of type {name}, expected", (place + 20, number(kind, "<I")))
    place = data.index(b"blk.0.attn_v.weight") + len(b"blk.0.attn_v.weight")
    broken("expected a multiple of", (place + 4, number(250)))
    broken("is there twice", (data.index(b"blk.1.attn_q.weight"), b"blk.0"))
    rng, header = random.Random(5), data.index(b"token_embd.weight") + 3000
    for length in [0, 3, 4, 7, 8, 20, 23, 24, *(rng.randrange(header) for _ in range(60)), len(data) - 1]:
        path.write_bytes(data[:length])
        refused(path, "broken.gguf")
    for _ in range(150):
        copy = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            copy[rng.randrange(header)] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.randrange(256)))
        path.write_bytes(copy)
        refusedOrRead(path)


def textOf(data):
    """The header of a safetensors file."""
    return data[8:8 + struct.unpack("<Q", data[:8])[0]].decode()


def withText(data, text):
    """The same file with another header."""
    return struct.pack("<Q", len(text)) + text.encode() + data[8 + len(textOf(data)):]


def withModel(**values):
    return {"model": {"type": "BPE", "vocab": {}, "merges": []} | values}


def withTemplate(*single):
    return {"post_processor": {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {}}}


def withAdded(**values):
    return {"added_tokens": [{"id": 0, "content": "caf\u00e9", "special": True} | values]}


def withExpression(text):
    split = {"type": "Split", "pattern": {"Regex": text}, "behavior": "Isolated", "invert": False}
    return {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, {"type": "ByteLevel", "add_prefix_space": False}]}}


TEXT, END = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}}
# What tokenizer.json may say that would give other tokens.
OTHER_TOKENIZERS = [
    (withModel(dropout=0.1), "dropout is 0.1, expected none"),
    (withModel(end_of_word_suffix="</w>"), "end_of_word_suffix is '</w>', expected none"),
    (withModel(continuing_subword_prefix="##"), "continuing_subword_prefix is '##', expected none"),
    (withAdded(lstrip=True), "lstrip of the added token 'café' is true, expected false"),
    (withAdded(rstrip=True), "rstrip of the added token"),
    (withAdded(single_word=True), "single_word of the added token"),
    (withAdded(normalized=True) | {"normalizer": {"type": "NFC"}}, "normalized of the added token"),
    (withTemplate(TEXT, END), "expected one token in front of it or none"),
    (withTemplate(END, TEXT, END), "expected one token in front of it or none"),
    (withTemplate(END, TEXT), '"<|im_end|>" is missing'),
    ({"post_processor": {"type": "RobertaProcessing"}}, "the post_processor has a RobertaProcessing"),
    ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "ByteLevel", "add_prefix_space": False}, {"type": "Digits", "individual_digits": True}]}},
     "a step behind ByteLevel"),
    *[(withExpression(rf"x|[a-c]{form}"), f"of the pre-tokenizer has {found}, expected one without it") for form, found in [
        (r"|\h", r"\h"), (r"|\w+", r"\w"), (r"|[\d&&[^1]]", "&&"), ("{1,3}+", "}+"), ("|(?im:.)", "(?im"), ("[[:alpha:]]", "[:")]]]


def checkBrokenHub(good):
    folder = FOLDER / "broken"
    def broken(name, said, change):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(good, folder)
        file = folder / name
        file.write_bytes(change(file.read_bytes()))
        refused(folder, name, said)
    def changed(**values):
        return lambda data: json.dumps(json.loads(data) | values).encode()
    def header(change):
        def apply(data):
            tensors = json.loads(textOf(data))
            change(tensors["model.norm.weight"])
            return withText(data, json.dumps(tensors))
        return apply
    weights, tokenizer = "model.safetensors", "tokenizer.json"
    broken(weights, "less than 8 bytes", lambda data: data[:7])
    broken(weights, "a header of", lambda data: struct.pack("<Q", 2**63) + data[8:])
    broken(weights, "no JSON", lambda data: data[:8] + b"?" + data[9:])
    broken(weights, "levels of JSON", lambda data: struct.pack("<Q", 5000) + b"[" * 5000 + data)
    broken(weights, "is of I64", header(lambda t: t.update(dtype="I64")))
    broken(weights, "has the shape", header(lambda t: t.update(shape=[-1])))
    broken(weights, "has bytes", header(lambda t: t.update(data_offsets=[0, 2**62])))
    broken(weights, "has bytes", header(lambda t: t.update(data_offsets=[8, 4])))
    broken(weights, "has 1 numbers in data_offsets, expected 2", header(lambda t: t.update(data_offsets=[8])))
    broken(weights, "has 3 numbers in data_offsets, expected 2", header(lambda t: t["data_offsets"].append(9)))
    broken("config.json", "expected LlamaForCausalLM", changed(architectures=["MambaForCausalLM"]))
    broken("config.json", '"hidden_size": type must be number, but is string', changed(hidden_size="wide"))
    broken("config.json", "attention_bias is true", changed(attention_bias=True))
    broken("config.json", "an id up to", changed(eos_token_id=10**9))
    broken(tokenizer, "no JSON that can be read: parse error at line 1", lambda data: data[:-9])
    broken(tokenizer, '"model" is missing', lambda data: b"{}")
    broken(tokenizer, "has a Metaspace", changed(pre_tokenizer={"type": "Metaspace"}))
    broken(tokenizer, "normalizer is Lowercase", changed(normalizer={"type": "Lowercase"}))
    broken(tokenizer, "the tokenizer is Unigram", changed(model={"type": "Unigram"}))
    broken(tokenizer, "has the id -5", changed(added_tokens=[{"id": -5, "content": "x", "special": True}]))
    for value, said in OTHER_TOKENIZERS:
        broken(tokenizer, said, changed(**value))
    shutil.copy(good / tokenizer, folder / tokenizer)
    (folder / weights).unlink()
    refused(folder, "has neither model.safetensors nor")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"model.norm.weight": "../secret"}}')
    refused(folder, "expected a file beside this one")


def checkOtherHub(good):
    """Settings and tensors that would change the results, and are refused, beside those that would not."""
    folder = FOLDER / "other"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    def withConfig(**values):
        shutil.copy(good / "config.json", folder)
        tiny_models.changeConfig(folder, **values)
    for key, value, said in [
            ("rope_scaling", {"rope_type": "yarn"}, "rope_scaling is of type 'yarn', expected default, linear or llama3"),
            ("rope_parameters", {"rope_theta": 1e4, "rope_type": "yarn"}, "rope_parameters is of type 'yarn'"),
            ("rope_parameters", {"rope_theta": 1e6}, "rope_theta is 10000, and rope_parameters.rope_theta is 1000000: expected one"),
            ("rope_parameters", {"full_attention": {"rope_theta": 1e4}}, "rope_parameters.full_attention is an object"),
            ("rope_parameters", {"partial_rotary_factor": 0.5}, "rope_parameters.partial_rotary_factor is 0.5, expected 1"),
            ("rope_scaling", "yarn", 'rope_scaling is "yarn", expected an object'),
            ("rope_scaling", ["yarn"], 'rope_scaling is ["yarn"], expected an object'),
            ("rope_scaling", {"factor": 2.0}, "rope_scaling has a factor, but no rope_type"),
            ("rope_scaling", {"type": "linear", "factor": 0}, "rope_scaling.factor is 0, expected more than 0"),
            ("rope_parameters", {"type": "linear", "factor": -2}, "rope_parameters.factor is -2, expected more than 0"),
            ("rope_scaling", {"type": "linear"}, '"factor" is missing'),
            ("rope_scaling", {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4,
                              "original_max_position_embeddings": 8192}, "high_freq_factor is 4, expected more than 4"),
            ("hidden_act", "gelu", "hidden_act is 'gelu', expected silu or swish"),
            ("partial_rotary_factor", 0.5, "partial_rotary_factor is 0.5, expected 1"),
            ("layer_types", ["full_attention", "sliding_attention"], "layer_types has 'sliding_attention', expected full"),
            ("tie_word_embeddings", False, "tie_word_embeddings is false, expected a tensor 'lm_head.weight'")]:
        withConfig(**{key: value})
        refused(folder, "config.json", said)
    withConfig(rope_scaling={"type": "linear", "factor": 2}, rope_parameters={"rope_type": "linear", "factor": 4})
    refused(folder, "config.json", "rope_parameters and rope_scaling give other factors")
    withConfig(rope_theta=None, rope_parameters={"rope_type": "default"})
    refused(folder, "config.json", "rope_parameters.rope_theta is missing")
    for activation in ("silu", "swish"):
        withConfig(hidden_act=activation, partial_rotary_factor=1.0, tie_word_embeddings=True,
                   layer_types=["full_attention"] * 2, attention_bias=False, unknown=[1])
        accepted(folder)


def shifted(entry):
    """A tensor of the same shape, 8 bytes behind this one."""
    return json.dumps(entry | {"data_offsets": [place + 8 for place in entry["data_offsets"]]})


def checkOtherTensors(good):
    """The same of the tensors of a safetensors file."""
    folder = FOLDER / "other"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(good, folder)
    data = (good / "model.safetensors").read_bytes()
    tensors = json.loads(textOf(data))
    norm, embedding = (json.dumps(tensors[f"model.{name}.weight"]) for name in ("norm", "embed_tokens"))
    def withTensors(text):
        (folder / "model.safetensors").write_bytes(withText(data, textOf(data)[:-1] + ", " + text + "}"))
    for name in ("model.norm.bias", "model.layers.1.self_attn.k_proj.bias", "model.layers.0.self_attn.q_norm.weight"):
        withTensors(f'"{name}": {norm}')
        refused(folder, f"tensor '{name}' has no part in this architecture")
    withTensors(f'"model.norm.weight": {norm}')
    refused(folder, "model.safetensors", '"model.norm.weight" is there twice')
    for text, said in (('{"dtype": "F32"}', '"shape" is missing'), ('{"dtype": 3}', '"dtype": type must be string'), ("3", '"dtype" is missing')):
        withTensors(f'"x": {text}')
        refused(folder, f"tensor 'x': {said}")
    withTensors(f'"x": {norm[:-1]}, "shape": [1]}}')
    refused(folder, "model.safetensors", '"shape" is there twice')
    withTensors(f'"model.layers.0.self_attn.rotary_emb.inv_freq": {norm}, "lm_head.weight": {embedding}')
    for isTied in (False, True):
        tiny_models.changeConfig(folder, tie_word_embeddings=isTied)
        accepted(folder)
    withTensors(f'"lm_head.weight": {shifted(tensors["model.embed_tokens.weight"])}')
    refused(folder, "tie_word_embeddings is true, expected false, or the same numbers in 'lm_head.weight' and")
    tiny_models.changeConfig(folder, tie_word_embeddings=False, num_hidden_layers=1)
    refused(folder, "tensor 'model.layers.1.input_layernorm.weight' has no part in this architecture")


FOLDER.mkdir(parents=True, exist_ok=True)
llama = tiny_models.llama()
llama.writeGguf(FOLDER / "llama.gguf", "llama")
checkElements(FOLDER / "llama.gguf", tiny_models.ggufName, llama)
checkChangedGguf(llama)
checkOtherGguf(llama)
checkBrokenGguf(FOLDER / "llama.gguf")
hub = tiny_models.llama(3, ("F32", "F16", "BF16"), tied=True, form="halves")
hub.writeHub(FOLDER / "llama", "LlamaForCausalLM")
checkElements(FOLDER / "llama", tiny_models.hubName, hub)
checkBrokenHub(FOLDER / "llama")
checkOtherHub(FOLDER / "llama")
checkOtherTensors(FOLDER / "llama")
print(f"{len(tiny_models.FORMATS)} formats exact; broken files are refused")
