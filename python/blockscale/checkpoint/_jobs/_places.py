# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a job runs: on threads of this process, or on the workers of a cluster, which reach object
storage too."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from blockscale._errors import ArgumentError
from blockscale._native._checkpoint import guard_reads
from blockscale.checkpoint._checkpoint import Checkpoint, Path
from blockscale.checkpoint._checkpoint import open as open_checkpoint
from blockscale.checkpoint._files import ENDINGS
from blockscale.checkpoint._jobs._cluster import Cluster
from blockscale.checkpoint._jobs._distribute import (
    State,
    open_mirror,
    run_on_cluster,
    split_shards,
    split_tasks,
)
from blockscale.checkpoint._jobs._journal import NAME as JOURNAL
from blockscale.checkpoint._jobs._journal import describe_other_job, make_digest
from blockscale.checkpoint._jobs._plan import Job
from blockscale.checkpoint._jobs._remote import Mirror, Remote, Snapshot, is_remote, to_path
from blockscale.checkpoint._jobs._run import Progress, Verify, check_destination, run_job

#: A cluster, the address of one, or "" for the one that RAY_ADDRESS names, else for processes of
#: this machine.
ClusterLike = Cluster | str


@dataclasses.dataclass(frozen=True)
class How:
    """How a job runs: the arguments of functions that write checkpoints.

    Attributes:
      resume: goes on with a job of the same arguments that did not end.
      threads: that work; None for three for each core. On a cluster, of each worker; None for one.
      sync: waits until all is on the disk before the result takes its name.
      progress: called with a name, the bytes that were read and all that will be.
      cluster: whose workers work, instead of threads of this process.
    """

    resume: bool = False
    threads: int | None = None
    sync: bool = False
    progress: Progress | None = None
    cluster: ClusterLike | None = None


class Place:
    """A source that is open, and the way to its destination."""

    def __init__(self, checkpoint: Checkpoint, destination: str, how: How):
        self.checkpoint = checkpoint
        self.destination = destination
        self._how = how

    def run(self, job: Job, verify: Verify) -> list[Any]:
        """Runs a job; returns what each task found.

        Args:
          verify: called with the result before it takes its name.
        """
        how = self._how
        return run_job(job, self.checkpoint, self.destination, resume=how.resume,
                       threads=how.threads, sync=how.sync, progress=how.progress, verify=verify)


class _ClusterPlace(Place):
    def __init__(self, checkpoint: Checkpoint, snapshot: Snapshot | None, destination: str,
                 how: How, cluster: Cluster):
        super().__init__(checkpoint, destination, how)
        self._snapshot = snapshot
        self._cluster = cluster

    def run(self, job: Job, verify: Verify) -> list[Any]:
        # Workers have other working folders.
        job = dataclasses.replace(job, source=os.path.abspath(job.source))
        if is_remote(self.destination):
            return self._run_to_remote(job, verify)
        how = self._how
        return run_job(job, self.checkpoint, self.destination, resume=how.resume, sync=how.sync,
                       progress=how.progress, runner=self._run_tasks, verify=verify)

    def _run_tasks(self, job: Job, numbers: Sequence[int], folder: str
                   ) -> Generator[tuple[int, Any], None, None]:
        state = State(job, self._snapshot, os.path.abspath(folder), "", not self._cluster.is_local)
        with contextlib.closing(run_on_cluster(state, split_tasks(job, numbers),
                                               self._cluster)) as results:
            for found in results:
                yield from found.items()
        self._check_source()

    def _check_source(self) -> None:
        """Whether all workers read the same source, before the result takes its name."""
        if self._snapshot is not None:
            Mirror.check(self._snapshot)

    def _run_to_remote(self, job: Job, verify: Verify) -> list[Any]:
        """The shards first, then the other files, config.json last: without it there is no model
        for any loader. The journal is there until then."""
        remote = Remote(self.destination)
        done = _read_remote_journal(remote, job.identity) if self._how.resume else {}
        total, count = job.nbytes, sum(job.tasks[number].nbytes for number in done)
        state = State(job, self._snapshot, "", self.destination, False)
        with contextlib.closing(run_on_cluster(state, split_shards(job, done),
                                               self._cluster)) as results:
            _write_remote_journal(remote, job.identity, done)
            for found in results:
                done |= found
                # A line of the local journal is a task; of this one, a shard.
                _write_remote_journal(remote, job.identity, done)
                count += sum(job.tasks[number].nbytes for number in found)
                if self._how.progress:
                    self._how.progress(job.tasks[max(found)].name, count, total)
        self._check_source()
        every = [done[number] for number in range(len(job.tasks))]
        with tempfile.TemporaryDirectory(prefix="blockscale-") as folder:
            verify(open_mirror(Mirror.take(self.destination), folder, job.files), every)
        for name in job.copied:
            remote.put(os.path.join(job.folder, name), name)
        for name, data in job.files.items():
            remote.write(name, data)
        remote.remove(JOURNAL)
        return every


def _read_remote_journal(remote: Remote, identity: str) -> dict[int, Any]:
    try:
        digest, _, text = remote.read_all(JOURNAL).partition(b" ")
        if digest != make_digest(text):
            raise ValueError("the digest of another text")
        members = json.loads(text)
        found = {int(number): each for number, each in members["done"].items()}
        job = members["job"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArgumentError(f"expected a journal in '{remote.url}/{JOURNAL}', but got another "
                            "file; remove its folder to begin anew") from error
    if job != identity:
        raise ArgumentError(describe_other_job(f"{remote.url}/{JOURNAL}"))
    return found


def _write_remote_journal(remote: Remote, identity: str, done: dict[int, Any]) -> None:
    text = json.dumps({"job": identity, "done": done}).encode()
    remote.write(JOURNAL, make_digest(text) + b" " + text)


def _check_remote(url: str, resume: bool) -> None:
    """Raises ArgumentError where there is something, or nothing to resume."""
    if url.endswith(ENDINGS):
        raise ArgumentError(f"expected the URL of a folder, but got '{url}'")
    names = Remote(url).list()
    if resume and JOURNAL not in names:
        raise ArgumentError(f"expected '{url}/{JOURNAL}' of a job to resume, but it is not there")
    if not resume and JOURNAL in names:
        raise ArgumentError(f"expected no '{url}/{JOURNAL}', but there is one of a job that "
                            "did not end; resume it, or remove its folder")
    if not resume and names:
        raise ArgumentError(f"expected '{url}' to be a new or empty folder, but something is there")


@contextlib.contextmanager
def open_place(source: Path, destination: Path, how: How) -> Iterator[Place]:
    """Opens a source and looks at its destination.

    Raises: ArgumentError, FileError; ImportError for what a cluster needs and is not installed.
    """
    from_path, to = to_path(os.fspath(source)), to_path(os.fspath(destination))
    if how.cluster is None:
        for url in (from_path, to):
            if is_remote(url):
                raise ArgumentError("expected a cluster for what is behind a URL, but got none "
                                    f"for '{url}'")
        check_destination(to, how.resume)
        # Tasks see whether files have changed, and those who plan them read some numbers, too.
        with guard_reads():
            yield Place(open_checkpoint(from_path), to, how)
        return
    if is_remote(to):
        _check_remote(to, how.resume)
    else:
        check_destination(to, how.resume)
    with contextlib.ExitStack() as stack:
        stack.enter_context(guard_reads())
        snapshot = None
        if is_remote(from_path):
            snapshot = Mirror.take(from_path)
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="blockscale-"))
            checkpoint = open_mirror(snapshot, folder)
        else:
            checkpoint = open_checkpoint(from_path)
        cluster = how.cluster
        if isinstance(cluster, str):
            cluster = stack.enter_context(Cluster(cluster or None, threads=how.threads or 1))
        yield _ClusterPlace(checkpoint, snapshot, to, how, cluster)


__all__ = ["ClusterLike", "How", "Place", "open_place"]
