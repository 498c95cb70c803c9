# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the layers of sm100_moe.py as kernels of sm_90a, and layers that return the codes
and scales of both quantizations, too.

Usage: sm90_moe.py MODULE FOLDER
"""

import sys
from pathlib import Path

import sm100_moe
from expect import Expectations

QUANTIZED = ("tensor<?x128xf4E2M1FN>, tensor<?x8xf8E4M3FN, #rows>, "
             "tensor<?x160xf4E2M1FN>, tensor<?x10xf8E4M3FN, #rows>")


def returning_quantized(module):
    """The module whose function returns the quantized tensors before its result."""
    for old, new in (("    -> tensor<?x128xbf16> {",
                      f"    -> ({QUANTIZED}, tensor<?x128xbf16>) {{"),
                     ("return %y : ", f"return %q, %s, %p, %t, %y : {QUANTIZED}, ")):
        if module.count(old) != 1:
            sys.exit(f"expected the module to have {old!r} once")
        module = module.replace(old, new)
    return module


def main():
    module, folder = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
    expect = Expectations()
    sm100_moe.check(expect, module, folder / "layer", "sm_90a")
    sm100_moe.check(expect, returning_quantized(module), folder / "quantized", "sm_90a",
                    exact_results=4)
    expect.finish()


if __name__ == "__main__":
    main()
