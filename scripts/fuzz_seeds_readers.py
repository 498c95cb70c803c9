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
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

# The first bytes of inputs, by which the tool tells its ten readers: binary files are not
# ASCII, texts are.
BUNDLE, NPY, MENDED_BUNDLE, TENSOR_FILE = 0x82, 0x86, 0x89, 0x8A
MADE_BUNDLE, JSON, PLAN, NPY_HEADER, ANSWER, TENSOR_HEADER = b"efgijm"
MODULES = {"sm_80": """
func.func @quantize(%x: tensor<?x64xbf16>) -> (tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>) {
  %g = arith.constant dense<0.5> : tensor<f32>
  %q, %s = blockscale.quantize %x block [1, 16] global_scale(%g : tensor<f32>)
      : tensor<?x64xbf16> -> tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
  return %q, %s : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>
}
""", "sm_90a": """
func.func @amax(%x: tensor<?x64xbf16>) -> tensor<?xf32> {
  %a = blockscale.amax %x : tensor<?x64xbf16> -> tensor<?xf32>
  %r = blockscale.amax_over_ranks %a : tensor<?xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
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


# Headers of safetensors files with 16 bytes of data.
TENSORS = ('{"w":{"dtype":"BF16","shape":[2,4],"data_offsets":[0,16]}}  ',
           ('{"__metadata__":{"format":"pt"},"b":{"dtype":"F4","shape":[8],"data_offsets":[12,16]},'
            '"a":{"dtype":"U8","shape":[3,4],"data_offsets":[0,12]},'
            '"e":{"dtype":"F8_E8M0","shape":[0],"data_offsets":[12,12]}}'))


def gguf():
    """A file with values of all kinds and two tensors."""
    def text(content):
        return struct.pack("<Q", len(content)) + content

    values = {b"general.alignment": struct.pack("<II", 4, 16),
              b"s": struct.pack("<I", 8) + text(b"x"), b"f": struct.pack("<Id", 12, 0.5),
              b"b": struct.pack("<IB", 7, 1),
              b"l": struct.pack("<IIQ", 9, 8, 2) + text(b"a") + text(b""),
              b"n": struct.pack("<IIQIQ3h", 9, 9, 1, 3, 3, 1, 2, 3)}
    tensors = ((b"w", (32, 2), 39, 0), (b"v", (), 0, 48))
    file = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(values))
    file += b"".join(text(key) + value for key, value in values.items())
    for name, shape, kind, offset in tensors:
        file += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
    return file + bytes(-len(file) % 16 + 52)


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
    for header in TENSORS:
        yield TENSOR_HEADER, header.encode()
        yield TENSOR_FILE, struct.pack("<Q", len(header)) + header.encode() + bytes(16)
    yield TENSOR_FILE, gguf()
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
