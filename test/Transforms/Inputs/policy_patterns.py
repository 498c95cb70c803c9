# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random patterns in three places: in the policy of a program that blockscale-opt reads, in the
same policy for layers through Python, and as regular expressions of Python, which know characters.

Usage: policy_patterns.py FOLDER
"""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

from blockscale._policy import Layer, Rules, matches_pattern

COUNT, NAMES = 1000, 200
#: Of one to four bytes in UTF-8, in no order of code points.
CHARACTERS = "ab.\u00fc\u00e9\u65e5\u0101\U0001f600-,"


def draw_set(draw):
    """A set, or its complement, as a pattern and as an expression."""
    low, high = sorted(draw.choices("ab\u00e9\u00fc\u0101\u65e5\U0001f600", k=2))
    one = draw.choice("ab\u00e9\u65e5")
    inside = draw.choice((one, f"{low}-{high}", f"{low}-{high}{one}"))
    return draw.choice(((f"[{inside}]", f"[{inside}]"), (f"[!{inside}]", f"[^{inside}]"),
                        (f"[^{inside}]", f"[^{inside}]")))


def draw_pattern(draw, most=5, is_inside=False):
    """A pattern and the expression that means the same."""
    parts = []
    for _ in range(draw.randint(1, most)):
        kind = draw.choice("cccc**?s\\" + "{" * (not is_inside))
        if kind == "c":
            one = draw.choice(CHARACTERS[:-1])
            parts.append((one, re.escape(one)))
        elif kind == "*":
            parts.append(("*", ".*"))
        elif kind == "?":
            parts.append(("?", "."))
        elif kind == "s":
            parts.append(draw_set(draw))
        elif kind == "\\":
            one = draw.choice("*?[{\\\u00e9")
            parts.append(("\\" + one, re.escape(one)))
        else:
            inner = [draw_pattern(draw, 2, is_inside=True) for _ in range(draw.randint(2, 3))]
            parts.append((f"{{{','.join(each[0] for each in inner)}}}",
                          f"(?:{'|'.join(each[1] for each in inner)})"))
    return "".join(each[0] for each in parts), "".join(each[1] for each in parts)


def draw_name(draw):
    return "".join(draw.choices(CHARACTERS + "*?[{\\", (8,) * len(CHARACTERS) + (1,) * 5,
                                k=draw.randint(1, 6)))


def quote(name):
    """As MLIR writes it between quotes."""
    return "".join(chr(byte) if byte < 128 and chr(byte).isalnum() else f"\\{byte:02X}"
                   for byte in name.encode())


def main():
    folder = Path(sys.argv[1])
    draw = random.Random(1)
    patterns = [draw_pattern(draw) for _ in range(COUNT)]
    names = [draw_name(draw) for _ in range(NAMES)]
    expressions = [re.compile(expression, re.DOTALL) for _, expression in patterns]
    for (pattern, _), expression in zip(patterns, expressions, strict=True):
        for text in (draw.choice(names), pattern.replace("*", "a"), draw_name(draw)):
            found, wanted = matches_pattern(pattern, text), bool(expression.fullmatch(text))
            if found != wanted:
                sys.exit(f"expected {wanted} of '{pattern}' for '{text}', but got {found}")
    # Those of few names, so that many rules decide, and for some names none does.
    counts = [sum(bool(each.fullmatch(name)) for name in names) for each in expressions]
    order = [i for i in range(COUNT) if counts[i] <= 3]
    policy = {"version": 1, "rules": [{"match": {"location": patterns[i][0]}, "leave": True}
                                      for i in order]}
    path = folder / "policy.json"
    path.write_text(json.dumps(policy), encoding="utf-8")
    lines = ["func.func @f(%x: tensor<4x4xf32>) {"]
    for i, name in enumerate(names):
        lines.append(f"  %{i} = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) "
                     f'outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32> loc("{quote(name)}")')
    module = folder / "m.mlir"
    module.write_text("\n".join([*lines, "  return", "}", ""]), encoding="utf-8")
    printed = subprocess.run(
        ["blockscale-opt", module, f"--blockscale-quantize-products=policy={path}", "-o",
         "/dev/null"], check=True, capture_output=True, text=True).stderr
    of_program = [0 if found == "none" else int(re.search(r"rule (\d+) of", found)[1])
                  for found in re.findall(r"policy_c1\): expected .*, but got (none|rule .*)$",
                                          printed, re.MULTILINE)]
    rules = Rules(path)
    of_layers, wanted = [], []
    for name in names:
        rule = re.search(r"rule (\d+) of", rules.decide(Layer(name, 4, 4, False), "f32").rule)
        of_layers.append(int(rule[1]) if rule else 0)
        wanted.append(next((number for number, i in enumerate(order, 1)
                            if expressions[i].fullmatch(name)), 0))
    for what, found in (("program", of_program), ("layers", of_layers)):
        if found != wanted:
            differing = [(name, *each) for name, *each in zip(names, wanted, found, strict=False)
                         if each[0] != each[1]]
            sys.exit(f"expected {len(wanted)} decisions of the {what} to be those of the "
                     f"definition, but got {len(found)}, of which differ {differing[:5]}")
    print(f"{COUNT} patterns, {len(names)} names: {sum(map(bool, wanted))} of them match one, and "
          "the program, the layers and the definition agree")


if __name__ == "__main__":
    main()
