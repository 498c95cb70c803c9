# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytecode of each release beside the same module in today's syntax (test/Data/bytecode), what
today's writer makes of it, and what a later release would write.

  compare_releases.py BLOCKSCALE_OPT FOLDER

The last line is `N passed, N failed`.
"""

import subprocess
import sys
from pathlib import Path

# The version of the dialect in a file: a section of one byte, the number 1; and the number 2.
VERSION, LATER = b"\x07\x03\x03", b"\x07\x03\x05"
REFUSED = ("expected bytecode of the dialect blockscale of version 1 at most, but got 2, of a "
           "later release")


def run(tool, content, *options):
    """(output, errors) for a module on the standard input."""
    done = subprocess.run([tool, "-", *options], input=content, capture_output=True)
    return done.stdout, done.stderr.decode()


def check(tool, path):
    """What is wrong with a file of a release."""
    wanted, errors = run(tool, path.with_suffix(".mlir").read_bytes())
    if not wanted:
        return errors
    got, errors = run(tool, path.read_bytes())
    if got != wanted:
        return errors or f"expected\n{wanted.decode()}\nbut got\n{got.decode()}"
    written, _ = run(tool, wanted, "--emit-bytecode")
    if run(tool, written)[0] != wanted:
        return "expected today's bytecode to be read as it was written"
    return ""


def check_later(tool, path):
    """What is wrong with how bytecode of a later release is refused."""
    written, _ = run(tool, path.read_bytes(), "--emit-bytecode")
    # The list of dialects stands before all that has other bytes of this kind.
    got, errors = run(tool, written.replace(VERSION, LATER, 1))
    if got or REFUSED not in errors:
        return f"expected an error, but got\n{errors}"
    return ""


def main():
    tool, folder = sys.argv[1], Path(sys.argv[2])
    tests = [(f"{path.parent.name}/{path.stem}", check(tool, path))
             for path in sorted(folder.glob("*/*.mlirbc"))]
    tests.append(("a later release", check_later(tool, folder / "0.1/quantize-ops.mlir")))
    for name, fault in tests:
        print("\n".join([f"{'FAIL' if fault else 'pass'} {name}", *filter(None, [fault])]))
    failed = sum(bool(fault) for _, fault in tests)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
