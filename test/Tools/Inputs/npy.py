# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes, prints and checks the .npy files of tool tests.

  npy.py make FILE EXPRESSION        saves the array
  npy.py show FILE...                prints dtype, shape and elements
  npy.py check EXPRESSION NAME=FILE...  fails unless the expression is true

Expressions are Python's, with `np`, the reference quantizers and `bf16`.
"""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))

import blockscale_reference as reference


def bf16(values):
    """The storage form of values, rounded to bf16."""
    return reference.to_bf16(np.asarray(values, np.float32))


def same(a, b):
    """Whether two arrays have the same dtype, shape and bytes."""
    a, b = np.asarray(a), np.asarray(b)
    same = (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if not same:
        print(f"{describe(a)}\ndiffers from\n{describe(b)}")
    return same


def describe(array):
    unsigned = array.dtype.kind == "u"
    width = 2 * array.dtype.itemsize
    elements = [f"{e:0{width}x}" if unsigned else str(e) for e in array.ravel()]
    return f"{array.dtype} {array.shape}: {' '.join(elements)}".rstrip()


NAMES = vars(reference) | {"np": np, "bf16": bf16, "same": same}


def main():
    command, *arguments = sys.argv[1:]
    if command == "make":
        file, expression = arguments
        np.save(file, eval(expression, dict(NAMES)))
    elif command == "show":
        for file in arguments:
            print(describe(np.load(file)))
    elif command == "check":
        expression, *files = arguments
        arrays = dict(file.split("=", 1) for file in files)
        arrays = {name: np.load(file) for name, file in arrays.items()}
        if not eval(expression, NAMES | arrays):
            sys.exit(f"not true: {expression}")
    else:
        sys.exit(f"unknown command {command}")


if __name__ == "__main__":
    main()
