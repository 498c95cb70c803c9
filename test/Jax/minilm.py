# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""all-MiniLM-L6-v2 in pure JAX, exported, imported and run on this CPU, against JAX itself
and the encoder of examples/minilm. The last line is `N passed, N failed`.

With --write FILE.jax, the exported function of one sentence and no more: of token numbers
[1, 40] and of which of them are words, to a vector.
"""

import argparse
import sys
import time
from pathlib import Path

import jax
import numpy as np

# The installed package, before the checkout's.
from models import encode, export_function, import_function

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples/minilm"))

import weights
from encoder import Encoder
from main import SENTENCES
from tokenizer import Tokenizer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", default=str(ROOT / ".cache/minilm"),
                        help="folder of the model's files")
    parser.add_argument("--write", type=Path, metavar="FILE.jax")
    options = parser.parse_args()
    model = weights.load(options.cache)
    tokens = [Tokenizer(model.vocabulary).encode(sentence) for sentence in SENTENCES]
    longest = max(map(len, tokens))
    ids = np.zeros((len(tokens), longest), np.int32)
    mask = np.zeros(ids.shape, bool)
    for row, each in enumerate(tokens):
        ids[row, :len(each)], mask[row, :len(each)] = each, True
    p = {"epsilon": np.float32(model.config["layer_norm_eps"]),
         **{name: np.asarray(tensor, np.float32) for name, tensor in model.tensors.items()
            if not name.startswith("pooler") and not name.endswith("position_ids")}}
    layers, heads = (model.config[f"num_{name}"] for name in ("hidden_layers",
                                                              "attention_heads"))

    def function(ids, mask):
        return encode(p, ids, mask, layers, heads)
    if options.write:
        exported = export_function(function, np.zeros((1, 40), np.int32), np.ones((1, 40), bool))
        options.write.write_bytes(exported.serialize())
        return 0
    start = time.perf_counter()
    imported = import_function(function, ids, mask)
    seconds = time.perf_counter() - start
    print(f"exported and imported in {seconds:.1f} s, "
          f"{sum(array.nbytes for array in imported.constants.values())} bytes of constants, "
          f"{len(str(imported.module))} of text")
    start = time.perf_counter()
    found = np.asarray(imported.compile()(ids, mask))
    print(f"compiled and run in {time.perf_counter() - start:.1f} s")
    encoder = Encoder(model)
    own = np.stack([encoder.run(each)[0] for each in tokens])
    failed = 0
    for name, wanted in (("JAX", np.asarray(jax.jit(function)(ids, mask))),
                         ("the encoder of the example", own)):
        error = np.abs(found - wanted).max()
        least = (found * wanted).sum(1).min()
        print(f"against {name}: largest difference {error:.2e}, least cosine {least:.7f}")
        failed += not (error < 1e-5 and least > 0.999999)
    failed += not seconds < 10
    print(f"{3 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
