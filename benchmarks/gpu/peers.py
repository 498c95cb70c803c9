#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the packed kernels beside those of other packages, on torch tensors.

  python3 FOLDER/peers.py [--only GLOB]

FOLDER is what pack.py packed. The machine needs a GPU, torch, Triton, torchao and
nvidia-modelopt; a package that is missing or fails is listed with its error. Other kernels of
these packages need SM100, so an H200 compares with torch.compile of torchao's quantizers and
with ModelOpt's Triton kernel for the scale sweep.

All candidates of a case run in one process, on one x, in turn, call by call: in each of three
rounds 25 calls of each, before each of which 256 MiB are overwritten, so that x comes from
memory. The best round's median counts. A call is captured into a CUDA graph where that works. The
share is the time of a copy of as many bytes as the case reads and writes, over the candidate's.

Prints a log with a table. It fails where no case was timed.
"""

import argparse
import fnmatch
import importlib
import importlib.util
import json
import statistics
import sys
import types
from pathlib import Path

from log_head import make_head

HERE = Path(__file__).resolve().parent
FLUSH_BYTES, LARGE_BYTES = 256 << 20, 4 << 30
CALLS, ROUNDS, WARM_UPS = 25, 3, 3
OURS = "BlockScale"
SHAPE, WEIGHTS = (8192, 5120), (8192, 4096)


class Clock:
    """Times calls on torch's current stream, in microseconds."""

    def __init__(self, torch):
        self.torch = torch
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")

    def capture(self, call):
        """A call of a graph that does what `call` does, or `call` itself."""
        for _ in range(WARM_UPS):
            call()
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        try:
            with self.torch.cuda.graph(graph):
                call()
        except RuntimeError:
            # It waits for the GPU within, which a graph cannot.
            self.torch.cuda.synchronize()
            return call
        return graph.replay

    def compare(self, calls):
        """The best round's median of each call, by its name. Calls take turns one by one, so that
        all of them meet the GPU at the same temperature and clock rate: under load it lowers
        these after some milliseconds, which whoever came first would not see."""
        rounds = []
        for _ in range(ROUNDS):
            events = {name: [] for name in calls}
            for _ in range(CALLS):
                for name, call in calls.items():
                    pair = [self.torch.cuda.Event(enable_timing=True) for _ in range(2)]
                    self.flush.fill_(1)
                    pair[0].record()
                    call()
                    pair[1].record()
                    events[name].append(pair)
            self.torch.cuda.synchronize()
            rounds.append({name: statistics.median(1000 * start.elapsed_time(end)
                                                   for start, end in pairs)
                           for name, pairs in events.items()})
        return {name: min(times[name] for times in rounds) for name in calls}


def import_modelopt_sweep():
    """ModelOpt's kernel alone. The package's own start imports much that it does not need, so
    empty modules stand for the folders above it."""
    base = Path(importlib.util.find_spec("modelopt").submodule_search_locations[0])
    path = ["torch", "kernels", "quantization", "gemm", "nvfp4_fp8_sweep"]
    for count in range(len(path)):
        module = types.ModuleType(".".join(["modelopt", *path[:count]]))
        module.__path__ = [str(base.joinpath(*path[:count]))]
        sys.modules[module.__name__] = module
    return importlib.import_module(".".join(["modelopt", *path])).nvfp4_fp8_scale_sweep


def compile_torch(torch, function):
    return torch.compile(function, fullgraph=True, dynamic=False)


def make_mxfp8(torch, x):
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx
    quantize = compile_torch(torch, lambda t: to_mx(
        t, torch.float8_e4m3fn, 32, ScaleCalculationMode.RCEIL))
    return lambda: quantize(x)


def make_nvfp4(torch, x):
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize
    quantize = compile_torch(torch, lambda t, scale: nvfp4_quantize(t, 16, scale))
    scale = (x.abs().max().float() / 2688).reshape(())
    return lambda: quantize(x, scale)


def make_sweep(torch, x):
    sweep = import_modelopt_sweep()
    amax = x.abs().max().float()
    return lambda: sweep(x, amax, 16)


# What the table calls a case; the kind of torch_plugin.py, the group of its candidate and the
# shape; and the peer: its name, and what makes a call of it.
CASES = [
    ("MXFP8 1x32 rceil", "mxfp8", "MXFP8 1x32 rceil, swizzled", SHAPE,
     ("torch.compile of torchao", make_mxfp8)),
    ("NVFP4 1x16, global scale given", "nvfp4", "NVFP4 1x16, global scale given, swizzled", SHAPE,
     ("torch.compile of torchao", make_nvfp4)),
    ("scale sweep, normal weights", "sweep", "scale sweep", WEIGHTS,
     ("ModelOpt, Triton", make_sweep)),
]


def find_versions():
    from importlib.metadata import PackageNotFoundError, version
    for name in ("torch", "triton", "torchao", "nvidia-modelopt"):
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"no {name}"


def make_copy(torch, moved):
    source = torch.zeros(moved // 2, dtype=torch.uint8, device="cuda")
    to = torch.empty_like(source)
    return lambda: to.copy_(source)


def make_calls(torch, case, x):
    """The calls of a case by name, the errors of those that there are not, and the bytes that
    ours moves."""
    import torch_plugin
    _, kind, group, shape, (peer, make) = case
    moved, ours = torch_plugin.candidates(torch, kind, shape, x)[f"blockscale {group}"]
    calls, errors = {OURS: ours}, {}
    try:
        calls[peer] = make(torch, x)
        calls[peer]()
    except Exception as error:  # Any package may fail in any way; the others still count.
        calls.pop(peer, None)
        errors[peer] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
    return calls, errors, moved


def count_other_winners(calls):
    """Blocks for which two sweeps chose another candidate; theirs differ in the last place."""
    ours, theirs = (call() for call in calls.values())
    ours, theirs = ours[0].reshape(-1), theirs.reshape(-1)
    different = (ours - theirs).abs() > 1e-5 * ours.abs()
    return int(different.sum()), ours.numel()


def measure(torch, clock, case):
    """Lines of the table, and lines to print behind it."""
    name, kind, _, shape, _ = case
    x = torch.randn(shape, dtype=torch.float32, device="cuda")
    x = (x * (0.02 if kind == "sweep" else 1)).to(torch.bfloat16)
    calls, errors, moved = make_calls(torch, case, x)
    captured = {each: clock.capture(call) for each, call in calls.items()}
    times = clock.compare(captured | {"copy": clock.capture(make_copy(torch, moved))})
    label = f"{name}, {'x'.join(map(str, shape))}"
    lines = [f"| {label} | {each} | {time:.1f} | {times['copy'] / time:.3f} |"
             for each, time in times.items()]
    notes = [f"{label}: {each} failed: {error}" for each, error in errors.items()]
    if kind == "sweep" and not errors:
        different, count = count_other_winners(calls)
        notes.append(f"{label}: {different} of {count} blocks have another winner")
    return lines, notes


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", metavar="GLOB", help="these cases")
    options = parser.parse_args()
    import torch
    torch.manual_seed(0)
    about = json.loads((HERE / "pack.json").read_text())
    print(make_head(about["commit"], torch.cuda.get_device_name(),
                    " ".join(["python3", *sys.argv])))
    print(", ".join(find_versions()), end="\n\n")
    clock = Clock(torch)
    copy = clock.compare({"copy": make_copy(torch, 2 * LARGE_BYTES)})["copy"]
    print("| case | candidate | us | share of the copy |\n|" + " --- |" * 4)
    notes = [f"a copy of 4 GiB: {2 * LARGE_BYTES / copy * 1e-3:.0f} GB/s"]
    rows = 0
    for case in CASES:
        if fnmatch.fnmatch(case[0], options.only):
            lines, more = measure(torch, clock, case)
            print(*lines, sep="\n", flush=True)
            notes += more
            rows += len(lines)
    print("", *notes, sep="\n")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
