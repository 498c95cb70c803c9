# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the worked example of docs/Numerics.md on the CPU path.

The page's numbers come from the numpy reference; here the compiled code quantizes
the same row, and its bytes are compared with the reference's.
Usage: worked_example.py FOLDER
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "Python"))

from docs_numbers import AMAX, ROW, reference

NVFP4 = """
func.func @f(%x: tensor<1x32xbf16>{parameter}) -> (tensor<1x32xf4E2M1FN>, tensor<1x2xf8E4M3FN>) {{
  %q, %s = blockscale.quantize %x block [1, 16]{operand}
      : tensor<1x32xbf16> -> tensor<1x32xf4E2M1FN>, tensor<1x2xf8E4M3FN>
  return %q, %s : tensor<1x32xf4E2M1FN>, tensor<1x2xf8E4M3FN>
}}
"""
MX = """
func.func @f(%x: tensor<1x32xbf16>) -> (tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32]
      : tensor<1x32xbf16> -> tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
  return %q, %s : tensor<1x32xf8E4M3FN>, tensor<1x1xf8E8M0FNU>
}
"""


def run(folder, module, arrays):
    """Data and scales that the module computes of arrays."""
    (folder / "module.mlir").write_text(module)
    command = ["blockscale-run", folder / "module.mlir", "--on=cpu", "--entry=f"]
    for i, array in enumerate(arrays):
        np.save(folder / f"in{i}.npy", array)
        command += ["--in", folder / f"in{i}.npy"]
    results = [folder / "data.npy", folder / "scale.npy"]
    for path in results:
        command += ["--out", path]
    subprocess.run(command, check=True)
    return map(np.load, results)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    x = reference.to_bf16(ROW)
    g = np.float32(reference.global_scale(AMAX))
    scaled = NVFP4.format(parameter=", %g: tensor<f32>",
                          operand=" global_scale(%g : tensor<f32>)")
    plain = NVFP4.format(parameter="", operand="")
    cases = {
        "one level": (plain, [x], reference.quantize_nvfp4(ROW), reference.pack),
        "global scale": (scaled, [x, np.array(g)],
                         reference.quantize_nvfp4(ROW, global_scale=g), reference.pack),
        "MX": (MX, [x], reference.quantize_mx(ROW), np.asarray),
    }
    for name, (module, arrays, (codes, scale), store) in cases.items():
        data, scales = run(folder, module, arrays)
        same = np.array_equal(data, store(codes)) and np.array_equal(scales, scale)
        print(f"{'pass' if same else 'FAIL'} {name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
