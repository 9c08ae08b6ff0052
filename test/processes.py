# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Linux tells of other processes. They may start, change or end while /proc is read: what is gone is left out."""
import contextlib
import os
import pathlib

GONE = (FileNotFoundError, ProcessLookupError)


def isAlive(pid):
    with contextlib.suppress(*GONE):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def childrenOf(pid):
    with contextlib.suppress(*GONE):
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def linksIn(pid, folder):
    """The links in /proc/PID/FOLDER ("fd", "map_files"): a dict from the path of each to what it names."""
    links = {}
    with contextlib.suppress(*GONE):
        for entry in os.scandir(f"/proc/{pid}/{folder}"):
            with contextlib.suppress(*GONE):
                links[entry.path] = os.readlink(entry.path)
    return links
