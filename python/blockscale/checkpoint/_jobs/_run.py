# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs jobs on threads of this process.

The result is made in a folder beside its place, NAME.partial, which takes the name at the end:
there is no partial result, whenever the process ends. What is there then is what resuming goes on
with.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from blockscale._errors import ArgumentError, FileError, fail
from blockscale._files import copy, find_stranger, open_in_place, write
from blockscale.checkpoint._checkpoint import Checkpoint
from blockscale.checkpoint._files import ENDINGS
from blockscale.checkpoint._jobs import _tasks
from blockscale.checkpoint._jobs._journal import NAME as JOURNAL
from blockscale.checkpoint._jobs._journal import Journal
from blockscale.checkpoint._jobs._plan import Job

#: Is called with the name of what was done, the bytes that were read and all that will be.
Progress = Callable[[str, int, int], None]
_SYNC_SECONDS = 10.0


class Sink:
    """Where tasks write: the files of a job's shards, or of those whose numbers are given."""

    def __init__(self, job: Job, folder: str, numbers: Iterable[int] | None = None):
        self._job = job
        self._files: dict[int, int] = {}
        try:
            for number in range(len(job.shards)) if numbers is None else numbers:
                self._files[number] = open_in_place(os.path.join(folder, job.shards[number].name))
        except BaseException:
            self.close()
            raise
        # The system lets one thread write to a file at a time. Others that wait here leave their
        # core to those that compute; there they would spin.
        self._locks = {handle: threading.Lock() for handle in self._files.values()}

    def prepare(self) -> None:
        """Gives files their sizes and headers. What is there already stays."""
        for number, handle in self._files.items():
            shard = self._job.shards[number]
            if os.fstat(handle).st_size != shard.nbytes:
                os.ftruncate(handle, shard.nbytes)
            try:
                os.posix_fallocate(handle, 0, max(shard.nbytes, 1))
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                    raise
            self._write_all(handle, memoryview(shard.header), 0)

    @staticmethod
    def _write_all(handle: int, data: memoryview, at: int) -> None:
        while data.nbytes:
            count = os.pwrite(handle, data, at)
            data, at = data[count:], at + count

    def write(self, name: str, data: np.ndarray, begin: int = 0) -> None:
        """Writes bytes of a tensor, from one of its bytes on."""
        number = self._job.places[name]
        at = self._job.shards[number].offsets[name] + begin
        handle = self._files[number]
        with self._locks[handle]:
            self._write_all(handle, data.reshape(-1).view(np.uint8).data, at)

    def sync(self) -> None:
        for handle in self._files.values():
            os.fdatasync(handle)

    def get_path(self, number: int) -> str:
        """A path to the file of a shard for this process, which holds when its name is gone."""
        return f"/proc/self/fd/{self._files[number]}"

    def close(self) -> None:
        for handle in self._files.values():
            os.close(handle)


class _Syncer(threading.Thread):
    """Sends data to the disk while tasks run, and says so in the journal."""

    def __init__(self, sink: Sink, journal: Journal, lock: threading.Lock):
        super().__init__(name="blockscale-sync", daemon=True)
        self._sink, self._journal, self._lock = sink, journal, lock
        self._ended = threading.Event()
        self.error: OSError | None = None

    def run(self) -> None:
        while not self._ended.wait(_SYNC_SECONDS):
            try:
                with self._lock:
                    count = self._journal.count
                self._sink.sync()
                with self._lock:
                    self._journal.sync(count)
            except OSError as error:
                self.error = error
                return

    def end(self) -> None:
        self._ended.set()
        self.join()


def check_destination(destination: str, resume: bool) -> str:
    """The folder in which a result is made.

    Raises: ArgumentError where there is something, or nothing to resume.
    """
    folder = os.path.normpath(destination) + ".partial"
    if os.path.islink(os.path.normpath(destination)):
        raise ArgumentError(f"expected '{destination}' to be a new or empty folder, or a new "
                            "file, but got a link")
    if os.path.exists(destination) and (not os.path.isdir(destination)
                                        or os.listdir(destination)):
        raise ArgumentError(f"expected '{destination}' to be a new or empty folder, or a new "
                            "file, but something is there")
    if os.path.lexists(folder):
        _check_owner(folder)
    if resume and not os.path.exists(os.path.join(folder, JOURNAL)):
        raise ArgumentError(f"expected '{folder}' of a job to resume, but it is not there")
    if not resume and os.path.exists(folder) and os.listdir(folder):
        raise ArgumentError(f"expected no '{folder}', but there is one of a job that did not end; "
                            "resume it, or remove it")
    return folder


def _check_owner(folder: str) -> None:
    """Raises ArgumentError where others could put into the folder what becomes the result."""
    if stranger := find_stranger(folder):
        raise ArgumentError(f"expected '{folder}' to be a folder that only this user can write "
                            f"to, but {stranger}")


def _make(folder: str) -> None:
    """Makes the folder of a job, unless it is there."""
    os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o775)
    _check_owner(folder)


def _put(folder: str, job: Job) -> None:
    """Writes all files that have no tensors, config.json last."""
    for name in os.listdir(folder):
        # A process that was killed leaves the file that it was about to rename.
        if name.startswith(".") and name != JOURNAL:
            os.unlink(os.path.join(folder, name))
    for name in job.copied:
        copy(os.path.join(job.folder, name), os.path.join(folder, name))
    for name, data in job.files.items():
        write(os.path.join(folder, name), data)


def _sync_path(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _finish(folder: str, destination: str, job: Job, is_file: bool) -> None:
    """Gives a complete result its name."""
    if is_file:
        os.replace(os.path.join(folder, job.shards[0].name), destination)
        os.unlink(os.path.join(folder, JOURNAL))
        os.rmdir(folder)
    else:
        os.replace(folder, destination)
        os.unlink(os.path.join(destination, JOURNAL))


@contextlib.contextmanager
def _report_os_errors(folder: str) -> Iterator[None]:
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        fail("BLOCKSCALE_FILE", f"cannot write '{error.filename or folder}': {error.strerror}")


@contextlib.contextmanager
def _remove_refused(folder: str) -> Iterator[None]:
    """Leaves nothing of a result that is refused: no run could make it right."""
    try:
        yield
    except ArgumentError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


#: Looks at a result, and at what tasks found.
Verify = Callable[[Checkpoint, Sequence[Any]], None]
#: Runs the tasks of these numbers, which write into the job's shards in a folder, and yields
#: numbers with what tasks found, when they end.
Runner = Callable[[Job, Sequence[int], str], Generator[tuple[int, Any], None, None]]


def run_job(job: Job, source: Checkpoint, destination: str, *, resume: bool = False,
            threads: int | None = None, sync: bool = False,
            progress: Progress | None = None, runner: Runner | None = None,
            verify: Verify | None = None) -> list[Any]:
    """Runs the tasks of a job that are not done, and gives the result its name.

    Args:
      destination: a folder that is not there or empty, or a file that is not there.
      resume: goes on with a job that did not end.
      threads: that run tasks; None for three for each core, some of which wait to write.
      sync: waits until all data are on the disk before the result takes its name; else the system
        writes them in its own time, as after a copy.
      progress: called when a task is done.
      runner: of tasks; None for threads of this process.
      verify: called with the result before it takes its name; what it raises leaves nothing.

    Returns: what each task found.

    Raises: ArgumentError, FileError, and what tasks and `progress` raise. What was done stays in
      DESTINATION.partial then.
    """
    count = threads if threads is not None else 3 * len(os.sched_getaffinity(0))
    if count < 1:
        raise ArgumentError(f"expected threads to be 1 or more, but got {threads}")
    folder = check_destination(destination, resume)
    is_file = destination.endswith(ENDINGS)
    with _report_os_errors(folder):
        _make(folder)
        with contextlib.closing(Journal(folder, job.identity)) as journal, \
                contextlib.closing(Sink(job, folder)) as sink:
            sink.prepare()
            tasks = (runner(job, _list_left(job, journal), folder) if runner else
                     _run_on_threads(job, source, sink, _list_left(job, journal), count))
            _run_tasks(job, sink, journal, tasks, progress)
            _put(folder, job)
            results = [journal.done[number] for number in range(len(job.tasks))]
            if sync:
                sink.sync()
                for name in (*job.copied, *job.files, "."):
                    _sync_path(os.path.join(folder, name))
        if verify:
            with _remove_refused(folder):
                verify(Checkpoint(os.path.join(folder, job.shards[0].name) if is_file else folder),
                       results)
        _finish(folder, destination, job, is_file)
        if sync:
            _sync_path(os.path.dirname(os.path.abspath(destination)))
    return results


def _list_left(job: Job, journal: Journal) -> list[int]:
    return [number for number in range(len(job.tasks)) if number not in journal.done]


def _run_tasks(job: Job, sink: Sink, journal: Journal,
               tasks: Generator[tuple[int, Any], None, None], progress: Progress | None) -> None:
    """Takes the results of tasks, while what they wrote goes to the disk."""
    lock = threading.Lock()
    syncer = _Syncer(sink, journal, lock)
    done = sum(job.tasks[number].nbytes for number in journal.done)
    total = job.nbytes
    syncer.start()
    try:
        for number, found in tasks:
            with lock:
                journal.add(number, found)
            done += job.tasks[number].nbytes
            if progress:
                progress(job.tasks[number].name, done, total)
        if syncer.error:
            raise syncer.error
    finally:
        tasks.close()
        syncer.end()


def _run_on_threads(job: Job, source: Checkpoint, sink: Sink, numbers: Sequence[int],
                    threads: int) -> Generator[tuple[int, Any], None, None]:
    left = iter(numbers)
    pool = ThreadPoolExecutor(threads, thread_name_prefix="blockscale")
    running: dict[Future[Any], int] = {}
    try:
        while True:
            while len(running) < 2 * threads and (number := next(left, None)) is not None:
                running[pool.submit(_tasks.run, job.tasks[number], source, sink)] = number
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                number = running.pop(future)
                yield number, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
