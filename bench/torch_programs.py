# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of ditron on PyTorch's tensors and stream, and their times in turn with PyTorch's own.

`compiled` asks `ditron compile` for a kernel's PTX, `Program` loads it by the CUDA driver, and `Program.bind` makes a
launch of tensors and floats. `medians` times several contenders, each recorded in a CUDA graph, in random order.
`line` is a result as `ditron bench --save` keeps it. Needs torch and the CUDA driver.
"""
import ctypes
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

import torch

import saved_lines

DRIVER = ctypes.CDLL("libcuda.so.1")

# Numbers of the driver's interface.
MOST_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
BEGINS_EARLY = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
SWIZZLE_128, PROMOTE_256 = 3, 3
KINDS = {1: 0, 2: 1, 4: 2}  # unsigned integers of so many bytes
TF32 = 11


def check(status, call):
    if status:
        text = ctypes.c_char_p()
        DRIVER.cuGetErrorString(status, ctypes.byref(text))
        raise RuntimeError(f"{call}: {(text.value or b'unknown').decode()}")


class Attribute(ctypes.Structure):
    """CUlaunchAttribute: a number, and 64 bytes of value."""
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint32 * 16)]


class LaunchConfig(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]


def compiled(ditron, kernel, dtype, shape, config=""):
    """The PTX for sm_90a. shape: a dictionary; config: `name=value,...`, the rest is what ditron chooses."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.ptx"
        done = subprocess.run([ditron, "compile", kernel, "--target", "sm_90a", "--dtype", dtype, "--shape",
                               ",".join(f"{name}={extent}" for name, extent in shape.items()), "--emit", "asm", "-o", path,
                               *(["--config", config] if config else [])], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return path.read_text()


class Program:
    """A kernel from its PTX, whose first line says what launches it."""

    def __init__(self, ptx):
        self.info = json.loads(ptx.split("\n", 1)[0].removeprefix("// ditron "))
        for what, reason in (("tiles", "has a core for each tile"), ("ranks", "has several ranks")):
            if self.info.get(what):
                raise RuntimeError(f"{self.info['kernel']} {reason}: this launches products and attention on one GPU")
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        check(DRIVER.cuModuleLoadData(ctypes.byref(module), ptx.encode() + b"\0"), "cuModuleLoadData")
        check(DRIVER.cuModuleGetFunction(ctypes.byref(self.function), module, b"ditron_kernel"), "cuModuleGetFunction")
        check(DRIVER.cuFuncSetAttribute(self.function, MOST_SHARED_BYTES, self.info["shared_bytes"]), "cuFuncSetAttribute")
        self.cluster = self.info.get("cluster", 1)
        wanted = [(CLUSTER_DIMENSION, [self.cluster, 1, 1])] if self.cluster > 1 else []
        wanted += [(BEGINS_EARLY, [1, 0, 0])] if self.info.get("dependent_launch") else []
        self.attributes = (Attribute * 2)()
        for attribute, (number, value) in zip(self.attributes, wanted):
            attribute.id, attribute.value[0:3] = number, value
        self.attribute_count = len(wanted)
        self.status = torch.zeros(32, dtype=torch.int64, device="cuda")
        self.cores = self._cores()

    def _cores(self):
        """As many as fit on the device together, in whole clusters."""
        count = ctypes.c_int()
        if self.cluster > 1:
            self.cores = self.cluster
            check(DRIVER.cuOccupancyMaxActiveClusters(ctypes.byref(count), self.function, ctypes.byref(self._config(None))),
                  "cuOccupancyMaxActiveClusters")
            return count.value * self.cluster
        check(DRIVER.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(count), self.function, self.info["threads"],
                                                                 ctypes.c_size_t(self.info["shared_bytes"])), "occupancy")
        return count.value * torch.cuda.get_device_properties(0).multi_processor_count

    def _config(self, stream):
        return LaunchConfig((self.cores, 1, 1), (self.info["threads"], 1, 1), self.info["shared_bytes"], stream,
                            ctypes.cast(self.attributes, ctypes.POINTER(Attribute)), self.attribute_count)

    def bind(self, *arguments):
        """A function that launches with these tensors and floats on the current stream, and keeps them alive."""
        values = []
        for argument in arguments:
            if isinstance(argument, float):
                values.append(ctypes.c_float(argument))
            else:
                words = (argument.data_ptr(), *argument.shape, *argument.stride())
                values += [ctypes.c_int64(word) for word in words]
        values.append(ctypes.c_int64(self.status.data_ptr()))
        maps = [tensor_map(arguments[one["argument"]], one["box"], one["tf32"]) for one in self.info["tensor_maps"]]
        places = [ctypes.addressof(value) for value in values] + [place for _, place in maps]
        parameters = (ctypes.c_void_p * len(places))(*places)

        def launch():
            config = self._config(torch.cuda.current_stream().cuda_stream)
            check(DRIVER.cuLaunchKernelEx(ctypes.byref(config), self.function, parameters, None), "cuLaunchKernelEx")

        launch.keep = (values, maps, arguments)
        return launch

    def failure(self):
        """The requirement that a launch did not meet, or None."""
        words = self.status.tolist()
        return self.info["requirements"][words[1]]["message"] if words[0] else None


def tensor_map(tensor, box, rounds_to_tf32):
    """(memory, place): a CUtensorMap of 128 bytes at a multiple of 64, and what holds it."""
    memory = ctypes.create_string_buffer(256)
    place = (ctypes.addressof(memory) + 63) // 64 * 64
    rank, size = tensor.dim(), tensor.element_size()
    extents = (ctypes.c_uint64 * rank)(*reversed(tensor.shape))
    strides = (ctypes.c_uint64 * rank)(*[stride * size for stride in reversed(tensor.stride()[:-1])], 0)
    boxes, steps = (ctypes.c_uint32 * rank)(*reversed(box)), (ctypes.c_uint32 * rank)(*[1] * rank)
    check(DRIVER.cuTensorMapEncodeTiled(ctypes.c_void_p(place), TF32 if rounds_to_tf32 else KINDS[size], rank,
                                        ctypes.c_void_p(tensor.data_ptr()), extents, strides, boxes, steps, 0, SWIZZLE_128,
                                        PROMOTE_256, 0), "cuTensorMapEncodeTiled")
    return memory, place


def graph_of(work, launches):
    """A graph of work(0), work(1), ..."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work(0)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for n in range(launches):
                work(n)
    return graph


def timed(graph):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def medians(contenders, rounds, launches):
    """Seconds of a launch of each contender. contenders: name to work(n), where n numbers the launches of a graph."""
    graphs = {name: graph_of(work, launches) for name, work in contenders.items()}
    for graph in graphs.values():
        timed(graph)
    times, names = {name: [] for name in graphs}, list(graphs)
    for _ in range(rounds):
        random.shuffle(names)
        for name in names:
            times[name].append(timed(graphs[name]) / launches)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def line(ditron, kernel, dtype, shape, config, flops, seconds, baseline, baseline_seconds, error, tolerance, failure=None):
    """A result in the format of `ditron bench --json`."""
    cudnn = torch.backends.cudnn.version()
    version = subprocess.run([ditron, "--version"], capture_output=True, text=True).stdout.split()[-1]
    return {"kernel": kernel, "backend": "nvidia", "ranks": 1, "shape": shape, "dtype": dtype, "median_s": seconds,
            "rate": flops / seconds * 1e-12, "unit": "TFLOP/s", "baseline": baseline, "baseline_median_s": baseline_seconds,
            "ratio": baseline_seconds / seconds if baseline_seconds else None, "ok": failure is None and error <= tolerance,
            "max_rel_error": error, "tolerance": tolerance, "failure": failure, "cores": 1, "transport": "none", "config": config,
            "date": saved_lines.now(),
            "machine": torch.cuda.get_device_name(),
            "versions": {"ditron": version, "torch": torch.__version__, "cuDNN": str(cudnn)}}


def show(result):
    shape = " ".join(f"{name}={extent}" for name, extent in result["shape"].items())
    against = f", {result['baseline']} {result['baseline_median_s'] * 1e6:.1f} us, ratio {result['ratio']:.3f}" if result["ratio"] else ""
    print(f"{result['kernel']} {result['dtype']} {shape} {result['config'] or '(default)'}: {result['median_s'] * 1e6:.1f} us, "
          f"{result['rate']:.4g} {result['unit']}{against}, error {result['max_rel_error']:.2g}"
          f"{'' if result['ok'] else ', WRONG'}{': ' + result['failure'] if result['failure'] else ''}", flush=True)


def beside():
    """The program of this archive, or of this checkout."""
    root = pathlib.Path(__file__).resolve().parent.parent
    installed = root / "bin" / "ditron"
    return str(installed if installed.exists() else root / "build" / "bin" / "ditron")
