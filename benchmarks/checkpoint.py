#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time and memory of `blockscale-checkpoint quantize`, against reading and writing alone.

    build/package/bin/python benchmarks/checkpoint.py [--gib N] [--runs N] [--folder F] [--cold]
                                                      [--check]

Makes a decoder of random bf16 weights, of about N GiB, in a folder, and quantizes it to NVFP4 with
global scales that fused layers share. In each run three things follow one another, in new
processes: the command, `cat` of the source to /dev/null, and `cp` of the result. The source is in
the system's page cache, as far as that goes. The command's kernels are in its cache, where a run
before the others leaves them, as any use of the command does; with --cold there is no cache, and
each run compiles them. Prints seconds, the ratio of the command's to the sum
of both others', and the command's largest resident memory: of all runs, and of its own pages alone
in the run before the others, which a thread watches. That takes a part of a core, so that no run
is watched whose time is taken. The last column is the same ratio of processor time, the command's
divided by the number of cores, which other work on the machine raises less. With --check the exit
status is 1 if the median is above the bar of 2, or the memory above 2 GiB.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import ml_dtypes
import numpy as np

from blockscale._native._checkpoint import Metadata, lay_out

BAR, MEMORY_BAR = 2.0, 2 << 30
#: What the command's options ask for.
POLICY = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
HIDDEN, INNER, VOCABULARY = 4096, 14336, 32000
COMMAND = [sys.executable, "-c",
           "import sys; from blockscale.checkpoint._command import main; sys.exit(main())"]


def list_tensors(layers):
    """Names and shapes of a decoder's weights."""
    tensors = [("model.embed_tokens.weight", (VOCABULARY, HIDDEN))]
    for layer in range(layers):
        path = f"model.layers.{layer}."
        tensors.append((f"{path}input_layernorm.weight", (HIDDEN,)))
        tensors += [(f"{path}self_attn.{name}_proj.weight", (rows, HIDDEN))
                    for name, rows in (("q", HIDDEN), ("k", 1024), ("v", 1024), ("o", HIDDEN))]
        tensors += [(f"{path}mlp.gate_proj.weight", (INNER, HIDDEN)),
                    (f"{path}mlp.up_proj.weight", (INNER, HIDDEN)),
                    (f"{path}mlp.down_proj.weight", (HIDDEN, INNER))]
    return [*tensors, ("model.norm.weight", (HIDDEN,)), ("lm_head.weight", (VOCABULARY, HIDDEN))]


def make_source(folder, size):
    """Writes shards of about 5 GB with random numbers, the same again and again."""
    base = np.random.default_rng(0).standard_normal(1 << 24, dtype=np.float32)
    base = base.astype(ml_dtypes.bfloat16).view(np.uint8)
    layer = 2 * sum(int(np.prod(shape)) for _, shape in list_tensors(1)[1:-2])
    tensors = list_tensors(max(round((size - 4 * VOCABULARY * HIDDEN) / layer), 1))
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"hidden_size": HIDDEN}))
    shards, index = [[]], {}
    for name, shape in tensors:
        if sum(2 * int(np.prod(each)) for _, each in shards[-1]) > 5 * 10**9:
            shards.append([])
        shards[-1].append((name, shape))
    for number, shard in enumerate(shards):
        name = f"model-{number + 1:05}-of-{len(shards):05}.safetensors"
        layout = lay_out("safetensors", [(each, "BF16", shape) for each, shape in shard],
                         [Metadata("format", "string", "pt")])
        with open(folder / name, "wb") as file:
            file.write(layout.header)
            left = layout.nbytes - len(layout.header)
            while left:
                left -= file.write(base[:min(left, base.size)])
        index.update({each: name for each, _ in shard})
    if len(shards) > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))


def watch(process, found):
    """Keeps the largest RssAnon of a process; VmHWM is the system's own record."""
    while process.poll() is None:
        try:
            text = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        except OSError:
            break
        for line in text.splitlines():
            name, _, value = line.partition(":")
            if name in ("RssAnon", "VmHWM"):
                found[name] = max(found.get(name, 0), int(value.split()[0]) << 10)
        time.sleep(0.01)


def measure(command, memory=None):
    """Seconds of a command, and of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    with subprocess.Popen(command) as process:
        if memory is not None:
            thread = threading.Thread(target=watch, args=(process, memory))
            thread.start()
        process.wait()
        seconds = time.perf_counter() - start
        if memory is not None:
            thread.join()
    if process.returncode:
        sys.exit(f"expected {command[0]} to end well, but got {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return np.array([seconds, after.ru_utime - before.ru_utime
                     + after.ru_stime - before.ru_stime])


def remove(*paths):
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=float, default=6, help="size of the source (6)")
    parser.add_argument("--runs", type=int, default=5, help="paired runs (5)")
    parser.add_argument("--folder", help="where files are made, and removed again")
    parser.add_argument("--threads", type=int, help="of the command")
    parser.add_argument("--cold", action="store_true", help="compile the kernels in each run")
    parser.add_argument("--check", action="store_true", help="exit with 1 above a bar")
    return parser.parse_args()


def main():
    options = parse()
    ratios, memory = [], {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.environ["BLOCKSCALE_CACHE_DIR"] = "" if options.cold else str(Path(folder) / "kernels")
        source, result, other = (Path(folder) / name for name in ("source", "result", "other"))
        make_source(source, int(options.gib * 2**30))
        files = sorted(map(str, source.glob("*.safetensors")))
        size = sum(os.path.getsize(file) for file in files)
        threads = [] if options.threads is None else [f"--threads={options.threads}"]
        read = ["sh", "-c", 'cat "$@" > /dev/null', "sh", *files]
        quantize = [*COMMAND, "quantize", str(source), str(result), "--format=nvfp4",
                    "--weight-only", "--quiet", *threads]
        measure(read)
        measure(quantize, memory)
        cores = len(os.sched_getaffinity(0))
        print(f"{size / 2**30:.2f} GiB on {cores} cores, kernels "
              f"{'compiled in each run' if options.cold else 'in the cache'}")
        print(f"{'quantize':>9}{'GiB/s':>7}{'cat':>7}{'cp':>7}{'ratio':>7}"
              f"{'of processor time':>19}")
        for _ in range(options.runs):
            remove(result, other)
            ours = measure(quantize)
            cat = measure(read)
            copy = measure(["cp", "-r", str(result), str(other)])
            ratios.append((ours / [1, cores]) / (cat + copy))
            print(f"{ours[0]:9.2f}{size / 2**30 / ours[0]:7.2f}{cat[0]:7.2f}{copy[0]:7.2f}"
                  f"{ratios[-1][0]:7.2f}{ratios[-1][1]:19.2f}", flush=True)
    # Of all commands that were waited for, in KiB.
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
    memory["VmHWM"] = max(memory["VmHWM"], largest)
    ratio, processor = map(statistics.median, zip(*ratios))
    print(f"median ratio {ratio:.2f} (bar {BAR}), of processor time {processor:.2f}; resident "
          f"memory at most {memory['VmHWM'] / 2**20:.0f} MiB, {memory['RssAnon'] / 2**20:.0f} MiB "
          "of its own")
    failed = ratio > BAR or max(memory.values()) > MEMORY_BAR
    return int(options.check and failed)


if __name__ == "__main__":
    sys.exit(main())
