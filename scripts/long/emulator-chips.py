#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of kernel but products on every chip but sm_100a, in the emulator under both
schedules: the bytes of the CPU. `check` runs all kinds on sm_100a, and a sample on the others.

The chips are those that the compiler lists. A line says what ran for a chip; the last one is
`N passed, N failed`.

  scripts/long/emulator-chips.py [CHIP...]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from emulated_runs import run_all

# Quantizers, which take a chip; and the other ops, whose chips the environment names.
QUANTIZERS = ("sm100_kernels.py", "strip_kernels.py")
OTHERS = ("gpu_amax.py", "gpu_amax_passes.py", "gpu_dequantize.py", "gpu_expand_scale.py",
          "gpu_grouped_transforms.py", "gpu_groups.py", "gpu_hadamard.py", "gpu_norms.py",
          "gpu_plain.py", "gpu_prepack.py", "gpu_producers.py", "gpu_random.py",
          "gpu_read_once.py", "gpu_scale_sweep.py", "gpu_sections.py", "gpu_swizzle.py")


def list_runs(chip):
    return [*(((name, f"--target={chip}"), {}) for name in QUANTIZERS),
            *(((name,), {"BLOCKSCALE_TEST_CHIPS": chip}) for name in OTHERS)]


if __name__ == "__main__":
    sys.exit(run_all(list_runs, left_out=["sm_100a"]))
