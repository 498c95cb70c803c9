# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of ONNX for blockscale-import."""

from blockscale._trace import Module
from blockscale.onnx._program import from_model


def import_file(path: str, name: str) -> Module:
    return from_model(path, name).module
