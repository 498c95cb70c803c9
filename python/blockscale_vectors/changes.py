# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single rules in which a quantizer may differ from a recipe.

A Change says which rule, what the recipe expects and what it is changed to, and makes another
Setting of one. Each rule of a form has one list of choices, from which the form's own is left out,
so that two changes of one rule exclude each other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from blockscale_reference import decode_e8m0, from_bf16, mx, nvfp4, to_bf16

from . import rounding
from .forms import has_rule
from .setting import Setting

_ONE, _SIX = np.float32(1), np.float32(6)
_LEAST_NORMAL = np.float32(2.0**-126)

#: How the recipes compute what a scale is rounded from. T rounds to the type of x.
QUOTIENTS = {
    "torchao": "(amax / 6) / g",
    "mslk": "(amax / 6) * S",
    "te": "amax * (S * (1/6))",
    "modelopt": "amax / (6 * g), 1 where that is 0",
    "compressed_tensors": "S * T(amax / 6)",
    "torchao_training": "(amax / 6) * S",
    "te_4over6_mae": "(amax / 6) * S",
    "te_4over6_mse": "(amax / 6) * S",
}
#: How the recipes scale an element before it is rounded.
ELEMENTS = {
    "torchao": "x * ((1 / g) / s)",
    "mslk": "x * (S / s)",
    "te": "x * min(1 / (s * (1 / S)), FLT_MAX)",
    "modelopt": "x / (s * g)",
    "compressed_tensors": "x / (s / S)",
    "torchao_training": "x * min(1 / (s * (1 / S)), FLT_MAX)",
    "te_4over6_mae": "x * min(1 / (s * (1 / S)), FLT_MAX)",
    "te_4over6_mse": "x * min(1 / (s * (1 / S)), FLT_MAX)",
}
#: How the recipes compute g and S of an amax of the tensor.
FACTORS = {
    "torchao": "g = amax / 2688, S = 2688 / amax",
    "mslk": "S = 2688 / max(amax, 1e-8), g = 1 / S",
    "te": "S = 2688 / amax, g = 1 / S",
    "modelopt": "g = amax / 2688, S = 2688 / amax",
    "compressed_tensors": "S = T(T(1 / amax) * 2688), g = 1 / S",
    "torchao_training": "g = amax / 2688, S = 2688 / amax",
    "te_4over6_mae": "S = 1536 / amax, g = 1 / S",
    "te_4over6_mse": "S = 1536 / amax, g = 1 / S",
}
#: What others than the recipes write.
OTHER_QUOTIENTS = {
    "(amax * (1/6)) / g": lambda amax, f: (amax * (_ONE / _SIX)) / f.decode,
    "(amax * (1/6)) * S": lambda amax, f: (amax * (_ONE / _SIX)) * f.encode,
    "(amax / g) / 6": lambda amax, f: (amax / f.decode) / _SIX,
}
OTHER_ELEMENTS = {
    "(x / g) / s": lambda x, s, f: (x / f.decode) / s,
    "(x / s) / g": lambda x, s, f: (x / s) / f.decode,
    "(x * S) / s": lambda x, s, f: (x * f.encode) / s,
    "(x * S) * (1 / s)": lambda x, s, f: (x * f.encode) * (_ONE / s),
    "x * (1 / (s * g))": lambda x, s, f: x * (_ONE / (s * f.decode)),
    "x / s, without the global scale": lambda x, s, f: x / s,
}
#: The rule of elements that are NaN where no scale says so.
NAN_ELEMENTS = "NaN elements beside a scale that is none"
#: Bytes that scales of zeros have in some package.
ZERO_BYTES = (0x00, 0x01, 0x08, 0x20, 0x38, 0x7F)
MX_RULES = {
    "floor": "the exponent of amax rounded down (floor)",
    "rceil": "amax / largest rounded up to a power of two (rceil)",
    "rceil_sat": "amax / largest rounded up, 254 at most (rceil_sat)",
    "ceil": "the exponent of amax rounded up (ceil)",
    "even": "the exponent of amax rounded half up to the data's mantissa (even)",
    "tosa": "the least under which amax does not exceed the largest value (tosa)",
    "compressed_tensors": "the exponent of amax rounded as compressed-tensors does",
}


@dataclass(frozen=True)
class Change:
    """One rule, changed."""

    rule: str
    expected: str
    found: str
    apply: Callable[[Setting], Setting]

    def __str__(self):
        return f"{self.rule}: {self.found} instead of {self.expected}"


def _choices(rule, own, others):
    """The changes of a rule whose choice in the form is `own`; `others` by what they say."""
    return [Change(rule, own, found, apply) for found, apply in others.items() if found != own]


def _with_rules(**changes):
    return lambda setting: setting.change_rules(**changes)


def _wrap(name, function):
    """A rule made of the one that the setting has, so that changes of both go together where
    this one comes later."""
    return lambda setting: setting.change_rules(**{name: function(getattr(setting.rules, name))})


def changes_of_scales(setting):
    """Changes of the rules from x to the bytes of scales, in the order in which they are applied:
    those that replace a function before those that wrap one."""
    made = _changes_of_nvfp4_scales if setting.form.is_nvfp4 else _changes_of_mx_scales
    return [
        *made(setting),
        *_choices("NaN in a block", "its amax is NaN", {
            "left out of amax": _with_rules(amax=_amax_without_nan),
            "counts as the maximum": _with_rules(amax=_amax_with_largest),
        }),
        *_choices("amax", "the largest magnitude", {
            "the largest number, without negative ones": _wrap(
                "amax", lambda amax: lambda blocks: amax(np.maximum(blocks, np.float32(0)))),
        }),
        *_choices("f32 subnormals in x", "kept", {"flushed to 0": _flush}),
    ]


def changes_of_codes(setting):
    """Changes of the rules from x and scales to codes."""
    rules, form = setting.rules, setting.form
    made = _changes_of_nvfp4_codes if form.is_nvfp4 else _changes_of_mx_codes
    if form.is_nvfp4:
        keeps = rules.keeps_negative_zero
        drop, keep = (_with_rules(keeps_negative_zero=value) for value in (False, True))
    else:
        keeps = rules.keeps_negative_zero(form.element)
        drop, keep = (_with_rules(keeps_negative_zero=lambda element, v=value: v)
                      for value in (False, True))
    zeros = {"lost": drop, "kept": keep, "lost, and so is the sign of what rounds to 0":
             _round_with(form, lambda encode, x: _without_negative_zero(form, encode(x)))}
    if not hasattr(form.element, "sign_bit"):
        zeros = {}
    return [
        *made(setting),
        *_choices("-0", "kept" if keeps else "lost", zeros),
        *_choices("rounding of elements", rounding.NEAREST_EVEN, {
            name: _round_with(form, lambda encode, x, name=name:
                              rounding.encode(form.element, x, name))
            for name in rounding.OTHERS}),
        *_choices(NAN_ELEMENTS, "the code of the reference", {
            "code 0": _round_with(form, lambda encode, x: np.where(np.isnan(x), 0, encode(x))),
        }),
        *_choices("f32 subnormals in x", "kept", {"flushed to 0": _flush}),
    ]


def _round_with(form, encode):
    """The form's rounding of elements as a function of that and the scaled elements."""
    def apply(setting):
        own = setting.rules.round_element
        if form.is_nvfp4:
            return setting.change_rules(
                round_element=lambda x: np.asarray(encode(own, x), np.uint8))
        return setting.change_rules(round_element=lambda element, x: np.asarray(
            encode(lambda values: own(element, values), x), np.uint8))
    return apply


def _without_negative_zero(form, codes):
    return np.where(codes == form.element.sign_bit, np.uint8(0), codes)


def _flush(setting):
    return replace(setting, x=np.where(np.abs(setting.x) < _LEAST_NORMAL, np.float32(0),
                                       setting.x))


def _amax_without_nan(blocks):
    return np.where(np.isnan(blocks), np.float32(0), np.abs(blocks)).max((-2, -1), keepdims=True)


def _amax_with_largest(blocks):
    """Numbers, where NaN is more than each."""
    largest = np.finfo(np.float32).max
    return np.where(np.isnan(blocks), largest, np.abs(blocks)).max((-2, -1), keepdims=True)


# ---------------------------------------------------------------- NVFP4


def _changes_of_nvfp4_scales(setting):
    rules = setting.rules
    recipe = setting.form.recipe
    quotients = {text: _with_rules(quotient=nvfp4.RECIPES[name].quotient)
                 for name, text in QUOTIENTS.items()}
    quotients |= {text: _with_rules(quotient=quotient)
                  for text, quotient in OTHER_QUOTIENTS.items()}
    least = {-np.inf: "none", 2.0**-9: "2^-9", 2.0**-6: "2^-6"}
    choices = {None: "one scale", False: "the smaller sum of absolute errors",
               True: "the smaller sum of squares of errors"}
    return [
        *_changes_of_globals(setting),
        *_choices("what scales are rounded from", QUOTIENTS[recipe], quotients),
        *_choices("least scale", least[rules.least], {
            text: _with_rules(least=value) for value, text in least.items()}),
        *_choices("scale of zeros", f"0x{_scale_of_zeros(setting):02X}", {
            f"0x{byte:02X}": _with_scales_of(lambda amax: amax == 0, byte)
            for byte in ZERO_BYTES}),
        *_choices("scale that rounds to 0", "0" if rules.zero_byte is None else "0.125", {
            "0.125": _with_rules(zero_byte=0x20), "0": _with_rules(zero_byte=None)}),
        *_choices("choice between the scales of 6 and of 4", choices[rules.squared], {
            **{text: _with_rules(squared=value) for value, text in choices.items()},
            "the scale of 4": lambda setting: _wrap(
                "quotient", lambda quotient: lambda amax, factors:
                quotient(amax, factors) * np.float32(1.5))(setting).change_rules(squared=None)}),
        *_choices("rounding of scales", rounding.NEAREST_EVEN, {
            name: _with_rules(round_scale=lambda x, name=name:
                              rounding.encode(nvfp4.E4M3, x, name))
            for name in rounding.OTHERS}),
        *_choices("subnormal scales", "kept", {
            "flushed to 0": _wrap("round_scale", lambda encode: lambda x: _flushed_scale(
                encode(x)))}),
        *_choices("arithmetic of scales", "f32", {
            "bf16": _wrap("quotient", lambda quotient: lambda amax, factors: from_bf16(to_bf16(
                quotient(amax, factors))))}),
    ]


def _changes_of_globals(setting):
    """How the global scale enters."""
    recipe, given = setting.form.recipe, setting.globals
    if "global_amax" in given:
        def decode(setting):
            return nvfp4.global_scale(setting.globals["global_amax"], recipe, setting.x_type)

        others = {text: lambda setting, name=name: replace(setting, factors_of=name)
                  for name, text in FACTORS.items()}
        others["g = amax / 2688, S = 1 / g"] = lambda setting: _with_global(
            setting, setting.globals["global_amax"] / np.float32(2688))
        own = FACTORS[recipe]
    elif "global_scale" in given:
        def decode(setting):
            return setting.globals["global_scale"]

        others, own = {}, "g is the decode scale"
    else:
        return []
    others["g is the reciprocal (the encode scale)"] = lambda setting: _with_global(
        setting, _ONE / decode(setting))
    others["g = 1, without a global scale"] = lambda setting: replace(setting, globals={})
    return _choices("global scale", own, others)


def _with_global(setting, g):
    return replace(setting, globals={"global_scale": np.asarray(g, np.float32)})


def _with_scales_of(where, byte):
    """The byte for blocks whose amax fulfils a condition."""
    def apply(setting):
        rules = setting.rules

        class Changed(type(rules)):
            def scales(self, blocks, amax, factors):
                scale = super().scales(blocks, amax, factors)
                return np.where(where(amax), np.uint8(byte), scale)

        return replace(setting, rules=Changed(**vars(rules)))
    return apply


def _scale_of_zeros(setting):
    zeros = Setting.of(setting.form, np.zeros((1, 1, 16), np.float32))
    return int(zeros.scales()[0])


def _flushed_scale(scale):
    return np.where((scale & 0x78) == 0, scale & 0x80, scale).astype(np.uint8)


def _changes_of_nvfp4_codes(setting):
    scaled = {text: _with_rules(scaled=nvfp4.RECIPES[name].scaled)
              for name, text in ELEMENTS.items()}
    scaled |= {text: _with_rules(scaled=function) for text, function in OTHER_ELEMENTS.items()}
    return [
        *_changes_of_globals(setting),
        *_choices("what elements are rounded from", ELEMENTS[setting.form.recipe], scaled),
    ]


# ---------------------------------------------------------------- MX


def _changes_of_mx_scales(setting):
    form, rules = setting.form, setting.rules
    takes = [name for name in mx.RULES if has_rule(name, form.element_name)]

    def bytes_where(where, byte):
        return _wrap("exponent", lambda exponent: lambda amax, element: np.where(
            where(amax, exponent(amax, element)), np.uint8(byte), exponent(amax, element)))

    sample = np.array([[[np.inf]], [[np.nan]]], np.float32)
    infinity, nan = rules.exponent(sample, form.element)[:, 0, 0].tolist()
    # The exponent field of infinity, less the exponent of the largest element.
    unchecked = 255 - (int(np.frexp(form.element.largest)[1]) - 1)
    return [
        *_choices("scale", MX_RULES[form.recipe], {
            MX_RULES[name]: _with_rules(exponent=mx.RULES[name].exponent) for name in takes}),
        *_choices("logarithm in the scale", "exact", {
            "rounded to f32": _with_rules(exponent=_rceil_by_logarithm)}),
        *_choices("scale of infinity", str(infinity), {
            str(byte): bytes_where(_is_infinity, byte) for byte in (127, 254, 255, unchecked)}),
        *_choices("scale of NaN", str(nan), {
            str(byte): bytes_where(lambda amax, _: np.isnan(amax), byte)
            for byte in (0, 254, 255)}),
        *_choices("scale of zeros", "0", {
            str(byte): bytes_where(lambda amax, _: amax == 0, byte) for byte in (1, 127)}),
        *_choices("least scale", "0", {
            "1": _wrap("exponent", lambda exponent: lambda amax, element: np.maximum(
                exponent(amax, element), np.uint8(1)))}),
    ]


def _is_infinity(amax, scale):
    """Whether a rule sees infinity: also in numbers that it rounds so."""
    return np.isinf(amax) | ((scale == 255) & ~np.isnan(amax))


def _rceil_by_logarithm(amax, element):
    """ceil(log2(amax / largest)) with the logarithm in f32."""
    # 2^-149 and less have the least byte anyway.
    ratio = np.maximum(amax / element.largest, np.float32(2.0**-149))
    byte = np.clip(np.ceil(np.log2(ratio)) + 127, 0, 254)
    return np.where(np.isfinite(amax), byte, 255).astype(np.uint8)


def _changes_of_mx_codes(setting):
    form = setting.form
    largest = form.element.largest

    def factor_of_0(value):
        return _wrap("factor", lambda factor: lambda scale: np.where(
            scale == 0, np.float32(value), factor(scale)))

    beyond = {}
    if form.element_name in ("e4m3", "e5m2"):
        beyond = {name: _round_with(form, lambda encode, x, code=code: np.where(
            _rounds_beyond(form.element, x), code | np.where(x < 0, 0x80, 0), encode(x)))
            for name, code in (("NaN", form.element.nan_code), ("infinity", 0x7C))
            if name == "NaN" or form.element_name == "e5m2"}
    return [
        *_choices("elements under scale 0", "times 2^127", {
            "times 2^126": factor_of_0(2.0**126), "times 1": factor_of_0(1)}),
        *_choices("elements under the scale of infinity", "as under others", {
            "divided by infinity": _divide_by_infinity}),
        *_choices("elements beyond the largest", f"{largest:g}", beyond),
        *_choices("subnormal elements", "kept", {} if form.element_name == "int8" else {
            "flushed to 0": _round_with(form, lambda encode, x: _flushed(form, encode(x)))}),
        *_choices("elements", "x / 2^(byte - 127)", {
            "x * 2^(byte - 127)": _with_rules(factor=decode_e8m0)}),
    ]


def _divide_by_infinity(setting):
    infinite = _is_infinity(setting.rules.amax(setting.x), setting.scales()[:, None, None])
    return replace(setting, x=np.where(infinite, setting.x / np.float32(np.inf), setting.x))


def _rounds_beyond(element, x):
    """Whether numbers round to more than the largest value."""
    step = float(element.largest) - float(element.decode(np.uint8(element.max_code - 1)))
    end = float(element.largest) + step / 2
    tie = element.max_code % 2 == 1  # goes to the even code, which is beyond
    return (np.abs(x) > end) | (tie & (np.abs(x) == end))


def _flushed(form, codes):
    element = form.element
    magnitude = codes & (element.sign_bit - 1)
    return np.where(magnitude < 2**element.mantissa_bits, codes & element.sign_bit, codes)
