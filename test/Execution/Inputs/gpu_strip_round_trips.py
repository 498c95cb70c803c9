# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs quantizations in blocks of several rows, and several quantizations of one x, whose codes
are dequantized, in the emulator, where one kernel does all, and on the CPU, where each op has its
own: the bytes are the same, those of the values and, where they are returned, those of codes and
scales.

Usage: gpu_strip_round_trips.py FOLDER
"""

from dataclasses import dataclass

import numpy as np

from block_shapes import tensor
from gpu_round_trips import SWIZZLED, draw_x, ends, global_scale, main, square
from reference import to_bf16


@dataclass
class Part:
    """A quantization of x, or of its transform with `rht`, and its dequantization where v is
    returned. `returns` has q for codes, s for scales and v for values; `scale_dim` is k or n.
    With `shares_global` values are those under the global scale of the quantization."""

    block: tuple
    returns: str
    transposed: bool = False
    scale_dim: str = ""
    data: str = "f8E4M3FN"
    recipe: str = ""
    value: str = "bf16"
    layout: str = ""
    form: str = ""
    operands: tuple = ()
    rht: bool = False
    shares_global: bool = False

    def text(self, number, shape, x, first):
        """Lines, results and their types; operands are named from number `first` on."""
        *batch, rows, cols = shape

        def divide(size, block):
            return None if size is None else -(-size // block)

        blocks = divide(rows, self.block[0]), divide(cols, self.block[1])
        data, scales = (rows, cols), blocks
        read_block = self.block
        if self.transposed:
            data, scales, read_block = data[::-1], scales[::-1], read_block[::-1]
        if self.scale_dim:
            # Scales of squares, one for each row of what a product reads.
            side = self.block[0]
            scales = (rows, blocks[1]) if self.scale_dim == "k" else (cols, blocks[0])
            read_block = (1, side)
        is_nvfp4 = max(self.block) == 16
        types = {"q": tensor((*batch, *data), self.data),
                 "s": tensor((*batch, *scales), "f8E4M3FN" if is_nvfp4 else "f8E8M0FNU"),
                 "v": tensor((*batch, *data), self.value)}
        if self.layout:
            types["s"] = f"{types['s'][:-1]}, {self.layout}>"
        recipe = f" recipe {self.recipe}" if self.recipe else ""
        words = " transposed" if self.transposed else ""
        words += f" scale_dim {self.scale_dim}" if self.scale_dim else ""
        form = self.form.format(*(f"%o{first + i}" for i in range(len(self.operands))))
        type = tensor(shape, x)
        lines, name = "", "%x"
        if self.rht:
            name = f"%h{number}"
            lines = f"  {name} = blockscale.hadamard %x dim 0 sign_mask 45057 : {type}\n"
        lines += (f"  %q{number}, %s{number} = blockscale.quantize {name} block "
                  f"{list(self.block)}{words}{recipe}{form} : {type} -> {types['q']}, "
                  f"{types['s']}\n")
        if "v" in self.returns:
            lines += (f"  %v{number} = blockscale.dequantize %q{number}, %s{number} block "
                      f"{list(read_block)}{recipe}{form if self.shares_global else ''} "
                      f"unchecked_origins : {types['q']}, "
                      f"{types['s']} -> {types['v']}\n")
        return (lines, [f"%{letter}{number}" for letter in self.returns],
                [types[letter] for letter in self.returns])


@dataclass
class Trip:
    """`made` says whether x is the square of the argument, `hard` that its blocks are of all
    exponents. `dynamic` is for the number of rows, `any_length` for that of columns, too."""

    shape: tuple
    parts: tuple
    x: str = "bf16"
    made: bool = False
    dynamic: bool = True
    any_length: bool = False
    hard: bool = False

    def text(self):
        shape = (*self.shape[:-2], None if self.dynamic else self.shape[-2],
                 None if self.any_length else self.shape[-1])
        type = tensor(shape, self.x)
        lines, results, types, arguments = "", [], [], [("%arg" if self.made else "%x", type)]
        if self.made:
            lines = square("%arg", "%x", type, self.x, len(shape))
        for number, part in enumerate(self.parts):
            some = part.text(number, shape, self.x, len(arguments) - 1)
            arguments += [(f"%o{len(arguments) - 1 + i}", each)
                          for i, (each, _) in enumerate(part.operands)]
            lines, results, types = lines + some[0], results + some[1], types + some[2]
        listed = ", ".join(f"{name}: {each}" for name, each in arguments)
        return (f"func.func @trip({listed}) -> ({', '.join(types)}) {{\n{lines}"
                f"  return {', '.join(results)} : {', '.join(types)}\n}}\n")

    def returned(self):
        """The element types of values, and nothing for codes and scales."""
        return [part.value if letter == "v" else ""
                for part in self.parts for letter in part.returns]

    def arrays(self, random):
        x = draw_hard(random, self.shape) if self.hard else draw_x(random, self.shape, self.x)
        return [x, *(array for part in self.parts for _, array in part.operands)]


@dataclass
class Chain:
    """The values of NVFP4 of x [rows, cols] under the global scale of its own amax. The quantizer
    takes the `amax` itself or its scale. The sizes are dynamic."""

    shape: tuple
    recipe: str
    amax: bool
    block: tuple = (1, 16)
    zero: bool = False
    launches = 2  # One takes parts of the amax.

    def text(self):
        x, data, scales = (tensor((None, None), each) for each in ("bf16", "f4E2M1FN", "f8E4M3FN"))
        recipe = f" recipe {self.recipe}"
        taken = "global_amax(%a" if self.amax else "global_scale(%g"
        return (f"func.func @trip(%x: {x}) -> ({x}, {scales}, tensor<f32>) {{\n"
                f"  %a = blockscale.amax %x : {x} -> tensor<f32>\n"
                f"  %g = blockscale.global_scale %a{recipe} nonzero_amax : tensor<f32>\n"
                f"  %q, %s = blockscale.quantize %x block {list(self.block)}{recipe} "
                f"{taken} : tensor<f32>) : {x} -> {data}, {scales}\n"
                f"  %v = blockscale.dequantize %q, %s block {list(self.block)}{recipe} "
                f"global_scale(%g : tensor<f32>) : {data}, {scales} -> {x}\n"
                f"  return %v, %s, %g : {x}, {scales}, tensor<f32>\n}}\n")

    def returned(self):
        return ["bf16", "", "f32"]

    def arrays(self, random):
        x = random.standard_normal(self.shape) * 2.0 ** random.integers(-12, 13, self.shape)
        return [to_bf16(np.float32(x * (not self.zero)))]


def draw_hard(random, shape):
    """bf16 bits of all mantissas, of exponents from that of their block down, which itself is any;
    blocks of zeros of both signs, infinities, NaN and the largest numbers are among them."""
    *rows, cols = shape
    most = np.repeat(random.integers(-20, 255, (*rows, -(-cols // 32))), 32, -1)[..., :cols]
    exponents = np.clip(most - random.integers(0, 21, shape), 0, 254)
    bits = exponents << 7 | random.integers(0, 128, shape) | random.integers(0, 2, shape) << 15
    flat = bits.reshape(-1)
    for special in (0x7F80, 0xFF80, 0x7FC0, 0x7F7F, 0xFF7F, 0x8000):
        flat[random.integers(flat.size, size=3)] = special
    flat[:32] = random.integers(0, 2, 32) << 15
    return bits.astype(np.uint16)


NVFP4 = {"data": "f4E2M1FN"}
SEED = {"form": " rng({0} : tensor<2xi64>)",
        "operands": (("tensor<2xi64>", np.array((7, 1), np.int64)),)}
TRIPS = (
    # The rows and columns of one x: what each of both is decoded to, and codes as well.
    Trip((96, 128), (Part((1, 32), "v"), Part((32, 1), "v", transposed=True))),
    Trip((160, 96), (Part((1, 32), "v"), Part((32, 1), "qs", transposed=True))),
    Trip((160, 96), (Part((1, 32), "qs"), Part((32, 1), "qsv", transposed=True, value="f32"))),
    Trip((64, 80), (Part((1, 16), "qsv", **NVFP4),
                    Part((16, 1), "v", transposed=True, value="f16", **NVFP4))),
    # The last blocks of rows and of columns are not whole, and rows of codes have odd numbers.
    Trip((53, 77), (Part((1, 16), "qsv", recipe="te", **NVFP4, **global_scale(0.02)),
                    Part((16, 1), "qsv", transposed=True, recipe="te", **NVFP4,
                         **global_scale(0.03))), dynamic=False),
    Trip((37, 43), (Part((16, 1), "v", transposed=True, recipe="te", **NVFP4),)),
    # Scales in tiles, of which padding is written.
    Trip((96, 64), (Part((1, 32), "sv", layout=SWIZZLED),
                    Part((32, 1), "qsv", transposed=True, data="f8E5M2", layout=SWIZZLED))),
    # Squares, with a scale of their own or one for each row.
    Trip((64, 96), (Part((32, 32), "v", scale_dim="k", data="f8E5M2"),
                    Part((32, 32), "v", transposed=True, scale_dim="n", value="f32"))),
    Trip((48, 64), (Part((16, 16), "qsv", **NVFP4),)),
    Trip((48, 64), (Part((16, 16), "v", transposed=True, recipe="modelopt", **NVFP4,
                         **global_scale(0.5)),)),
    # Blocks of one column in the order of x, and other elements.
    Trip((64, 53), (Part((32, 1), "v", data="f6E2M3FN"),), dynamic=False),
    Trip((64, 68), (Part((32, 1), "v", data="f6E3M2FN"),), x="f32"),
    Trip((64, 96), (Part((32, 1), "v", transposed=True, value="f32"),), x="f32"),
    Trip((64, 96), (Part((32, 1), "sv", transposed=True),), x="f16"),
    Trip((2, 64, 64), (Part((1, 32), "v"), Part((32, 1), "v", transposed=True))),
    # Transforms, random rounding, 4over6, x that is computed, and groups.
    Trip((64, 64), (Part((1, 16), "v", **NVFP4),
                    Part((16, 1), "v", transposed=True, rht=True, **NVFP4, **SEED))),
    Trip((64, 64), (Part((16, 1), "v", transposed=True, recipe="te_4over6_mse", **NVFP4,
                         **global_scale(0.02)),)),
    Trip((64, 96), (Part((1, 32), "v"), Part((32, 1), "v", transposed=True)), made=True),
    Trip((128, 64), (Part((1, 32), "v"), Part((32, 1), "qsv", transposed=True,
                                              **ends(32, 32, 96)))),
    # Values alone, by each rule of scales and for elements of each format.
    *(Trip((64, 96), (Part((1, 32), "v", data=data, recipe=recipe),
                      Part((32, 1), "sv", transposed=True, data=data, recipe=recipe)), hard=True)
      for data, recipe in (("f8E4M3FN", "rceil"), ("f8E4M3FN", "rceil_sat"), ("f8E4M3FN", "floor"),
                           ("f8E5M2", "even"), ("f6E2M3FN", "ceil"), ("f6E3M2FN", "tosa"),
                           ("f4E2M1FN", "rceil"), ("f4E2M1FN", "floor"),
                           ("f4E2M1FN", "compressed_tensors"))),
    Trip((96, 64), (Part((32, 32), "v"),), hard=True),
    Trip((64, 44), (Part((32, 1), "v", recipe="ceil"),), hard=True, dynamic=False),
    *(Trip((48, 64), (Part((1, 16), "v", recipe=recipe, **NVFP4),
                      Part((16, 1), "v", transposed=True, recipe=recipe, **NVFP4)), hard=True)
      for recipe in ("torchao", "mslk", "te", "torchao_training", "compressed_tensors")),
    Trip((48, 64), (Part((16, 16), "v", **NVFP4),), hard=True),
    # Values of rows alone, whose strips are long, and of which the last has fewer rows and columns.
    Trip((21, 544), (Part((1, 32), "v"),), any_length=True, hard=True),
    Trip((2, 13, 272), (Part((1, 16), "v", **NVFP4),), any_length=True),
    Trip((37, 288), (Part((1, 32), "v", data="f4E2M1FN", value="f32"),), any_length=True),
    Trip((50, 96), (Part((1, 32), "v", data="f6E3M2FN"),), any_length=True),
    # The same under random bits, and squares, whose rows share such in other ways.
    Trip((21, 272), (Part((1, 16), "v", **NVFP4, **SEED),), any_length=True),
    Trip((37, 288), (Part((1, 32), "v", data="f4E2M1FN", value="f32", **SEED),), any_length=True),
    Trip((48, 64), (Part((16, 16), "v", **NVFP4, **SEED),)),
    Trip((64, 64), (Part((1, 32), "v", data="f4E2M1FN", **SEED),
                    Part((32, 1), "v", transposed=True, data="f4E2M1FN", **SEED)), hard=True),
    # Under a global scale, of x or that is given, which may be less than 0.
    Trip((48, 64), (Part((1, 16), "v", shares_global=True, **NVFP4, **global_scale(-0.02)),
                    Part((16, 1), "v", transposed=True, shares_global=True, **NVFP4,
                         **global_scale(0.3)))),
    Trip((48, 64), (Part((16, 16), "v", **NVFP4, **global_scale(-0.02)),)),
    Trip((48, 64), (Part((16, 16), "v", recipe="modelopt", shares_global=True, **NVFP4,
                         **global_scale(0.02)),)),
    Chain((77, 256), "torchao", amax=False), Chain((77, 272), "te", amax=True),
    Chain((64, 128), "mslk", amax=True, zero=True),
    Chain((160, 256), "torchao", amax=False, block=(16, 16)),
)


if __name__ == "__main__":
    main(TRIPS)
