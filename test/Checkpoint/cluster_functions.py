# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What test_cluster.py gives to workers, which import this module."""

import os
import signal
import time
from pathlib import Path

import blockscale


def note(folder, argument):
    """Notes when it began and ended, and returns its argument and process."""
    begin = time.monotonic()
    time.sleep(0.1)
    name, nbytes = argument
    (Path(folder) / f"{name}.txt").write_text(f"{begin} {time.monotonic()} {nbytes}")
    return name, os.getpid()


def die(folder, argument):
    """Ends its process as often as its argument says, as one that was killed."""
    name, times = argument
    for number in range(times):
        mark = Path(folder) / f"{name}.{number}"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return name


def fail(_, argument):
    if argument == "ours":
        raise blockscale.ArgumentError("expected another argument, but got ours")
    raise KeyError(argument)
