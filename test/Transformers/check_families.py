# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of each family of families.py, with random weights, in each layout: loaded, compared
with plain weights of the same values, saved, loaded again, and generated with.

    check_families.py [--device cuda] [--only PATTERN ..]

Patterns are those of FAMILY/LAYOUT, as "llama/*".

The last line is `N passed, N failed`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import torch
import transformers

import blockscale.transformers
import families
from blockscale.transformers._save import list_weights
from families import (
    FAMILIES,
    LAYOUTS,
    choose_models,
    find_difference,
    get_ratio,
    make_checkpoint,
    make_inputs,
    quiet,
    read_tensors,
)


def find_problems(family, layout, folder, device="cpu"):
    """What is wrong with a model in a layout, and how far its logits are off."""
    make_checkpoint(family, layout, folder)
    inputs = {name: each.to(device) for name, each in make_inputs(family).items()}
    problems = []

    def load(path, **options):
        return families.load(path, device_map=device, **options)
    # Quantized activations are another matter: here they stay plain.
    config = blockscale.transformers.BlockScaleConfig(weight_only=True)
    model = load(folder / "quantized")
    plain_activations = load(folder / "quantized", quantization_config=config)
    plain = load(folder / "plain-values")
    weights = list_weights(model)
    if len(weights) < 8:
        problems.append(f"expected at least 8 quantized weights, but got {len(weights)}")
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and name.removesuffix(".weight") in weights:
            problems.append(f"expected no plain copy of a quantized weight, but got {name}")
    ratio = get_ratio(plain_activations(**inputs).logits, plain(**inputs).logits)
    most = LAYOUTS[layout][2]
    if not ratio <= most:
        problems.append(f"expected logits within {most} of those of plain weights, but got {ratio}")
    logits = model(**inputs).logits
    if not logits.isfinite().all():
        problems.append("expected finite logits")
    with quiet():
        model.save_pretrained(folder / "saved")
    again = load(folder / "saved")
    problems += [f"expected the same {name} after it was saved and loaded"
                 for name in find_difference(model.state_dict(), again.state_dict())]
    # transformers itself stores some plain tensors in another dtype than it found.
    changed = find_difference(read_tensors(folder / "quantized"), read_tensors(folder / "saved"))
    problems += [f"expected the bytes of '{name}', as the file had it" for name in changed
                 if not name.endswith(("gate.weight", "e_score_correction_bias"))]
    if not torch.equal(again(**inputs).logits, logits):
        problems.append("expected the same logits after it was saved and loaded")
    prompt = {name: each for name, each in inputs.items() if not name.startswith("decoder")}
    with quiet():
        found = again.generate(**prompt, max_new_tokens=3, min_new_tokens=3, do_sample=False)
    if found.shape[0] != 2 or found.shape[1] < 4:
        problems.append(f"expected tokens of 2 prompts, but got {list(found.shape)}")
    return problems, f"{len(weights)} weights, logits within {ratio:.4f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", default=["*"])
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    chosen = choose_models(FAMILIES, arguments.only)
    blockscale.transformers.take_over()
    print(f"transformers {transformers.__version__}")
    passed = failed = 0
    for name, family, layout in chosen:
        with tempfile.TemporaryDirectory() as folder:
            try:
                problems, text = find_problems(family, layout, Path(folder), arguments.device)
            except Exception as error:
                problems, text = [f"{type(error).__name__}: {error}"], "stopped"
        print(f"{name}: {text}", *problems, sep="\n  ", flush=True)
        passed, failed = passed + (not problems), failed + bool(problems)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
