# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of MLIR in which one thing nests in itself.

    nested.py KIND LEVELS > FILE
"""

import sys

#: What is before, what opens and closes each level, and what is behind.
KINDS = {
    "regions": ("", '"a.b"() ({\n', "}) : () -> ()\n", ""),
    "modules": ("", "module {\n", "}\n", ""),
    "branches": ("func.func @f(%c: i1, %x: f32) {\n", "scf.if %c {\n", "}\n",
                 "return\n}\n"),
    "attributes": ("module attributes {a = ", "[", "]", "} {}"),
    "types": ("func.func private @f(", "tuple<\n", ">", ")"),
    "functions": ("func.func private @f(", "() -> (", ")", ")"),
    "locations": ("module {} loc(", 'callsite("a" at ', ")", ")"),
    "negations": ("module attributes {a = affine_map<(d0) -> (", "- ", "", "d0)>} {}"),
    "sums": ("module attributes {a = affine_map<(d0) -> (", "d0 floordiv 2 + ", "", "d0)>} {}"),
}
#: What stands in the innermost level.
INNER = {"locations": '"b"', "branches": "vector.print %x : f32\n"}


def write(kind, levels):
    if kind == "aliases":
        lines = [f"#a{i + 1} = [#a{i}]\n" for i in range(levels)]
        return "".join(["#a0 = 1\n", *lines, f"module attributes {{a = #a{levels}}} {{}}\n"])
    before, begin, end, after = KINDS[kind]
    return before + begin * levels + INNER.get(kind, "") + end * levels + after


if __name__ == "__main__":
    sys.stdout.write(write(sys.argv[1], int(sys.argv[2])))
