#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of files, FILE.mlir: compiled, run beside the interpreter, timed, traced, checked.

usage: file_test.py DITRON
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from own_cache import OwnCache

DITRON = sys.argv.pop(1)
USAGE = 2

VIEW = "memref<?x?xf32, strided<[?, ?], offset: ?>>"
# y += alpha * x, tile by tile: reads what it writes.
AXPY = f"""
func.func @axpy(%x: {VIEW} {{tile.name = "x", tile.readonly}}, %alpha: f32 {{tile.name = "alpha"}},
                %y: {VIEW} {{tile.name = "y"}})
    attributes {{tile.extents = [["M", "N"], [], ["M", "N"]], tile.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %y, %c0 : {VIEW}
  %columns = memref.dim %y, %c1 : {VIEW}
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %m = arith.ceildivsi %rows, %c8 : index
  %n = arith.ceildivsi %columns, %c16 : index
  dist.tiles (%i, %j) of (%m, %n) order <"row-major"> {{
    %a = tile.load %x[%i, %j] : {VIEW} -> tensor<8x16xf32>
    %b = tile.load %y[%i, %j] : {VIEW} -> tensor<8x16xf32>
    %s = tensor.splat %alpha : tensor<8x16xf32>
    %p = arith.mulf %a, %s : tensor<8x16xf32>
    %r = arith.addf %b, %p : tensor<8x16xf32>
    tile.store %r, %y[%i, %j] : tensor<8x16xf32>, {VIEW}
  }}
  return
}}
"""
# y is the number of cores, which is not the same in the interpreter.
CORES = f"""
func.func @cores(%x: {VIEW} {{tile.name = "x", tile.readonly}}, %y: {VIEW} {{tile.name = "y"}})
    attributes {{tile.extents = [["M", "N"], ["M", "N"]], tile.kernel}} {{
  %c1 = arith.constant 1 : index
  %cores = dist.num_cores
  %number = arith.index_cast %cores : index to i32
  %value = arith.sitofp %number : i32 to f32
  %t = tensor.splat %value : tensor<8x16xf32>
  dist.tiles (%i, %j) of (%c1, %c1) order <"row-major"> {{
    tile.store %t, %y[%i, %j] : tensor<8x16xf32>, {VIEW}
  }}
  return
}}
"""

# What LLVM leaves open: unsigned numbers by 0, bits beyond the width, floats beyond the integers.
NUMBERS = "memref<?xi64, strided<[?], offset: ?>>"
OPEN = f"""
func.func @open(%x: {NUMBERS} {{tile.name = "x", tile.readonly}}, %y: {NUMBERS} {{tile.name = "y"}})
    attributes {{tile.extents = [["N"], ["N"]], tile.kernel}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1> : tensor<64xi64>
  %huge = arith.constant 1.0e30 : f32
  dist.tiles (%i) of (%c1) order <"row-major"> {{
    %a = tile.load %x[%c0] : {NUMBERS} -> tensor<64xi64>
    %b = arith.andi %a, %one : tensor<64xi64>
    %q = arith.divui %a, %b : tensor<64xi64>
    %r = arith.remui %a, %b : tensor<64xi64>
    %c = arith.ceildivui %a, %b : tensor<64xi64>
    %s = arith.shrui %a, %a : tensor<64xi64>
    %f = arith.fptosi %huge : f32 to i64
    %t = tensor.splat %f : tensor<64xi64>
    %qr = arith.xori %q, %r : tensor<64xi64>
    %cs = arith.xori %c, %s : tensor<64xi64>
    %all = arith.xori %qr, %cs : tensor<64xi64>
    %result = arith.xori %all, %t : tensor<64xi64>
    tile.store %result, %y[%c0] : tensor<64xi64>, {NUMBERS}
  }}
  return
}}
"""


class Files(OwnCache):
    def call(self, *arguments, status=0):
        result = subprocess.run([DITRON, *arguments], capture_output=True, text=True, timeout=60, cwd=self.folder.name)
        self.assertEqual(result.returncode, status, f"{arguments}\n{result.stderr}")
        return result

    def refused(self, message, *arguments):
        self.assertIn(message, self.call(*arguments, status=USAGE).stderr)

    def file(self, text, name="k.mlir"):
        (pathlib.Path(self.folder.name) / name).write_text(text)
        return name

    def compiled(self, kernel, *options):
        return self.file(self.call("compile", kernel, *options).stdout, kernel + ".mlir")

    def run_(self, *arguments):
        return json.loads(self.call("run", *arguments, "--json").stdout)

    def testKernelsOfTheLibrary(self):
        for kernel, shape in (("gemm", "M=33,N=70,K=65"), ("softmax", "T=9,H=100"), ("argmax", "B=5,V=300")):
            file = self.compiled(kernel, "--shape", shape)
            result = self.run_(file, "--shape", shape)
            self.assertTrue(result["ok"])
            self.assertEqual((result["kernel"], result["compared"]), (kernel, result["elements"]))
            library = self.call("compile", kernel, "--shape", shape, "--emit", "llvm").stdout
            ofFile = self.call("compile", file, "--emit", "llvm").stdout
            self.assertEqual(len(library.splitlines()), len(ofFile.splitlines()), kernel)
            self.assertIn(".target sm_90a", self.call("compile", file, "--target", "sm_90a", "--emit", "asm").stdout)

    def testRanks(self):
        for config in ("form=placed,comm=1,engine=cores", "form=explicit,comm=1,engine=cores"):
            file = self.compiled("ag-gemm", "--config", "m=16,n=16,k=16," + config)
            for more in ((), ("--backend", "reference"), ("--transport", "processes")):
                result = self.run_(file, "--shape", "M=20,N=24,K=33", "--ranks", "3", "--cores", "2", *more)
                self.assertEqual((result["ok"], result["ranks"], result["elements"]), (True, 3, 3 * 3 * 20 * 24))

    def testOutputsAreRead(self):
        file = self.file(AXPY)
        shape = ("--shape", "M=20,N=33,alpha=0.5")
        text = self.call("run", file, *shape, "--repeat", "3").stdout
        self.assertIn("verified  1980 of 1980 elements compared with the interpreter's", text)
        line = json.loads(self.call("bench", file, *shape, "--repeat", "7", "--json").stdout)
        self.assertEqual((line["ok"], line["unit"], line["launches"]), (True, "GB/s", 7))
        trace = json.loads(self.call("trace", file, *shape, "--json", "--no-html").stdout)
        self.assertTrue(trace["ok"])

    def testWhatLlvmLeavesOpenIsDefined(self):
        self.assertIn("verified", self.call("run", self.file(OPEN), "--shape", "N=61").stdout)

    def testWrongResultsAreFound(self):
        file = self.file(CORES)
        self.assertTrue(self.run_(file, "--shape", "M=8,N=16", "--cores", "2")["ok"])
        wrong = self.call("run", file, "--shape", "M=8,N=16", "--cores", "3", status=1)
        self.assertIn("cores: y of rank 0, element [0, 0]: found 3, the interpreter computes 2", wrong.stderr)
        self.assertIn("WRONG", wrong.stdout)

    def testSizes(self):
        file = self.file(AXPY)
        for shape in ("M=20,N=33,alpha=0.5", "x=20x33,alpha=0.5", "y=20x33,M=20,alpha=.5", "alpha=5e-1,M=20,N=33"):
            self.assertEqual(self.run_(file, "--shape", shape)["shape"], {"M": 20, "N": 33})
        signature = "axpy(x[M,N], alpha) -> y[M,N]"
        self.refused(f"{signature} needs M, N, alpha: expected --shape M=...,N=...,alpha=...", "run", file)
        self.refused(f"{signature} needs N: expected --shape N=...", "trace", file, "--shape", "M=3,alpha=1")
        self.refused("--shape gives 'K', expected a dimension of M, N, or an argument of x, y, or a scalar of alpha",
                     "bench", file, "--shape", "K=3")
        self.refused("--shape: M is 3, but the arguments make it 20", "run", file, "--shape", "M=3,x=20x33,alpha=1")
        self.refused("N is 33 in x but 34 in y", "run", file, "--shape", "x=20x33,y=20x34,alpha=1")
        self.refused("--shape: alpha is 'x', expected a number", "run", file, "--shape", "M=3,N=3,alpha=x")
        self.refused("--shape: x is '0', expected an integer of at least 1", "run", file, "--shape", "x=0x3,alpha=1")
        for shape in ("M=20,N=33", "x=20x33,y=20x33", "M=20,y=20x33,N=33,alpha=2"):
            self.assertRegex(self.call("check", file, "--shape", shape).stdout, r"axpy (alpha=2 )?x=20x33 y=20x33: .* clean")

    def testRefusals(self):
        file = self.file(AXPY)
        for verb in ("run", "bench", "trace", "compile", "check"):
            self.refused("--config, --dtype and --axis are for kernels of the library", verb, file, "--config", "m=8")
        self.refused("--baseline is what a kernel of the library competes with", "bench", file, "--baseline")
        self.refused("ditron tune searches through the choices of a kernel of the library", "tune", file)
        self.refused("--shape and --cores are what configurations", "compile", file, "--shape", "M=3,N=3")
        self.refused("--emit dot is for a file with a graph", "compile", file, "--emit", "dot")
        self.refused("'no.mlir' cannot be read", "run", "no.mlir")
        graph = 'task.graph @g {\n  %x = task.input "x[4]" : !task.tensor<4xf32>\n}\n'
        for verb in ("run", "bench"):
            self.refused("k.mlir has graphs, expected --function with the name of one of its kernels", verb,
                         self.file(AXPY + graph))
        self.assertTrue(self.run_(self.file(AXPY + graph), "--function", "axpy", "--shape", "x=3x4,alpha=1")["ok"])
        self.refused("--function and --graph are for a file of IR", "run", "gemm", "--function", "f")
        two = self.file(AXPY + AXPY.replace("@axpy", "@other"))
        self.refused("k.mlir: the module has the kernels axpy, other, expected the name of one", "compile", two)
        self.assertIn("@other", self.call("compile", two, "--function", "other").stdout)
        self.refused("the module has no kernel 'none', expected one of axpy, other", "run", two, "--function", "none")
        self.refused("k.mlir: the module has no function marked tile.kernel", "compile", self.file("module {}"))
        self.refused("k.mlir:1:", "compile", self.file("what is this"))
        self.refused("kernel 'f' has no body", "compile",
                     self.file("func.func private @f(memref<4xf32>) attributes {tile.kernel}"))
        self.refused("k.mlir: kernel 'f': it writes no argument", "run",
                     self.file("func.func @f() attributes {tile.kernel} { return }"))

    def testWhatIsWrittenIsTold(self):
        graph = 'task.graph @g {\n  %x = task.input "x[M,8]" : !task.tensor<?x8xf32>\n}\n'
        for name, text, options in (("axpy", AXPY, ["--emit", "asm"]), ("g", AXPY + graph, ["--graph", "g", "--emit", "task"])):
            file = self.file(text)
            written = pathlib.Path(self.folder.name) / "k.out"
            line = json.loads(self.call("compile", file, *options, "-o", str(written), "--json").stdout)
            self.assertEqual((line["kernel"], line["emit"], line["bytes"]), (name, options[-1], written.stat().st_size))

    def testGraphsHaveNoOptionsWithoutEffect(self):
        file = self.file('task.graph @g {\n  %x = task.input "x[M,8]" : !task.tensor<?x8xf32>\n}\n')
        shape = "--shape and --cores of a graph are for --emit dot"
        for options, message in ((["--shape", "M=3"], shape), (["--cores", "3"], shape), (["--emit", "task", "--shape", "M=3"], shape),
                                 (["--emit", "dot", "--cores", "3"], "expected --shape too"),
                                 (["--emit", "dot", "--target", "sm_80"], "--emit dot compiles nothing"),
                                 (["--emit", "task", "--target", "sm_80", "--alignment", "16"], "--emit task compiles nothing"),
                                 (["--emit", "task", "--ranks", "2"], "the same for any --ranks")):
            self.refused(message, "compile", file, *options)

    def testNamesOfAFileDoNotCommandTheTerminal(self):
        file = self.file(AXPY.replace('"x"', '"x\\1B[2J"'))
        self.refused("'x [2J' leaves its extents open", "check", file)
        self.refused("expected them as x [2J=NxN\n", "check", file)

    def testCallsAreRefused(self):
        caller = """func.func @helper() { return }
func.func @caller(%y: memref<4xf32>) attributes {tile.kernel} {
  func.call @helper() : () -> ()
  return
}
"""
        message = "kernel 'caller': it calls function 'helper', expected a kernel whose operations all stand in it"
        self.refused(message, "compile", self.file(caller))
        self.refused(message, "compile", self.file(caller + """task.graph @g {
  %x = task.input "x[4]" : !task.tensor<4xf32>
  %n = task.node "one" @caller() update(%x) : (!task.tensor<4xf32>)
}"""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
