# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions with one matmul op, their arguments, and the products expected.

A result may differ from the exact one, in f64, by
1e-6 * max(1, K / 256) * sum |a b|, one rounding in f32 for the global scales and
one for the bias, and the rounding to its own type.
"""

import functools
from dataclasses import dataclass, field

import numpy as np

import values
from reference import (
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
    INT8,
    decode_e8m0,
    from_bf16,
    group_bounds,
    multiply_on_tensor_cores,
    pack,
    scaled_grouped_matmul,
    scaled_matmul,
    swizzle,
    swizzle_groups,
    to_bf16,
)

BLOCKS = {"f8E4M3FN": 16, "f8E8M0FNU": 32}  # by type of the scales
CODECS = {"f4E2M1FN": E2M1, "f6E2M3FN": E2M3, "f6E3M2FN": E3M2, "f8E4M3FN": E4M3,
          "f8E5M2": E5M2}
PLAIN = ("bf16", "f16")  # types of an operand without scales
F32_ROUNDING = 2.0**-24
# Relative rounding, half of the smallest step, and what rounds to infinity.
RESULTS = {"f32": (2.0**-24, 2.0**-150, 2.0**128 * (1 - 2.0**-25)),
           "bf16": (2.0**-8, 2.0**-134, 2.0**128 * (1 - 2.0**-9)),
           "f16": (2.0**-11, 2.0**-25, 65520.0)}


@dataclass
class Op:
    """One op. `a` or `b` may be plain, bf16 or f16. Layouts: linear, swizzled or grouped. Global
    scales: '', scalar, rank_0, each (batch element or group) or row (of A or B). `bias` is its
    type.
    `dynamic` has the letters of dynamic dimensions: B (batch), M, N, K, G (groups)."""

    name: str
    kind: str = "mm"  # rows (2d-3d), columns (2d-2d)
    scale: str = "f8E4M3FN"
    a: str = "f4E2M1FN"
    b: str = "f4E2M1FN"
    result: str = "f32"
    layout_a: str = "linear"
    layout_b: str = "linear"
    global_a: str = ""
    global_b: str = ""
    bias: str = ""
    has_bias_each: bool = False  # one row of bias a group
    scaling: str = ""  # global_scaling: before_rounding, after_rounding or in_elements
    order: str = ""  # of sums: free or chain
    are_units: bool = False  # global scales are constants of 1.0
    mn_major: str = ""  # of "ab", the operands whose rows, and blocks, run along M or N
    is_prepacked: bool = False  # the function brings data with scales to register order
    batch: int = 0  # number of batch dimensions
    dynamic: str = "BMNK"
    shape: dict = field(default_factory=dict)  # letters to sizes, batch a tuple

    @property
    def block(self):
        return BLOCKS[self.scale]

    def lies_across(self, side):
        """Whether an operand has scales whose blocks lie across K."""
        return side in self.mn_major and getattr(self, side) not in PLAIN

    def dims(self, letters):
        """Sizes of dimensions: letters, small ones for as many blocks."""
        for letter in letters:
            dim = letter.upper()
            size = self.shape[dim] if letter == dim else self.shape[dim] // self.block
            is_dynamic = dim in self.dynamic
            for one in size if letter == "B" else (size,):
                yield "?" if is_dynamic else str(one)

    def tensor(self, letters, element, layout="linear"):
        dims = "".join(f"{size}x" for size in self.dims(letters))
        groups, dim = self.shape.get("G"), int(self.kind == "columns")
        encoding = {"linear": "", "swizzled": ", #blockscale.layout<swizzle_128x4>",
                    "grouped": f", #blockscale.layout<swizzle_128x4, groups = {groups}, dim = "
                               f"{dim}>"}
        return f"tensor<{dims}{element}{encoding[layout]}>"

    def global_type(self, form, rows):
        """`rows` is the letter of the operand's rows."""
        each = "B" if self.kind == "mm" else "G"
        return {"scalar": "f32", "rank_0": "tensor<f32>", "each": self.tensor(each, "f32"),
                "row": self.tensor(f"B{rows}", "f32")}[form]

    def text(self):
        """The function."""
        lead, of_b = {"mm": ("B", "B"), "rows": ("", "G"), "columns": ("", "")}[self.kind]
        letters = {side: f"K{rows}" if side in self.mn_major else f"{rows}K"
                   for side, rows in (("a", "M"), ("b", "N"))}
        blocks = {side: letters[side][0] + letters[side][1].lower() for side in "ab"}
        types = {"a": self.tensor(lead + letters["a"], self.a),
                 "b": self.tensor(of_b + letters["b"], self.b)}
        attributes = "".join(f" mn_major_{side}" for side in self.mn_major)
        if self.kind != "mm":
            types["ends"] = self.tensor("G", "i32")
            attributes += " offsets(%ends)"
        if self.a not in PLAIN:
            types["sa"] = self.tensor(lead + blocks["a"], self.scale, self.layout_a)
        if self.b not in PLAIN:
            types["sb"] = self.tensor(of_b + blocks["b"], self.scale, self.layout_b)
        names = ", ".join(f"%{name}" if name in types else "none" for name in ("sa", "sb"))
        result = self.tensor("GMN" if self.kind == "columns" else f"{lead}MN", self.result)
        constants, in_op, data = "", dict(types), {"a": "%a", "b": "%b"}
        if self.is_prepacked:
            side = "a" if self.b in PLAIN else "b"
            in_op[side] = f"{types[side][:-1]}, #blockscale.data_layout<fragments_64x64>>"
            data[side] = "%packed"
            constants = (f"  %packed = blockscale.prepack %{side} : {types[side]} -> "
                         f"{in_op[side]}\n")
        operands = ", ".join(in_op.values())
        attributes += f" scales({names}) block [1, {self.block}]"
        for side, form, rows in (("a", self.global_a, "M"), ("b", self.global_b, "N")):
            if not form:
                continue
            type = self.global_type(form, rows)
            attributes += f" global_scale_{side}(%g{side} : {type})"
            if self.are_units:
                one = "1.0" if form == "scalar" else "dense<1.0>"
                constants += f"  %g{side} = arith.constant {one} : {type}\n"
            else:
                types[f"g{side}"] = type
        if self.scaling:
            attributes += f" global_scaling {self.scaling}"
        if self.order:
            attributes += f" order {self.order}"
        if self.bias:
            types["bias"] = self.tensor("GN" if self.has_bias_each else "N", self.bias)
            attributes += f" bias(%bias : {types['bias']})"
        arguments = ", ".join(f"%{name}: {type}" for name, type in types.items())
        op = "scaled_mm" if self.kind == "mm" else "scaled_grouped_mm"
        return (f"func.func @{self.name}({arguments}) -> {result} {{\n{constants}"
                f"  %y = blockscale.{op} {data['a']}, {data['b']}{attributes}\n      : {operands} "
                f"-> {result}\n  return %y : {result}\n}}\n")


def legal_ends(ends, extent, unit):
    """The ends that code goes on with, in units."""
    return [end // unit for _, end in group_bounds(ends, extent, unit)]


def data(random, element, shape):
    """Codes without infinity and NaN."""
    if element in PLAIN:
        drawn = random.standard_normal(shape) * 2.0 ** random.integers(-6, 7, shape)
        return to_bf16(drawn.astype(np.float32)) if element == "bf16" else drawn.astype(np.float16)
    limit = CODECS[element].max_code
    sign = CODECS[element].sign_bit * random.integers(0, 2, shape)
    return (random.integers(0, limit + 1, shape) + sign).astype(np.uint8)


def scales(random, element, shape):
    return values.e4m3(random, shape) if element == "f8E4M3FN" else values.e8m0(random, shape)


@functools.cache
def table(element):
    """The value of each byte, in f64."""
    codecs = {**CODECS, "i8": INT8}
    decode = decode_e8m0 if element == "f8E8M0FNU" else codecs[element].decode
    return decode(np.arange(256)).astype(np.float64)


def dequantized(codes, element, scale, scale_element):
    """The values of an operand without its global scale, in f64."""
    wide = np.repeat(table(scale_element)[scale], BLOCKS[scale_element], axis=-1)
    return table(element)[codes] * wide


def factors(codes, element, scale, scale_element, other, global_scale=None):
    """The values that a product multiplies, in f64: those of a plain operand, or data times
    scales, as the plain type of the other operand has them. `global_scale` are those (f32) that
    multiply elements, of the data's rank."""
    if element in PLAIN:
        return (from_bf16(codes) if element == "bf16" else codes).astype(np.float64)
    if global_scale is not None:
        blocks = np.repeat(table(scale_element)[scale], BLOCKS[scale_element], axis=-1)
        with np.errstate(over="ignore", invalid="ignore"):
            wide = table(element)[codes].astype(np.float32) * (global_scale
                                                               * blocks.astype(np.float32))
            narrow = from_bf16(to_bf16(wide)) if other == "bf16" else wide.astype(np.float16)
        return narrow.astype(np.float64)
    wide = dequantized(codes, element, scale, scale_element)
    if other != "bf16":
        return wide
    with np.errstate(over="ignore", invalid="ignore"):
        return from_bf16(to_bf16(wide.astype(np.float32))).astype(np.float64)


class Case:
    """Arguments of a function, and its exact product."""

    def __init__(self, op, random, ends=(), a=None, sa=None, sb=None, typical=None,
                 bias_share=None, b=None, global_b=None):
        """`a`, `b`, `sa`, `sb` and `global_b` replace random codes, scale bytes and the global
        scales of B. With `typical`, E8M0
        scales of A are multiplied by a power of two that makes the median of the results
        about 2^typical. `bias_share` is the largest bias as a part of that median."""
        s = op.shape
        lead = s.get("B", ()) if op.kind == "mm" else ()
        of_b = {"mm": lead, "rows": (len(ends),), "columns": ()}[op.kind]
        shapes = [(*batch, s["K"], s[rows]) if op.lies_across(side) else (*batch, s[rows], s["K"])
                  for side, batch, rows in (("a", lead, "M"), ("b", of_b, "N"))]
        self.op = op
        a = data(random, op.a, shapes[0]) if a is None else a
        b = data(random, op.b, shapes[1]) if b is None else b
        if sa is None and op.a not in PLAIN:
            sa = scales(random, op.scale, (*shapes[0][:-1], shapes[0][-1] // op.block))
        if sb is None and op.b not in PLAIN:
            sb = scales(random, op.scale, (*shapes[1][:-1], shapes[1][-1] // op.block))
        self.count = (len(ends),) if op.kind != "mm" else lead
        self.factors = [self._factor(random, op.global_a, s["M"]),
                        self._factor(random, op.global_b, s["N"])
                        if global_b is None else global_b]
        shape = (*self.count, s["N"]) if op.has_bias_each else (s["N"],)
        bias = random.standard_normal(shape) * 2.0 ** random.integers(-4, 12)
        extent, self.unit = (s["M"], 1) if op.kind == "rows" else (s["K"], op.block)
        self.legal = legal_ends(ends, extent, self.unit)
        self.factor = self._factor_of_results()
        self.of_elements = [self._factor_of_elements(side) for side in (0, 1)]
        with np.errstate(invalid="ignore"):
            self.product = self.sums(self._factors((a, b), (sa, sb))).times(self.factor)
        if typical is not None:
            sa = self._moved(sa, typical)
        if bias_share is not None:
            bias = bias / max(np.abs(bias).max(initial=0), 1e-9) * bias_share * self._median()
        with np.errstate(over="ignore"):  # an infinity of f16 is a bias as well
            bias = to_bf16(bias) if op.bias == "bf16" else bias.astype(
                op.bias.replace("f", "float") or np.float32)
        self.codes, self.scales = [a, b], [sa, sb]
        self.values = self._factors(self.codes, self.scales)
        stored = [self._stored_data(a, op.a), self._stored_data(b, op.b)]
        stored += [np.array(ends, np.int32)] if op.kind != "mm" else []
        stored += [self._stored_scale(scale, layout, self.legal) for scale, layout
                   in ((sa, op.layout_a), (sb, op.layout_b)) if scale is not None]
        passed = [] if op.are_units else [f for f in self.factors if f is not None]
        self.arguments = stored + passed + ([bias] if op.bias else [])
        # Of each result; 0 in rows that no group covers.
        self.bias = np.zeros(self.product.value.shape)
        if op.bias:
            wide = (from_bf16(bias) if op.bias == "bf16" else bias).astype(np.float64)
            wide = wide[:, None, :] if op.has_bias_each else wide
            self.bias[...] = self._of_rows(wide) if op.kind == "rows" else wide

    def _factors(self, codes, scales):
        """The values that are multiplied, each row along K."""
        op = self.op
        found = [factors(codes[i], getattr(op, side), scales[i], op.scale, getattr(op, other),
                         self.of_elements[i])
                 for i, (side, other) in enumerate(("ab", "ba"))]
        return [each.swapaxes(-1, -2) if op.lies_across(side) else each
                for side, each in zip("ab", found)]

    def _factor(self, random, form, rows):
        """None where absent."""
        if not form:
            return None
        shape = {"each": self.count, "row": (*self.count, rows)}.get(form, ())
        drawn = np.ones(shape) if self.op.are_units else random.uniform(0.5, 2, shape)
        return np.asarray(drawn, np.float32)

    def _median(self):
        """That of the magnitudes of results other than 0, or 1."""
        found = np.abs(self.product.value[self.product.value != 0])
        return np.median(found) if found.size else 1.0

    def _moved(self, sa, typical):
        """E8M0 scales of A with typical results; the product with them."""
        power = typical - int(np.floor(np.log2(self._median())))
        self.product = self.product.times(2.0**power)
        return (sa + power).astype(np.uint8)

    def _of_rows(self, groups):
        """[.., N] of each group, or of all, as [M, N]; 0 in rows that no group covers."""
        groups = np.broadcast_to(groups, (len(self.legal), 1, groups.shape[-1]))
        rows = np.zeros((self.op.shape["M"], groups.shape[-1]))
        for start, end, row in zip([0, *self.legal], self.legal, groups):
            rows[start:end] = row
        return rows

    def _stored_data(self, codes, element):
        return pack(codes) if element == "f4E2M1FN" else codes

    def _stored_scale(self, scale, layout, ends):
        if layout == "grouped":
            return swizzle_groups(scale, ends, int(self.op.kind == "columns"))
        return swizzle(scale) if layout == "swizzled" else scale

    def sums(self, values):
        """The product of operands' values without global scales."""
        with np.errstate(invalid="ignore"):
            if self.op.kind == "mm":
                return scaled_matmul(*values)
            return scaled_grouped_matmul(*values, [end * self.unit for end in self.legal])

    def _factor_of_results(self):
        """The product of the global scales of each result, in f64."""
        if self.op.scaling == "in_elements":
            return np.ones(())
        wide_a, wide_b = (np.ones(()) if f is None else f.astype(np.float64) for f in self.factors)
        if self.op.kind == "mm":
            # [.., M, 1] and [.., 1, N], or one value for each matrix.
            wide_a = wide_a[..., None] if self.op.global_a == "row" else wide_a[..., None, None]
            wide_b = wide_b[..., None, :] if self.op.global_b == "row" else wide_b[..., None, None]
            return wide_a * wide_b
        factor = (np.ones(self.count) * wide_a * wide_b)[:, None, None]
        return self._of_rows(factor) if self.op.kind == "rows" else factor

    def _factor_of_elements(self, side):
        """The global scale (f32) of each element of A (0) or B (1), which broadcasts to the
        data; None where there is none or where it multiplies sums."""
        found = self.factors[side]
        if self.op.scaling != "in_elements" or found is None:
            return None
        if self.op.kind == "mm" or not found.ndim:
            return found[..., None, None] if found.ndim else found
        if self.op.kind == "rows" and side == 1:
            return found[:, None, None]
        # That of the group of each row of A, or of each place along K.
        groups = np.ones(self.op.shape["M" if self.op.kind == "rows" else "K"], np.float32)
        for start, end, each in zip([0, *self.legal], self.legal, found):
            groups[start * self.unit:end * self.unit] = each
        return groups[:, None] if self.op.kind == "rows" else groups

    def results(self, sums):
        """What a kernel that adds up these sums stores: rounded as docs/Numerics.md says."""
        to = {"f32": np.float32, "f16": np.float16,
              "bf16": lambda wide: from_bf16(to_bf16(wide))}[self.op.result]
        with np.errstate(over="ignore", invalid="ignore"):
            sums = sums.astype(np.float32)
            factor = self.factor.astype(np.float32)
            if self.op.scaling == "after_rounding":
                sums, factor = (to(each).astype(np.float32) for each in (sums, factor))
                scaled = to(sums * factor).astype(np.float32)
            else:
                scaled = sums * factor
            found = scaled + self.bias.astype(np.float32) if self.op.bias else scaled
            return to_bf16(found) if self.op.result == "bf16" else to(found)

    def chain_sums(self, how):
        """The sums (f32) of order chain, by the law of a tensor core's instruction."""
        kinds = [next(each for each in (self.op.b, self.op.a) if each in PLAIN)] * 2

        def multiply(a, b):
            return multiply_on_tensor_cores(how, a[..., :, None, :], b[..., None, :, :], kinds)

        a, b = self.values
        ends = [end * self.unit for end in self.legal]
        groups = list(enumerate(zip([0, *ends], ends)))
        if self.op.kind == "mm":
            return multiply(a, b)
        if self.op.kind == "columns":
            return np.stack([multiply(a[:, begin:end], b[:, begin:end])
                             for _, (begin, end) in groups])
        sums = np.zeros((a.shape[0], b.shape[1]), np.float32)
        for number, (begin, end) in groups:
            sums[begin:end] = multiply(a[begin:end], b[number])
        return sums

    def chain_problem(self, got, how):
        """What is wrong with the bits of a result of order chain, or None."""
        want = self.results(self.chain_sums(how))
        bits = [each.view(f"u{each.dtype.itemsize}") for each in (got, want)]
        if got.shape != want.shape:
            return f"expected shape {want.shape}, but got {got.shape}"
        wrong = bits[0] != bits[1]
        if not wrong.any():
            return None
        at = tuple(np.argwhere(wrong)[0].tolist())
        return (f"{wrong.sum()} of {got.size} elements differ, first at {at}: expected "
                f"{bits[1][at]:#x}, but got {bits[0][at]:#x}")

    def problem(self, got):
        """What is wrong with a result, or None."""
        rounding, smallest, infinite = RESULTS[self.op.result]
        got = (from_bf16(got) if self.op.result == "bf16" else got).astype(np.float64)
        value = self.product.value
        want = value + self.bias
        if got.shape != want.shape:
            return f"expected shape {want.shape}, but got {got.shape}"
        with np.errstate(invalid="ignore"):
            bound = (self.product.bound() + 2 * F32_ROUNDING * np.abs(value)
                     + F32_ROUNDING * np.abs(want))
            allowed = bound + rounding * (np.abs(want) + bound) + smallest
            good = np.abs(got - want) <= allowed
            # Near the largest value, infinity and a finite value are both right.
            good |= np.isinf(got) & (got * want > 0) & (np.abs(want) + bound >= infinite)
        good |= np.isnan(want) & np.isnan(got)
        if good.all():
            return None
        at = tuple(np.argwhere(~good)[0].tolist())
        return (f"{(~good).sum()} of {good.size} elements differ, first at {at}: expected "
                f"{want[at]!r} within {allowed[at]!r}, but got {got[at]!r}")
