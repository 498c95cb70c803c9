# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs hadamard along both dimensions and compares every bit with numpy.

Usage: hadamard.py FOLDER
"""

import sys

import numpy as np

import values
from ops import Functions, dynamic, tensor
from reference import from_bf16, hadamard, to_bf16

MASKS = (None, 0, 0x8001, 0xFFFF)  # None: the default

random = np.random.default_rng(61)
functions = Functions()


def add(shapes, dim, dims, mask, arrays=()):
    """Shapes of which `dims` are dynamic; `arrays` are more inputs."""
    type = tensor(dynamic(shapes[0], dims), "bf16")
    arrays = [values.floats(random, shape, np.uint16) for shape in shapes] + list(arrays)
    options = {} if mask is None else {"sign_mask": mask}
    text = "" if mask is None else f" sign_mask {mask}"
    with np.errstate(invalid="ignore"):  # signaling NaN
        cases = [([x], [to_bf16(hadamard(from_bf16(x), dim, **options))]) for x in arrays]
    functions.add(f"hadamard {{0}} dim {dim}{text} : {type}", [type], [type], cases)


def add_wrong_size(dim):
    type = tensor(("?", "?"), "bf16")
    x = np.zeros((40, 24) if dim else (24, 40), np.uint16)
    message = "hadamard: expected the transformed dimension of x to be a multiple of 16, but got "
    functions.add(f"hadamard {{0}} dim {dim} : {type}", [type], [type], [([x], message + "24")])


every_bf16 = random.permutation(1 << 16).astype(np.uint16).reshape(1024, 64)
zeros = random.choice(np.array([0, 0x8000], np.uint16), (64, 64))
for mask in MASKS:
    add([(5, 48), (1, 16), (3, 272), (2, 16 * 40), (0, 16), (5, 0)], 1, (0, 1), mask,
        [every_bf16, zeros])
    add([(48, 5), (16, 1), (272, 3), (32, 70), (16, 0), (0, 7)], 0, (0, 1), mask,
        [every_bf16, zeros])
for dim in (0, 1):
    add([(2, 3, 64, 80)], dim, (), None)
    add([(2, 32, 272), (0, 16, 272), (3, 48, 272)], dim, (0, 1), None)
    add_wrong_size(dim)
functions.check(sys.argv[1])
