#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the examples in the descriptions of a dialect's ops.

    check_examples.py --opt build/bin/ditron-opt --tblgen mlir-tblgen-19 -I /usr/lib/llvm-19/include \\
        -I . --dialect tile ditron/core/TileOps.td

Every op needs a ```mlir example that uses it. Each example becomes the body of a function that takes
the values it does not define as arguments, and must parse, verify and print as a fixed point. The
types of those arguments are what the parser says they are used as.
"""
import argparse
import re
import subprocess
import sys

VALUE = r"%[A-Za-z_0-9]+"


def documents(tblgen, includes, path, dialect):
    """Yields (op, its documentation) of every op of the dialect, as the table generator sees them."""
    command = [tblgen, "-gen-op-doc", f"-dialect={dialect}", *(f"-I{i}" for i in includes), path]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        yield re.match(r"`([\w.]+)`", section).group(1), section


def free_values(example):
    """The values used but not defined by the example, in order of use."""
    defined = set()
    for line in example.splitlines():
        results = re.match(rf"\s*((?:{VALUE}(?::\d+)?\s*,?\s*)+)=\s", line)
        defined.update(re.findall(VALUE, results.group(1)) if results else [])
        block = re.match(rf"\s*(?:dist\.tiles\s*|\^\w+)\(([^)]*)\)", line)
        defined.update(re.findall(VALUE, block.group(1)) if block else [])
    used = dict.fromkeys(re.findall(VALUE, example))
    return [value for value in used if value not in defined]


def run(opt, text):
    done = subprocess.run([opt, "-"], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def parse(opt, example):
    """The printed form of the example in a function, or (None, the error).

    A value of unknown type is first taken for an index; the parser then says what it is used as. An example
    with functions is a module of its own.
    """
    if "func.func" in example:
        status, out, err = run(opt, example)
        return (out, "") if status == 0 else (None, err)
    types = {value: "index" for value in free_values(example)}
    wrong = re.compile(
        rf"use of value '({VALUE})' expects different type than prior uses: '(.*)' vs 'index'"
    )
    for _ in range(len(types) + 1):
        arguments = ", ".join(f"{value}: {kind}" for value, kind in types.items())
        status, out, err = run(opt, f"func.func @example({arguments}) {{\n{example}\nreturn\n}}\n")
        found = wrong.search(err)
        if status == 0 or not found or types[found.group(1)] != "index":
            return (out, "") if status == 0 else (None, err)
        types[found.group(1)] = found.group(2)
    return None, err


def check(opt, name, document):
    """Yields the errors of one op."""
    examples = re.findall(r"```mlir\n(.*?)```", document, re.S)
    if not any(re.search(rf"\b{re.escape(name)}\b", example) for example in examples):
        yield f"{name} has no example that uses it"
    for example in examples:
        printed, error = parse(opt, example)
        if printed is None:
            yield f"the example of {name} does not parse:\n{example}\n{error}"
            continue
        status, again, error = run(opt, printed)
        if status or again != printed:
            yield f"the example of {name} does not round-trip:\n{printed}\n{again}{error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--opt", required=True, help="the program ditron-opt")
    parser.add_argument("--tblgen", required=True, help="the program mlir-tblgen")
    parser.add_argument("-I", dest="includes", action="append", default=[], help="where .td files lie")
    parser.add_argument("--dialect", required=True)
    parser.add_argument("td", help="the .td file of the dialect")
    options = parser.parse_args()
    ops = list(documents(options.tblgen, options.includes, options.td, options.dialect))
    errors = [error for name, text in ops for error in check(options.opt, name, text)]
    for error in errors:
        print(error, file=sys.stderr)
    print(f"{len(ops)} ops of {options.dialect}, {len(errors)} errors")
    sys.exit(1 if errors or not ops else 0)


if __name__ == "__main__":
    main()
