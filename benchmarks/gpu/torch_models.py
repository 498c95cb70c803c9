# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmarks of models in PyTorch share: times, CUDA graphs, policies, the head of a log.

On the CPU, where they only show that they run, nothing is captured.
"""

import gc
import inspect
import platform
import statistics
import sys
import time

import torch

#: Ways of torch.compile that are captured in a CUDA graph by us.
COMPILED = {"default": {}, "max-autotune": {"mode": "max-autotune-no-cudagraphs"}}


def weights_only(fmt, head=False):
    return {"version": 1, "leave_last_projection": not head,
            "rules": [{"format": fmt, "weight_only": True}]}


def get_position_argument(model, position):
    """The keyword of a call that says the places of tokens. Versions of transformers before 5 do
    not know them by the cache."""
    takes = "cache_position" in inspect.signature(model.forward).parameters
    return {"cache_position": position} if takes else {}


def make_bf16(kind, config, device):
    """A model of transformers in bf16, with the weights that seed 0 gives, which was never in
    f32."""
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            model = kind(config)
    finally:
        torch.set_default_dtype(before)
    return model.to(torch.bfloat16).eval()


def print_head(commit="unknown"):
    from importlib.metadata import PackageNotFoundError, version
    machine = (torch.cuda.get_device_name() if torch.cuda.is_available()
               else platform.processor() or platform.machine())
    print(f"date     {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC\ncommit   {commit}\n"
          f"machine  {machine}\ncommand  {' '.join(['python3', *sys.argv])}")
    found = []
    for name in ("torch", "triton", "transformers", "torchao", "blockscale"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    print(", ".join(found), flush=True)


def free():
    gc.collect()
    torch._dynamo.reset()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak_gib():
    return torch.cuda.max_memory_allocated() / 2 ** 30 if torch.cuda.is_available() else 0.0


def time_calls(function, repeats=5, calls=1):
    """Seconds of `calls` calls one after the other, the median of repeats."""
    times = []
    for _ in range(repeats):
        if torch.cuda.is_available():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            begin.record()
            for _ in range(calls):
                function()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
        else:
            start = time.perf_counter()
            for _ in range(calls):
                function()
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def capture(function, device, warm=3):
    """`function` as one replay of a CUDA graph."""
    if device == "cpu":
        function()
        return function
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warm):
            function()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph.replay


def attempt(name, measure):
    """What `measure` gives, or None and a line that says why not."""
    try:
        return measure()
    except Exception as error:  # A mode of a peer may fail; the others still count.
        print(f"  {name}: not measured: {type(error).__name__}: {str(error).splitlines()[0][:200]}",
              flush=True)
        return None


def report_bar(name, value, bar, at_most=False):
    """Prints a figure beside its bar; whether it is met."""
    met = value is not None and (value <= bar if at_most else value >= bar)
    shown = "none" if value is None else f"{value:.2f}"
    print(f"{'met   ' if met else 'MISSED'} {name}: {shown}, bar {'at most ' if at_most else ''}"
          f"{bar}", flush=True)
    return met
