# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes plain checkpoints by a policy."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blockscale._amaxes import read_amaxes
from blockscale._errors import ArgumentError
from blockscale._forms import OperandForm
from blockscale._policy import Policy, Rules
from blockscale.checkpoint import _kernels, _names
from blockscale.checkpoint._check._gate import Gate
from blockscale.checkpoint._checkpoint import Checkpoint, Path
from blockscale.checkpoint._config_write import find_dropped, list_left, write_configs
from blockscale.checkpoint._families import FAMILIES, Family, Quantized, get_family
from blockscale.checkpoint._files import ENDINGS, read_json
from blockscale.checkpoint._jobs._copies import plan_biases, plan_copies, plan_decoded
from blockscale.checkpoint._jobs._order import sort_tasks
from blockscale.checkpoint._jobs._places import ClusterLike, How, open_place
from blockscale.checkpoint._jobs._plan import SHARD_BYTES, Job, Output, Task, make_job
from blockscale.checkpoint._jobs._run import Progress
from blockscale.checkpoint._layouts import GLOBAL, INPUT
from blockscale.checkpoint._measure import MEASURED
from blockscale.checkpoint._quantize._choose import Choice, choose
from blockscale.checkpoint._quantize._gpu import check_gpu
from blockscale.checkpoint._quantize._group import make_kernels_ahead
from blockscale.checkpoint._split import Part, split_weight
from blockscale.checkpoint._summary import LayerSummary, Summary
from blockscale.checkpoint._values import get_computed


def _read_amaxes(amaxes: Mapping[str, float] | Path | None) -> dict[str, float]:
    """Amaxes of activations by the names of layers, of a dict or a file of JSON."""
    return read_amaxes(amaxes if amaxes is None or isinstance(amaxes, Mapping)
                       else read_json(os.fspath(amaxes)))


def _find_amax(name: str, activation: OperandForm, amaxes: Mapping[str, float],
               used: set[str]) -> float | None:
    """The amax of a layer's activations: of a file by its name, the name of its stack or the name
    with "*" for an expert's number, or what the policy says."""
    candidates = [name]
    expert = _names.split_expert(name)
    if expert:
        path, _, layer = expert
        stack = "gate_up_proj" if layer in ("gate_proj", "up_proj", "w1", "w3") else "down_proj"
        candidates += [f"{path}.*.{layer}", f"{path}.{stack}"]
    for candidate in candidates:
        if candidate in amaxes:
            used.add(candidate)
            return amaxes[candidate]
    return activation.amax


class Planner:
    """Makes the tasks of a job.

    Attributes:
      layers: how each layer of the result is quantized.
      used: names of amaxes that were taken.
    """

    def __init__(self, checkpoint: Checkpoint, choices: Sequence[Choice], family: Family,
                 amaxes: Mapping[str, float], measured: int, on: str):
        self._checkpoint = checkpoint
        self._choices = choices
        self._family = family
        self._amaxes = amaxes
        self._measured = measured
        self._on = on
        self.layers: dict[str, Quantized] = {}
        self.used: set[str] = set()
        self.metadata: dict[str, dict[str, str]] = {}
        #: The weight of the source that a layer of the result comes from.
        self.sources: dict[str, str] = {}

    def _list_groups(self) -> Iterator[list[tuple[Part, Choice]]]:
        """Parts of weights that share an amax."""
        lists = [(list(parts), choice) for choice in self._choices
                 if choice.form is not None
                 for parts in split_weight(self._checkpoint, choice.weight, self._family)]
        groups: dict[str, list[tuple[Part, Choice]]] = {}
        for number, (parts, choice) in enumerate(lists):
            assert choice.layout is not None and choice.form is not None
            shares = choice.layout.shares_global and choice.form.weight.scaling != "none"
            for part in parts:
                # Experts of a stack that stays one have a number.
                key = f"{number}:{part.name}"
                if shares:
                    key = self._checkpoint.names.get_group(part.name)
                if part.target_matrix:
                    key += f"#{part.target_matrix}"
                groups.setdefault(key, []).append((part, choice))
        yield from groups.values()

    def _find_input(self, group: Sequence[tuple[Part, Choice]]) -> float | None:
        """The amax of the activations that layers of a group read.

        Raises: ArgumentError where the layout needs one.
        """
        _, choice = group[0]
        assert choice.form is not None and choice.layout is not None
        activation = choice.form.activation
        if activation is None or not choice.layout.input_scale:
            return None
        found = [amax for part, _ in group
                 if (amax := _find_amax(part.name, activation, self._amaxes, self.used))]
        if not found and choice.layout.needs_input_scale:
            names = ", ".join(f"'{part.name}'" for part, _ in group)
            raise ArgumentError(
                f"expected the amax of the activations of {names}, since {choice.layout.name} has "
                "an input scale, but got none; give amaxes, 'activations': {'global_scale': "
                "{'amax': ..}} in the policy, or 'weight_only': true")
        return max(found) if found else None

    def _plan_member(self, part: Part, choice: Choice, input_amax: float | None
                     ) -> tuple[dict[str, Any], list[Output]]:
        layout, form = choice.layout, choice.form
        assert layout is not None and form is not None
        batch = choice.weight.shape[:-2] if part.name == choice.weight.name else ()
        shape = (*batch, part.count, part.cols)
        names, outputs = {}, []
        for role, ending in layout.endings.items():
            if ((role == INPUT and input_amax is None)
                    or (role == GLOBAL and form.weight.scaling == "none"
                        and not self._family.needs_global)):
                continue
            names[role] = part.name + ending
            outputs.append(Output.of(names[role], layout.get_dtype(role),
                                     layout.get_shape(role, shape)))
        member = {
            "name": part.name, "weight": part.weight, "matrix": part.matrix, "first": part.first,
            "step": part.step, "count": part.count, "layout": layout.name, "outputs": names,
            "target_matrix": part.target_matrix, "input_amax": input_amax,
            "is_swizzled": layout.holds_swizzled}
        layer = Quantized(layout, form.activation is not None)
        self.layers[part.name] = layer
        self.sources[part.name] = choice.weight.name
        described = self._family.describe(part.name, layer, get_computed(choice.weight),
                                          GLOBAL in names, INPUT in names)
        self.metadata.update((output.name, described) for output in outputs)
        return member, outputs

    def _plan_group(self, group: Sequence[tuple[Part, Choice]]) -> Task:
        _, choice = group[0]
        form = choice.form
        assert form is not None and choice.layout is not None
        input_amax = self._find_input(group)
        members, outputs = [], []
        for part, each in group:
            member, written = self._plan_member(part, each, input_amax)
            members.append(member)
            # The first matrix of a stack has the tensors of all.
            outputs += written if part.target_matrix == 0 else []
        dtype = get_computed(choice.weight)
        cast = form.cast if dtype == "f32" else dtype if choice.weight.layout.is_fp8 else None
        weight = form.weight
        nbytes = sum(part.count * part.cols for part, _ in group) * _kernels.DTYPES[dtype].itemsize
        return Task("quantize", members[0]["name"], {
            "members": members, "scaling": weight.scaling, "amax": weight.amax,
            "recipe": weight.recipe or choice.layout.recipe, "is_swept": weight.is_swept,
            "cast": cast, "dtype": cast or dtype, "measured": self._measured,
            "on": self._on,
            "counts_blocks": False,
        }, tuple(outputs), nbytes)

    def make_metadata(self, tasks: Sequence[Task]) -> dict[str, str]:
        """Of the files of the result."""
        names = [output.name for task in tasks for output in task.outputs]
        return self._family.make_metadata(self.metadata, names)

    def plan(self) -> list[Task]:
        """All tasks, in the order of the source."""
        tasks = [self._plan_group(group) for group in self._list_groups()]
        chosen = {choice.weight.name: choice for choice in self._choices}
        biases: dict[str, list[str]] = {}
        copied = []
        for name in self._checkpoint.others:
            stack = name.removesuffix("_bias")
            if name.endswith("_bias") and stack in chosen and chosen[stack].form is not None and (
                    not self._family.keeps_stacks):
                biases[name] = [stack]
            else:
                copied.append(name)
        for choice in self._choices:
            if choice.form is None and choice.weight.layout.is_plain:
                copied += [part.name for part in choice.weight.parts.values()]
        tasks += plan_copies(self._checkpoint, copied)
        tasks += [plan_decoded(self._checkpoint, choice.weight) for choice in self._choices
                  if choice.form is None and not choice.weight.layout.is_plain]
        for stacks in biases.values():
            tasks += plan_biases(self._checkpoint, stacks[0], self._family)
        return sort_tasks(self._checkpoint, tasks)


def plan_quantize(checkpoint: Checkpoint, destination: str, policy: Policy, *,
                  layout: str = "modelopt", amaxes: Mapping[str, float] | Path | None = None,
                  on: str = "cpu", measured: int = MEASURED, shard_bytes: int = SHARD_BYTES,
                  kept: Sequence[str] = ()) -> tuple[Job, Planner, list[Choice], dict[str, float]]:
    """The job that quantizes a checkpoint, and what it is made of.

    Raises: ArgumentError, FileError.
    """
    if layout not in FAMILIES or layout == "plain":
        raise ArgumentError(f"expected layout to be one of {', '.join(FAMILIES[:-1])}, but got "
                            f"{layout!r}")
    given = _read_amaxes(amaxes)
    family = get_family(layout)
    choices = choose(checkpoint, Rules(policy), family)
    planner = Planner(checkpoint, choices, family, given, measured, on)
    tasks = planner.plan()
    if not planner.layers:
        if not choices:
            raise ArgumentError("expected weights to quantize, but got none")
        reasons = {choice.weight.name: choice.reason for choice in choices}
        raise ArgumentError.of_lines([
            "expected at least one layer to quantize, but all are left:",
            *(f"'{name}': {reason}" for name, reason in reasons.items())])
    left = list_left(checkpoint, (choice.weight.name for choice in choices
                                  if choice.form is None), planner.layers)
    files = write_configs(checkpoint, family, planner.layers, left, kept)
    file_name = os.path.basename(destination) if destination.endswith(ENDINGS) else ""
    job = make_job(checkpoint, tasks, files, file_name=file_name,
                   metadata=planner.make_metadata(tasks),
                   gguf=family.make_gguf(checkpoint.config, destination),
                   shard_bytes=shard_bytes)
    return job, planner, choices, given


def summarize(planner: Planner, choices: Sequence[Choice], job: Job, results: Sequence[Any],
              amaxes: Mapping[str, float]) -> Summary:
    """What became of each layer."""
    found: dict[str, Mapping[str, Any]] = {}
    sizes: dict[str, int] = {}
    amax_of: dict[str, float | None] = {}
    for task, result in zip(job.tasks, results):
        if task.kind != "quantize":
            continue
        for member, error in zip(task.arguments["members"], result["members"]):
            name = planner.sources[member["name"]]
            before = found.get(name)
            found[name] = error if before is None else {
                "signal": before["signal"] + error["signal"],
                "noise": before["noise"] + error["noise"],
                "largest": max(before["largest"], error["largest"]),
                "count": before["count"] + error["count"]}
            amax_of[name] = max(filter(None, (amax_of.get(name), result["amax"])), default=None)
        names = {member["name"]: planner.sources[member["name"]]
                 for member in task.arguments["members"]}
        for output in task.outputs:
            layer = max((name for name in names if output.name.startswith(name)), key=len)
            sizes[names[layer]] = sizes.get(names[layer], 0) + output.nbytes
    layers = []
    for choice in choices:
        name = choice.weight.name
        if choice.form is None:
            layers.append(LayerSummary(name, choice.weight.shape, "", choice.reason,
                                       choice.weight.nbytes, choice.weight.nbytes))
            continue
        error = found[name]
        layers.append(LayerSummary(
            name, choice.weight.shape, choice.form.describe(), "", choice.weight.nbytes,
            sizes[name], error["signal"], error["noise"], error["largest"], error["count"],
            amax_of[name]))
    total = sum(shard.nbytes for shard in job.shards)
    return Summary(tuple(layers), planner._checkpoint.nbytes, total,
                   tuple(sorted(set(amaxes) - planner.used)),
                   planner._checkpoint.describe_names())


def quantize(source: Path, destination: Path, policy: Policy, *, layout: str = "modelopt",
             amaxes: Mapping[str, float] | Path | None = None, on: str = "cpu",
             resume: bool = False, threads: int | None = None, sync: bool = False,
             progress: Progress | None = None, measured: int = MEASURED,
             shard_bytes: int = SHARD_BYTES, cluster: ClusterLike | None = None,
             allow: Sequence[str] = (), leave: Sequence[str] = ()) -> Summary:
    """Quantizes a plain checkpoint by a policy (docs/Policy.md): the location of a layer is its
    name in the checkpoint.

    Args:
      source: a checkpoint of bf16, f16, f32 or FP8.
      destination: a new folder, or a new file that ends in .safetensors. It is there when all is
        written, and not before.
      policy: the path of a policy, or a dict with its members.
      layout: "modelopt", "compressed-tensors", "gpt-oss", "torchao" or "gguf".
      amaxes: of activations by the names of layers, or a file of JSON with them.
      on: "cpu", or "cuda" for a GPU, which needs PyTorch. The bytes are the same.
      resume: goes on with a job of the same arguments that did not end.
      threads: that work; None for three for each core, some of which wait to write.
      sync: waits until all is on the disk before the result takes its name.
      progress: called with a name, the bytes that were read and all that will be.
      measured: one of so many rows is dequantized to measure the error; 1 for all.
      shard_bytes: of a file of the result.
      cluster: a Cluster, or the address of one, whose workers work instead of threads of this
        process (docs/CheckpointCluster.md). Source and destination may be URLs of fsspec then, and
        `threads` are those of each worker.
      allow: rules of docs/CheckpointFaults.md, as "all-layers", whose errors in the source or the
        result do not end the job; what breaks them is told. A source with other errors is refused,
        and so is a result.
      leave: patterns of the names of quantized weights that no layout explains. They stay as they
        are, with their configuration; without that they are refused.

    Returns: what became of each layer.

    Raises: ArgumentError, FileError; with a cluster also DeviceError, and ImportError where Ray or
      fsspec is missing.
    """
    if isinstance(measured, bool) or not isinstance(measured, int) or measured < 1:
        raise ArgumentError(f"expected measured to be 1 or more, but got {measured!r}")
    if on not in ("cpu", "cuda"):
        raise ArgumentError(f"expected on to be cpu or cuda, but got {on!r}")
    if on == "cuda" and cluster is None:
        check_gpu()
    gate = Gate(allow, leave)
    how = How(resume, threads, sync, progress, cluster)
    with open_place(source, destination, how) as place:
        gate.check_source(place.checkpoint)
        kept = [each.name for each in gate.left]
        job, planner, choices, given = plan_quantize(
            place.checkpoint, place.destination, policy, layout=layout, amaxes=amaxes,
            on=on, measured=measured, shard_bytes=shard_bytes, kept=kept)
        groups = [task.arguments for task in job.tasks if task.kind == "quantize"]
        # Workers of a cluster have kernels of their own.
        with make_kernels_ahead(groups if cluster is None else []):
            results = place.run(job, lambda result, found: gate.check_result(
                result, place.destination, found))
        return dataclasses.replace(
            summarize(planner, choices, job, results, given), allowed=tuple(gate.passed),
            kept=tuple(kept), dropped=tuple(find_dropped(place.checkpoint, get_family(layout))))
