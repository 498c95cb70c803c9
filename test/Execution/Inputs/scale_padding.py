# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products whose scales come in tiles with NaN and any other bytes in the padding: behind the
last row, behind K and between groups. Each chip gives the bytes that it gives with zeros there,
which are right within the bound of products.py, and so does the CPU.

Usage: scale_padding.py FOLDER
"""

import itertools
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations, first_difference
from products import Case, Op
from reference import swizzle, swizzle_groups

CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
NAN = {"f8E4M3FN": 0x7F, "f8E8M0FNU": 0xFF}
BYTES = {"f8E4M3FN": 128, "f8E8M0FNU": 256}  # the tools take no sign
ONE = "rows = 128, cols = 128, stages = 2, band = 1, ctas = 2"
PAIR = "rows = 256, cols = 256, stages = 3, band = 1, ctas = 2"
FORMATS = {"nvfp4": {},
           "mxfp4": dict(scale="f8E8M0FNU"),
           "mxfp8": dict(scale="f8E8M0FNU", a="f8E4M3FN", b="f8E5M2"),
           "mxfp6": dict(scale="f8E8M0FNU", a="f6E2M3FN", b="f6E2M3FN"),
           "mixed": dict(scale="f8E8M0FNU", a="f8E4M3FN", b="f4E2M1FN")}
SWIZZLED = dict(layout_a="swizzled", layout_b="swizzled")
GROUPED = dict(layout_a="grouped", layout_b="grouped")


def make_cases():
    """Ops, the ends of their groups, and a schedule. K, or a group of it, ends in each part of
    the steps and stages of kernels."""
    groups = dict(M=200, N=40, K=448, G=3)
    for name, format in FORMATS.items():
        for k in (96, 320):
            yield Op(f"{name}_{k}", **format, **SWIZZLED, dynamic="",
                     shape=dict(B=(), M=40, N=24, K=k)), (), ""
        yield Op(f"{name}_rows", "rows", **format, layout_a="grouped", layout_b="swizzled",
                 dynamic="", shape={**groups, "K": 96}), (70, 70, 190), ""
        yield Op(f"{name}_columns", "columns", **format, **GROUPED, dynamic="",
                 shape={**groups, "M": 40}), (96, 160, 416), ""
    for name in ("nvfp4", "mxfp4"):
        yield Op(f"{name}_ring", **FORMATS[name], **SWIZZLED, dynamic="",
                 shape=dict(B=(), M=200, N=150, K=1056)), (), ONE
        # Three stages, which sm_103a multiplies by long steps, and half a step.
        yield Op(f"{name}_pair", **FORMATS[name], **SWIZZLED, dynamic="",
                 shape=dict(B=(), M=200, N=150, K=800)), (), PAIR
    yield Op("nvfp4_pair_columns", "columns", **GROUPED, dynamic="", shape={**groups, "N": 150}), \
        (96, 160, 416), PAIR
    yield Op("nvfp4_batch", **SWIZZLED, dynamic="BMN", batch=1,
             shape=dict(B=(2,), M=130, N=40, K=80)), (), ""
    yield Op("mxfp4_dynamic", **FORMATS["mxfp4"], **SWIZZLED,
             shape=dict(B=(), M=40, N=24, K=96)), (), ""


def filled(case, fill):
    """The arguments with other bytes in the padding of scales."""
    op, arguments = case.op, list(case.arguments)
    first = 2 if op.kind == "mm" else 3
    for i, (scale, layout) in enumerate(zip(case.scales, (op.layout_a, op.layout_b))):
        lay = (lambda s, f: swizzle_groups(s, case.legal, int(op.kind == "columns"), f)) \
            if layout == "grouped" else swizzle
        is_padding = lay(np.zeros(scale.shape, np.uint8), 1) == 1
        stored = arguments[first + i].copy()
        assert is_padding.any() and not stored[is_padding].any()
        stored[is_padding] = fill(is_padding.sum(), op.scale)
        arguments[first + i] = stored
    return arguments


def main():
    folder, expect = Path(sys.argv[1]), Expectations()
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(46)
    fills = {"zeros": lambda count, scale: 0,
             "NaN and any bytes": lambda count, scale: np.where(
                 random.random(count) < 0.5, NAN[scale], random.integers(0, BYTES[scale], count))}
    places = [["--on=cpu", "--optimize=0"],
              *(["--on=emulator", f"--target={chip}", "--nan-scales"] for chip in CHIPS)]
    for op, ends, schedule in make_cases():
        case, text, own = Case(op, random, ends), op.text(), places
        if schedule:
            text = text.replace(
                "\n      : ", " {blockscale.schedule = "
                f"#blockscale.gemm_schedule<{schedule}>}}\n      : ", 1)
            own = [place for place in places if place[1] == "--target=sm_100a"]
        if op.a == op.b == "f4E2M1FN":
            own = [*own, ["--on=emulator", "--target=sm_103a", "--nan-scales"]]
        module = folder / f"{op.name}.mlir"
        module.write_text(text)
        lines, outputs = [], []
        for place, fill in itertools.product(own, fills.values()):
            inputs = []
            for i, array in enumerate(filled(case, fill)):
                path = folder / f"{op.name}-{len(lines)}-{i}.npy"
                np.save(path, array)
                inputs += ["--in", path]
            outputs.append(folder / f"{op.name}-{len(lines)}-out.npy")
            lines.append([module, *place, *inputs, "--out", outputs[-1]])
        ended = iter(zip(run_lines(lines), outputs))
        for place in own:
            zeros = None
            for name in fills:
                (status, printed), path = next(ended)
                what = f"{op.name} {place[1]} {name}"
                if status:
                    expect.record(what, printed[-2000:])
                    continue
                got = np.load(path)
                zeros = got if name == "zeros" else zeros
                expect.record(what, case.problem(got) if name == "zeros"
                              else first_difference([got], [zeros]))
    expect.finish()


if __name__ == "__main__":
    main()
