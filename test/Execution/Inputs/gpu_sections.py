# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes the sections of one tensor, each for itself and all as a group (C5), in the
emulator: rows of x and columns of its transform, with the amaxes of both. The bytes are
those of the CPU.

Usage: gpu_sections.py FOLDER [--seed SEED]
"""

import argparse
from pathlib import Path

import numpy as np

import values
from expect import Expectations, first_difference
from gpu_calls import PLACES, run_module
from ops import with_one_nan

SETS = 6


def quantize(i, x, rows, cols, group):
    """The text of all that is made of a section, and the types of its results."""
    m = "?" if rows is None else rows
    blocks = "?" if rows is None else rows // 16
    data = [f"tensor<{m}x{cols}xf4E2M1FN>", f"tensor<{cols}x{m}xf4E2M1FN>"]
    scales = [f"tensor<{m}x{cols // 16}xf8E4M3FN, #blockscale.layout<swizzle_128x4>>",
              f"tensor<{cols}x{blocks}xf8E4M3FN>"]
    type = f"tensor<{m}x{cols}xbf16>"
    names = [f'{{blockscale.group = "{name}"}}' if group else "" for name in "rc"]
    return ((f"  %a{i} = blockscale.amax {x} : {type} -> tensor<f32>\n"
             f"  %q{i}, %s{i} = blockscale.quantize {x} block [1, 16] recipe te "
             f"global_amax(%a{i} : tensor<f32>) {names[0]} : {type} -> {data[0]}, {scales[0]}\n"
             f"  %h{i} = blockscale.hadamard {x} dim 0 : {type}\n"
             f"  %b{i} = blockscale.amax %h{i} : {type} -> tensor<f32>\n"
             f"  %p{i}, %t{i} = blockscale.quantize %h{i} block [16, 1] transposed recipe te "
             f"global_amax(%b{i} : tensor<f32>) {names[1]} : {type} -> {data[1]}, {scales[1]}\n"),
            ["tensor<f32>", "tensor<f32>", data[0], scales[0], data[1], scales[1]])


def draw_module(random, dynamic, group):
    """A module that splits x, and the arrays of its arguments."""
    steps = ((128, 128), (16, 16))[random.integers(2)]
    cols = int(random.integers(1, 3)) * steps[1]
    rows = [int(random.integers(0, 4)) * steps[0] for _ in range(4)]
    begins = np.cumsum([0, *rows])
    all_rows = begins[-1] + 1  # behind what begins an empty last section
    x = values.floats(random, (all_rows, cols), np.uint16, values.TAME)
    body, types, names = "", [], []
    for i, (begin, count) in enumerate(zip(begins, rows)):
        size = f"%n{i}" if dynamic else count
        m = "?" if dynamic else count
        offset = f"%o{i}" if dynamic else begin
        body += (f"  %x{i} = tensor.extract_slice %x[{offset}, 0][{size}, {cols}][1, 1] : "
                 f"tensor<{'?' if dynamic else all_rows}x{cols}xbf16> to "
                 f"tensor<{m}x{cols}xbf16>\n")
        text, of_section = quantize(i, f"%x{i}", None if dynamic else count, cols, group)
        body += text
        types += of_section
        names += [f"%{name}{i}" for name in "abqspt"]
    arguments, arrays = [f"%x: tensor<{'?' if dynamic else all_rows}x{cols}xbf16>"], [x]
    for i in range(len(rows) * dynamic):
        arguments += [f"%o{i}: index", f"%n{i}: index"]
        arrays += [np.int64(begins[i]), np.int64(rows[i])]
    text = (f"func.func @sections({', '.join(arguments)}) -> ({', '.join(types)}) {{\n{body}"
            f"  return {', '.join(names)} : {', '.join(types)}\n}}\n")
    return text, arrays, types


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    expect = Expectations()
    for i in range(SETS):
        dynamic, group = i % 2 == 1, i < 4
        text, arrays, types = draw_module(random, dynamic, group)
        runs = [run_module(text, arrays, len(types), options.folder / f"set{i}-{j}", place)
                for j, place in enumerate(PLACES)]
        wanted = [with_one_nan(array, type) for array, type in zip(runs[0][1], types)]
        for place, (problem, got) in zip(PLACES, runs):
            got = [with_one_nan(array, type) for array, type in zip(got, types)]
            expect.record(f"{place} {text}", problem or first_difference(wanted, got))
    expect.finish()


main()
