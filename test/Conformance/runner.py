# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One process for each job; results are checked for dtype and storage shape."""

import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from batches import run_lines
from ir import ENTRY

# Many times what a run takes: also a slow or busy machine ends it.
TIMEOUT_SECONDS = 1200


class RunError(Exception):
    """The tool failed, or its results do not have the storage form."""


def execute(tool, ways, job):
    """For each of the `ways`, which are options of blockscale-run that say where to run it,
    the stored results of `job` in the order of its function's results, or a RunError. One
    process makes all runs, and compiles once for those that differ in their schedule."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        module = os.path.join(folder, "module.mlir")
        with open(module, "w") as file:
            file.write(job.function.module())
        inputs = []
        for i, array in enumerate(job.inputs):
            path = os.path.join(folder, f"in{i}.npy")
            np.save(path, array)
            inputs += ["--in", path]
        outputs = [
            [os.path.join(folder, f"out{i}-{j}.npy") for j in range(len(job.function.results))]
            for i in range(len(ways))
        ]
        lines = []
        for options, paths in zip(ways, outputs):
            words = [module, *options, f"--entry={ENTRY}", *inputs]
            lines.append(words + [word for path in paths for word in ("--out", path)])
        try:
            ended = run_lines(lines, tool, TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            return [RunError(f"no result after {TIMEOUT_SECONDS} s")] * len(ways)
        types = [value.type for value in job.function.results]
        return [_results(tool, *each, types) for each in zip(ended, outputs)]


def _results(tool, ended, paths, types):
    """The results of a run, or a RunError."""
    try:
        check_status(tool, *ended)
        return [_load(path, type) for path, type in zip(paths, types)]
    except RunError as error:
        return error


def check_status(tool, status, printed):
    """Raises the first error that was printed, where the exit status is one of failure."""
    if status:
        lines = printed.strip().splitlines()
        detail = next((line for line in lines if "error" in line), "".join(lines[:1]))
        raise RunError(f"{os.path.basename(tool)} exited with {status}: {detail}")


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
    check_status(command[0], done.returncode, done.stderr)
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
