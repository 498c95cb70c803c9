# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of blockscale-run that share a process, and with it what they compile alike."""

import re
import shlex
import subprocess

ENDED = re.compile(r"^line \d+: exit status (\d+)\n", re.M)


def run_lines(lines, tool="blockscale-run", timeout=None, env=None):
    """(Exit status, what was printed) of each run; a run is the words of its command line,
    without the tool. Where the process ends early, those that it has not made fail with
    what it said last."""
    text = "".join(shlex.join(map(str, line)) + "\n" for line in lines)
    done = subprocess.run([tool, "--batch=-"], input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=timeout, env=env)
    outcomes, start = [], 0
    for ended in ENDED.finditer(done.stdout):
        outcomes.append((int(ended[1]), done.stdout[start:ended.start()]))
        start = ended.end()
    missing = len(lines) - len(outcomes)
    return outcomes + [(done.returncode or 1, done.stdout[start:])] * missing
