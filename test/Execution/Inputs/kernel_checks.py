# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls functions whose indices, divisors, steps and conditions are data, on the CPU and in the
emulator as kernels of the given chips. What breaks a rule is an error of the call with one text
on all targets, and no file is written; other calls give the same everywhere.

Usage: kernel_checks.py FOLDER CHIP..
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np

from expect import Expectations

ROWS = "affine_map<(i) -> (i)>"
TABLE = "affine_map<(i, j) -> (i)>", "affine_map<(i, j) -> (i, j)>"


#: Beginnings of messages.
INDEX = "tensor.extract at m.mlir:#: expected index 0 to be"
BELOW = f"{INDEX} below the size of dimension 0, but got"
NOT_NEGATIVE = f"{INDEX} at least 0, but got"
INSERTED = BELOW.replace("extract", "insert")
DIVISOR = "expected another divisor than 0, but got"
QUOTIENT = "expected another divisor of the smallest number than -1, but got"


def of(*numbers, dtype="int64"):
    return np.array(numbers, dtype)


def row(size):
    return np.arange(1, size + 1, dtype=np.float32)


def body(name, arguments, ins, lines, element="f32"):
    """A function whose body has `lines` for each element of its first argument, %k; %o is what
    the result had, and %v what it gets."""
    operands = ", ".join(each.split(":")[0] for each in ins)
    types = ", ".join(each.split(":")[1].strip() for each in ins)
    inside = ", ".join(f"%k{i or ''}: {each.partition('?x')[2].rstrip('>')}"
                       for i, each in enumerate(ins))
    return f"""
func.func @{name}({arguments}) -> tensor<?x{element}> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim {operands.split(",")[0]}, %c0 : {types.split(", ")[0]}
  %e = tensor.empty(%n) : tensor<?x{element}>
  %y = linalg.generic {{indexing_maps = [{", ".join([ROWS] * (len(ins) + 1))}],
                       iterator_types = ["parallel"]}}
      ins({operands} : {types}) outs(%e : tensor<?x{element}>) {{
  ^bb0({inside}, %o: {element}):
{lines}
    linalg.yield %v : {element}
  }} -> tensor<?x{element}>
  return %y : tensor<?x{element}>
}}
"""


#: A function for each kind of number that a kernel reads; with a call that fits and what it
#: gives, and calls that do not with the message. What is the first of a list runs on every chip,
#: the others on one in turn.
CASES = {
    # The last element is one; the first that is none is not.
    "gather": (body("gather", "%i: tensor<?xi64>, %x: tensor<?xf32>", ["%i: tensor<?xi64>"], """
    %j = arith.index_cast %k : i64 to index
    %v = tensor.extract %x[%j] : tensor<?xf32>"""),
        [((of(4, 0), row(5)), of(5, 1, dtype="float32")), ((of(), row(0)), row(0)),
         ((of(*[2] * 300), row(3)), of(*[3] * 300, dtype="float32"))],
        [((of(0, 5), row(5)), f"{BELOW} 5"),
         ((of(1, -1), row(5)), f"{NOT_NEGATIVE} -1"),
         ((of(0, -2**63), row(5)), f"{NOT_NEGATIVE} -9223372036854775808"),
         ((of(*[0] * 200, 2**62), row(5)), f"{BELOW} 4611686018427387904")]),
    # Of a static size the bound is said; small numbers have a sign.
    "small": (body("small", "%i: tensor<?xi16>, %x: tensor<3x5xf32>", ["%i: tensor<?xi16>"], """
    %j = arith.index_cast %k : i16 to index
    %v = tensor.extract %x[%c1, %j] : tensor<3x5xf32>"""),
        [((of(4, 0, dtype="int16"), row(15).reshape(3, 5)), of(10, 6, dtype="float32"))],
        [((of(0, -32768, dtype="int16"), row(15).reshape(3, 5)),
          "tensor.extract at m.mlir:#: expected index 1 to be at least 0, but got -32768"),
         ((of(5, dtype="int16"), row(15).reshape(3, 5)),
          "tensor.extract at m.mlir:#: expected index 1 to be below 5, but got 5")]),
    # Where the program does not read, nothing has to fit.
    "masked": (body("masked", "%i: tensor<?xi64>, %x: tensor<?xf32>", ["%i: tensor<?xi64>"], """
    %j = arith.index_cast %k : i64 to index
    %m = tensor.dim %x, %c0 : tensor<?xf32>
    %in = arith.cmpi ult, %j, %m : index
    %zero = arith.constant 0.0 : f32
    %v = scf.if %in -> f32 {
      %a = tensor.extract %x[%j] : tensor<?xf32>
      scf.yield %a : f32
    } else {
      scf.yield %zero : f32
    }"""),
        [((of(1, 2, -1, 99), row(2)), of(2, 0, 0, 0, dtype="float32"))], []),
    # Scalars: an index that is an element, and one that is computed from two.
    "scalars": ("""
func.func @scalars(%i: tensor<2xindex>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %from = tensor.extract %i[%c0] : tensor<2xindex>
  %step = tensor.extract %i[%c1] : tensor<2xindex>
  %to = arith.addi %from, %step : index
  %v = tensor.extract %x[%from] : tensor<?xf32>
  %two = arith.addf %v, %v : f32
  %y = tensor.insert %two into %x[%to] : tensor<?xf32>
  return %y : tensor<?xf32>
}
""",
        [((of(1, 2), row(4)), of(1, 2, 3, 4, dtype="float32"))],
        [((of(4, -1), row(4)), f"{BELOW} 4"),
         ((of(3, 1), row(4)), f"{INSERTED} 4"),
         ((of(-1, 1), row(4)), f"{NOT_NEGATIVE} -1")]),
    # Rows of a table, as embeddings are.
    "rows": (f"""
func.func @rows(%i: tensor<?xi32>, %x: tensor<7x?xf32>) -> tensor<?x?xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %i, %c0 : tensor<?xi32>
  %w = tensor.dim %x, %c1 : tensor<7x?xf32>
  %e = tensor.empty(%n, %w) : tensor<?x?xf32>
  %y = linalg.generic {{indexing_maps = [{TABLE[0]}, {TABLE[1]}],
                       iterator_types = ["parallel", "parallel"]}}
      ins(%i : tensor<?xi32>) outs(%e : tensor<?x?xf32>) {{
  ^bb0(%k: i32, %o: f32):
    %j = arith.index_cast %k : i32 to index
    %c = linalg.index 1 : index
    %v = tensor.extract %x[%j, %c] : tensor<7x?xf32>
    linalg.yield %v : f32
  }} -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}}
""",
        [((of(6, 0, dtype="int32"), row(21).reshape(7, 3)),
          np.float32([[19, 20, 21], [1, 2, 3]]))],
        [((of(0, 7, dtype="int32"), row(21).reshape(7, 3)),
          f"{INDEX} below 7, but got 7")]),
    # What divides.
    "remainders": ("""
func.func @remainders(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %c = arith.remsi %a, %b : tensor<?xi32>
  return %c : tensor<?xi32>
}
""",
        [((of(7, -7, -2**31, dtype="int32"), of(2, -1, 3, dtype="int32")),
          of(1, 0, -2, dtype="int32"))],
        [((of(7, 7, dtype="int32"), of(2, 0, dtype="int32")),
          f"arith.remsi at m.mlir:#: {DIVISOR} 0"),
         ((of(-2**31, dtype="int32"), of(-1, dtype="int32")),
          f"arith.remsi at m.mlir:#: {QUOTIENT} -1")]),
    "quotients": ("""
func.func @quotients(%a: tensor<?xi64>, %b: tensor<?xi64>) -> tensor<?xi64> {
  %c = arith.divui %a, %b : tensor<?xi64>
  return %c : tensor<?xi64>
}
""",
        [((of(7, -2**63), of(-1, 2)), of(0, 2**62))],
        [((of(0, 7), of(2, 0)),
          f"arith.divui at m.mlir:#: {DIVISOR} 0")]),
    # A divisor that is an argument is told before the kernel runs.
    "parts": (body("parts", "%i: tensor<?xindex>, %d: index", ["%i: tensor<?xindex>"], """
    %v = arith.ceildivsi %k, %d : index""", "index"),
        [((of(7, -7), of(2)[0]), of(4, -3)), ((of(), of(0)[0]), of())],
        [((of(7), of(0)[0]), f"arith.ceildivsi at m.mlir:#: {DIVISOR} 0"),
         ((of(1, -2**63), of(-1)[0]), f"arith.ceildivsi at m.mlir:#: {QUOTIENT} -1")]),
    # A step of 0 would never end.
    "steps": (body("steps", "%i: tensor<?xindex>", ["%i: tensor<?xindex>"], """
    %c6 = arith.constant 6 : index
    %v = scf.for %j = %c0 to %c6 step %k iter_args(%s = %c0) -> index {
      %t = arith.addi %s, %j : index
      scf.yield %t : index
    }""", "index"),
        [((of(1, 2, 9),), of(15, 6, 0))],
        [((of(1, 0),), "scf.for at m.mlir:#: expected a step to be at least 1, but got 0"),
         ((of(-3),), "scf.for at m.mlir:#: expected a step to be at least 1, but got -3")]),
    # The program's own assertions, of numbers and of conditions, and a text that a record has no
    # room for.
    "own": (body("own", "%i: tensor<?xi32>", ["%i: tensor<?xi32>"], """
    %c16 = arith.constant 16 : i32
    %z = arith.constant 0 : i32
    %rest = arith.remui %k, %c16 : i32
    %whole = arith.cmpi eq, %rest, %z : i32
    cf.assert %whole, "expected whole blocks"
    %c99 = arith.constant 99 : i32
    %few = arith.cmpi ult, %k, %c99 : i32
    %c64 = arith.constant 64 : i32
    %other = arith.cmpi ne, %k, %c64 : i32
    %both = arith.andi %few, %other : i1
    cf.assert %both, "no \\22more\\22"
    %v = arith.addi %k, %k : i32""", "i32"),
        [((of(16, 0, dtype="int32"),), of(32, 0, dtype="int32"))],
        [((of(16, 24, dtype="int32"),), "expected whole blocks, but got 24"),
         ((of(16, 64, dtype="int32"),), 'expected the assertion "no "more"" to hold, but got 0'),
         ((of(-1, dtype="int32"),), "expected whole blocks, but got -1")]),
    "long": (body("long", "%i: tensor<?xi32>", ["%i: tensor<?xi32>"], f"""
    %z = arith.constant 0 : i32
    %holds = arith.cmpi sge, %k, %z : i32
    cf.assert %holds, "{'text ' * 95}\\C3\\A4{'text ' * 9}"
    %v = arith.addi %k, %k : i32""", "i32"),
        [((of(3, dtype="int32"),), of(6, dtype="int32"))],
        [((of(-3, dtype="int32"),), "text (ä(text ){9}|\\.\\.\\.), but got -3")]),
    # A kernel whose record has a text beside one whose record has none.
    "groups": (f"""
func.func @groups(%x: tensor<64x96xf32>, %e: tensor<3xi32>, %i: tensor<3xindex>)
    -> (tensor<3xf32>, tensor<3xf32>) {{
  %y = blockscale.amax %x offsets(%e : tensor<3xi32>) group_dim 0
      : tensor<64x96xf32> -> tensor<3xf32>
  %t = tensor.empty() : tensor<3xf32>
  %z = linalg.generic {{indexing_maps = [{ROWS}, {ROWS}], iterator_types = ["parallel"]}}
      ins(%i : tensor<3xindex>) outs(%t : tensor<3xf32>) {{
  ^bb0(%k: index, %o: f32):
    %v = tensor.extract %y[%k] : tensor<3xf32>
    linalg.yield %v : f32
  }} -> tensor<3xf32>
  return %y, %z : tensor<3xf32>, tensor<3xf32>
}}
""",
        [((np.ones((64, 96), np.float32), of(16, 16, 64, dtype="int32"), of(2, 1, 0)),
          np.float32([1, 0, 1]))],
        [((np.ones((64, 96), np.float32), of(16, 16, 64, dtype="int32"), of(2, 3, 0)),
          f"{INDEX} below 3, but got 3"),
         ((np.ones((64, 96), np.float32), of(16, 16, 65, dtype="int32"), of(2, 1, 0)),
          "amax: expected the end of group 2 to be at most 64, but got 65")]),
}

folder, chips = Path(sys.argv[1]), sys.argv[2:]
folder.mkdir(parents=True, exist_ok=True)
(folder / "m.mlir").write_text("".join(text for text, _, _ in CASES.values()))


def plan():
    """Each run: the name of a case, a target, the arguments and what is wanted."""
    turn = 0
    for name, (_, fits, breaks) in CASES.items():
        for calls in (fits, breaks):
            for number, (arguments, wanted) in enumerate(calls):
                some = chips if number == 0 else [chips[turn % len(chips)]]
                turn += number > 0
                for target in ("cpu", *some):
                    yield name, target, arguments, wanted


def get_command(number, name, target, arguments):
    results = 2 if name == "groups" else 1
    words = ["m.mlir", f"--entry={name}"]
    words += [] if target == "cpu" else ["--on=emulator", f"--target={target}"]
    for i, argument in enumerate(arguments):
        np.save(folder / f"{number}in{i}.npy", np.asarray(argument))
        words.append(f"--in={number}in{i}.npy")
    for i in range(results):
        (folder / f"{number}out{i}.npy").unlink(missing_ok=True)
        words.append(f"--out={number}out{i}.npy")
    return shlex.join(words)


def judge(text, result, wanted):
    """What is wrong with a run that printed `text` and whose last result is `result`."""
    if not isinstance(wanted, str):
        if text or not result.exists():
            return f"expected no error, but got {text}"
        found = np.load(result)
        return None if np.array_equal(found, wanted) else f"{found.tolist()}, not {wanted.tolist()}"
    if result.exists():
        return "expected an error, but got a result"
    # A launch plan says the relation, too.
    text = re.sub(r" \([!<>=]+ -?\d+\), but got", ", but got", text)
    pattern = wanted.replace("m.mlir:#", r"m\.mlir:\d+:\d+")
    is_right = re.search(pattern + "$", text, re.M)
    return None if is_right else f"expected '{wanted}', but got '{text}'"


runs = list(plan())
lines = [get_command(number, name, target, arguments)
         for number, (name, target, arguments, _) in enumerate(runs)]
(folder / "runs").write_text("\n".join(lines) + "\n")
done = subprocess.run(["blockscale-run", "--batch=runs"], cwd=folder, text=True,
                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
texts = re.split(r"^line \d+: exit status \d+\n", done.stdout, flags=re.M)
expect = Expectations()
expect.record("runs", None if len(texts) == len(runs) + 1 else f"{len(texts)} texts, {texts[-1]}")
for number, ((name, target, arguments, wanted), text) in enumerate(zip(runs, texts)):
    result = folder / f"{number}out{1 if name == 'groups' else 0}.npy"
    expect.record(f"@{name} {[np.asarray(a).tolist() for a in arguments[:2]]} on {target}"[:200],
                  judge(text, result, wanted))
expect.finish()
