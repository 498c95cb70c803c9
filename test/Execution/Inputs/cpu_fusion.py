# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transformed columns, alone and with rows, with and without signs, of the shapes of C13 on the
CPU: modules with the kernels that SM100 has, of several ops, give the bytes of modules
with a kernel for each op. Compares digests of all results.

Usage: cpu_fusion.py FOLDER [--most ELEMENTS]
"""

import argparse
import hashlib
import subprocess
from pathlib import Path

import numpy as np

from expect import Expectations
from fusion_cases import function, listed

FORM = "--pass-pipeline=builtin.module(func.func(blockscale-form-kernels{chip=sm_100a}))"


def make(random, shape):
    """bf16 of any sign, from 2^-31 to 2."""
    x = random.integers(0, 1 << 16, shape, np.uint16)
    x &= np.uint16(0x8FFF)
    x |= np.uint16(0x3000)
    return x


def digest(module, x, count, folder, *place):
    """The digest of each result of a module's function, and what is printed; or no digests, and
    the error."""
    outputs = [folder / f"out{i}.npy" for i in range(count)]
    run = subprocess.run(["blockscale-run", module, *place, f"--in={x}",
                          *(f"--out={path}" for path in outputs)], capture_output=True, text=True)
    if run.returncode:
        return [], f"exit status {run.returncode}: {run.stderr[-2000:]}"
    digests = []
    for path in outputs:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
        path.unlink()
    return digests, run.stdout


def problem_of(case, x, folder):
    """Why the two modules of a case differ, or None."""
    plain, formed = folder / "plain.mlir", folder / "formed.mlir"
    plain.write_text(function([case]))
    subprocess.run(["blockscale-opt", plain, FORM, "-o", formed], check=True, capture_output=True)
    _, *kernels = formed.read_text().split("= blockscale.kernel ")
    if any(kernel.count("= blockscale.") < 2 for kernel in kernels if "hadamard" in kernel):
        return "a transform has a kernel of its own"
    count = len(case.write()[2])
    (wanted, said), (got, more) = (digest(module, x, count, folder) for module in (plain, formed))
    if not wanted or not got:
        return said + more
    return None if got == wanted else f"{wanted}, but {got} with fusion"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="for files, large ones too")
    parser.add_argument("--most", type=int, default=1 << 62, help="elements of x")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    random, expect, made = np.random.default_rng(13), Expectations(), None
    x = options.folder / "x.npy"
    for case in listed(options.most):
        # Rows alone have no transform.
        if case.directions == ("row",):
            continue
        if case.shape != made:
            made = case.shape
            np.save(x, make(random, made))
        expect.record(case, problem_of(case, x, options.folder))
    x.unlink()
    expect.finish()


if __name__ == "__main__":
    main()
