# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts checkpoints from one layout to another: exactly where there is a way, and with the count
of blocks that change where there is none."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Container, Sequence
from typing import Any

from blockscale._errors import ArgumentError
from blockscale.checkpoint._check._gate import Gate
from blockscale.checkpoint._checkpoint import Checkpoint, Path
from blockscale.checkpoint._config_write import find_dropped, list_left, write_configs
from blockscale.checkpoint._convert._conversion import Conversion, ConvertedLayer
from blockscale.checkpoint._convert._planner import Planner
from blockscale.checkpoint._convert._ways import UNEQUAL, WAYS
from blockscale.checkpoint._families import TARGETS, get_family, get_layout
from blockscale.checkpoint._files import ENDINGS
from blockscale.checkpoint._jobs._places import ClusterLike, How, open_place
from blockscale.checkpoint._jobs._plan import SHARD_BYTES, Job, make_job
from blockscale.checkpoint._jobs._run import Progress
from blockscale.checkpoint._layouts import FP8_BLOCKS
from blockscale.checkpoint._measure import get_sqnr
from blockscale.checkpoint._tensors import Weight


def plan_convert(checkpoint: Checkpoint, destination: str, to: str, *, format: str | None = None,
                 dtype: str | None = None, shard_bytes: int = SHARD_BYTES,
                 kept: Sequence[str] = (), allowed: Container[str] = ()
                 ) -> tuple[Job, Planner]:
    """The job that converts a checkpoint, but for weights that are kept as they are.

    Raises: ArgumentError.
    """
    if to not in TARGETS:
        raise ArgumentError(f"expected to to be one of {', '.join(TARGETS)}, but got {to!r}")
    if format is not None and to in ("plain", "fp8-blocks"):
        raise ArgumentError(f"expected no format with {to}, which has one, but got {format!r}")
    if dtype is not None and to != "plain":
        raise ArgumentError(f"expected no dtype with {to}, but got {dtype!r}")
    family = get_family(to)
    planner = Planner(checkpoint, family, format, dtype, UNEQUAL in allowed)
    tasks = planner.plan()
    left = list_left(checkpoint, (name for name, weight in checkpoint.weights.items()
                                  if weight.layout.is_plain), planner.layers)
    files = write_configs(checkpoint, family, planner.layers, left, kept)
    planner.dropped += find_dropped(checkpoint, family)
    file_name = os.path.basename(destination) if destination.endswith(ENDINGS) else ""
    job = make_job(checkpoint, tasks, files, file_name=file_name,
                   metadata=planner.make_metadata(tasks),
                   gguf=family.make_gguf(checkpoint.config, destination),
                   shard_bytes=shard_bytes)
    return job, planner


def _summarize(checkpoint: Checkpoint, planner: Planner, job: Job,
               results: Sequence[Any]) -> Conversion:
    layers: dict[str, ConvertedLayer] = {}

    def add(layer: ConvertedLayer) -> None:
        before = layers.get(layer.name)
        if before is not None:
            layer = dataclasses.replace(layer, blocks=layer.blocks + before.blocks,
                                        lost=layer.lost + before.lost,
                                        comes_back=layer.comes_back and before.comes_back)
        layers[layer.name] = layer
    for task, result in zip(job.tasks, results):
        if task.kind == "decode":
            weight = checkpoint.weights[task.arguments["weight"]]
            add(ConvertedLayer(weight.name, weight.layout.name, f"plain {task.arguments['dtype']}",
                               WAYS["decode"], _count_blocks(weight, weight.shape[-2]),
                               result["lost"], True))
        if task.kind not in ("convert", "quantize"):
            continue
        way = task.arguments.get("how", "quantize")
        for member, found in zip(task.arguments["members"], result["members"]):
            weight = checkpoint.weights[member["weight"]]
            blocks = _count_blocks(weight, member["count"], 1)
            if way == "quantize":
                block = get_layout(member["layout"]).block
                blocks = member["count"] * (weight.shape[-1] // block)
            sqnr = None if way != "quantize" else get_sqnr(found["signal"], found["noise"])
            add(ConvertedLayer(member["name"], weight.layout.name, member["layout"], WAYS[way],
                               blocks, found["changed" if way == "quantize" else "lost"],
                               found.get("comes_back", True), sqnr))
    return Conversion(tuple(layers.values()), tuple(planner.dropped),
                      tuple(planner.other_activations))


def _count_blocks(weight: Weight, rows: int, matrices: int | None = None) -> int:
    """Blocks with a scale of some rows."""
    count = max(weight.num_matrices, 1) if matrices is None else matrices
    block = weight.layout.block
    if weight.format == FP8_BLOCKS:
        rows = -(-rows // block)
    return count * rows * -(-weight.shape[-1] // block)


def convert(source: Path, destination: Path, to: str, *, format: str | None = None,
            dtype: str | None = None, resume: bool = False, threads: int | None = None,
            sync: bool = False, progress: Progress | None = None,
            shard_bytes: int = SHARD_BYTES, cluster: ClusterLike | None = None,
            allow: Sequence[str] = (), leave: Sequence[str] = ()) -> Conversion:
    """Converts a checkpoint to another layout.

    Codes and block scales stay as they are where both layouts have the format; a scalar becomes its
    reciprocal where the other layout stores that, and an ulp may be lost. MXFP4 becomes NVFP4,
    where the layout has no MXFP4, by powers of two: exactly but for blocks whose scales are more
    than 2^17 below the largest. All else is quantized again, and only where `format` asks for that.

    Args:
      source: a quantized checkpoint. Plain weights stay plain.
      destination: a new folder, or a new file that ends in .safetensors or .gguf.
      to: "modelopt", "compressed-tensors", "gpt-oss", "torchao", "gguf", "plain" or "fp8-blocks".
      format: to which weights of other formats are quantized again.
      dtype: of plain numbers: "f32", "bf16" or "f16"; None for that of the configuration.
      resume, threads, sync, progress, shard_bytes, cluster, allow, leave: as those of quantize().

    Returns: what became of each layer, and which blocks changed.

    Raises: ArgumentError, FileError.
    """
    gate = Gate(allow, leave)
    how = How(resume, threads, sync, progress, cluster)
    with open_place(source, destination, how) as place:
        gate.check_source(place.checkpoint)
        kept = [each.name for each in gate.left]
        job, planner = plan_convert(place.checkpoint, place.destination, to, format=format,
                                    dtype=dtype, shard_bytes=shard_bytes, kept=kept,
                                    allowed=gate.allowed)
        results = place.run(job, lambda result, found: gate.check_result(
            result, place.destination, found))
        return dataclasses.replace(_summarize(place.checkpoint, planner, job, results),
                                   allowed=tuple(gate.passed), kept=tuple(kept))
