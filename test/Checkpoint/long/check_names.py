#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/long/model-names.py runs.

Every class of the table of names is built, and what `quantize` plans for it by one rule is compared
with the classes of its modules: no embedding, router or norm is quantized, no linear layer is left
for its name, and layers that vLLM fuses share a global scale. Then small models of some types are
quantized and loaded by transformers: no tensor is missing or unexpected, and logits are those of
the numbers that the codes stand for, within the noise of the format from the source's. The last
line is `N passed, N failed, N skipped`.

  test/Checkpoint/long/check_names.py [--only WORD] [--loaded all|TYPE,..]
"""

import argparse
import collections
import json
import logging
import multiprocessing
import os
import sys
import tempfile
import warnings
from concurrent import futures
from pathlib import Path

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TQDM_DISABLE"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

import loaded_models
import model_builds
import model_kinds
from blockscale.checkpoint import _model_table

#: Types whose layers transformers loads under the names of files or others, one by one. It joins
#: the experts of models when it loads them, which compressed-tensors' NVFP4 does not allow, and
#: reads `weight` of layers of Falcon and T5, which compressed ones do not have.
LOADED = (
    "bart", "bert", "bloom", "cohere", "distilbert", "electra", "gemma", "gemma2", "gemma3_text",
    "glm", "glm4", "gpt_neox", "gptj", "granite", "llama", "llava", "mistral", "olmo2", "opt",
    "phi",
    "phi3", "qwen2", "qwen3", "qwen3_5_text", "roberta", "smollm3", "stablelm", "starcoder2", "vit",
    "whisper")
#: By so many decibels noise may differ from that of weights that are rounded one by one, without
#: the groups of layers that share a scale; and the largest error beside the codes' numbers.
NOISE, ERROR = 3.0, 0.001


class Counts:
    """Counts what holds, and prints what does not."""

    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0

    def add(self, name, faults):
        self.passed += not faults
        self.failed += bool(faults)
        for fault in faults:
            print(f"FAILED {name}: {fault}", flush=True)

    def skip(self, name, reason):
        self.skipped += 1
        print(f"skipped {name}: {reason}"[:160].replace("\n", " "), flush=True)


def check_plan(name):
    """What is wrong with the plan of a class, why it cannot be judged, and what it has."""
    model_class, is_listed = CLASSES[name]
    try:
        model, _ = model_builds.build_default(model_class)
    except Exception as error:  # pylint: disable=broad-except
        return name, [], f"not built: {error!r}", {}
    if not is_listed:
        return name, ["the table does not have it"], "", {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            planned = model_kinds.Planned(model, Path(folder) / "model")
            faults = list(model_kinds.find_faults(planned, name))
    except Exception as error:  # pylint: disable=broad-except
        return name, [f"{type(error).__name__}: {error}"[:300]], "", {}
    return (name, faults + [planned.said] * bool(planned.said), "",
            {**collections.Counter(planned.kinds.values()), "quantized": len(planned.quantized)})


#: Classes by name, and whether the table has them; processes that are forked have them, too.
CLASSES = {}


def check_plans(counts, only, pool_of):
    """All classes of the installed transformers."""
    table = json.loads((Path(_model_table.__file__).parent / "model_names.json").read_text())
    CLASSES.update((name, (each, name in table["architectures"]))
                   for name, each in model_builds.find_classes(only).items())
    found = collections.Counter()
    with pool_of() as pool:
        for name, faults, reason, kinds in pool.map(check_plan, sorted(CLASSES)):
            if reason:
                counts.skip(name, reason)
                continue
            counts.add(name, faults)
            found.update(kinds)
    print(f"{counts.passed + counts.failed} classes: "
          + ", ".join(f"{count} {kind or 'other'}" for kind, count in found.most_common()))


def check_type(name):
    """What is wrong with a type that transformers loads, and what it measured."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = loaded_models.run(name, Path(folder))
    except Exception as error:  # pylint: disable=broad-except
        return name, [f"{type(error).__name__}: {error}"[:300].replace("\n", " ")], ""
    faults = []
    if found.keys:
        faults.append(f"keys: {found.keys}"[:400])
    if not abs(found.noise - found.expected) <= NOISE:
        faults.append(f"expected about {found.expected:.1f} dB, but got {found.noise:.1f}")
    if not found.error <= ERROR:
        faults.append(f"expected {ERROR} from the codes' numbers, but got {found.error:.3g}")
    return name, faults, (
        f"{found.layers} layers, {found.noise:.1f} dB from the source, {found.expected:.1f} by "
        f"NVFP4's definition, {found.error:.2g} from the codes' numbers")


def check_loaded(counts, types, pool_of):
    """Types that transformers loads."""
    with pool_of() as pool:
        for name, faults, measured in pool.map(check_type, types):
            print(f"{name}: {measured}", flush=True)
            counts.add(f"{name} by transformers", faults)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD",
                        help="folders of transformers with this word alone")
    parser.add_argument("--loaded", default=",".join(LOADED), metavar="TYPES",
                        help="types that are loaded, or all")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)  # Processes share the cores.
    counts = Counts()

    def pool_of():
        return futures.ProcessPoolExecutor(
            os.cpu_count(), mp_context=multiprocessing.get_context("fork"))
    check_plans(counts, options.only, pool_of)
    types = loaded_models.list_types() if options.loaded == "all" else filter(
        None, options.loaded.split(","))
    check_loaded(counts, types, pool_of)
    print(f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
