# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that a policy quantizes, of operands with zeros: a weight, activations, a row, an
expert. Results are finite, and where the plain product is 0 they are 0.

Products of each recipe run on the CPU, some in the emulator, too.
"""

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np

from expect import Expectations
from gpu_calls import PLACES, run_places
from module import Module
from reference import to_bf16

NVFP4 = ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse",
         "compressed_tensors", "torchao_training")
MX = ("floor", "rceil", "rceil_sat", "ceil", "even", "tosa", "compressed_tensors")
M, N, K, EXPERTS = 9, 48, 64, 3
#: An f32 whose quotient by 2688 is 0, the next one, and the smallest one of bf16.
TINY = (1344 * 2.0 ** -149, 1345 * 2.0 ** -149, 2.0 ** -133)


def list_rules():
    """The rule of each function's products, by the function's name."""
    rules = {f"nvfp4_{recipe}": {"format": "nvfp4", "recipe": recipe} for recipe in NVFP4}
    rules |= {f"mxfp8_{recipe}": {"format": "mxfp8", "recipe": recipe} for recipe in MX}
    rules["default"] = {"format": "nvfp4"}
    rules["swept"] = {"format": "nvfp4", "weights": {"sweep": True}}
    rules["weights_only"] = {"format": "nvfp4", "weight_only": True}
    rules["rht"] = {"format": "nvfp4", "rht": True}
    rules["given"] = {"format": "nvfp4", "activations": {"global_scale": {"amax": 1e-44}}}
    return rules


def write_product(name, element, *lead):
    """A linear layer of each matrix of `lead`."""
    loops = ", ".join(["b", "m", "n", "k"][1 - len(lead):])
    maps = ", ".join(f"affine_map<({loops}) -> ({', '.join([*'b'[:len(lead)], *dims])})>"
                     for dims in ("mk", "nk", "mn"))
    x, w, y = (f"tensor<{'x'.join(map(str, (*lead, *sizes)))}x" for sizes in
               ((M, K), (N, K), (M, N)))
    op = "batch_matmul" if lead else "matmul"
    return f"""func.func @{name}(%x: {x}{element}>, %w: {w}{element}> {{blockscale.weight}})
    -> {y}f32> {{
  %init = arith.constant dense<0.0> : {y}f32>
  %y = linalg.{op} indexing_maps = [{maps}]
      ins(%x, %w : {x}{element}>, {w}{element}>) outs(%init : {y}f32>) -> {y}f32>
  return %y : {y}f32>
}}
"""


def list_inputs(random, *lead):
    """Operands in f32, by what is zero in them."""
    x, w = (random.standard_normal((*lead, rows, K)).astype(np.float32) for rows in (M, N))
    found = {"weight": (x, 0 * w), "activation": (0 * x, w), "both": (0 * x, -0.0 * w)}
    row = x.copy(), w.copy()
    row[0][..., 3, :] = row[1][..., 5, :] = 0
    found["row"] = row
    if lead:
        expert = x.copy(), w.copy()
        expert[0][1] = expert[1][2] = 0
        found["expert"] = expert
    return found


def check(expect, name, got, x, w):
    plain = np.einsum("...mk,...nk->...mn", x.astype(np.float64), w)
    problem = None
    if not np.isfinite(got).all():
        problem = f"expected numbers, but got {got[~np.isfinite(got)][0]}"
    elif got[plain == 0].any():
        problem = f"expected 0 where the plain product is 0, but got {np.abs(got).max()}"
    elif not (np.abs(got - plain) <= 0.4 * np.abs(plain).max()).all():
        problem = f"expected about {plain.ravel()[:3]}, but got {got.ravel()[:3]}"
    expect.record(name, problem)


def check_tiny(expect, module):
    """Numbers around those so small that their scale would be 0: sums may be 0, but no NaN."""
    for amax in TINY:
        x = np.full((M, K), amax, np.float32)
        w = np.ones((N, K), np.float32)
        [got] = module.call("tiny", x, w)
        finite = np.isfinite(got).all() and (got >= 0).all() and (got <= 2 * K * amax).all()
        expect.record(f"an amax of {amax}", None if finite else f"but got {got.ravel()[:3]}")


def check_emulator(expect, folder, policy):
    """Products of zeros by kernels of a chip, and by the CPU. Rules find them by their places."""
    names = ("default", "swept", "nvfp4_mslk")
    one = write_product("main", "bf16")
    head, body = one.split("  %y = ", 1)
    body = "%y = " + body.split("\n  return")[0]
    products = "".join("  " + body.replace("%y", f"%y{i}") + f' loc("{name}")\n'
                       for i, name in enumerate(names))
    result = f"tensor<{M}x{N}xf32>"
    results = ", ".join([result] * len(names))
    values = ", ".join(f"%y{i}" for i in range(len(names)))
    source = folder / "emulated.mlir"
    source.write_text(head.replace(f"-> {result} {{", f"-> ({results}) {{") + products +
                      f"  return {values} : {results}\n}}\n")
    text = subprocess.run(["blockscale-opt", source,
                           f"--blockscale-quantize-products=policy={policy}"],
                          check=True, capture_output=True, text=True).stdout
    expect.record("products that are left in @main", f"expected none, but got\n{text}"
                  if "linalg.matmul" in text else None)
    inputs = list_inputs(np.random.default_rng(3))
    for kind in ("weight", "activation"):
        arrays = [to_bf16(a) for a in inputs[kind]]
        for place, (problem, got) in zip(PLACES[:2], run_places(
                text, arrays, len(names), folder / kind, PLACES[:2])):
            for name, y in zip(names, got):
                check(expect, f"{place[:2]}: {kind}: {name}", y, *inputs[kind])
            if problem:
                expect.record(f"{place[:2]}: {kind}", problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="where to compile")
    folder = Path(parser.parse_args().folder)
    expect = Expectations()
    rules = list_rules()
    policy = folder / "policy.json"
    rules["tiny"] = {"format": "nvfp4"}
    policy.write_text(json.dumps({"version": 1, "leave_last_projection": False, "rules": [
        {"match": match, **rule} for name, rule in rules.items()
        for match in ({"function": name}, {"function": f"{name}_experts"}, {"location": name})]}))
    del rules["tiny"]
    text = "".join(write_product(name, "bf16") + write_product(f"{name}_experts", "bf16", EXPERTS)
                   for name in rules)
    module = Module(text + write_product("tiny", "f32"), folder,
                    [f"--blockscale-quantize-products=policy={policy}"], optimize=False)
    expect.record("products that are left",
                  None if "linalg" not in module.text else "expected none")
    random = np.random.default_rng(1)
    for suffix, lead in (("", ()), ("_experts", (EXPERTS,))):
        inputs = list_inputs(random, *lead)
        for name in rules:
            for kind, arrays in inputs.items():
                [got] = module.call(name + suffix, *map(to_bf16, arrays))
                check(expect, f"{name}{suffix}: {kind}", got, *arrays)
    check_tiny(expect, module)
    check_emulator(expect, folder, policy)
    expect.finish()


if __name__ == "__main__":
    main()
