# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens of a small vocabulary: what stands in the model's file decides, and texts come back.

usage: tokenizer_test.py INSPECT FOLDER
"""
import json
import pathlib
import random
import subprocess
import sys
import unicodedata

import tiny_models

INSPECT = sys.argv[1]
FOLDER = pathlib.Path(sys.argv[2])


def inspect(path, texts, what="tokens"):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    output = subprocess.run([INSPECT, path, what], input=lines, capture_output=True, text=True, check=True, timeout=60).stdout
    return [json.loads(line) for line in output.split("\n")[:-1]]


def merged(model, word):
    """The tokens of a word: the first merge that is there, until there is none."""
    parts = [tiny_models.ALPHABET[b] for b in word.encode()]
    ranks = {merge: n for n, merge in enumerate(model.merges)}
    while len(parts) > 1:
        rank, n = min((ranks.get((parts[n], parts[n + 1]), 10**9), n) for n in range(len(parts) - 1))
        if rank == 10**9:
            break
        parts[n:n + 2] = [parts[n] + parts[n + 1]]
    return [model.tokens.index(part) for part in parts]


# A text and its words by each pre-tokenizer: "|" stands between them.
WORDS = {
    "gpt-2": ["the| thing| in| | the", "I|'ve| 12| été| 3456| 世界|!?", "a|\n|\n|b| | c|\t|d", "'s|'s|'|S"],
    "smollm": ["the| thing| in| | the", "I|'ve| |1|2| été| |3|4|5|6| 世界|!?", "a|1|2|b", "½|x"],
    "qwen2": ["the| thing|!!\n\n|in", "I|'VE| |1|2| été| |3|4|5|6", "a|\n\n|b| | c", "(the|)|\r\n|x"],
    "llama-bpe": ["the| thing|!!\n\n|in", "I|'VE| |123|456|7", "a|\n\n|b| | c", "x|\n \n|y"],
}


def checkWords(model):
    for name, marked in WORDS.items():
        model.writeGguf(FOLDER / f"{name}.gguf", "llama", name)
        found = inspect(FOLDER / f"{name}.gguf", [text.replace("|", "") for text in marked])
        for text, one in zip(marked, found):
            expected = [t for word in text.split("|") for t in merged(model, word)]
            assert one["tokens"] == expected, f"{name}, {text!r}: {one}, expected {expected}"
            assert one["text"] == text.replace("|", ""), f"{name}, {text!r}: {one}"


def checkSpecials(model, path):
    start, end = model.tokens.index("<|im_start|>"), model.tokens.index("<|im_end|>")
    the = merged(model, "the")
    found = inspect(path, ["the<|im_end|>the<|im_start|>", "<|im_end", "", "<|im_end|><|im_end|>"])
    assert found[0] == {"tokens": [*the, end, *the, start], "text": "thethe"}, found[0]
    assert end not in found[1]["tokens"] and found[1]["text"] == "<|im_end"
    assert found[2]["tokens"] == [] and found[3]["tokens"] == [end, end]
    plain = lambda text: inspect(path, [text])[0]["tokens"]
    chat = inspect(path, ["the <|im_end|> thing"], "chat")[0]["tokens"]
    assert chat[0] == start and chat.count(start) == 2 and chat.count(end) == 1, "a message ends itself"
    assert chat[-len(plain("assistant\n")):] == plain("assistant\n")
    assert chat[1:1 + len(plain("user\n"))] == plain("user\n")


def checkComposition(model):
    split, whole = unicodedata.normalize("NFD", "été"), "été"
    composed = inspect(FOLDER / "qwen2.gguf", [split, whole])
    assert composed[0] == composed[1] and composed[0]["text"] == whole
    assert inspect(FOLDER / "gpt-2.gguf", [split])[0]["text"] == split
    # Each character, and marks in any order.
    rng, assigned = random.Random(7), [chr(c) for c in range(1, 0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    assigned.remove("\u11a7")  # some versions of utf8proc lose it behind a syllable
    marks = [c for c in assigned if unicodedata.combining(c)]
    texts = ["".join(assigned[n:n + 500]) for n in range(0, len(assigned), 500)]
    texts += ["".join(rng.choice(rng.choice((marks, marks, assigned, "aeiou"))) for _ in range(20)) for _ in range(2000)]
    for text, one in zip(texts, inspect(FOLDER / "qwen2.gguf", texts), strict=True):
        assert one["text"] == unicodedata.normalize("NFC", text), f"{text[:40]!a}: {one['text'][:40]!a}"
    # More marks than can be ordered in the square of their number.
    many = rng.choices("\u0301\u0323\u0334\u05b0", k=200000)
    assert inspect(FOLDER / "qwen2.gguf", ["q" + "".join(many)])[0]["text"] == "q" + "".join(sorted(many, key=unicodedata.combining))


def checkEveryCharacter(path):
    """Texts come back, whatever is in them."""
    characters = [chr(c) for c in range(1, 0x110000, 7) if not 0xd800 <= c < 0xe000]
    texts = ["".join(characters[n:n + 50]) for n in range(0, len(characters), 50)]
    for text, one in zip(texts, inspect(path, texts)):
        assert one["text"] == text, f"{text!r} came back as {one['text']!r}"


def checkLongWord(path):
    text = "in" * 100_000
    assert inspect(path, [text])[0]["text"] == text


def checkMarked(model, marked):
    expected = [t for word in marked.split("|") for t in merged(model, word)]
    assert inspect(FOLDER / "hub", [marked.replace("|", "")])[0]["tokens"] == expected, marked


def changeHub(**values):
    path = FOLDER / "hub" / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def checkBegin(model):
    """A token stands in front of a text if the template of one text says so, not if it is named elsewhere."""
    plain, text, begin = merged(model, "the"), {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "<|im_start|>"}}
    names = {"<|im_start|>": {"id": "<|im_start|>", "ids": [1], "tokens": ["<|im_start|>"]}}
    def template(*single):
        return {"type": "TemplateProcessing", "single": single, "pair": [begin, text], "special_tokens": names}
    for processor, expected in [(None, plain), ({"type": "ByteLevel"}, plain), (template(text), plain),
                                (template(begin, text), [1, *plain]),
                                ({"type": "Sequence", "processors": [{"type": "ByteLevel"}, template(begin, text)]}, [1, *plain])]:
        changeHub(post_processor=processor)
        found = inspect(FOLDER / "hub", ["the"])[0]["tokens"]
        assert found == expected, f"{processor}: {found}, expected {expected}"


def checkHub(model):
    """What tokenizer.json says of cutting is what is done; ^ and $ are of every line."""
    model.writeHub(FOLDER / "hub", "LlamaForCausalLM", preTokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": r"\p{N}{1,2}|[^\s\p{N}]+|\s"}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]})
    checkMarked(model, "the|12|34|5| |thing|\n|\n")
    changeHub(pre_tokenizer={"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": "^the|in$|."}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]})
    checkMarked(model, "the|t|h|e|\n|the|i|n|in|\n|in")
    checkBegin(model)


FOLDER.mkdir(parents=True, exist_ok=True)
model = tiny_models.llama(dtypes=("F32",))
checkWords(model)
checkSpecials(model, FOLDER / "smollm.gguf")
checkComposition(model)
checkEveryCharacter(FOLDER / "smollm.gguf")
checkLongWord(FOLDER / "smollm.gguf")
checkHub(model)
print("four pre-tokenizers, special tokens, chats")
