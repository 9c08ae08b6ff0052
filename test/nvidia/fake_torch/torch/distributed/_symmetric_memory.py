# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symmetric memory, without multicast."""
import os


def enable_symm_mem_for_group(name):
    assert os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] == "1"
