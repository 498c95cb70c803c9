# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes, on the CPU and in the emulator, the values at which conversions can go
wrong, and compares every byte. `software_cvt.py CHIP FOLDER`.

A code is a step function of |x|, and so is what SoftwareCvt.cpp computes: its sum is
monotone wherever the power of two is the same, and powers of two from the smallest
normal number on are values of codes. So the two are equal everywhere once they are
equal on both sides of every value of a code and of every middle between two, and for
E8M0 of every power of two. The f32 there are all here."""

import subprocess
import sys
from pathlib import Path

import numpy as np

# Mantissa bits, bias, largest exponent and largest code.
FORMATS = {"f4E2M1FN": (1, 1, 2, 0x07), "f6E2M3FN": (3, 1, 2, 0x1F), "f6E3M2FN": (2, 3, 4, 0x1F),
           "f8E4M3FN": (3, 7, 8, 0x7E), "f8E5M2": (2, 15, 15, 0x7B)}
E4M3 = FORMATS["f8E4M3FN"]
SPECIAL = np.array([np.nan, -np.nan, np.inf, -np.inf], np.float32)


def quantize(name, block, data, scale, recipe, global_scale=False):
    """A function of its own for each way."""
    argument, use = ", %g: f32" * global_scale, "global_scale(%g : f32)" * global_scale
    results = f"tensor<?x{block}x{data}>, tensor<?x1x{scale}>"
    return f"""
func.func @{name}(%x: tensor<?x{block}xf32>{argument}) -> ({results}) {{
  %q, %s = blockscale.quantize %x block [1, {block}] recipe {recipe} {use}
      : tensor<?x{block}xf32> -> {results}
  return %q, %s : {results}
}}"""


def neighbours(values):
    """Positive values, and five f32 on either side."""
    bits = np.asarray(values, np.float32).view(np.int32)[:, None] + np.arange(-5, 6)
    return np.unique(bits[(bits >= 0) & (bits < 0x7F800000)].astype(np.int32)).view(np.float32)


def boundaries(format):
    """The values of codes, what is half way between two, and their neighbours."""
    mantissa_bits, bias, _, largest = format
    codes = np.arange(largest + 2)
    exponents = np.maximum(codes >> mantissa_bits, 1)
    mantissas = codes - ((exponents - 1) << mantissa_bits)
    values = mantissas * 2.0 ** (exponents - bias - mantissa_bits)
    return neighbours(np.concatenate([values, (values[1:] + values[:-1]) / 2]))


def every_bf16():
    """The finite ones that are not negative."""
    return (np.arange(0x7F80, dtype=np.uint32) << 16).view(np.float32)


def subnormals():
    return np.array([1, 2, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFF], np.uint32).view(np.float32)


def in_rows(first, values, width):
    """Rows of `first` and `width - 1` of the values."""
    short = -len(values) % (width - 1)
    rows = np.concatenate([values, np.zeros(short)]).reshape(-1, width - 1)
    return np.column_stack([np.full(len(rows), first), rows]).astype(np.float32)


def elements(format):
    """Each value of each sign, below twice the largest power of two, which makes a
    block's scale 1; then blocks of anything."""
    values = np.concatenate([boundaries(format), every_bf16(), subnormals()])
    values = values[values < 2.0 ** (format[2] + 1)]
    rows = in_rows(2.0 ** format[2], np.concatenate([values, -values]), 32)
    anything = np.random.default_rng(1).integers(0, 2**32, (2048, 32), np.uint32)
    special = np.ones((8, 32), np.float32)
    special[:4, 5], special[4:, 31] = SPECIAL, SPECIAL
    return np.concatenate([rows, anything.view(np.float32), special])


def amaxes(values, width):
    values = np.concatenate([values, every_bf16(), subnormals(), SPECIAL])
    x = np.zeros((len(values), width), np.float32)
    x[:, 3] = values
    x[:, width - 1] = -values / 3
    return x


def powers_of_two():
    return neighbours(2.0 ** np.arange(-126, 128))


def cases():
    """Name, text, and arrays of each function."""
    for data, format in FORMATS.items():
        name = f"elements_{data}"
        yield name, quantize(name, 32, data, "f8E8M0FNU", "floor"), [elements(format)]
    for recipe in "rceil", "rceil_sat":
        for data in "f4E2M1FN", "f8E4M3FN":
            largest = {"f4E2M1FN": 6, "f8E4M3FN": 448}[data]
            values = powers_of_two()
            values = np.concatenate([values, values[values < 2.0**119] * largest])
            name = f"{recipe}_{data}"
            yield name, quantize(name, 32, data, "f8E8M0FNU", recipe), [amaxes(values, 32)]
    for recipe in "torchao", "mslk", "te", "modelopt":
        x = amaxes(boundaries(E4M3) * 6, 16)
        for global_scale in (), (np.float32(0.3),):
            name = f"{recipe}_{len(global_scale)}"
            text = quantize(name, 16, "f4E2M1FN", "f8E4M3FN", recipe, bool(global_scale))
            yield name, text, [x, *global_scale]


def run(module, name, folder, files, options):
    where = folder / options[0].strip("-").replace("=", "-")
    outputs = [Path(f"{where}-{result}.npy") for result in "qs"]
    command = ["blockscale-run", module, f"--entry={name}", *options]
    command += [f"--in={path}" for path in files] + [f"--out={path}" for path in outputs]
    subprocess.run(command, check=True)
    return [np.load(path) for path in outputs]


def main(chip, folder):
    failed, folder = False, Path(folder)
    for name, text, arrays in cases():
        module = folder / "module.mlir"
        module.write_text(text)
        files = [folder / f"in{i}.npy" for i in range(len(arrays))]
        for path, array in zip(files, arrays):
            np.save(path, array)
        wanted = run(module, name, folder, files, ["--on=cpu"])
        got = run(module, name, folder, files, ["--on=emulator", f"--target={chip}"])
        for result, a, b in zip(("data", "scales"), wanted, got):
            rows = np.flatnonzero((a != b).any(axis=1))
            failed |= rows.size > 0
            print(f"{name} {result}: " + (f"{a.size} bytes equal" if not rows.size else (
                f"{rows.size} rows differ, the first at x = {arrays[0][rows[0]]}: expected "
                f"{a[rows[0]]}, but got {b[rows[0]]}")))
    return failed


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        sys.exit(main(*sys.argv[1:]))
