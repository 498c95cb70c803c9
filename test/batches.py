# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of blockscale-run that share processes, and with them what they compile alike.

A process waits for more runs behind its last one, until this program ends: a process takes as long
to start as small modules take to compile, and finds kernels that it compiled before."""

import atexit
import contextlib
import os
import re
import shlex
import subprocess
import threading

ENDED = re.compile(r"^line \d+: exit status (\d+)\n")
#: Processes that wait, by what they were started with, the one that was used last at the end.
_waiting = []
_lock = threading.Lock()


class _Process:
    """A process that makes the runs of the lines that it is given."""

    def __init__(self, tool, env):
        self.key = (tool, os.getcwd(), env)
        self._process = subprocess.Popen(
            [tool, "--batch=-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", env=env)
        self.is_killed = False

    def run(self, line):
        """The exit status of a run, None where the process ended in it, and what was printed."""
        # A process that ended before it read the line may have said why.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line)
            self._process.stdin.flush()
        printed = []
        for text in self._process.stdout:
            if ended := ENDED.match(text):
                return int(ended[1]), "".join(printed)
            printed.append(text)
        return None, "".join(printed)

    def kill(self):
        self.is_killed = True
        self._process.kill()

    def finish(self):
        """Lets the process end, and gives its exit status."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.read()
        self._process.stdout.close()
        return self._process.wait()


def _take(tool, env):
    """A process that waits, or a new one."""
    with _lock:
        for process in reversed(_waiting):
            if process.key == (tool, os.getcwd(), env):
                _waiting.remove(process)
                return process
    return _Process(tool, env)


def _give_back(process):
    """Lets a process wait, and that end which waits longest where there are more than cores."""
    with _lock:
        _waiting.append(process)
        finished = _waiting[:-os.cpu_count()]
        del _waiting[:-os.cpu_count()]
    for each in finished:
        each.finish()


@atexit.register
def _finish_all():
    while _waiting:
        _waiting.pop().finish()


def run_lines(lines, tool="blockscale-run", timeout=None, env=None):
    """(Exit status, what was printed) of each run; a run is the words of its command line,
    without the tool. Where the process ends early, those that it has not made fail with
    what it said last."""
    process = _take(tool, dict(os.environ if env is None else env))
    watch = threading.Timer(timeout, process.kill) if timeout else None
    if watch:
        watch.start()
    outcomes, said = [], None
    try:
        for line in lines:
            status, said = process.run(shlex.join(map(str, line)) + "\n")
            if status is None:
                break
            outcomes.append((status, said))
    finally:
        if watch:
            watch.cancel()
            watch.join()
    if len(outcomes) == len(lines) and not process.is_killed:
        _give_back(process)
        return outcomes
    status = process.finish()
    if process.is_killed:
        raise subprocess.TimeoutExpired([tool, "--batch=-"], timeout)
    return outcomes + [(status or 1, said)] * (len(lines) - len(outcomes))
