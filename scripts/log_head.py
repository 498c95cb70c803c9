# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The head of a log: four lines that say when it was written, of which commit, on which
machine, and by which command. Each run in a log of docs/logs begins with one:

    date     2026-11-23 22:24 UTC
    commit   0123abc
    machine  NVIDIA H200, driver 580.159.04 of CUDA 13.0
    command  scripts/gpu/races.py --launches 1000

`unknown` stands for what was not recorded. A commit that ends in `-dirty` had changes that
no commit has.
"""

import datetime
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass

UNKNOWN = "unknown"
DIRTY = "-dirty"
# Writing one log does not make the next one dirty.
LOGS = "docs/logs"
LINES = re.compile(r"(?m)^date     (.+)\ncommit   (.+)\nmachine  (.+)\ncommand  (.+)$")


@dataclass(frozen=True)
class Head:
    date: str
    commit: str
    machine: str
    command: str

    def __str__(self):
        return (f"date     {self.date}\ncommit   {self.commit}\n"
                f"machine  {self.machine}\ncommand  {self.command}")


def make_head(commit, machine, command, date=None):
    """The head of a run that begins now, or that began at `date`."""
    return Head(date or f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
                commit, machine, command)


def read_heads(text):
    """The heads of the runs in a log, in their order."""
    return [Head(*values) for values in LINES.findall(text)]


def describe_machine():
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def ask_git(root, *arguments):
    """What git prints in the checkout `root`; None where it fails or is not there. A hook of
    another checkout names that one in the environment, which does not count."""
    if not shutil.which("git"):
        return None
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("GIT_")}
    run = subprocess.run(["git", *arguments], cwd=root, env=environment, capture_output=True,
                         text=True)
    return run.stdout.strip() if run.returncode == 0 else None


def is_checkout(root):
    """Whether `root` is the top of a checkout; a folder in another project's is not."""
    return ask_git(root, "rev-parse", "--show-prefix") == ""


def describe_commit(root):
    """The commit of the checkout `root`, with `-dirty` where a file that git knows differs
    from it; files of docs/logs do not count. `unknown` without git."""
    commit = ask_git(root, "describe", "--always") if is_checkout(root) else None
    if not commit:
        return UNKNOWN
    changed = ask_git(root, "status", "--porcelain", "--untracked-files=no", "--", ".",
                      f":(exclude){LOGS}")
    return commit + DIRTY * (changed != "")
