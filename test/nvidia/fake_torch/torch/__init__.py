# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What bench/async_tp.py takes of PyTorch, computing nothing: tensors have shapes, and work takes a moment.

FAKE_TORCH=ends: every process ends at its first fused operation. FAKE_TORCH=refuses: such operations raise an error.
"""
import contextlib
import os
import sys
import time
import types

__version__ = "2.0+fake"
bfloat16, float64 = "bfloat16", "float64"


class Tensor:
    def __init__(self, *shape, value=0.0):
        self.shape, self.value = shape, value

    def __sub__(self, other):
        return self

    def item(self):
        return self.value


def rand(*shape, device, dtype):
    return Tensor(*shape)


def tensor(values, device, dtype):
    return Tensor(len(values), value=values[0])


def device(kind, number):
    return (kind, number)


def matmul(a, b, out):
    assert a.shape[1] == b.shape[0] and out.shape == (a.shape[0], b.shape[1])
    time.sleep(100e-6)


def _fused(*operands):
    time.sleep(150e-6)
    if os.environ.get("FAKE_TORCH") == "ends":
        sys.exit(1)
    if os.environ.get("FAKE_TORCH") == "refuses":
        raise RuntimeError("no such operation\nand more of it")


class _Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.time = time.monotonic()

    def elapsed_time(self, other):
        return 1e3 * (other.time - self.time)


class _Graph:
    def replay(self):
        time.sleep(200e-6)


cuda = types.SimpleNamespace(Event=_Event, CUDAGraph=_Graph, set_device=lambda number: None, synchronize=lambda: None,
                             empty_cache=lambda: None,
                             graph=lambda graph, capture_error_mode: contextlib.nullcontext())
ops = types.SimpleNamespace(symm_mem=types.SimpleNamespace(fused_all_gather_matmul=_fused, fused_matmul_reduce_scatter=_fused))
