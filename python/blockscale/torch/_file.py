# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that torch.export.save wrote, for blockscale-import."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings

import torch

from blockscale._errors import fail
from blockscale._trace import Module
from blockscale.torch._program import from_export


def import_file(path: str, name: str) -> Module:
    """The module of a .pt2 file, its weights as resources."""
    if not os.path.isfile(path):
        fail("BLOCKSCALE_FILE", f"cannot read '{path}': expected a file")
    with contextlib.suppress(ImportError):
        import torchao.prototype.mx_formats  # noqa: F401 (classes of its tensors)
    # torch would log its stack of calls, and warn of buffers that it cannot write.
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.load(path)
    except Exception as error:  # What a damaged archive raises is many things.
        text = str(error).strip().split("\n")[0]
        fail("BLOCKSCALE_FILE", f"cannot read '{path}': expected a program that "
                                f"torch.export.save wrote, but got {type(error).__name__}: "
                                f"{text}")
    finally:
        logging.disable(level)
    return from_export(program, name, constants="resources").module
