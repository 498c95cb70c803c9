# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One process for each job; results are checked for dtype and storage shape."""

import os
import subprocess
import tempfile

import numpy as np

from ir import ENTRY

TIMEOUT_SECONDS = 300


class RunError(Exception):
    """The tool failed, or its results do not have the storage form."""


def execute(tool, options, job):
    """The stored results of `job`, in the order of its function's results.
    `options` say where to run it."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        module = os.path.join(folder, "module.mlir")
        with open(module, "w") as file:
            file.write(job.function.module())
        command = [tool, module, *options, f"--entry={ENTRY}"]
        for i, array in enumerate(job.inputs):
            path = os.path.join(folder, f"in{i}.npy")
            np.save(path, array)
            command += ["--in", path]
        outputs = []
        for i in range(len(job.function.results)):
            outputs.append(os.path.join(folder, f"out{i}.npy"))
            command += ["--out", outputs[-1]]
        call(command)
        types = [value.type for value in job.function.results]
        return [_load(path, type) for path, type in zip(outputs, types)]


def call(command):
    """What a tool prints."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"no result after {TIMEOUT_SECONDS} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        detail = next((line for line in lines if "error" in line), "".join(lines[:1]))
        tool = os.path.basename(command[0])
        raise RunError(f"{tool} exited with {done.returncode}: {detail}")
    return done.stdout


def _load(path, type):
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise RunError(f"unreadable result of type {type}: {error}") from None
    return checked(array, type)


def checked(array, type):
    """The array, which has to have the storage form of its type."""
    dtype, shape = type.storage()
    if (array.dtype, array.shape) != (dtype, tuple(shape)):
        raise RunError(
            f"expected a result of type {type} to be stored as {dtype} of shape "
            f"{tuple(shape)}, but got {array.dtype} of shape {array.shape}"
        )
    return array
