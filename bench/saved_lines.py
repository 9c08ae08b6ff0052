# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines in bench/baselines/, as `ditron bench --save` keeps them: a file a machine, a JSON object a result."""
import datetime
import json
import pathlib
import re


def file_of(name):
    """The file of a machine."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") + ".jsonl"


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def append(line, folder, file=None):
    """Behind the lines of its machine."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / (file or file_of(line["machine"])), "a") as lines:
        lines.write(json.dumps(line) + "\n")
