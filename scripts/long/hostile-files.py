#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of the files of each reader in Python, 300 of each: every call ends as is documented,
with a message and without a traceback or a signal, in 2 GiB of memory and 10 s of a core
(test/Checkpoint/mutants.py). The seed is the date; a mutant that is read badly is kept in
build/hostile-files. Readers whose packages are not in .cache/checkpoints are left out, and named.
The last line is `N passed, N failed`.

  scripts/long/hostile-files.py [COUNT [SEED]]
"""

import datetime
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))


def run(count, seed):
    """Passed and failed mutants, of all readers."""
    import tempfile
    import readers
    from limited import Limited
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="blockscale-") as folder, Limited() as limited:
        found = [*readers.make_checkpoints(Path(folder)), *readers.make_remotes(Path(folder)),
                 *readers.make_imports(Path(folder))]
        for reader in found:
            tally = readers.run(reader, limited, seed, count, BUILD / "hostile-files")
            ends = ", ".join(f"{number} with {status}"
                             for status, number in sorted(tally.statuses.items()))
            print(f"   {reader.name:<32} {count - len(tally.faults)} passed, {len(tally.faults)} "
                  f"failed; ended {ends}; at most {tally.memory >> 20} MiB", flush=True)
            print("\n".join(tally.faults), end="\n" if tally.faults else "")
            passed, failed = passed + count - len(tally.faults), failed + len(tally.faults)
    for ending in sorted({".mlir", ".onnx", ".pt2", ".jax", ".bsa"}
                         - {Path(reader.file).suffix for reader in found}):
        print(f"   {ending} files: left out, as what writes them is not installed")
    print(f"{passed} passed, {failed} failed")
    return failed


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seed = sys.argv[2] if len(sys.argv) > 2 else f"{datetime.date.today():%Y%m%d}"
    if os.environ.get("BLOCKSCALE_HOSTILE") == "1":
        sys.path.insert(0, str(ROOT / "test/Checkpoint"))
        return 1 if run(count, seed) else 0
    print(f"seed {seed}", flush=True)
    library = BUILD / "lib/libBlockScaleC.so"
    if "BLOCKSCALE_BUILD_DIR" not in os.environ:
        subprocess.run([ROOT / "scripts/build.sh", "BlockScaleC"], check=True)
    packages = ROOT / ".cache/checkpoints"
    python = (packages if (packages / "stamp").exists() else ROOT / ".venv") / "bin/python"
    return subprocess.run(
        [python, __file__, str(count), seed],
        env={**os.environ, "BLOCKSCALE_HOSTILE": "1", "BLOCKSCALE_LIBRARY": str(library),
             "PYTHONPATH": str(ROOT / "python")}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
