# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls a product twice on one stream, and compares with calls between which the host waits. The
library is that of $BLOCKSCALE_RUNTIME.

  settled_arguments.py BUNDLE apart       # both calls have weights that nothing writes
  settled_arguments.py BUNDLE written     # the first call writes its result to the second's weight
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))

import blockscale_runtime


def main():
    path, is_written = sys.argv[1], sys.argv[2] == "written"
    draws = np.random.default_rng(1)
    arrays = (draws.integers(0x3f00, 0x4000, (3, 128)).astype(np.uint16),
              draws.integers(0, 256, (2, 2, 2048), np.uint8),
              draws.integers(40, 56, (1, 2, 32, 4, 4), np.uint8))
    runtime = blockscale_runtime.Runtime()
    device = runtime.device()
    module = device.load(runtime.bundle(path))
    call = module.function().call(*arrays)
    found = []
    for waits in (False, True):
        x, weight, scales = given = [device.allocate(array.nbytes) for array in arrays]
        for address, array in zip(given, arrays):
            device.upload(address, array)
        second = device.allocate(arrays[1].nbytes)
        device.upload(second, arrays[1])
        first = second if is_written else device.allocate(arrays[0].nbytes)
        last = device.allocate(arrays[0].nbytes)
        workspace = device.allocate(call.workspace_bytes)
        call.launch(module, (x, weight, scales), (first,), workspace)
        if waits:
            device.synchronize()
        call.launch(module, (first, second, scales), (last,), workspace)
        device.synchronize()
        found.append(np.empty(arrays[0].shape, np.uint16))
        device.download(last, found[-1])
    if np.unique(found[0]).size < 100 or not np.array_equal(*found):
        sys.exit("expected the results of calls that wait, but got others")
    print("the results of calls that wait")


main()
