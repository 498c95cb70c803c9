#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds out how tensor cores add products of two operands with scales, of which nothing is
published (docs/Numerics.md, what tensor cores add).

    scripts/gpu/scaled_sums.py pack FOLDER [--target CHIP]    # here
    python3 FOLDER/scripts/gpu/scaled_sums.py search          # on a GPU of that chip

The products are this project's own, of one tile and without splits, compiled for a chip that
multiplies block-scaled operands. A search supposes what a term is (the product of two elements and
their scales, or the exact sum of a block), how many elements an addition takes, how many bits of
terms are kept below the largest exponent, how that exponent is found, and how a sum is rounded.
It tries all on operands whose scales are spread, and prints what fits each format, or what comes
nearest. The other machine needs a driver, Python and NumPy.
"""

import argparse
import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / name) for name in ("scripts", "python", "scripts/gpu")]

import blockscale_reference as reference

COPIES = ("python/blockscale_runtime.py", "python/blockscale_reference/*.py",
          "scripts/log_head.py", "scripts/gpu/packed.py", "scripts/gpu/packing.py",
          "scripts/gpu/scaled_sums.py")
TARGETS = ("sm_100a", "sm_103a", "sm_120a")
SIZE, DEPTH = 128, 256  # rows of A and B, and K
ROWS, COLS = 16, 24  # of the results that a search looks at

CODECS = {"f4E2M1FN": reference.E2M1, "f8E4M3FN": reference.E4M3, "f8E5M2": reference.E5M2}
LEAST_NORMAL = {"f4E2M1FN": 0, "f8E4M3FN": -6, "f8E5M2": -14, "f8E8M0FNU": -127}
BLOCKS = {"f8E4M3FN": 16, "f8E8M0FNU": 32}


@dataclass(frozen=True)
class Product:
    name: str
    element: str
    scale: str

    @property
    def block(self):
        return BLOCKS[self.scale]

    def module(self):
        data = f"tensor<{SIZE}x{DEPTH}x{self.element}>"
        scales = (f"tensor<{SIZE}x{DEPTH // self.block}x{self.scale}, "
                  "#blockscale.layout<swizzle_128x4>>")
        result = f"tensor<{SIZE}x{SIZE}xf32>"
        return (f"func.func @product(%a: {data}, %b: {data}, %sa: {scales}, %sb: {scales}) -> "
                f"{result} {{\n  %y = blockscale.scaled_mm %a, %b scales(%sa, %sb) block "
                f"[1, {self.block}]\n      : {data}, {data}, {scales}, {scales} -> {result}\n"
                f"  return %y : {result}\n}}\n")


PRODUCTS = (Product("nvfp4", "f4E2M1FN", "f8E4M3FN"), Product("mxfp4", "f4E2M1FN", "f8E8M0FNU"),
            Product("mxfp8_e4m3", "f8E4M3FN", "f8E8M0FNU"),
            Product("mxfp8_e5m2", "f8E5M2", "f8E8M0FNU"))


@dataclass(frozen=True)
class Rule:
    """How terms are added. `bits` is None where nothing is cut."""
    of_blocks: bool  # terms are exact sums of blocks
    from_value: bool  # a term's exponent is that of its value, not the sum of its factors'
    elements: int  # of an addition
    bits: int | None
    nearest: bool

    def __str__(self):
        kept = "all bits" if self.bits is None else f"{self.bits} bits"
        return (f"{'blocks' if self.of_blocks else 'products'}, {self.elements} elements an "
                f"addition, {kept} kept below the exponent of the largest "
                f"{'value' if self.from_value else 'factors'}, "
                f"{'to nearest' if self.nearest else 'cut'}")


def list_rules():
    for of_blocks, from_value, elements, nearest in itertools.product(
            (False, True), (False, True), (16, 32, 64, 96, 128, 256), (False, True)):
        if of_blocks and not from_value:
            continue  # The exponents of factors are those of products.
        for bits in (None, *range(12, 41)):
            if bits is None and from_value:
                continue  # Without a cut, exponents do not count.
            yield Rule(of_blocks, from_value, elements, bits, nearest)


def exponents(x):
    """floor(log2 |x|), and something small of 0."""
    return np.where(x == 0, -10000, np.frexp(x)[1].astype(np.int64) - 1)


@dataclass(frozen=True)
class Operand:
    """Codes [rows, K] and scale bytes [rows, K / block], with their values."""
    codes: np.ndarray
    scales: np.ndarray
    values: np.ndarray
    factors: np.ndarray
    exponents: np.ndarray  # of an element and its scale together


def draw_operand(random, product, spread):
    """With scales of about 1, 2^`spread` apart at most."""
    codec = CODECS[product.element]
    codes = random.integers(0, codec.max_code + 1, (SIZE, DEPTH)).astype(np.uint8)
    codes |= (codec.sign_bit * random.integers(0, 2, codes.shape)).astype(np.uint8)
    shape = SIZE, DEPTH // product.block
    powers = random.integers(-spread, spread + 1, shape)
    if product.scale == "f8E8M0FNU":
        scales = (powers + 127).astype(np.uint8)
        factors = 2.0**powers
    else:
        scales = ((np.clip(powers, -6, 7) + 7) * 8 + random.integers(0, 8, shape)).astype(np.uint8)
        factors = reference.E4M3.decode(scales).astype(np.float64)
    values = codec.decode(codes).astype(np.float64)
    wide = np.repeat(factors, product.block, axis=1)
    of_values = np.where(values == 0, -10000, np.maximum(exponents(values),
                                                         LEAST_NORMAL[product.element]))
    return Operand(codes, scales, values, wide, of_values + exponents(wide))


def add(rule, product, a, b):
    """The sums (f32) of some rows of A and of B by a rule."""
    scaled = [(each.values * each.factors) for each in (a, b)]
    terms = scaled[0][:ROWS, None] * scaled[1][None, :COLS]
    places = a.exponents[:ROWS, None] + b.exponents[None, :COLS]
    total = np.zeros((ROWS, COLS))
    for k in range(0, DEPTH, rule.elements):
        part, at = terms[..., k:k + rule.elements], places[..., k:k + rule.elements]
        if rule.of_blocks:
            part = part.reshape(ROWS, COLS, -1, min(product.block, part.shape[-1])).sum(-1)
        if rule.from_value:
            at = exponents(part)
        if rule.bits is None:
            sums = part.sum(-1) + total
        else:
            largest = np.maximum(np.maximum(at.max(-1), exponents(total)), -150)
            unit = np.ldexp(1.0, largest - rule.bits)
            sums = (np.trunc(part / unit[..., None]).sum(-1) + np.trunc(total / unit)) * unit
        rounded = sums.astype(np.float32)
        if not rule.nearest:
            beyond = np.abs(rounded.astype(np.float64)) > np.abs(sums)
            rounded = np.where(beyond, np.nextafter(rounded, np.float32(0)), rounded)
        total = rounded.astype(np.float64)
    return total.astype(np.float32)


def search(product, multiply):
    """What fits the sums that `multiply` gives of two operands, and a line that says it."""
    runs = []
    for seed, spread in enumerate((3, 6, 12)):
        random = np.random.default_rng((seed, 5))
        a, b = draw_operand(random, product, spread), draw_operand(random, product, spread)
        runs.append((a, b, multiply(a, b)[:ROWS, :COLS].view(np.uint32)))
    fewest, found = 3 * ROWS * COLS + 1, []
    for rule in list_rules():
        misses = 0
        for a, b, results in runs:
            misses += int((add(rule, product, a, b).view(np.uint32) != results).sum())
            if misses > fewest:
                break
        else:
            found = [*(found if misses == fewest else []), rule]
            fewest = misses
    others = f" (as {len(found) - 1} others)" if len(found) > 1 else ""
    if fewest:
        return False, (f"{product.name}: none fits; nearest, {fewest} of {3 * ROWS * COLS}: "
                       f"{found[0]}{others}")
    return True, f"{product.name}: {found[0]}{others}"


def pack(folder, target):
    from packing import build_bundle, describe, make_folder

    make_folder(folder, COPIES)
    for product in PRODUCTS:
        build_bundle(product.module(), target, folder / f"{product.name}.bundle")
    describe(folder, target=target)


def run(folder, driver=None, only=""):
    """Prints what fits each product. Whether something does."""
    if driver:
        import blockscale_runtime

        runtime = blockscale_runtime.Runtime(folder / "libBlockScaleRuntime.so")
        device = runtime.device(0, driver)

        def load(name):
            return device.load(runtime.bundle(folder / name))
    else:
        from packed import Pack

        load = Pack(folder).load
    fits = []
    for product in PRODUCTS:
        if only not in product.name:
            continue
        module = load(f"{product.name}.bundle")

        def multiply(a, b, module=module, product=product):
            codes = [reference.pack(each.codes) if product.element == "f4E2M1FN" else each.codes
                     for each in (a, b)]
            scales = [reference.swizzle(each.scales) for each in (a, b)]
            return module.run("product", *codes, *scales)[0]

        is_found, line = search(product, multiply)
        print(line, flush=True)
        fits.append(is_found)
    print(f"{sum(fits)} of {len(fits)} products found")
    return bool(fits) and all(fits)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    packing = actions.add_parser("pack")
    packing.add_argument("folder", type=Path)
    packing.add_argument("--target", choices=TARGETS, default=TARGETS[0], metavar="CHIP")
    searching = actions.add_parser("search")
    searching.add_argument("--driver", help="its library (default: NVIDIA's)")
    searching.add_argument("--only", default="", metavar="TEXT")
    options = parser.parse_args()
    if options.action == "pack":
        pack(options.folder, options.target)
        return 0
    try:
        return 0 if run(ROOT, options.driver, options.only) else 1
    except (OSError, RuntimeError) as error:
        print(f"error: expected a folder that was packed, and a GPU of its chip: {error}",
              file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
