# ===- main.py - A real transformer, quantized and multiplied -------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Quantizes the weights and activations of all-MiniLM-L6-v2 and multiplies them.

Sentences run through the encoder in numpy. What each layer multiplies is then
quantized and multiplied again by compiled modules, in NVFP4 with a global scale,
NVFP4 without and MXFP8. Every quantized byte is compared with a numpy reference
of its own, every product with the exact one. What kernels compute of norms and
activations and quantize, in the emulator, is compared with the CPU's bytes. Last,
the quantizers are compiled for sm_100a.
"""

import argparse
import functools
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "python")]

import numpy as np

import activations
import fused
import job
import norms
import report
import sm100
import weights
from blockscale_reference import to_bf16
from encoder import PROJECTIONS, Encoder
from formats import FORMATS
from tokenizer import Tokenizer
from tools import ToolError, Tools

SENTENCES = (
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
    "A block of sixteen numbers shares one scale, and the scale has eight bits.",
    "Quantization trades precision for memory, bandwidth and energy.",
    "The quick brown fox jumps over the lazy dog near the bank of the river.",
    "In 1969, 3 astronauts travelled 384,400 km to the Moon.",
    "Matrix multiplication is associative; floating-point addition is not.",
    "Could you tell me the way to the nearest underground station, please?",
    "Crème brûlée, jalapeños and smörgåsbord are words borrowed by English.",
    "She sells sea shells by the sea shore, and the shells she sells are sea shells.",
    "No!",
)

# Cosines of the first three sentences' embeddings, as the documentation of the
# sentence-transformers library prints them for this model.
DOCUMENTED_COSINES = {(0, 1): 0.6660, (0, 2): 0.1046, (1, 2): 0.1411}


class ActivationError(Exception):
    """The numpy encoder is not the model."""


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--keep", metavar="DIR", help="where the last files stay")
    options = parser.parse_args()
    start = time.perf_counter()
    try:
        model = weights.load(options.cache)
        with tempfile.TemporaryDirectory() as temporary:
            correct = run(model, Tools(options.build, options.keep or temporary))
    except (weights.WeightsError, ToolError, ActivationError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"total: {time.perf_counter() - start:.1f} s")
    return 0 if correct else 1


def make_parser(description):
    """A parser of the options --build and --cache."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.path.join(ROOT, "build")
    parser.add_argument("--build", default=default, help="build folder of the tools")
    default = os.path.join(ROOT, ".cache", "minilm")
    parser.add_argument("--cache", default=default, help="where the weights are kept")
    return parser


def run(model, tools):
    """Prints every table; whether all bytes and products were right."""
    encoder = Encoder(model)
    tokens = [Tokenizer(model.vocabulary).encode(s) for s in SENTENCES]
    embeddings, inputs = zip(*map(encoder.run, tokens))
    check_embeddings(embeddings)
    print(
        f"{model.package}: {encoder.layers} layers, {len(SENTENCES)} sentences, "
        f"{sum(map(len, tokens))} tokens; embeddings as documented\n"
    )

    outcomes = {}
    for format in FORMATS:
        for layer in range(encoder.layers):
            for projection in PROJECTIONS:
                x = np.concatenate([seen[layer][projection] for seen in inputs])
                w = encoder.weight(layer, projection)
                outcome = job.dense(tools, format, to_bf16(x), to_bf16(w))
                outcomes[f"layer {layer} {projection}", format.name] = outcome
        outcomes["grouped up", format.name] = group_layers(
            tools, format, encoder, inputs
        )

    unequal = compare_fused(tools, model, tokens)
    report.print_products(outcomes)
    report.print_formats(outcomes)
    k = model.config["hidden_size"]
    report.print_kernels(
        {f.name: sm100.compile_quantizer(tools, f, k) for f in FORMATS}
    )
    wrong = {key: o for key, o in outcomes.items() if not o.correct}
    for (product, format), outcome in wrong.items():
        reason = (
            outcome.first_difference or f"{outcome.outside_bound} results out of bound"
        )
        print(f"wrong: {product}, {format}: {reason}", file=sys.stderr)
    for check in unequal:
        print(f"wrong: {check}", file=sys.stderr)
    return not wrong and not unequal


def list_fused(model, tokens):
    """What one kernel computes and quantizes: its name, what writes its module for a format,
    its columns, and inputs by the name of a layer, every second one."""
    hidden, inner = model.config["hidden_size"], model.config["intermediate_size"]
    of_norms, of_activations = (
        list(seen.items())[::2] for seen in fused.record(model, tokens)
    )
    for norm in norms.NORMS:
        yield (
            norm,
            functools.partial(norms.write, norm, model),
            hidden,
            {name: norms.inputs(model, name, x) for name, x in of_norms},
        )
    for activation in activations.ACTIVATIONS:
        k = inner // 2 if activation == activations.SWIGLU else inner
        yield (
            activation,
            functools.partial(activations.write, activation, k),
            k,
            {name: activations.inputs(activation, x) for name, x in of_activations},
        )


def compare_fused(tools, model, tokens):
    """Which functions differ where one kernel quantizes, too; prints how many."""
    equal = {}
    for function, write, k, inputs in list_fused(model, tokens):
        # One of a format with a global scale, and one without.
        for format in FORMATS[0], FORMATS[-1]:
            check = f"{function}, {format.name}"
            equal[f"{check}: kernels"] = fused.count_kernels(tools, write, format) == 1
            for name, arrays in inputs.items():
                equal[f"{check}, {name}"] = fused.compare(
                    tools, write, arrays, format, k
                )
    print(
        "LayerNorm, RMSNorm, GELU and SwiGLU and their quantizers as one kernel, in the "
        f"emulator: {sum(equal.values())} of {len(equal)} checks of its bytes and number "
        "hold\n"
    )
    return [check for check, is_equal in equal.items() if not is_equal]


def check_embeddings(embeddings):
    for (i, j), documented in DOCUMENTED_COSINES.items():
        cosine = float(embeddings[i] @ embeddings[j])
        if abs(cosine - documented) > 1e-4:
            raise ActivationError(
                f"expected sentences {i} and {j} to have a cosine of {documented}, "
                f"but got {cosine:.4f}"
            )


def group_layers(tools, format, encoder, inputs):
    """The layers' up projections as experts; layer i is given sentences i and up."""
    groups = [
        np.concatenate([seen[layer]["up"] for seen in inputs[layer:]])
        for layer in range(encoder.layers)
    ]
    w = np.stack([encoder.weight(layer, "up") for layer in range(encoder.layers)])
    ends = np.cumsum([len(group) for group in groups]).tolist()
    return job.grouped(tools, format, to_bf16(np.concatenate(groups)), to_bf16(w), ends)


if __name__ == "__main__":
    sys.exit(main())
