#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of the system, met by the programs beside ditron: an output is whole or as it was, a stack is large enough,
and memory that is not there is one line.

usage: limits_test.py DITRON DITRON_OPT DITRON_LSP_SERVER GENERATE
"""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

DITRON, OPT, LSP, GENERATE = (sys.argv.pop(1) for _ in range(4))
NESTED = "".join(f"{'  ' * n}scf.for %i{n} = %a to %b step %c {{\n" for n in range(100)) + "}\n" * 100
TEXT = "func.func @k(%a: index, %b: index, %c: index) {\n" + NESTED + "return\n}\n"
LARGE = "\n".join(f"func.func @k{n}() {{ return }}" for n in range(2000)) + "\n"


def run(command, text="", **limits):
    def limited():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, name), value if isinstance(value, tuple) else (value, value))
    return subprocess.run(command, input=text, capture_output=True, text=True, preexec_fn=limited, timeout=300)


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.mlir"
        self.output.write_text("before")

    def refused(self, done, why):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, why)
        self.assertEqual(self.output.read_text(), "before")
        self.assertEqual(os.listdir(self.folder), ["out.mlir"])

    def testAreWholeOrAsTheyWere(self):
        self.refused(run([OPT, "-o", self.output], LARGE, RLIMIT_FSIZE=4096), r"out.mlir' cannot be written: File too large")
        self.refused(run([OPT, "-o", self.output], "func.func @k() {"), r"expected|error")
        self.refused(run([OPT, "-o", self.folder / "none" / "k.mlir"], LARGE), r"cannot be written: No such file")
        done = run([OPT, "-o", self.output], LARGE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.output.read_text(), run([OPT], LARGE).stdout)
        self.assertEqual(os.listdir(self.folder), ["out.mlir"])

    def testToAStreamThatIsFull(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([OPT], input=LARGE, stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "stdout cannot be written: No space left on device\n")


class Stacks(unittest.TestCase):
    def testOfRanks(self):
        """Ranks that are processes begin on a stack that is large enough, or are refused."""
        command = [DITRON, "run", "all-gather", "--procs", "2", "--shape", "M=8,N=64"]
        with unittest.mock.patch.dict(os.environ, {"DITRON_CACHE": "0"}, clear=True):
            done = run(command, RLIMIT_STACK=(28 << 10, 8 << 20))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = run(command, RLIMIT_STACK=28 << 10)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\Aditron: the process of a rank .* stack \(ulimit -s\) is 28672 bytes, expected \d+ or more\n\Z")

    def testOfThePasses(self):
        done = run([OPT, "--canonicalize"], TEXT, RLIMIT_STACK=64 << 10)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def testOfTheLanguageServer(self):
        frame = lambda one: (lambda text: f"Content-Length: {len(text)}\r\n\r\n{text}")(json.dumps(dict(one, jsonrpc="2.0")))
        document = {"uri": "file:///tmp/k.mlir", "languageId": "mlir", "version": 1, "text": TEXT}
        asked = [{"id": 1, "method": "initialize", "params": {"capabilities": {}}},
                 {"method": "textDocument/didOpen", "params": {"textDocument": document}},
                 {"id": 2, "method": "shutdown"}, {"method": "exit"}]
        done = run([LSP], "".join(map(frame, asked)), RLIMIT_STACK=64 << 10)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"diagnostics":[]', done.stdout)


class Files(unittest.TestCase):
    def testThatAreTooMany(self):
        """Ranks that are processes need some: with less a run is one error, whose numbers are true."""
        for files in range(4, 10):
            with self.subTest(files=files):
                done = run([DITRON, "run", "all-gather", "--procs", "2", "--shape", "M=8,N=64"], RLIMIT_NOFILE=files)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertNotRegex(done.stderr, r"\d{19}")
                self.assertEqual(done.stderr.count("\n"), done.returncode, done.stderr)


@unittest.skipIf("asan" in DITRON or "tsan" in DITRON, "a sanitizer takes the address space")
class Memory(unittest.TestCase):
    def setUp(self):
        environment = unittest.mock.patch.dict(os.environ, DITRON_HEAP_BYTES="1000000", DITRON_CACHE="0")
        environment.start()
        self.addCleanup(environment.stop)

    def testThatIsNotThere(self):
        """Whatever is left of the address space, a command ends well or with one line."""
        for megabytes in range(100, 260, 20):
            for command in ([DITRON, "compile", "gemm", "--target", "sm_90a", "--emit", "asm", "-o", "/dev/null"],
                            [OPT, "--canonicalize"], [DITRON, "run", "softmax", "--cores", "1"],
                            [DITRON, "run", "softmax", "--backend", "reference", "--shape", "T=4,H=4"], [DITRON, "info"]):
                with self.subTest(megabytes=megabytes, command=command[1]):
                    done = run(command, LARGE, RLIMIT_AS=megabytes << 20)
                    self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                    self.assertNotRegex(done.stderr, r"terminate called|LLVM ERROR|std::|Stack dump")
                    if done.returncode:
                        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def testThatIsHardlyEnoughToBegin(self):
        """From the least limit with which the system starts a program, it ends well or with one line."""
        bySystem = (-signal.SIGSEGV, 127)  # it maps no program, or not all of its libraries
        for command in ([DITRON, "list"], [DITRON, "run", "gemm", "--backend", "reference"], [OPT, "/dev/null"], [LSP],
                        [GENERATE, "/none.gguf", "hello"]):
            begins = lambda kilobytes: run(command, RLIMIT_AS=kilobytes << 10).returncode not in bySystem
            first = next(filter(begins, range(60000, 100000, 160)))
            for kilobytes in [*range(first, first + 1600, 16), *range(first + 1600, first + 16000, 160)]:
                with self.subTest(kilobytes=kilobytes, command=command):
                    done = run(command, RLIMIT_AS=kilobytes << 10)
                    self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                    self.assertNotIn("terminate called", done.stderr)
                    if done.returncode:
                        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
