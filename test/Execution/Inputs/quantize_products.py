# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products by linalg that a policy quantizes, beside the same products written by hand.

By hand, operands are rows along K: NumPy orders them so, `quantize` reads them in blocks of a
row, and NumPy orders the result again. Both ways have one `scaled_mm` of the same shape, so
results have the same bits if, and only if, the products read the same data and scales: a code
that differs is in a whole row or column of the result.

A product of rows in several dynamic sizes runs in the emulator, too.
"""

import argparse
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from expect import Expectations
from gpu_calls import PLACES, run_module
from module import Module
from reference import from_bf16, to_bf16

FORMATS = {
    "nvfp4": ("f4E2M1FN", "f8E4M3FN", 16),
    "mxfp8": ("f8E4M3FN", "f8E8M0FNU", 32),
    "mxfp8_e5m2": ("f8E5M2", "f8E8M0FNU", 32),
    "mxfp6_e2m3": ("f6E2M3FN", "f8E8M0FNU", 32),
    "mxfp6_e3m2": ("f6E3M2FN", "f8E8M0FNU", 32),
    "mxfp4": ("f4E2M1FN", "f8E8M0FNU", 32),
    "mxint8": ("i8", "f8E8M0FNU", 32),
}
# Recipes whose bytes follow from the amax, not from the decode scale.
OF_AMAX = ("te", "mslk", "te_4over6_mae", "te_4over6_mse", "torchao_training")
M, N, K = 37, 40, 96


@dataclass(frozen=True)
class Operand:
    """How one operand is quantized by hand; plain without a format."""

    format: str = ""
    recipe: str = ""
    has_global: bool = False
    amax: float = 0.0  # a calibrated one
    is_swept: bool = False

    def text(self, name, shape, element, rht):
        """Ops from %name, [.., rows, K]. Gives data, scales, global scale and their types."""
        def tensor(sizes, kind):
            return f"tensor<{''.join(f'{size}x' for size in sizes)}{kind}>"

        x, type = f"%{name}", tensor(shape, element)
        if rht:
            yield f"%t{name} = blockscale.hadamard {x} dim 1 : {type}"
            x = f"%t{name}"
        if not self.format:
            yield x, type, None, None, None, None
            return
        data, scale, block = FORMATS[self.format]
        recipe = f" recipe {self.recipe}" if self.recipe else ""
        options, factor, batch = "", None, tensor(shape[:-2], "f32")
        if self.has_global:
            factor = f"%g{name}"
            if self.amax:
                batch = "tensor<f32>"
                yield f"%a{name} = arith.constant dense<{self.amax}> : {batch}"
            else:
                yield f"%a{name} = blockscale.amax {x} : {type} -> {batch}"
            yield f"{factor} = blockscale.global_scale %a{name}{recipe} : {batch}"
            is_of_amax = self.recipe in OF_AMAX or self.is_swept
            kind = ("global_amax(%a" if is_of_amax else "global_scale(%g") + name
            options += f" {kind} : {batch})"
        if self.is_swept:
            blocks = tensor((*shape[:-1], shape[-1] // 16), "f32")
            yield (f"%b{name} = blockscale.scale_sweep {x} global_amax(%a{name} : {batch}) "
                   f": {type} -> {blocks}")
            options += f" block_amax(%b{name} : {blocks})"
        data = tensor(shape, data)
        scale = tensor((*shape[:-1], shape[-1] // block), scale)
        yield (f"%q{name}, %s{name} = blockscale.quantize {x} block [1, {block}]{recipe}{options}"
               f" : {type} -> {data}, {scale}")
        yield f"%q{name}", data, f"%s{name}", scale, factor, batch


@dataclass
class Case:
    """`plain` is the text of the product by linalg, from %x and %w (and %init) to %y. `to_x`
    and `to_w` order what it takes into rows along K, and `to_y` what the product by hand gives
    into what it gives."""

    name: str
    rule: dict
    x: Operand
    w: Operand
    shapes: tuple  # of %x and %w of the plain product
    plain: str
    result: tuple = (M, N)
    elements: tuple = ("bf16", "bf16", "f32")
    to_x: Callable = lambda x: x
    to_w: Callable = lambda w: w
    to_y: Callable = lambda y: y
    rht: bool = False
    is_swapped: bool = False  # %w is A
    has_init: bool = False
    cast: str = ""  # the type of the layer, whose numbers come in f32
    has_bias: bool = False  # %bias, a row that is added to the product
    is_constant: bool = False  # %w
    is_dynamic: bool = False  # the sizes of %x and of the result but for the last
    arrays: list = field(default_factory=list)

    def types(self, arrays):
        return [f"tensor<{'x'.join(map(str, a.shape))}x{e}>"
                for a, e in zip(arrays, self.elements)]

    def plain_function(self):
        types = self.types(self.arrays)
        result = f"tensor<{'x'.join(map(str, self.result))}x{self.elements[2]}>"
        dynamic = range(len(self.result) - 1 if self.is_dynamic else 0)
        if self.is_dynamic:
            leading = "?x" * len(dynamic)
            types[0] = f"tensor<{leading}{K}x{self.elements[0]}>"
            result = f"tensor<{leading}{N}x{self.elements[2]}>"
        arguments = [f"%x: {types[0]}"]
        lines = []
        if self.is_constant:
            digits = np.ascontiguousarray(self.arrays[1]).tobytes().hex().upper()
            lines.append(f'%w = arith.constant dense<"0x{digits}"> : {types[1]}')
        else:
            arguments.append(f"%w: {types[1]} {{blockscale.weight}}")
        if self.has_bias:
            arguments.append(f"%bias: tensor<{N}xf32>")
        if self.has_init:
            arguments.append(f"%init: {result}")
        elif self.is_dynamic:
            for i in dynamic:
                lines += [f"%c{i} = arith.constant {i} : index",
                          f"%d{i} = tensor.dim %x, %c{i} : {types[0]}"]
            lines += [f"%zero = arith.constant 0.0 : {self.elements[2]}",
                      f"%empty = tensor.empty({', '.join(f'%d{i}' for i in dynamic)}) : {result}",
                      (f"%init = linalg.fill ins(%zero : {self.elements[2]}) "
                       f"outs(%empty : {result}) -> {result}")]
        else:
            lines.append(f"%init = arith.constant dense<0.0> : {result}")
        text = self.plain.format(x=types[0], w=types[1], y=result)
        body = "".join(f"  {line}\n" for line in [*lines, *text.splitlines()])
        return (f"func.func @{self.name}({', '.join(arguments)}) -> {result} {{\n{body}"
                f"  return %y : {result}\n}}\n")

    def hand_function(self):
        x, w = self.hand_arrays()
        inputs = (self.cast, self.cast) if self.cast else self.elements
        types = [f"tensor<{'x'.join(map(str, a.shape))}x{e}>" for a, e in zip((x, w), inputs)]
        operands = []
        lines = []
        for name, operand, array, element in (("x", self.x, x, inputs[0]),
                                              ("w", self.w, w, inputs[1])):
            *ops, last = operand.text(name, array.shape, element, self.rht)
            lines += ops
            operands.append(last)
        rows = [array.shape[-2] for array in (x, w)]
        if self.is_swapped:
            operands.reverse()
            rows.reverse()
        (a, ta, sa, tsa, ga, tga), (b, tb, sb, tsb, gb, tgb) = operands
        block = next(FORMATS[o.format][2] for o in (self.w, self.x) if o.format)
        # What a sum begins with is added after, in f32.
        element = "f32" if self.has_init else self.elements[2]
        result = f"tensor<{'x'.join(map(str, (*x.shape[:-2], *rows)))}x{element}>"
        factors = "".join(f" global_scale_{side}({g} : {t})"
                          for side, g, t in (("a", ga, tga), ("b", gb, tgb)) if g)
        lines.append(f"%y = blockscale.scaled_mm {a}, {b} scales({sa or 'none'}, {sb or 'none'}) "
                     f"block [1, {block}]{factors} : "
                     f"{', '.join(t for t in (ta, tb, tsa, tsb) if t)} -> {result}")
        body = "".join(f"  {line}\n" for line in lines)
        return (f"func.func @{self.name}(%x: {types[0]}, %w: {types[1]}) -> {result} {{\n{body}"
                f"  return %y : {result}\n}}\n")

    def draw(self, random):
        """Numbers of many magnitudes, with zeros of both signs, and a row of zeros."""
        shapes = [*self.shapes] + [self.result] * self.has_init + [(N,)] * self.has_bias
        for shape, element in zip(shapes, self.elements):
            values = random.standard_normal(shape) * np.exp2(random.integers(-9, 9, shape))
            values[random.random(shape) < 0.05] = 0
            values[random.random(shape) < 0.05] = -0.0
            values.reshape(-1, shape[-1])[0] *= 0
            values = values.astype(np.float32)
            self.arrays.append(to_bf16(values) if element == "bf16" else
                               values.astype({"f16": np.float16, "f32": np.float32}[element]))

    def hand_arrays(self):
        """The operands as they are quantized."""
        arrays = [to_narrow(a, self.cast) if self.cast else a for a in self.arrays[:2]]
        return self.to_x(arrays[0]), self.to_w(arrays[1])

    def expected(self, y):
        if self.cast:
            total = self.to_y(y) + (self.arrays[2] if self.has_bias else np.float32(0))
            narrow = to_narrow(total, self.cast)
            return from_bf16(narrow) if self.cast == "bf16" else narrow.astype(np.float32)
        if not self.has_init:
            return self.to_y(y)
        init = self.arrays[2]
        init = from_bf16(init) if self.elements[2] == "bf16" else init.astype(np.float32)
        total = self.to_y(y) + init
        return to_bf16(total) if self.elements[2] == "bf16" else total


def to_narrow(values, element):
    """f32 rounded to nearest even; bf16 as bits."""
    with np.errstate(over="ignore"):
        return to_bf16(values) if element == "bf16" else values.astype(np.float16)


def matmul(op="matmul", maps=""):
    if maps:
        names, *results = maps.split(";")
        listed = ", ".join(f"affine_map<({names}) -> ({result})>" for result in results)
        maps = f" indexing_maps = [{listed}]"
    return (f"%y = linalg.{op}{maps} ins(%x, %w : {{x}}, {{w}}) outs(%init : {{y}}) -> {{y}}")


def conv(op, strides="1"):
    return (f"%y = linalg.{op} {{{{dilations = dense<2> : tensor<2xi64>, "
            f"strides = dense<{strides}> : tensor<2xi64>}}}} "
            "ins(%x, %w : {x}, {w}) outs(%init : {y}) -> {y}")


def with_bias(product, is_reshaped=False):
    """The product, an M by N tensor, perhaps as one of M, 1, N, and a row added to it."""
    flat = f"tensor<{M}x{N}xf32>"
    before = f"%zero = arith.constant dense<0.0> : {flat}\n"
    before += product.replace("%y =", "%p =").replace("%init", "%zero").replace("{y}", flat)
    dims, shape = "d0, d1", flat
    if is_reshaped:
        dims, shape = "d0, d1, d2", f"tensor<{M}x1x{N}xf32>"
        before += (f"\n%r = tensor.expand_shape %p [[0], [1, 2]] output_shape [{M}, 1, {N}] : "
                   f"{flat} into {shape}")
    last = dims.split(", ")[-1]
    kinds = ", ".join(['"parallel"'] * len(dims.split(", ")))
    return before + (
        f"\n%y = linalg.generic {{{{indexing_maps = [affine_map<({dims}) -> ({dims})>, "
        f"affine_map<({dims}) -> ({last})>, affine_map<({dims}) -> ({dims})>], "
        f"iterator_types = [{kinds}]}}}} ins(%{'r' if is_reshaped else 'p'}, %bias : {shape}, "
        f"tensor<{N}xf32>) outs(%init : {shape}) {{{{\n^bb0(%a: f32, %b: f32, %c: f32):\n"
        f"  %s = arith.addf %a, %b : f32\n  linalg.yield %s : f32\n}}}} -> {shape}")


NK = matmul(maps="m, n, k;m, k;n, k;m, n")


def transpose(x):
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


def ordered(*axes):
    return lambda x: np.ascontiguousarray(x.transpose(axes))


def list_cases():
    nvfp4 = Operand("nvfp4", has_global=True)
    mx = Operand("mxfp8")
    nk, kn = ((M, K), (N, K)), ((M, K), (K, N))
    cases = []

    def add(name, rule, x, w, *arguments, **options):
        cases.append(Case(name, rule, x, w, *arguments, **options))

    for name in FORMATS:
        operand = Operand(name, has_global=name == "nvfp4")
        for element in ("bf16", "f16", "f32")[:3 if name in ("nvfp4", "mxfp8") else 1]:
            add(f"{name}_{element}", {"format": name}, operand, operand, nk, NK,
                elements=(element, element, "f32"))
        if name not in ("nvfp4", "mxfp6_e3m2", "mxint8"):
            continue
        # Blocks down the columns of both operands.
        add(f"{name}_columns", {"format": name}, operand, operand, ((K, M), (K, N)),
            matmul(maps="m, n, k;k, m;k, n;m, n"), to_x=transpose, to_w=transpose)
        add(f"{name}_constant", {"format": name}, operand, operand, kn, matmul(),
            to_w=transpose, is_constant=True)
    for recipe in ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse",
                   "compressed_tensors", "torchao_training"):
        operand = Operand("nvfp4", recipe, has_global=True)
        add(f"recipe_{recipe}", {"format": "nvfp4", "recipe": recipe}, operand, operand, kn,
            matmul(), to_w=transpose)
    for recipe in ("floor", "rceil", "rceil_sat", "ceil", "even", "tosa"):
        operand = Operand("mxfp8", recipe)
        add(f"recipe_{recipe}", {"format": "mxfp8", "recipe": recipe}, operand, operand, kn,
            matmul(), to_w=transpose)
    swept = Operand("nvfp4", "modelopt", has_global=True, is_swept=True)
    for name, shapes, text, options in (("rows", nk, NK, {}),
                                        ("columns", kn, matmul(), {"to_w": transpose}),
                                        ("constant", kn, matmul(),
                                         {"to_w": transpose, "is_constant": True})):
        add(f"swept_{name}", {"format": "nvfp4", "weights": {"sweep": True}}, nvfp4, swept,
            shapes, text, **options)
        add(f"rht_{name}", {"format": "nvfp4", "rht": True}, nvfp4, nvfp4, shapes, text,
            rht=True, **options)
    add("calibrated", {"format": "nvfp4", "activations": {"global_scale": {"amax": 3.75}}},
        Operand("nvfp4", has_global=True, amax=3.75), nvfp4, nk, NK)
    none = Operand("nvfp4")
    add("no_global", {"format": "nvfp4", "global_scale": "none"}, none, none, nk, NK)
    add("mixed", {"weights": {"format": "mxfp4", "recipe": "even"},
                  "activations": {"format": "mxfp8"}}, mx, Operand("mxfp4", "even"), nk, NK)
    for element in ("bf16", "f16"):
        add(f"weights_only_{element}", {"format": "nvfp4", "weight_only": True}, Operand(), nvfp4,
            ((K, M), (K, N)), matmul(maps="m, n, k;k, m;k, n;m, n"), to_x=transpose,
            to_w=transpose, elements=(element, element, "f32"))
    for result in ("bf16", "f16"):
        add(f"to_{result}", {"format": "mxfp8"}, mx, mx, nk, NK, elements=(result, result, result))
    for element in ("f32", "bf16"):
        add(f"init_{element}", {"format": "nvfp4"}, nvfp4, nvfp4, nk, NK, has_init=True,
            elements=("bf16", "bf16", element))
    add("swapped", {"format": "nvfp4"}, nvfp4, nvfp4, nk,
        matmul(maps="m, n, k;m, k;n, k;n, m"), result=(N, M), is_swapped=True)
    add("batch", {"format": "nvfp4"}, nvfp4, nvfp4, ((3, M, K), (3, K, N)),
        matmul("batch_matmul"), result=(3, M, N), to_w=transpose)
    add("batch_transposed", {"format": "nvfp4"}, nvfp4, nvfp4, ((3, K, M), (3, N, K)),
        matmul("batch_matmul", "b, m, n, k;b, k, m;b, n, k;b, m, n"), result=(3, M, N),
        to_x=transpose)
    add("batch_inside", {"format": "nvfp4"}, nvfp4, nvfp4, ((M, 3, K), (N, K, 3)),
        matmul("contract", "b, m, n, k;m, b, k;n, k, b;m, b, n"), result=(M, 3, N),
        to_x=ordered(1, 0, 2), to_w=ordered(2, 0, 1), to_y=ordered(1, 0, 2))
    add("shared", {"format": "nvfp4"}, nvfp4, nvfp4, ((3, M, K), (K, N)),
        matmul("batch_matmul", "b, m, n, k;b, m, k;k, n;b, m, n"), result=(3, M, N),
        to_x=lambda x: x.reshape(3 * M, K), to_w=transpose, to_y=lambda y: y.reshape(3, M, N))
    add("dynamic", {"format": "mxfp8"}, mx, mx, ((3, 5, K), (N, K)),
        matmul("contract", "b, m, n, k;b, m, k;n, k;b, m, n"), result=(3, 5, N),
        to_x=lambda x: x.reshape(15, K), to_y=lambda y: y.reshape(3, 5, N), is_dynamic=True)
    add("heads", {"format": "nvfp4"}, nvfp4, nvfp4, ((4, M, K // 4), (4, K // 4, N)),
        matmul("contract", "m, n, h, d;h, m, d;h, d, n;m, n"),
        to_x=lambda x: ordered(1, 0, 2)(x).reshape(M, K),
        to_w=lambda w: transpose(w.reshape(K, N)))
    add("point", {"format": "mxfp8"}, mx, mx, ((2, 3, 5, K), (1, 1, K, N)),
        conv("conv_2d_nhwc_hwcf"), result=(2, 3, 5, N), to_x=lambda x: x.reshape(30, K),
        to_w=lambda w: transpose(w.reshape(K, N)), to_y=lambda y: y.reshape(2, 3, 5, N))
    add("point_fhwc", {"format": "mxfp8"}, mx, mx, ((2, 3, 5, K), (N, 1, 1, K)),
        conv("conv_2d_nhwc_fhwc"), result=(2, 3, 5, N), to_x=lambda x: x.reshape(30, K),
        to_w=lambda w: w.reshape(N, K), to_y=lambda y: y.reshape(2, 3, 5, N))
    add("point_nchw", {"format": "mxfp8"}, mx, mx, ((2, K, 3, 5), (N, K, 1, 1)),
        conv("conv_2d_nchw_fchw"), result=(2, N, 3, 5),
        to_x=lambda x: ordered(0, 2, 3, 1)(x).reshape(30, K), to_w=lambda w: w.reshape(N, K),
        to_y=lambda y: ordered(0, 3, 1, 2)(y.reshape(2, 3, 5, N)))
    f32 = ("f32", "f32", "f32")
    for name, element, shapes, text, options in (
            ("bf16", "bf16", nk, NK, {}), ("f16", "f16", nk, NK, {}),
            ("constant", "bf16", kn, matmul(), {"to_w": transpose, "is_constant": True})):
        add(f"cast_{name}", {"format": "nvfp4", "cast": element}, nvfp4, nvfp4, shapes, text,
            elements=f32, cast=element, **options)
    add("cast_bias", {"format": "mxfp8", "cast": "bf16"}, mx, mx, nk, with_bias(NK), elements=f32,
        cast="bf16", has_bias=True)
    add("cast_bias_reshaped", {"format": "mxfp8", "cast": "bf16"}, mx, mx, nk,
        with_bias(NK, is_reshaped=True), elements=f32, cast="bf16", has_bias=True,
        result=(M, 1, N), to_y=lambda y: y.reshape(M, 1, N))
    add("cast_weights_only", {"format": "nvfp4", "weight_only": True, "cast": "bf16"}, Operand(),
        nvfp4, nk, NK, elements=f32, cast="bf16")
    add("cast_rht", {"format": "nvfp4", "rht": True, "cast": "bf16"}, nvfp4, nvfp4, nk, NK,
        elements=f32, cast="bf16", rht=True)
    return cases


def check_sums(expect, folder, policy, cases, by_policy):
    """What blockscale-measure-products makes functions return, of products in each type."""
    measured = [case for case in cases if case.name in ("nvfp4_f32", "init_bf16", "point_nchw")]
    text = "".join(case.plain_function() for case in measured)
    plain = Module(text, folder, optimize=False)
    sums = Module(text, folder, [f"--blockscale-measure-products=policy={policy}"],
                  optimize=False)
    for case in measured:
        [y], [q] = (module.call(case.name, *case.arrays) for module in (plain, by_policy))
        y, q = (from_bf16(a) if a.dtype == np.uint16 else a for a in (y, q))
        y, q = y.astype(np.float64), q.astype(np.float64)
        want = np.square(y).sum(), np.square(y - q).sum()
        got = [float(each) for each in sums.call(case.name, *case.arrays)]
        expect.record(f"{case.name}: sums of squares",
                      None if np.allclose(got, want, rtol=1e-12, atol=0) and min(want) > 0 else
                      f"expected {want}, but got {got}")


def check_emulator(expect, folder, policy, case):
    """What a product gives for small integers, whose sums are exact in any order, on the CPU and
    in the emulator."""
    random = np.random.default_rng(2)
    x, w = (random.integers(-3, 4, array.shape).astype(np.float32) for array in case.arrays)
    source = folder / f"{case.name}.mlir"
    source.write_text(case.plain_function())
    text = subprocess.run(["blockscale-opt", source,
                           f"--blockscale-quantize-products=policy={policy}"],
                          check=True, capture_output=True, text=True).stdout
    want = np.einsum("bmk,nk->bmn", x, w)
    for i, place in enumerate(PLACES[:2]):
        problem, results = run_module(text, [to_bf16(x), to_bf16(w)], 1, folder / f"place{i}",
                                      place)
        if problem:
            expect.record(f"{case.name}: {place}", problem)
        else:
            expect.equal(f"{case.name}: {place}", results, [want])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where to compile")
    folder = Path(parser.parse_args().folder)
    expect = Expectations()
    cases = list_cases()
    random = np.random.default_rng(1)
    for case in cases:
        case.draw(random)
    policy = folder / "policy.json"
    policy.write_text(json.dumps({"version": 1, "rules": [
        {"match": {"function": case.name}, **case.rule} for case in cases]}))
    by_policy = Module("".join(case.plain_function() for case in cases), folder,
                       [f"--blockscale-quantize-products=policy={policy}"], optimize=False)
    by_hand = Module("".join(case.hand_function() for case in cases), folder, optimize=False)
    left = by_policy.text.count("linalg.matmul") + by_policy.text.count("linalg.batch_matmul")
    expect.record("products that are left", None if left == 0 else f"expected none, but got {left}")
    for case in cases:
        x, w, *init = case.arrays
        got = by_policy.call(case.name, x, *([] if case.is_constant else [w]), *init)
        [y] = by_hand.call(case.name, *case.hand_arrays())
        want = np.ascontiguousarray(case.expected(y))
        values = from_bf16(want) if want.dtype == np.uint16 else want
        share = (np.isfinite(values) & (values != 0)).mean()
        expect.record(f"{case.name}: numbers other than 0",
                      None if share > 0.5 else f"expected more than {share}")
        expect.equal(case.name, got, [want])
    check_sums(expect, folder, policy, cases, by_policy)
    check_emulator(expect, folder, policy, next(case for case in cases if case.is_dynamic))
    expect.finish()


if __name__ == "__main__":
    main()
