# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of encoders that PyTorch exported, beside whose file are its results."""

import time
from pathlib import Path

import numpy as np
import onnx

import blockscale.onnx
from models import run_reference
from rewrite import quantize_layers, to_opset

FOLDER = Path(__file__).resolve().parent / "Inputs"
NAMES = ("input_ids", "attention_mask")


def get_feeds(path):
    """Token numbers, the mask, and the vectors of PyTorch."""
    known = np.load(path)
    return {name: known[name] for name in (*NAMES, "vectors")}


def get_known(path):
    return get_feeds(path.with_name(path.stem.partition("-")[0] + ".npz"))


def check_plain(path, tolerance):
    """The model against PyTorch; the compiled function. Raises AssertionError."""
    known = get_known(path)
    imported = blockscale.onnx.from_model(path)
    assert imported.inputs == list(NAMES) and imported.outputs == ["vectors"]
    function = imported.compile()
    vectors = function(**{name: known[name] for name in NAMES})
    np.testing.assert_allclose(vectors, known["vectors"], atol=tolerance)
    return function


def check_quantized(path, format):
    """The model with quantized layers against onnx.reference, whose difference is a tenth of
    what the format changes at most: sums in another order change a code here and there."""
    known = get_known(path)
    feeds = {name: known[name] for name in NAMES}
    model, count = quantize_layers(to_opset(onnx.load(path)), format)
    imported = blockscale.onnx.from_model(model)
    found = str(imported.module).count("blockscale.scaled_mm")
    assert found == count >= 6, f"{found} products of {count} layers"
    expected, = run_reference(model, feeds)
    vectors = imported.compile()(**feeds)
    error, change = (np.abs(vectors - other).max() for other in (expected, known["vectors"]))
    assert error < change / 10, f"{error} from onnx.reference, {change} from PyTorch"


def measure_minilm(path, format, embeddings):
    """The cosines of the vectors of MiniLM, with layers in a format as in examples/minilm, and
    those of that example; the seconds of this process to import the model."""
    known = get_known(path)
    start = time.process_time()
    blockscale.onnx.from_model(path)
    seconds = time.process_time() - start
    model, _ = quantize_layers(to_opset(onnx.load(path)), format, rounds=True)
    vectors = blockscale.onnx.from_model(model).compile()(**{name: known[name] for name in NAMES})
    return np.sum(vectors * embeddings, -1), seconds
