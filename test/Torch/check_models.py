#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of Hugging Face, whole and small, on the CPU and in the emulator.

  check_models.py [--only GLOB]

Each form of a model is exported, imported and compiled once for each place, and called with
several sizes where it is dynamic. Its results are PyTorch's within the bound of its dtype,
relative to the largest value. Then a policy quantizes all layers and stacks of experts, and the
results are those of PyTorch with the reference's quantizers before each product
(quantized_models.py), but for the order of sums. A line for each form and place has the largest
error, or the least cosine. The last line is `N passed, N failed`.
"""

import argparse
import fnmatch
import json
import sys
import tempfile
import time
from pathlib import Path

import torch

import blockscale
import blockscale.torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))  # Behind the installed package.

import hugging_face as hf
from hugging_face import Form
from quantized_models import RULES, Quantized

PLACES = ("cpu", "sm_100a", "sm_90a")
SIZES = ((2, 9), (1, 5), (3, 17))
#: The largest error, relative to the largest value.
BOUNDS = {torch.float32: 1e-5, torch.bfloat16: 2.0 ** -5, torch.float16: 2.0 ** -8}
#: The least cosine of a quantized model with what PyTorch computes of the same codes, and that of
#: the most calls. Sums have another order, so that in a call an operand of the second layer may
#: be rounded to its neighbour, which changes the global scale of all others.
LEAST, OF_MOST = 0.95, 0.9999

_EAGER = (("attention", "eager"),)
_GROUPED, _BATCHED = (("experts", "grouped_mm"),), (("experts", "batched_mm"),)
_ALL = ("mask", "positions")
#: What is compared with PyTorch.
FORMS = (
    Form("bert"), Form("bert", True), Form("bert", True, dtype=torch.bfloat16),
    Form("llama"), Form("llama", True), Form("llama", True, _ALL), Form("llama", True, ()),
    Form("llama", True, options=_EAGER), Form("llama", True, _ALL, torch.bfloat16),
    Form("llama", True, dtype=torch.float16),
    Form("qwen2", True), Form("qwen3", True), Form("qwen3", True, _ALL, torch.bfloat16),
    Form("gpt_oss", options=_GROUPED), Form("gpt_oss", True, options=_GROUPED),
    Form("gpt_oss", True, options=_BATCHED), Form("gpt_oss", True, _ALL, options=_GROUPED),
    Form("gpt_oss", True, dtype=torch.bfloat16, options=_GROUPED, layers=1),
    Form("mixtral", True, options=_GROUPED), Form("mixtral", True, options=_BATCHED),
    Form("vit", True), Form("vit", True, dtype=torch.bfloat16),
    Form("t5"), Form("t5", True), Form("whisper", True),
)
#: What a policy quantizes.
QUANTIZED = (
    Form("bert", True), Form("llama", True, _ALL), Form("qwen3", True),
    Form("gpt_oss", True, options=_GROUPED), Form("mixtral", True, options=_GROUPED),
    Form("vit", True), Form("t5", True),
)


class Counts:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, what, result, problem=None):
        """A line; a problem is why it failed."""
        self.failed += problem is not None
        self.passed += problem is None
        print(f"{what}: {result if problem is None else f'error: {problem}'}", flush=True)


def get_sizes(form):
    return SIZES if form.is_dynamic else SIZES[:1]


def get_options(place):
    return {} if place == "cpu" else {"target": place}


def call(compiled, form):
    """The results for each size."""
    return [compiled(**hf.make_inputs(form, *size)) for size in get_sizes(form)]


def check_plain(counts, form):
    model = hf.make_model(form)
    wanted = call(model, form)
    try:
        imported = blockscale.torch.from_export(hf.export(model, form))
    except blockscale.Error as error:
        return counts.add(str(form), "", f"is not imported: {str(error).splitlines()[0]}")
    for place in PLACES:
        start = time.perf_counter()
        try:
            found = call(imported.compile(**get_options(place)), form)
        except blockscale.Error as error:
            counts.add(f"{form}: {place}", "", str(error).splitlines()[0])
            continue
        error = max(hf.get_error(one, other) for one, other in zip(found, wanted))
        bound = BOUNDS[form.dtype]
        counts.add(f"{form}: {place}", f"error {error:.1e}, {time.perf_counter() - start:.1f} s",
                   None if error <= bound else f"expected an error of at most {bound:.1e}, but "
                                               f"got {error:.1e}")
    return None


def check_decoding(counts):
    """Tokens one by one, with a static cache of keys and values, beside all of them at once."""
    from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

    form, count = Form("llama"), 8
    model, tokens = hf.make_model(form), hf.make_inputs(form, 1, 8)["input_ids"]
    wanted = model(tokens, use_cache=False).logits
    model.generation_config.use_cache = True
    model.generation_config.cache_implementation = "static"
    cached = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=2 * count)
    program = cached.export(input_ids=tokens[:, :1], cache_position=torch.tensor([0]))
    imported = blockscale.torch.from_export(program)
    for place in PLACES:
        compiled = imported.compile(**get_options(place))
        found = torch.cat([hf.get_tensors(compiled(
            input_ids=tokens[:, step:step + 1], cache_position=torch.tensor([step])))[0]
            for step in range(count)], 1)
        error = hf.get_error(found, wanted)
        counts.add(f"{form}, static cache: {place}", f"error {error:.1e}, {count} tokens",
                   None if error <= BOUNDS[form.dtype] else "expected a smaller one")


def get_cosines(found, wanted):
    """The least one of each two results, in order."""
    return sorted(min(torch.nn.functional.cosine_similarity(
        one.double().flatten(), other.double().flatten(), dim=0).item()
        for one, other in zip(*map(hf.get_tensors, results))) for results in zip(found, wanted))


def check_quantized(counts, form, folder):
    model = hf.make_model(form)
    imported = blockscale.torch.from_export(hf.export(model, form), constants="resources")
    for format, rule in RULES.items():
        policy = folder / f"{format}.json"
        policy.write_text(json.dumps({"version": 1, "leave_last_projection": False, "rules": [
            {"match": {"operands": "weight"}, "cast": "bf16", **rule}]}))
        quantized = Quantized(hf.make_model(form), format)
        wanted = call(quantized, form)
        for place in PLACES:
            what = f"{form}, {format}: {place}"
            try:
                compiled = imported.compile(policy=policy, **get_options(place))
                found = call(compiled, form)
            except blockscale.Error as error:
                counts.add(what, "", str(error).splitlines()[0])
                continue
            cosines = get_cosines(found, wanted)
            products = compiled.compiled.stages["canonicalize"].count(" blockscale.scaled_mm ")
            problem = None
            if products != quantized.products:
                problem = f"expected {quantized.products} quantized products, but got {products}"
            elif not cosines[0] >= LEAST or not cosines[len(cosines) // 2] >= OF_MOST:
                problem = (f"expected cosines of at least {LEAST} and mostly {OF_MOST}, but got "
                           f"{', '.join(f'{cosine:.5f}' for cosine in cosines)}")
            counts.add(what, f"cosines {', '.join(f'{each:.5f}' for each in cosines)}, "
                             f"{products} products", problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="*", help="glob of the names of forms")
    options = parser.parse_args()
    counts = Counts()
    print(f"torch {torch.__version__}, transformers {hf.transformers.__version__}")
    for form in FORMS:
        if fnmatch.fnmatch(str(form), options.only):
            check_plain(counts, form)
    if fnmatch.fnmatch("static cache", options.only):
        check_decoding(counts)
    with tempfile.TemporaryDirectory() as folder:
        for form in QUANTIZED:
            if fnmatch.fnmatch(str(form), options.only):
                check_quantized(counts, form, Path(folder))
    print(f"{counts.passed} passed, {counts.failed} failed")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
