#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times a whole model, of the sizes of all-MiniLM-L6-v2, beside torch.compile.

  python3 benchmarks/gpu/minilm_plan.py pack FOLDER [--only GLOB] [--checkout CHECKOUT]      # here
  python3 FOLDER/minilm_plan.py run [--only GLOB] [--out FOLDER] [--older FOLDER]            # there

Both machines need torch, the other one a Hopper GPU. The model is BERT's encoder with 6 layers in
bf16, from the numbers of words to a vector of each sentence, all of full length. Nothing is
quantized, so its time is that of plain products, attention, norms and activations. Weights are
random, the same on both machines, and the vocabulary has 2048 words, which keeps what is packed
small: a table is read only where a word is. torch.export makes the module, whose weights are
constants, and its launch plan is one call. Peers are torch.compile by default and by max-autotune;
the better one counts. With --older, what an older compiler packed takes part: that of the checkout
that --checkout names, which is built in build/.

The clock is that of weight_only.py; all calls are CUDA graphs. First vectors are compared with
those of torch in f32: they may be twice as far off as torch's in bf16. A share is the best peer's
time over ours. Prints a table with the bars; writes minilm_plan.json. The exit status is 1 if a
result is wrong or a bar is missed.
"""

import importlib.util
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from product_bench import Benchmark, capture, get_build, main

HIDDEN, INNER, HEADS, LAYERS = 384, 1536, 12, 6
WORDS, POSITIONS, EPSILON = 2048, 512, 1e-12
PEERS = {"torch.compile": {}, "max-autotune": {"mode": "max-autotune-no-cudagraphs"}}
# The least share of torch.compile's speed, and the least times that of the older compiler.
LEAST, LEAST_OF_OLDER = 0.5, 5.0
# The most times torch's error in bf16 that a vector may be off.
MOST_ERROR = 2


@dataclass(frozen=True)
class Case:
    sentences: int
    words: int

    @property
    def label(self):
        return f"{self.sentences} of {self.words} words"

    @property
    def file(self):
        return f"minilm_{self.sentences}_{self.words}"


CASES = [Case(32, 128), Case(1, 128)]


def list_weights():
    """Shapes by name: of a layer, with its number, and of the embeddings."""
    shapes = {"words": (WORDS, HIDDEN), "positions": (POSITIONS, HIDDEN), "kind": (HIDDEN,),
              "norm": (HIDDEN,), "norm_bias": (HIDDEN,)}
    for layer in range(LAYERS):
        sizes = {**dict.fromkeys(("query", "key", "value", "output"), (HIDDEN, HIDDEN)),
                 "up": (INNER, HIDDEN), "down": (HIDDEN, INNER),
                 "norm1": (HIDDEN,), "norm2": (HIDDEN,)}
        for name, shape in sizes.items():
            shapes[f"{name}_{layer}"] = shape
            shapes[f"{name}_{layer}_bias"] = shape[:1]
    return shapes


def draw_weights():
    """Numbers of all weights. Products keep the magnitude of what they read, and words are far
    from alike to others, so that each layer has its part in the vectors."""
    random = np.random.default_rng(0)
    weights = {}
    for name, shape in list_weights().items():
        numbers = random.normal(size=shape) * (shape[-1] ** -0.5 if len(shape) > 1 else 0.1)
        is_factor = name.startswith("norm") and not name.endswith("bias")
        weights[name] = np.float32(numbers * (4 if name.startswith("query") else 1) + is_factor)
    return weights


def make_model(torch, dtype):
    """The model on the CPU."""
    linear, norm = torch.nn.functional.linear, torch.nn.functional.layer_norm
    attend = torch.nn.functional.scaled_dot_product_attention

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, numbers in draw_weights().items():
                self.register_buffer(name, torch.from_numpy(numbers).to(dtype))
            self.eval()

        def compute(self, x, name):
            return linear(x, getattr(self, name), getattr(self, f"{name}_bias"))

        def normalize(self, x, name):
            return norm(x, (HIDDEN,), getattr(self, name), getattr(self, f"{name}_bias"), EPSILON)

        def forward(self, ids):
            count, length = ids.shape
            x = torch.nn.functional.embedding(ids, self.words)
            x = self.normalize(x + self.positions[:length] + self.kind, "norm")
            for layer in range(LAYERS):
                q, k, v = (self.compute(x, f"{name}_{layer}").view(
                    count, length, HEADS, HIDDEN // HEADS).transpose(1, 2)
                    for name in ("query", "key", "value"))
                y = attend(q, k, v).transpose(1, 2).reshape(count, length, HIDDEN)
                x = self.normalize(x + self.compute(y, f"output_{layer}"), f"norm1_{layer}")
                y = torch.nn.functional.gelu(self.compute(x, f"up_{layer}"))
                x = self.normalize(x + self.compute(y, f"down_{layer}"), f"norm2_{layer}")
            return torch.nn.functional.normalize(x.mean(1), dim=1)

    return Model()


def draw_ids(torch, case):
    random = np.random.default_rng(case.sentences)
    return torch.from_numpy(random.integers(0, WORDS, (case.sentences, case.words), np.int64))


def load_older(folder, machine):
    """The machine as the runtime of another packed folder has it."""
    path = folder / "blockscale_runtime.py"
    specification = importlib.util.spec_from_file_location("older_runtime", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    runtime = module.Runtime(folder.resolve() / "libBlockScaleRuntime.so")
    return replace(machine, runtime=runtime, device=runtime.device(), folder=folder)


def find_problem(torch, vectors, of_torch, expected):
    """What is wrong with vectors of norm 1; an empty text if they are as near to those of f32 as
    torch's in bf16, within a factor."""
    ours, theirs = (torch.linalg.vector_norm(found.float() - expected, dim=1).max().item()
                    for found in (vectors, of_torch))
    # NaN is no number that is at most another.
    return "" if ours <= MOST_ERROR * theirs else f"WRONG: off by {ours:.2g}, torch by {theirs:.2g}"


class MiniLM(Benchmark):
    name, cases = "minilm_plan", CASES
    columns = ("sentences", "us", *(f"{name}, us" for name in PEERS), "older, us",
               "share of torch.compile", "times older", "bars")
    older = None

    def add_options(self, pack, run):
        run.add_argument("--older", type=Path, metavar="FOLDER",
                         help="what an older compiler packed")

    def make_modules(self, case):
        import torch
        library = get_build(self.checkout) / "lib/libBlockScaleC.so"
        os.environ["BLOCKSCALE_LIBRARY"] = str(library)
        sys.path.insert(0, str(self.checkout / "python"))
        import blockscale.torch
        with torch.no_grad():
            program = torch.export.export(make_model(torch, torch.bfloat16),
                                          (draw_ids(torch, case),))
        imported = blockscale.torch.from_export(program, constants="resources")
        return {case.file: imported.module.source.decode()}

    def start(self, machine, options, cases):
        torch = machine.torch
        self.models = {dtype: make_model(torch, dtype).cuda()
                       for dtype in (torch.bfloat16, torch.float32)}
        if options.older is None:
            return ""
        self.older = load_older(options.older, machine)
        about = self.older.read_about(self.name)
        return f"the older compiler: {about['commit']}"

    def measure(self, machine, case):
        torch, ids = machine.torch, draw_ids(machine.torch, case).cuda()
        model = self.models[torch.bfloat16]
        works, results = {}, {}
        for name, place in (("ours", machine), ("older", self.older)):
            if place:
                works[name], results[name] = place.make_call(case.file, "forward", (ids,))
                works[name]()
        with torch.no_grad():
            expected, of_torch = self.models[torch.float32](ids), model(ids)
            problems = [find_problem(torch, vectors, of_torch, expected)
                        for vectors in results.values()]
            own = list(works)
            for name, options in PEERS.items():
                compiled = torch.compile(model, fullgraph=True, dynamic=False, **options)
                works[name] = lambda compiled=compiled: compiled(ids)
            calls, notes = capture(machine.clock, works, [*own, next(iter(PEERS))])
            times = machine.clock.compare(calls)
        best = min(times[name] for name in PEERS if name in times)
        return {"label": case.label, "us": times, "problem": max(problems), "notes": notes,
                "share": best / times["ours"],
                "times": times["older"] / times["ours"] if self.older else None}

    def verdict(self, row):
        if row["problem"]:
            return row["problem"]
        is_met = row["share"] >= LEAST and (row["times"] is None or row["times"] >= LEAST_OF_OLDER)
        return "met" if is_met else "MISSED"

    def make_cells(self, row):
        times = (f"{row['us'][name]:.1f}" if name in row["us"] else ""
                 for name in ("ours", *PEERS, "older"))
        older = "" if row["times"] is None else f"{row['times']:.2f}"
        return [row["label"], *times, f"{row['share']:.2f}", older, f"{LEAST}; {LEAST_OF_OLDER}"]


if __name__ == "__main__":
    sys.exit(main(MiniLM(), __doc__))
