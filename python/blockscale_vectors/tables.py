# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of whole formats and rules, for hardware and for readers: each a dict of arrays."""

import numpy as np

from blockscale_reference import decode_e8m0, from_bf16, quantize_mx, quantize_nvfp4

from . import forms


def codes(element):
    """The f32 value of every code."""
    element = forms.ELEMENTS[element]
    count = 256 if not hasattr(element, "sign_bit") else 2 * element.sign_bit
    made = np.arange(count).astype(np.uint8)
    return {"code": made, "value": element.decode(made)}


def e8m0():
    """The f32 value of every scale byte of MX."""
    made = np.arange(256).astype(np.uint8)
    return {"code": made, "value": decode_e8m0(made)}


def products(element):
    """Every code [256] or fewer times every scale [256]: E4M3 beside E2M1 (NVFP4, without a global
    scale), and E8M0 beside each element."""
    values = codes(element)["value"]
    with np.errstate(over="ignore"):
        made = {"value_e8m0": values[:, None] * e8m0()["value"][None]}
    if element == "e2m1":
        made["value_e4m3"] = values[:, None] * codes("e4m3")["value"][None]
    return made


def casts(element):
    """f32 numbers at every boundary of rounding, 2 numbers around it, the ends and what is no
    number, with their codes. The recipes round to nearest, ties to the even code."""
    of = forms.ELEMENTS[element]
    numbers = np.unique(np.abs(codes(element)["value"].astype(np.float64)))
    numbers = numbers[np.isfinite(numbers)]
    middles = ((numbers[1:] + numbers[:-1]) / 2).astype(np.float32)
    # Where the largest code would end, if there were one more.
    end = np.float32(numbers[-1] + (numbers[-1] - numbers[-2]) / 2)
    points = np.concatenate([numbers.astype(np.float32), middles, [end]]).astype(np.float32)
    near = points.view(np.int32)[:, None] + np.arange(-2, 3, dtype=np.int32)
    near = np.unique(near[near >= 0]).astype(np.int32).view(np.float32)
    x = np.concatenate([near, [np.finfo(np.float32).max, np.inf]]).astype(np.float32)
    x = np.concatenate([x, -x, [np.nan]]).astype(np.float32)
    return {"x": x, "code": of.encode(x)}


def amaxes(recipe, element=None):
    """The scale byte of a block whose amax is each bf16 number, and the code of that amax; without
    a global scale."""
    of = forms.form(recipe, element)
    x = np.zeros((0x8000, of.block), np.float32)
    x[:, 0] = from_bf16(np.arange(0x8000).astype(np.uint16))
    if of.is_nvfp4:
        data, scales = quantize_nvfp4(x, of.recipe, x_type="bf16")
    else:
        data, scales = quantize_mx(x, of.element, of.recipe)
    return {"amax_bf16": np.arange(0x8000).astype(np.uint16), "scale": scales[:, 0],
            "code": data[:, 0]}


def names():
    """The tables that the command writes."""
    made = ["e8m0"]
    for element in forms.ELEMENTS:
        made += [f"codes/{element}", f"products/{element}", f"casts/{element}"]
    for of in forms.forms():
        made.append(f"amaxes/{of.name}" + ("" if of.is_nvfp4 else f"/{of.element_name}"))
    return tuple(made)


def table(name):
    """The arrays of a table by its name; KitError where there is none."""
    if name not in names():
        raise forms.KitError("expected a table as `blockscale-vectors list` has them, but got "
                             f"{name!r}")
    kind, *arguments = name.split("/")
    return {"e8m0": e8m0, "codes": codes, "products": products, "casts": casts,
            "amaxes": amaxes}[kind](*arguments)
