# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Appends of a quantized row to caches of codes and scales, and of a row as it is to a cache of
bf16, at a position that an element of memory says. On each chip the row is that of the CPU, all
else in the caches is as it was, and a position outside is an error of the call with one text. One
kernel runs, whose traffic does not depend on the size of the caches: the row, what is written for
it, the position, and at most 128 bytes more.

Usage: append.py FOLDER CHIP..
"""

import re
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations

MORE = 128
LENGTH = 128  # elements of a row
#: Data, bits of a code, scale, elements of a block; rows of bf16 are not quantized.
FORMATS = {"mxfp8": ("f8E4M3FN", 8, "f8E8M0FNU", 32), "nvfp4": ("f4E2M1FN", 4, "f8E4M3FN", 16),
           "bf16": ("bf16", 16, "", 0)}
#: Positions in memory: type, dtype of NumPy, and the index that is read.
POSITIONS = {"i32": ("tensor<i32>", np.int32, ""), "i64": ("tensor<i64>", np.int64, ""),
             "table": ("tensor<3xi32>", np.int32, "%c2")}
LINE = re.compile(r"(\S+): (\d+) bytes of \.global read in \d+ sectors, (\d+) written in \d+ "
                  r"sectors\n")


def write_module(form, kind):
    data, _, scale, block = FORMATS[form]
    position, _, index = POSITIONS[kind]
    integer = position.removesuffix(">").split("<")[1].split("x")[-1]
    row = f"tensor<1x{LENGTH}x"
    whole = f"tensor<?x{LENGTH}x{data}>"
    if not block:
        return f"""func.func @append(%data: {whole} {{bufferization.writable = true}},
                  %x: {row}bf16>, %position: {position}) -> {whole} {{
  %c2 = arith.constant 2 : index
  %n = tensor.extract %position[{index}] : {position}
  %p = arith.index_cast %n : {integer} to index
  %a = tensor.insert_slice %x into %data[%p, 0] [1, {LENGTH}] [1, 1] : {row}bf16> into {whole}
  return %a : {whole}
}}
"""
    blocks = f"{LENGTH // block}x{scale}>"
    return f"""func.func @append(%data: {whole} {{bufferization.writable = true}},
                  %scale: tensor<?x{blocks} {{bufferization.writable = true}},
                  %x: {row}bf16>, %position: {position}) -> ({whole}, tensor<?x{blocks}) {{
  %c2 = arith.constant 2 : index
  %q, %s = blockscale.quantize %x block [1, {block}] : {row}bf16> -> {row}{data}>, tensor<1x{blocks}
  %n = tensor.extract %position[{index}] : {position}
  %p = arith.index_cast %n : {integer} to index
  %a = tensor.insert_slice %q into %data[%p, 0] [1, {LENGTH}] [1, 1] : {row}{data}> into {whole}
  %b = tensor.insert_slice %s into %scale[%p, 0] [1, {LENGTH // block}] [1, 1]
      : tensor<1x{blocks} into tensor<?x{blocks}
  return %a, %b : {whole}, tensor<?x{blocks}
}}
"""


def draw_caches(form, positions):
    _, bits, _, block = FORMATS[form]
    random = np.random.default_rng(positions)
    if not block:
        return [random.integers(0, 1 << 14, (positions, LENGTH), np.uint16)]
    return [random.integers(0, 100, (positions, size), np.uint8)
            for size in (LENGTH * bits // 8, LENGTH // block)]


def draw_row():
    numbers = np.random.default_rng(1).normal(size=(1, LENGTH)).astype(np.float32)
    return (numbers.view(np.uint32) >> 16).astype(np.uint16)


def make_position(kind, number):
    _, dtype, index = POSITIONS[kind]
    return np.array([7, -1, number] if index else number, dtype)


def run(folder, form, kind, caches, number, target):
    """The caches afterwards and the launches, or the text of the error."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "m.mlir").write_text(write_module(form, kind))
    place = ["--on=cpu"] if target == "cpu" else ["--on=emulator", f"--target={target}",
                                                  "--profile"]
    line = [folder / "m.mlir", *place]
    for i, array in enumerate([*caches, draw_row(), make_position(kind, number)]):
        np.save(folder / f"in{i}.npy", array)
        line += ["--in", folder / f"in{i}.npy"]
    outs = [folder / name for name in ("data.npy", "scale.npy")[:len(caches)]]
    for out in outs:
        out.unlink(missing_ok=True)
        line += ["--out", out]
    [(status, printed)] = run_lines([line])
    if status:
        assert not any(out.exists() for out in outs), printed
        return LINE.sub("", printed)
    assert LINE.sub("", printed) == "", printed
    return [np.load(out) for out in outs], LINE.findall(printed)


def check_traffic(what, launches, caches, kind, expect):
    expect.record(f"{what}: launches", None if len(launches) == 1 else f"{launches}")
    rows = 2 * LENGTH + sum(cache[0].nbytes for cache in caches)
    position = np.dtype(POSITIONS[kind][1]).itemsize
    moved = sum(int(count) for launch in launches for count in launch[1:])
    print(f"{what}: {moved} bytes, rows {rows}, position {position}", flush=True)
    expect.record(f"{what}: traffic", None if moved <= rows + position + MORE else
                  f"{moved} bytes, of which rows are {rows} and the position {position}")


def main():
    folder, *chips = sys.argv[1:]
    expect = Expectations()
    for form in FORMATS:
        for kind in POSITIONS:
            caches = draw_caches(form, 16)
            row, _ = run(Path(folder), form, kind, caches, 5, "cpu")
            wrong = {number: run(Path(folder), form, kind, caches, number, "cpu")
                     for number in (-1, 16)}
            for chip in chips:
                what = f"{form} at {kind} on {chip}"
                found, _ = run(Path(folder), form, kind, caches, 5, chip)
                expect.equal(what, found, row)
                for number, text in wrong.items():
                    found = run(Path(folder), form, kind, caches, number, chip)
                    expect.record(f"{what}: {number}", None if found == text and found else
                                  f"expected {text!r}, but got {found!r}")
            for positions in (1 << 10, 1 << 17):
                what = f"{form} at {kind} of {positions}"
                caches = draw_caches(form, positions)
                number = positions - 3
                found, launches = run(Path(folder), form, kind, caches, number, chips[-1])
                for cache, part in zip(caches, row):
                    cache[number] = part[5]
                expect.equal(what, found, caches)
                check_traffic(what, launches, caches, kind, expect)
    expect.finish()


if __name__ == "__main__":
    main()
