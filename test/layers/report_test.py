# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/report.py on lines made for it: the last of each result, in the table of its machine. Scripts without PyTorch.

usage: report_test.py SCRIPT
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPORT = sys.argv.pop()
VERSIONS = {"ditron": "0.0.0", "driver": "1.2 (CUDA 1.0)"}
KERNEL = {"kernel": "softmax", "backend": "nvidia", "ranks": 1, "shape": {"H": 3, "T": 2}, "dtype": "bf16", "median_s": 2e-6,
          "rate": 7.0, "unit": "GB/s", "baseline": "device copy", "ratio": 0.5, "cores": 1, "config": "rows=1", "date": "2001-02-03T04:05:06Z",
          "machine": "Made-up GPU", "versions": VERSIONS}
STEP = {"model": "tiny", "dtype": "bf16", "backend": "nvidia", "ranks": 1, "cores": 8, "mode": "graph", "batch": 2, "context": 40,
        "median_s": 6e-3, "floor_s": 4e-3, "over_floor": 1.5, "ratio": {"graph": 1.25, "compiled": 0.75},
        "date": "2001-02-03T04:05:06Z", "machine": "Made-up GPU", "versions": {**VERSIONS, "torch": "9.9"}}
TEXT = {"text": "decode", "file": "tiny.gguf", "backend": "cpu", "batch": 8, "cores": 2, "tokens": 32, "tokens_per_second": 123.4,
        "peer": "llama.cpp", "peer_tokens_per_second": 61.7, "ratio": 2.0, "date": "2001-02-03T04:05:06Z", "machine": "Made-up CPU",
        "versions": VERSIONS}
HEADS = ("| model | type | batch | context | GPUs | mode | median | floor | over the floor | ratio, CUDA graph | ratio, compiled | "
         "measured |")


def page(*lines):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "machine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = subprocess.run([sys.executable, REPORT, "--print", folder], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


class Report(unittest.TestCase):
    def test_kernels_alone(self):
        text = page(KERNEL)
        self.assertIn("| softmax | bf16 | H=3 T=2 |  | 2 us | 7 GB/s | device copy | **0.50** | 2001-02-03 |", text)
        self.assertNotIn("ecoders", "\n".join(text))

    def test_steps_stand_below_the_kernels_of_their_machine(self):
        text = page(KERNEL, STEP, {**STEP, "machine": "2 x Made-up GPU", "ranks": 2, "ratio": {}}, {**KERNEL, "ratio": 2.0})
        self.assertIn("*Steps of decoders*", "\n".join(text))
        titles = [line for line in text if line.startswith("##")]
        self.assertEqual(titles, ["## Made-up GPU", "### Steps of decoders", "## 2 x Made-up GPU", "### Steps of decoders"])
        self.assertEqual(text.count(HEADS), 2)
        self.assertEqual(text[text.index("## Made-up GPU") + 2], "ditron 0.0.0, driver 1.2 (CUDA 1.0), torch 9.9.")
        self.assertIn("| tiny | bf16 | 2 | 40 | 1 | graph | 6 ms | 4 ms | 1.50 | **1.25** | **0.75** | 2001-02-03 |", text)
        self.assertIn("| tiny | bf16 | 2 | 40 | 2 | graph | 6 ms | 4 ms | 1.50 |  |  | 2001-02-03 |", text)
        self.assertEqual(sum("**2.00**" in line for line in text), 1)
        self.assertFalse(any("**0.50**" in line for line in text), "the last result of a kernel counts")

    def test_the_last_step_of_each_mode_counts(self):
        other = {key: value for key, value in STEP.items() if key != "ratio"} | {"mode": "megakernel", "median_s": 5e-3, "over_floor": 1.25}
        rows = [line for line in page(STEP, other, {**STEP, "context": 8}, {**STEP, "over_floor": 1.75}) if line.startswith("| tiny")]
        self.assertEqual([row.split(" | ")[3:6:2] + [row.split(" | ")[8]] for row in rows],
                         [["8", "graph", "1.50"], ["40", "graph", "1.75"], ["40", "megakernel", "1.25"]])

    def test_texts(self):
        text = page({**TEXT, "ratio": 1.5}, TEXT, {**TEXT, "text": "prompt", "batch": 1})
        self.assertIn("*Texts*", "\n".join(text))
        self.assertEqual(text[text.index("## Made-up CPU"):][4], "### Texts")
        self.assertIn("| tiny.gguf | decode | 8 | 32 | 2 | 123 | llama.cpp | 62 | **2.00** | 2001-02-03 |", text)
        self.assertEqual(sum("tiny.gguf" in line for line in text), 2, "the last line of each text counts")

    def test_steps_on_cpus(self):
        text = page({**STEP, "backend": "cpu", "cores": 4, "mode": "stream", "ratio": {"eager": 3.0}})
        self.assertIn(HEADS.replace("GPUs", "ranks x cores").replace("CUDA graph", "eager"), text)
        self.assertIn("| tiny | bf16 | 2 | 40 | 1 x 4 | stream | 6 ms | 4 ms | 1.50 | **3.00** |  | 2001-02-03 |", text)

    def test_without_pytorch(self):
        for name in ("attention.py", "products.py"):
            program = pathlib.Path(REPORT).with_name(name)
            # -S: without the packages of site-packages, among which PyTorch would be.
            done = subprocess.run([sys.executable, "-S", program], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"^{name} times PyTorch, which Python does not find: No module named 'torch'\n$")


if __name__ == "__main__":
    unittest.main()
