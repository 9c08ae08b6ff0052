#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The verbs that answer: the fields of the contract, verified kernels, the kernel cache.

usage: program_test.py DITRON
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
import unittest

from own_cache import OwnCache

DITRON = sys.argv.pop(1)

def call(*arguments, status=0, **variables):
    result = subprocess.run([DITRON, *arguments], env=dict(os.environ, **variables),
                            capture_output=True, text=True, timeout=120)
    if result.returncode != status:
        raise AssertionError(f"ditron {' '.join(arguments)}: {result.returncode}\n{result.stderr}")
    return result


def jsonLines(*arguments, **variables):
    return [json.loads(line) for line in call(*arguments, "--json", **variables).stdout.splitlines()]


class Program(OwnCache):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kernels = jsonLines("list")

    def testList(self):
        names = {kernel["name"] for kernel in self.kernels}
        self.assertLessEqual({"vector-add", "gemm", "grouped-gemm", "fp8-gemm", "softmax", "rms-norm",
                              "layer-norm", "silu-mul", "rope", "flash-attention", "all-gather",
                              "reduce-scatter", "all-reduce", "all-to-all", "dense-all-to-all",
                              "broadcast", "send-recv", "ag-gemm", "gemm-rs",
                              "gemm-ar"}, names)
        text = call("list").stdout
        for kernel in self.kernels:
            for field in ("summary", "signature", "dtypes", "dims", "config", "distributed"):
                self.assertIn(field, kernel)
            self.assertIn(kernel["name"], text)
            self.assertTrue(kernel["signature"].startswith(kernel["name"] + "("))
            self.assertIn(kernel["signature"], call("list", kernel["name"]).stdout)

    def testDocs(self):
        """The README names the kernels that there are, and the pages of the verbs every option."""
        root = pathlib.Path(__file__).parents[2]
        named = (root / "README.md").read_text().split("`ditron list` names the kernels: ")[1].split(".\n")[0]
        self.assertEqual([name.strip() for name in named.split(",")], [kernel["name"] for kernel in self.kernels])
        docs = "".join((root / "docs" / f"{page}.md").read_text() for page in ("cli", "check", "trace", "nvidia"))
        for verb in ("list", "info", "run", "bench", "check", "trace", "tune", "compile"):
            for option in re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", call(verb, "--help").stdout, re.MULTILINE):
                short = {"--help": "--help", "--output": "-o"}.get(option, option)
                self.assertRegex(docs, rf"(?<![\w-]){short}(?![\w-])", f"ditron {verb}")

    def testInfo(self):
        info, = jsonLines("info")
        for field in ("cpu", "cpus", "features", "memory_bytes", "caches", "backends", "transports",
                      "launcher", "openblas", "cache", "versions"):
            self.assertIn(field, info)
        self.assertEqual(info["cache"]["folder"], os.environ["DITRON_CACHE_DIR"])
        self.assertIn(info["versions"]["llvm"], call("info").stdout)

    def testMeasure(self):
        """Two ranks on CPUs; what is found is kept, and replaces the defaults in what bench explains."""
        with tempfile.TemporaryDirectory() as folder:
            measured, = jsonLines("info", "--measure", "--backend", "cpu", DITRON_CACHE_DIR=folder)
            self.assertTrue(measured["path"].startswith(folder))
            self.assertEqual((measured["backend"], measured["ranks"], measured["notes"]), ("cpu", 2, []))
            units = {name: number["unit"] for name, number in measured["numbers"].items()}
            self.assertEqual((units["copy_bandwidth"], units["signal_latency"], units["flops"]), ("B/s", "s", "op/s"))
            for name, number in measured["numbers"].items():
                self.assertTrue(number["measured"] and number["value"] > 0, name)
            line, = jsonLines("bench", "ag-gemm", "--ranks", "2", "--cores", "1", "--shape", "M=16,N=16,K=16", "--explain",
                              "--repeat", "2", DITRON_CACHE_DIR=folder)
            self.assertTrue(line["explained"]["calibrated"])
            self.assertNotIn("copies", line["explained"]["chosen"]["choice"])  # CPUs have no engines for them
            one = call("info", "--measure", "--backend", "cpu", "--ranks", "1", DITRON_CACHE_DIR=folder).stdout
            self.assertIn("one rank has no link: expected --ranks 2 or more for the rest", one)
        self.assertIn("expected --measure too", call("info", "--ranks", "2", status=2).stderr)
        self.assertIn("expected backend 'cpu' or 'nvidia'",
                      call("info", "--measure", "--backend", "reference", status=2).stderr)
        self.assertIn("expected DITRON_CACHE_DIR to name one",
                      call("info", "--measure", "--backend", "cpu", status=2, DITRON_CACHE="0").stderr)

    def testExplainOtherKernels(self):
        result = call("bench", "softmax", "--shape", "T=8,H=8", "--repeat", "2", "--explain")
        self.assertIn("the model is about products that are overlapped with a collective", result.stdout)

    def testRunFields(self):
        line, = jsonLines("run", "ag-gemm", "--ranks", "2", "--cores", "1", "--shape",
                          "M=64,N=48,K=96", "--dtype", "bf16", "--config", "m=32", "--repeat", "3")
        self.assertEqual(list(line)[:9], ["kernel", "backend", "ranks", "shape", "dtype", "ok",
                                          "max_rel_error", "tolerance", "seconds"])
        self.assertEqual(line["shape"], {"K": 96, "M": 64, "N": 48})
        self.assertEqual((line["backend"], line["ranks"], line["cores"], line["dtype"],
                          line["transport"], line["launches"]),
                         ("cpu", 2, 1, "bf16", "threads", 3))
        self.assertIn("m=32", line["config"])
        self.assertLessEqual(line["max_rel_error"], line["tolerance"])
        self.assertGreater(line["seconds"], 0)
        for field in ("compile_s", "from_cache", "hidden", "seed", "coverage", "compared"):
            self.assertIn(field, line)

    def testHidden(self):
        small = ["--shape", "M=64,N=48,K=96"]
        none, = jsonLines("run", "gemm", *small)
        for field in ("hidden", "transfer_s", "exposed_s"):
            self.assertIsNone(none[field], field)
        # A core that sends and then multiplies hides nothing.
        serial, = jsonLines("run", "ag-gemm", "--ranks", "2", "--cores", "1", "--config", "comm=0",
                            *small, "--repeat", "3")
        self.assertEqual((serial["hidden"], serial["events_dropped"]), (0, 0))
        self.assertTrue(0 < serial["transfer_s"] == serial["exposed_s"] < serial["seconds"])
        for kernel in ("ag-gemm", "gemm-rs", "gemm-ar"):
            apart, = jsonLines("run", kernel, "--ranks", "2", "--cores", "2", "--config", "comm=1",
                               *small)
            self.assertTrue(0 <= apart["hidden"] <= 1, apart)
            self.assertAlmostEqual(apart["hidden"], 1 - apart["exposed_s"] / apart["transfer_s"], 6)
        text = call("run", "ag-gemm", "--ranks", "2", "--cores", "1", *small, DITRON_EVENTS="1").stdout
        self.assertRegex(text, r"hidden +0 % of the transfers: .* exposed")
        self.assertRegex(text, r"without \d+ events that the logs had no room for: DITRON_EVENTS")

    def testTextAndJsonGoApart(self):
        plain = call("run", "gemm", "--shape", "M=16,N=16,K=16")
        self.assertIn("verified", plain.stdout)
        self.assertEqual(plain.stderr, "")
        both = call("run", "gemm", "--shape", "M=16,N=16,K=16", "--json")
        self.assertEqual(len(both.stdout.splitlines()), 1)
        self.assertIn("verified", both.stderr)
        self.assertNotIn("\033", both.stderr)

    def testTheSeedDecides(self):
        def error(seed):
            line, = jsonLines("run", "softmax", "--shape", "T=16,H=64", "--seed", seed)
            self.assertEqual(line["seed"], int(seed))
            return line["max_rel_error"]
        self.assertEqual(error("5"), error("5"))
        self.assertNotEqual(error("5"), error("6"))
        seeds = {jsonLines("run", "vector-add", "--shape", "N=16")[0]["seed"] for _ in range(3)}
        self.assertGreater(len(seeds), 1)

    def testStraggler(self):
        line, = jsonLines("run", "ag-gemm", "--ranks", "3", "--shape", "M=16,N=16,K=16",
                          "--straggler", "rank=1,ms=30", "--repeat", "3")
        self.assertTrue(line["ok"])

    def testTheCacheSurvivesWhatHappensToIt(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(*place):
                result = call("run", "gemm", *place, "--shape", "M=16,N=16,K=16", "--json",
                              DITRON_CACHE_DIR=folder)
                line, = map(json.loads, result.stdout.splitlines())
                self.assertTrue(line["ok"])
                return line["from_cache"], "\n".join(
                    text for text in result.stderr.splitlines() if text.startswith("ditron:"))
            self.assertEqual((run(), run()), ((False, ""), (True, "")))
            entry, = [path for path in pathlib.Path(folder).rglob("*") if path.is_file()]
            warning = (f"ditron: warning: kernel cache: '{entry}' is damaged: its contents have not "
                       "the hash that it gives; the kernel is compiled anew")
            whole = entry.read_bytes()
            for damaged in (b"", whole[:100], whole[:-1], whole[:500] + b"x" * 8 + whole[508:],
                            whole + b"x", b"x" * len(whole)):
                entry.write_bytes(damaged)
                self.assertEqual((run(), run()), ((False, warning), (True, "")), len(damaged))
            entry.write_bytes(whole[:100])
            self.assertEqual(run("--procs", "2")[1], warning)
            entry.unlink()
            entry.mkdir()
            self.assertIn(f"'{folder}' cannot be written: Is a directory", run()[1])
            self.assertEqual(jsonLines("run", "gemm", "--shape", "M=16,N=16,K=16",
                                       DITRON_CACHE="0")[0]["from_cache"], False)

    def testEveryVerbWarnsOfADamagedCache(self):
        small = ["ag-gemm", "--ranks", "2", "--shape", "M=16,N=16,K=16", "--json"]
        for verb in (["run"], ["bench", "--repeat", "3"], ["bench", "--repeat", "3", "--baseline"],
                     ["bench", "--repeat", "3", "--transport", "processes"],
                     ["trace", "-o", os.devnull, "--no-html"],
                     ["trace", "-o", os.devnull, "--no-html", "--overhead", "--repeat", "3"]):
            with self.subTest(verb), tempfile.TemporaryDirectory() as folder:
                def warnings():
                    result = call(verb[0], *small, *verb[1:], DITRON_CACHE_DIR=folder)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    return [line for line in result.stderr.splitlines() if line.startswith("ditron: warning: ")]
                self.assertEqual(warnings(), [])
                entries = list(pathlib.Path(folder).glob("*"))
                for entry in entries:  # each by itself, as one warning is enough
                    whole = entry.read_bytes()
                    entry.write_bytes(whole[:100])
                    warning, = warnings()
                    self.assertIn(f"kernel cache: '{entry}' is damaged", warning)
                self.assertEqual(warnings(), [])

    def testACacheThatCannotBeWritten(self):
        for folder, why in (("/dev/null/cache", "Not a directory"),
                            ("/proc/cache", "No such file or directory")):
            error = call("run", "gemm", "--shape", "M=16,N=16,K=16", "--json",
                         DITRON_CACHE_DIR=folder).stderr
            self.assertIn(f"ditron: warning: kernel cache: '{folder}' cannot be written: {why}; "
                          "DITRON_CACHE_DIR names another", error)

    def testProcessesShareTheCache(self):
        with tempfile.TemporaryDirectory() as folder:
            variables = dict(os.environ, DITRON_CACHE_DIR=folder)
            command = [DITRON, "run", "rms-norm", "--shape", "T=16,H=64", "--json"]
            running = [subprocess.Popen(command, env=variables, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL) for _ in range(6)]
            for process in running:
                self.assertTrue(json.loads(process.communicate(timeout=60)[0])["ok"])

    def testStartsFast(self):
        command = [DITRON, "run", "gemm", "--shape", "M=16,N=16,K=16"]
        times = []
        for _ in range(8):
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - start)
        self.assertLess(min(times), 0.2)  # 8 ms on an idle machine

    def testBenchWithAStraggler(self):
        line, = jsonLines("bench", "vector-add", "--shape", "N=64", "--repeat", "3", "--straggler",
                          "rank=0,ms=20")
        self.assertGreater(line["min_s"], 0.02)

    def testBench(self):
        line, = jsonLines("bench", "gemm", "--shape", "M=64,N=64,K=64", "--repeat", "5")
        self.assertEqual(list(line)[:13], ["kernel", "backend", "ranks", "shape", "dtype", "median_s",
                                           "min_s", "max_s", "rate", "unit", "baseline",
                                           "baseline_median_s", "ratio"])
        self.assertEqual((line["unit"], line["baseline"], line["ok"]), ("TFLOP/s", None, True))
        self.assertTrue(line["min_s"] <= line["median_s"] <= line["max_s"])
        line, = jsonLines("bench", "all-gather", "--ranks", "2", "--cores", "1", "--shape", "M=8,N=8",
                          "--repeat", "3", "--straggler", "rank=1,ms=40")
        self.assertGreater(line["min_s"], 0.04)

    def testBenchBaselines(self):
        for kernel, ranks, shape, dtype, baseline in (
                ("gemm", 1, "M=64,N=64,K=64", "f32", "openblas"),
                ("gemm", 1, "M=64,N=64,K=64", "bf16", "ditron gemm f32"),
                ("grouped-gemm", 1, "T=64,G=5,N=64,K=64", "f32", "openblas"),
                ("grouped-gemm", 1, "T=64,G=5,N=64,K=64", "bf16", "ditron grouped-gemm f32"),
                ("softmax", 1, "T=64,H=64", "f32", "copy"),
                ("layer-norm", 1, "T=64,H=64", "f32", "copy"),
                ("ag-gemm", 2, "M=64,N=64,K=64", "f32", "ditron all-gather f32, gemm f32"),
                ("gemm-rs", 2, "M=64,N=64,K=64", "f32", "ditron gemm f32, reduce-scatter f32"),
                ("gemm-ar", 2, "M=64,N=64,K=64", "f32", "ditron gemm f32, all-reduce f32")):
            if baseline == "openblas" and jsonLines("info")[0]["openblas"] is None:
                continue
            for place in ("threads", "processes"):
                with self.subTest(kernel=kernel, dtype=dtype, place=place), \
                        tempfile.TemporaryDirectory() as folder:
                    line, = jsonLines("bench", kernel, "--ranks", str(ranks), "--shape", shape,
                                      "--dtype", dtype, "--transport", place, "--repeat", "3",
                                      "--baseline", "--save", "--save-to", folder)
                    self.assertEqual(line["baseline"], baseline)
                    self.assertAlmostEqual(line["ratio"],
                                           line["baseline_median_s"] / line["median_s"], 6)
                    saved, = pathlib.Path(folder).glob("*.jsonl")
                    saved, = map(json.loads, saved.read_text().splitlines())
                    self.assertEqual(saved["median_s"], line["median_s"])
                    for field in ("date", "machine", "versions"):
                        self.assertIn(field, saved)

    def testCompile(self):
        for emit, sign in (("ir", "func.func"), ("llvm", "define "), ("asm", ".text")):
            with self.subTest(emit=emit):
                self.assertIn(sign, call("compile", "gemm", "--emit", emit).stdout)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "gemm.o")
            line, = jsonLines("compile", "gemm", "--emit", "object", "-o", str(path))
            self.assertEqual(path.read_bytes()[:4], b"\x7fELF")
            self.assertEqual(path.stat().st_size, line["bytes"])

    def testAssemblersThatCannot(self):
        for words, status, message in (
                ("ptxas k.ptx, line 6; fatal   : Unsupported .version 8.4; current version is '8.0'\nptxas fatal   : Ptx "
                 "assembly aborted due to errors", 3, "it said 'ptxas k.ptx, line 6; fatal   : Unsupported .version 8.4; "
                 "current version is '8.0'', expected a ptxas of CUDA 12.4 or newer"),
                ("", 3, "it said '', expected a ptxas of CUDA 12.4 or newer"),
                ("ptxas k.ptx, line 9; error   : no\nptxas fatal   : Ptx assembly aborted due to errors", 1,
                 "ptxas refuses the kernel:\nptxas k.ptx, line 9; error   : no\n")):
            with self.subTest(words=words), tempfile.TemporaryDirectory() as folder:
                assembler = pathlib.Path(folder, "ptxas")
                assembler.write_text(f"#!/bin/sh\nprintf '%s' {shlex.quote(words)} >&2\nexit 255\n")
                assembler.chmod(0o700)
                said = call("compile", "vector-add", "--target", "sm_90a", "--emit", "object", "-o", folder + "/k",
                            status=status, DITRON_PTXAS=str(assembler)).stderr
                self.assertIn(message, said)

    def testOptionsOfOtherTargetsAreRefused(self):
        said = call("compile", "gemm", "--alignment", "16", status=2).stderr
        self.assertEqual(said, "ditron: --alignment is for GPUs: code for x86-64 is for any alignment\n")

    def testTheSecondVerbIsAnArgument(self):
        self.assertEqual(call("run", "gemm", "list", status=2).stderr, "ditron: ditron run: unexpected argument 'list'\n")
        self.assertIn("unknown kernel 'list'", call("run", "list", status=2).stderr)

    def testCodeForGpusIsForANumberOfRanks(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "kernel.ptx")
            def linesOf(*options):
                line, = jsonLines("compile", "all-reduce", "--target", "sm_90a", "--emit", "asm", "-o", str(path), *options)
                return len(path.read_text().splitlines()), line["config"]
            known, config = linesOf("--ranks", "2")
            self.assertLess(known, linesOf("--config", config)[0])


if __name__ == "__main__":
    unittest.main()
