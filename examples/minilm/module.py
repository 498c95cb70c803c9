# ===- module.py - The modules that are compiled --------------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""MLIR text of the example's functions, in logical types.

Each function returns everything it computes, so that all of it can be checked:
for an operand x the codes %qx, the scales %sx and, where the format has one, the
global scale %gx; then the product %y in f32.
"""

DENSE, GROUPED, QUANTIZER = "dense", "grouped", "quantize"


def dense(format, k, n):
    """@dense: y = x W^T for any number of tokens; all scales swizzled."""
    f = _Function(DENSE, format)
    f.argument("x", f"?x{k}xbf16")
    f.argument("w", f"{n}x{k}xbf16")
    f.quantize("x", "?", k, "swizzled")
    f.quantize("w", n, k, "swizzled")
    f.multiply("scaled_mm", f"?x{n}xf32")
    return f.module()


def grouped(format, tokens, k, n, experts):
    """@grouped: rows of group e of x times W[e]^T, `ends` being the groups' ends.

    Every expert has its own global scale, and every group's scales are laid out
    on their own.
    """
    f = _Function(GROUPED, format, experts)
    f.argument("x", f"{tokens}x{k}xbf16")
    f.argument("w", f"{experts}x{n}x{k}xbf16")
    f.argument("ends", f"{experts}xi32")
    f.quantize("x", tokens, k, "grouped")
    f.quantize("w", f"{experts}x{n}", k, "swizzled", experts)
    f.multiply("scaled_grouped_mm", f"{tokens}x{n}xf32", offsets="ends")
    return f.module()


def quantizer(format, k):
    """@quantize: any number of rows; a global scale is an argument, %gx."""
    f = _Function(QUANTIZER, format)
    f.argument("x", f"?x{k}xbf16")
    if format.has_global:
        f.argument("gx", "f32")
    f.quantize("x", "?", k, "swizzled")
    return f.module()


class _Function:
    """A func.func under construction; values are known by name."""

    def __init__(self, name, format, groups=0):
        self.name, self.format, self.groups = name, format, groups
        self.types, self.arguments, self.results, self.lines = {}, [], [], []

    def argument(self, name, type):
        self.types[name] = f"tensor<{type}>"
        self.arguments.append(name)

    def op(self, results, text, operands, same_type=False):
        """`results` maps the new values' names to their types."""
        self.types.update({r: f"tensor<{t}>" for r, t in results.items()})
        names = ", ".join(f"%{r}" for r in results)
        signature = ", ".join(self.types[o] for o in operands)
        if not same_type:
            signature += " -> " + ", ".join(self.types[r] for r in results)
        self.lines.append(f"{names} = blockscale.{text} : {signature}")

    def quantize(self, x, rows, k, layout, experts=0):
        """%q, %s and %g of %x; a grouped layout is a step of its own."""
        block, recipe = self.format.block, self.format.recipe
        data = f"{rows}x{k}x{self.format.data}"
        scale = f"{rows}x{k // block}x{self.format.scale}"
        text = f"quantize %{x} block [1, {block}] recipe {recipe}"
        computed = self.format.has_global and "g" + x not in self.types
        if computed:
            self._global_scale(x, f"{experts}xf32" if experts else "f32")
        if self.format.has_global:
            text += f" global_scale(%g{x} : {self.types['g' + x]})"
        if layout == "grouped":
            self.op({"q" + x: data, "linear_s" + x: scale}, text, [x])
            text = f"swizzle %linear_s{x} offsets(%ends : {self.types['ends']})"
            self.op({"s" + x: f"{scale}, #grouped"}, text, ["linear_s" + x])
        else:
            self.op({"q" + x: data, "s" + x: f"{scale}, #swizzled"}, text, [x])
        self.results += ["q" + x, "s" + x] + (["g" + x] if computed else [])

    def _global_scale(self, x, type):
        self.op({"a" + x: type}, f"amax %{x}", [x])
        text = f"global_scale %a{x} recipe {self.format.recipe}"
        self.op({"g" + x: type}, text, ["a" + x], same_type=True)

    def multiply(self, op, type, offsets=None):
        text = f"{op} %qx, %qw" + (f" offsets(%{offsets})" if offsets else "")
        text += f" scales(%sx, %sw) block [1, {self.format.block}]"
        if self.format.has_global:
            for side, g in (("a", "gx"), ("b", "gw")):
                text += f" global_scale_{side}(%{g} : {self.types[g]})"
        operands = ["qx", "qw", *([offsets] if offsets else []), "sx", "sw"]
        self.op({"y": type}, text, operands)
        self.results.append("y")

    def module(self):
        """The module's text and the names of its results."""
        arguments = ", ".join(f"%{a}: {self.types[a]}" for a in self.arguments)
        types = ", ".join(self.types[r] for r in self.results)
        lines = ["#swizzled = #blockscale.layout<swizzle_128x4>"]
        if self.groups:
            layout = f"swizzle_128x4, groups = {self.groups}, dim = 0"
            lines.append(f"#grouped = #blockscale.layout<{layout}>")
        lines.append(f"\nfunc.func @{self.name}({arguments})\n    -> ({types}) {{")
        lines += ["  " + line for line in self.lines]
        lines.append(
            f"  return {', '.join('%' + r for r in self.results)} : {types}\n}}\n"
        )
        return "\n".join(lines), list(self.results)
