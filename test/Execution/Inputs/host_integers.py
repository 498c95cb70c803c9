# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers that decide where a slice begins, computed by the CPU and by the host of a GPU: both
have the number that Python computes, or the host refuses the call.

Usage: host_integers.py FOLDER
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations

WIDTHS = {"i32": 32, "i64": 64, "index": 64}
TYPES = {"i32": np.int32, "i64": np.int64, "index": np.int64, "i1": np.bool_}
#: x[i] is i, and a slice begins at the number plus this one.
SIZE, MIDDLE = 64, 20


@dataclass
class Case:
    """What the body makes of %n and %m, `numbers` of `type`, as an index %k: `wanted`. Whether the
    host `refuses` it."""

    name: str
    type: str
    body: str
    numbers: tuple
    wanted: int
    refuses: bool = False

    def text(self):
        arguments = f"%x: tensor<{SIZE}xf32>, %n: {self.type}, %m: {self.type}"
        return f"""func.func @f({arguments}) -> tensor<1xf32> {{
  %middle = arith.constant {MIDDLE} : index
  %zero = arith.constant 0 : index
  %last = arith.constant {SIZE - 1} : index
{self.body}
  %0 = arith.addi %k, %middle : index
  %1 = arith.maxsi %0, %zero : index
  %2 = arith.minsi %1, %last : index
  %y = tensor.extract_slice %x[%2] [1] [1] : tensor<{SIZE}xf32> to tensor<1xf32>
  return %y : tensor<1xf32>
}}
"""


def to_index(type, value="%r"):
    if type == "index":
        return f"  %k = arith.addi {value}, %zero : index"
    return f"  %k = arith.index_cast {value} : {type} to index"


def choose(condition="%q"):
    return (f"  %yes = arith.constant 5 : index\n  %no = arith.constant 9 : index\n"
            f"  %k = arith.select {condition}, %yes, %no : index")


def wrap(number, width):
    return (number + 2 ** (width - 1)) % 2 ** width - 2 ** (width - 1)


def cases():
    def truncated(a, b):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    signed = {"divsi": truncated, "remsi": lambda a, b: a - b * truncated(a, b),
              "floordivsi": lambda a, b: a // b, "ceildivsi": lambda a, b: -(-a // b),
              "minsi": min, "maxsi": max, "addi": lambda a, b: a + b, "subi": lambda a, b: a - b,
              "muli": lambda a, b: a * b}
    unsigned = {"divui": lambda a, b: a // b, "remui": lambda a, b: a % b,
                "ceildivui": lambda a, b: -(-a // b), "minui": min, "maxui": max}
    relations = {"slt": lambda a, b: a < b, "sge": lambda a, b: a >= b}
    unsigned_relations = {"ult": lambda a, b: a < b, "ule": lambda a, b: a <= b,
                          "ugt": lambda a, b: a > b, "uge": lambda a, b: a >= b}
    for type, width in WIDTHS.items():
        def without_sign(number, width=width):
            return number % 2 ** width

        for op, compute in signed.items():
            for a, b in ((-7, 2), (-8, 2), (7, 2), (-7, 1)):
                yield Case(op, type, f"  %r = arith.{op} %n, %m : {type}\n{to_index(type)}", (a, b),
                           compute(a, b))
        for op, compute in unsigned.items():
            for a, b in ((-7, 2), (7, 2)):
                number = wrap(compute(without_sign(a), without_sign(b)), width)
                yield Case(op, type, f"  %r = arith.{op} %n, %m : {type}\n{to_index(type)}", (a, b),
                           number, refuses=a < 0)
        for names, is_signed in ((relations, True), (unsigned_relations, False)):
            for name, compute in names.items():
                for a, b in ((-7, 2), (7, 2), (3, 3), (2, -7)):
                    holds = compute(a, b) if is_signed else compute(
                        without_sign(a), without_sign(b))
                    yield Case(f"cmpi {name}", type,
                               f"  %q = arith.cmpi {name}, %n, %m : {type}\n{choose()}", (a, b),
                               5 if holds else 9, refuses=not is_signed and min(a, b) < 0)
    for number in (-5, 5):
        body = ("  %r = arith.extui %n : i32 to i64\n  %c = arith.constant 4294967290 : i64\n"
                "  %s = arith.remsi %r, %c : i64\n")
        yield Case("extui", "i32", body + to_index("i64", "%s"), (number, 0),
                   number % 2 ** 32 % 4294967290, refuses=number < 0)
        body = ("  %r = arith.index_castui %n : i32 to index\n"
                "  %c = arith.constant 4294967290 : index\n  %k = arith.remsi %r, %c : index")
        yield Case("index_castui", "i32", body, (number, 0), number % 2 ** 32 % 4294967290,
                   refuses=number < 0)
    for number in (3, -3, 2 ** 32 + 3, -2 ** 32 - 3):
        body = f"  %r = arith.trunci %n : i64 to i32\n{to_index('i32')}"
        yield Case("trunci", "i64", body, (number, 0), wrap(number, 32), abs(number) > 2 ** 31)
        # MLIR folds a cast and back to the number itself.
        body = (f"  %c = arith.constant 1 : i32\n  %s = arith.index_cast %n : index to i32\n"
                f"  %r = arith.addi %s, %c : i32\n{to_index('i32')}")
        yield Case("index_cast", "index", body, (number, 0), wrap(number, 32) + 1,
                   abs(number) > 2 ** 31)
        body = f"  %q = arith.trunci %n : i64 to i1\n{choose()}"
        yield Case("trunci to i1", "i64", body, (number + 1, 0), 5 if (number + 1) % 2 else 9)
    for op, a, b in (("addi", 2 ** 31 - 1, 3), ("subi", -2 ** 31, 3),
                     ("muli", 2 ** 16 + 1, 2 ** 16)):
        body = (f"  %r = arith.{op} %n, %m : i32\n  %c = arith.constant 31 : i32\n"
                f"  %s = arith.remsi %r, %c : i32\n{to_index('i32', '%s')}")
        number = wrap({"addi": a + b, "subi": a - b, "muli": a * b}[op], 32)
        yield Case(f"{op} that wraps", "i32", body, (a, b), signed["remsi"](number, 31), True)
    for a, b in ((True, False), (False, True), (True, True)):
        # As a signed number, true is -1.
        body = f"  %q = arith.cmpi slt, %n, %m : i1\n{choose()}"
        yield Case("cmpi of i1", "i1", body, (a, b), 5 if a and not b else 9)
    for begin, end in ((1, 4), (2 ** 31 - 3, -2 ** 31 + 4)):
        body = ("  %one = arith.constant 1 : i32\n  %i1 = arith.constant 1 : index\n"
                "  %k = scf.for unsigned %i = %n to %m step %one iter_args(%a = %zero) -> (index) "
                ": i32 {\n    %b = arith.addi %a, %i1 : index\n    scf.yield %b : index\n  }")
        yield Case("scf.for unsigned", "i32", body, (begin, end), (end - begin) % 2 ** 32,
                   refuses=end < 0)


def main():
    folder = Path(sys.argv[1])
    expect = Expectations()
    every = list(cases())
    np.save(folder / "x.npy", np.arange(SIZE, dtype=np.float32))
    lines, outs = [], []
    for number, case in enumerate(every):
        (folder / f"{number}.mlir").write_text(case.text())
        for name, value in zip("nm", case.numbers):
            np.save(folder / f"{number}_{name}.npy", TYPES[case.type](value))
        for place in ("cpu", "emulator"):
            outs.append(folder / f"{number}_{place}.npy")
            outs[-1].unlink(missing_ok=True)
            lines.append([folder / f"{number}.mlir", f"--on={place}", f"--in={folder / 'x.npy'}",
                          f"--in={folder / f'{number}_n.npy'}",
                          f"--in={folder / f'{number}_m.npy'}", f"--out={outs[-1]}"])
    for (status, printed), out, case, place in zip(
            run_lines(lines), outs, [case for case in every for _ in range(2)],
            ["cpu", "emulator"] * len(every), strict=True):
        wanted = min(max(wrap(case.wanted + MIDDLE, 64), 0), SIZE - 1)
        if place == "emulator" and case.refuses:
            problem = None if status and ": expected " in printed else f"no refusal, {printed!r}"
        elif status:
            problem = printed
        else:
            found = int(np.load(out)[0])
            problem = None if found == wanted else f"{found} for {wanted}"
        expect.record(f"{case.name} {case.type} {case.numbers} on {place}", problem)
    expect.finish()


main()
