# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The packed kernels as candidates of a benchmark of peers, on its torch tensors.

    candidates(torch, kind, shape, x) -> {name: (bytes, callable)}

`kind` is mxfp8, nvfp4 or sweep; x is a bf16 matrix on the GPU. A callable launches on
the current stream, allocates nothing and returns the results, bytes where torch has no
type. There is a candidate for each case of the kind and shape that pack.py packed.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import blockscale_runtime
from cases import CASES

GROUPS = {"mxfp8": "MXFP8", "nvfp4": "NVFP4", "sweep": "scale sweep"}
_opened = []


def device():
    """The runtime and the GPU, opened once."""
    if not _opened:
        runtime = blockscale_runtime.Runtime(HERE / "libBlockScaleRuntime.so")
        _opened.extend([runtime, runtime.device()])
    return _opened


def candidate(torch, case, x, scalar):
    runtime, gpu = device()
    module = gpu.load(runtime.bundle(HERE / f"{case.name}.bundle"))
    function = module.function(case.name)
    arguments = [x] if scalar is None else [x, scalar]
    call = function.call(*[(buffer.dtype, tuple(argument.shape))
                           for buffer, argument in zip(function.arguments, arguments)])
    results = [torch.empty(shape, dtype=getattr(torch, buffer.dtype), device=x.device)
               for shape, buffer in zip(call.shapes, function.results)]
    workspace = torch.empty(max(call.workspace_bytes, 1), dtype=torch.uint8, device=x.device)

    def launch():
        # torch gives memory to others once no tensor holds it.
        call.launch(module, [argument.data_ptr() for argument in arguments],
                    [result.data_ptr() for result in results], workspace.data_ptr(),
                    torch.cuda.current_stream().cuda_stream)
        return results

    moved = sum(tensor.numel() * tensor.element_size() for tensor in [x, *results])
    return moved, launch


def candidates(torch, kind, shape, x):
    found = {}
    for case in CASES:
        is_asked = case.shape == tuple(shape) and case.group.startswith(GROUPS.get(kind, "none"))
        if not is_asked or not (HERE / f"{case.name}.bundle").exists():
            continue
        scalar = None
        if case.scalar is not None:
            amax = x.abs().max().float()
            scalar = amax if kind == "sweep" else amax / 2688
        found[f"blockscale {case.group}"] = candidate(torch, case, x, scalar)
    return found
