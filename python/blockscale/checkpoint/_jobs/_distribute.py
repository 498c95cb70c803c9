# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the tasks of jobs on the workers of a cluster.

Where the result is in a file system that each machine has mounted, workers write into its files,
task by task, as threads do. Object storage takes whole files alone: there a worker makes a shard on
its own disk and sends it. A source in object storage is read as it is needed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Container, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._jobs import _tasks
from blockscale.checkpoint._jobs._cluster import Cluster, Share
from blockscale.checkpoint._jobs._plan import Job
from blockscale.checkpoint._jobs._remote import Mirror, Remote, Snapshot
from blockscale.checkpoint._jobs._run import Sink

#: Tasks that read less are given to a worker together.
LEAST_BYTES = 32 << 20


class State(NamedTuple):
    """What all workers of a job are given.

    Attributes:
      snapshot: of a source in object storage.
      folder: in which the result's shards are, that each machine has mounted; "" where a worker
        sends whole shards to `target`, a URL.
      syncs: whether data are on the disk when a share ends.
    """

    job: Job
    snapshot: Snapshot | None
    folder: str
    target: str
    syncs: bool


def split_tasks(job: Job, numbers: Sequence[int]) -> list[Share]:
    """These tasks, small ones of a shard together."""
    shares: list[Share] = []
    together: list[int] = []
    size, place = 0, -1
    for number in numbers:
        task = job.tasks[number]
        shard = job.places[task.outputs[0].name] if task.outputs else place
        if together and (size >= LEAST_BYTES or shard != place):
            shares.append(_make_share(job, together, size))
            together, size = [], 0
        together.append(number)
        size += task.nbytes + sum(output.nbytes for output in task.outputs)
        place = shard
    if together:
        shares.append(_make_share(job, together, size))
    return shares


def split_shards(job: Job, done: Container[int]) -> list[Share]:
    """All tasks of each shard of which one is not done."""
    by_shard: dict[int, list[int]] = {}
    for number, task in enumerate(job.tasks):
        by_shard.setdefault(job.places[task.outputs[0].name], []).append(number)
    return [_make_share(job, numbers, sum(job.tasks[number].nbytes for number in numbers)
                        + job.shards[shard].nbytes)
            for shard, numbers in by_shard.items() if not all(each in done for each in numbers)]


def _make_share(job: Job, numbers: Sequence[int], size: int) -> Share:
    first = job.tasks[numbers[0]].name
    key = first if len(numbers) == 1 else f"{first} and {len(numbers) - 1} more"
    return Share(key, size, tuple(numbers))


def run_on_cluster(state: State, shares: Sequence[Share], cluster: Cluster
                   ) -> Generator[dict[int, Any], None, None]:
    """Yields what tasks found by their numbers, when a share of them ends."""
    for share, found in cluster.run(run_share, state, shares):
        yield dict(zip(share.argument, found))


class _Worker:
    """The open files of a job in the process of a worker."""

    def __init__(self, state: State):
        self.state = state
        if state.snapshot is None:
            self.source = Checkpoint(state.job.source)
        else:
            # Files that are open need no names: none stays, however the process ends.
            with tempfile.TemporaryDirectory(prefix="blockscale-") as folder:
                self.source = open_mirror(state.snapshot, folder)
        self.sink = Sink(state.job, state.folder) if state.folder else None

    def close(self) -> None:
        if self.sink:
            self.sink.close()


#: The last one of this process, which works at one job at a time.
_WORKERS: list[_Worker] = []


def _get_worker(state: State) -> _Worker:
    # A process keeps the state that it was sent as long as it works at it.
    if not _WORKERS or _WORKERS[0].state is not state:
        while _WORKERS:
            _WORKERS.pop().close()
        _WORKERS.append(_Worker(state))
    return _WORKERS[0]


def run_share(state: State, numbers: Sequence[int]) -> list[Any]:
    """Does tasks, on a worker. Returns what each of them found."""
    worker = _get_worker(state)
    if worker.sink:
        found = [_tasks.run(state.job.tasks[number], worker.source, worker.sink)
                 for number in numbers]
        if state.syncs:
            worker.sink.sync()
        return found
    shard = state.job.places[state.job.tasks[numbers[0]].outputs[0].name]
    with tempfile.TemporaryDirectory(prefix="blockscale-") as folder:
        sink = Sink(state.job, folder, [shard])
    try:
        sink.prepare()
        found = [_tasks.run(state.job.tasks[number], worker.source, sink) for number in numbers]
        Remote(state.target).put(sink.get_path(shard), state.job.shards[shard].name)
    finally:
        sink.close()
    return found


def open_mirror(snapshot: Snapshot, folder: str, files: Mapping[str, bytes] | None = None
                ) -> Checkpoint:
    """A checkpoint in object storage whose tensors are fetched when they are looked at; `files`
    are of it, too, though they are not there yet."""
    mirror = Mirror(folder, snapshot)
    for name, data in (files or {}).items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    return Checkpoint(folder, mirror.open)
