# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tasks that only copy, or that make plain numbers of a weight."""

from __future__ import annotations

from collections.abc import Iterable

from blockscale._errors import ArgumentError
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._families import Family
from blockscale.checkpoint._jobs._plan import Output, Task, count_bytes
from blockscale.checkpoint._kernels import STORED
from blockscale.checkpoint._split import is_interleaved, split_bias
from blockscale.checkpoint._tensors import Weight
from blockscale.checkpoint._values import get_computed

#: Small tensors that are copied by one task.
_TOGETHER_BYTES, _TOGETHER = 1 << 20, 256


def plan_copies(checkpoint: Checkpoint, names: Iterable[str]) -> list[Task]:
    """Tasks that copy tensors as they are."""
    tasks: list[Task] = []
    together: list[Output] = []

    def add(outputs: list[Output]) -> None:
        if outputs:
            tasks.append(Task("copy", outputs[0].name, {"names": {each.name: each.name
                                                                  for each in outputs}},
                              tuple(outputs), sum(each.nbytes for each in outputs)))
    for name in names:
        tensor = checkpoint.tensors[name]
        output = Output(name, tensor.dtype, tensor.shape, tensor.nbytes)
        if tensor.nbytes >= _TOGETHER_BYTES:
            add([output])
            continue
        together.append(output)
        if (len(together) == _TOGETHER
                or sum(each.nbytes for each in together) >= _TOGETHER_BYTES):
            add(together)
            together = []
    add(together)
    return tasks


def plan_decoded(checkpoint: Checkpoint, weight: Weight, dtype: str | None = None) -> Task:
    """A task that writes the numbers of a weight, as f32, bf16 or f16. Models of gpt-oss have plain
    stacks [E, K, N], as others have whose codes are so."""
    stored = STORED[dtype or get_computed(weight)]
    shape, transposes = weight.shape, False
    if len(shape) == 3 and (weight.is_transposed or is_interleaved(checkpoint.config, weight)):
        shape, transposes = (shape[0], shape[2], shape[1]), True
    output = Output.of(f"{weight.name}.weight" if len(shape) == 2 else weight.name, stored, shape)
    return Task("decode", weight.name, {
        "weight": weight.name, "matrix": None, "target": output.name,
        "dtype": dtype or get_computed(weight), "transposes": transposes}, (output,), weight.nbytes)


def plan_stack_bias(checkpoint: Checkpoint, stack: str, experts: int) -> Task:
    """A task that makes the bias of a stack of those of experts' layers, whose rows alternate."""
    path, _, member = stack.rpartition(".")
    layers = ("down_proj",) if member == "down_proj" else ("gate_proj", "up_proj")
    names = [[f"{path}.{number}.{layer}.bias" for layer in layers] for number in range(experts)]
    missing = [name for each in names for name in each if name not in checkpoint.tensors]
    if missing:
        raise ArgumentError(f"expected a bias of each expert for '{stack}_bias', but got no "
                            f"'{missing[0]}'")
    first = checkpoint.tensors[names[0][0]]
    output = Output.of(f"{stack}_bias", first.dtype, (experts, len(layers) * first.shape[0]))
    return Task("stack_rows", output.name, {
        "tensors": names, "item_bytes": count_bytes(first.dtype, (1,)), "target": output.name},
        (output,), output.nbytes)


def plan_biases(checkpoint: Checkpoint, stack: str, family: Family) -> list[Task]:
    """Tasks that give experts their rows of the biases of a stack."""
    tasks = []
    for target, (name, matrix, first, step, count) in split_bias(checkpoint, stack,
                                                                 family).items():
        dtype = checkpoint.tensors[name].dtype
        output = Output.of(target, dtype, (count,))
        tasks.append(Task("copy_rows", target, {
            "tensor": name, "matrix": matrix, "first": first, "step": step, "count": count,
            "item_bytes": count_bytes(dtype, (1,)), "target": target}, (output,), output.nbytes))
    return tasks
