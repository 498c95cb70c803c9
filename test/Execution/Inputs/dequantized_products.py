# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of values that a global scale multiplies, as importers write them: `dequantize` to bf16
or f16, and products by linalg. They become one kernel that reads codes, and give the bytes of the
same function whose values are returned as well, so that it stays as it is, on the CPU. Sums of
these operands are exact in f32, and differ if an element has the scale of another block, matrix or
product, or is not rounded as it should be.

Usage: dequantized_products.py FOLDER
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import exact
from expect import Expectations, first_difference
from gpu_calls import ON_CPU, run_places
from products import factors
from reference import from_bf16, pack, to_bf16

CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
# Scales of one octave, with all mantissas of E4M3: those of neighbours differ.
SCALES = (0x30, 0x38)
SWIGLU = "%h = arith.mulf %l, %m : f32"


@dataclass(frozen=True)
class Form:
    """`x` [B, M, K] of type `plain` times the transposes of as many dequantized w [B, N, K] as
    there are `products`; on the `side` "a", these are the left operands."""

    plain: str
    rows: int
    cols: int
    depth: int
    batch: int = 0
    products: int = 1
    side: str = "b"
    is_dynamic: bool = False  # M
    is_shared: bool = False  # one w for all matrices
    is_extended: bool = False  # both to f32
    is_rounded: bool = False  # the result, to `plain`
    growth: float = 1  # of global scales from one product to the next

    @property
    def lead(self):
        return (self.batch,) if self.batch else ()

    @property
    def lead_of_w(self):
        return () if self.is_shared else self.lead

    def tensor(self, shape, element):
        sizes = ["?" if self.is_dynamic and i == len(shape) - 2 and element == self.plain
                 and shape[-2] == self.rows and shape[-1] == self.depth else str(size)
                 for i, size in enumerate(shape)]
        return f"tensor<{''.join(f'{size}x' for size in sizes)}{element}>"

    def text(self, returns_values):
        """The function. Two products, which share the operand on the left, are multiplied."""
        lead, narrow = self.lead, self.plain
        is_a = self.side == "a"
        x_count = self.products if is_a else 1
        w_count = 1 if is_a else self.products
        x = self.tensor((*lead, self.rows, self.depth), narrow)
        w, s, values = (self.tensor((*self.lead_of_w, self.cols, cols), element)
                        for cols, element in ((self.depth, "f4E2M1FN"),
                                              (self.depth // 16, "f8E4M3FN"),
                                              (self.depth, "_")))
        values = values.replace("_>", narrow + ">")
        g = self.tensor(self.lead_of_w, "f32")
        arguments = {f"x{i}": x for i in range(x_count)}
        for i in range(w_count):
            arguments |= {f"w{i}": w, f"s{i}": s, f"g{i}": g}
        rows, cols = (self.cols, self.rows) if is_a else (self.rows, self.cols)
        result = f"tensor<{''.join(f'{size}x' for size in (*lead, rows, cols))}f32>"
        if self.is_dynamic:
            result = result.replace(f"x{rows}x" if lead else f"<{rows}x", "x?x" if lead else "<?x")
        lines, names, types = ["%zero = arith.constant 0.0 : f32"], {}, {}
        lines += [f"%v{i} = blockscale.dequantize %w{i}, %s{i} block [1, 16] "
                  f"global_scale(%g{i} : {g}) : {w}, {s} -> {values}" for i in range(w_count)]
        for name, type in (*((f"x{i}", x) for i in range(x_count)),
                           *((f"v{i}", values) for i in range(w_count))):
            names[name], types[name] = f"%{name}", type
            if self.is_extended:
                wide = type.replace(narrow + ">", "f32>")
                lines.append(f"%{name}w = arith.extf %{name} : {type} to {wide}")
                names[name], types[name] = f"%{name}w", wide
        if self.is_shared:
            each = self.tensor((*lead, self.cols, self.depth), "_").replace("_>", narrow + ">")
            lines += [f"%be = tensor.empty() : {each}",
                      (f"%b = linalg.broadcast ins(%v0 : {values}) outs(%be : {each}) "
                       "dimensions = [0]")]
            names["v0"], types["v0"] = "%b", each
        size = ""
        if self.is_dynamic:
            lines += [f"%c = arith.constant {len(lead)} : index",
                      f"%size = tensor.dim %x0, %c : {x}"]
            size = "%size"
        lines.append(f"%e = tensor.empty({size}) : {result}")
        lines.append(f"%f = linalg.fill ins(%zero : f32) outs(%e : {result}) -> {result}")
        loops = ", ".join((*"b" * len(lead), *"mnk"))
        reads = [", ".join((*"b" * len(lead), *each)) for each in ("mk", "nk", "mn")]
        maps = ", ".join(f"affine_map<({loops}) -> ({read})>" for read in reads)
        op = "linalg.batch_matmul" if lead else "linalg.matmul"
        for i in range(self.products):
            of_x, of_w = f"x{min(i, x_count - 1)}", f"v{min(i, w_count - 1)}"
            a, b = (of_w, of_x) if is_a else (of_x, of_w)
            lines.append(f"%y{i} = {op} indexing_maps = [{maps}] ins({names[a]}, {names[b]} : "
                         f"{types[a]}, {types[b]}) outs(%f : {result}) -> {result}")
        last = "%y0"
        if self.products > 1:
            same = ", ".join([f"affine_map<({loops[:-3]}) -> ({loops[:-3]})>"] * 3)
            kinds = ", ".join(['"parallel"'] * (len(lead) + 2))
            lines += [(f"%z = linalg.generic {{indexing_maps = [{same}], iterator_types = "
                       f"[{kinds}]}} ins(%y0, %y1 : {result}, {result}) outs(%e : {result}) {{"),
                      "^bb0(%l: f32, %m: f32, %o: f32):", f"  {SWIGLU}", "  linalg.yield %h : f32",
                      f"}} -> {result}"]
            last = "%z"
        if self.is_rounded:
            rounded = result.replace("f32>", narrow + ">")
            same = ", ".join([f"affine_map<({loops[:-3]}) -> ({loops[:-3]})>"] * 2)
            lines += [f"%re = tensor.empty({size}) : {rounded}",
                      (f"%r = linalg.generic {{indexing_maps = [{same}], iterator_types = "
                       '["parallel", "parallel"]} '
                       f"ins({last} : {result}) outs(%re : {rounded}) {{"),
                      f"^bb0(%l: f32, %o: {narrow}):", f"  %h = arith.truncf %l : f32 to {narrow}",
                      f"  linalg.yield %h : {narrow}", f"}} -> {rounded}"]
            last, result = "%r", rounded
        returned = {last: result}
        if returns_values:
            returned |= {f"%v{i}": values for i in range(w_count)}
        head = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
        out = ", ".join(returned.values())
        return (f"func.func @f({head}) -> ({out}) {{\n"
                + "".join(f"  {line}\n" for line in lines)
                + f"  return {', '.join(returned)} : {out}\n}}\n")

    def draw(self, random):
        """The arguments, of which sums are exact."""
        is_a = self.side == "a"
        xs, arguments = [], []
        for _ in range(self.products if is_a else 1):
            x = random.choice((-1, 0, 0, 1), (*self.lead, self.rows, self.depth))
            xs.append(x.astype(np.float32))
            arguments.append(to_bf16(xs[-1]) if self.plain == "bf16"
                             else xs[-1].astype(np.float16))
        for number in range(1 if is_a else self.products):
            shape = (*self.lead_of_w, self.cols)
            codes = random.integers(0, 16, (*shape, self.depth)).astype(np.uint8)
            scales = random.integers(*SCALES, (*shape, self.depth // 16)).astype(np.uint8)
            g = random.uniform(0.011, 0.012, self.lead_of_w) * self.growth**number
            g = np.asarray(g, np.float32)
            values = factors(codes, "f4E2M1FN", scales, "f8E4M3FN", self.plain,
                             g[..., None, None] if g.ndim else g)
            for x in xs:
                exact.demand(x.astype(np.float64), values)
            arguments += [pack(codes), scales, g]
        return arguments


FORMS = {
    "several tiles and a tail of K": Form("bf16", 70, 300, 208, is_dynamic=True),
    "f16, few rows and a long K": Form("f16", 3, 160, 1024),
    "a rounded result of a long K": Form("bf16", 16, 200, 2048, is_rounded=True),
    "two rows, extended": Form("bf16", 2, 130, 352, is_extended=True),
    "a scale of each matrix": Form("bf16", 37, 72, 144, batch=3),
    "values on the left": Form("f16", 45, 140, 272, side="a"),
    "one B for all matrices": Form("bf16", 20, 96, 160, batch=2, is_shared=True),
    "two products, each with a scale": Form("bf16", 24, 192, 256, products=2),
    "two products, one with factors that are not split": Form("bf16", 24, 192, 256, products=2,
                                                              growth=2.0**8),
    "two products with values on the left": Form("bf16", 64, 130, 128, products=2, side="a"),
}


def count_kernels(folder, text, chip):
    """The kernels of products that a call launches, and those that dequantize."""
    path = folder / "counted.mlir"
    path.write_text(text)
    printed = subprocess.run(
        ["blockscale-opt", path, f"--blockscale-to-gpu=chip={chip} branch-on-rows=false"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    names = re.findall(r"gpu.launch_func +@\w+::@(\w+)", printed)
    return (sum(name.startswith("scaled_mm") for name in names),
            sum(name.startswith(("dequantize", "plain")) for name in names))


def main():
    folder, expect, random = Path(sys.argv[1]), Expectations(), np.random.default_rng(1)
    for number, (name, form) in enumerate(FORMS.items()):
        arguments = form.draw(random)
        apart = folder / f"{number}"
        [(said, wanted)] = run_places(form.text(True), arguments, 1 + (
            1 if form.side == "a" else form.products), apart / "values", [ON_CPU])
        expect.record(f"{name}: values are stored", said)
        if said:
            continue
        values = from_bf16(wanted[1]) if form.plain == "bf16" else wanted[1]
        expect.record(f"{name}: numbers other than 0", None if np.isfinite(values).all()
                      and (values != 0).mean() > 0.8 and (wanted[0] != 0).mean() > 0.8 else "few")
        places = [["--on=cpu"], *(["--on=emulator", f"--target={chip}"] for chip in CHIPS)]
        for place, (said, results) in zip(
                places, run_places(form.text(False), arguments, 1, apart, places), strict=True):
            expect.record(f"{name}, {place[-1]}", said or first_difference(wanted[:1], results))
        for chip in CHIPS:
            counts = count_kernels(apart, form.text(False), chip)
            expect.record(f"{name}, {chip}: kernels", None if counts == (1, 0) else
                          f"expected one product and no other, but got {counts}")
    expect.finish()


if __name__ == "__main__":
    main()
