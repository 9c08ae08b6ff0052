#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels compiled for an older CPU than this one, with shorter vectors and fewer registers.

usage: older_cpu_test.py KERNELS-TEST CPU FILTER
Ends with 77 where this machine is no such CPU.
"""
import os
import platform
import subprocess
import sys

program, cpu, cases = sys.argv[1:]
done = subprocess.run([program, f"--gtest_filter={cases}"], capture_output=True, text=True, env={**os.environ, "DITRON_CPU": cpu})
if "this machine's CPU has not" in done.stdout or platform.machine() != "x86_64":
    print(f"skipped: this machine's CPU does not run code for {cpu}")
    sys.exit(77)
print(done.stdout[-20000:], done.stderr[-4000:])
sys.exit(done.returncode)
