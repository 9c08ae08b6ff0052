#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails where a test of CTest has no limit of time of its own (ditron_add_test gives it one).

usage: check_limits.py BUILD
"""
import json
import subprocess
import sys


def limits(build):
    """The limit of each test in seconds, None where it has none."""
    told = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                          check=True)
    for test in json.loads(told.stdout)["tests"]:
        properties = {one["name"]: one["value"] for one in test.get("properties", [])}
        yield test["name"], properties.get("TIMEOUT")


findings = [f"{name}: has no limit of time; ditron_add_test gives it one"
            for name, limit in limits(sys.argv[1]) if limit is None]
print("\n".join(findings))
sys.exit(bool(findings))
