# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls every op that has groups with ends that break each rule and with ends that keep all, on
the CPU and in the emulator as kernels of the given chips. A broken rule is an error of the call
with one text on all targets, and no file is written; other calls give the same bytes everywhere.

Usage: group_ends.py FOLDER [CHIP..]
"""

import itertools
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from gpu_calls import ON_CPU
from reference import group_fault

ROWS = "#blockscale.layout<swizzle_128x4, groups = 3, dim = 0>"
COLUMNS = "#blockscale.layout<swizzle_128x4, groups = 3, dim = 1>"


def norm(x, rows):
    """Lines of a softmax of x, of float32 in rows of 96, without its sum; the result is %y."""
    maps = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> (i)>"
    kinds = 'iterator_types = ["parallel", "{}"]'
    x_type, row_type = f"tensor<{rows}x96xf32>", f"tensor<{rows}xf32>"
    return f"""  %low = arith.constant 0xFF800000 : f32
  %r = tensor.empty() : {row_type}
  %f = linalg.fill ins(%low : f32) outs(%r : {row_type}) -> {row_type}
  %most = linalg.generic {{indexing_maps = [{maps[0]}, {maps[1]}], {kinds.format("reduction")}}}
      ins({x} : {x_type}) outs(%f : {row_type}) {{
  ^bb0(%v: f32, %m: f32):
    %0 = arith.maximumf %v, %m : f32
    linalg.yield %0 : f32
  }} -> {row_type}
  %d = tensor.empty() : {x_type}
  %y = linalg.generic {{indexing_maps = [{", ".join(maps)}, {maps[0]}],
                       {kinds.format("parallel")}}}
      ins({x}, %most : {x_type}, {row_type}) outs(%d : {x_type}) {{
  ^bb0(%v: f32, %m: f32, %o: f32):
    %0 = arith.subf %v, %m : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  }} -> {x_type}
"""


TEXT = f"""
func.func @amax(%x: tensor<64x96xf32>, %e: tensor<3xi32>) -> tensor<3xf32> {{
  %y = blockscale.amax %x offsets(%e : tensor<3xi32>) group_dim 0
      : tensor<64x96xf32> -> tensor<3xf32>
  return %y : tensor<3xf32>
}}
func.func @amax_columns(%x: tensor<64x96xf32>, %e: tensor<3xi32>) -> tensor<3xf32> {{
  %y = blockscale.amax %x offsets(%e : tensor<3xi32>) group_dim 1
      : tensor<64x96xf32> -> tensor<3xf32>
  return %y : tensor<3xf32>
}}
func.func @pad(%x: tensor<64x96xf32>, %e: tensor<3xi32>)
    -> (tensor<128x96xf32>, tensor<3xi32>) {{
  %p, %pe = blockscale.pad_groups %x offsets(%e : tensor<3xi32>) unit 32
      : tensor<64x96xf32> -> tensor<128x96xf32>
  return %p, %pe : tensor<128x96xf32>, tensor<3xi32>
}}
func.func @rows(%x: tensor<64x96xf32>, %e: tensor<3xi32>)
    -> (tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, {ROWS}>) {{
  %q, %s = blockscale.quantize %x block [1, 32] offsets(%e : tensor<3xi32>)
      : tensor<64x96xf32> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, {ROWS}>
  return %q, %s : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, {ROWS}>
}}
func.func @blocks(%x: tensor<64x96xf32>, %e: tensor<3xi32>, %g: tensor<3xf32>)
    -> (tensor<64x96xf4E2M1FN>, tensor<64x6xf8E4M3FN>) {{
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<3xf32>)
      offsets(%e : tensor<3xi32>) group_dim 1
      : tensor<64x96xf32> -> tensor<64x96xf4E2M1FN>, tensor<64x6xf8E4M3FN>
  return %q, %s : tensor<64x96xf4E2M1FN>, tensor<64x6xf8E4M3FN>
}}
func.func @tall(%x: tensor<96x64xf32>, %e: tensor<3xi32>)
    -> (tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, {COLUMNS}>) {{
  %q, %s = blockscale.quantize %x block [32, 1] transposed offsets(%e : tensor<3xi32>)
      : tensor<96x64xf32> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, {COLUMNS}>
  return %q, %s : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, {COLUMNS}>
}}
func.func @norm_rows(%x: tensor<64x96xf32>, %e: tensor<3xi32>)
    -> (tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, {ROWS}>) {{
{norm("%x", 64)}
  %q, %s = blockscale.quantize %y block [1, 32] offsets(%e : tensor<3xi32>)
      : tensor<64x96xf32> -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, {ROWS}>
  return %q, %s : tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU, {ROWS}>
}}
func.func @norm_tall(%x: tensor<96x96xf32>, %e: tensor<3xi32>)
    -> (tensor<96x96xf8E4M3FN>, tensor<96x3xf8E8M0FNU, {COLUMNS}>) {{
{norm("%x", 96)}
  %q, %s = blockscale.quantize %y block [32, 1] transposed offsets(%e : tensor<3xi32>)
      : tensor<96x96xf32> -> tensor<96x96xf8E4M3FN>, tensor<96x3xf8E8M0FNU, {COLUMNS}>
  return %q, %s : tensor<96x96xf8E4M3FN>, tensor<96x3xf8E8M0FNU, {COLUMNS}>
}}
func.func @no_rows(%x: tensor<?x96xf32>, %e: tensor<3xi32>)
    -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>) {{
  %q, %s = blockscale.quantize %x block [1, 32] offsets(%e : tensor<3xi32>)
      : tensor<?x96xf32> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
  return %q, %s : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU>
}}
func.func @no_rows_in_tiles(%x: tensor<?x96xf32>, %e: tensor<3xi32>)
    -> (tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, {ROWS}>) {{
  %q, %s = blockscale.quantize %x block [1, 32] offsets(%e : tensor<3xi32>)
      : tensor<?x96xf32> -> tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, {ROWS}>
  return %q, %s : tensor<?x96xf8E4M3FN>, tensor<?x3xf8E8M0FNU, {ROWS}>
}}
func.func @no_depth(%a: tensor<40x?xf8E4M3FN>, %sa: tensor<40x?xf8E8M0FNU>,
                    %b: tensor<24x?xf8E4M3FN>, %sb: tensor<24x?xf8E8M0FNU>,
                    %e: tensor<3xi32>) -> tensor<3x40x24xf32> {{
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%e) scales(%sa, %sb) block [1, 32]
      : tensor<40x?xf8E4M3FN>, tensor<24x?xf8E4M3FN>, tensor<3xi32>, tensor<40x?xf8E8M0FNU>,
        tensor<24x?xf8E8M0FNU> -> tensor<3x40x24xf32>
  return %y : tensor<3x40x24xf32>
}}
func.func @amax_of_no_rows(%x: tensor<?x96xf32>, %e: tensor<3xi32>) -> tensor<3xf32> {{
  %y = blockscale.amax %x offsets(%e : tensor<3xi32>) group_dim 0
      : tensor<?x96xf32> -> tensor<3xf32>
  return %y : tensor<3xf32>
}}
func.func @pad_no_rows(%x: tensor<?x96xf32>, %e: tensor<3xi32>)
    -> (tensor<?x96xf32>, tensor<3xi32>) {{
  %p, %pe = blockscale.pad_groups %x offsets(%e : tensor<3xi32>) unit 32
      : tensor<?x96xf32> -> tensor<?x96xf32>
  return %p, %pe : tensor<?x96xf32>, tensor<3xi32>
}}
func.func @swizzle(%s: tensor<40x6xf8E4M3FN>, %e: tensor<3xi32>)
    -> tensor<40x6xf8E4M3FN, {COLUMNS}> {{
  %t = blockscale.swizzle %s offsets(%e : tensor<3xi32>) block 16
      : tensor<40x6xf8E4M3FN> -> tensor<40x6xf8E4M3FN, {COLUMNS}>
  return %t : tensor<40x6xf8E4M3FN, {COLUMNS}>
}}
func.func @experts(%a: tensor<64x96xbf16>, %b: tensor<3x32x96xf4E2M1FN>,
                   %sb: tensor<3x32x6xf8E4M3FN>, %e: tensor<3xi32>) -> tensor<64x32xf32> {{
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%e) scales(none, %sb) block [1, 16]
      : tensor<64x96xbf16>, tensor<3x32x96xf4E2M1FN>, tensor<3xi32>, tensor<3x32x6xf8E4M3FN>
      -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}}
func.func @experts_of_scales(%a: tensor<64x96xf8E4M3FN>, %sa: tensor<64x3xf8E8M0FNU>,
                             %b: tensor<3x32x96xf8E4M3FN>, %sb: tensor<3x32x3xf8E8M0FNU>,
                             %e: tensor<3xi32>) -> tensor<64x32xf32> {{
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%e) scales(%sa, %sb) block [1, 32]
      : tensor<64x96xf8E4M3FN>, tensor<3x32x96xf8E4M3FN>, tensor<3xi32>, tensor<64x3xf8E8M0FNU>,
        tensor<3x32x3xf8E8M0FNU> -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}}
func.func @depth(%a: tensor<40x96xf8E4M3FN>, %sa: tensor<40x3xf8E8M0FNU>,
                 %b: tensor<24x96xf8E4M3FN>, %sb: tensor<24x3xf8E8M0FNU>,
                 %e: tensor<3xi32>) -> tensor<3x40x24xf32> {{
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%e) scales(%sa, %sb) block [1, 32]
      : tensor<40x96xf8E4M3FN>, tensor<24x96xf8E4M3FN>, tensor<3xi32>, tensor<40x3xf8E8M0FNU>,
        tensor<24x3xf8E8M0FNU> -> tensor<3x40x24xf32>
  return %y : tensor<3x40x24xf32>
}}
func.func @depth_of_nvfp4(%a: tensor<40x96xf4E2M1FN>, %sa: tensor<40x6xf8E4M3FN>,
                          %b: tensor<24x96xf4E2M1FN>, %sb: tensor<24x6xf8E4M3FN>,
                          %e: tensor<3xi32>) -> tensor<3x40x24xf32> {{
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%e) scales(%sa, %sb) block [1, 16]
      : tensor<40x96xf4E2M1FN>, tensor<24x96xf4E2M1FN>, tensor<3xi32>, tensor<40x6xf8E4M3FN>,
        tensor<24x6xf8E4M3FN> -> tensor<3x40x24xf32>
  return %y : tensor<3x40x24xf32>
}}
"""
X, TALL = ("x", (64, 96)), ("x", (96, 64))
#: The op in texts, its extent and unit, its other operands by kind and shape, and its results.
OPS = {
    "amax": ("amax", 64, 1, [X], 1), "amax_columns": ("amax", 96, 1, [X], 1),
    "pad": ("pad_groups", 64, 1, [X], 2),
    "rows": ("quantize", 64, 1, [X], 2), "blocks": ("quantize", 96, 16, [X], 2),
    "tall": ("quantize", 96, 32, [TALL], 2),
    "norm_rows": ("quantize", 64, 1, [X], 2),
    "norm_tall": ("quantize", 96, 32, [("x", (96, 96))], 2),
    "swizzle": ("swizzle", 96, 16, [("e4m3", (40, 6))], 1),
    "experts": ("scaled_grouped_mm", 64, 1,
                [("bf16", (64, 96)), ("codes", (3, 32, 48)), ("e4m3", (3, 32, 6))], 1),
    "experts_of_scales": ("scaled_grouped_mm", 64, 1,
                          [("e4m3", (64, 96)), ("e8m0", (64, 3)), ("e4m3", (3, 32, 96)),
                           ("e8m0", (3, 32, 3))], 1),
    "depth": ("scaled_grouped_mm", 96, 32,
              [("e4m3", (40, 96)), ("e8m0", (40, 3)), ("e4m3", (24, 96)), ("e8m0", (24, 3))], 1),
    "depth_of_nvfp4": ("scaled_grouped_mm", 96, 16,
                       [("codes", (40, 48)), ("e4m3", (40, 6)), ("codes", (24, 48)),
                        ("e4m3", (24, 6))], 1),
}
#: Ops whose operands have no elements.
EMPTY = {"no_rows": ("quantize", 0, 1, [("x", (0, 96))], 2),
         "no_rows_in_tiles": ("quantize", 0, 1, [("x", (0, 96))], 2),
         "pad_no_rows": ("pad_groups", 0, 1, [("x", (0, 96))], 2),
         "amax_of_no_rows": ("amax", 0, 1, [("x", (0, 96))], 1),
         "no_depth": ("scaled_grouped_mm", 0, 32,
                      [("e4m3", (40, 0)), ("e8m0", (40, 0)), ("e4m3", (24, 0)),
                       ("e8m0", (24, 0))], 1)}
#: Groups of K in NVFP4 that begin where copies cannot, which kernels of GPUs alone refuse.
ODD_BEGIN = "expected the begin of group 1 to be a multiple of 32, but got 16"

random = np.random.default_rng(46)
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
(folder / "m.mlir").write_text(TEXT)
passed, failures, planned = 0, [], []


def make(kind, shape):
    if kind == "x":
        return random.standard_normal(shape).astype(np.float32)
    if kind == "bf16":
        return (random.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(
            np.uint16)
    low, high = {"codes": (0, 256), "e4m3": (0x20, 0x50), "e8m0": (120, 134)}[kind]
    return random.integers(low, high, shape).astype(np.uint8)


def make_line(name, target, inputs, outputs):
    """The words of a run's command line."""
    line = [folder / "m.mlir", f"--entry={name}"]
    line += ON_CPU if target == "cpu" else ["--on=emulator", f"--target={target}"]
    for flag, paths in (("--in", inputs), ("--out", outputs)):
        for path in paths:
            line += [flag, path]
    return line


def run_all(runs):
    """Of each run, by its name, target, inputs and number of results: its results, or the text of
    the error. Those of a function on a target follow each other, and are compiled once."""
    order = sorted(range(len(runs)), key=lambda i: runs[i][:2])
    outputs = [[folder / f"out{i}-{j}.npy" for j in range(run[3])] for i, run in enumerate(runs)]
    for path in itertools.chain.from_iterable(outputs):
        path.unlink(missing_ok=True)
    ended = run_lines([make_line(*runs[i][:3], outputs[i]) for i in order])
    found = [None] * len(runs)
    for i, (status, printed) in zip(order, ended, strict=True):
        written = any(path.exists() for path in outputs[i])
        found[i] = (f"{printed}{' and wrote a file' if written else ''}" if status else
                    [np.load(path) for path in outputs[i]])
    return found


def record(what, problem):
    global passed
    passed += problem is None
    if problem is not None:
        failures.append(what)
        print(f"{what}: {problem}")


def check(name, ends, targets, only_gpu="", is_read=True):
    """Plans the runs of a call on targets."""
    _, _, _, operands, results = {**OPS, **EMPTY}[name]
    arrays = [make(*operand) for operand in operands]
    arrays.append(np.asarray(ends, np.int32))
    if name == "blocks":
        arrays.append(np.asarray([0.5, 1, 2], np.float32))
    inputs = [folder / f"in{len(planned)}-{i}.npy" for i in range(len(arrays))]
    for path, array in zip(inputs, arrays):
        np.save(path, array)
    runs = [(name, target, inputs, results) for target in targets]
    planned.append((name, ends, only_gpu, is_read, runs))


def compare(name, ends, only_gpu, is_read, targets, results):
    """Records whether the results of a call are right, and the same on all targets."""
    op, extent, unit, _, _ = {**OPS, **EMPTY}[name]
    fault = group_fault(ends, extent, unit)
    wanted = f"{op}: {fault}" if fault and is_read else None
    first = None
    for target, got in zip(targets, results, strict=True):
        text = wanted or (f"{op}: {only_gpu}" if only_gpu and target != "cpu" else None)
        what = f"@{name} with ends {ends} on {target}"
        if text:
            isRight = isinstance(got, str) and f"{text}\n" in got and "wrote" not in got
            record(what, None if isRight else f"expected '{text}', but got {got}")
        elif isinstance(got, str):
            record(what, f"expected no error, but got {got}")
        else:
            first = got if first is None else first
            # Sums of products have an order that is the target's.
            exact = op != "scaled_grouped_mm"
            equal = all(a.tobytes() == b.tobytes() if exact else np.allclose(a, b, rtol=1e-4)
                        for a, b in zip(got, first))
            record(what, None if equal else "expected the results of the first target")


for number, (name, (_, extent, unit, _, _)) in enumerate(OPS.items()):
    chips = sys.argv[2:]
    step, turn = max(unit, 32), number
    check(name, (step, step, 2 * step), ["cpu", *chips])
    if unit > 1:
        check(name, (0, 20, 30), ["cpu", *chips])
    # The other rules on one chip each, in turn.
    for ends in ((0, 32, extent + unit), (32, 0, 64), (-step, 32, 64)):
        check(name, ends, ["cpu", *(chips[turn % len(chips):][:1] if chips else ())])
        turn += 1
# Where x, or the result of a product, has no elements, nothing reads the ends; but tiles of groups
# and padded groups are written, and products without depth are 0.
check("no_rows", (0, 16, 32), ["cpu", *sys.argv[2:]], is_read=False)
check("no_rows_in_tiles", (0, 16, 32), ["cpu", *sys.argv[2:]])
check("amax_of_no_rows", (0, 16, 32), ["cpu", *sys.argv[2:]], is_read=False)
check("no_depth", (0, 16, 32), ["cpu", *sys.argv[2:]])
check("pad_no_rows", (0, 16, 32), ["cpu", *sys.argv[2:]])
check("pad_no_rows", (0, 0, 0), ["cpu", *sys.argv[2:]])
if len(sys.argv) > 2:
    check("depth_of_nvfp4", (16, 64, 96), ["cpu", *sys.argv[2:]], ODD_BEGIN)
    # A group that is empty begins anywhere.
    check("depth_of_nvfp4", (16, 16, 16), ["cpu", *sys.argv[2:]])
found = iter(run_all([run for *_, runs in planned for run in runs]))
for *call, runs in planned:
    compare(*call, [target for _, target, *_ in runs], [next(found) for _ in runs])
print(f"{passed} passed, {len(failures)} failed")
sys.exit(bool(failures))
