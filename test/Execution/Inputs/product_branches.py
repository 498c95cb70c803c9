# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module with dynamic rows whose policy decides by them gives, for each number of rows, the
bytes of the same module with that number in its types, on the CPU and in the emulator. There it
launches as many kernels, which compute the same.

Usage: product_branches.py FOLDER
"""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))

from batches import run_lines
from expect import Expectations, first_difference
from reference import to_bf16

PLACES = (("--on=cpu", "--optimize=0"), ("--on=emulator", "--target=sm_80"),
          ("--on=emulator", "--target=sm_90a", "--schedule=adversarial", "--seed=1"),
          ("--on=emulator", "--target=sm_100a"),
          ("--on=emulator", "--target=sm_120a", "--schedule=adversarial", "--seed=2"))
N, K = 96, 128
# Of one row, and of the last and first rows of each range.
ROWS = (1, 4, 5, 8, 9, 16, 17, 70)

MAPS = """
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#a3 = affine_map<(b, m, n, k) -> (b, m, k)>
#b3 = affine_map<(b, m, n, k) -> (n, k)>
#c3 = affine_map<(b, m, n, k) -> (b, m, n)>
#same = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
"""
PARALLEL = 'iterator_types = ["parallel", "parallel"]'


@dataclass(frozen=True)
class Case:
    """`body` makes %y of %x, of `K` columns, and of weights. In it stand TYPE for the element type,
    ROWS for the sizes before the columns, and SIZES for the values of those that are dynamic; FLAT
    and COUNT for the rows of all matrices of a batch."""

    name: str
    rules: tuple
    element: str
    weights: tuple  # of %w0, %w1 ..: shapes
    body: str
    columns: int
    is_constant: bool = False
    is_batch: bool = False  # the rows are those of all of several matrices

    def shape(self, rows):
        """The sizes of x before K."""
        return (rows,) if not self.is_batch else (2, rows // 2) if rows % 2 == 0 else (1, rows)

    def write(self, rows, arrays):
        """The text of the module of so many rows, None for any."""
        known = self.shape(rows or 0)
        sizes = "x".join("?" if rows is None else str(size) for size in known)
        x, y = (f"tensor<{sizes}x{n}x{self.element}>" for n in (K, self.columns))
        types = [f"tensor<{'x'.join(map(str, shape))}x{self.element}>" for shape in self.weights]
        arguments, lines = [f"%x: {x}"], []
        for i, (type, array) in enumerate(zip(types, arrays)):
            if self.is_constant:
                digits = np.ascontiguousarray(array).tobytes().hex().upper()
                lines.append(f'%w{i} = arith.constant dense<"0x{digits}"> : {type}')
            else:
                arguments.append(f"%w{i}: {type} {{blockscale.weight}}")
        lines += [f"%zero = arith.constant 0.0 : {self.element}"]
        for i in range(len(known)):
            lines += [f"%c{i} = arith.constant {i} : index", f"%m{i} = tensor.dim %x, %c{i} : {x}"]
        dynamic = ", ".join(f"%m{i}" for i in range(len(known)) if rows is None)
        body = self.body.replace("ROWS", sizes).replace("TYPE", self.element)
        body = body.replace("SIZES", dynamic)
        body = body.replace("FLAT", "?" if rows is None else str(rows))
        body = body.replace("COUNT", "%count" if rows is None else "")
        lines += body.strip().splitlines()
        return (f"{MAPS}func.func @f({', '.join(arguments)}) -> {y} {{\n  " + "\n  ".join(lines)
                + f"\n  return %y : {y}\n}}\n")


def product(result, x, w, columns, depth=K, maps="indexing_maps = [#a, #b, #c]", shape=None):
    """%result, a product with a weight [columns, depth], or of another `shape`."""
    w_type = f"tensor<{shape or f'{columns}x{depth}'}xTYPE>"
    return f"""
%e{result} = tensor.empty(SIZES) : tensor<ROWSx{columns}xTYPE>
%z{result} = linalg.fill ins(%zero : TYPE) outs(%e{result} : tensor<ROWSx{columns}xTYPE>) -> tensor<ROWSx{columns}xTYPE>
%{result} = linalg.matmul {maps} ins(%{x}, %{w} : tensor<ROWSx{depth}xTYPE>, {w_type}) outs(%z{result} : tensor<ROWSx{columns}xTYPE>) -> tensor<ROWSx{columns}xTYPE> loc("{result}")
"""  # noqa: E501


def elementwise(result, op, lhs, rhs, columns, is_row=False):
    """%result, `op` on the elements of two tensors, the second of which may be a row."""
    tensor = f"tensor<ROWSx{columns}xTYPE>"
    other = f"tensor<{columns}xTYPE>" if is_row else tensor
    return f"""
%e{result} = tensor.empty(SIZES) : {tensor}
%{result} = linalg.generic {{indexing_maps = [#same, {'#row' if is_row else '#same'}, #same], {PARALLEL}}} ins(%{lhs}, %{rhs} : {tensor}, {other}) outs(%e{result} : {tensor}) {{
^bb0(%p: TYPE, %q: TYPE, %o: TYPE):
  %t = {op} %p, %q : TYPE
  linalg.yield %t : TYPE
}} -> {tensor}
"""  # noqa: E501


def few(most, form):
    return {"match": {"operands": "weight", "m": {"max": most}}, **form}


NVFP4, MXFP8 = {"format": "nvfp4"}, {"format": "mxfp8"}
ONLY = {"weight_only": True}
LINEAR = product("l", "x", "w0", N) + elementwise("y", "arith.addf", "l", "w1", N, is_row=True)
BATCH = """
%e = tensor.empty(SIZES) : tensor<ROWSx96xTYPE>
%z = linalg.fill ins(%zero : TYPE) outs(%e : tensor<ROWSx96xTYPE>) -> tensor<ROWSx96xTYPE>
%y = linalg.contract indexing_maps = [#a3, #b3, #c3] ins(%x, %w0 : tensor<ROWSx128xTYPE>, tensor<96x128xTYPE>) outs(%z : tensor<ROWSx96xTYPE>) -> tensor<ROWSx96xTYPE>
"""  # noqa: E501
#: As models are imported: rows of one dimension, a rounding, the batch again, a residual.
RESIDUAL = """
%count = arith.muli %m0, %m1 : index
%wide = arith.constant 0.0 : f32
%joined = tensor.collapse_shape %x [[0, 1], [2]] : tensor<ROWSx128xTYPE> into tensor<FLATx128xTYPE>
%e = tensor.empty(COUNT) : tensor<FLATx128xf32>
%z = linalg.fill ins(%wide : f32) outs(%e : tensor<FLATx128xf32>) -> tensor<FLATx128xf32>
%p = linalg.matmul indexing_maps = [#a, #b, #c] ins(%joined, %w0 : tensor<FLATx128xTYPE>, tensor<128x128xTYPE>) outs(%z : tensor<FLATx128xf32>) -> tensor<FLATx128xf32>
%narrow = arith.truncf %p : tensor<FLATx128xf32> to tensor<FLATx128xTYPE>
%columns = arith.constant 128 : index
%shape = tensor.from_elements %m0, %m1, %columns : tensor<3xindex>
%split = tensor.reshape %narrow(%shape) : (tensor<FLATx128xTYPE>, tensor<3xindex>) -> tensor<ROWSx128xTYPE>
%s = arith.addf %x, %split : tensor<ROWSx128xTYPE>
%d0 = tensor.dim %s, %c0 : tensor<ROWSx128xTYPE>
%d1 = tensor.dim %s, %c1 : tensor<ROWSx128xTYPE>
%again = tensor.from_elements %d0, %d1, %columns : tensor<3xindex>
%y = tensor.reshape %s(%again) : (tensor<ROWSx128xTYPE>, tensor<3xindex>) -> tensor<ROWSx128xTYPE>
"""  # noqa: E501
CASES = (
    # A layer with a bias, which is in the kernels of both products.
    Case("linear", (few(16, NVFP4 | ONLY), NVFP4), "bf16", ((N, K), (N,)), LINEAR, N),
    # Weights that are quantized at compile time, and are those of both products.
    Case("constants", (few(16, MXFP8 | ONLY), MXFP8), "bf16", ((N, K), (N,)), LINEAR, N,
         is_constant=True),
    # Three products in one branch, of which two read the same activations.
    Case("mlp", (few(16, MXFP8 | ONLY), MXFP8), "bf16", ((N, K), (N, K), (K, N)),
         product("g", "x", "w0", N) + product("u", "x", "w1", N)
         + elementwise("h", "arith.mulf", "g", "u", N) + product("y", "h", "w2", K, N), K),
    # Four ranges, the second of which is left, and two formats of the weight.
    Case("ranges", (few(4, MXFP8 | ONLY), few(8, {"leave": True}), few(16, MXFP8),
                    {"format": "mxfp4"}), "bf16", ((N, K),), product("y", "x", "w0", N), N,
         is_constant=True),
    # A range in the middle; others are by no rule.
    Case("middle", ({"match": {"m": {"min": 5, "max": 16}}, **NVFP4},), "f16", ((N, K),),
         product("y", "x", "w0", N), N),
    # Layers of f32 that compute as bf16 with few rows alone; a weight [K, N].
    Case("cast", (few(16, NVFP4 | ONLY | {"cast": "bf16"}), MXFP8), "f32", ((K, N), (N,)),
         product("l", "x", "w0", N, maps="", shape=f"{K}x{N}")
         + elementwise("y", "arith.addf", "l", "w1", N, is_row=True), N),
    # Rows in two dimensions, of which the product counts.
    Case("batch", (few(16, MXFP8 | ONLY), MXFP8), "bf16", ((N, K),), BATCH, N, is_batch=True),
    Case("residual", (few(16, MXFP8 | ONLY), MXFP8), "bf16", ((K, K),), RESIDUAL, K,
         is_batch=True),
)


def make_numbers(random, shape, element):
    """Blocks of different magnitudes whose products have exact sums in f32."""
    numbers = random.integers(-6, 7, shape) * np.float32(0.25)
    if len(shape) > 1:
        magnitudes = random.integers(-1, 2, (*shape[:-1], -(-shape[-1] // 32)))
        numbers = numbers * np.exp2(np.repeat(magnitudes, 32, -1)[..., :shape[-1]])
    numbers = numbers.astype(np.float32)
    return {"bf16": to_bf16, "f16": np.float16, "f32": np.float32}[element](numbers)


def launched(printed):
    """What the kernels compute that a run launched, without their schedules."""
    return sorted("_".join(line.split(":")[0].split("_")[:3])
                  for line in printed.splitlines() if ".global read" in line)


def run(case, folder, place):
    """For each number of rows: problems, results and launches of both modules."""
    random = np.random.default_rng(len(case.name))
    weights = [make_numbers(random, shape, case.element) for shape in case.weights]
    policy = folder / "policy.json"
    policy.write_text(json.dumps({"version": 1, "leave_last_projection": False,
                                  "rules": case.rules}))
    inputs = []
    for i, weight in enumerate(() if case.is_constant else weights):
        np.save(folder / f"w{i}.npy", weight)
        inputs += ["--in", folder / f"w{i}.npy"]
    profile = ["--profile"] if "--on=emulator" in place else []
    lines, outputs = [], []
    for given in (None, *ROWS):
        module = folder / f"m{given}.mlir"
        module.write_text(case.write(given, weights))
        for rows in ROWS if given is None else (given,):
            random = np.random.default_rng(rows)
            x = make_numbers(random, (*case.shape(rows), K), case.element)
            np.save(folder / f"x{rows}.npy", x)
            outputs.append(folder / f"y{given}-{rows}.npy")
            lines.append([module, *place, *profile, f"--policy={policy}",
                          "--in", folder / f"x{rows}.npy", *inputs, "--out", outputs[-1]])
    ended = run_lines(lines)
    found = [(printed if status else None, None if status else np.load(path), launched(printed))
             for (status, printed), path in zip(ended, outputs)]
    return list(zip(ROWS, found[:len(ROWS)], found[len(ROWS):]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    expect = Expectations()
    jobs = [(case, place) for case in CASES for place in PLACES]

    def work(job):
        case, place = job
        folder = options.folder / f"{case.name}-{PLACES.index(place)}"
        folder.mkdir(parents=True, exist_ok=True)
        return run(case, folder, place)

    with ThreadPoolExecutor(2) as pool:
        for (case, place), runs in zip(jobs, pool.map(work, jobs)):
            for rows, (problem, one, kernels), (problem_of_static, other, expected) in runs:
                what = f"{case.name} of {rows} rows, {' '.join(place)}"
                problem = problem or problem_of_static
                expect.record(what, problem or first_difference([one], [other]))
                if not problem and kernels != expected:
                    expect.record(what, f"expected launches of {expected}, but got {kernels}")
    expect.finish()


main()
