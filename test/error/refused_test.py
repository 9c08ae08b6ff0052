#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the types of the language forbid: the C++ compiler refuses it, at the line of the mistake.

usage: refused_test.py COMPILER FLAG...
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMPILER, sys.argv[1:] = sys.argv[1:], []

FRAME = """#include "ditron/ditron.h"
using namespace ditron;
Kernel kernel() {
  return {"copy(x[N,M]) -> y[N,M]", [](In<f32> x, Out<f32> y) {
    auto xs = x.tiled(4, 4);
    auto ys = y.tiled(4, 4);
    for (auto [i, j] : ys.tiles()) {
      BODY
    }
  }};
}
"""
LINE = 1 + FRAME[:FRAME.index("BODY")].count("\n")


def build(body):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "kernel.cpp")
        source.write_text(FRAME.replace("BODY", body))
        return subprocess.run([*COMPILER, "-std=c++20", "-fsyntax-only", str(source)],
                              capture_output=True, text=True)


class Refused(unittest.TestCase):
    def refuse(self, body, message, reason=""):
        result = build(body)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, rf"kernel.cpp:{LINE}:\d+: error: {message}")
        self.assertIn(reason, result.stderr)

    def testRightOneCompiles(self):
        result = build("ys(i, j) = xs(i, j);")
        self.assertEqual(result.returncode, 0, result.stderr)

    def testStoreToAnInput(self):
        # The compiler quotes the declaration that it refuses, which says what to do.
        self.refuse("xs(i, j) = xs(j, i);", "", "In is only read, Out only written: declare it InOut")
        self.refuse("xs(i, j) = zeros<f32>(4, 4);", "",
                    "an In is only read: declare the argument Out or InOut")

    def testReadOfAnOutput(self):
        self.refuse("ys(i, j) = exp(ys(i, j));", "")
        self.refuse("ys(i, j) = ys(i, j);", "", "In is only read, Out only written: declare it InOut")
        self.refuse("ys(i, j) = xs(i, j) + ys(i, j);", "")
        self.refuse("Tile t = ys(i, j);", "")
        self.refuse("Var t = ys(i, j);", "")
        self.refuse("ys(i, j) = y.read({i, j});", "")
        self.refuse("ys(i, j) = y.gather(iota(4), j, 4);", "")
        self.refuse("atomicAdd(ys(i, j), zeros<f32>(4, 4));", "")
        self.refuse("put(ys(i, j), symmetric<f32>(4, 4).on(0));", "")
        self.refuse("put(y, symmetric<f32>(4, 4).on(0));", "")

    def testGetIntoAnInput(self):
        self.refuse("get(symmetric<f32>(4, 4).on(0), xs(i, j));", "")

    def testMemoryOfAPeer(self):
        # put and get move it; nothing loads or stores it.
        far = "symmetric<f32>(4, 4).on(0)"
        self.refuse(f"ys(i, j) = {far}.tiled(4, 4)(0, 0);", "")
        self.refuse(f"Tile t = {far}.tiled(4, 4)(0, 0);", "")
        self.refuse(f"{far}.tiled(4, 4)(0, 0) = xs(i, j);", "")
        self.refuse(f"ys(i, j) = {far}.read({{i, j}});", "")
        self.refuse(f"atomicAdd({far}.tiled(4, 4)(0, 0), zeros<f32>(4, 4));", "")

    def testNativeIf(self):
        self.refuse("if (i < j) ys(i, j) = xs(i, j);", ".*Bool")
        self.refuse("ys(i, j) = i < j ? xs(i, j) : xs(j, i);", ".*Bool")

    def testNativeLoopCondition(self):
        self.refuse("while (i < j) ys(i, j) = xs(i, j);", ".*Bool")

    def testAssignmentToAValue(self):
        self.refuse("Tile t = zeros<f32>(4, 4); t = t + t;", "")

    def testNumOfCoresAsArraySize(self):
        self.refuse("int sizes[numCores()];", "")


if __name__ == "__main__":
    unittest.main()
