# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that never meet."""
import os
import types

group = types.SimpleNamespace(WORLD=types.SimpleNamespace(group_name="0"))
ReduceOp = types.SimpleNamespace(MAX="max")


def init_process_group(backend, rank, world_size, device_id):
    assert backend == "nccl" and os.environ["NCCL_NVLS_ENABLE"] == "0"


def destroy_process_group():
    pass


def barrier():
    pass


def all_reduce(tensor, operation):
    pass


def all_gather_into_tensor(full, part):
    assert full.shape[0] % part.shape[0] == 0 and full.shape[1:] == part.shape[1:]


def reduce_scatter_tensor(sums, parts):
    all_gather_into_tensor(parts, sums)
