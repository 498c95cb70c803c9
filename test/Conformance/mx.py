# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""E8M0 scale rules of torchao main; `aoaug26` arrays supersede `ao018` ones."""

import re

from contract import IS_NAN, per_element, edge_blocks
from ir import MXFP4, MXFP8, MXFP8_E5M2
from jobs import Job
from quantizers import Expected, dequantize_job, input_tensor, quantize

FORMATS = {"": MXFP8, "e5m2_": MXFP8_E5M2, "fp4_": MXFP4}
NAME = re.compile(
    r"(?P<prefix>(?P<data>e5m2_|fp4_|)(?P<source>ao018|aoaug26|mo)"
    r"_(?P<rule>floor|rceil|ceil|even)_1x32_)(?P<part>qdata|scale|scale_blocked)"
)


def successor(name):
    """The array that supersedes `name` in cases that hold it."""
    return name.replace("ao018", "aoaug26")


def superseded(case, name):
    return "ao018" in name and successor(name) in case.expected


def states_main(case, name):
    """Whether `name` holds main's bytes even in blocks with edge rules."""
    identical = case.meta.get("identical_to_ao018", {}).get("aoaug26", [])
    return "aoaug26" in name or "out_" + successor(name) in identical


def chosen(case, name):
    """The contract's version of `name`, whichever version `name` is."""
    newer, older = successor(name), name.replace("aoaug26", "ao018")
    return case.expected[newer if newer in case.expected else older]


def undefined(case, x, name, scale, rule, format):
    """Masks over blocks: for the codes and for the scales of array `name`."""
    if states_main(case, name):
        return {}
    return {"edge rules of the source": edge_blocks(x, scale, rule, format.largest)}


def mx_jobs(case):
    groups = {}
    for array in case.expected:
        match = NAME.fullmatch(array)
        if match and not superseded(case, array):
            groups.setdefault((match["data"], match["rule"]), []).append(match)
    for (data, rule), matches in groups.items():
        yield _quantize_job(case, FORMATS[data], rule, matches)
        prefix = f"{data}ao018_{rule}_1x32_"
        if prefix + "dequant_f32" in case.expected:
            codes, scale = chosen(case, prefix + "qdata"), chosen(case, prefix + "scale")
            yield dequantize_job(case, prefix, FORMATS[data], codes, scale)


def _quantize_job(case, format, rule, matches):
    """One job checks every source of this rule; ModelOpt's is judged as rceil."""
    job = Job(f"{case.name}.{matches[0]['data']}{rule}_quantize")
    bits = case.inputs["x"]
    x = input_tensor(job, bits)
    parts = {"qdata": [], "scale": [], "scale_blocked": []}
    for match in matches:
        array, part = match[0], match["part"]
        want = case.expected[array]
        scale = chosen(case, match["prefix"] + "scale")
        masks = undefined(case, bits, array, scale, rule, format)
        if part == "qdata":
            if format.data == "f4E2M1FN":
                masks["NaN scale"] = IS_NAN[format.scale](scale)
            k = x.type.shape[-1]
            masks = {r: per_element(m, format.block, k) for r, m in masks.items()}
            parts[part].append(Expected(array, want, masks))
        elif part == "scale":
            parts[part].append(Expected(array, want, masks))
        else:
            parts[part].append(Expected("", scale, masks).swizzled(array, want))
    if not parts["scale_blocked"]:
        parts["scale_blocked"] = [e.swizzled() for e in parts["scale"]]
    quantize(job, x, format, rule, {"": {}}, *parts.values())
    return job
