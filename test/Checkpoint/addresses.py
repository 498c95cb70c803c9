# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The addresses that threads take behind a command, as test_bounds.py has it run in a process of
its own."""

import threading
from pathlib import Path

from blockscale.checkpoint import _command

THREADS = 12


def _count_mib() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmSize")).split()[1]) >> 10


def measure(path: str) -> int:
    """Tells how many MiB threads take that allocate something each; 3 where that is too much."""
    _command.main(["list", path])
    before, together = _count_mib(), threading.Barrier(THREADS + 1)

    def allocate():
        held = [bytearray(2000) for _ in range(100)]
        together.wait()
        together.wait()
        del held
    threads = [threading.Thread(target=allocate) for _ in range(THREADS)]
    for each in threads:
        each.start()
    together.wait()
    taken = _count_mib() - before
    together.wait()
    for each in threads:
        each.join()
    print(f"{taken} MiB")
    return 0 if taken < THREADS * 8 + 300 else 3
