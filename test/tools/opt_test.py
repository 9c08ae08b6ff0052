#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pass of ditron-opt, alone, on all IR of the tests and on the kernels of the library: what it
was not made for it leaves alone or refuses, with the line of the op, and never ends by a signal.

usage: opt_test.py DITRON DITRON_OPT SOURCE_DIR
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

DITRON, OPT, SOURCE = sys.argv.pop(1), sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
SPLIT = "\n// -----\n"


def passes():
    found = []
    for file in sorted((SOURCE / "ditron").rglob("Passes.td")):
        found += re.findall(r'Pass<"([a-z-]+)"', file.read_text())
    return found + ["ditron-front", "ditron-cpu", "ditron-gpu"]


def kernels():
    """The IR of every kernel of the library."""
    listed = subprocess.run([DITRON, "list", "--json"], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        name = json.loads(line)["name"]
        yield subprocess.run([DITRON, "compile", name, "--emit", "ir"], capture_output=True, text=True,
                             check=True).stdout


class Opt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        parts = list(kernels())
        for file in sorted((SOURCE / "test").rglob("*.mlir")):
            if SOURCE / "test/fuzz" in file.parents: # texts that are refused: texts_test.py
                continue
            parts += file.read_text().split("// -----")
        cls.parts = parts

    def run_(self, text, *arguments):
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(text)
            file.flush()
            return subprocess.run([OPT, file.name, "--split-input-file", *arguments], capture_output=True,
                                  text=True, errors="replace")

    def culprit(self, name):
        """The first part on which a pass ends by a signal."""
        ends = (part for part in self.parts if self.run_(part, "--" + name).returncode not in (0, 1))
        return next(ends, "no part alone")

    def testEveryPassAlone(self):
        self.assertGreater(len(self.parts), 100)
        for name in passes():
            with self.subTest(name):
                done = self.run_(SPLIT.join(self.parts), "--" + name)
                if done.returncode not in (0, 1):
                    self.fail(f"ended with {done.returncode} on\n{self.culprit(name)}\n{done.stderr[-2000:]}")
                for line in done.stderr.splitlines():
                    if ": error: " in line:
                        self.assertRegex(line, r"^\S*:\d+:\d+: error: |^within split at ")

    def testAnUnknownGpu(self):
        for name in ("simt-pipeline-loads", "simt-tiles-to-threads"):
            done = self.run_("func.func @kernel() attributes {tile.kernel} { return }",
                             f"--pass-pipeline=builtin.module({'func.func(' if 'loads' in name else ''}"
                             f"{name}{{target=sm_1}}{')' if 'loads' in name else ''})")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("error: unknown GPU 'sm_1', expected one of sm_", done.stderr)


if __name__ == "__main__":
    unittest.main()
