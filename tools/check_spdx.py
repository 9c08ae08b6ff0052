#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails on a source file without its license line among the first three.

usage: check_spdx.py [ROOT]
"""
import pathlib
import shutil
import subprocess
import sys

LINE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
ENDINGS = (".cpp", ".h", ".def", ".td", ".mlir", ".py", ".cmake", ".sh", ".in", "CMakeLists.txt", "/run", "dev")
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)


def sourceFiles():
    """The files git knows or would add; all files of the tree where there is no git."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    git = subprocess.run(command, cwd=ROOT, capture_output=True, text=True) if shutil.which("git") else None
    if git and git.returncode == 0:
        names = git.stdout.splitlines()
    else:
        names = [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*") if "build" not in p.relative_to(ROOT).parts]
    return [n for n in names if n.endswith(ENDINGS) and (ROOT / n).is_file()]


files = sourceFiles()
findings = [f"{name}: no line '{LINE}' among the first three"
            for name in files if LINE not in "\n".join((ROOT / name).read_text().splitlines()[:3])]
print("\n".join(findings) if findings else f"check_spdx: {len(files)} files, each with its license line")
sys.exit(bool(findings))
