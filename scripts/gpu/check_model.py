#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A whole model on a GPU, one launch plan with every op of it, beside the CPU.

  scripts/gpu/check_model.py pack FOLDER MODULE --policy FILE
                                        compiles the module of any number of words that a
                                        frontend made of all-MiniLM-L6-v2
                                        (scripts/long/models.sh), and runs it on the CPU for the
                                        sentences of examples/minilm
  FOLDER/scripts/gpu/check_model.py run on the machine with the GPU: calls it for each sentence,
                                        whose vectors have a cosine of 0.999 or more with those
                                        of the CPU, whose sums have another order

`run` needs python3, NumPy, a driver and what lies in FOLDER. Prints the head of a log, and
`N passed, N failed` at the end.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in (
    "test/Execution/Inputs", "scripts", "scripts/gpu")]
sys.path.append(str(ROOT / "python"))  # Behind the installed package.

from expect import Expectations
from packed import Pack
from packing import build_bundle, describe, make_folder

CHIP = "sm_90a"
LEAST = 0.999
COPIES = ("scripts/gpu/check_model.py", "scripts/gpu/packed.py", "scripts/gpu/packing.py",
          "scripts/log_head.py", "test/Execution/Inputs/expect.py", "python/blockscale_runtime.py")


def pack(options):
    import blockscale
    sys.path[:0] = [str(ROOT / "examples/minilm")]
    import weights
    from main import SENTENCES
    from tokenizer import Tokenizer

    folder = options.folder
    make_folder(folder, COPIES)
    build_bundle(options.module.read_text(), CHIP, folder / "model.bundle",
                 [f"--policy={options.policy}"])
    compiled = blockscale.compile(options.module, policy=options.policy)
    tokenizer = Tokenizer(weights.load(str(ROOT / ".cache/minilm")).vocabulary)
    arrays = {}
    for number, sentence in enumerate(SENTENCES):
        ids = np.array([tokenizer.encode(sentence)], np.int64)
        arrays[f"ids{number}"] = ids
        arrays[f"vector{number}"] = compiled(ids, np.ones_like(ids))
    np.savez(folder / "calls.npz", **arrays)
    describe(folder, calls=len(SENTENCES), policy=options.policy.read_text())


def run(_):
    packed, expect, calls = Pack(ROOT), Expectations(), np.load(ROOT / "calls.npz")
    print(f"policy   {packed.about['policy'].strip()}")
    start = time.perf_counter()
    module = packed.load("model.bundle")
    print(f"loaded in {time.perf_counter() - start:.1f} s")
    for number in range(packed.about["calls"]):
        ids, wanted = calls[f"ids{number}"], calls[f"vector{number}"]
        results, problem = packed.run(module, "forward", ids, np.ones_like(ids))
        if not problem:
            cosine = float((results[0] * wanted).sum())
            print(f"sentence {number}, {ids.size} tokens: cosine {cosine:.6f}, largest difference "
                  f"{np.abs(results[0] - wanted).max():.1e}")
            if not cosine >= LEAST:
                problem = f"expected a cosine of {LEAST} or more, but got {cosine}"
        expect.record(f"sentence {number}", problem)
    expect.finish()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    packs = commands.add_parser("pack")
    packs.add_argument("folder", type=Path)
    packs.add_argument("module", type=Path)
    packs.add_argument("--policy", type=Path, required=True)
    packs.set_defaults(function=pack)
    commands.add_parser("run").set_defaults(function=run)
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
