# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products: the bits of sums in the order of a chain, as tensor cores add, and the bound of sums in
any order (docs/Numerics.md, section 13)."""

from dataclasses import dataclass, replace

import numpy as np

from blockscale_reference import (
    dequantize_mx,
    dequantize_nvfp4,
    from_bf16,
    multiply_on_tensor_cores,
    pack,
    quantize_mx,
    quantize_nvfp4,
    scaled_matmul,
    tensor_core,
    to_bf16,
    unpack,
)

from .changes import Change
from .explain import Explanation, Stage, explain
from .forms import ELEMENTS, KitError
from .given import load, scalar, values_of

_KINDS = {16: ("bf16", "f16"), 19: ("tf32",), 8: ("e4m3", "e5m2")}
FREE = "free"
_NAMES = ("a", "b", "a_scales", "b_scales", "y", "global_scale")


def names():
    """Products by tensor cores, instruction and type of factors; and that of any order."""
    return (FREE, *(f"{cores.replace(' ', '-')}/{instruction}/{kind}"
                    for cores, instruction, bits in tensor_core.SUMS for kind in _KINDS[bits]))


def sum_of(name):
    """(the sum, the type of factors) of a product's name other than FREE."""
    if name not in names():
        raise KitError(f"expected a product among {', '.join(names())}, but got {name!r}")
    cores, instruction, kind = name.split("/")
    return tensor_core.tensor_core_sum(cores.replace("-", " "), instruction, kind), kind


@dataclass(frozen=True)
class _Product:
    """Rows of a product; `x` are those of a, in which `explain` looks for examples."""

    how: object
    kind: str
    x: np.ndarray
    b: np.ndarray
    scale: np.float32
    result: object  # rounds f32 to the type of y, as its bits
    other: object = None  # sums of another kind, of (a, b)

    def take(self, places):
        return replace(self, x=self.x[places])

    def bits(self):
        a, b = self.x[:, None, :], self.b[None]
        with np.errstate(all="ignore"):
            if self.other is not None:
                total = self.other(a, b)
            else:
                total = multiply_on_tensor_cores(self.how, a, b, (self.kind, self.kind))
            return self.result(total * self.scale)


@dataclass(frozen=True)
class ProductReport:
    product: str
    explanation: Explanation | None  # none for sums in any order
    beyond_bound: int
    count: int

    @property
    def findings(self):
        return self.explanation.findings if self.explanation else ()

    @property
    def conforms(self):
        return not (self.explanation.differing if self.explanation else self.beyond_bound)

    def __str__(self):
        lines = [f"{self.product}: {'conforms' if self.conforms else 'differs'}"]
        if self.explanation:
            lines.append(f"y: {self.explanation.differing} of {self.explanation.compared} differ")
            lines += [f"  {finding}" for finding in self.explanation.findings]
            if self.explanation.unexplained:
                lines.append(f"y: {self.explanation.unexplained} differ by no rule that the kit "
                             "knows")
        lines.append(f"beyond the bound of sums in any order: {self.beyond_bound} of {self.count}")
        return "\n".join(lines)


def check_file(path, product):
    """The report of a file .npz with operands and the result y = a b^T (docs/Conformance.md)."""
    _how, kind = (None, "bf16") if product == FREE else sum_of(product)
    arrays = load(path, _NAMES, ("a", "b", "y"))
    a, b = (_operand(arrays, name, kind) for name in "ab")
    y = np.asarray(arrays["y"])
    scale = scalar("global_scale", arrays.get("global_scale", 1))
    if a.shape[1] != b.shape[1]:
        raise KitError(f"expected a and b to have one K, but got {a.shape[1]} and {b.shape[1]}")
    if y.shape != (len(a), len(b)):
        raise KitError(f"expected y of shape {(len(a), len(b))}, but got {y.shape}")
    return report(product, a, b, y, scale)


def report(product, a, b, y, scale):
    values, y_type = values_of("y", y)
    exact = scaled_matmul(a, b, float(scale))
    with np.errstate(all="ignore"):
        error = np.abs(values - exact.value)
        bound = exact.bound() + _half_unit(values, y_type)
        beyond = int((~(error <= bound) & np.isfinite(exact.value)).sum())
    if product == FREE:
        return ProductReport(product, None, beyond, values.size)
    how, kind = sum_of(product)
    product_of = _Product(how, kind, a, b, scale, _result_of(y_type))
    bits = _bits(y)

    def differ(expected, places):
        got = bits[places]
        return (expected != got) & ~(_is_nan(expected, y_type) & _is_nan(got, y_type))

    stage = Stage("y", product_of, tuple(_changes(how)), lambda changed, places: changed.bits(),
                  differ)
    return ProductReport(product, explain(stage), beyond, values.size)


def _operand(arrays, name, kind):
    """f32 values of an operand, which are those of factors."""
    data = np.asarray(arrays[name])
    if data.ndim != 2:
        raise KitError(f"expected {name} to have 2 dimensions, but got {data.ndim}")
    scales = arrays.get(f"{name}_scales")
    if scales is None and data.dtype == np.uint8 and kind in ELEMENTS:
        return ELEMENTS[kind].decode(data)
    if scales is None:
        values, _ = values_of(name, data)
        return values
    blocks = scales.shape[-1]
    # E2M1 codes, two a byte, in blocks of 16 have E4M3 scales; codes of a byte are E4M3's.
    if data.shape[1] * 2 == blocks * 16:
        return dequantize_nvfp4(unpack(data), scales)
    if data.shape[1] == blocks * 32:
        return dequantize_mx(data, scales)
    raise KitError(f"expected {name}_scales for blocks of 16 packed E2M1 codes or of 32 E4M3 "
                   f"codes of {name} {data.shape}, but got {scales.shape}")


def _bits(y):
    return y.view({2: np.uint16, 4: np.uint32}[y.dtype.itemsize])


def _result_of(y_type):
    return {"f32": lambda y: y.astype(np.float32).view(np.uint32),
            "bf16": to_bf16,
            "f16": lambda y: y.astype(np.float16).view(np.uint16)}[y_type]


def _is_nan(bits, y_type):
    if y_type == "bf16":
        return np.isnan(from_bf16(bits))
    return np.isnan(bits.view(np.float32 if y_type == "f32" else np.float16))


def _half_unit(y, y_type):
    """Half a unit of the last place of the result type."""
    fraction = {"f32": 23, "bf16": 7, "f16": 10}[y_type]
    return np.ldexp(1.0, np.frexp(y.astype(np.float64))[1] - 2 - fraction)


def _changes(how):
    """Sums that differ from one in a single number, and those of other machines."""
    def choices(rule, own, others):
        return [Change(rule, str(own), str(found), apply) for found, apply in others.items()
                if str(found) != str(own)]

    def with_sum(**changes):
        return lambda setting: replace(setting, how=replace(setting.how, **changes))

    def with_other(function):
        return lambda setting: replace(setting, other=function)

    return [
        *choices("products added at once", how.products, {
            number: with_sum(products=number) for number in (4, 8, 16, 32)}),
        *choices("bits kept below the largest exponent", how.fraction_bits, {
            number: with_sum(fraction_bits=number) for number in (13, 23, 24, 25, 26, 27)}),
        *choices("bits of a sum", how.result_bits, {
            number: with_sum(result_bits=number) for number in (13, 23)}),
        *choices("products of a step", "in their order" if not how.pairs_apart else
                 "pairs of each four apart", {
                     "in their order": with_sum(pairs_apart=False),
                     "pairs of each four apart": with_sum(pairs_apart=True)}),
        *choices("sums", "those of a tensor core", {
            "f32, one product after the other, to nearest": with_other(_in_f32),
            "exact, rounded once": with_other(_exactly)}),
    ]


def _in_f32(a, b):
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape)[:-1], np.float32)
    for k in range(a.shape[-1]):
        # A product of two factors and an f32 sum are rounded once, as by fma.
        exact = a[..., k].astype(np.float64) * b[..., k] + total
        total = exact.astype(np.float32)
    return total


def _exactly(a, b):
    return (a.astype(np.float64) * b).sum(-1).astype(np.float32)


def vectors(product, second="plain"):
    """Operands and the result of a product other than FREE, as a file has them.

    The second operand is "plain", or beside bf16 in "nvfp4" or "mxfp8".
    """
    how, kind = sum_of(product)
    random = np.random.default_rng(16)
    m, n, k = 24, 20, 160
    spread = np.exp2(random.uniform(-6, 6, (m, k)))
    x = (random.standard_normal((m, k)) * spread).astype(np.float32)
    w = random.standard_normal((n, k)).astype(np.float32)
    a, stored = _plain(x, kind)
    arrays = {"a": stored}
    if second == "nvfp4":
        codes, scales = quantize_nvfp4(w)
        b = dequantize_nvfp4(codes, scales)
        arrays |= {"b": pack(codes), "b_scales": scales}
    elif second == "mxfp8":
        codes, scales = quantize_mx(w)
        b = dequantize_mx(codes, scales)
        arrays |= {"b": codes, "b_scales": scales}
    else:
        b, arrays["b"] = _plain(w, kind)
    arrays["y"] = multiply_on_tensor_cores(how, a[:, None], b[None], (kind, kind))
    return arrays


def all_vectors():
    """Arrays of each product, by a name for a file."""
    made = {}
    for product in names()[1:]:
        seconds = ("plain", "nvfp4", "mxfp8") if product.endswith("/bf16") else ("plain",)
        for second in seconds:
            name = product.replace("/", "_") + ("" if second == "plain" else f"_{second}")
            made[name] = vectors(product, second)
    return made


def _plain(values, kind):
    """(f32 values, the array of a file) of factors of a type."""
    if kind in ELEMENTS:
        codes = ELEMENTS[kind].encode(values)
        return ELEMENTS[kind].decode(codes), codes
    if kind == "tf32":
        values = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        return values, values
    if kind == "bf16":
        bits = to_bf16(values)
        return from_bf16(bits), bits
    rounded = values.astype(np.float16)
    return rounded.astype(np.float32), rounded
