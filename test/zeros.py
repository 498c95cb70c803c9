# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of operands with zeros, for every door to the compiler: weights, activations, rows and
experts of zeros, by every recipe. A policy finds the recipe of a product by its number of columns,
so that one program of a door has all products."""

import numpy as np

NVFP4 = ("torchao", "mslk", "te", "modelopt", "te_4over6_mae", "te_4over6_mse",
         "compressed_tensors", "torchao_training")
MX = ("floor", "rceil", "rceil_sat", "ceil", "even", "tosa", "compressed_tensors")
M, K, EXPERTS = 5, 64, 3


def make_rules():
    """What is quantized how, by name."""
    rules = {f"nvfp4 {recipe}": {"format": "nvfp4", "recipe": recipe} for recipe in NVFP4}
    rules |= {f"mxfp8 {recipe}": {"format": "mxfp8", "recipe": recipe} for recipe in MX}
    rules["nvfp4"] = {"format": "nvfp4"}
    rules["swept"] = {"format": "nvfp4", "weights": {"sweep": True}}
    return rules


def get_columns(number):
    """The columns of the products of the rule of this number."""
    return 32 + number


def make_policy():
    """A policy that has the rule of each product."""
    return {"version": 1, "leave_last_projection": False, "rules": [
        {"match": {"n": {"min": get_columns(i), "max": get_columns(i)}}, **rule}
        for i, rule in enumerate(make_rules().values())]}


def make_weights(seed=0):
    """Weights [N, K] and [E, N, K] in f32, by what they are."""
    random = np.random.default_rng(seed)
    found = {}
    for number, name in enumerate(make_rules()):
        n = get_columns(number)
        row = random.standard_normal((n, K)).astype(np.float32)
        row[3] = 0
        expert = random.standard_normal((EXPERTS, n, K)).astype(np.float32)
        expert[1] = 0
        found |= {f"{name}, a zero weight": np.zeros((n, K), np.float32),
                  f"{name}, a zero row": row, f"{name}, a zero expert": expert}
    return found


def make_activations(seed=1):
    """[M, K] and [E, M, K] in f32, by what they are."""
    random = np.random.default_rng(seed)
    found = {}
    for kind in ("of numbers", "of zeros", "with a zero row"):
        x, experts = (random.standard_normal((*lead, M, K)).astype(np.float32)
                      for lead in ((), (EXPERTS,)))
        if kind == "of zeros":
            x, experts = 0 * x, -0.0 * experts
        elif kind == "with a zero row":
            x[2] = experts[:, 2] = experts[0] = 0
        found[f"activations {kind}"] = x, experts
    return found


def find_problem(y, x, w):
    """What is wrong with the product of x [.., M, K] and w [.., N, K], or None: it has finite
    numbers, which are 0 where the plain product is."""
    plain = np.einsum("...mk,...nk->...mn", x.astype(np.float64), w.astype(np.float64))
    y = np.asarray(y, np.float32)
    if y.shape != plain.shape:
        return f"expected the shape {plain.shape}, but got {y.shape}"
    if not np.isfinite(y).all():
        return f"expected numbers, but got {y[~np.isfinite(y)][0]}"
    if y[plain == 0].any():
        return f"expected 0 where the plain product is 0, but got {np.abs(y[plain == 0]).max()}"
    if (np.abs(y - plain) > 0.3 * np.abs(plain).max()).any():
        return f"expected numbers near {plain.ravel()[:4]}, but got {y.ravel()[:4]}"
    return None


def check(case, run, weights):
    """Checks a door by a `unittest.TestCase`: `run(x, experts)` gives the products with each of the
    weights, in their order."""
    for kind, (x, experts) in make_activations().items():
        for (name, w), y in zip(weights.items(), run(x, experts), strict=True):
            with case.subTest(f"{name}, {kind}"):
                case.assertIsNone(find_problem(y, experts if w.ndim == 3 else x, w))
