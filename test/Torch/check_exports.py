#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model classes of transformers, small, quantized, exported and imported whole (exported_zoo.py).

  check_exports.py [--only GLOB...]

Results are those of PyTorch with the same layers within a bound, relative to the largest value. A
line for each model has the largest difference, or why the model is not imported. The last line is
`N passed, N failed`.
"""

import argparse
import fnmatch
import logging
import sys
import time
import warnings

import torch

import blockscale.torch
import exported_zoo as zoo


def check(name):
    """A line, and whether it is a good one."""
    start = time.perf_counter()
    try:
        error = zoo.find_error(name)
    except blockscale.torch.UnsupportedError as refused:
        first, *others = str(refused).splitlines()
        return f"{name}: is not imported: {first}, and {len(others)} more", False
    except Exception as other:  # Whatever a model raises is its line.
        text = str(other).splitlines()
        return f"{name}: {type(other).__name__}: {text[0] if text else ''}", False
    return (f"{name}: difference {error:.1e}, {time.perf_counter() - start:.0f} s",
            error <= zoo.BOUND)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=["*"], nargs="+", metavar="GLOB",
                        help="types with such names")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    passed = failed = 0
    print(f"torch {torch.__version__}, transformers {zoo.hf.transformers.__version__}")
    for name in zoo.TYPES:
        if any(fnmatch.fnmatch(name, each) for each in arguments.only):
            line, is_good = check(name)
            passed, failed = passed + is_good, failed + (not is_good)
            print(line, flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
