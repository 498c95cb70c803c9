#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time of quantizing a checkpoint to NVFP4 against ModelOpt and compressed-tensors on the CPU.

    .cache/checkpoints/bin/python benchmarks/checkpoint_peers.py [--gib N] [--runs N]
        [--threads N] [--folder F] [--check]

Makes the decoder of checkpoint.py, of about N GiB, in a folder. Each one quantizes its linear
layers with global scales that fused layers share, from files in the page cache to a new file of
safetensors: ours by `quantize`, the packages tensor by tensor with their own functions for weights,
reading and writing by the package safetensors. Models are not built, calibrated or exported, which
would take the packages longer. Imports and the first, small checkpoint of each do not count. Prints
seconds of each and how many times ours they take; the codes and scales of one layer are compared.
With --check the exit status is 1 if a median is below the bar of 20.
"""

import argparse
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import preset_name_to_scheme
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from modelopt.torch.quantization.qtensor import NVFP4QTensor
from safetensors import safe_open
from safetensors.torch import save_file

import blockscale
import blockscale.checkpoint as checkpoint
from checkpoint import POLICY, make_source

BAR = 20.0
FUSED = re.compile(r"\.(q|k|v|gate|up)_proj\.weight$")


def read_groups(folder):
    """Lists of (name, weight) of layers that share a global scale, and other tensors alone."""
    groups = {}
    files = [safe_open(path, framework="pt") for path in sorted(folder.glob("*.safetensors"))]
    for file in files:
        for name in file.keys():
            fused = FUSED.search(name)
            kind = "" if not fused else "mlp" if fused[1] in ("gate", "up") else "attention"
            key = f"{name[:fused.start()]} {kind}" if fused else name
            groups.setdefault(key, []).append((name, file))
    for members in groups.values():
        yield [(name, file.get_tensor(name)) for name, file in members]


def is_layer(name):
    return name.endswith("_proj.weight")


def quantize_by_modelopt(source, target):
    tensors = {}
    for group in read_groups(source):
        if not is_layer(group[0][0]):
            tensors |= dict(group)
            continue
        largest = max(weight.abs().max() for _, weight in group).float() / (6.0 * 448.0)
        for name, weight in group:
            scales, _ = NVFP4QTensor.get_weights_scaling_factor(weight, 16, largest)
            codes = NVFP4QTensor.quantize(weight, 16, scales, largest)[0]._quantized_data
            tensors |= {name: codes, f"{name}_scale": scales, f"{name}_scale_2": largest.clone()}
    target.mkdir()
    save_file(tensors, target / "model.safetensors")


def quantize_by_compressed_tensors(source, target):
    scheme = preset_name_to_scheme("NVFP4A16", ["Linear"])
    compressor = BaseCompressor.get_value_from_registry("nvfp4-pack-quantized")
    tensors = {}
    for group in read_groups(source):
        if not is_layer(group[0][0]):
            tensors |= dict(group)
            continue
        encode = generate_gparam(min(weight.amin() for _, weight in group).reshape(1),
                                 max(weight.amax() for _, weight in group).reshape(1))
        for name, weight in group:
            blocks = weight.unflatten(-1, (-1, 16))
            scale, _ = calculate_qparams(blocks.amin(-1), blocks.amax(-1), scheme.weights,
                                         global_scale=encode)
            state = compressor.compress({"weight": weight, "weight_scale": scale,
                                         "weight_global_scale": encode.clone()}, scheme)
            tensors |= {f"{name.removesuffix('weight')}{part}": tensor
                        for part, tensor in state.items()}
    target.mkdir()
    save_file(tensors, target / "model.safetensors")


def quantize_by_us(layout):
    def quantize(source, target):
        checkpoint.quantize(source, target, POLICY, layout=layout)
    return quantize


#: By name of a layout: the package, and the parts of a layer that are compared.
PEERS = {
    "modelopt": (quantize_by_modelopt, ("weight", "weight_scale", "weight_scale_2")),
    "compressed-tensors": (quantize_by_compressed_tensors,
                           ("weight_packed", "weight_scale", "weight_global_scale")),
}


def measure(function, source, target):
    begin = time.monotonic()
    function(source, target)
    return time.monotonic() - begin


def compare(first, second, parts):
    """Bytes of one layer, which are the same."""
    found, others = checkpoint.open(first).tensors, checkpoint.open(second).tensors
    for part in parts:
        name = f"model.layers.0.mlp.up_proj.{part}"
        if found[name].bytes().tobytes() != others[name].bytes().tobytes():
            sys.exit(f"{name} differs")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=2, help="of the source (2)")
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs (3)")
    parser.add_argument("--threads", type=int, help="of each; all cores without it")
    parser.add_argument("--folder", type=Path, help="where files are made")
    parser.add_argument("--check", action="store_true", help="fail below the bar")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
        blockscale.set_num_threads(options.threads)
    medians = []
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch, torch.no_grad():
        folder = Path(scratch)
        make_source(folder / "model", options.gib * 2 ** 30)
        for layout, (peer, parts) in PEERS.items():
            ours, ratios = quantize_by_us(layout), []
            for number in range(options.runs):
                for each in (folder / "ours", folder / "theirs"):
                    shutil.rmtree(each, ignore_errors=True)
                if number == 0:
                    # What is compiled at the first call, and pages of the source.
                    ours(folder / "model", folder / "ours")
                    shutil.rmtree(folder / "ours")
                one = measure(ours, folder / "model", folder / "ours")
                other = measure(peer, folder / "model", folder / "theirs")
                compare(folder / "ours", folder / "theirs", parts)
                ratios.append(other / one)
                print(f"{layout}: {other:.2f} s, ours {one:.2f} s, ratio {other / one:.1f}",
                      flush=True)
            medians.append(statistics.median(ratios))
            print(f"{layout}: median {medians[-1]:.1f}, bar {BAR:.0f}", flush=True)
    return 1 if options.check and min(medians) < BAR else 0


if __name__ == "__main__":
    sys.exit(main())
