# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of some families with random weights, in each layout, loaded by vLLM's own loader:
layers and experts against those of blockscale.transformers.

    check_models.py [--device cuda] [--only PATTERN ..]

Patterns are those of FAMILY/LAYOUT, as "llama/*". vLLM's compiled ops are not asked for: a GPU
needs PyTorch and the Python files alone, which pack.py gathers.

The last line is `N passed, N failed`.
"""

import argparse
import importlib.metadata
import sys
import tempfile
from pathlib import Path

import torch

from vllm_models import (
    DEVICE,
    Models,
    compare_experts,
    compare_layers,
    families,
    list_experts,
    load_by_transformers,
)

#: Those of families.py whose small models vLLM takes as they are.
_FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "phi3", "mixtral", "qwen3_moe")
#: What is refused of them, with what the message says.
_REFUSED = {"mixtral/blockscale": "got stacks of all", "qwen3_moe/blockscale": "got stacks of all",
            "phi3/fp8-blocks": "layers that lie in one tensor"}
#: How far results on a GPU may be off, whose products sum in another order for another number of
#: rows of a weight: vLLM makes one layer of several.
_BOUND = {"cpu": 0, "cuda": 0.01}


def find_problems(models, family, layout, folder):
    """What is wrong with a model in a layout, and what was compared."""
    families.save_plain(family, folder / "plain")
    families.quantize(folder / "plain", folder / "quantized", layout)
    model = models.load(folder / "quantized")
    door = load_by_transformers(folder / "quantized")
    names, ratios = compare_layers(model, door)
    problems, experts = [], list_experts(model)
    if len(names) < 4:
        problems.append(f"expected at least 4 quantized layers, but got {len(names)}")
    ratios |= {each.layer_name: compare_experts(each, door) for each in experts}
    most = _BOUND[DEVICE]
    problems += [f"{name}: expected results within {most} of those of transformers, but got {ratio}"
                 for name, ratio in ratios.items() if not ratio <= most]
    largest = max(ratios.values(), default=0)
    return problems, f"{len(names)} layers, {len(experts)} experts, within {largest:.4f}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", default=["*"])
    parser.add_argument("--device", choices=("cpu", "cuda"), default=DEVICE)
    arguments = parser.parse_args()
    if arguments.device != DEVICE:
        parser.error(f"expected --device {DEVICE}, which PyTorch finds here, but got "
                     f"{arguments.device}")
    chosen = families.choose_models(_FAMILIES, arguments.only)
    print(f"vLLM {importlib.metadata.version('vllm')}, PyTorch {torch.__version__}, {DEVICE}",
          flush=True)
    models = Models()
    passed = failed = 0
    for name, family, layout in chosen:
        refused = _REFUSED.get(name)
        with tempfile.TemporaryDirectory() as folder:
            try:
                problems, text = find_problems(models, family, layout, Path(folder))
                problems += [] if refused is None else ["expected it to be refused"]
            except Exception as error:
                text = "refused"
                problems = [] if refused is not None and refused in str(error) else [
                    f"{type(error).__name__}: {error}"]
        print(f"{name}: {text}", *problems, sep="\n  ", flush=True)
        passed, failed = passed + (not problems), failed + bool(problems)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
