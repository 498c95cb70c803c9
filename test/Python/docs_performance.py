#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GPU tables of docs/Performance.md, computed from logs (docs_pages.py): of what
the programs of benchmarks/gpu printed.
"""

import re

from docs_pages import ROOT, main, table
from log_tables import find_tables, read_log, read_rows, read_tables, rows_by_name

PAGE = ROOT / "docs/Performance.md"
# The copy beside it is slow itself (2.7 of 4.2 TB/s in every run), so a share says nothing.
NO_SHARE = ("SwiGLU, MXFP8 1x32, swizzled, 14336x16384",)

# What the tables call a function, and what the log calls it.
ROWS = {
    "MXFP8 1x32 rceil, swizzled": "MXFP8 1x32 rceil, swizzled",
    "MXFP8 1x32 rceil, linear": "MXFP8 1x32 rceil",
    "NVFP4 1x16, global scale given, swizzled": "NVFP4 1x16, global scale given, swizzled",
    "NVFP4 1x16, global scale given, linear": "NVFP4 1x16, global scale given",
    "MXFP8, rows and columns from one read, swizzled": "MXFP8 rows and columns, swizzled",
    "NVFP4, rows and columns from one read, swizzled": "NVFP4 rows and columns, swizzled",
    "NVFP4, rows and transformed columns, swizzled":
        "NVFP4 rows and transformed columns, swizzled",
    "SwiGLU into MXFP8 1x32, swizzled": "SwiGLU, MXFP8 1x32, swizzled",
    "SwiGLU into NVFP4 1x16, swizzled": "SwiGLU, NVFP4 1x16, swizzled",
    "RMSNorm into MXFP8 1x32, swizzled": "RMSNorm, MXFP8 1x32, swizzled",
    "RMSNorm into NVFP4 1x16, swizzled": "RMSNorm, NVFP4 1x16, swizzled",
}
COLUMNS = {name: name for name in ("MXFP8 32x1 rceil", "MXFP8 32x32 rceil")}
SMALL = {
    "MXFP8 1x32 rceil": "MXFP8 1x32 rceil, swizzled",
    "NVFP4 1x16, global scale given": "NVFP4 1x16, global scale given, swizzled",
}


def log():
    """The rows of the benchmark's log by function and shape."""
    return read_rows("benchmark-h200.txt")


def older_weights():
    """Shares of cuBLAS that kernels of older chips reach."""
    name, shares = "weight-only-older-h100.txt", {}
    chips = re.findall(r"(?m)^kernels of (\S+)$", read_log(name))
    for chip, (header, rows) in zip(chips, read_tables(name), strict=True):
        for label, row in rows_by_name(header, rows).items():
            weights, size = label.split(", ")
            shares.setdefault((weights, chip), {})[size] = (
                float(row["cuBLAS bf16, us"]) / float(row["row-major, us"]))
    # Of NVFP4, all sizes; of others, those that they have.
    sizes = sorted(next(iter(shares.values())), key=lambda size: int(size.split("x")[0]))
    digits = {"4096x4096x4096": 3}
    return table(["weights", "kernels of", *sizes], [
        [*of, *(f"{found[size]:.{digits.get(size, 2)}f}" if size in found else ""
                for size in sizes)]
        for of, found in shares.items()])


def shares(functions, shapes, heading="function"):
    rows = []
    for name, function in functions.items():
        found = {shape: log()[key] for shape in shapes
                 if (key := f"{function}, {shape}") in log() and key not in NO_SHARE}
        bar, = {row["bar"] for row in found.values()}
        rows.append([name, *(found[shape]["share of the copy"] if shape in found else ""
                             for shape in shapes), bar and f"{float(bar):.2f}"])
    return table([heading, *shapes, "bar"], rows)


def gpu_rows():
    return shares(ROWS, ("8192x5120", "14336x16384"))


def gpu_columns():
    return shares(COLUMNS, ("8x8192x5120", "8x7168x2048"))


def gpu_small():
    return shares(SMALL, ("256x4096", "1024x4096", "4096x4096"), "swizzled, launches count")


def hopper_weights():
    """Shares of cuBLAS bf16 by rows of activations, for weights of 8192 x 8192."""
    log = read_rows("weight-only-h200.txt")
    rows = [1, 16, 32, 64, 128, 256, 512, 1024, 4096, 8192]
    found = {name: [log[f"{name}, {m}x8192x8192"] for m in rows]
             for name in ("NVFP4", "MXFP4", "MXFP8")}
    share = "share of cuBLAS"
    plain = [f"{float(row['cuBLAS bf16, us']) / float(row['row-major, us']):.2f}"
             for row in found["NVFP4"]]
    humming = [[f"{name}, Humming",
                *(f"{float(row['cuBLAS bf16, us']) / float(row['Humming, us']):.2f}"
                  for row in each)] for name, each in found.items()]
    return table(["weights", *map(str, rows)],
                 [[name, *(row[share] for row in each)] for name, each in found.items()] +
                 [["NVFP4, row-major", *plain]] + humming +
                 [["bar of 4 bits", *(row["bar"] for row in found["NVFP4"])],
                  ["bar of 8 bits", *(row["bar"] for row in found["MXFP8"])]])


def hopper_groups():
    """Times the limit, by groups. The log's second bar is that of the share of a dense product,
    which has no name of its own."""
    (_, rows), = read_tables("grouped-h200.txt")
    of_name = {row[0]: row for row in rows}
    shapes = ("14336x4096", "5760x2880")
    names = [name.removesuffix(f", {shapes[0]}") for name in of_name if name.endswith(shapes[0])]
    return table(["groups", *shapes, "bar"],
                 [[name, *(of_name[f"{name}, {shape}"][3] for shape in shapes),
                   of_name[f"{name}, {shapes[0]}"][4]] for name in names])


def hopper_plain():
    """Shares of torch's time of kernels of Hopper and of Ampere."""
    ours, older = ({row[0]: row for row in rows} for _, rows in read_tables("plain-h200.txt"))
    return table(["M x N x K", "TFLOP/s", "share", "bar", "sm_80, share", "bar"],
                 [[name, *row[2:3], *row[4:6], *older[name][4:6]] for name, row in ours.items()])


def hopper_rows():
    """The share of the fastest peer that modules for any number of rows reach, by rows."""
    log = read_rows("by-rows-h200.txt")
    sizes = [label.split(", ") for label in log]
    rows = list(dict.fromkeys(int(size.split("x")[0]) for _, size in sizes))
    weights = dict.fromkeys((name, size.split("x", 1)[1]) for name, size in sizes)
    return table(["weights, NxK", *map(str, rows)],
                 [[f"{name}, {size}", *(log[f"{name}, {m}x{size}"]["share"] for m in rows)]
                  for name, size in weights])


def hopper_decoded():
    """The share of the speed of products of weights alone, by rows."""
    log = read_rows("decoded-h200.txt")
    sizes = [label.split(", ")[1] for label in log]
    rows = list(dict.fromkeys(int(size.split("x")[0]) for size in sizes))
    share = "share of scaled_mm"
    first = sizes[0].split("x", 1)[1]
    return table(["weights, NxK", *map(str, rows)],
                 [[size, *(log[f"NVFP4, {m}x{size}"][share] for m in rows)]
                  for size in dict.fromkeys(size.split("x", 1)[1] for size in sizes)] +
                 [["bar", *(log[f"NVFP4, {m}x{first}"]["bar"] for m in rows)]])


def hopper_chain():
    """The share of the speed of free order, by rows."""
    log = {label: row for label, row in read_rows("chain-h200.txt").items()
           if " groups of " not in label}
    rows = sorted({int(label.split(", ")[1].split("x")[0]) for label in log})
    forms = dict.fromkeys((label.split(", ")[0], label.split("x", 1)[1]) for label in log)
    return table(["weights, NxK", *map(str, rows)],
                 [[f"{name}, {size}", *(log[f"{name}, {m}x{size}"]["share of free"] for m in rows)]
                  for name, size in forms] +
                 [["bar", *(log[f"NVFP4, {m}x8192x8192"]["bar"] for m in rows)]])


def hopper_chain_groups():
    """The same in groups, by their rows."""
    log = {label: row for label, row in read_rows("chain-h200.txt").items()
           if " groups of " in label}
    rows = sorted({int(label.split(", ")[0].split(" of ")[1]) for label in log})
    forms = dict.fromkeys((label.split(" of ")[0], label.split(", ")[1]) for label in log)
    shares = [[f"{groups}, {size}", *(log.get(f"{groups} of {m}, {size}", {}).get(
        "share of free", "") for m in rows)] for groups, size in forms]
    return table(["weights, NxK", *map(str, rows)], shares)


def hopper_wgrad():
    log = read_rows("wgrad-h200.txt")
    kept = ("padded rows", "us", "groups padded before, us", "whole blocks of all tokens, us",
            "share", "bar")
    return table(["gradients, NxK", *kept], [[name, *(row[key] for key in kept)]
                                             for name, row in log.items()])


def minilm_plan():
    log = read_rows("minilm-plan-h200.txt")
    kept = ("us", "torch.compile, us", "max-autotune, us", "older, us", "share of torch.compile",
            "times older")
    return table(["sentences", *kept], [[name, *(row[key] for key in kept)]
                                        for name, row in log.items()])


def appends():
    log = read_rows("append-h200.txt")
    kept = [f"{work}, {size}, us" for work in ("ours", "index_copy_")
            for size in ("1 Ki", "128 Ki")]
    kept += ["128 Ki / 1 Ki", "share of index_copy_"]
    return table(["a row of", *kept], [[name, *(row[key] for key in kept)]
                                       for name, row in log.items()])


def hopper_both():
    log = read_rows("both-scaled-h200.txt")
    kept = ("TFLOP/s", "speed of cuBLAS bf16", "speed of dequantize", "speed of dot_scaled")
    return table(["both operands, MxNxK", *kept],
                 [[name, *(row[key] for key in kept)] for name, row in log.items()])


#: The titles of parts in the log of benchmarks/gpu/llama.py.
_PARTS = {"bf16": "bf16", "nvfp4, weights only": "NVFP4 weights",
          "nvfp4, weights only, with the head": "with the head",
          "mxfp8, weights only": "MXFP8 weights",
          "mxfp8, weights only, with the head": "with the head",
          "both operands NVFP4": "both operands NVFP4"}


def _read_part(text):
    """Tokens a second and milliseconds of prefill by the best way, GB of weights and GiB at the
    most; None for what a part does not say."""
    patterns = ((max, r"decode, .*: ([\d.]+) tokens/s"),
                (min, r"prefill of 4096, (?!torchao).*: ([\d.]+) ms"),
                (max, r"weights ([\d.]+) GB"), (max, r"peak memory ([\d.]+)"))
    return [best(map(float, re.findall(pattern, text)), default=None)
            for best, pattern in patterns]


def torch_decoder():
    """The parts of both runs of benchmarks/gpu/llama.py, beside the plain model of their run."""
    def show(value, digits):
        return "" if value is None else f"{value:.{digits}f}"

    log = (ROOT / "docs/logs/llama-h100.txt").read_text(encoding="utf-8")
    rows, plain = {}, None
    for title, text in re.findall(r"(?m)^(\S.*)\n((?:(?:  |met |MISSED).*\n)+)", log):
        if title not in _PARTS:
            continue
        speed, prefill, weights, peak = found = _read_part(text)
        plain = found if title == "bf16" else plain
        rows.setdefault(title, [
            _PARTS[title], show(speed, 0), show(speed and speed / plain[0], 2), show(prefill, 0),
            show(plain[1] / prefill, 2), show(weights, 1), show(peak, 1)])
    return table(["Llama-3-8B", "tokens/s", "of bf16", "prefill, ms", "of bf16", "weights, GB",
                  "peak, GiB"], rows.values())


def torch_experts():
    """The bars of benchmarks/gpu/moe_torch.py."""
    log = (ROOT / "docs/logs/moe-torch-h100.txt").read_text(encoding="utf-8")
    found = re.findall(r"(?m)^(?:met   |MISSED) (\S+), (\d+) tokens: .*: ([\d.]+), bar ([\d.]+)$",
                       log)
    tokens = list(dict.fromkeys(count for _, count, _, _ in found))
    names = dict.fromkeys(name for name, _, _, _ in found)
    value = {(name, count): ratio for name, count, ratio, _ in found}
    bars = {count: bar for _, count, _, bar in found}
    return table(["experts of", *(f"{count} tokens" for count in tokens)],
                 [[name, *(value[name, count] for count in tokens)] for name in names]
                 + [["bar", *(bars[count] for count in tokens)]])


def training():
    """The steps of benchmarks/gpu/train.py."""
    log = (ROOT / "docs/logs/train-h200.txt").read_text(encoding="utf-8")
    steps = {name: (float(time), memory) for name, time, memory in re.findall(
        r"(?m)^([\w -]+): ([\d.]+) ms, ([\d.]+) GiB$", log)}
    return table(["step", "ms", "of bf16's", "GiB"],
                 [[name, f"{time:.2f}", f"{time / steps['bf16'][0]:.2f}", memory]
                  for name, (time, memory) in steps.items()])


def training_weights():
    """The weights of these layers alone."""
    return find_tables("train-h200.txt")[0]


def decode_steps():
    """The steps of benchmarks/gpu/decode_step.py; of the plain model the fastest one."""
    found = {}
    for name, part in re.findall(r"(?ms)^([\w-]+): a step reads (.*?)(?=^[\w-]+: a step|\Z)",
                                 read_log("decode-step-h200.txt")):
        found[name] = min((float(us), share) for us, share in re.findall(
            r"(?m)^  [\w-]+: ([\d.]+) us, ([\d.]+) of the stream$", part))
    return table(["form", "us", "of bf16's speed", "of the stream"],
                 [[name, f"{us:.0f}", f"{found['bf16'][0] / us:.2f}", share]
                  for name, (us, share) in found.items()])


def fake_quantization():
    log = (ROOT / "docs/logs/train-h200.txt").read_text(encoding="utf-8")
    return table(["of", "share of a copy's speed"], re.findall(
        r"(?m)^fake_quantize (.*): ([\d.]+) of a copy's speed$", log))


def frozen_dense():
    return find_tables("frozen-h200.txt")[0]


def frozen_grouped():
    return find_tables("frozen-h200.txt")[1]


def frozen_lora():
    # A line about a form that was not measured may stand between the rows.
    return "".join(find_tables("frozen-lora-h200.txt"))


def refit_layers():
    return find_tables("refit-h200.txt")[0]


def refit_blocks():
    return find_tables("refit-h200.txt")[1]


def instructions():
    # Of the first run, of sm_100a; a table of peers is behind it.
    return find_tables("instructions.txt")[0]


if __name__ == "__main__":
    main(PAGE, globals())
