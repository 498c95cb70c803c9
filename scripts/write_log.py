#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a log of docs/logs: the head of a log, and what a command prints.

    scripts/write_log.py NAME COMMAND...

NAME is that of the file, as example.txt. The log stays as it was if the command fails.
"""

import subprocess
import sys
from pathlib import Path

from log_head import LOGS, describe_commit, describe_machine, make_head

ROOT = Path(__file__).resolve().parents[1]


def main(arguments, root=ROOT):
    if len(arguments) < 2 or arguments[0].startswith("-"):
        print(__doc__.split("\n\n", 1)[1].strip(), file=sys.stderr)
        return 2
    name, *command = arguments
    head = make_head(describe_commit(root), describe_machine(), " ".join(command))
    run = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="")
    if run.returncode == 0:
        (root / LOGS / name).write_text(f"{head}\n\n{run.stdout}", encoding="utf-8")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
