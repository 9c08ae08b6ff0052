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
FAILED, USAGE, UNAVAILABLE = 1, 2, 3

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
    ("run gemm --ranks 99999999999999999999", USAGE,
     r"--ranks is 99999999999999999999, expected at most 1024"),
    ("run gemm --ranks -99999999999999999999", USAGE, r"--ranks is '-9+', expected an integer of"),
    ("run gemm --repeat 1000001", USAGE, r"--repeat is 1000001, expected at most 1000000"),
    ("run gemm --seed -1", USAGE, r"--seed is '-1', expected an integer of at least 0"),
    # Sizes and configurations
    *[(f"run gemm --shape M={value}", USAGE, rf"M is '{value}', expected an integer of at least 1")
      for value in ("0", "-1", "abc", "2x")],
    ("run gemm --shape M", USAGE, r"shape: found 'M', expected name=value"),
    ("run gemm --shape M=8,M=9", USAGE, r"shape: M is given twice, 8 and 9"),
    ("run gemm --shape M=8,", USAGE, r"shape: found '', expected name=value"),
    ("run gemm --shape M=9223372036854775808", USAGE,
     r"M is 9223372036854775808, expected at most 9223372036854775807"),
    ("run gemm --shape Q=3", USAGE, r"gemm has no dimension 'Q', expected K, M, N"),
    ("run gemm --config q=3", USAGE, r"config: unknown 'q', expected one of m, n, k"),
    ("run gemm --config resident=2", USAGE, r"config: 'resident' is now 'ctas-per-sm'"),
    ("run gemm --config weights=yes", USAGE, r"config: 'weights' is now 'transB'"),
    ("compile gemm --target sm_90a --config resident=2", USAGE, r"config: 'resident' is now 'ctas-per-sm'"),
    *[(f"{verb} gemm {option}", USAGE, r"--resident is now --config ctas-per-sm=N")
      for verb in ("run", "bench", "compile", "trace", "tune") for option in ("--resident 2", "--resident=2")],
    ("run gemm --config m=0", USAGE, r"m is '0', expected an integer of at least 1"),
    ("run gemm --config m=8,n=8,m=16", USAGE, r"config: m is given twice, 8 and 16"),
    ("run gemm --config m=4294967297", USAGE, r"m is 4294967297, expected at most 2147483647"),
    ("run gemm --config activation=cosh", USAGE,
     r"activation is 'cosh', expected one of none, relu, silu, gelu"),
    ("run gemm --config m=100000,n=100000,k=100000 --shape M=16,N=16,K=16", USAGE,
     r"'tensor<100000x100000xf32>' is larger than a tile: expected at most 1048576 elements, choose smaller tiles"),
    *[(f"{verb} gemm --config m=2147483647,n=2147483647,k=4", USAGE, r"is larger than a tile: expected at most 1048576")
      for verb in ("run", "check", "bench", "trace", "compile --target sm_90a -o /dev/null")],
    ("run gemm --dtype i8 --config bias=yes", USAGE, r"takes no bias, residual, scale or activation"),
    ("run gemm --shape M=1000000,N=1000000", UNAVAILABLE,
     r"gemm asks for \d{13} bytes of memory for the arguments of 1 rank, but \d+ are available"),
    ("run gemm --shape M=9000000000000", UNAVAILABLE, r"M is 9000000000000, expected at most"),
    ("bench gemm --shape M=1000000,N=1000000", UNAVAILABLE, r"bytes of memory"),
    *[(f"run broadcast {ranks} --config root=5", USAGE, r"the root is rank 5, expected one below 2") for ranks in ("--ranks 2", "--procs 2")],
    ("run decode-attention --shape D=128 --config d=64", USAGE, r"the heads have 128 elements, this variant takes up to 64"),
    ("run decode-attention --config block=1000,by=elements", USAGE, r"block is 1000, expected at most 32 with by=elements"),
    ("run packed-gemv --config k=48", USAGE, r"packed-gemv: a step is of 48 weights, expected a multiple of 32"),
    ("compile paged-attention --shape S=256,D=4096 --dtype bf16 --target sm_90a", USAGE, r"a page of S=256 rows of D=4096 elements, padded to powers of two, has 2097152 bytes, expected at most 262144 on a GPU"),
    ("compile paged-attention --shape S=2048 --target sm_80", USAGE, r"S is 2048, expected at most 512 on a GPU"),
    ("bench gemm --save --save-to /proc/x --shape M=9000,N=9000,K=9000", FAILED, r"'/proc/x/lines.jsonl' cannot be written"),
    ("bench gemm --save-to x", USAGE, r"--save-to is given, expected --save with it"),
    # Places
    ("run gemm --backend gpu", USAGE, r"unknown backend 'gpu', expected one of cpu, reference"),
    ("run gemm --backend nvidia --cores 2", USAGE, r"--cores 2: backend 'nvidia' runs ranks on all cores of their devices; expected backend 'cpu'"),
    ("run all-gather --backend nvidia --ranks 0", USAGE, r"--ranks is '0', expected an integer of at least 1"),
    ("run all-gather --backend nvidia --ranks 2 --straggler rank=2,ms=1", USAGE, r"--straggler names rank 2, expected 0 to 1"),
    ("run gemm --transport tcp", USAGE, r"unknown transport 'tcp', expected one of threads, proc"),
    ("run gemm --procs 2 --backend reference", USAGE,
     r"--procs 2: backend 'reference' runs every rank in one process"),
    ("run gemm --procs 2 --ranks 3", USAGE, r"--ranks is 3, but --procs 2 .*: expected 2"),
    ("run gemm --procs 2 --transport threads", USAGE, r"--procs 2 with --transport threads"),
    *[(f"{verb} gemm --straggler {value}", USAGE,
       rf"--straggler is '{value}': expected a rank and at most 86400000 ms, for example rank=1,ms=30")
      for verb in ("run", "bench", "trace")
      for value in ("late", "rank=0", "rank=0,ms=-1", "rank=0,ms=nan", "rank=0,ms=99999999999",
                    "rank=4294967296,ms=1", "rank=0,ms=1,ms=2")],
    ("run gemm --straggler rank=4,ms=3", USAGE, r"--straggler names rank 4, expected 0 to 0"),
    ("bench gemm --backend reference", USAGE, r"backend 'reference' says what a kernel means"),
    # Compiling
    ("compile flash-attention --dtype f32 --config m=16,n=48,d=144 --target gfx942 --emit asm", USAGE,
     r"needs 67584 bytes of shared memory, but gfx942 has 65536 for a core: expected smaller tiles"),
    ("compile gemm --target z80", USAGE, r"unknown target 'z80', expected one of x86-64, sm_90a"),
    ("compile gemm --ranks 1025", USAGE, r"--ranks is 1025, expected at most 1024"),
    ("compile gemm --emit ast", USAGE, r"unknown --emit 'ast', expected one of ir, llvm, asm, obj"),
    ("compile gemm --emit object", USAGE, r"--emit object needs -o FILE"),
    ("compile gemm -o /nowhere/to/be/found", 1, r"'/nowhere/to/be/found' cannot be written"),
    # Checks
    *[(f"check ag-gemm {option} {value}", USAGE, rf"{option} is {value}, expected at most \d")
      for option in ("--ranks", "--cores", "--nodes", "--launches", "--schedules", "--states", "--resident")
      for value in ("1000000000", "99999999999999999999")],
    *[(f"check ag-gemm {option} {value}", USAGE, rf"{option} is '{value}', expected an integer of at least [01]")
      for option in ("--ranks", "--cores", "--nodes", "--launches", "--states", "--budget", "--schedules",
                     "--seed", "--resident")
      for value in ("-1", "x", "1e3")],
    ("check ag-gemm --ranks 4 --nodes 3", USAGE, r"4 ranks do not divide into 3 nodes"),
    ("run ag-gemm --ranks 4 --mesh node=3", USAGE, r"the mesh is node=3, but there are 4 ranks"),
    ("run ag-gemm --ranks 4 --mesh 2d=2", USAGE, r"--mesh is '2d=2': expected the extents of axes"),
    *[(f"{verb} all-reduce --ranks 6 --mesh row=2,col=3 --axis rows", USAGE,
       r"--axis 'rows' is none of the mesh row=2,col=3, expected one of row, col; did you mean row\?")
      for verb in ("run", "check", "bench", "compile")],
    ("run all-reduce --ranks 5 --mesh row=2,col=3 --axis row", USAGE, r"the mesh is row=2,col=3, but there are 5 ranks"),
    ("run all-reduce --ranks 4 --axis row", USAGE, r"--axis 'row' is none of the mesh node=1,local=4, expected one of node, local"),
    ("run softmax --ranks 4 --mesh a=2,b=2 --axis a", USAGE, r"--axis a: softmax runs on each rank by itself"),
    ("check x.mlir --axis a", USAGE, r"--config, --dtype and --axis are for kernels of the library"),
    ("check ag-gemm --ranks 1024 --cores 1024", USAGE, r"are 1048576 cores, expected at most 2048"),
    ("check ag-gemm --shape M=1000000000000", UNAVAILABLE, r"asks for \d+ bytes of memory"),
    ("check ag-gemm --replay 0.0:1", USAGE, r"--replay needs the --shape \(and --config\) of the finding"),
    *[(f"check ag-gemm --shape M=8,N=8,K=8 --replay {schedule}", USAGE,
       rf"expected RANK.CORE:EVENT ... of 2 ranks and 2 cores, found")
      for schedule in ("x", "9.9:1", "0.0:-1", "99999999999999999999.0:1")],
    ("check ag-gemm --shape M=8,N=8,K=8 --replay 0.0:999999", USAGE, r"cannot go on to 999999"),
    ("check nosuch.mlir", USAGE, r"'nosuch.mlir' cannot be read: No such file or directory"),
    ("check /tmp", USAGE, r"unknown kernel '/tmp'"),
    # Timelines
    *[(f"trace gemm --events {value}", USAGE, rf"--events is '{value}', expected an integer of at least 1")
      for value in ("0", "-3", "x")],
    ("trace gemm --backend reference", USAGE, r"backend 'reference' has no clock"),
    ("trace gemm --shape M=8 --shape M=9", USAGE, r"2 shapes are given, expected one"),
    ("trace gemm --html x.html --no-html", USAGE, r"--html and --no-html contradict one another"),
    ("trace gemm -o x.html --no-html", USAGE, r"-o x.html is an HTML page already"),
    ("trace gemm --html /nowhere/t.html -o /tmp/t.json", 1, r"'/nowhere/t.html' cannot be written"),
    ("trace gemm -o /", 1, r"'/' cannot be written: Is a directory"),
    ("trace gemm -o -", USAGE, r"trace writes no file to stdout: expected a name other than '-'"),
    ("trace gemm -o t --html t", USAGE, r"-o and --html both name t: expected two files"),
    ("trace gemm --events 4294967297", USAGE, r"--events is 4294967297, expected at most 4294967296"),
    # The run would take a minute.
    ("trace gemm --straggler rank=0,ms=60000 -o /nowhere/t.json", 1,
     r"'/nowhere/t.json' cannot be written: No such file or directory"),
    ("trace gemm --straggler rank=0,ms=60000 -o /tmp", 1, r"'/tmp' cannot be written: Is a directory"),
    # Tuning
    ("tune gemm --backend reference", USAGE, r"backend 'reference' says what a kernel means, not how fast it is"),
    ("tune gemm --procs 2", USAGE, r"ditron tune runs the ranks as threads of one process"),
    ("tune gemm --repeat 2", USAGE, r"ditron tune takes no --repeat"),
    ("tune gemm --shape M=1 --shape M=2", USAGE, r"--shape is given 2 times, expected once"),
    ("tune gemm --budget 0", USAGE, r"--budget is '0', expected an integer of at least 1"),
    ("tune gemm --trials few", USAGE, r"--trials is 'few', expected an integer of at least 1"),
    ("tune gemm --config m=8,n=8,k=8,group=1,parts=1,operands=given,workers=0", USAGE,
     r"gemm has no choice to search beside those that --config gives"),
]

# (environment, arguments, exit status, what the message says)
ENVIRONMENT_CASES = [
    ("WORLD_SIZE=2", "run gemm", USAGE, r"WORLD_SIZE is set, but RANK is not"),
    ("RANK=0 WORLD_SIZE=2", "run gemm --ranks 3", USAGE,
     r"--ranks is 3, but torchrun started 2 processes: expected 2"),
    ("RANK=2 WORLD_SIZE=2", "run gemm", USAGE, r"RANK=2 but WORLD_SIZE=2"),
    ("RANK=x WORLD_SIZE=2", "run gemm", USAGE, r"RANK is 'x': expected an integer from 0 to"),
    ("RANK=-1 WORLD_SIZE=2", "run gemm", USAGE, r"RANK is '-1': expected an integer from 0 to"),
    ("RANK=0 WORLD_SIZE=0", "run gemm", USAGE, r"WORLD_SIZE is '0': expected an integer from 1 to"),
    ("RANK=0 WORLD_SIZE=1 MASTER_PORT=ssh", "run gemm", USAGE,
     r"MASTER_PORT is 'ssh': expected an integer from 1 to 65535"),
    ("RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=1", "run gemm", 1, r"the 2 ranks .* on several hosts"),
    ("DITRON_STRAGGLER=rank=9,ms=1", "run gemm", USAGE,
     r"DITRON_STRAGGLER names rank 9, expected 0 to 0"),
    ("DITRON_STRAGGLER=late", "run gemm", USAGE, r"DITRON_STRAGGLER is 'late': expected a rank"),
    ("DITRON_JOB=7", "run gemm --procs 2", USAGE, r"DITRON_JOB is set, as it is in a rank"),
    ("DITRON_HEAP_BYTES=1G", "run ag-gemm", USAGE, r"DITRON_HEAP_BYTES is '1G': expected an integer"),
    ("DITRON_HEAP_BYTES=1", "run ag-gemm --ranks 2", 1,
     r"symmetric allocation 'ag-gemm.*: \d+ bytes asked for, but the symmetric heap of 4096 bytes"),
    ("DITRON_HEAP_BYTES=70368744177664", "run ag-gemm --ranks 2", 1,
     r"mapping 140737488523264 bytes for the symmetric heaps is refused: .*DITRON_HEAP_BYTES"),
    ("DITRON_EVENTS=0", "run gemm", USAGE, r"DITRON_EVENTS is '0': expected an integer from 1 to"),
    ("DITRON_POISON=maybe", "run gemm", USAGE, r"DITRON_POISON is 'maybe': expected 1, on, true"),
    ("DITRON_CACHE=maybe", "run gemm", USAGE, r"DITRON_CACHE is 'maybe': expected 1, on, true"),
    ("DITRON_CPU=z80", "run gemm", USAGE, r"DITRON_CPU is 'z80', expected a CPU that LLVM knows"),
    ("DITRON_WAIT_TIMEOUT_MS=10s", "run gemm", USAGE,
     r"DITRON_WAIT_TIMEOUT_MS is '10s': expected an integer from 1 to"),
]


def call(arguments, environment=""):
    variables = dict(os.environ, **dict(pair.split("=", 1) for pair in environment.split()))
    return subprocess.run([DITRON, *arguments.split()], env=variables, capture_output=True,
                          text=True, timeout=30)


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

    def testAnEmptyTextIsNoValue(self):
        for verb, options in (("run", ("--dtype", "--config", "--ranks", "--cores", "--backend",
                                       "--procs", "--transport", "--shape", "--seed", "--repeat",
                                       "--straggler")),
                              ("compile", ("--target", "--emit", "-o", "--shape", "--ranks")),
                              ("check", ("--launches", "--schedules", "--replay")),
                              ("trace", ("-o", "--html", "--events")), ("list", ()), ("bench", ())):
            for words in ([verb, ""], *([verb, "gemm", option, ""] for option in options)):
                with self.subTest(words):
                    result = subprocess.run([DITRON, *words], capture_output=True, text=True,
                                            timeout=30)
                    option = {"-o": "--output"}.get(words[-2], words[-2])
                    self.assertEqual((result.returncode, result.stdout), (USAGE, ""), result.stderr)
                    self.assertRegex(result.stderr, f"^ditron: ditron {verb}: "
                                     f"{'KERNEL' if words[-2] == verb else option} is empty, expected")

    def testOutputThatCannotBeWritten(self):
        small = "--shape M=16,N=16,K=16"
        for arguments in ("list", "list --json", "info", "--help", "--version", "run --help",
                          "compile gemm", f"run gemm {small}", f"run gemm {small} --json",
                          f"run gemm {small} --procs 2", f"check gemm {small}", f"check gemm {small} --json",
                          f"trace gemm {small} -o /dev/null --no-html"):
            for place, why in ((">/dev/full", "No space left on device"),
                               (">&-", "Bad file descriptor")):
                with self.subTest(arguments=arguments, place=place):
                    result = subprocess.run(["sh", "-c", f'exec "$0" "$@" {place}', DITRON,
                                             *arguments.split()], capture_output=True, text=True,
                                            timeout=30)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertRegex(result.stderr,
                                     f"ditron: standard output cannot be written: {why}\n$")

    def testAClosedPipeEndsQuietly(self):
        result = subprocess.run(["bash", "-c", '"$0" list --json | head -n 1; exit ${PIPESTATUS[1]}',
                                 DITRON], capture_output=True, text=True, timeout=30)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def testWithoutStandardStreams(self):
        result = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&- 2>&-', DITRON, "run", "ag-gemm",
                                 "--procs", "2", "--shape", "M=16,N=16,K=16", "--json"],
                                capture_output=True, text=True, timeout=30)
        self.assertEqual((result.returncode, len(result.stdout.splitlines())), (0, 1))
        for place in ("2>&-", "2>/dev/full"):
            result = subprocess.run(["sh", "-c", f'exec "$0" run gem {place}', DITRON], timeout=30)
            self.assertEqual(result.returncode, USAGE)

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
