# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of dequantized operands by linalg, before and after they become scaled_mm.

Two kinds of inputs leave no room for the order of the sums, so bytes are compared: a plain
operand that is the identity, beside each code with each scale, and numbers whose sums f32
holds. Products that the pass keeps are compared with the scaled_mm that they would be, and must
differ on some input.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from expect import Expectations, first_difference
from module import Module
from products import BLOCKS, CODECS
from reference import pack, swizzle, to_bf16

MX = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2", "i8")
# The formats whose values bf16 holds with each scale.
EXACT_MX = ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "i8")
SCALED_MM = "blockscale.scaled_mm"
SUM = "linalg.{}matmul"


@dataclass(frozen=True)
class Product:
    """`data` and `scale` are the types of the dequantized operand, and `wide` is what it is
    dequantized to. `plain` is the type of the other operand; one of f4E2M1FN is dequantized, too.
    `side` says which of A and B the first is."""

    name: str
    data: str
    scale: str
    wide: str
    plain: str = "bf16"
    side: str = "b"
    is_batch: bool = False
    is_extended: bool = False  # both operands to f32
    is_transposed: bool = False  # the dequantized one, twice: by an op and by the map
    is_plain_transposed: bool = False
    is_swizzled: bool = False
    is_generic: bool = False  # the product is a linalg.generic
    factor: str = ""  # a constant global scale
    zero: str = "0.0"
    raised: bool = False  # written as the scaled_mm, of which `factor` is a global scale

    @property
    def block(self):
        return BLOCKS[self.scale]

    @property
    def is_pair(self):
        """Whether the other operand has scales, too."""
        return self.plain in MX

    def tensor(self, element, layout=""):
        return f"tensor<{'?x' * (2 + self.is_batch)}{element}{layout}>"

    def text(self):
        layout = ", #blockscale.layout<swizzle_128x4>" * self.is_swizzled
        arguments = {"x": self.tensor(self.plain)}
        if self.is_pair:
            arguments["xs"] = self.tensor(self.scale)
        arguments |= {"w": self.tensor(self.data), "ws": self.tensor(self.scale, layout)}
        head = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
        lines = self._scaled_mm(arguments) if self.raised else self._sum(arguments)
        return (f"func.func @{self.name}({head}) -> {self.tensor('f32')} {{\n"
                + "".join(f"  {line}\n" for line in lines)
                + f"  return %y : {self.tensor('f32')}\n}}\n")

    def _ordered(self, plain, dequantized):
        """The two as A and B."""
        return (plain, dequantized) if self.side == "b" else (dequantized, plain)

    def _scaled_mm(self, arguments):
        a, b = self._ordered("x", "w")
        names = self._ordered("xs" if self.is_pair else "", "ws")
        scales = ", ".join(f"%{name}" if name else "none" for name in names)
        types = [arguments[name] for name in (a, b, *names) if name]
        factor = ""
        if self.factor:
            yield f"%g = arith.constant {self.factor} : f32"
            factor = f"global_scale_{self.side}(%g : f32) "
        yield (f"%y = {SCALED_MM} %{a}, %{b} scales({scales}) block [1, {self.block}] {factor}"
               f": {', '.join(types)} -> {self.tensor('f32')}")

    def _sum(self, arguments):
        factor = ""
        if self.factor:
            yield f"%g = arith.constant {self.factor} : f32"
            factor = "global_scale(%g : f32) "
        values, types = {"p": "%x", "q": "%q"}, {"p": self.plain, "q": self.wide}
        if self.is_pair:
            yield (f"%p = blockscale.dequantize %x, %xs block [1, {self.block}] : "
                   f"{arguments['x']}, {arguments['xs']} -> {self.tensor(self.wide)}")
            values["p"], types["p"] = "%p", self.wide
        yield (f"%q = blockscale.dequantize %w, %ws block [1, {self.block}] {factor}: "
               f"{arguments['w']}, {arguments['ws']} -> {self.tensor(self.wide)}")
        first, second = range(self.is_batch, self.is_batch + 2)
        for number in range(self.is_batch + 2):
            yield f"%c{number} = arith.constant {number} : index"
        sizes = {"r": ("x", second if self.is_plain_transposed else first), "s": ("w", first),
                 "k": ("w", second)} | ({"b": ("w", 0)} if self.is_batch else {})
        for name, (value, dim) in sizes.items():
            yield f"%{name} = tensor.dim %{value}, %c{dim} : {arguments[value]}"
        if self.is_extended:
            for name in ("p", "q"):
                yield from self._extend(name, values, types)
        if self.is_transposed:
            yield f"%te = tensor.empty({self._sizes('k', 's')}) : {self.tensor(types['q'])}"
            order = "[0, 2, 1]" if self.is_batch else "[1, 0]"
            yield (f"%t = linalg.transpose ins({values['q']} : {self.tensor(types['q'])}) "
                   f"outs(%te : {self.tensor(types['q'])}) permutation = {order}")
            values["q"] = "%t"
        yield from self._multiply(values, types)

    def _sizes(self, *names):
        return ", ".join(f"%{name}" for name in (*"b" * self.is_batch, *names))

    def _extend(self, name, values, types):
        narrow, wide = self.tensor(types[name]), self.tensor("f32")
        rows, cols = (("k", "r") if self.is_plain_transposed else ("r", "k")) \
            if name == "p" else ("s", "k")
        dims = ", ".join(f"d{i}" for i in range(2 + self.is_batch))
        same = f"affine_map<({dims}) -> ({dims})>"
        loops = ", ".join(['"parallel"'] * (2 + self.is_batch))
        yield f"%{name}e = tensor.empty({self._sizes(rows, cols)}) : {wide}"
        yield (f"%{name}w = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = "
               f"[{loops}]}} ins({values[name]} : {narrow}) outs(%{name}e : {wide}) {{")
        yield f"^bb0(%in: {types[name]}, %out: f32):"
        yield f"  %e = arith.extf %in : {types[name]} to f32"
        yield "  linalg.yield %e : f32"
        yield f"}} -> {wide}"
        values[name], types[name] = f"%{name}w", "f32"

    def _multiply(self, values, types):
        def read(row, is_transposed):
            dims = [*"b" * self.is_batch, *(("k", row) if is_transposed else (row, "k"))]
            return ", ".join(dims)

        is_transposed = self._ordered(self.is_plain_transposed, self.is_transposed)
        reads = [read(row, each) for row, each in zip("mn", is_transposed)]
        reads.append(", ".join([*"b" * self.is_batch, "m", "n"]))
        loops = ", ".join([*"b" * self.is_batch, *"mnk"])
        maps = ", ".join(f"affine_map<({loops}) -> ({each})>" for each in reads)
        result = self.tensor("f32")
        yield f"%zero = arith.constant {self.zero} : f32"
        yield f"%e = tensor.empty({self._sizes(*self._ordered('r', 's'))}) : {result}"
        yield f"%zeros = linalg.fill ins(%zero : f32) outs(%e : {result}) -> {result}"
        a, b = self._ordered("p", "q")
        if self.is_generic:
            yield from self._add_products(values[a], values[b], types[a], types[b], maps, loops)
            return
        op = SUM.format("batch_" * self.is_batch)
        yield (f"%y = {op} indexing_maps = [{maps}] ins({values[a]}, {values[b]} : "
               f"{self.tensor(types[a])}, {self.tensor(types[b])}) outs(%zeros : {result}) "
               f"-> {result}")

    def _add_products(self, a, b, type_a, type_b, maps, loops):
        kinds = ", ".join(['"parallel"'] * (len(loops.split(",")) - 1) + ['"reduction"'])
        result = self.tensor("f32")
        yield (f"%y = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
               f"ins({a}, {b} : {self.tensor(type_a)}, {self.tensor(type_b)}) "
               f"outs(%zeros : {result}) {{")
        yield f"^bb0(%l: {type_a}, %m: {type_b}, %out: f32):"
        for name, type in (("l", type_a), ("m", type_b)):
            if type != "f32":
                yield f"  %{name}w = arith.extf %{name} : {type} to f32"
        factors = [f"%{name}" + "w" * (type != "f32") for name, type in (("m", type_b),
                                                                          ("l", type_a))]
        yield f"  %term = arith.mulf {', '.join(factors)} : f32"
        yield "  %total = arith.addf %term, %out : f32"
        yield "  linalg.yield %total : f32"
        yield f"}} -> {result}"

    def arguments(self, x, xs, codes, scales):
        """In storage form, twice as matrices of a batch. x is f64, or codes."""
        def stack(array):
            return np.stack([array, array[::-1]]) if self.is_batch else array

        if not self.is_pair:
            x = to_bf16(x.astype(np.float32)) if self.plain == "bf16" else x.astype(np.float16)
            x = np.ascontiguousarray(x.T) if self.is_plain_transposed else x
        out = [stack(pack(x) if self.is_pair else x)] + ([stack(xs)] if self.is_pair else [])
        codes = pack(codes) if self.data == "f4E2M1FN" else codes
        return out + [stack(codes), swizzle(stack(scales)) if self.is_swizzled else stack(scales)]


def decode(element):
    """The value of each code."""
    if element == "i8":
        return np.arange(256).astype(np.uint8).view(np.int8) / 64
    codec = CODECS[element]
    return codec.decode(np.arange(2 * codec.sign_bit)).astype(np.float64)


def legal_scales(element):
    """Each byte that has a meaning."""
    return np.array([*range(127), 255] if element == "f8E4M3FN" else range(256), np.uint8)


def identity(product):
    """The identity, beside each code with each scale. The codes of a block have similar
    magnitudes."""
    values = decode(product.data)
    codes = np.argsort(np.abs(values), kind="stable").astype(np.uint8).reshape(-1, min(
        product.block, len(values)))
    codes = np.tile(codes, (1, product.block // codes.shape[1]))
    scales = legal_scales(product.scale)
    scales, rows = np.repeat(scales, len(codes))[:, None], np.tile(codes, (len(scales), 1))
    one = np.eye(product.block)
    if not product.is_pair:
        return product.arguments(one, None, rows, scales)
    number = int(np.argmax(decode(product.plain) == 1))
    unit = np.full((product.block, 1), {"f8E4M3FN": 0x38, "f8E8M0FNU": 127}[product.scale],
                   np.uint8)
    return product.arguments((one * number).astype(np.uint8), unit, rows, scales)


def exact(product, random):
    """Multiples of 1/8 below 16 and scales of 1/2 to 2, so that f32 holds each sum."""
    values = np.abs(decode(product.data))
    values = np.where(values < 16, values, np.nan)
    codes = np.flatnonzero(np.rint(values * 8) == values * 8).astype(np.uint8)
    near_one = {"f8E4M3FN": (0x30, 0x38, 0x40), "f8E8M0FNU": (126, 127, 128)}[product.scale]
    rows, others, k = 37, 29, 5 * product.block
    scales = random.choice(np.array(near_one, np.uint8), (rows, 5))
    if product.is_pair:
        x = random.choice(codes, (others, k))
        xs = random.choice(np.array(near_one, np.uint8), (others, 5))
    else:
        x, xs = random.integers(-16, 17, (others, k)).astype(np.float64), None
    return product.arguments(x, xs, random.choice(codes, (rows, k)), scales)


def list_products():
    """Products that the pass rewrites, in each form."""
    nvfp4, mx = ("f4E2M1FN", "f8E4M3FN"), "f8E8M0FNU"
    forms = [(*nvfp4, wide, plain, {}) for wide in ("f32", "bf16", "f16")
             for plain in ("bf16", "f16")]
    forms += [(data, mx, "bf16", "bf16", {}) for data in MX]
    forms += [(data, mx, "f32", "bf16", {}) for data in EXACT_MX]
    forms += [(*nvfp4, wide, "f4E2M1FN", {}) for wide in ("f32", "bf16", "f16")]
    # Global scales with which all values are exact.
    forms += [(*nvfp4, "f32", "f16", {"factor": "0.25"}), (*nvfp4, "f16", "f16", {"factor": "8.0"}),
              (*nvfp4, "f32", "f4E2M1FN", {"factor": "4.0", "side": "a"}),
              (*nvfp4, "f32", "bf16", {"is_generic": True}),
              (*nvfp4, "bf16", "bf16", {"is_generic": True, "is_batch": True})]
    # Those with which values are rounded multiply elements, and so do powers of two beside bf16.
    forms += [(*nvfp4, "bf16", "bf16", {"factor": "1.1"}),
              (*nvfp4, "f16", "f16", {"factor": "1.1"}),
              (*nvfp4, "bf16", "bf16", {"factor": "2.0", "is_extended": True, "side": "a"}),
              (*nvfp4, "bf16", "bf16", {"factor": "1.1", "is_batch": True, "is_transposed": True,
                                        "is_swizzled": True}),
              (*nvfp4, "f16", "f16", {"factor": "0.7", "is_generic": True})]
    for weight in (nvfp4, ("f8E4M3FN", mx)):
        for options in ({"side": "a"}, {"is_batch": True}, {"is_extended": True},
                        {"is_transposed": True}, {"is_plain_transposed": True},
                        {"is_swizzled": True},
                        {"side": "a", "is_batch": True, "is_extended": True,
                         "is_transposed": True, "is_plain_transposed": True}):
            forms.append((*weight, "bf16", "bf16", options))
    return [Product(f"f{number}", data, scale, wide, plain, **options)
            for number, (data, scale, wide, plain, options) in enumerate(forms)]


def check_raised(folder, expect):
    products = list_products()
    text = "".join(product.text() for product in products)
    before = Module(text, folder, first_stage="form-kernels", optimize=False)
    after = Module(text, folder, ["--blockscale-to-cpu=to=canonicalize"], "form-kernels",
                   optimize=False)
    count = after.text.count(SCALED_MM)
    expect.record("products that are rewritten", None if count == len(products) else
                  f"expected {len(products)}, but got {count}")
    random = np.random.default_rng(1)
    for product in products:
        for kind, arguments in (("identity", identity(product)),
                                ("exact", exact(product, random))):
            want = before.call(product.name, *arguments)
            finite = np.isfinite(want[0]) & (want[0] != 0)
            expect.record(f"{product}: {kind}: numbers other than 0",
                          None if finite.mean() > 0.02 else f"only {finite.sum()}")
            expect.equal(f"{product}: {kind}", after.call(product.name, *arguments), want)


def check_kept(folder, expect):
    """Products that the pass keeps, with inputs on which scaled_mm is another number."""
    nvfp4, mx = ("f4E2M1FN", "f8E4M3FN"), "f8E8M0FNU"
    cases = [
        ("E4M3 in f32", ("f8E4M3FN", mx, "f32"), {}, identity),
        ("E5M2 in f32", ("f8E5M2", mx, "f32"), {}, identity),
        ("MX in f16", ("f4E2M1FN", mx, "f16"), {}, identity),
        ("two in MX", ("f4E2M1FN", mx, "f32"), {"plain": "f4E2M1FN"}, extremes),
        ("a global scale of f32", (*nvfp4, "f32"), {"factor": "1.1"}, identity),
        ("a sum from -0", (*nvfp4, "bf16"), {"zero": "-0.0"}, negative_zeros),
    ]
    products = [Product(f"f{number}", *types, **options)
                for number, (_, types, options, _) in enumerate(cases)]
    text = "".join(product.text() for product in products)
    raised = "".join(Product(**{**vars(product), "raised": True}).text() for product in products)
    kept = Module(text, folder, ["--blockscale-raise-products"], "form-kernels", optimize=False)
    other = Module(raised, folder, first_stage="form-kernels", optimize=False)
    count = kept.text.count(SCALED_MM)
    expect.record("products that are kept", None if count == 0 else
                  f"expected none to be rewritten, but got {count}")
    for product, (name, _, _, draw) in zip(products, cases):
        arguments = draw(product)
        pair = [module.call(product.name, *arguments) for module in (kept, other)]
        expect.record(f"{name}: scaled_mm is another number",
                      None if first_difference(*pair) else "expected a difference, but got none")


def extremes(product):
    """2^127 * 6 beside 2^-127."""
    ones = np.full((3, product.block), 7, np.uint8)
    return product.arguments(ones, np.full((3, 1), 0, np.uint8), ones,
                             np.full((3, 1), 254, np.uint8))


def negative_zeros(product):
    """0 times -6."""
    codes = np.full((3, product.block), 15, np.uint8)
    return product.arguments(np.zeros((3, product.block)), None, codes,
                             np.full((3, 1), 0x38, np.uint8))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where to compile")
    expect = Expectations()
    folder = parser.parse_args().folder
    check_raised(folder, expect)
    check_kept(folder, expect)
    expect.finish()


if __name__ == "__main__":
    main()
