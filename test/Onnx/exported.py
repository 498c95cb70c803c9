# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizers of random numbers, compiled for this CPU, against the models that they are exported
as."""

import ml_dtypes
import numpy as np

import blockscale as bs
import blockscale.onnx
from blockscale.onnx._recipes import get_name, list_functions
from models import run_reference, to_bits, unpack
from quantized import Maker


def to_onnx(array, spec):
    """An array as onnx.reference takes it: one code an element, and the type of its elements."""
    if spec.dtype == "f4E2M1FN":
        return unpack(array).view(ml_dtypes.float4_e2m1fn)
    return array if spec.element.numpy is None else array.view(spec.element.numpy)


def _list_quantizers(seed):
    """(format, recipe, whether a global scale, an amax or neither is given, dtype) of each."""
    found = []
    for number, (format, recipe, is_amax) in enumerate(list_functions().values()):
        given = "amax" if is_amax else "scale" if (seed + number) % 2 else ""
        kind = ("f32", "bf16", "f16")[(seed + number) % 3]
        found.append((format, recipe, given if format == "nvfp4" else "", kind))
    return found


def list_names(seed):
    return [get_name(format, recipe, given == "amax")
            for format, recipe, given, _ in _list_quantizers(seed)]


def check_quantizers(seeds):
    """Problems of quantizers with numbers of each seed: (seed, function, what is wrong).
    All of them are one module."""
    problems = []
    for seed in seeds:
        quantizers, maker = _list_quantizers(seed), Maker(seed, "")
        arrays, specs = [], []
        for format, recipe, given, kind in quantizers:
            tails = format == "nvfp4" and recipe in ("te", "modelopt")
            size = int(maker.choose(64, 96, *[7, 40] * tails))
            # Two codes share a byte, of a result too.
            size += size % 2
            arrays.append(maker.make_numbers((6, size), kind))
            specs.append(bs.Spec((6, size), kind))
            if given:
                arrays.append(np.float32(maker.choose(0.0123, 37.5, 1.0)).reshape(()))
                specs.append(bs.Spec((), "f32"))
        module = bs.jit(_make_function(quantizers, len(arrays))).trace(*specs)
        found = bs.compile(module)(*arrays)
        model = blockscale.onnx.export(module)
        feeds = {each.name: array for each, array in zip(model.graph.input, arrays)}
        expected = run_reference(model, feeds)
        for number, (x, y) in enumerate(zip(found, expected, strict=True)):
            name = list_names(seed)[number // 2]
            x, y = to_bits(x, y.dtype == ml_dtypes.float4_e2m1fn), to_bits(y)
            if x.shape != y.shape or not np.array_equal(x, y):
                problems.append((seed, name, (f"{np.argwhere(x != y)[:3].tolist()} of result "
                                              f"{number % 2}")))
    return problems


def _make_function(quantizers, count):
    """A function of all quantizers, with as many arguments as they take."""
    def quantize(*arguments):
        rest, results = iter(arguments), []
        for format, recipe, given, _ in quantizers:
            x = next(rest)
            options = {f"global_{given}": next(rest)} if given else {}
            results += bs.quantize(x, format=format, recipe=recipe, **options)
        return results
    names = ", ".join(f"a{number}" for number in range(count))
    scope = {"quantize": quantize}
    exec(f"def quantizers({names}):\n    return quantize({names})\n", scope)
    return scope["quantizers"]
