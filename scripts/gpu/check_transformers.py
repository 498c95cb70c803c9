#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of Hugging Face on a GPU, each one launch plan with every op of it, beside the CPU.

  scripts/gpu/check_transformers.py pack FOLDER [--target CHIP]
                                        imports the models (test/Torch/hugging_face.py), plain
                                        and quantized by a policy, compiles them, and runs them
                                        on the CPU; needs transformers (scripts/peers.sh exporter)
  FOLDER/scripts/gpu/check_transformers.py run
                                        on the machine with the GPU: the results of plain models
                                        are the bytes of the CPU, those of quantized ones have a
                                        cosine of 0.999 or more with it, whose sums have another
                                        order

`run` needs python3, NumPy, a driver and what lies in FOLDER. Prints the head of a log, and
`N passed, N failed` at the end.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in (
    "test/Execution/Inputs", "test/Torch", "scripts", "scripts/gpu")]
sys.path.append(str(ROOT / "python"))  # Behind the installed package.

from expect import Expectations
from packed import Pack
from packing import build_bundle, describe, make_folder

LEAST = 0.999
SIZES = ((2, 9), (1, 5), (3, 17))
FORMATS = ("", "nvfp4", "mxfp8")
COPIES = ("scripts/gpu/check_transformers.py", "scripts/gpu/packed.py", "scripts/gpu/packing.py",
          "scripts/log_head.py", "test/Execution/Inputs/expect.py", "python/blockscale_runtime.py")


def pack(options):
    import blockscale.torch
    import hugging_face as hf
    from hugging_face import Form

    folder = options.folder
    make_folder(folder, COPIES)
    experts = (("experts", "grouped_mm"),)
    calls, arrays = [], {}
    for form in (Form("bert", True), Form("llama", True, ("mask", "positions")),
                 Form("qwen3", True), Form("gpt_oss", True, options=experts),
                 Form("mixtral", True, options=experts), Form("vit", True), Form("t5", True),
                 Form("whisper", True)):
        model = hf.make_model(form)
        imported = blockscale.torch.from_export(hf.export(model, form), constants="resources")
        for format in FORMATS:
            name = f"{form.name}{format and '-'}{format}"
            given = {}
            if format:
                given["policy"] = folder / f"{format}.json"
                given["policy"].write_text(json.dumps({"version": 1, "rules": [
                    {"match": {"operands": "weight"}, "cast": "bf16", "format": format}]}))
            build_bundle(imported.module.source.decode(), options.target,
                         folder / f"{name}.bundle",
                         [f"--{key}={value}" for key, value in given.items()])
            compiled = imported.compile(**given)
            for size in SIZES:
                inputs = hf.make_inputs(form, *size)
                number = len(calls)
                calls.append([name, bool(format), list(size)])
                for place, tensor in enumerate(hf.get_tensors(inputs)):
                    arrays[f"in{number}_{place}"] = tensor.numpy()
                for place, tensor in enumerate(hf.get_tensors(compiled(**inputs))):
                    arrays[f"out{number}_{place}"] = tensor.numpy()
    np.savez_compressed(folder / "calls.npz", **arrays)
    describe(folder, calls=calls)


def get_arrays(arrays, prefix):
    return [arrays[f"{prefix}_{place}"] for place in range(sum(
        name.startswith(f"{prefix}_") for name in arrays))]


def find_problem(found, wanted, is_quantized):
    """Why results are not those of the CPU, or None, and what they are beside them."""
    same = all(one.tobytes() == other.tobytes() for one, other in zip(found, wanted))
    cosine = min(float((one.astype(np.float64) * other).sum()
                       / np.linalg.norm(one.astype(np.float64)) / np.linalg.norm(other))
                 for one, other in zip(found, wanted))
    largest = max(float(np.abs(one - other).max()) for one, other in zip(found, wanted))
    told = "the same bytes" if same else f"cosine {cosine:.6f}, largest difference {largest:.1e}"
    if is_quantized:
        return (None if cosine >= LEAST else
                f"expected a cosine of {LEAST} or more, but got {cosine}"), told
    return None if same else f"expected the bytes of the CPU, but got a difference of {largest}", \
        told


def run(_):
    packed, expect = Pack(ROOT), Expectations()
    arrays, modules = dict(np.load(ROOT / "calls.npz")), {}
    for number, (name, is_quantized, size) in enumerate(packed.about["calls"]):
        if name not in modules:
            modules[name] = packed.load(f"{name}.bundle")
        found, problem = packed.run(modules[name], "forward", *get_arrays(arrays, f"in{number}"))
        if not problem:
            problem, told = find_problem(found, get_arrays(arrays, f"out{number}"), is_quantized)
            print(f"{name} {size}: {told}")
        expect.record(f"{name} {size}", problem)
    expect.finish()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    packs = commands.add_parser("pack")
    packs.add_argument("folder", type=Path)
    packs.add_argument("--target", default="sm_90a", metavar="CHIP")
    packs.set_defaults(function=pack)
    commands.add_parser("run").set_defaults(function=run)
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
