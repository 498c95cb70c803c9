# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic amaxes of a module made constants, from samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from blockscale._compile import compile
from blockscale._errors import ArgumentError
from blockscale._progress import Progress
from blockscale._trace import Module, Op


def _is_static(op: Op) -> bool:
    return None not in op.results[0].shape


def _constant(op: Op, value: np.ndarray) -> Op:
    bits = "".join(f"{byte:02X}" for byte in value.astype("<f4").tobytes())
    return dataclasses.replace(op, name="arith.constant", operands=[],
                               text=f'dense<"0x{bits}">', types=str(op.results[0].spec))


def calibrate(module: Module, samples: Iterable[Sequence[Any]],
              progress: Progress | None = None) -> Module:
    """A module whose `amax` ops are constants: the largest that each of them gave for
    any of the samples. What is computed of them, as global scales, is then known at
    compile time; block scales stay dynamic. On a single sample the new module gives the
    bytes of the old one.

    Args:
      module: of @jit, with amax ops of fixed result shapes.
      samples: tuples of arrays, as the module's function takes them.

    Raises: ArgumentError, also where an amax is NaN.
    """
    if not isinstance(module, Module):
        raise ArgumentError("expected a module that @blockscale.jit traced, but got "
                            f"{type(module).__name__}")
    sites = [op for op in module.ops if op.name == "blockscale.amax"]
    if not sites:
        raise ArgumentError(f"expected an amax op in @{module.name} to calibrate; compute "
                            "the global scale of activations with blockscale.amax")
    for op in sites:
        if not _is_static(op):
            raise ArgumentError(f"expected amaxes of fixed shapes, but got "
                                f"{op.results[0].spec} of line {op.location[1]}")
    observer = compile(Module(module.name, module.arguments, module.ops,
                              [op.results[0] for op in sites], module.location, False))
    running: list[np.ndarray] | None = None
    for number, sample in enumerate(samples):
        if progress:
            progress("sample", number, 0)
        found = observer(*sample)
        found = found if isinstance(found, tuple) else (found,)
        for op, value in zip(sites, found):
            if np.isnan(value).any():
                raise ArgumentError(f"expected amaxes that are numbers, but sample {number} "
                                    f"has a NaN before line {op.location[1]}")
        running = [np.maximum(a, b) for a, b in zip(running, found)] if running else list(found)
    if running is None:
        raise ArgumentError("expected at least one sample, but got none")
    constants = {id(op): _constant(op, np.asarray(value)) for op, value in zip(sites, running)}
    result = Module(module.name, module.arguments,
                    [constants.get(id(op), op) for op in module.ops], module.results,
                    module.location, module.is_single)
    result.verify()
    return result
