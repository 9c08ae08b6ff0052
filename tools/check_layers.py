#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the includes of ditron/ to the link lines of its CMakeLists.txt files.

A file of ditron/X may include "ditron/Y/..." only if a library of X links one of Y, directly or
through others; MLIR and LLVM only if a library of X says MLIR; and nothing that ditron/ditron.h
reaches may include MLIR. A folder with several libraries counts as their union. A header's name occurs once in the
tree: only Passes.h stands in every folder of passes.

usage: check_layers.py [ROOT]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
IS_MLIR = re.compile(r"(mlir|llvm)(-c)?/|.*\.(h|cpp)\.inc$")


def librariesOf(text):
    """(name, says MLIR, names it depends on) of every ditron_library(...) in a CMakeLists.txt."""
    for call in re.findall(r"^\s*ditron_library\(([^)]*)\)", re.sub(r"#.*", "", text), re.MULTILINE):
        words, keyword, depends = call.split(), "", []
        for word in words[1:]:
            if word in ("MLIR", "SOURCES", "DEPENDS", "LINK"):
                keyword = word
            elif keyword == "DEPENDS":
                depends.append(word)
        yield words[0], "MLIR" in words[1:], depends


def layers():
    """The folders with libraries: which folders each may include, and which may include MLIR."""
    folderOf, depends, withMlir = {}, {}, set()
    for cmake in sorted(ROOT.glob("ditron/**/CMakeLists.txt")):
        folder = cmake.parent.relative_to(ROOT).as_posix()
        for name, mlir, others in librariesOf(cmake.read_text()):
            folderOf[name], depends[name] = folder, others
            withMlir |= {folder} if mlir else set()
    allowed = {folder: {folder} for folder in folderOf.values()}
    for name, folder in folderOf.items():
        todo, seen = [name], set()
        while todo:
            library = todo.pop()
            if library in seen or library not in depends:
                continue
            seen.add(library)
            allowed[folder].add(folderOf[library])
            todo += depends[library]
    return allowed, withMlir


def owner(path, folders):
    """The library folder a path belongs to: the longest that holds it."""
    return max((f for f in folders if path.startswith(f + "/")), key=len, default=None)


def includes(path):
    """(line, path as written or from the root) of every include of a file."""
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        target = match[2]
        beside = path.parent / target
        if match[1] == '"' and not target.startswith("ditron/") and beside.exists():
            target = beside.resolve().relative_to(ROOT.resolve()).as_posix()
        yield text.count("\n", 0, match.start(2)) + 1, target


def checkLinks(allowed, withMlir):
    for path in sorted(p for e in ("h", "cpp", "def") for p in ROOT.glob(f"ditron/*/**/*.{e}")):
        name = path.relative_to(ROOT).as_posix()
        mine = owner(name, allowed)
        if mine is None:
            yield f"{name}: no ditron_library holds this file"
            continue
        for line, target in includes(path):
            if IS_MLIR.match(target) and mine not in withMlir:
                yield f"{name}:{line}: includes {target}, but no library of {mine} says MLIR"
            if not target.startswith("ditron/") or target == "ditron/ditron.h":
                continue
            theirs = owner(target, allowed)
            if theirs is None:
                yield f"{name}:{line}: includes {target}, which no ditron_library holds"
            elif theirs not in allowed[mine]:
                yield f"{name}:{line}: includes {target}, but no library of {mine} links one of {theirs}"


def checkPublic():
    todo, cameFrom = ["ditron/ditron.h"], {"ditron/ditron.h": ""}
    while todo:
        name = todo.pop()
        if not (ROOT / name).exists():
            continue
        for line, target in includes(ROOT / name):
            if IS_MLIR.match(target):
                yield f"{name}:{line}: includes {target}, and ditron/ditron.h includes it{cameFrom[name]}"
            elif target.startswith("ditron/") and target not in cameFrom:
                cameFrom[target] = f" through {name}{cameFrom[name]}"
                todo.append(target)


def checkNames():
    places = {}
    for path in sorted(p for folder in ("ditron", "tools", "test") for p in (ROOT / folder).glob("**/*.h")):
        places.setdefault(path.name, []).append(path.relative_to(ROOT).as_posix())
    for name, found in places.items():
        if len(found) > 1 and name != "Passes.h":
            yield f"{found[1]}: there is a {name} already, {found[0]}"


allowed, withMlir = layers()
if not allowed:
    sys.exit(f"check_layers: no ditron_library in {ROOT}/ditron")
findings = [*checkLinks(allowed, withMlir), *checkPublic(), *checkNames()]
print("\n".join(findings) if findings else f"check_layers: {len(allowed)} folders, each within its links")
sys.exit(bool(findings))
