#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code objects for AMD GPUs: kernels are linked, their metadata say how HIP launches them, their code has the
instructions meant, nothing spills, and what they take fits the chip.

usage: code_objects_test.py DITRON LLVM_TOOLS
"""
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DITRON, TOOLS = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
CHIPS = ["gfx942", "gfx90a"]
ROWS = {"softmax": "T=4096,H=4096", "rms-norm": "T=4096,H=4096", "layer-norm": "T=4096,H=8192"}
KERNELS = {"vector-add": "N=16777216", "silu-mul": "T=4096,H=4096", "rope": "T=4096,N=32,H=64,P=4096", **ROWS}
PRODUCTS = {"gemm": "M=4096,N=4096,K=4096", "gemm-rs": "M=4096,N=4096,K=4096", "flash-attention": "T=4096"}
MFMA = {"bf16": "v_mfma_f32_16x16x16_?bf16", "f16": "v_mfma_f32_16x16x16_?f16", "f32": "v_mfma_f32_16x16x4_?f32"}
MFMA_OF_BYTES = {"gfx942": "v_mfma_i32_16x16x32_i8", "gfx90a": "v_mfma_i32_16x16x16i8"}
DTYPES = ["f32", "bf16", "f16"]
LANES, LDS, VGPRS, SGPRS = 64, 64 * 1024, 512, 112


def compiled(*arguments):
    return subprocess.run([DITRON, "compile", *arguments], capture_output=True, text=True)


def chosen(kernel, chip, dtype):
    shape = {**KERNELS, **PRODUCTS}[kernel]
    return (kernel, "--target", chip, "--dtype", dtype, "--shape", shape, "--alignment", "16")


class CodeObjects(unittest.TestCase):
    def forEach(self, check, kernels=tuple(KERNELS)):
        for case in itertools.product(kernels, CHIPS, DTYPES):
            with self.subTest(" ".join(case)):
                check(case)

    def testObjects(self):
        if not (shutil.which("ld.lld-19") or shutil.which("ld.lld") or (TOOLS / "ld.lld").exists()):
            self.skipTest("ld.lld is not found")
        with tempfile.TemporaryDirectory() as folder:
            self.forEach(lambda case: self.checkObject(case, f"{folder}/kernel.hsaco"))

    def checkObject(self, case, object):
        done = compiled(*chosen(*case), "--emit", "object", "-o", object, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.checkResources(case, json.loads(done.stdout)["resources"])
        self.checkMetadata(case, object)

    def checkResources(self, case, taken):
        self.assertEqual(taken["spilled_bytes"], 0)
        self.assertEqual(taken["stack_bytes"], 0)
        self.assertLessEqual(taken["shared_bytes"], LDS)
        self.assertEqual(taken["shared_bytes"] > 0, case[0] in ROWS)
        self.assertTrue(0 < taken["registers"] <= VGPRS, taken)
        self.assertTrue(0 < taken["scalar_registers"] <= SGPRS, taken)

    def checkMetadata(self, case, object):
        text = subprocess.run([TOOLS / "llvm-readobj", "--notes", "--file-header", object], capture_output=True,
                              text=True, check=True).stdout
        self.assertIn("Type: SharedObject", text)
        self.assertRegex(text, r"ABIVersion: 3\b")  # code object version 5
        self.assertIn(f"amdgcn-amd-amdhsa--{case[1]}", text)
        self.assertRegex(text, r"\.name:\s+ditron_kernel\n")
        self.assertRegex(text, r"\.symbol:\s+ditron_kernel\.kd\n")
        self.assertRegex(text, rf"\.wavefront_size:\s+{LANES}\n")
        threads = int(re.search(r"\.max_flat_workgroup_size:\s+(\d+)", text)[1])
        self.assertTrue(threads % LANES == 0 and 0 < threads <= 1024, threads)
        kinds = re.findall(r"\.value_kind:\s+(\w+)", text)
        self.assertIn("by_value", kinds)
        offsets = [int(n) for n in re.findall(r"\.offset:\s+(\d+)", text)]
        self.assertEqual(offsets, sorted(offsets))

    def assembly(self, case):
        done = compiled(*chosen(*case), "--emit", "asm")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def testMemoryIsReadAndWrittenWidely(self):
        def check(case):
            text = self.assembly(case)
            self.assertIn("global_load_dwordx4", text)
            self.assertIn("global_store_dwordx4", text)

        self.forEach(check)

    def testReductionsUseLanesAndLds(self):
        def check(case):
            text = self.assembly(case)
            self.assertRegex(text, r"quad_perm|row_ror")  # DPP
            self.assertIn("ds_swizzle_b32", text)
            self.assertIn("ds_bpermute_b32", text)
            self.assertRegex(text, r"ds_write|ds_read")
            self.assertIn("s_barrier", text)

        self.forEach(check, ROWS)

    def testExponentialsAreInstructions(self):
        self.forEach(lambda case: self.assertIn("v_exp_f32", self.assembly(case)), ["softmax", "silu-mul"])

    def testNothingOfAnotherChip(self):
        def check(case):
            done = compiled(*chosen(*case), "--emit", "llvm")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotRegex(done.stdout, r"(?i)nvvm|nvptx|nvidia|ld\.global|bar\.sync")
            self.assertIn("amdgpu_kernel", done.stdout)

        self.forEach(check)

    def testWhatAWavefrontSharesAndBranches(self):
        """A number of f16 that all lanes share, and a branch on it: LLVM 19 has neither as ditron's kernels for
        other chips write them."""
        with tempfile.TemporaryDirectory() as folder:
            for chip in CHIPS:
                done = compiled(pathlib.Path(__file__).with_name("shared-numbers.mlir"), "--target", chip, "--emit", "object",
                                "-o", f"{folder}/kernel.hsaco")
                self.assertEqual(done.returncode, 0, done.stderr)

    def testProductsAreInstructions(self):
        def check(case):
            text = self.assembly(case)
            self.assertRegex(text, MFMA[case[2]])
            self.assertRegex(text, r"ds_read_b128|ds_read2(st64)?_b64")
            self.assertRegex(text, r"global_load_dwordx4")
            self.assertNotRegex(text, r"scratch_(load|store)")

        self.forEach(check, ("gemm", "gemm-rs"))

    def testProductsOfBytes(self):
        for chip, mfma in MFMA_OF_BYTES.items():
            self.assertRegex(self.assembly(("gemm", chip, "i8")), mfma)
        fast = compiled(*chosen("gemm", "gfx942", "f32"), "--config", "accuracy=fast", "--emit", "asm")
        self.assertRegex(fast.stdout, "v_mfma_f32_16x16x8_?xf32")

    def testEveryKernelOfTheLibrary(self):
        listed = subprocess.run([DITRON, "list", "--json"], capture_output=True, text=True, check=True).stdout
        names = [json.loads(line)["name"] for line in listed.splitlines()]
        self.assertGreater(len(names), 30)
        for name in names:
            with self.subTest(name):
                done = compiled(name, "--target", "gfx942", "--ranks", "2", "--emit", "asm")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("s_endpgm", done.stdout)

    def testVerbsOfRanks(self):
        """Cores tell others in order: what they have written leaves their caches before, and what they know is left out
        of theirs behind it."""
        done = compiled("all-gather", "--target", "gfx942", "--ranks", "2", "--config", "engine=cores,protocol=simple", "--emit",
                        "asm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"buffer_wbl2 sc0 sc1")
        self.assertRegex(done.stdout, r"buffer_inv sc0 sc1")


if __name__ == "__main__":
    unittest.main()
