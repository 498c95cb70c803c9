#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeds of blockscale-fuzz-readers: files that its readers accept. The first byte of a
seed is the number of its reader.

  fuzz_seeds_readers.py FOLDER BLOCKSCALE_COMPILE
"""

import hashlib
import io
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

# The first bytes of inputs, by which the tool tells its eight readers: binary files are not
# ASCII, texts are.
BUNDLE, NPY, MENDED_BUNDLE = 0x88, 0x8C, 0x8F
MADE_BUNDLE, JSON, PLAN, NPY_HEADER, ANSWER = b"abcef"
MODULES = {"sm_80": """
func.func @quantize(%x: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) {
  %g = arith.constant dense<0.5> : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %q, %s : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
}
""", "sm_100a": """
func.func @product(%a: tensor<?x64xf8E4M3FN>, %s: tensor<?x2xf8E8M0FNU>,
                   %b: tensor<2x48x64xf8E4M3FN>, %t: tensor<2x48x2xf8E8M0FNU>,
                   %ends: tensor<2xi32>) -> tensor<?x48xf32> {
  %y = blockscale.scaled_grouped_mm %a, %b offsets(%ends) scales(%s, %t) block [1, 32]
      : tensor<?x64xf8E4M3FN>, tensor<2x48x64xf8E4M3FN>, tensor<2xi32>, tensor<?x2xf8E8M0FNU>,
        tensor<2x48x2xf8E8M0FNU> -> tensor<?x48xf32>
  return %y : tensor<?x48xf32>
}
"""}
TEXTS = ('{"a": [1, -2.5e3, true, null, "\\u00e9\\n"], "b": {}}', "[]", '"text"', "[[[[1]]]]")


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def compile_module(compiler, module, target, emit):
    return subprocess.run([compiler, "-", f"--target={target}", f"--emit={emit}", "-o", "-"],
                          input=module.encode(), check=True, capture_output=True).stdout


def seeds(compiler):
    for target, module in MODULES.items():
        plan, ptx, bundle = (compile_module(compiler, module, target, emit)
                             for emit in ("plan", "ptx", "bundle"))
        yield BUNDLE, bundle
        yield MENDED_BUNDLE, bundle
        yield MADE_BUNDLE, plan + b"\0" + ptx
        yield PLAN, plan
        yield JSON, plan
    for text in TEXTS:
        yield JSON, text.encode()
    for array in (np.zeros((3, 4), np.uint8), np.ones((), np.float32), np.zeros((0, 5), np.int64),
                  np.zeros((2, 3, 4), np.float16, order="F")):
        yield NPY, npy(array)
        header = npy(array)[10:].partition(b"\n")[0] + b"\n"
        yield NPY_HEADER, header
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    found = next((word.strip(",") for word in version.split() if word[:1].isdigit()), "0")
    for kind, text in (("module", "module {}"), ("error", "it is damaged"), ("damaged", "")):
        yield ANSWER, f"blockscale-read-bytecode {found} {kind} {len(text)}\n{text}".encode()


def write_seeds(folder, compiler):
    """Fills `folder`; returns the number of inputs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for reader, data in seeds(compiler):
        data = bytes([reader]) + data
        (folder / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)
    return sum(1 for _ in folder.iterdir())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(f"{write_seeds(Path(sys.argv[1]), sys.argv[2])} inputs")
