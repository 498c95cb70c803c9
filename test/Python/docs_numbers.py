#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers of docs/Numerics.md, computed by the numpy reference (docs_pages.py)."""

import numpy as np

from golden import reference
from blockscale_reference import E2M1, E2M3, E3M2, E4M3, E5M2, INT8, decode_e8m0
from docs_pages import ROOT, main, table, text

PAGE = ROOT / "docs/Numerics.md"

NVFP4 = ("torchao", "mslk", "te", "modelopt", "compressed_tensors", "torchao_training")
FOUR_OVER_SIX = ("te_4over6_mae", "te_4over6_mse")
RULES = ("floor", "rceil", "rceil_sat", "ceil", "even", "tosa", "compressed_tensors")

# One row of 32 values: a block of 16 around 1, and one a thousand times smaller.
BLOCK0 = [0.5, -1.25, 3, 0.0625, -0.75, 2.25, 0, -5.5, 1.5, -0.25, 4, -2, 0.875, -0.375,
          0.125, 1.75]
BLOCK1 = [v / 4096 for v in (10, -3, 0, 6, -15, 1, 4, -9, 12, -1, 5, -8, 11, -2, 7, -14)]
ROW = np.array([BLOCK0 + BLOCK1], np.float32)
AMAX = np.abs(ROW).max()


def number(value):
    """The shortest decimal that is this f32; powers of two as such when long."""
    value = np.float32(value)
    if not np.isfinite(value):
        return str(value)
    text = np.format_float_positional(value, unique=True, trim="-")
    if len(text) > 12:
        fraction, exponent = np.frexp(value)
        sign = "-" if value < 0 else ""
        if abs(fraction) == 0.5:
            return f"{sign}2^{exponent - 1}"
        return np.format_float_scientific(value, unique=True, trim="-")
    return text


def codes_of(codes):
    """Different codes of an array in the order they come, for a short cell."""
    return " ".join(str(code) for code in dict.fromkeys(codes.ravel().tolist()))


def e2m1():
    return table(
        ["code", "bits", "value", "code", "bits", "value"],
        [[c, f"`0 {c >> 1:02b} {c & 1}`", number(E2M1.decode(c)),
          c + 8, f"`1 {c >> 1:02b} {c & 1}`", "-" + number(E2M1.decode(c))]
         for c in range(8)])


def _by_exponent(element, exponents):
    columns = 1 << element.mantissa_bits
    header = ["exponent", *(f"{m:0{element.mantissa_bits}b}" for m in range(columns))]
    digits = (element.sign_bit // columns).bit_length() - 1
    return table(header, [
        [f"`{e:0{digits}b}`", *(number(element.decode(e * columns + m))
                                for m in range(columns))] for e in exponents])


def e2m3():
    return _by_exponent(E2M3, range(4))


def e3m2():
    return _by_exponent(E3M2, range(8))


def e4m3():
    return _by_exponent(E4M3, range(16))


def e5m2():
    return _by_exponent(E5M2, (0, 1, 14, 15, 16, 29, 30, 31))


def e8m0():
    return table(["byte", "value"], [
        [f"`0x{b:02X}`", number(decode_e8m0(b))]
        for b in (0, 1, 120, 126, 127, 128, 254, 255)])


def _scale(value):
    return f"{number(E4M3.decode(value))} (0x{value:02X})"


def example_scale():
    (scale, _), = reference.quantize_nvfp4(ROW)[1]
    quotient, decoded = AMAX / np.float32(6), E4M3.decode(scale)
    return text(
        f"amax           = {number(AMAX)}",
        f"amax / 6       = {number(quotient)}",
        f"scale          = e4m3({number(quotient)}) = {_scale(scale)}",
        f"r = 1 / scale  = {number(1 / decoded)}")


def example_block():
    codes, scale = reference.quantize_nvfp4(ROW)
    back = reference.dequantize_nvfp4(codes, scale)
    r = np.float32(1) / E4M3.decode(scale[0, 0])
    return table(
        ["i", "x", "x * r", "code", "value", "value * scale"],
        [[i, number(ROW[0, i]), number(ROW[0, i] * r), codes[0, i],
          number(E2M1.decode(codes[0, i])), number(back[0, i])] for i in range(16)])


def example_global():
    g = reference.global_scale(AMAX)
    rows = []
    for name, factors in (("1.0 (absent)", {}), (number(g), {"global_scale": g})):
        codes, scale = reference.quantize_nvfp4(ROW, **factors)
        back = reference.dequantize_nvfp4(codes, scale, "torchao", **factors)
        error = np.abs(back - ROW).reshape(2, 16).max(axis=1)
        rows += [[name, block, number(np.abs(ROW[0, block * 16:][:16]).max()),
                  _scale(scale[0, block]), " ".join(map(str, codes[0, block * 16:][:16])),
                  f"{error[block]:.2g}"] for block in range(2)]
    return table(["global", "block", "amax", "scale", "codes", "largest error"], rows)


def example_mx():
    codes, scale = reference.quantize_mx(ROW)
    quotients = ", ".join(number(value / decode_e8m0(scale[0, 0])) for value in ROW[0, :4])
    return text(
        f"amax * (1/448) = {number(AMAX * (np.float32(1) / np.float32(448)))}",
        f"scale          = {number(decode_e8m0(scale[0, 0]))} (byte {scale[0, 0]})",
        f"data[0..3]     = e4m3({quotients})",
        f"               = {', '.join(f'0x{c:02X}' for c in codes[0, :4])}")


def example_packed():
    codes = reference.quantize_nvfp4(ROW)[0]
    return text(
        f"codes  {' '.join(f'{c:2d}' for c in codes[0, :8])}",
        f"bytes  {' '.join(f'0x{b:02X}' for b in reference.pack(codes)[0, :4])}")


def disagreement():
    rows = []
    for tensor, block in ((6.0, 4.5), (7.0, 5.75)):
        x = np.zeros((1, 16), np.float32)
        x[0, 0] = block
        exact = block / 6 * 2688 / tensor
        rows.append([number(tensor), number(block), number(exact)] + [
            _scale(reference.quantize_nvfp4(x, r, global_amax=tensor)[1].item())
            for r in NVFP4])
    return table(["tensor amax", "block amax", "exact scale",
                  *(f"`{r}`" for r in NVFP4)], rows)


def reciprocal():
    x = np.zeros((1, 16), np.float32)
    x[0, :2] = 6 * E4M3.decode(7), np.float32(0.02392577938735485)
    rows = []
    for recipe, how in (("mslk", "x * (1 / s)"), ("modelopt", "x / s")):
        codes, scale = reference.quantize_nvfp4(x, recipe)
        s = E4M3.decode(scale[0, 0])
        scaled = x[0, 1] * (np.float32(1) / s) if recipe == "mslk" else x[0, 1] / s
        rows.append([f"`{recipe}`", f"`{how}`", _scale(scale[0, 0]), number(scaled),
                     number(E2M1.decode(codes[0, 1]))])
    return table(["recipe", "operation", "s", "scaled", "rounded"], rows)


def _block(*values, rest=0.0):
    return np.array([[*values, *[rest] * (16 - len(values))]], np.float32)


def _edge_rows(cases, **common):
    for name, x, factors in cases:
        cells = []
        # Both 4over6 recipes share a column: in these blocks they do not differ.
        both = [reference.quantize_nvfp4(x, r, **factors) for r in FOUR_OVER_SIX]
        np.testing.assert_equal(*both)
        for recipe in (*NVFP4, FOUR_OVER_SIX[0]):
            codes, scale = reference.quantize_nvfp4(x, recipe, **factors)
            cells.append(f"0x{scale.item():02X}: {codes_of(codes)}")
        yield [name, *cells]


def _edge_header(*columns):
    return [*columns, *(f"`{r}`" for r in NVFP4), "`te_4over6_*`"]


def edges_one_level():
    return table(_edge_header("block"), _edge_rows([
        ("all 0", _block(), {}),
        ("all -0", _block(rest=-0.0), {}),
        ("all 2^-7", _block(rest=2.0**-7), {}),
        ("all 2^-126", _block(rest=2.0**-126), {}),
        ("all 2^-149", _block(rest=2.0**-149), {}),
        ("6, then 0.25, 0.75, 1.25", _block(6, 0.25, 0.75, 1.25, rest=6), {}),
        ("3e38, then 1", _block(3e38, rest=1), {}),
        ("infinity, then 1", _block(np.inf, rest=1), {}),
        ("NaN, then 1", _block(np.nan, rest=1), {}),
    ]))


def edges_two_levels():
    def of(amax):
        return {"global_amax": np.float32(amax)}

    return table(_edge_header("tensor amax", "block"), (
        [amax, *row] for amax, row in zip(
            ("0", "2^-149", "infinity", "infinity", "NaN"),
            _edge_rows([
                ("all 0", _block(), of(0)),
                ("all 2^-149", _block(rest=2.0**-149), of(2.0**-149)),
                ("all 1", _block(rest=1), of(np.inf)),
                ("all infinity", _block(rest=np.inf), of(np.inf)),
                ("all 1", _block(rest=1), of(np.nan)),
            ]))))


def mx_constants():
    rows = []
    formats = (("E4M3", E4M3, 8), ("E5M2", E5M2, 15), ("E3M2", E3M2, 4), ("E2M3", E2M3, 2),
               ("E2M1", E2M1, 2), ("INT8", INT8, 0))
    for name, element, bits in formats:
        rows.append([name, bits, number(element.largest),
                     number(np.float32(1) / element.largest), element.mantissa_bits])
    return table(["data", "emax", "largest", "1 / largest, in f32", "mantissa bits"], rows)


def mx_bytes():
    amaxes = (("0", 0.0), ("2^-149", 2.0**-149), ("2^-126", 2.0**-126), ("1", 1.0),
              ("1.75", 1.75), ("1.8125", 1.8125), ("1.9375", 1.9375), ("448", 448.0),
              ("449 (f32)", 449.0), ("2^127", 2.0**127), ("1.96875 * 2^127", 1.96875 * 2.0**127),
              ("infinity", np.inf), ("NaN", np.nan))
    rows = []
    for name, amax in amaxes:
        x = np.zeros((1, 32), np.float32)
        x[0, 0] = amax
        rows.append([name, *(reference.quantize_mx(x, E4M3, rule)[1].item()
                             for rule in RULES)])
    return table(["amax", *(f"`{r}`" for r in RULES)], rows)


def four_over_six():
    rows = []
    for values in ((6, 4.5), (6, 4), (6, 5, 1, 1, 1), (6, 2.25, 0.75)):
        cells = []
        for recipe in FOUR_OVER_SIX:
            codes, scale = reference.quantize_nvfp4(_block(*values), recipe, global_amax=1536)
            shown = " ".join(map(str, codes[0, : len(values)]))
            cells.append(f"{_scale(scale.item())}: {shown}")
        rows.append([", ".join(map(str, values)) + ", then 0", *cells])
    return table(["block", *(f"`{r}`: scale, codes" for r in FOUR_OVER_SIX)], rows)


def tensor_core_sums():
    """The sums that are known."""
    chips = {"ampere": "Ampere (A100, A30, A2)", "ada": "Ada (L40S)", "hopper": "Hopper",
             "blackwell": "Blackwell (B200)",
             "consumer blackwell": "consumer Blackwell (RTX PRO 6000)"}
    types = {16: "bf16, f16", 19: "tf32", 8: "E4M3, E5M2"}
    instructions = {"ampere": ("mma.sync",), "ada": ("mma.sync",),
                    "hopper": ("mma.sync", "wgmma"), "blackwell": ("mma.sync", "tcgen05"),
                    "consumer blackwell": ("mma.sync",)}
    rows = []
    for chip, name in chips.items():
        for instruction in instructions[chip]:
            for bits, factors in types.items():
                if (chip, bits) == ("ampere", 8):
                    continue
                how = reference.tensor_core.SUMS[chip, instruction, bits]
                apart = "2 x " if how.pairs_apart else ""
                rows.append([name, f"`{instruction}`", factors, f"{apart}{how.products}",
                             how.fraction_bits, how.result_bits, how.least_exponent,
                             "measured" if chip == "hopper" else "literature"])
    return table(["tensor cores", "instruction", "factors", "W", "F", "G", "L", "from"], rows)


def random_bits():
    seed, offset = 42, 7
    words = reference.philox4x32((0, 0, offset, 0), (seed, 0))
    bits = reference.random_bytes((1, 16), seed, offset)[0]
    x = np.full(8, 0.7, np.float32)
    codes = reference.encode_stochastic(x, bits[:8])
    return text(
        f"seed {seed}, offset {offset}, row 0, columns 0 to 15",
        f"words       {' '.join(f'{int(w):08x}' for w in words)}",
        f"bits        {' '.join(f'{b:02x}' for b in bits)}",
        f"e2m1(0.7)   {' '.join(number(E2M1.decode(c)) for c in codes)}"
        "    columns 0 to 7, upwards from r = 154")


if __name__ == "__main__":
    main(PAGE, globals())
