#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ditron tune: what it finds is verified, kept, and used by run and bench.

usage: tune_test.py DITRON
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

DITRON = sys.argv.pop(1)
SHAPE = ("gemm", "--shape", "M=48,N=80,K=33")
GEMM = (*SHAPE, "--cores", "2")


class Tune(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def call(self, *arguments, **variables):
        environment = dict(os.environ, DITRON_CACHE_DIR=self.folder.name, **variables)
        result = subprocess.run([DITRON, *arguments, "--json"], env=environment, capture_output=True,
                                text=True, timeout=240)
        self.assertEqual(result.returncode, 0, result.stderr)
        line, = map(json.loads, result.stdout.splitlines())
        return line, result.stderr

    def testSearches(self):
        found, text = self.call("tune", *GEMM, "--config", "k=33,group=1")
        self.assertTrue(found["complete"])
        self.assertTrue(found["kept"])
        self.assertGreater(found["trials"], 5)
        self.assertEqual(found["refused"], 0)
        self.assertGreaterEqual(found["speedup"], 1)
        self.assertIn(found["config"], text)

    def testIsUsedForItsClassOfShapes(self):
        # Whatever is fastest: of one configuration the search keeps that one.
        fixed = "m=24,n=40,k=11"
        found, _ = self.call("tune", *GEMM, "--config", fixed, "--trials", "1")
        self.assertFalse(found["complete"])
        tuned = found["config"]
        self.assertTrue(tuned.startswith(fixed))
        for verb in ("run", "bench"):
            self.assertEqual(self.call(verb, *GEMM)[0]["config"], tuned)
        near = ("gemm", "--shape", "M=47,N=81,K=40", "--cores", "2")
        self.assertEqual(self.call("run", *near)[0]["config"], tuned)
        far = ("gemm", "--shape", "M=49,N=80,K=33", "--cores", "2")
        self.assertNotEqual(self.call("run", *far)[0]["config"], tuned)
        self.assertNotEqual(self.call("run", *SHAPE, "--cores", "1")[0]["config"], tuned)
        self.assertNotEqual(self.call("run", *GEMM, "--backend", "reference")[0]["config"], tuned)

    def testWhatIsTypedCounts(self):
        self.call("tune", *GEMM, "--config", "m=24,n=40,k=11", "--trials", "1")
        config = self.call("run", *GEMM, "--config", "m=16")[0]["config"]
        self.assertTrue(config.startswith("m=16,n=40,k=11"), config)

    def testRanks(self):
        found, _ = self.call("tune", "ag-gemm", "--ranks", "3", "--cores", "2", "--shape", "M=16,N=24,K=32",
                             "--trials", "6")
        self.assertEqual((found["ranks"], found["trials"]), (3, 6))
        run, _ = self.call("run", "ag-gemm", "--ranks", "3", "--cores", "2", "--shape", "M=16,N=24,K=32")
        self.assertEqual(run["config"], found["config"])

    def testScalars(self):
        for kernel, shape in (("rms-norm", "T=3,H=40"), ("paged-attention", "T=2,N=2,G=1,D=8,P=4,S=2,B=2,L=2")):
            with self.subTest(kernel=kernel): # whose eps, and whose scale, each configuration is launched with
                found, _ = self.call("tune", kernel, "--shape", shape, "--cores", "2", "--trials", "2")
                self.assertEqual((found["trials"], found["refused"]), (2, 0))
                run, _ = self.call("run", kernel, "--shape", shape, "--cores", "2")
                self.assertEqual((run["config"], run["ok"]), (found["config"], True))

    def testNothingIsKeptWithoutACache(self):
        found, text = self.call("tune", *GEMM, "--trials", "1", DITRON_CACHE="0")
        self.assertFalse(found["kept"])
        self.assertIn("what was found is not kept: the cache is off", text)


if __name__ == "__main__":
    unittest.main()
