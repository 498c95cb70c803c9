# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""E8M0 scale rules of torchao main, whose `aoaug26` arrays supersede `ao018` ones,
and of the packages that a rule is named after."""

import re

from contract import IS_NAN, NO_NAN, edge_blocks, per_element
from ir import (
    MXFP4,
    MXFP6_E2M3,
    MXFP6_E3M2,
    MXFP8,
    MXFP8_E5M2,
    MXINT8,
    SWIZZLED,
    Form,
)
from jobs import Job
from quantizers import Expected, dequantize_job, expand, input_tensor, quantize

FORMATS = {
    "": MXFP8,
    "e5m2_": MXFP8_E5M2,
    "fp4_": MXFP4,
    "fp6e2m3_": MXFP6_E2M3,
    "fp6e3m2_": MXFP6_E3M2,
    "int8_": MXINT8,
}
# Rules that one package has, and whose arrays name no other source.
PACKAGES = ("tosa", "compressed_tensors")
BLOCKS = {"1x32": (1, 32), "32x1": (32, 1), "32x32": (32, 32)}
NAME = re.compile(
    rf"(?P<prefix>(?P<data>{'|'.join(FORMATS)})((ao018|aoaug26|mo)_)?"
    rf"(?P<rule>floor|rceil|ceil|even|{'|'.join(PACKAGES)})"
    rf"_(?P<block>{'|'.join(BLOCKS)})_)"
    r"(?P<part>qdata|scale|scale_blocked(_KxN32|_NxK32|))"
)


def successor(name):
    """The array that supersedes `name` in cases that hold it."""
    return name.replace("ao018", "aoaug26")


def superseded(case, name):
    return "ao018" in name and successor(name) in case.expected


def states_main(case, name):
    """Whether `name` holds the contract's bytes even in blocks with edge rules."""
    if NAME.fullmatch(name) and NAME.fullmatch(name)["rule"] in PACKAGES:
        return True
    identical = case.meta.get("identical_to_ao018", {}).get("aoaug26", [])
    return "aoaug26" in name or "out_" + successor(name) in identical


def chosen(case, name):
    """The contract's version of `name`, whichever version `name` is."""
    newer, older = successor(name), name.replace("aoaug26", "ao018")
    return case.expected[newer if newer in case.expected else older]


def undefined(case, x, name, scale, rule, format, block=(1, 32)):
    """Masks over blocks: for the codes and for the scales of array `name`."""
    if states_main(case, name):
        return {}
    edges = edge_blocks(x, block, scale, rule, format.largest)
    return {"edge rules of the source": edges}


def mx_jobs(case):
    groups = {}
    for array in case.expected:
        match = NAME.fullmatch(array)
        if match and not superseded(case, array):
            key = (match["data"], match["rule"], match["block"])
            groups.setdefault(key, []).append(match)
    for (data, rule, block), matches in groups.items():
        job = Job(f"{case.name}.{data}{rule}_{block}_quantize")
        x = input_tensor(job, case.inputs["x"])
        parts = _expected(case, FORMATS[data], rule, BLOCKS[block], matches)
        QUANTIZERS[block](job, x, FORMATS[data], rule, parts)
        yield job
        source = "" if rule in PACKAGES else "ao018_"
        prefix = f"{data}{source}{rule}_{block}_"
        if any(prefix + "dequant_" + e in case.expected for e in ("f32", "bf16")):
            codes, scale = chosen(case, prefix + "qdata"), chosen(case, prefix + "scale")
            yield dequantize_job(case, prefix, FORMATS[data], codes, scale)


def mx_dequantize_jobs(case):
    """Values of given codes and scales."""
    for array in case.inputs:
        match = NAME.fullmatch(array)
        if match and match["part"] == "qdata":
            codes, scale = case.inputs[array], case.inputs[match["prefix"] + "scale"]
            format = FORMATS[match["data"]]
            yield dequantize_job(case, match["prefix"], format, codes, scale)


def _expected(case, format, rule, block, matches):
    """Of each part, what every source of this rule has; ModelOpt's is judged as
    rceil. Parts in tiles are (array, want), and none where superseded."""
    bits = case.inputs["x"]
    parts = {}
    for match in matches:
        array, part = match[0], match["part"]
        want = case.expected[array]
        scale = chosen(case, match["prefix"] + "scale")
        masks = undefined(case, bits, array, scale, rule, format, block)
        if part == "qdata":
            if format.data in NO_NAN:
                masks["NaN scale"] = IS_NAN[format.scale](scale)
            masks = {r: per_element(m, block, bits.shape) for r, m in masks.items()}
            want = Expected(array, want, masks)
        elif part == "scale":
            want = Expected(array, want, masks)
        else:
            want = (Expected("", scale, masks), array, want)
        parts.setdefault(part, []).append(want)
    return parts


def _tiles(parts, part, form, linear=()):
    """The arrays in tiles; else `linear` ones in that layout. `form` makes of the
    compact scales the matrix that the tiles hold."""
    held = [form(e).swizzled(array, want) for e, array, want in parts.get(part, ())]
    return held or [e.swizzled() for e in linear]


def _rows(job, x, format, rule, parts):
    scales = parts.get("scale", [])
    tiles = _tiles(parts, "scale_blocked", lambda e: e, scales)
    quantize(job, x, format, rule, {"": {}}, parts.get("qdata", []), scales, tiles)


def _columns(job, x, format, rule, parts):
    """Scales are the array's as the blocks lie, and the tiles' transposed."""
    data, scales = parts.get("qdata", []), parts.get("scale", [])
    down = Form((32, 1))
    quantize(job, x, format, rule, {"": {}}, data, scales, [], down)
    turned = [[e.transposed() for e in part] for part in (data, scales)]
    tiles = _tiles(parts, "scale_blocked", Expected.transposed, turned[1])
    across = Form((32, 1), transposed=True)
    quantize(job, x, format, rule, {"transposed": {}}, *turned, tiles, across)


def _squares(job, x, format, rule, parts):
    """Compact scales, and expanded ones along both dimensions; case kinds differ
    in how they call the latter."""
    data, scales = parts.get("qdata", []), parts.get("scale", [])
    compact = quantize(
        job, x, format, rule, {"": {}}, data, scales, [], Form((32, 32))
    )
    turned = [[e.transposed() for e in part] for part in (data, scales)]
    form = Form((32, 32), transposed=True)
    quantize(job, x, format, rule, {"transposed": {}}, *turned, [], form)
    *_, n, k = x.type.shape
    for dim, rows, names in (
        ("n", k, ("scale_blocked", "scale_blocked_KxN32")),
        ("k", n, ("scale_blocked_NxK32",)),
    ):
        def expanded(e, dim=dim, rows=rows):
            return e.expanded(32, dim, rows)

        linear = [expanded(e) for e in scales]
        tiles = [t for name in names for t in _tiles(parts, name, expanded)]
        tiles = tiles or [e.swizzled() for e in linear]
        form = Form((32, 32), scale_dim=dim)
        route = f"scale_dim {dim}"
        quantize(job, x, format, rule, {route: {}}, data, linear, tiles, form)
        shape = form.shapes(x.type.shape)[1]
        for e in tiles:
            expand(job, compact, 32, dim, shape, e, SWIZZLED)


QUANTIZERS = {"1x32": _rows, "32x1": _columns, "32x32": _squares}
