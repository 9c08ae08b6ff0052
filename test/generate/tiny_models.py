# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small language models of random numbers, written as GGUF and safetensors, and what they compute.

Written from the formats' descriptions, in plain Python, apart from the code that it tests.
"""
import copy
import json
import math
import pathlib
import random
import struct


def toHalf(value):
    return struct.pack("<e", value)


def fromHalf(data):
    return struct.unpack("<e", data)[0]


def toFloat(value):
    """The nearest binary32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


# ---- blocks ---------------------------------------------------------------------------------------
# Products of a scale and a small integer are exact in a double, so one rounding at the end is what
# arithmetic in binary32 gives too.

def decodeF32(block):
    return list(struct.unpack("<f", block))


def decodeF16(block):
    return [fromHalf(block)]


def decodeBf16(block):
    return list(struct.unpack("<f", b"\0\0" + block))


def nibbles(data):
    return [byte & 15 for byte in data] + [byte >> 4 for byte in data]


def fifthBits(data):
    number = struct.unpack("<I", data)[0]
    return [number >> n & 1 for n in range(32)]


def decodeQ4_0(block):
    return [fromHalf(block[:2]) * (q - 8) for q in nibbles(block[2:])]


def decodeQ4_1(block):
    scale, least = fromHalf(block[:2]), fromHalf(block[2:4])
    return [scale * q + least for q in nibbles(block[4:])]


def decodeQ5_0(block):
    bits = fifthBits(block[2:6])
    return [fromHalf(block[:2]) * (q + 16 * bit - 16) for q, bit in zip(nibbles(block[6:]), bits)]


def decodeQ5_1(block):
    scale, least, bits = fromHalf(block[:2]), fromHalf(block[2:4]), fifthBits(block[4:8])
    return [scale * (q + 16 * bit) + least for q, bit in zip(nibbles(block[8:]), bits)]


def decodeQ8_0(block):
    return [fromHalf(block[:2]) * q for q in struct.unpack("<32b", block[2:])]


def decodeQ4_K(block):
    scale, least, packed = fromHalf(block[:2]), fromHalf(block[2:4]), block[4:16]
    scales = [byte & 63 for byte in packed[:4]]
    scales += [packed[8 + n] & 15 | packed[n] >> 6 << 4 for n in range(4)]
    leasts = [byte & 63 for byte in packed[4:8]]
    leasts += [packed[8 + n] >> 4 | packed[4 + n] >> 6 << 4 for n in range(4)]
    values = []
    for pair in range(4):
        data = block[16 + 32 * pair:48 + 32 * pair]
        for part, quants in ((2 * pair, [b & 15 for b in data]), (2 * pair + 1, [b >> 4 for b in data])):
            values += [scale * scales[part] * q - least * leasts[part] for q in quants]
    return values


def decodeQ6_K(block):
    low, high, scales = block[:128], block[128:192], struct.unpack("<16b", block[192:208])
    scale, values = fromHalf(block[208:]), []
    for side in range(2):
        ql, qh = low[64 * side:64 * side + 64], high[32 * side:32 * side + 32]
        quants = [ql[n] & 15 | (qh[n] & 3) << 4 for n in range(32)]
        quants += [ql[32 + n] & 15 | (qh[n] >> 2 & 3) << 4 for n in range(32)]
        quants += [ql[n] >> 4 | (qh[n] >> 4 & 3) << 4 for n in range(32)]
        quants += [ql[32 + n] >> 4 | (qh[n] >> 6 & 3) << 4 for n in range(32)]
        values += [scale * scales[8 * side + n // 16] * (q - 32) for n, q in enumerate(quants)]
    return values


def randomBlock(rng, scales, size):
    """A block of random bytes behind halves of these values."""
    return b"".join(toHalf(s) for s in scales) + rng.randbytes(size - 2 * len(scales))


def randomF32(rng):
    return struct.pack("<f", rng.gauss(0, 0.06))


def randomQ4_K(rng):
    return randomBlock(rng, (rng.uniform(1, 3) * 3e-4, rng.uniform(1, 3) * 2e-3), 144)


def randomQ6_K(rng):
    return rng.randbytes(192) + struct.pack("<16b", *(rng.randint(-40, 40) for _ in range(16))) + toHalf(
        rng.uniform(1, 3) * 1e-4)


def randomScaled(size, scale, least=None):
    def make(rng):
        s = rng.uniform(0.5, 1.5) * scale
        return randomBlock(rng, (s,) if least is None else (s, least * s), size)
    return make


# name: number in GGUF, elements and bytes of a block, a random block, its elements
FORMATS = {
    "F32": (0, 1, 4, randomF32, decodeF32),
    "F16": (1, 1, 2, lambda rng: toHalf(rng.gauss(0, 0.06)), decodeF16),
    "BF16": (30, 1, 2, lambda rng: randomF32(rng)[2:], decodeBf16),
    "Q4_0": (2, 32, 18, randomScaled(18, 0.012), decodeQ4_0),
    "Q4_1": (3, 32, 20, randomScaled(20, 0.012, -7.3), decodeQ4_1),
    "Q5_0": (6, 32, 22, randomScaled(22, 0.006), decodeQ5_0),
    "Q5_1": (7, 32, 24, randomScaled(24, 0.006, -15.1), decodeQ5_1),
    "Q8_0": (8, 32, 34, randomScaled(34, 0.001), decodeQ8_0),
    "Q4_K": (12, 256, 144, randomQ4_K, decodeQ4_K),
    "Q6_K": (14, 256, 210, randomQ6_K, decodeQ6_K),
}


class Tensor:
    """Random elements in one of the formats."""

    def __init__(self, rng, shape, dtype, shift=0.0):
        _, elements, _, block, decode = FORMATS[dtype]
        self.shape, self.dtype = list(shape), dtype
        count = math.prod(shape)
        assert shape[-1] % elements == 0
        blocks = [block(rng) for _ in range(count // elements)]
        if shift:
            blocks = [struct.pack("<f", decodeF32(b)[0] + shift) for b in blocks]
        self.data = b"".join(blocks)
        self.values = [toFloat(v) for b in blocks for v in decode(b)]

    @staticmethod
    def ofValues(values):
        result = Tensor(random.Random(0), [len(values)], "F32")
        result.data = struct.pack(f"<{len(values)}f", *values)
        result.values = list(struct.unpack(f"<{len(values)}f", result.data))
        return result

    def asF32(self):
        """The same elements."""
        result = copy.copy(self)
        result.dtype, result.data = "F32", struct.pack(f"<{len(self.values)}f", *self.values)
        return result

    def row(self, n):
        width = self.shape[-1]
        return self.values[n * width:(n + 1) * width]

    def times(self, x):
        """The matrix times a vector."""
        return [sum(map(float.__mul__, self.row(n), x)) for n in range(self.shape[0])]


# ---- vocabulary -----------------------------------------------------------------------------------

def byteAlphabet():
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in seen]
    return {**{b: chr(b) for b in seen}, **{b: chr(256 + n) for n, b in enumerate(others)}}


ALPHABET = byteAlphabet()
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WORDS = ["the", " the", "ing", " a", " in", "in", "er", " of", "\n\n", "  ", "    ", "'s", "été", "世界", " 12"]


def makeVocabulary():
    """Tokens, and merges that make the words of bytes from the left."""
    tokens, merges = SPECIALS + [ALPHABET[b] for b in range(256)], []
    for word in WORDS:
        letters = [ALPHABET[b] for b in word.encode()]
        done = letters[0]
        for letter in letters[1:]:
            if done + letter not in tokens:
                tokens.append(done + letter)
                merges.append((done, letter))
            done += letter
    return tokens, merges


# ---- models ---------------------------------------------------------------------------------------

class Model:
    """A decoder of random weights. `form`: adjacent or halves, the pairs that rope turns."""

    def __init__(self, seed, layers, width, heads, keyHeads, headSize, feedForward, dtypes, form, headNorms, tied):
        self.__dict__.update(layers=layers, width=width, heads=heads, keyHeads=keyHeads, headSize=headSize,
                             feedForward=feedForward, form=form, headNorms=headNorms, tied=tied)
        self.tokens, self.merges = makeVocabulary()
        self.epsilon, self.base, self.ropeFactor, self.context = 1e-5, 10000.0, 1.0, 512
        rng, turn = random.Random(seed), iter(dtypes * (10 * layers + 2))
        matrix = lambda *shape: Tensor(rng, shape, next(turn))
        norm = lambda size: Tensor(rng, [size], "F32", 1.0)
        queries, keys = heads * headSize, keyHeads * headSize
        self.tensors = {"embedding": matrix(len(self.tokens), width), "finalNorm": norm(width)}
        if not tied:
            self.tensors["head"] = matrix(len(self.tokens), width)
        for n in range(layers):
            layer = {"attentionNorm": norm(width), "q": matrix(queries, width), "k": matrix(keys, width),
                     "v": matrix(keys, width), "o": matrix(width, queries), "feedForwardNorm": norm(width),
                     "gate": matrix(feedForward, width), "up": matrix(feedForward, width),
                     "down": matrix(width, feedForward)}
            if headNorms:
                layer |= {"qNorm": norm(headSize), "kNorm": norm(headSize)}
            self.tensors |= {(n, name): tensor for name, tensor in layer.items()}

    def weight(self, *name):
        return self.tensors[name[0] if len(name) == 1 else name]

    def loseToken(self, letter):
        """The embedding of a letter, in F32, is no number."""
        embedding, row = self.weight("embedding"), self.tokens.index(ALPHABET[ord(letter)])
        size, data = 4 * self.width, bytearray(embedding.data)
        data[row * size:(row + 1) * size] = struct.pack("<f", math.nan) * self.width
        embedding.data = bytes(data)

    # ---- what it computes

    def norm(self, x, gain):
        scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + self.epsilon)
        return [v * scale * g for v, g in zip(x, gain.values)]

    def turn(self, head, position):
        size, result = len(head), list(head)
        for pair in range(size // 2):
            angle = position * self.base ** (-2 * pair / size) / self.ropeFactor
            a, b = (2 * pair, 2 * pair + 1) if self.form == "adjacent" else (pair, pair + size // 2)
            result[a] = head[a] * math.cos(angle) - head[b] * math.sin(angle)
            result[b] = head[b] * math.cos(angle) + head[a] * math.sin(angle)
        return result

    def split(self, x, layer, norm, position):
        heads = [x[n:n + self.headSize] for n in range(0, len(x), self.headSize)]
        if norm and self.headNorms:
            heads = [self.norm(h, self.weight(layer, norm)) for h in heads]
        return [self.turn(h, position) for h in heads] if norm else heads

    def attend(self, queries, cache):
        keys, values = cache
        result = []
        for n, q in enumerate(queries):
            group = n * self.keyHeads // self.heads
            scores = [sum(map(float.__mul__, q, k[group])) / math.sqrt(self.headSize) for k in keys]
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            total = sum(weights)
            result += [sum(w * v[group][d] for w, v in zip(weights, values)) / total for d in range(self.headSize)]
        return result

    def step(self, token, position, caches):
        """The logits behind a token; the caches grow."""
        x = self.weight("embedding").row(token)
        add = lambda x, y: [a + b for a, b in zip(x, y)]
        for n, cache in enumerate(caches):
            h = self.norm(x, self.weight(n, "attentionNorm"))
            queries = self.split(self.weight(n, "q").times(h), n, "qNorm", position)
            cache[0].append(self.split(self.weight(n, "k").times(h), n, "kNorm", position))
            cache[1].append(self.split(self.weight(n, "v").times(h), n, "", position))
            x = add(x, self.weight(n, "o").times(self.attend(queries, cache)))
            h = self.norm(x, self.weight(n, "feedForwardNorm"))
            gates, ups = self.weight(n, "gate").times(h), self.weight(n, "up").times(h)
            x = add(x, self.weight(n, "down").times([g / (1 + math.exp(-g)) * u for g, u in zip(gates, ups)]))
        return self.weight("embedding" if self.tied else "head").times(self.norm(x, self.weight("finalNorm")))

    def newCaches(self):
        return [([], []) for _ in range(self.layers)]

    def perplexity(self, tokens):
        caches, total = self.newCaches(), 0.0
        for position, token in enumerate(tokens[:-1]):
            logits = self.step(token, position, caches)
            top = max(logits)
            total += top + math.log(sum(math.exp(v - top) for v in logits)) - logits[tokens[position + 1]]
        return math.exp(total / (len(tokens) - 1))

    def greedy(self, tokens, count):
        """The next tokens, and the smallest distance of the two best logits."""
        caches, result, gap = self.newCaches(), [], math.inf
        for position in range(len(tokens) + count - 1):
            token = tokens[position] if position < len(tokens) else result[-1]
            logits = self.step(token, position, caches)
            if position >= len(tokens) - 1:
                best, second = sorted(logits)[-1], sorted(logits)[-2]
                result.append(logits.index(best))
                gap = min(gap, best - second)
        return result, gap

    # ---- files

    def metadata(self, arch, words):
        size = lambda name, value: (f"{arch}.{name}", 4, value)
        return [("general.architecture", 8, arch), ("general.alignment", 4, 32), size("block_count", self.layers),
                size("embedding_length", self.width), size("feed_forward_length", self.feedForward),
                size("attention.head_count", self.heads), size("attention.head_count_kv", self.keyHeads),
                size("attention.key_length", self.headSize), size("attention.value_length", self.headSize),
                size("context_length", self.context), (f"{arch}.attention.layer_norm_rms_epsilon", 6, self.epsilon),
                (f"{arch}.rope.freq_base", 6, self.base), ("tokenizer.ggml.model", 8, "gpt2"),
                ("tokenizer.ggml.pre", 8, words), ("tokenizer.ggml.tokens", (9, 8), self.tokens),
                ("tokenizer.ggml.token_type", (9, 5), [3 if t in SPECIALS else 1 for t in self.tokens]),
                ("tokenizer.ggml.merges", (9, 8), [" ".join(m) for m in self.merges]),
                ("tokenizer.ggml.eos_token_id", 4, 0), ("tokenizer.ggml.bos_token_id", 4, 0),
                ("tokenizer.ggml.add_bos_token", 7, False)]

    def writeGguf(self, path, arch, words="gpt-2", changes=(), added=(), extra=()):
        """`changes`: keys with other values, of the same types; `added`: more keys, with types and values;
        `extra`: more tensors, by name."""
        changes = dict(changes)
        values = [(key, kind, changes.get(key, value)) for key, kind, value in self.metadata(arch, words)]
        values += added
        tensors = [(ggufName(name), tensor) for name, tensor in self.tensors.items()] + list(dict(extra).items())
        head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
        head += b"".join(ggufText(key) + ggufValue(kind, value) for key, kind, value in values)
        body = b""
        for name, tensor in tensors:
            body += b"\0" * (-len(body) % 32)
            head += ggufText(name) + struct.pack("<I", len(tensor.shape))
            head += b"".join(struct.pack("<Q", size) for size in reversed(tensor.shape))
            head += struct.pack("<IQ", FORMATS[tensor.dtype][0], len(body))
            body += tensor.data
        pathlib.Path(path).write_bytes(head + b"\0" * (-len(head) % 32) + body)

    def writeHub(self, folder, arch, parts=1, preTokenizer=None):
        """config.json, tokenizer.json and the weights, in so many files."""
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps({
            "architectures": [arch], "num_hidden_layers": self.layers, "hidden_size": self.width,
            "intermediate_size": self.feedForward, "num_attention_heads": self.heads,
            "num_key_value_heads": self.keyHeads, "head_dim": self.headSize, "vocab_size": len(self.tokens),
            "max_position_embeddings": self.context, "rms_norm_eps": self.epsilon, "rope_theta": self.base,
            "eos_token_id": [0, 2], "bos_token_id": 0, "rope_scaling": None}))
        byteLevel = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, "trim_offsets": True}
        (folder / "tokenizer.json").write_text(json.dumps({
            "added_tokens": [{"id": n, "content": t, "special": True} for n, t in enumerate(SPECIALS)],
            "normalizer": None, "pre_tokenizer": preTokenizer or byteLevel, "post_processor": None,
            "model": {"type": "BPE", "vocab": {t: n for n, t in enumerate(self.tokens) if n >= len(SPECIALS)},
                      "merges": [list(m) for m in self.merges]}}))
        names = list(self.tensors)
        files = [names[n::parts] for n in range(parts)]
        index = {}
        for n, part in enumerate(files):
            file = "model.safetensors" if parts == 1 else f"model-{n + 1}-of-{parts}.safetensors"
            writeSafetensors(folder / file, {hubName(name): self.tensors[name] for name in part})
            index |= {hubName(name): file for name in part}
        if parts > 1:
            (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))


def changeConfig(folder, **values):
    """Keys of config.json with other values; None: without the key."""
    path = pathlib.Path(folder) / "config.json"
    config = json.loads(path.read_text()) | values
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))


def ggufText(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def ggufElement(kind, value):
    if kind == 8:
        return ggufText(value)
    return struct.pack({4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q"}[kind], value)


def ggufValue(kind, value):
    if isinstance(kind, tuple):
        return struct.pack("<IIQ", 9, kind[1], len(value)) + b"".join(ggufElement(kind[1], v) for v in value)
    return struct.pack("<I", kind) + ggufElement(kind, value)


GGUF_NAMES = {"embedding": "token_embd", "finalNorm": "output_norm", "head": "output", "attentionNorm": "attn_norm",
              "q": "attn_q", "k": "attn_k", "v": "attn_v", "qNorm": "attn_q_norm", "kNorm": "attn_k_norm",
              "o": "attn_output", "feedForwardNorm": "ffn_norm", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}
HUB_NAMES = {"embedding": "embed_tokens", "finalNorm": "norm", "attentionNorm": "input_layernorm",
             "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "qNorm": "self_attn.q_norm",
             "kNorm": "self_attn.k_norm", "o": "self_attn.o_proj", "feedForwardNorm": "post_attention_layernorm",
             "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"}


def ggufName(name):
    return f"blk.{name[0]}.{GGUF_NAMES[name[1]]}.weight" if isinstance(name, tuple) else f"{GGUF_NAMES[name]}.weight"


def hubName(name):
    if name == "head":
        return "lm_head.weight"
    return f"model.layers.{name[0]}.{HUB_NAMES[name[1]]}.weight" if isinstance(name, tuple) else f"model.{HUB_NAMES[name]}.weight"


def writeSafetensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [len(data), len(data) + len(tensor.data)]}
        data += tensor.data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def llama(seed=3, dtypes=tuple(FORMATS), tied=False, form="adjacent"):
    """Of all formats, whose blocks have up to 256 elements."""
    return Model(seed, 2, 256, 4, 2, 64, 256, dtypes, form, False, tied)


def qwen3(seed=1, dtypes=("F32",), tied=True):
    """Odd sizes, head norms, and heads that are wider together than the model."""
    return Model(seed, 3, 40, 6, 2, 16, 52, dtypes, "halves", True, tied)
