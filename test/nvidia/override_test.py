#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembly that somebody has edited is what a GPU executes, on the emulated driver.

usage: override_test.py DITRON FOLDER_OF_LIBCUDA
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER, DITRON = (sys.argv.pop() for _ in range(2))


class Override(unittest.TestCase):
    def run_(self, status, **folders):
        environment = {**os.environ, "LD_LIBRARY_PATH": FOLDER, "DITRON_CACHE": "0", **folders}
        result = subprocess.run([DITRON, "run", "vector-add", "--dtype", "f32", "--shape", "N=100", "--backend", "nvidia"],
                                capture_output=True, text=True, timeout=100, env=environment)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stderr

    def test_edited_assembly(self):
        with tempfile.TemporaryDirectory() as name:
            self.run_(0, DITRON_DUMP_DIR=name)
            (file,) = pathlib.Path(name).iterdir()
            self.assertRegex(file.name, r"^vector-add-[0-9a-f]{16}\.ptx$")
            text = file.read_text()
            self.assertIn("add.rn.f32", text)
            self.run_(0, DITRON_OVERRIDE_DIR=name)
            file.write_text(text.replace("add.rn.f32", "sub.rn.f32"))
            said = self.run_(1, DITRON_OVERRIDE_DIR=name)
            self.assertIn(f"ditron: vector-add: its code is that of {file} (DITRON_OVERRIDE_DIR)", said)
            self.assertRegex(said, "found .*, expected ")


if __name__ == "__main__":
    unittest.main()
