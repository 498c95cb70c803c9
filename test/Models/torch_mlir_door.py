# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes all-MiniLM-L6-v2 with its sentence vectors as torch-mlir imports it from PyTorch.

The function @forward takes the tokens of one sentence and what is 1 for each of them and 0 for
padding, both tensor<1xTxi64>, and returns the vector of norm 1, tensor<1x384xf32>. T is dynamic
without --length. torch-mlir lowers no dynamic sizes to TOSA, so --tosa needs --length.

Needs torch and requirements-torch-mlir.txt.

  test/Models/torch_mlir_door.py OUT.mlir [--length T] [--tosa] [--cache FOLDER]
"""

import argparse
import sys
from pathlib import Path

import torch
import torch_mlir.fx

import sentences

#: The tokens that the model is traced with: [CLS], a word and [SEP], if their number is dynamic.
TRACED = 3


def export(model, length):
    """The program of a model for one sentence of `length` tokens, of any number if it is None."""
    # torch-mlir takes buffers from the state, in which persistent ones are alone.
    for module in model.modules():
        for name, buffer in list(module.named_buffers(recurse=False)):
            module.register_buffer(name, buffer)
    limit = model.bert.config.max_position_embeddings
    if length is not None and not 1 <= length <= limit:
        raise SystemExit(f"expected 1 to {limit} tokens, but got {length}")
    ids = torch.full((1, TRACED if length is None else length), 101)
    sizes = None if length is not None else {1: torch.export.Dim("tokens", min=2, max=limit)}
    return torch.export.export(model, (ids, torch.ones_like(ids)), dynamic_shapes=(sizes, sizes))


def write(path, cache, length=None, output="linalg-on-tensors"):
    """Writes the module to `path`, with the weights of the folder `cache` as resources.

    `length` is the number of tokens, any number if it is None; `output` is torch-mlir's name of
    the dialects, "linalg-on-tensors" or "tosa"."""
    model, _ = sentences.load(cache)
    module = torch_mlir.fx.export_and_import(export(model, length), output_type=output,
                                             func_name="forward")
    text = module.operation.get_asm(enable_debug_info=True)
    Path(path).write_text(text + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", metavar="OUT.mlir")
    parser.add_argument("--length", type=int, metavar="T", help="the number of tokens")
    parser.add_argument("--tosa", action="store_true", help="write TOSA instead of linalg")
    parser.add_argument("--cache", default=sentences.ROOT / ".cache/minilm", type=Path,
                        help="the folder of the weights")
    options = parser.parse_args()
    if options.tosa and options.length is None:
        parser.error("expected --length with --tosa, but got none")
    write(options.path, options.cache, options.length,
          "tosa" if options.tosa else "linalg-on-tensors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
