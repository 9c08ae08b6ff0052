#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times `ditron bench flash-attention` beside the best of PyTorch's backends (cuDNN, flash) on this GPU.

    python3 attention.py [--program bin/ditron] [--dtype bf16] [--lengths 1024,4096,16384] [--dim 128]
                         [--rounds 3] [--save FOLDER]

Both take their turn in every round, in processes of their own, on fresh random data and operands that are rotated so
that no cache holds them; times are by CUDA events, several launches at a time, and the medians of the rounds'
medians are compared. ditron verifies its result in every round. A line has the format of `ditron bench --json`;
--save appends it to the file of this GPU in a folder.
"""
import argparse
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

TOKENS, HEADS = 16384, 32


def timed(work, sets, seconds=0.25):
    """The median seconds of a launch; `work` takes the number of a set of operands."""
    import torch
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def batch(count):
        begin.record()
        for n in range(count):
            work(n % sets)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / count

    batch(4)
    one = batch(4)
    count = max(1, int(500e-6 / one))
    return statistics.median(batch(count) for _ in range(max(10, min(500, int(seconds / one / count)))))


def peers(length, dim, dtype, causal):
    """The seconds of each backend that has this attention."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    kind = {"bf16": torch.bfloat16, "f16": torch.float16}[dtype]
    sets = [[torch.randn(TOKENS // length, length, HEADS, dim, device="cuda", dtype=kind).transpose(1, 2)
             for _ in range(3)] for _ in range(2)]
    result = {}
    for name, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("PyTorch flash", SDPBackend.FLASH_ATTENTION)):
        try:
            with sdpa_kernel(backend):
                result[name] = timed(lambda n: torch.nn.functional.scaled_dot_product_attention(
                    *sets[n], is_causal=causal), len(sets))
        except RuntimeError as error:
            print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
    return result


def ours(options, length, causal):
    """The line that ditron bench saves."""
    shape = f"T={TOKENS},S={TOKENS},N={HEADS},G={HEADS},D={options.dim},B={TOKENS // length}"
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([options.program, "bench", "flash-attention", "--backend", "nvidia", "--dtype",
                                 options.dtype, "--shape", shape, "--config", f"causal={'yes' if causal else 'no'}",
                                 "--save", "--save-to", folder, "--json"], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{shape}: {result.stderr.strip()}")
        return json.loads(next(pathlib.Path(folder).glob("*.jsonl")).read_text().splitlines()[-1])


def compare(options, length, causal):
    import torch
    lines, times = [], {}
    for _ in range(options.rounds):
        lines.append(ours(options, length, causal))
        for name, seconds in peers(length, options.dim, options.dtype, causal).items():
            times.setdefault(name, []).append(seconds)
    line = sorted(lines, key=lambda one: one["median_s"])[len(lines) // 2]
    if times:
        medians = {name: statistics.median(all) for name, all in times.items()}
        best = min(medians, key=medians.get)
        line.update(baseline=best, baseline_median_s=medians[best], ratio=medians[best] / line["median_s"])
        line["peers_s"] = medians
        line["versions"].update(torch=torch.__version__, cuDNN=str(torch.backends.cudnn.version()))
    line["rounds"] = options.rounds
    line["date"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return line


def main():
    parser = argparse.ArgumentParser()
    root = pathlib.Path(__file__).resolve().parent.parent
    beside = root / "bin/ditron"  # in an unpacked archive
    parser.add_argument("--program", default=str(beside if beside.exists() else root / "build/bin/ditron"))
    parser.add_argument("--dtype", default="bf16", choices=["bf16", "f16"])
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", default="")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is missing: it is what attention is compared with")
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        return 77
    for length in map(int, options.lengths.split(",")):
        for causal in (False, True):
            line = compare(options, length, causal)
            print(f"{length}{' causal' if causal else ''}: {line['median_s'] * 1e6:.1f} us, {line['rate']:.4g} "
                  f"{line['unit']}, {line['baseline']} {(line['baseline_median_s'] or 0) * 1e6:.1f} us, ratio "
                  f"{line['ratio'] or 0:.2f}", flush=True)
            if options.save:
                slug = re.sub(r"[^a-z0-9]+", "-", line["machine"].lower()).strip("-")
                with open(pathlib.Path(options.save) / f"{slug}.jsonl", "a") as file:
                    file.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
