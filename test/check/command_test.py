#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `ditron check` takes for a kernel, a graph, or neither, and which options it refuses together.

usage: command_test.py DITRON
"""
import os
import subprocess
import sys
import tempfile
import unittest

DITRON = os.path.abspath(sys.argv.pop(1))

KERNEL = """func.func @k(%n: index {tile.name = "n"}, %y: memref<8xf32> {tile.name = "y"}) attributes {tile.kernel} {
  return
}
"""


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text):
        path = os.path.join(self.folder.name, "k.mlir")
        with open(path, "w") as out:
            out.write(text)
        return path

    def check(self, *arguments, status=0):
        """stdout and stderr of a check that ends with this exit status."""
        done = subprocess.run([DITRON, "check", *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def refused(self, message, *arguments):
        out, error = self.check(*arguments, status=2)
        self.assertEqual(out, "")
        self.assertIn(message, error)

    def testAKernelWhoseCommentNamesGraphsIsChecked(self):
        path = self.file("// no task.graph\n" + KERNEL)
        self.assertIn("k: 2 ranks x 2 cores, 2 launches: clean (proved", self.check(path)[0])

    def testNothingToCheckIsAnError(self):
        self.refused("the module has no function marked tile.kernel", self.file("// no task.graph\n"))

    def testScalarsOfFiles(self):
        path = self.file(KERNEL)
        self.assertIn("note: 'n' is taken to be 1: no value is given", self.check(path)[0])
        out, _ = self.check(path, "--shape", "n=2")
        self.assertNotIn("note:", out)
        self.assertIn("k n=2: 2 ranks", out)
        self.refused("argument 'n' is given extents 2x3, but it is a scalar: expected one number", path, "--shape",
                     "n=2x3")

    def testChoicesOfItsOwnYieldToThoseThatAreGiven(self):
        for kernel, config in (("all-gather", "engine=copy"), ("gemm-rs", "engine=copy,form=explicit")):
            self.assertIn("clean (proved", self.check(kernel, "--config", config)[0])
        self.refused("config: senders is 1, which has no effect with engine=copy", "all-gather", "--config",
                     "engine=copy,senders=1")

    def testOptionsThatExcludeEachOther(self):
        self.refused("--nodes is 2, but --mesh node=4,local=1 has 4 nodes: expected one of the two", "all-gather",
                     "--ranks", "4", "--nodes", "2", "--mesh", "node=4,local=1")
        self.refused("--replay follows a finding, and --mutate makes mistakes: expected one of the two", "all-gather",
                     "--mutate", "--replay", "0.0:1")


if __name__ == "__main__":
    unittest.main()
