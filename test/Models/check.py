# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One model from several frontends: all-MiniLM-L6-v2 in f32, quantized by a policy, beside the
example that quantizes each layer by itself (docs/Accuracy.md).

  check.py FOLDER     which has a module NAME.mlir of each frontend

Of each module in each format, every weight has the example's codes and scales; what the first
layer quantizes has the codes and scales that the reference gives the same numbers; and the
vectors of the twelve sentences are those of the example but for the least cosine. Where a module
takes padding and the format has a global scale, weights alone are compared. The table at the end
has the least and the greatest cosine, and the last line is `N passed, N failed`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import blockscale

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
sys.path[:0] = [str(ROOT / "examples/minilm"), str(ROOT / "docs/images"), str(ROOT / "python")]

import blockscale_reference as reference
import linear
import weights
from main import SENTENCES
from schemes import SCHEMES
from tokenizer import Tokenizer

FRONTENDS = {"torch": "PyTorch", "onnx": "ONNX", "torch-mlir": "torch-mlir", "jax": "JAX"}
#: The tokens of a module whose sizes are static.
LENGTH = 40


@dataclass(frozen=True)
class Form:
    """A scheme of the example as a rule of a policy, and the least cosine with it."""

    scheme: str
    rule: dict
    least: float


FORMS = (
    Form("MXFP8", {"format": "mxfp8", "recipe": "rceil"}, 0.999),
    Form("NVFP4", {"format": "nvfp4", "recipe": "torchao", "global_scale": "none"}, 0.99),
    Form("NVFP4+global", {"format": "nvfp4", "recipe": "torchao"}, 0.99),
)
QUANTIZE = re.compile(r"^ *%(?P<data>\w+), %(?P<scale>\w+) = blockscale\.quantize %(?P<x>\w+) "
                      r".*: (?P<types>.*) -> (?P<results>.*)$", re.M)
CONSTANT = re.compile(r"^ *%(\w+) = arith\.constant dense_resource<(\w+)> : tensor<(.*)>$", re.M)
ARGUMENT = re.compile(r"%\w+: tensor<\S*x(i64|i32|i8)>")
DTYPES = {"i64": np.int64, "i32": np.int32, "i8": np.int8}
RESOURCE = re.compile(r'^ *(\w+): "0x(?:[0-9A-F]{8})([0-9A-F]*)"', re.M)


class Counts:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, what, problem=None):
        if problem is None:
            self.passed += 1
            return
        self.failed += 1
        print(f"error: {what}: {problem}", flush=True)


def quantize(module, policy):
    """The text of a module whose products are quantized, and whose constants are."""
    run = subprocess.run([
        BUILD / "bin/blockscale-opt", module, f"--blockscale-quantize-products=policy={policy}",
        "--canonicalize", "--blockscale-fold-constants", "--canonicalize", "--cse"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return run.stdout


def check_weights(text, encoder, scheme):
    """Why constants of the module are not the codes and scales of each layer, or None."""
    found = {name: bytes.fromhex(digits) for name, digits in RESOURCE.findall(text)}
    used = {found[resource] for _, resource, _ in CONSTANT.findall(text) if resource in found}
    products = text.count(" blockscale.scaled_mm ")
    if products != len(encoder.weights):
        return f"expected {len(encoder.weights)} products, but got {products}"
    for name in encoder.weights:
        wanted = scheme.quantize_weight(reference.to_bf16(encoder.tensors[f"{name}.weight"]))
        data = wanted.data.view(np.uint8)
        if scheme.format.data == "f4E2M1FN":
            # A constant has a byte for each element.
            data = np.stack([data & 15, data >> 4], -1)
        for array in (data, wanted.scale):
            if array.tobytes() not in used:
                return f"expected the bytes of {name}, but no constant has them"
    return None


def check_tokens(text, arguments, scheme):
    """Why the first quantizer of tokens does not give the bytes of the reference, or None."""
    constants = {name for name, *_ in CONSTANT.findall(text)}
    first = next(each for each in QUANTIZE.finditer(text) if each["x"] not in constants)
    types = f"{first['types'].split(', ')[0]}, {first['results']}"
    values = f"%{first['x']}, %{first['data']}, %{first['scale']}"
    text = re.sub(r"(?m)^( *)return .*$", rf"\1return {values} : {types}", text)
    text = re.sub(r"(?m)^( *func\.func @.*) -> [^{]*(attributes .*)?\{$",
                  lambda line: f"{line[1]} -> ({types}) {line[2] or ''}{{", text)
    x, data, scale = map(np.asarray, blockscale.compile(text)(*arguments))
    wanted = scheme.quantize_tokens(x.view(np.uint16))
    for got, want in ((data, wanted.data), (scale, wanted.scale)):
        if got.view(np.uint8).tobytes() != want.tobytes():
            return "expected the codes and scales of the reference, but got others"
    return None


def run(text, tokens):
    """Vectors [sentences, H] of norm 1, and the seconds to compile."""
    start = time.perf_counter()
    compiled = blockscale.compile(text)
    seconds = time.perf_counter() - start
    return np.concatenate([compiled(*make_arguments(text, each)) for each in tokens]), seconds


def get_signature(text):
    return re.search(r"func\.func @\w+\((.*)\) ->", text)[1]


def is_padded(text):
    return f"x{LENGTH}x" in get_signature(text)


def make_arguments(text, ids):
    """Token numbers and which of them are words, of the types that the function takes."""
    length = LENGTH if is_padded(text) else len(ids)
    padded = np.zeros((1, length), np.int64)
    padded[0, :len(ids)] = ids
    mask = np.arange(length)[None] < len(ids)
    return [each.astype(DTYPES[type])
            for each, type in zip((padded, mask), ARGUMENT.findall(get_signature(text)))]


def check(counts, name, module, tokens, encoders, folder):
    """A frontend in each format. The least and the greatest cosine of each, in order."""
    cosines = []
    for form in FORMS:
        encoder, vectors = encoders[form.scheme]
        what = f"{FRONTENDS[name]}, {form.scheme}"
        policy = folder / "policy.json"
        policy.write_text(json.dumps({
            "version": 1, "leave_last_projection": False,
            "rules": [{"match": {"operands": "weight"}, "cast": "bf16", **form.rule}]}))
        text = quantize(module, policy)
        counts.add(f"{what}: weights", check_weights(text, encoder, encoder.scheme))
        if encoder.scheme.format.has_global and is_padded(text):
            # The amax of the tokens would be one of padding, too.
            cosines.append("-")
            continue
        got, seconds = run(text, tokens)
        counts.add(f"{what}: tokens", check_tokens(text, make_arguments(text, tokens[0]),
                                                   encoder.scheme))
        least, most = (got * vectors).sum(1).min(), (got * vectors).sum(1).max()
        counts.add(f"{what}: vectors", None if least >= form.least else
                   f"expected a cosine of at least {form.least}, but got {least:.5f}")
        cosines.append(f"{least:.5f} {most:.5f}")
        print(f"{what}: compiled in {seconds:.1f} s, cosines {cosines[-1]}", flush=True)
    return cosines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    model = weights.load(str(ROOT / ".cache/minilm"))
    tokens = [Tokenizer(model.vocabulary).encode(sentence) for sentence in SENTENCES]
    counts, rows = Counts(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        encoders = {}
        for form in FORMS:
            scheme = next(each for each in SCHEMES if each.name == form.scheme)
            encoder = linear.CompiledEncoder(model, scheme, str(BUILD / "bin/blockscale-compile"),
                                             name)
            vectors = np.stack([encoder.run(ids)[0] for ids in tokens])
            encoders[form.scheme] = encoder, vectors
        for frontend in FRONTENDS:
            module = options.folder / f"{frontend}.mlir"
            if not module.exists():
                counts.add(frontend, f"expected a module {module}")
                continue
            rows.append([FRONTENDS[frontend],
                         *check(counts, frontend, module, tokens, encoders, folder)])
    print("; ".join(["cosines", *(form.scheme for form in FORMS)]))
    for row in rows:
        print("; ".join(row))
    print(f"{counts.passed} passed, {counts.failed} failed")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
