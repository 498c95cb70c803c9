# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes BERT of Hugging Face as both exporters of PyTorch write it, and its results by PyTorch:
a small one with random weights into Inputs, or MiniLM with its own into a folder, there also as a
program of torch.export.

Needs torch and requirements-export.txt; the warnings of exporters are of no concern.

  test/Onnx/make_bert.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test/Models"))

from sentences import Sentences, load

FOLDER = ROOT / "test/Onnx/Inputs"
SIZES = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64,
             vocab_size=50, max_position_embeddings=40)


def write(model, arguments, path, **options):
    torch.onnx.export(model, arguments, path, input_names=["input_ids", "attention_mask"],
                      output_names=["vectors"], **options)
    written = onnx.load(path)
    # What the exporters note of their source.
    for node in [*written.graph.node, *written.graph.value_info, written]:
        node.ClearField("doc_string")
        node.ClearField("metadata_props")
    written.graph.ClearField("value_info")
    path.write_bytes(written.SerializeToString(deterministic=True))


def write_all(model, ids, mask, folder, name, is_external):
    folder.mkdir(exist_ok=True)
    batch, sequence = torch.export.Dim("batch"), torch.export.Dim("sequence", max=40)
    shapes = {0: batch, 1: sequence}
    write(model, (ids, mask), folder / f"{name}-dynamo.onnx", dynamo=True, external_data=False,
          dynamic_shapes=(shapes, shapes))
    axes = {0: "batch", 1: "sequence"}
    write(model, (ids, mask), folder / f"{name}-script.onnx", dynamo=False, opset_version=17,
          dynamic_axes={"input_ids": axes, "attention_mask": axes})
    if is_external:
        onnx.save_model(onnx.load(folder / f"{name}-dynamo.onnx"), folder / f"{name}-external.onnx",
                        save_as_external_data=True, location=f"{name}.bin")
    with torch.no_grad():
        vectors = model(ids, mask)
    np.savez(folder / f"{name}.npz", input_ids=ids.numpy(), attention_mask=mask.numpy(),
             vectors=vectors.numpy())


def make_small():
    torch.manual_seed(0)
    model = Sentences(SIZES).eval()
    ids = torch.randint(0, SIZES["vocab_size"], (3, 9))
    mask = torch.ones(3, 9, dtype=torch.int64)
    mask[1, 5:] = mask[2, 2:] = 0
    write_all(model, ids, mask, FOLDER, "bert", False)


def make_minilm(folder):
    """The sentences of examples/minilm, padded to the longest of them."""
    model, tokens = load(ROOT / ".cache/minilm")
    ids = torch.zeros(len(tokens), max(map(len, tokens)), dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for row, found in enumerate(tokens):
        ids[row, :len(found)], mask[row, :len(found)] = torch.tensor(found), 1
    write_all(model, ids, mask, folder, "minilm", True)
    shapes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=40)}
    torch.export.save(torch.export.export(model, (ids, mask), dynamic_shapes=(shapes, shapes)),
                      folder / "minilm.pt2")


if __name__ == "__main__":
    make_minilm(Path(sys.argv[1])) if len(sys.argv) > 1 else make_small()
