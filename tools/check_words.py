#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds code and docs to the words of the field, and docs to sentences that are read once.

tools/words.json lists what is avoided, each with the word to use. A phrase is looked for in comments, identifiers,
options, messages and prose alike: copyEngine, copy_engine, copy-engine and "copy engine" are one. An entry has

  avoid    a regular expression of lower-case words, one blank between two
  say      the word to use
  in       regular expressions of the paths it is about; without it, every file
  except   regular expressions of the paths that may have it
  literal  true: `avoid` is looked for in the text as it stands

A line with `words: intended` is a use on purpose. In .md files a sentence has at most 40 words; code blocks and headings do
not count, and each cell of a table is a sentence of its own.

usage: check_words.py [ROOT] [--report]     --report: the lengths of the sentences of every .md file
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

LIMIT, LONG = 40, 25
SUFFIXES = {".cpp", ".h", ".td", ".def", ".mlir", ".md", ".py", ".txt", ".cmake", ".js", ".html"}
SKIPPED = re.compile(r"(^|/)(build|\.git|\.ccache)/|(^|/)words\.json$|(^|/)(check_words|checks_test)\.py$")


def files(root):
    """The sources and docs of the tree, as paths relative to its root."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else \
        (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    for name in sorted(names):
        if pathlib.PurePath(name).suffix in SUFFIXES and not SKIPPED.search(name) and (root / name).is_file():
            yield name


def words(text):
    """The text in lower case, with identifiers taken apart: kDefaultTile_x is k default tile x."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return re.sub(r"[\s_-]+", " ", text).lower()


class Entry:
    """One line of the list."""

    def __init__(self, avoid, say, literal=False, **paths):
        self.say, self.isLiteral = say, literal
        self.pattern = re.compile(avoid if literal else rf"\b(?:{avoid})\b")
        self.places, self.exceptions = ([re.compile(p) for p in paths.get(key, [])] for key in ("in", "except"))

    def isAbout(self, name):
        return (not self.places or any(p.search(name) for p in self.places)) and \
            not any(p.search(name) for p in self.exceptions)

    def find(self, plain, taken):
        return self.pattern.search(plain if self.isLiteral else taken)


def avoided(name, text, entries):
    """(line, message) of every word of the list in a file, the file's name included."""
    entries = [entry for entry in entries if entry.isAbout(name)]
    for number, line in enumerate([name, *text.splitlines()]):
        if "words: intended" in line:
            continue
        taken = words(line)
        for entry in entries:
            if found := entry.find(line, taken):
                yield number, f"'{found[0]}': say {entry.say}"


#===-- Sentences ---------------------------------------------------------------------------------===#

def paragraphs(text):
    """(line, text) of every paragraph, item of a list and cell of a table outside of code blocks."""
    inCode, start, lines = False, 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        isFence = line.lstrip().startswith("```")
        begins = re.match(r"\s*([-*]|\d+\.) ", line)
        if lines and (begins or isFence or not line.strip() or line.startswith(("|", "#", "<!--"))):
            yield start, " ".join(lines)
            lines = []
        if isFence:
            inCode = not inCode
        elif inCode or not line.strip() or line.startswith(("#", "<!--")):
            continue
        elif line.startswith("|"):
            yield from ((number, cell.strip()) for cell in line.strip("| ").split(" | "))
        else:
            start = start if lines else number
            lines.append(line.strip())


def sentences(text):
    """(line, words) of every sentence. A list in code quotes is one word, an address of a link none."""
    for line, paragraph in paragraphs(text):
        paragraph = re.sub(r"(`[^`]+`(, | and (?=`))?)+", "code ", paragraph)
        paragraph = re.sub(r"\]\([^)]*\)", "]", paragraph)
        for sentence in re.split(r"(?<=[.?!])[)*\"]*\s+(?=[\"*(\[]*[A-Za-z])", paragraph):
            yield line, [word for word in sentence.split() if re.search(r"\w", word)]


def tooLong(text):
    for line, sentence in sentences(text):
        if len(sentence) > LIMIT:
            yield line, f"a sentence of {len(sentence)} words, the limit is {LIMIT}: {' '.join(sentence[:8])} ..."


def report(root, names):
    for name in names:
        lengths = sorted(len(sentence) for _, sentence in sentences((root / name).read_text()))
        over = sum(length > LONG for length in lengths)
        if lengths:
            print(f"{name}: {len(lengths)} sentences, half of at most {lengths[len(lengths) // 2]} words, "
                  f"{over} over {LONG}, longest {lengths[-1]}")


#===----------------------------------------------------------------------------------------------===#

def check(root, name, entries):
    text = (root / name).read_text(errors="replace")
    yield from avoided(name, text, entries)
    if name.endswith(".md"):
        yield from tooLong(text)


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
parser.add_argument("--report", action="store_true", help="the lengths of the sentences of every .md file")
options = parser.parse_args()
names = list(files(options.root))
if options.report:
    report(options.root, [name for name in names if name.endswith(".md")])
    sys.exit()
list_ = options.root / "tools" / "words.json"
entries = [Entry(**entry) for entry in json.loads(list_.read_text())] if list_.exists() else []
findings = [f"{name}:{line}: {message}" for name in names for line, message in check(options.root, name, entries)]
print("\n".join(findings) if findings else f"check_words: {len(names)} files, in the words of the field")
sys.exit(bool(findings))
