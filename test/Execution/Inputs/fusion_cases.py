# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizations of rows of x and of columns of its transform, of sizes that kernels of
TransformerEngine take or do not (C3, C4), for gpu_fusion.py, gpu_traffic.py and
cpu_fusion.py."""

from dataclasses import dataclass

import numpy as np

import values
from ops import SWIZZLED, tensor

# C13: shapes, directions, and the sign mask on or off.
SHAPES = ((128, 128), (256, 256), (1024, 256), (2048, 2048), (8192, 1024), (8192, 5120),
          (8192, 10240), (16384, 8192), (16384, 16384))
DIRECTIONS = (("row",), ("col",), ("row", "col"))
MASKS = (None, 0)  # None: the default
GROUPS = 3
#: Elements of a block of NVFP4.
BLOCK = 16


@dataclass(frozen=True)
class Case:
    """A global amax of each direction is "computed" and a result, an operand that is
    "given", or "both", one beside the other. `swizzled` is by direction, too. Sizes may
    be '?'; of a case that `is_dynamic` types do not tell the rows."""

    shape: tuple
    directions: tuple
    mask: int = None
    globals: str = "computed"
    is_grouped: bool = False
    swizzled: tuple = (True, True)
    is_dynamic: bool = False
    is_stochastic: bool = False

    def __str__(self):
        more = "".join(f", {name}" for name in ("grouped", "dynamic", "stochastic")
                       if getattr(self, f"is_{name}"))
        return f"{self.shape} {'+'.join(self.directions)} mask {self.mask}, {self.globals}{more}"

    def draw(self, random, x=None):
        """Arrays of all operands that it may have, by name."""
        x = values.floats(random, self.shape, np.uint16, values.TAME) if x is None else x
        ends = np.sort(random.integers(0, self.shape[0] + 1, GROUPS))
        if "col" in self.directions:
            ends = ends // BLOCK * BLOCK  # Blocks of columns belong to one group.
        arrays = {"x": x, "offsets": ends.astype(np.int32),
                  "rng": random.integers(-1 << 63, 1 << 63, 2, np.int64)}
        for of in ("row", "col"):
            shape = (GROUPS,) if self.is_grouped else ()
            arrays[f"{of}_g"] = np.asarray(np.exp2(random.uniform(-4, 8, shape)), np.float32)
        return arrays

    def write(self, prefix=""):
        """Operands' names and types, the ops, and results' names and types."""
        x_type = tensor(self._typed_shape(), "bf16")
        operands, body, results = [("x", x_type)], [], []
        if self.is_grouped:
            operands.append(("offsets", f"tensor<{GROUPS}xi32>"))
        if self.is_stochastic:
            operands.append(("rng", "tensor<2xi64>"))
        of_groups = (f" offsets(%{prefix}offsets : tensor<{GROUPS}xi32>)"
                     if self.is_grouped else "")
        rng = f" rng(%{prefix}rng : tensor<2xi64>)" if self.is_stochastic else ""
        global_type = tensor((GROUPS,) * self.is_grouped, "f32")
        if "col" in self.directions:
            mask = "" if self.mask is None else f" sign_mask {self.mask}"
            body.append(f"%{prefix}h = blockscale.hadamard %{prefix}x dim 0{mask} : {x_type}")
        for of in self.directions:
            source = f"%{prefix}{'x' if of == 'row' else 'h'}"
            amax = f"{of}_a"
            if self.globals != "given":
                body.append(f"%{prefix}{amax} = blockscale.amax {source}{of_groups} : {x_type} -> "
                            f"{global_type}")
                results.append((amax, global_type))
            if self.globals != "computed":
                amax = f"{of}_g"
                operands.append((amax, global_type))
            types = self._result_types(of)
            block = "[1, 16]" if of == "row" else "[16, 1] transposed"
            groups = f"{of_groups} group_dim 0" if self.is_grouped else ""
            body.append(f"%{prefix}{of}_q, %{prefix}{of}_s = blockscale.quantize {source} block "
                        f"{block} recipe te global_amax(%{prefix}{amax} : {global_type}){rng}"
                        f"{groups} : {x_type} -> {', '.join(types)}")
            results += zip((f"{of}_q", f"{of}_s"), types)
        return operands, body, results

    def _typed_shape(self):
        *lead, m, k = self.shape
        return (*lead, "?" if self.is_dynamic else m, k)

    def _result_types(self, of):
        *lead, m, k = self._typed_shape()
        rows, cols = (m, k) if of == "row" else (k, m)
        layout = SWIZZLED if self.swizzled[of == "col"] else None
        if layout and self.is_grouped:
            layout = (f"#blockscale.layout<swizzle_128x4, groups = {GROUPS}, "
                      f"dim = {int(of == 'col')}>")
        blocks = cols if cols == "?" else -(-cols // 16)
        return (tensor((*lead, rows, cols), "f4E2M1FN"),
                tensor((*lead, rows, blocks), "f8E4M3FN", layout))


def function(cases, name="cases"):
    """The text of a function that is all cases, one after the other."""
    operands, lines, results = [], [], []
    for i, case in enumerate(cases):
        prefix = f"c{i}_"
        given, body, made = case.write(prefix)
        operands += [f"%{prefix}{operand}: {type}" for operand, type in given]
        lines += [f"  {line}\n" for line in body]
        results += [(f"%{prefix}{result}", type) for result, type in made]
    names, types = (", ".join(part) for part in zip(*results))
    return (f"func.func @{name}({', '.join(operands)}) -> ({types}) {{\n{''.join(lines)}"
            f"  return {names} : {types}\n}}\n")


def operands_of(case, arrays):
    return [arrays[name] for name, _ in case.write()[0]]


def listed(most):
    """The cases of C13 with at most so many elements."""
    return [Case(shape, directions, mask) for shape in SHAPES if np.prod(shape) <= most
            for directions in DIRECTIONS for mask in MASKS]


def is_eligible(shape, is_grouped):
    """Whether kernels of TransformerEngine take it, leading dimensions flattened into rows."""
    *rows, k = shape
    return np.prod(rows) % (128 if is_grouped else 64) == 0 and k % 128 == 0


def draw_case(random, directions=None, **options):
    """Up to 256x512, of any sizes; `options` are those of Case."""
    options.setdefault("is_grouped", bool(random.random() < 0.3))
    options.setdefault("is_stochastic", bool(random.random() < 0.3))
    options.setdefault("is_dynamic", bool(random.random() < 0.5))
    lead = () if options["is_grouped"] else ((), (), (2,), (3,))[random.integers(4)]
    m = 16 * int(random.integers(1, 16 // max(lead, default=1) + 1))
    k = int(random.choice((2, 16, 128), p=(0.2, 0.3, 0.5)))
    k *= int(random.integers(1, 512 // k + 1))
    globals_ = options.pop("globals", ("computed", "given", "both")[random.integers(3)])
    return Case((*lead, m, k), directions or DIRECTIONS[random.integers(3)],
                MASKS[random.integers(2)], globals_,
                swizzled=tuple(bool(random.random() < 0.7) for _ in range(2)), **options)
