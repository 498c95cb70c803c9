# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The journal of a job: which of its tasks are done, so that a job that was killed goes on.

A line of JSON is written for each task when all of its bytes are: first the job's identity, then
the numbers of tasks with what they found. When only the process ends, what it wrote is in the
system's cache, and all lines hold. After a crash of the system only as many hold as the last line
"synced" says, before which their data went to the disk. Before each line is a digest of it and of
all lines above, so that a journal that was damaged is no journal.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from blockscale._errors import ArgumentError
from blockscale._files import open_in_place

NAME = ".blockscale-journal"


def _read_boot() -> str:
    """What changes when the system starts anew."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def describe_other_job(path: str) -> str:
    """That a journal does not fit what is asked for."""
    return (f"expected the journal '{path}' to be of this job, but source, policy or options were "
            "others then; remove its folder to begin anew")


def make_digest(data: bytes) -> bytes:
    """What is in front of lines: it tells those that were damaged."""
    return hashlib.blake2b(data, digest_size=8).hexdigest().encode()


class Journal:
    """An open journal; `done` has what the tasks found that are done, by number."""

    def __init__(self, folder: str, identity: str):
        self.path = os.path.join(folder, NAME)
        self.done: dict[int, Any] = {}
        #: Lines of tasks, those among them that do not hold.
        self.count = 0
        #: Of all lines before the next one.
        self._digest = b""
        boot = _read_boot()
        self._file = os.fdopen(open_in_place(self.path), "r+b")
        try:
            self._read(identity, boot)
        except BaseException:
            self._file.close()
            raise
        self._write({"job": identity, "boot": boot})

    def _read(self, identity: str, boot: str) -> None:
        text = self._file.read()
        # A line that was cut off has no end.
        end = text.rfind(b"\n") + 1
        tasks: list[tuple[int, Any, bool]] = []
        is_safe, synced = False, 0
        for line in text[:end].splitlines():
            digest, _, members = line.partition(b" ")
            try:
                if digest != make_digest(self._digest + members):
                    raise ValueError("the digest of other lines")
                self._digest = digest
                each = json.loads(members)
                if "job" in each:
                    self._check(each["job"], identity)
                    is_safe = bool(boot) and each["boot"] == boot
                elif "synced" in each:
                    synced = int(each["synced"])
                else:
                    tasks.append((int(each["task"]), each["found"], is_safe))
            except (ValueError, KeyError, TypeError) as error:
                if isinstance(error, ArgumentError):
                    raise
                raise ArgumentError(f"expected lines of a journal in '{self.path}', but got "
                                    f"{line[:80]!r}; remove its folder to begin anew") from error
        self.count = len(tasks)
        self.done = {task: found for number, (task, found, is_safe) in enumerate(tasks)
                     if is_safe or number < synced}
        self._file.truncate(end)
        self._file.seek(end)

    def _check(self, found: str, identity: str) -> None:
        if found != identity:
            raise ArgumentError(describe_other_job(self.path))

    def _write(self, members: dict[str, Any]) -> None:
        line = json.dumps(members, separators=(",", ":")).encode()
        self._digest = make_digest(self._digest + line)
        self._file.write(self._digest + b" " + line + b"\n")
        self._file.flush()

    def add(self, number: int, found: Any) -> None:
        """Says that a task is done."""
        self.done[number] = found
        self.count += 1
        self._write({"task": number, "found": found})

    def sync(self, count: int) -> None:
        """Says that the data of the first `count` lines of tasks are on the disk."""
        self._write({"synced": count})
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
