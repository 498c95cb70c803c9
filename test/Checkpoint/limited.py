# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls in processes that have as little memory and time as `ulimit -v` of 2 GiB and 10 s of a core
give, for hostile files. One process imports the package; each call is in a fork of it, which starts
soon. What a call ends with is told as a shell would tell it of a program.

    with Limited() as limited:
        outcome = limited.command("check", folder)
        outcome = limited.call("blockscale.checkpoint", "open", folder)

A package that reserves more addresses than that when it is imported is named when the process
starts. The memory of a call is then counted beyond what the process has before it.

    with Limited("blockscale.torch._file") as limited:
        outcome = limited.call("blockscale._import", "main", ...)
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

MEMORY, SECONDS = 2 << 30, 10
#: Seconds after which a call waits for something.
_WAIT = 120
#: What an output may have no other control characters than.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029"
                     "\ud800-\udfff]")
#: What the modules of commands import when they are called.
_MODULES = ("blockscale._import", "blockscale.checkpoint._command",
            "blockscale.checkpoint._check._check", "blockscale.checkpoint._convert._convert",
            "blockscale.checkpoint._diff", "blockscale.checkpoint._quantize._quantize",
            "blockscale.jax._file", "blockscale.onnx._file", "re2", "regex")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The exit status of a call, negative for a signal; what it said on both streams; and the
    largest memory that it had, in bytes."""

    status: int
    text: str
    memory: int

    def find_fault(self, statuses=(0, 1, 2)) -> str:
        """Why this is no good end of a call, whatever it read; "" if it is one."""
        if self.status < 0:
            return f"signal {signal.Signals(-self.status).name}"
        if "Traceback" in self.text:
            return "a traceback"
        if self.status not in statuses:
            return f"exit status {self.status}"
        found = _HIDDEN.search(self.text)
        if found:
            return f"the character {found[0]!r}"
        return "" if self.text.strip() else "nothing"


class Limited:
    """The process that forks.

    Args:
      large: modules that it imports, too, whose addresses do not count.
    """

    def __init__(self, *large: str):
        self._large = large

    def __enter__(self):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1",
                       "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, __file__, *self._large], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=environment)
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _ask(self, request) -> Outcome:
        with tempfile.NamedTemporaryFile(prefix="blockscale-") as file:
            self._process.stdin.write(json.dumps([file.name, *request]) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError("the process that forks has ended")
            status, memory = json.loads(line)
            text = Path(file.name).read_bytes().decode("utf-8", "surrogateescape")
        return Outcome(status, text, memory)

    def command(self, *arguments) -> Outcome:
        """blockscale-checkpoint with arguments."""
        return self._ask(["blockscale.checkpoint._command", "main", [list(map(str, arguments))]])

    def call(self, module: str, function: str, *arguments) -> Outcome:
        """A function of a module; its status is what it returns where that is a number. An error of
        the package is printed, with status 2."""
        return self._ask([module, function, list(map(str, arguments))])


def _run(module: str, function: str, arguments) -> int:
    from blockscale import Error
    try:
        found = getattr(importlib.import_module(module), function)(*arguments)
        print("done")
        return found if isinstance(found, int) else 0
    except (Error, ImportError) as error:
        print(f"error: {error}")
        return 2
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1


def _count_addresses() -> int:
    """Bytes of addresses that this process has."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    return int(pages) * resource.getpagesize()


def _run_in_fork(path: str, request, memory: int) -> tuple[int, int]:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(_WAIT)
        out = os.open(path, os.O_WRONLY)
        os.dup2(out, 1)
        os.dup2(out, 2)
        status = 1
        try:
            status = _run(*request)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024


def main() -> None:
    large = sys.argv[1:]
    for module in (*_MODULES, *large):
        # The call of one that is missing says so.
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    # JAX warns of forks since it may have threads, which it has none of before it is called.
    warnings.filterwarnings("ignore", "os.fork")
    memory = MEMORY + (_count_addresses() if large else 0)
    for line in sys.stdin:
        path, *request = json.loads(line)
        print(json.dumps(_run_in_fork(path, request, memory)), flush=True)


if __name__ == "__main__":
    main()
