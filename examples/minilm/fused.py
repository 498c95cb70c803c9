# ===- fused.py - What one kernel computes and quantizes -------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Compares a GPU's kernel of a function and what quantizes its result, executed by the
emulator, with the bytes that the CPU gives with a function for each.

`write(format)` gives the text of a module whose @f returns y, bf16 [T, K], or, where
there is a format, y quantized (`quantize`).
"""

import numpy as np

from encoder import Encoder

SWIZZLED = "#swizzled = #blockscale.layout<swizzle_128x4>\n"


class Recorder(Encoder):
    """The encoder; `norms` and `activations` map names of layers to what they were given."""

    def __init__(self, model):
        super().__init__(model)
        self.norms, self.activations = {}, {}

    def _normalize(self, x, name):
        self.norms.setdefault(name, []).append(x)
        return super()._normalize(x, name)

    def _linear(self, x, name):
        y = super()._linear(x, name)
        if name.endswith("intermediate.dense"):
            self.activations.setdefault(name, []).append(y)
        return y


def record(model, tokens):
    """What the norms behind each attention are given, f32 [T, H] by name, and what the
    activations are, f32 [T, F] by name."""
    recorder = Recorder(model)
    for ids in tokens:
        recorder.run(ids)
    return (
        {
            name: np.concatenate(parts)
            for name, parts in recorder.norms.items()
            if "attention" in name
        },
        {name: np.concatenate(parts) for name, parts in recorder.activations.items()},
    )


def count_kernels(tools, write, format):
    with open(tools.compile(write(format), "ptx", "f")) as file:
        return file.read().count(".entry")


def compare(tools, write, inputs, format, k):
    """Whether one kernel gives the bytes of two functions on the CPU."""
    (y,) = _run(tools, write(None), inputs, ["y"], "cpu")
    scale = {"g": np.array(2.0**-6, np.float32)} if format.has_global else {}
    wanted = _run(
        tools, _quantizer(format, k), {"y": y, **scale}, ["q", "s"], "cpu"
    )
    got = _run(tools, write(format), {**inputs, **scale}, ["q", "s"], "emulator")
    return all(map(np.array_equal, got, wanted))


def _run(tools, module, inputs, outputs, place):
    results, _ = tools.run(module, "f", inputs, outputs, place)
    return [results[name] for name in outputs]


def quantize(format, k):
    """What returns %y or, where there is a format, quantizes it; the types of the results,
    and the last arguments."""
    y = f"tensor<?x{k}xbf16>"
    if not format:
        return f"  return %y : {y}\n", y, ""
    data = f"tensor<?x{k}x{format.data}>"
    scale = f"tensor<?x{k // format.block}x{format.scale}, #swizzled>"
    given = " global_scale(%g : tensor<f32>)" if format.has_global else ""
    return (
        (f"  %q, %s = blockscale.quantize %y block [1, {format.block}] "
         f"recipe {format.recipe}{given} : {y} -> {data}, {scale}\n"
         f"  return %q, %s : {data}, {scale}\n"),
        f"({data}, {scale})",
        ", %g: tensor<f32>" if format.has_global else "",
    )


def _quantizer(format, k):
    body, results, given = quantize(format, k)
    return SWIZZLED + (
        f"func.func @f(%y: tensor<?x{k}xbf16>{given}) -> {results} {{\n{body}}}\n"
    )
