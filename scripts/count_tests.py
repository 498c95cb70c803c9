#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests printed, as the line `N passed, N failed, N skipped` that programs of scripts/long
end with: those of unittest, and the arrays of test/Conformance/run.py. Each file has the output
of one command, or of several that run unittest. Exit statuses come in the same order. A command
that failed without a test that failed, or that counted nothing, is a failure more.

  scripts/count_tests.py FILE STATUS [FILE STATUS ...]
"""

import re
import sys
from collections import Counter
from pathlib import Path


def count(text):
    """Passed, failed and skipped tests of one output, or None."""
    arrays = re.search(r"^arrays equal (\d+), mismatching (\d+), unsupported (\d+)$", text, re.M)
    if arrays:
        return [int(each) for each in arrays.groups()]
    ran = [int(n) for n in re.findall(r"^Ran (\d+) tests? in", text, re.M)]
    if not ran:
        return None
    counts = Counter()
    for name, n in re.findall(r"(failures|errors|skipped)=(\d+)", text):
        counts[name] += int(n)
    failed = counts["failures"] + counts["errors"]
    return [sum(ran) - failed - counts["skipped"], failed, counts["skipped"]]


def main():
    sums = [0, 0, 0]
    arguments = sys.argv[1:]
    if not arguments or len(arguments) % 2:
        sys.exit(f"expected a FILE and a STATUS of each command, but got {arguments}")
    for path, status in zip(arguments[::2], arguments[1::2]):
        counts = count(Path(path).read_text(encoding="utf-8", errors="replace")) or [0, 0, 0]
        if not counts[1] and (status != "0" or not counts[0]):
            counts[1] = 1
        sums = [a + b for a, b in zip(sums, counts)]
    print("{} passed, {} failed, {} skipped".format(*sums))
    sys.exit(bool(sums[1]))


if __name__ == "__main__":
    main()
