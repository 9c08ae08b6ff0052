#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong command lines: each has its message on stderr, nothing on stdout, and its exit status.

usage: command_line_test.py DITRON
"""
import os
import re
import subprocess
import sys
import unittest

DITRON = sys.argv.pop(1)
USAGE, UNAVAILABLE = 2, 3

# (arguments, exit status, what the message says)
CASES = [
    ("", USAGE, r"no verb is given, expected one of list, info, run"),
    ("rum gemm", USAGE, r"unknown verb 'rum', expected one of .*; did you mean run\?"),
    ("run", USAGE, r"no kernel is given; ditron list names them"),
    ("run gem", USAGE, r"unknown kernel 'gem', expected one of .*ag-gemm.*; did you mean gemm\?"),
    ("bench soft-max", USAGE, r"unknown kernel 'soft-max'.*did you mean softmax\?"),
    ("compile gem", USAGE, r"unknown kernel 'gem'"),
    ("list gem", USAGE, r"unknown kernel 'gem'"),
    ("run gemm --dtype f31", USAGE, r"unknown element type 'f31': expected one of f32, f16, bf16"),
    ("run softmax --dtype i8", USAGE, r"softmax has no variant for i8, expected one of f32, f16"),
    ("run gemm --rank 3", USAGE, r"unknown option '--rank' of ditron run, .*did you mean --ranks\?"),
    ("list --jason", USAGE, r"unknown option '--jason' of ditron list, .*did you mean --json\?"),
    ("run gemm extra", USAGE, r"unexpected argument 'extra'"),
    ("run gemm --ranks", USAGE, r"--ranks: 1 required"),
    ("run gemm --ranks 2 --ranks 3", USAGE, r"--ranks"),
    # Counts
    *[(f"run gemm {option} {value}", USAGE,
       rf"{option} is '{value}', expected an integer of at least 1")
      for option in ("--ranks", "--cores", "--procs", "--repeat") for value in ("0", "-2", "x", "1.5")],
    ("run gemm --ranks 99999", USAGE, r"--ranks is 99999, expected at most 1024"),
    ("run gemm --ranks 1000 --cores 1000", USAGE, r"1000 ranks of 1000 cores are 1000000 cores"),
    ("run gemm --ranks 99999999999999999999", USAGE, r"--ranks is '99999999999999999999'"),
    ("run gemm --seed -1", USAGE, r"--seed is '-1', expected an integer of at least 0"),
    # Sizes and configurations
    *[(f"run gemm --shape M={value}", USAGE, rf"M is '{value}', expected an integer of at least 1")
      for value in ("0", "-1", "abc", "2x")],
    ("run gemm --shape M", USAGE, r"shape: found 'M', expected name=value"),
    ("run gemm --shape Q=3", USAGE, r"gemm has no dimension 'Q', expected K, M, N"),
    ("run gemm --config q=3", USAGE, r"config: unknown 'q', expected one of m, n, k"),
    ("run gemm --config m=0", USAGE, r"m is '0', expected an integer of at least 1"),
    ("run gemm --config activation=cosh", USAGE,
     r"activation is 'cosh', expected one of none, relu, silu, gelu"),
    ("run gemm --config m=100000,n=100000,k=100000 --shape M=16,N=16,K=16", USAGE,
     r"the tiles of this kernel need \d+ bytes of a core's memory, which has \d+"),
    ("run gemm --dtype i8 --config bias=yes", USAGE, r"takes neither bias nor activation"),
    ("run gemm --shape M=1000000,N=1000000", UNAVAILABLE,
     r"gemm asks for \d{13} bytes of memory for the arguments of 1 rank, but \d+ are available"),
    ("run gemm --shape M=9000000000000", UNAVAILABLE, r"M is 9000000000000, expected at most"),
    ("bench gemm --shape M=1000000,N=1000000", UNAVAILABLE, r"bytes of memory"),
    # Places
    ("run gemm --backend gpu", USAGE, r"unknown backend 'gpu', expected one of reference, cpu"),
    ("run gemm --backend nvidia --ranks 2", USAGE, r"--ranks 2: backend 'nvidia' runs one rank"),
    ("run gemm --transport tcp", USAGE, r"unknown transport 'tcp', expected one of threads, proc"),
    ("run gemm --procs 2 --backend reference", USAGE,
     r"--procs 2: backend 'reference' runs every rank in one thread of one process"),
    ("run gemm --transport threads --backend reference", USAGE, r"--transport threads: backend"),
    ("run gemm --procs 2 --ranks 3", USAGE, r"--ranks is 3, but --procs 2 .*: expected 2"),
    ("run gemm --procs 2 --transport threads", USAGE, r"--procs 2 with --transport threads"),
    ("run gemm --straggler late", USAGE, r"straggler 'late': expected, for example, rank=1,ms=30"),
    ("run gemm --straggler rank=4,ms=3", USAGE, r"--straggler names rank 4, expected 0 to 0"),
    ("bench gemm --backend reference", USAGE, r"backend 'reference' says what a kernel means"),
    # Compiling
    ("compile gemm --target gfx942", UNAVAILABLE, r"target 'gfx942' is not in this build"),
    ("compile gemm --target z80", USAGE, r"unknown target 'z80', expected one of x86-64, sm_90a"),
    ("compile gemm --emit ast", USAGE, r"unknown --emit 'ast', expected one of ir, llvm, asm, obj"),
    ("compile gemm --emit object", USAGE, r"--emit object needs -o FILE"),
    ("compile gemm -o /nowhere/to/be/found", 1, r"'/nowhere/to/be/found' cannot be written"),
    # Absent verbs
    ("tune gemm --json", UNAVAILABLE, r"ditron tune is not in this build"),
]

# (environment, arguments, exit status, what the message says)
ENVIRONMENT_CASES = [
    ("WORLD_SIZE=2", "run gemm", USAGE, r"WORLD_SIZE is set, but RANK is not"),
    ("RANK=0 WORLD_SIZE=2", "run gemm --ranks 3", USAGE,
     r"--ranks is 3, but torchrun started 2 processes: expected 2"),
    ("RANK=2 WORLD_SIZE=2", "run gemm", USAGE, r"RANK=2 but WORLD_SIZE=2"),
    ("DITRON_WAIT_TIMEOUT_MS=10s", "run gemm", USAGE,
     r"DITRON_WAIT_TIMEOUT_MS is '10s': expected an integer from 1 to"),
]


def call(arguments, environment=""):
    variables = dict(os.environ, **dict(pair.split("=") for pair in environment.split()))
    return subprocess.run([DITRON, *arguments.split()], env=variables, capture_output=True,
                          text=True, timeout=60)


class CommandLine(unittest.TestCase):
    def check(self, arguments, status, message, environment=""):
        with self.subTest(arguments=arguments, environment=environment):
            result = call(arguments, environment)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertRegex(result.stderr, "(?s)^ditron: .*" + message)
            self.assertEqual(result.stdout, "")

    def testMessages(self):
        for arguments, status, message in CASES:
            self.check(arguments, status, message)

    def testEnvironment(self):
        for environment, arguments, status, message in ENVIRONMENT_CASES:
            self.check(arguments, status, message, environment)

    def testHelp(self):
        for arguments in ("--help", "run --help", "bench --help", "compile --help", "list --help",
                          "info --help", "check --help", "--version"):
            with self.subTest(arguments=arguments):
                result = call(arguments)
                self.assertEqual(result.returncode, 0)
                self.assertRegex(result.stdout, r"ditron|KERNEL|OPTIONS|Options")
                self.assertEqual(result.stderr, "")


if __name__ == "__main__":
    unittest.main()
