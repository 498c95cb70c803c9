# ===- accuracy.py - The whole model in each format -----------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs all-MiniLM-L6-v2 from tokens to sentence vectors in bf16, MXFP8 and NVFP4.

Every linear layer is computed by a compiled module, on what the quantized layers
before it gave. Prints how far each layer and the vectors are from those of bf16, and
writes the tables (accuracy.md) and a plot of every linear layer (accuracy.svg).
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, *(os.path.join(ROOT, p) for p in ("python", "docs/images"))]

import numpy as np

import accuracy_plot
import linear
import report
import weights
from blockscale_object import ObjectError
from main import (
    DOCUMENTED_COSINES,
    SENTENCES,
    ActivationError,
    make_parser,
)
from schemes import SCHEMES
from tokenizer import Tokenizer

# What bf16 may change of a cosine that is documented for f32.
BF16_TOLERANCE = 5e-3


@dataclass
class Run:
    """The model in one scheme; embeddings are f64 [sentences, H] of norm 1."""

    encoder: linear.CompiledEncoder
    embeddings: np.ndarray

    @property
    def cosines(self):
        """Of each two sentences."""
        return (self.embeddings @ self.embeddings.T)[
            np.triu_indices(len(self.embeddings), 1)
        ]


def main():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--out", metavar="DIR", help="where the files go (default: BUILD/accuracy)"
    )
    options = parser.parse_args()
    start = time.perf_counter()
    try:
        runs = run(weights.load(options.cache), options.build)
        check_reference(runs)
    except (weights.WeightsError, ObjectError, ActivationError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    tables = list_tables(runs)
    for title, header, rows in tables:
        print(title)
        report.table(header, rows)
    write(options.out or os.path.join(options.build, "accuracy"), tables)
    print(f"total: {time.perf_counter() - start:.1f} s")
    return 0


def run(model, build):
    """The `Run` of each scheme, by its name."""
    compiler = os.path.join(build, "bin", "blockscale-compile")
    tokens = [Tokenizer(model.vocabulary).encode(s) for s in SENTENCES]
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for scheme in SCHEMES:
            encoder = linear.CompiledEncoder(model, scheme, compiler, folder)
            embeddings = np.stack([encoder.run(ids)[0] for ids in tokens])
            runs[scheme.name] = Run(encoder, embeddings)
    return runs


def check_reference(runs):
    """Whether the model in bf16 is the model."""
    embeddings = runs["bf16"].embeddings
    for (i, j), documented in DOCUMENTED_COSINES.items():
        cosine = embeddings[i] @ embeddings[j]
        if not abs(cosine - documented) <= BF16_TOLERANCE:
            raise ActivationError(
                f"expected sentences {i} and {j} to have a cosine of {documented} within "
                f"{BF16_TOLERANCE}, but got {cosine:.4f}"
            )


def list_tables(runs):
    """(title, header, rows) of text and numbers."""
    reference, others = runs["bf16"], {k: v for k, v in runs.items() if k != "bf16"}

    def noise(of):
        return [
            [short_name(layer)]
            + [linear.sqnr(of(r.encoder)[layer], wanted) for r in others.values()]
            for layer, wanted in of(reference.encoder).items()
        ]

    vectors = []
    for name, r in runs.items():
        # Norms are 1.
        same = (r.embeddings * reference.embeddings).sum(axis=1)
        change = np.abs(r.cosines - reference.cosines).max()
        cells = (same.mean(), same.min(), change)
        vectors.append(
            [name, r.encoder.weight_bytes, *(f"{float(c):.4f}" for c in cells)]
        )
    return [
        (
            "Sentence vectors, and cosines of each two sentences, against bf16",
            ["format", "weights, bytes", "mean cosine", "least", "largest change"],
            vectors,
        ),
        (
            "Outputs of encoder layers, signal to quantization noise in dB",
            ["layer", *others],
            noise(lambda encoder: encoder.hidden),
        ),
        (
            "Outputs of linear layers, signal to quantization noise in dB",
            ["layer", *others],
            noise(lambda encoder: encoder.outputs),
        ),
    ]


def short_name(layer):
    """`3 attention.self.query` of `encoder.layer.3.attention.self.query`."""
    return layer.removeprefix("encoder.layer.").replace(".", " ", 1).rstrip()


def markdown(header, rows):
    """The table, with the digits that are printed."""
    cells = [header, ["---"] * len(header)]
    cells += [[report.cell(value) for value in row] for row in rows]
    return "".join("| " + " | ".join(row) + " |\n" for row in cells)


def write(folder, tables):
    os.makedirs(folder, exist_ok=True)
    *_, (_, header, rows) = tables
    texts = {
        "accuracy.md": "\n".join(f"{t}\n\n{markdown(h, r)}" for t, h, r in tables),
        "accuracy.svg": accuracy_plot.draw(markdown(header, rows)),
    }
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        print("written:", os.path.join(folder, name))


if __name__ == "__main__":
    sys.exit(main())
