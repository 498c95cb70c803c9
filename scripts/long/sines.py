#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sine and the cosine of every f32, as blockscale-expand-math writes them and the CPU computes
them, beside NumPy in f64: within 0.5001 ulp of every number, with the sign of zero, and NaN of
infinities and NaN. The line of each function has the largest error and where it is. The last line
is `N passed, N failed`.

  sines.py [--every N]      tries one of N runs of numbers
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from long_programs import ROOT, run_script

FUNCTIONS = ("sin", "cos")
ULPS = 0.5001
RUN = 1 << 22
NUMBERS = 1 << 32

TEXT = """
#id = affine_map<(i) -> (i)>
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.NAME %a : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"""


def check_run(np, first, name, compiled):
    """The largest error of numbers with the bits from `first` on, in ulp, and the bits of its
    number. NaN where a result is NaN and may not be, or the other way."""
    x = (np.arange(RUN, dtype=np.uint32) + np.uint32(first)).view(np.float32)
    y = compiled(x)
    with np.errstate(invalid="ignore"):
        wanted = getattr(np, name)(x.astype(np.float64))
    unit = np.spacing(np.abs(wanted.astype(np.float32))).astype(np.float64)
    errors = np.abs(y.astype(np.float64) - wanted) / unit
    none = np.isnan(wanted)
    if (np.isnan(y) != none).any() or (
            np.signbit(y) != np.signbit(wanted))[(wanted == 0) & ~none].any():
        return float("nan"), first
    errors[none] = 0
    place = int(errors.argmax())
    return float(errors[place]), first + place


def check(every):
    """In a Python that has the package."""
    import numpy as np

    import blockscale

    passed = failed = 0
    for name in FUNCTIONS:
        compiled = blockscale.compile(TEXT.replace("NAME", name))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            runs = list(pool.map(lambda first: check_run(np, first, name, compiled),
                                 range(0, NUMBERS, RUN * every)))
        problems = [where for error, where in runs if not error <= ULPS]
        error, where = max(runs, key=lambda run: run[0])
        number = np.array([where], np.uint32).view(np.float32)[0]
        print(f"{name}: {len(runs) * RUN} numbers, at most {error:.6f} ulp, at {number!r}"
              + (f"; {len(problems)} runs have more than {ULPS} or another NaN or zero, first "
                 f"from 0x{problems[0]:08x}" if problems else ""), flush=True)
        passed, failed = passed + (not problems), failed + bool(problems)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, metavar="N")
    options = parser.parse_args()
    package = ROOT / "build/package/bin/python"
    if Path(sys.prefix) == package.parents[1]:
        return check(options.every)
    run_script("build.sh", "all")
    run_script("package.sh", ROOT / "build")
    return subprocess.run([package, __file__, "--every", str(options.every)]).returncode


if __name__ == "__main__":
    sys.exit(main())
