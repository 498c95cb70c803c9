# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls functions of a module on numpy arrays, through blockscale-run."""

import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))


def run(folder, module, entry, inputs, results):
    """The results of `entry`, in storage form; files go to `folder`."""
    command = ["blockscale-run", module, "--entry", entry]
    for index, array in enumerate(inputs):
        path = folder / f"{entry}.in{index}.npy"
        np.save(path, array)
        command += ["--in", path]
    outputs = [folder / f"{entry}.out{index}.npy" for index in range(results)]
    for output in outputs:
        command += ["--out", output]
    subprocess.run(command, check=True)
    return [np.load(output) for output in outputs]


def check(name, got, want):
    """Raises unless both arrays have the same type, shape and bytes."""
    np.testing.assert_array_equal(
        got.view(np.uint8), want.view(np.uint8), err_msg=name, strict=True)
