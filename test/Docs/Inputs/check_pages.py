# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what the pages show.

A fenced block of language `mlir` is a complete module: blockscale-opt takes it,
prints and parses it again. One of language `console` is a command, `$ ...`, run
in the project's folder, and what it prints; a line `...` stands for any lines, and
`...` in a line for any text. Blanks and tabs count as one blank.
Prints a line for each block; the exit status is 1 if one is wrong.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FENCE = re.compile(r"^```(mlir|console)\n(.*?)^```$", re.S | re.M)


def run(command, text=None):
    return subprocess.run(command, shell=isinstance(command, str), cwd=ROOT, input=text,
                          capture_output=True, text=True)


def check_module(text):
    """What is wrong with a module, or nothing."""
    process = run(["blockscale-opt", "-", "-verify-roundtrip"], text)
    return process.stderr if process.returncode else ""


def check_console(text):
    command, *wanted = text.splitlines()
    if not command.startswith("$ "):
        return "expected the first line to be `$ COMMAND`"
    process = run(command[2:])
    found = (process.stdout + process.stderr).splitlines()
    at = differs(wanted, found)
    if at is None:
        return ""
    line = wanted[at] if at < len(wanted) else "the end"
    return f"not in its place: {line}\nthe command prints:\n" + "\n".join(found)


def matches(wanted, found):
    """Whether a line is as wanted."""
    wanted, found = (" ".join(line.split()) for line in (wanted, found))
    return re.fullmatch(".*".join(map(re.escape, wanted.split("..."))), found) is not None


def differs(wanted, found):
    """Index of the first wanted line that is not there, or None."""
    position = index = 0
    while index < len(wanted):
        # The lines up to the next gap stand together.
        end = wanted.index("...", index) if "..." in wanted[index:] else len(wanted)
        block = wanted[index:end]
        starts = range(position, len(found) - len(block) + 1)
        if index == 0:
            starts = starts[:1]
        if end == len(wanted):
            # Nothing follows, so the output ends here too.
            starts = [start for start in starts if start + len(block) == len(found)]
        start = next((start for start in starts
                      if all(map(matches, block, found[start:]))), None)
        if start is None:
            return index
        position, index = start + len(block), end + 1
    return None


def main(pages):
    status = 0
    for page in pages:
        text = Path(page).read_text(encoding="utf-8")
        for block in FENCE.finditer(text):
            check = check_module if block[1] == "mlir" else check_console
            line = text.count("\n", 0, block.start()) + 1
            wrong = check(block[2])
            print(f"{'FAIL' if wrong else 'pass'} {Path(page).name}:{line} {block[1]}")
            if wrong:
                print(wrong)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
