# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans conversions: which task makes which layer of the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blockscale._errors import ArgumentError
from blockscale.checkpoint import _names
from blockscale.checkpoint._candidates import TRANSFORM
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._config_write import check_transforms
from blockscale.checkpoint._convert._ways import UNEQUAL, choose_way, find_unequal
from blockscale.checkpoint._families import Family, Quantized
from blockscale.checkpoint._jobs._copies import (
    plan_biases,
    plan_copies,
    plan_decoded,
    plan_stack_bias,
)
from blockscale.checkpoint._jobs._order import sort_tasks
from blockscale.checkpoint._jobs._plan import Output, Task
from blockscale.checkpoint._layouts import GLOBAL, INPUT, PLAIN_DTYPES, Layout
from blockscale.checkpoint._split import Part, split_weight
from blockscale.checkpoint._tensors import Weight
from blockscale.checkpoint._values import get_computed

_DTYPES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def _choose_dtype(checkpoint: Checkpoint, dtype: str | None) -> str:
    """The type of plain numbers: what is asked for, or that of the configuration, or bf16."""
    if dtype is None:
        named = checkpoint.config.get("dtype") or checkpoint.config.get("torch_dtype")
        return _DTYPES.get(str(named), "bf16")
    if dtype not in PLAIN_DTYPES.values():
        raise ArgumentError(f"expected dtype to be one of {', '.join(PLAIN_DTYPES.values())}, but "
                            f"got {dtype!r}")
    return dtype


class Planner:
    """Makes the tasks of a conversion."""

    def __init__(self, checkpoint: Checkpoint, to: Family, format: str | None,
                 dtype: str | None, allows_unequal: bool = False):
        self._checkpoint = checkpoint
        self._allows_unequal = allows_unequal
        self._to = to
        self._format = format
        self._dtype = _choose_dtype(checkpoint, dtype)
        self.layers: dict[str, Quantized] = {}
        self.dropped: list[str] = []
        self.other_activations: list[str] = []
        self.metadata: dict[str, dict[str, str]] = {}

    def _quantizes_activations(self, weight: Weight, layout: Layout, has_input: bool) -> bool:
        """Whether the result quantizes activations: what the source does, as far as the layout
        has that."""
        group = self._checkpoint.scheme.find(weight.name)
        before = group.quantizes_activations if group else INPUT in weight.parts
        if not self._to.says_activations:
            return False
        after = before
        if layout.needs_input_scale:
            after = before and has_input
        elif layout.activations:
            after = layout.activations == "quantized"
        if before != after:
            self.other_activations.append(weight.name)
        return after

    def _get_algorithm(self, weight: Weight, layout: Layout, way: str) -> str:
        """The name of an algorithm with a transform beside the weight, as AWQ has one."""
        group = self._checkpoint.scheme.find(weight.name)
        has_transform = weight.name + TRANSFORM in self._checkpoint.tensors
        is_same = way == "same" and layout.family == weight.layout.family
        return group.algorithm if group is not None and has_transform and is_same else ""

    def _plan_member(self, part: Part, weight: Weight, layout: Layout, way: str
                     ) -> tuple[dict[str, Any], list[Output]]:
        # A stack of experts has tensors of all of them.
        experts = self._stacks.get(part.name)
        batch = weight.shape[:-2] if part.name == weight.name else ()
        count = part.count
        if experts is not None:
            batch, count = (experts[0],), part.count * experts[1]
        shape = (*batch, count, part.cols)
        has_input = INPUT in weight.parts and way == "same"
        names, outputs = {}, []
        for role, ending in layout.endings.items():
            is_optional = not self._to.needs_global and way == "same"
            if ((role == INPUT and not has_input)
                    or (role == GLOBAL and is_optional and GLOBAL not in weight.parts)):
                continue
            names[role] = part.name + ending
            outputs.append(Output.of(names[role], layout.get_dtype(role),
                                     layout.get_shape(role, shape)))
        if INPUT in weight.parts and INPUT not in names:
            self.dropped.append(f"'{weight.parts[INPUT].name}'")
        quantized = Quantized(layout, self._quantizes_activations(weight, layout, has_input),
                              self._get_algorithm(weight, layout, way))
        self.layers[part.name] = quantized
        described = self._to.describe(part.name, quantized, self._dtype, GLOBAL in names,
                                      INPUT in names)
        self.metadata.update((output.name, described) for output in outputs)
        return {"name": part.name, "weight": part.weight, "matrix": part.matrix,
                "first": part.first, "step": part.step, "count": part.count,
                "layout": layout.name, "outputs": names, "target_matrix": part.target_matrix,
                "input_amax": None, "is_swizzled": layout.holds_swizzled}, outputs

    @property
    def _stacks(self) -> Mapping[str, tuple[int, int]]:
        return self._experts

    def _find_experts(self) -> None:
        """The stacks that layers of experts become: the counts of experts and of layers in one."""
        self._experts: dict[str, tuple[int, int]] = {}
        if not self._to.joins_experts:
            return
        numbers: dict[str, set[int]] = {}
        for name, weight in self._checkpoint.weights.items():
            split = _names.split_expert(name)
            if split and not weight.layout.is_plain:
                stack = "down_proj" if split[2] in ("down_proj", "w2") else "gate_up_proj"
                numbers.setdefault(f"{split[0]}.{stack}", set()).add(split[1])
        for stack, found in numbers.items():
            if found != set(range(len(found))):
                raise ArgumentError(f"expected experts 0 to {max(found)} of '{stack}', but got "
                                    f"{len(found)} of them")
            self._experts[stack] = (len(found), 1 if stack.endswith("down_proj") else 2)

    def _join(self, parts: Sequence[Part]) -> list[Part]:
        """Parts of layers of experts as parts of the stack that these become."""
        joined = []
        for part in parts:
            split = _names.split_expert(part.name)
            if split and self._to.joins_experts:
                stack = "down_proj" if split[2] in ("down_proj", "w2") else "gate_up_proj"
                part = dataclasses.replace(part, name=f"{split[0]}.{stack}",
                                           target_matrix=split[1])
            joined.append(part)
        return joined

    def _list_groups(self) -> Iterator[tuple[str, list[tuple[Part, Weight, Layout]]]]:
        groups: dict[str, tuple[str, list[tuple[Part, Weight, Layout]]]] = {}
        unequal = find_unequal(self._checkpoint)
        for weight in self._checkpoint.weights.values():
            if weight.layout.is_plain:
                continue
            way, layout = choose_way(weight, self._to, self._format)
            if weight.name in unequal and layout.shares_global and way == "same" and (
                    self._to.is_fused and not self._allows_unequal):
                if self._format is None:
                    raise ArgumentError(f"expected one global scale for layers that loaders fuse, "
                                        f"as {layout.name} has, but got {unequal[weight.name]}; "
                                        f"give format to quantize them again, or allow {UNEQUAL}")
                way = "quantize"
            if self._to.joins_experts and len(weight.shape) == 2 and not _names.split_expert(
                    weight.name):
                raise ArgumentError("expected experts, as "
                                    f"{self._to.name} quantizes nothing else, but "
                                    f"'{weight.name}' is {weight.layout.name}")
            for parts in split_weight(self._checkpoint, weight, self._to):
                for part, target in zip(parts, self._join(parts)):
                    is_joined = target.name in self._experts
                    shares = way in ("mxfp4_to_nvfp4", "quantize") and layout.shares_global
                    key = part.name
                    if shares or is_joined:
                        key = self._checkpoint.names.get_group(part.name)
                    key += f"#{target.target_matrix}" if target.target_matrix else ""
                    chosen = "stack" if is_joined and target.name.endswith("gate_up_proj") else way
                    if is_joined and way != "same":
                        raise ArgumentError(f"expected MXFP4 to make a stack of {self._to.name} "
                                            f"of, but '{weight.name}' is {weight.layout.name}")
                    groups.setdefault(f"{chosen}:{key}", (chosen, []))[1].append(
                        (target, weight, layout))
        yield from groups.values()

    def _plan_group(self, way: str, group: Sequence[tuple[Part, Weight, Layout]],
                    seen: set[str]) -> Task:
        if way == "stack":
            # Gate before up.
            group = sorted(group, key=lambda each: each[1].name.endswith(("up_proj", "w3")))
            if len(group) != 2:
                raise ArgumentError(f"expected gate and up of an expert for '{group[0][0].name}', "
                                    f"but got '{group[0][1].name}' alone")
        members, outputs = [], []
        for part, weight, layout in group:
            member, written = self._plan_member(part, weight, layout, way)
            members.append(member)
            outputs += [each for each in written if each.name not in seen]
            seen.update(each.name for each in written)
        nbytes = sum(weight.nbytes // max(weight.num_matrices, 1) for _, weight, _ in group)
        arguments: dict[str, Any] = {"members": members}
        kind = "convert"
        if way == "quantize":
            _, weight, layout = group[0]
            kind = "quantize"
            arguments.update({
                "on": "cpu", "amax": None,
                "scaling": "dynamic" if layout.format == "nvfp4" else "none",
                "recipe": layout.recipe, "is_swept": False,
                "cast": get_computed(weight) if weight.layout.is_fp8 else None,
                "dtype": get_computed(weight), "measured": 1,
                "counts_blocks": True})
        else:
            arguments["how"] = way
        return Task(kind, members[0]["name"], arguments, tuple(outputs), nbytes)

    def make_metadata(self, tasks: Sequence[Task]) -> dict[str, str]:
        """Of the files of the result."""
        names = [output.name for task in tasks for output in task.outputs]
        return self._to.make_metadata(self.metadata, names)

    def plan(self) -> list[Task]:
        """All tasks, in the order of the source."""
        checkpoint = self._checkpoint
        check_transforms(checkpoint, self._to)
        transforms = [name for name in checkpoint.tensors if name.endswith(TRANSFORM)]
        if transforms and (self._to.name != "modelopt" or self._format is not None):
            raise ArgumentError("expected no transform of activations, as "
                                f"{self._to.name} has none, "
                                f"but got '{transforms[0]}'")
        self._find_experts()
        tasks, seen, stacks = [], set[str](), []
        is_plain = self._to.name == "plain"
        if is_plain:
            tasks = [plan_decoded(checkpoint, weight, self._dtype)
                     for weight in checkpoint.weights.values() if not weight.layout.is_plain]
        else:
            tasks = [self._plan_group(way, group, seen) for way, group in self._list_groups()]
        copied = []
        quantized = {weight.name for weight in checkpoint.weights.values()
                     if not weight.layout.is_plain}
        joined: dict[str, None] = {}
        for name in checkpoint.others:
            stack = name.removesuffix("_bias")
            expert = _names.split_expert(name.removesuffix(".bias"))
            if name.endswith("_bias") and stack in quantized and not (
                    self._to.keeps_stacks or is_plain):
                stacks.append(stack)
            elif name.endswith(".bias") and expert and self._experts:
                last = "down_proj" if expert[2] in ("down_proj", "w2") else "gate_up_proj"
                joined[f"{expert[0]}.{last}"] = None
            else:
                copied.append(name)
        copied += [part.name for weight in checkpoint.weights.values() if weight.layout.is_plain
                   for part in weight.parts.values()]
        tasks += plan_copies(checkpoint, copied)
        for stack in stacks:
            tasks += plan_biases(checkpoint, stack, self._to)
        tasks += [plan_stack_bias(checkpoint, stack, self._experts[stack][0]) for stack in joined]
        return sort_tasks(checkpoint, tasks)
