# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order of tasks: that of the tensors that they read, so that files are read once from begin to
end."""

from __future__ import annotations

from collections.abc import Sequence

from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._jobs._plan import Task
from blockscale.checkpoint._layouts import DATA


def _get_place(checkpoint: Checkpoint, task: Task) -> tuple[str, int]:
    """The file and the byte that a task reads first."""
    arguments = task.arguments
    if task.kind == "copy":
        tensor = checkpoint.tensors[next(iter(arguments["names"]))]
    elif task.kind == "copy_rows":
        tensor = checkpoint.tensors[arguments["tensor"]]
    elif task.kind == "stack_rows":
        tensor = checkpoint.tensors[arguments["tensors"][0][0]]
    else:
        member = arguments if task.kind == "decode" else arguments["members"][0]
        weight = checkpoint.weights[member["weight"]]
        tensor = weight.parts[DATA]
        size = tensor.nbytes // max(weight.num_matrices, 1)
        return tensor.file, tensor.offset + size * (member["matrix"] or 0)
    return tensor.file, tensor.offset


def sort_tasks(checkpoint: Checkpoint, tasks: Sequence[Task]) -> list[Task]:
    """Tasks in the order of what they read."""
    return sorted(tasks, key=lambda task: _get_place(checkpoint, task))
