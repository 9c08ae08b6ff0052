#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ditron check` as a user calls it: what it prints, its JSON, its exit status.

usage: check_test.py DITRON CORPUS
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

DITRON, CORPUS = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))


def check(*arguments, status=0):
    """stdout and stderr of a check that ends with this exit status."""
    done = subprocess.run([DITRON, "check", *arguments], capture_output=True, text=True, timeout=300)
    if done.returncode != status:
        raise AssertionError(f"exit status {done.returncode}, expected {status}: {' '.join(arguments)}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def objects(*arguments, status=0):
    return [json.loads(line) for line in check(*arguments, "--json", status=status)[0].splitlines()]


def corpus(name):
    return os.path.join(CORPUS, name)


class Contract(unittest.TestCase):
    def testClean(self):
        (verdict,) = objects("ag-gemm", "--ranks", "3")
        self.assertEqual(list(verdict)[:6], ["kernel", "ranks", "verdict", "method", "schedules", "findings"])
        self.assertEqual((verdict["kernel"], verdict["ranks"]), ("ag-gemm", 3))
        self.assertEqual((verdict["verdict"], verdict["method"], verdict["findings"]), ("clean", "proved", []))
        self.assertTrue(verdict["complete"])
        self.assertEqual((verdict["cores"], verdict["launches"], verdict["seed"]), (2, 2, 1))

    def testOptionsArrive(self):
        (verdict,) = objects("all-gather", "--ranks", "2", "--cores", "3", "--launches", "4", "--schedules", "7",
                             "--seed", "9", "--shape", "M=5,N=7")
        self.assertEqual([verdict[k] for k in ("ranks", "cores", "launches", "schedules", "seed")], [2, 3, 4, 8, 9])
        self.assertEqual(verdict["shapes"], [{"M": 5, "N": 7}])

    def testFinding(self):
        text, _ = check(corpus("05-exact-barrier.mlir"), "--function", "broken", "--cores", "1", "--launches", "1",
                        status=1)
        self.assertIn("deadlock: 2 cores wait and nobody can go on", text)
        self.assertIn("    5. rank", text)
        self.assertNotIn("    6. rank", text)
        (verdict,) = objects(corpus("05-exact-barrier.mlir"), "--function", "broken", "--cores", "1", status=1)
        self.assertEqual((verdict["verdict"], verdict["method"]), ("finding", "exhaustive"))
        (finding,) = verdict["findings"]
        self.assertEqual(finding["kind"], "deadlock")
        self.assertEqual({party["line"] for party in finding["parties"]}, {15})
        replayed, _ = check(corpus("05-exact-barrier.mlir"), "--function", "broken", "--cores", "1", "--replay",
                            finding["schedule"])
        self.assertEqual(replayed.count("\n"), 7)  # five steps, two waits

    def testAllKernelsOfAFile(self):
        verdicts = objects(corpus("05-exact-barrier.mlir"), "--cores", "1", status=1)
        self.assertEqual([(v["kernel"], v["verdict"], v["method"]) for v in verdicts],
                         [("broken", "finding", "exhaustive"), ("fixed_subtracting", "clean", "exhaustive"),
                          ("fixed", "clean", "proved")])

    def testMutate(self):
        (score,) = objects("all-reduce", "--ranks", "2", "--mutate")
        self.assertEqual(list(score)[:6], ["kernel", "ranks", "mutants", "killed", "equivalent", "missed"])
        self.assertEqual(score["mutants"], score["killed"] + score["equivalent"])
        self.assertGreater(score["killed"], 10)
        self.assertEqual(len(score["list"]), score["mutants"])

    def testTheSameSeedGivesTheSameBytes(self):
        for arguments in (("all-to-all", "--ranks", "3"), (corpus("09-generation-returns.mlir"),)):
            first, second = (subprocess.run([DITRON, "check", *arguments, "--seed", "5", "--json"],
                                            capture_output=True).stdout for _ in range(2))
            self.assertEqual(first, second)
            self.assertTrue(first)

    def testBudgetSaysHowFarItCame(self):
        text, _ = check("ag-gemm", "--budget", "100")
        self.assertIn("the budget of 100 operations ended a run: every core came to launch 1 of 2", text)
        self.assertIn("clean (sampled: only the schedules that were run)", text)
        (verdict,) = objects(corpus("05-exact-barrier.mlir"), "--function", "fixed_subtracting", "--cores", "1",
                             "--states", "3", "--schedules", "20")
        self.assertEqual((verdict["complete"], verdict["method"]), (False, "sampled"))
        self.assertIn("the budget of 3 states ended the exploration; 20 schedules were sampled", verdict["notes"])

    def testWhatIsCompiledCanBeChecked(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "k.mlir")
            subprocess.run([DITRON, "compile", "all-gather", "--emit", "ir", "-o", file], check=True,
                           capture_output=True)
            (verdict,) = objects(file, "--shape", "x=5x3,y=10x3")
            self.assertEqual((verdict["kernel"], verdict["method"]), ("all-gather", "proved"))
            self.assertEqual(verdict["shapes"], [{"x": [5, 3], "y": [10, 3]}])
            with open(file) as printed:
                ir = printed.read()
            self.assertEqual(ir.count("dist.wait"), 1)
            with open(file, "w") as out:
                out.writelines(line for line in ir.splitlines(True) if "dist.wait" not in line)
            (verdict,) = objects(file, "--shape", "x=5x3,y=10x3", status=1)
            self.assertEqual(verdict["findings"][0]["kind"], "data-race")


class WrongUse(unittest.TestCase):
    def refused(self, message, *arguments, status=2):
        out, error = check(*arguments, status=status)
        self.assertEqual(out, "")
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(message, error)

    def testOptions(self):
        self.refused("no kernel is given")
        self.refused("unknown kernel 'nope'", "nope")
        self.refused("--ranks is '0', expected an integer of at least 1", "gemm", "--ranks", "0")
        self.refused("--ranks is 100000, expected at most 1024", "gemm", "--ranks", "100000")
        self.refused("1000 ranks of 1000 cores are 1000000 cores, expected at most 2048", "gemm", "--ranks", "1000",
                     "--cores", "1000")
        self.refused("--cores is '0'", "gemm", "--cores", "0")
        self.refused("--launches is '0'", "gemm", "--launches", "0")
        self.refused("--schedules is '-1'", "gemm", "--schedules", "-1")
        self.refused("3 ranks do not divide into 2 nodes", "gemm", "--ranks", "3", "--nodes", "2")
        self.refused("gemm has no dimension 'Q'", "gemm", "--shape", "Q=1")
        self.refused("--replay needs the --shape", "ag-gemm", "--replay", "0.0:1")
        self.refused("expected RANK.CORE:EVENT", "gemm", "--shape", "M=3,N=3,K=3", "--replay", "first")
        self.refused("bytes of memory", "gemm", "--shape", "M=99999999,N=99999999,K=1", status=3)

    def testFiles(self):
        self.refused("'no.mlir' cannot be read", "no.mlir")
        self.refused("the module has no kernel 'nope', expected one of broken,", corpus("05-exact-barrier.mlir"),
                     "--function", "nope")
        self.refused("--replay needs the --function", corpus("05-exact-barrier.mlir"), "--replay", "0.0:1")
        self.refused("--config, --dtype and --axis are for kernels of the library", corpus("05-exact-barrier.mlir"),
                     "--dtype", "f32")

    def refusedText(self, message, text, *arguments, status=2):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "k.mlir")
            with open(file, "w") as out:
                out.write(text)
            self.refused(message.replace("FILE", file), file, *arguments, status=status)

    def testIR(self):
        def kernel(body, arguments=""):
            return f"func.func @k({arguments}) attributes {{tile.kernel}} {{\n{body}\nreturn\n}}"
        self.refusedText("FILE:1:14: expected non-function type", "func.func @x( {")
        self.refusedText("FILE: the module has no function marked tile.kernel", "func.func @f() { return }")
        self.refusedText("FILE:3:11: use of undeclared SSA value name",
                         kernel("%c = arith.constant 1 : index\ndist.wait %ready[] >= %c : !dist.signals<0>"))
        self.refusedText("the type of argument 'argument 0' leaves its extents open", kernel("", "%x: memref<?xf32>"))
        self.refusedText("argument 'x' is given extents 3x4, expected ?",
                         kernel("", '%x: memref<?xf32> {tile.name = "x"}'), "--shape", "x=3x4")
        self.refusedText("has no argument 'z'", kernel(""), "--shape", "z=3")
        self.refusedText("expected ARGUMENT=8x12", kernel(""), "--shape", "z")
        self.refusedText("bytes of memory", kernel("", "%x: memref<1000000x1000000xf32>"), status=3)
        self.refusedText('ditron.waive is to be [{name = "...", reason = "..."}], found [{name = "x"}]',
                         kernel('dist.quiet {ditron.waive = [{name = "x"}]}'))

    def testWaivedInTheIR(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "k.mlir")
            with open(file, "w") as out:
                out.write("""func.func @k() attributes {tile.kernel} {
  %c1 = arith.constant 1 : index
  %s = dist.signals "s"() : !dist.signals<0>
  dist.wait %s[] >= %c1 {ditron.waive = [{name = "hangs", reason = "it is a test"}]} : !dist.signals<0>
  return
}""")
            (verdict,) = objects(file)
            self.assertEqual(verdict["verdict"], "clean")
            (waiver,) = verdict["waivers"]
            self.assertEqual((waiver["name"], waiver["reason"], waiver["source"]),
                             ("hangs", "it is a test", "k.mlir:4"))
            self.assertEqual([finding["kind"] for finding in waiver["waived"]], ["lost-signal"])
            self.assertIn("waived by 'hangs' (k.mlir:4): it is a test", check(file)[0])


if __name__ == "__main__":
    unittest.main()
