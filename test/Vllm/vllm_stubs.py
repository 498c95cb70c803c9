# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modules of vLLM's wheel without its compiled ops, which tests define by PyTorch: on a CPU, or
on a GPU with another PyTorch than the one that the ops were compiled for. It is imported in front
of all else of vLLM."""

import contextlib
import os
import sys
import types

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch.nn import functional as F

#: Extension modules of the wheel that Python files import by name.
_EXTENSIONS = ("vllm._C", "vllm._C_stable_libtorch", "vllm._moe_C", "vllm._moe_C_stable_libtorch")


def _silu_and_mul(out, x):
    half = x.shape[-1] // 2
    out.copy_(F.silu(x[..., :half]) * x[..., half:])


def _define(library, name, schema, function):
    library.define(f"{name}{schema}")
    library.impl(name, function, "CompositeExplicitAutograd")


def install():
    """Gives Python what the compiled modules would give it."""
    for name in _EXTENSIONS:
        sys.modules.setdefault(name, types.ModuleType(name))
    library = torch.library.Library("_C", "FRAGMENT")
    _define(library, "silu_and_mul", "(Tensor! out, Tensor x) -> ()", _silu_and_mul)
    return library


_LIBRARY = install()

from vllm import platforms

#: Where models are.
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# The platform that vLLM would find with its ops: its modules ask for it when they are imported.
if DEVICE == "cuda":
    from vllm.platforms.cuda import NonNvmlCudaPlatform as Platform
else:
    from vllm.platforms.cpu import CpuPlatform as Platform
platforms._current_platform = Platform()

from vllm.distributed import parallel_state


@contextlib.contextmanager
def rank_of(rank, size):
    """As on one of several ranks of tensor parallelism: layers have their parts of weights."""
    before = parallel_state._TP
    parallel_state._TP = types.SimpleNamespace(rank_in_group=rank, world_size=size)
    try:
        yield
    finally:
        parallel_state._TP = before
