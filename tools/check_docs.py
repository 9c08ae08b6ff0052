#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the documentation to the source tree.

In every .md file of the tree
  - a relative link leads to a file, and to a heading of it where it has a #part;
  - a `path` in code quotes that starts with a folder of the tree names a file there. A name with
    an X for a word (`ditron/kernels/X.cpp`) stands for several: its folder must exist;
  - a ```cpp block follows a line <!-- from FILE --> and is in FILE as it stands, but for the
    indentation; a line `// ...` in it leaves something out;
  - the lines of a block that follows <!-- printed by COMMAND --> are printed by it, in that order
    in ROOT (only with --bin, as it takes the programs of the build); COMMAND may begin with NAME=VALUE;
  - a line <!-- N files name `REGEX` except PATH ... --> says how many files of ditron/ and tools/ have such
    words (without `except`, all count), and the heading in front of it says N too.

usage: check_docs.py [ROOT] [--bin FOLDER...]
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys

FOLDERS = ("ditron", "docs", "examples", "test", "tools", "cmake", "bench", ".ci")
COUNT = re.compile(r"<!-- (\d+) files? names? `([^`]+)`(?: except (.+?))? -->\s*$")
MARKER = re.compile(r"<!-- (from|printed by) (.+?) -->\s*$")
FENCE = re.compile(r"^```(\w*)$")


def documents(root):
    skipped = {"build", ".git"}
    for path in sorted(root.rglob("*.md")):
        if not skipped & set(path.relative_to(root).parts):
            yield path


def blocks(text):
    """(line number, language, marker, lines) of every fenced block."""
    marker, start, language, lines = None, 0, "", None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if lines is not None:
            if line.startswith("```"):
                yield start, language, marker, lines
                marker, lines = None, None
            else:
                lines.append(line)
        elif fence:
            start, language, lines = number, fence[1], []
        elif line.strip():
            marker = MARKER.match(line)


def withoutBlocks(text):
    return re.sub(r"^```.*?^```$", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)


def anchors(path):
    """The names by which the headings of a file are linked to."""
    for heading in re.findall(r"^#+ (.*)$", withoutBlocks(path.read_text()), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def checkLinks(root, path, text):
    for match in re.finditer(r"\[[^\]]*\]\(([^)\s]+)\)", text):
        link, line = match[1], text.count("\n", 0, match.start()) + 1
        if re.match(r"[a-z]+:", link):
            continue
        name, _, part = link.partition("#")
        target = path if not name else path.parent / name
        if not target.exists():
            yield line, f"the link {link} leads nowhere"
        elif part and part not in anchors(target):
            yield line, f"{name or path.name} has no heading #{part}"


def expand(name):
    """a/{b,c}.h is a/b.h and a/c.h."""
    match = re.search(r"\{([^}]*)\}", name)
    if not match:
        return [name]
    return [n for part in match[1].split(",") for n in expand(name[:match.start()] + part + name[match.end():])]


def checkPaths(root, path, text):
    for match in re.finditer(r"`([\w./{},*+-]+)`", text):
        if not match[1].startswith(tuple(f"{f}/" for f in FOLDERS)):
            continue
        line = text.count("\n", 0, match.start()) + 1
        for name in expand(match[1]):
            parts = pathlib.PurePath(name).parts
            known = next((i for i, part in enumerate(parts) if re.search(r"(^|[^A-Za-z])[Xx]([^a-z]|$)", part)), len(parts))
            place = pathlib.PurePath(*parts[:known]).as_posix()
            if not (any(root.glob(place)) if "*" in place else (root / place).exists()):
                yield line, f"there is no {name}"


def filesNaming(root, words, exceptions):
    """The files of the code in which these words stand, as paths."""
    pattern = re.compile(rf"\b(?:{words})\b")
    for path in sorted(p for folder in ("ditron", "tools") for p in (root / folder).rglob("*")):
        name = path.relative_to(root).as_posix()
        isCode = path.suffix in (".cpp", ".h", ".td", ".def") and not any(name.startswith(e) for e in exceptions)
        if isCode and pattern.search(path.read_text()):
            yield name


def checkCounts(root, path, text):
    heading = ""
    for line, content in enumerate(text.splitlines(), 1):
        heading = content if content.startswith("#") else heading
        if not (match := COUNT.match(content)):
            continue
        found = list(filesNaming(root, match[2], (match[3] or "").split()))
        if len(found) != int(match[1]):
            yield line, f"{len(found)} files name {match[2]}, not {match[1]}: {', '.join(found)}"
        elif not re.search(rf"\b{match[1]}\b", heading):
            yield line, f"'{heading}' does not say {match[1]}"


def dedent(lines):
    return [line.strip() for line in lines if line.strip()]


def checkQuote(root, source, lines):
    file = root / source
    if not file.is_file():
        yield f"there is no {source}"
        return
    text, at = dedent(file.read_text().splitlines()), 0
    fragments = [dedent(f.splitlines()) for f in re.split(r"^\s*// \.\.\.\s*$", "\n".join(lines), flags=re.M)]
    for fragment in filter(None, fragments):
        found = next((i for i in range(at, len(text)) if text[i:i + len(fragment)] == fragment), None)
        if found is None:
            yield f"{source} does not hold `{fragment[0]}` and the lines after it"
            return
        at = found + len(fragment)


def checkOutput(root, command, lines, folders):
    words = shlex.split(command)
    variables = dict(os.environ)
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    program = next(((f / words[0]).resolve() for f in folders if (f / words[0]).is_file()), None)
    if not program:
        yield f"there is no program {words[0]} in {' '.join(map(str, folders))}"
        return
    done = subprocess.run([program, *words[1:]], capture_output=True, text=True, env=variables,
                          stdin=subprocess.DEVNULL, cwd=root)
    printed = iter((done.stdout + done.stderr).splitlines())
    for line in lines:
        if line.strip() in ("", "...") or line.startswith("$ "):
            continue
        if not any(line == other for other in printed):
            yield f"`{command}` does not print `{line}` here, but\n{done.stdout}{done.stderr}"
            return


def check(root, path, folders):
    text = path.read_text()
    yield from checkLinks(root, path, withoutBlocks(text))
    yield from checkPaths(root, path, withoutBlocks(text))
    yield from checkCounts(root, path, withoutBlocks(text))
    for line, language, marker, lines in blocks(text):
        kind = marker[1] if marker else ""
        if language == "cpp" and kind != "from":
            yield line, "a cpp block without a line <!-- from FILE --> before it"
        if kind == "from":
            yield from ((line, message) for message in checkQuote(root, marker[2], lines))
        if kind == "printed by" and folders:
            yield from ((line, message) for message in checkOutput(root, marker[2], lines, folders))


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
parser.add_argument("--bin", nargs="+", type=pathlib.Path, default=[], help="where the programs are")
options = parser.parse_args()
os.environ["DITRON_CACHE"] = "0"
files = list(documents(options.root))
findings = [f"{path.relative_to(options.root)}:{line}: {message}"
            for path in files for line, message in check(options.root, path, options.bin)]
print("\n".join(findings) if findings else f"check_docs: {len(files)} files, as the source tree is")
sys.exit(bool(findings))
