#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of kernels in files: what is launched is dumped, and other code is launched instead.

usage: code_test.py DITRON
"""
import os
import pathlib
import subprocess
import sys
import unittest

from own_cache import OwnCache

DITRON = sys.argv.pop(1)


class Code(OwnCache):
    def run_(self, *arguments, status=0, **folders):
        result = subprocess.run([DITRON, "run", *arguments], env=dict(os.environ, **folders), capture_output=True, text=True,
                                timeout=120)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stderr

    def folder_(self, name):
        path = pathlib.Path(self.folder.name, name)
        path.mkdir(mode=0o700)
        return path

    def testWhatIsLaunched(self):
        first, again, other = (self.folder_(name) for name in ("first", "again", "other"))
        shape = ("vector-add", "--shape", "N=100")
        self.assertEqual(self.run_(*shape, DITRON_DUMP_DIR=str(first)), "")
        (file,) = first.iterdir()
        self.assertRegex(file.name, r"^vector-add-[0-9a-f]{16}\.o$")
        # The same from the cache, and of several ranks.
        self.run_(*shape, "--ranks", "2", DITRON_DUMP_DIR=str(again))
        self.assertEqual([one.name for one in again.iterdir()], [file.name])
        self.assertEqual((again / file.name).read_bytes(), file.read_bytes())
        # Of other names nothing is taken; of this one, what is there.
        self.assertEqual(self.run_(*shape, DITRON_OVERRIDE_DIR=str(other)), "")
        said = self.run_(*shape, DITRON_OVERRIDE_DIR=str(first))
        self.assertEqual(said, f"ditron: vector-add: its code is that of {file} (DITRON_OVERRIDE_DIR)\n")

    def testOtherShape(self):
        folder = self.folder_("shape")
        self.run_("vector-add", "--shape", "N=100", "--dtype", "f32", DITRON_DUMP_DIR=str(folder))
        (file,) = folder.iterdir()
        said = self.run_("vector-add", "--shape", "N=100", "--dtype", "f16", DITRON_OVERRIDE_DIR=str(folder))
        self.assertRegex(said, rf"^ditron: vector-add: its code is that of the compiler, as {folder} has {file.name}, and "
                         r"no vector-add-[0-9a-f]{16}\.o \(DITRON_OVERRIDE_DIR\)\n$")
        self.assertEqual(self.run_("softmax", "--shape", "T=2,H=8", DITRON_OVERRIDE_DIR=str(folder)), "")

    def testOtherCode(self):
        sums, products = self.folder_("sums"), self.folder_("products")
        add = ("vector-add", "--shape", "N=64", "--dtype", "f32")
        self.run_(*add, DITRON_DUMP_DIR=str(sums))
        (file,) = sums.iterdir()
        (products / file.name).write_bytes(b"no object")
        (products / file.name).chmod(0o600)
        self.assertIn("(DITRON_OVERRIDE_DIR)", self.run_(*add, status=1, DITRON_OVERRIDE_DIR=str(products)))
        self.assertEqual(self.run_(*add), "")  # the cache has what it had

    def testNoFolder(self):
        said = self.run_("vector-add", "--shape", "N=10", status=1, DITRON_OVERRIDE_DIR=self.folder.name + "/none")
        self.assertIn(f"DITRON_OVERRIDE_DIR is '{self.folder.name}/none', expected a folder", said)

    def testFoldersOfOthers(self):
        open_ = self.folder_("open")
        open_.chmod(0o777)
        for variable in ("DITRON_DUMP_DIR", "DITRON_OVERRIDE_DIR"):
            said = self.run_("vector-add", "--shape", "N=10", status=1, **{variable: str(open_)})
            self.assertIn(f"{variable}: ", said)
            self.assertIn(str(open_), said)


if __name__ == "__main__":
    unittest.main()
