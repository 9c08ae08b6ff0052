#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Textual IR on which programs crashed, hung or read other files: each refuses it with one line, at once.

usage: texts_test.py DITRON DITRON_OPT DITRON_INTERPRET DITRON_LSP_SERVER CORPUS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

DITRON, OPT, INTERPRET, LSP, CORPUS = (sys.argv.pop(1) for _ in range(5))
CORPUS = pathlib.Path(CORPUS)
SECONDS = 20 # 2 on an idle machine; a busy one fails no test

# What `ditron check` says, by file; each names a line or what was expected.
CHECKED = {
    "bigtile": r"bigtile.mlir:4:\d+: .* is larger than a tile: expected at most 1048576 elements",
    "assign-layouts-internal-error": r"mlir:4:\d+: 'tile.load' op result #0 must be tile .*at most 1048576 elements",
    "reshape": r"reshape.mlir:6:\d+: .* is larger than a tile: expected at most 1048576 elements",
    "expand": r"the type of argument 'argument 0' leaves its extents open",
    "inf2": r"inf2.mlir:7: scf.for has 4611686018427387904 iterations, expected at most 1099511627776",
    "iter": r"iter.mlir:[4-8]: cannot be parsed: MLIR's parser or a verifier crashes on what ends in this line",
    "m7": r"m7.mlir:3: cannot be parsed: MLIR's parser or a verifier crashes on what ends in this line",
    "m1": r"m1.mlir:5: memref.dim asks for dimension 9 of a view of 1 dimensions",
    "m4": r"no function marked tile.kernel",
    "m6": r"no function marked tile.kernel",
    "n_callchain": r"func.call calls 'f0', which executes \d+ operations or more, expected at most 1099511627776",
    "pages": r"dist.symmetric 'in' lies in 0 pages \(dist.pages\), expected 1 or more",
    "vec": r"arith.addf has types \(vector<4xf32>, vector<4xf32>\) -> \(vector<4xf32>\) that the reference "
           r"interpreter does not take",
    "loc2": r"shadow:1",
    "dimension": r"dimension.mlir:\d+:\d+: 'memref.dim' op asks for dimension 3 of a view of 2 dimensions",
}


def run(*command, text=None):
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120, input=text)
    return done, time.monotonic() - start


class Texts(unittest.TestCase):
    def testCheckRefusesEach(self):
        for file in sorted(CORPUS.glob("*.mlir")):
            with self.subTest(file.name):
                done, seconds = run(DITRON, "check", str(file))
                self.assertIn(done.returncode, (1, 2), done.stderr)
                self.assertRegex(done.stdout + done.stderr, CHECKED[file.stem])
                self.assertLess(seconds, SECONDS)

    def testInterpreterAndPassesEndByThemselves(self):
        for file in sorted(CORPUS.glob("*.mlir")):
            for program in (INTERPRET, OPT):
                with self.subTest(file.name, program=program):
                    done, seconds = run(program, str(file))
                    self.assertIn(done.returncode, (0, 1, 2), done.stderr)
                    self.assertNotRegex(done.stdout + done.stderr, r"terminate called|Stack dump|std::")
                    self.assertLess(seconds, SECONDS)

    def testPassesNameTheLineOfACrash(self):
        done, _ = run(OPT, str(CORPUS / "iter.mlir"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"iter.mlir:\d+: error: cannot be parsed: MLIR's parser or a verifier crashes")

    def testNestingHasAnEnd(self):
        deep = "func.func @k() attributes {a = " + "[" * 100_000 + "]" * 100_000 + "} { return }\n"
        for name, program in (("check", (DITRON, "check")), ("opt", (OPT,)), ("interpret", (INTERPRET,))):
            with self.subTest(name), tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
                file.write("\n" + deep)
                file.flush()
                done, _ = run(*program, file.name)
                self.assertIn(done.returncode, (1, 2))
                self.assertIn(":2: ", done.stdout + done.stderr)
                self.assertIn("brackets nest more than 256 deep", done.stdout + done.stderr)

    def testNoLineOfAnotherFileIsQuoted(self):
        with tempfile.TemporaryDirectory() as folder:
            secret = pathlib.Path(folder, "secret")
            secret.write_text("the secret of another file\n")
            text = (CORPUS / "loc2.mlir").read_text().replace("/etc/shadow", str(secret))
            file = pathlib.Path(folder, "k.mlir")
            file.write_text(text)
            done, _ = run(DITRON, "check", str(file))
            self.assertIn("data-race", done.stdout)
            self.assertNotIn("the secret", done.stdout + done.stderr)
            wrong = text.replace("tensor<4xf32>, memref", "tensor<5xf32>, memref").replace(
                "tile.store %x", '"tile.store"(%x)')
            file.write_text(f'"tile.store"() : () -> () loc("{secret}":1:1)\n')
            done, _ = run(OPT, str(file))
            self.assertEqual(done.returncode, 1, wrong)
            self.assertNotIn("the secret", done.stdout + done.stderr)

    def testCheckHasATime(self):
        text = """func.func @k(%S: memref<1xi32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1> : tensor<1xi32>
  %big = arith.constant 1000000000000 : index
  scf.for %i = %c0 to %big step %c1 {
     %x = tile.load %S[%c0] : memref<1xi32> -> tensor<1xi32>
  }
  return
}
"""
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(text)
            file.flush()
            done, seconds = run(DITRON, "check", file.name, "--seconds", "1", "--budget", "1000000000000")
            self.assertIn("the time of 1 s ended a run", done.stdout)
            self.assertLess(seconds, 60)

    def testManyFunctionsAreCalledQuickly(self):
        """What is called is found by its name, and what a function returns goes to those who call it."""
        layers, width = 200, 250
        call = lambda layer, n: f"func.call @f{layer}_{n} (%a) : (i64) -> i64"
        text = "func.func @k(%A: memref<4xi64>) attributes {tile.kernel} {\n  %c = arith.constant 0 : index\n"
        text += "  %a = memref.load %A[%c] : memref<4xi64>\n"
        text += "".join(f"  %x{n} = {call(0, n)}\n" for n in range(width)) + "  return\n}\n"
        for layer in range(layers):
            for n in range(width):
                body = "return %a : i64"
                if layer + 1 < layers:
                    body = f"%0 = {call(layer + 1, (7 * n + 1) % width)} return %0 : i64"
                text += f"func.func @f{layer}_{n}(%a: i64) -> i64 {{ {body} }}\n"
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(text)
            file.flush()
            done, _ = run(DITRON, "check", file.name)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("clean (proved", done.stdout)

    def testKernelsOfAFileShareTheTime(self):
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write("".join(f"func.func @k{n}() attributes {{tile.kernel}} {{ return }}\n" for n in range(20_000)))
            file.flush()
            done, _ = run(DITRON, "check", file.name, "--seconds", "3")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r"^ditron: the time of 3 s \(--seconds\) is over: what follows is not checked")

    def testElementsHaveABudget(self):
        done, _ = run(DITRON, "check", "vector-add", "--shape", "N=200000000")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"elements, expected at most 268435456: check smaller sizes|bytes of memory")


class LanguageServer(unittest.TestCase):
    def ask(self, *messages):
        """The server's messages after these, and its exit status."""
        frame = lambda one: (lambda text: f"Content-Length: {len(text)}\r\n\r\n{text}")(json.dumps(dict(one, jsonrpc="2.0")))
        sent = [{"id": 1, "method": "initialize", "params": {"capabilities": {}}}, *messages,
                {"id": 2, "method": "shutdown"}, {"method": "exit"}]
        done, _ = run(LSP, text="".join(map(frame, sent)))
        found, rest = [], done.stdout
        while rest:
            header, _, rest = rest.partition("\n\n") if "\n\n" in rest[:80] else rest.partition("\r\n\r\n")
            length = int(header.split(":")[1])
            found.append(json.loads(rest[:length]))
            rest = rest[length:]
        return found, done

    def open(self, text):
        return {"method": "textDocument/didOpen", "params": {"textDocument": {
            "uri": "file:///tmp/k.mlir", "languageId": "mlir", "version": 1, "text": text}}}

    def diagnostics(self, found):
        return [one["params"]["diagnostics"] for one in found if one.get("method") == "textDocument/publishDiagnostics"]

    def testATextThatCrashesTheParser(self):
        found, done = self.ask(self.open((CORPUS / "iter.mlir").read_text()))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("crashes on what ends in this line", self.diagnostics(found)[-1][0]["message"])

    def testMessagesOfManyLevelsAreLeftOut(self):
        frame = "Content-Length: 200053\r\n\r\n" + '{"jsonrpc":"2.0","id":7,"method":"x","params":{"y":' + "[" * 100000 + "]" * 100000 + "}}"
        done, _ = run(LSP, text=frame + 'Content-Length: 33\r\n\r\n{"jsonrpc":"2.0","method":"exit"}')
        self.assertEqual((done.returncode, done.stdout), (1, ""))  # it was not shut down before
        self.assertIn("a message of too many levels of JSON is left out\n", done.stderr)
        found, done = self.ask(self.open('"[{\\' * 300))
        self.assertNotIn("is left out", done.stderr)
        self.assertEqual(len(self.diagnostics(found)), 1)

    def testBothEndsMaySendMoreThanAPipeHolds(self):
        names = [f"function_{n}" for n in range(2000)]
        text = "".join(f"func.func @{name}() {{ return }}\n" for name in names)
        symbols = [{"id": n, "method": "textDocument/documentSymbol", "params": {"textDocument": {"uri": "file:///tmp/k.mlir"}}} for n in range(10, 14)]
        found, done = self.ask(self.open(text), *symbols, self.open(text * 10))
        self.assertEqual(done.returncode, 0, done.stderr)
        for one in symbols:
            answer, = (other["result"] for other in found if other.get("id") == one["id"])
            self.assertEqual([symbol["name"] for symbol in answer], names)

    def testATextThatIsRight(self):
        found, done = self.ask(self.open("func.func @k() { return }\n"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.diagnostics(found)[-1], [])
        self.assertEqual(found[0]["result"]["capabilities"]["textDocumentSync"]["change"], 1)


if __name__ == "__main__":
    unittest.main()
