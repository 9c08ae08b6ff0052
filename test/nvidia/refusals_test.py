#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a GPU or its driver refuses is an error that says what, with the driver's words and the kernel's name: on a fake
driver, which this machine's loader finds first.

usage: refusals_test.py DITRON FOLDER_OF_LIBCUDA
"""
import os
import subprocess
import sys

UNAVAILABLE, USAGE, FAILED = 3, 2, 1

# What the driver does, the exit status, words of the error, and the variable that it is about.
CASES = [
    ("old", UNAVAILABLE, ["the NVIDIA driver is for CUDA 11.8, expected 12.4 or newer"]),
    ("none", UNAVAILABLE, ["the NVIDIA driver finds no GPU"]),
    ("ancient", UNAVAILABLE, ["the GPU is sm_75, which runs no code for sm_90a, sm_89, sm_80"]),
    ("memory", FAILED, ["Fake GPU has not enough memory", "bytes asked for, 1000 available"]),
    ("code", FAILED, ["vector-add", "the driver refuses a kernel's code: ptxas fatal"]),
    ("room", FAILED, ["vector-add", "of 128 threads side by side", "do not fit Fake GPU"]),
    ("launch", FAILED, ["vector-add", "cuLaunchKernelEx: too many resources requested for launch"]),
    ("fault", FAILED, ["vector-add", "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"]),
    ("late", FAILED, ["kernel 'vector-add' on rank 0: a launch on Fake GPU runs for longer than 300 ms, the bound of a "
                      "launch (DITRON_LAUNCH_TIMEOUT_MS), and computes on"], "DITRON_LAUNCH_TIMEOUT_MS=300"),
    ("stuck", FAILED, ["vector-add", "the driver loads a kernel's code on Fake GPU for longer than 300 ms, the bound of a launch "
                       "(DITRON_LAUNCH_TIMEOUT_MS)"], "DITRON_LAUNCH_TIMEOUT_MS=300"),
    ("nothing", FAILED, ["vector-add", "found"]),  # all calls succeed, and the result is wrong
    ("nothing", USAGE, ["DITRON_GPU is 'sm_70', expected sm_90a, sm_89, sm_80"], "DITRON_GPU=sm_70"),
    ("ancient", USAGE, ["DITRON_GPU is 'sm_80', whose code does not run on this GPU, sm_75"], "DITRON_GPU=sm_80"),
]
RUN = ["run", "vector-add", "--shape", "N=100"]
# What the command line refuses.
COMMANDS = [("nothing", USAGE, ["ditron tune runs the ranks as threads of one process"], ["tune", "ag-gemm", "--procs", "2"]),
            ("nothing", USAGE, ["config: senders is 32, which has no effect with protocol=ll; expected 0, or engine=cores and "
                                "protocol=simple"], ["run", "all-gather", "--config", "protocol=ll,engine=cores,senders=32"]),
            ("nothing", USAGE, ["config: chunks is 4, which has no effect with engine=direct; expected 1, or engine=copy"],
             ["run", "gemm-ar", "--config", "engine=direct,chunks=4"])]


def main():
    program, folder = sys.argv[1:]
    problems = 0
    cases = [(what, status, words, RUN, variables) for what, status, words, *variables in CASES]
    cases += [(*case, []) for case in COMMANDS]
    for what, status, words, command, variables in cases:
        environment = dict(os.environ, LD_LIBRARY_PATH=folder, FAKE_CUDA=what, DITRON_CACHE="0",
                           **dict(variable.split("=") for variable in variables))
        result = subprocess.run([program, *command, "--backend", "nvidia"],
                                capture_output=True, text=True, env=environment, timeout=60)
        said = result.stderr + result.stdout
        missing = [word for word in words if word not in said]
        if result.returncode != status or missing:
            problems += 1
            print(f"{what}: exit status {result.returncode}, expected {status}; lacks {missing}:\n{said}")
    print(f"{len(cases) - problems} of {len(cases)} as expected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
