# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tasks of a job on the workers of a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from blockscale._errors import ArgumentError, DeviceError, Error

Result = TypeVar("Result")
#: Bytes of tasks that are on the workers at once, where the cluster does not say its memory.
IN_FLIGHT = 64 << 30
#: How often a task is given to another worker after its own was lost.
RETRIES = 3
_END_SECONDS = 30


class Share(NamedTuple):
    """What a worker does at once.

    Attributes:
      key: of the task, for the caller and for messages.
      nbytes: what it reads and writes, by which it is placed.
      argument: what the function is given.
    """

    key: Any
    nbytes: int
    argument: Any


def _import_ray() -> Any:
    # A tool that converts files does not report its use.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ImportError("expected Ray to be installed to work on a cluster; "
                          "pip install blockscale[cluster]") from error
    return ray


class Cluster:
    """A connection to a Ray cluster, or a Ray of this machine that ends with it.

    Args:
      address: of the cluster, as Ray takes it: "auto", "HOST:PORT" or "ray://HOST:PORT". None for
        the one that RAY_ADDRESS names, else for processes of this machine.
      workers: how many of these, one a core where nothing is said. A cluster has its own.
      threads: of each worker.

    Raises: ImportError without Ray, DeviceError where there is no cluster at the address.
    """

    def __init__(self, address: str | None = None, *, workers: int | None = None,
                 threads: int = 1):
        for name, count in (("workers", workers), ("threads", threads)):
            if count is not None and count < 1:
                raise ArgumentError(f"expected {name} to be 1 or more, but got {count}")
        address = address or os.environ.get("RAY_ADDRESS") or None
        if address and workers:
            raise ArgumentError(f"expected no number of workers with the address of a cluster, but "
                                f"got {workers}")
        self.ray = _import_ray()
        self.threads = threads
        self._address = address
        #: Those that are there; the next run goes on with them.
        self.workers: list[Any] = []
        self._is_ours = not self.ray.is_initialized()
        if self._is_ours:
            self._start(address, workers)

    def _start(self, address: str | None, workers: int | None) -> None:
        import logging
        settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address is None:
            count = workers or len(os.sched_getaffinity(0))
            # As threads of this process; Ray's workers give way to all others else.
            os.environ.setdefault("RAY_worker_niceness", "0")
            # Results are small: tasks read and write files themselves.
            settings |= {"num_cpus": count * self.threads, "include_dashboard": False,
                         "object_store_memory": 128 << 20}
        try:
            self.ray.init(address=address or "local", **settings)
        except Exception as error:  # Of several modules of Ray and of gRPC.
            if address is None:
                raise DeviceError(f"cannot start Ray: {error}") from error
            raise DeviceError(f"expected a Ray cluster at '{address}', but got "
                              f"{type(error).__name__}: {error}") from error

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._is_ours:
            self.ray.shutdown()
            return
        for worker in self.workers:
            self.ray.kill(worker)
        self.workers.clear()

    @property
    def is_local(self) -> bool:
        """Whether its workers are processes of this machine alone."""
        return self._is_ours and self._address is None

    @property
    def num_workers(self) -> int:
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)) // self.threads)

    def _get_in_flight(self) -> int:
        """A quarter of the cluster's memory: what shares read and write stays in caches."""
        return int(self.ray.cluster_resources().get("memory", 4 * IN_FLIGHT)) // 4

    def run(self, function: Callable[[Any, Any], Result], state: Any, shares: Sequence[Share], *,
            in_flight: int | None = None, retries: int = RETRIES
            ) -> Generator[tuple[Share, Result], None, None]:
        """Calls function(state, argument) for each share on some worker, the largest first, and
        yields shares with their results as they end.

        `function` is one of a module that workers have, and may be called again for a share whose
        worker was lost. `state` is sent to each worker once. At most `in_flight` bytes of shares
        are on workers at once, a quarter of the cluster's memory where nothing is said, but always
        one share.

        Raises: what the function raises; DeviceError for a share whose workers were lost more than
          `retries` times. No worker works any more then, nor when the generator is closed.
        """
        run = _Run(self, (function, state, self.threads), shares,
                   self._get_in_flight() if in_flight is None else in_flight, retries)
        try:
            yield from run.take_results()
        except BaseException:
            self._end_workers(run.running)
            raise

    def make_worker(self) -> Any:
        """A new worker, which says that it is ready when the cluster has a place for it."""
        worker = self.ray.remote(_Worker).options(
            num_cpus=self.threads, max_restarts=0, scheduling_strategy="SPREAD").remote()
        self.workers.append(worker)
        return worker

    def _end_workers(self, running: Mapping[Any, tuple[Any, Any]]) -> None:
        """Ends the workers that do something, and waits until they are gone."""
        for worker in {worker for worker, _ in running.values()}:
            self.ray.kill(worker)
            if worker in self.workers:
                self.workers.remove(worker)
        if running:
            self.ray.wait(list(running), num_returns=len(running), timeout=_END_SECONDS)


class _Run:
    """Shares that are given to workers until all are done.

    Attributes:
      running: what workers do now, by what Ray will have when it is done: the worker, and the share
        or None while the worker begins.
    """

    def __init__(self, cluster: Cluster, sent: Any, shares: Sequence[Share], most: int,
                 retries: int):
        self._cluster = cluster
        self.ray = cluster.ray
        # Within a list, a reference is sent instead of what it stands for.
        self._sent = [self.ray.put(sent)]
        self._waiting = sorted(shares, key=lambda share: share.nbytes)
        self._most = most
        self._retries = retries
        self._lost: dict[int, int] = {}
        self._ready: list[Any] = []
        #: The shares of each worker, of which it does the first now.
        self._queues: dict[Any, list[Share]] = {}
        self.running: dict[Any, tuple[Any, Share | None]] = {}

    def take_results(self) -> Generator[tuple[Share, Any], None, None]:
        count = min(self._cluster.num_workers, len(self._waiting))
        for number in range(count):
            known = self._cluster.workers
            self._begin(known[number] if number < len(known) else self._cluster.make_worker())
        while self._waiting or any(share for _, share in self.running.values()):
            self._give()
            (done, *_), _ = self.ray.wait(list(self.running), num_returns=1)
            worker, share = self.running.pop(done)
            try:
                result = self.ray.get(done)
            except self.ray.exceptions.RayTaskError as error:
                raise _find_cause(error, share) from error
            except self.ray.exceptions.RayError as error:
                self._replace(worker, share, error)
                continue
            if share is None:
                self._queues[worker] = []
                # It has one more share than it works at, so that it never waits for the next.
                self._ready += [worker, worker]
                continue
            # That the worker was lost at its next share may be known before this result.
            if worker in self._queues:
                self._queues[worker].remove(share)
                self._ready.append(worker)
            yield share, result

    def _begin(self, worker: Any) -> None:
        self.running[worker.begin.remote()] = worker, None

    def _give(self) -> None:
        """Gives shares away that may be on workers now, the largest ones first."""
        while self._waiting and self._ready:
            sizes = [share.nbytes for _, share in self.running.values() if share]
            if sizes and sum(sizes) + self._waiting[-1].nbytes > self._most:
                return
            worker, share = self._ready.pop(0), self._waiting.pop()
            self._queues[worker].append(share)
            self.running[worker.call.remote(self._sent, share.argument)] = worker, share

    def _replace(self, worker: Any, share: Share | None, error: Exception) -> None:
        """Has another worker for one that was lost, and its share done again."""
        if share:
            self._waiting.append(share)
        if worker not in self._cluster.workers:
            return  # Another share of it was here before.
        # It was lost at its first share; workers that end before they have one count together.
        queue = self._queues.pop(worker, [])
        first = queue[0] if queue else None
        count = self._lost[id(first)] = self._lost.get(id(first), 0) + 1
        if count > self._retries:
            what = f"{first.key}: expected a worker to end it" if first else (
                "expected workers to begin")
            raise DeviceError(f"{what}, but {count} were lost: {_first_line(error)}") from error
        self._ready = [each for each in self._ready if each is not worker]
        self._cluster.workers.remove(worker)
        self._begin(self._cluster.make_worker())


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _find_cause(error: Any, share: Share | None) -> Exception:
    """The exception of the function; that of another program's class as an error of ours."""
    cause = error.cause
    if isinstance(cause, (Error, ImportError, MemoryError, OSError)):
        return cause
    return DeviceError(f"{share.key if share else 'worker'}: {type(cause).__name__}: {cause}")


class _Worker:
    """A process of the cluster."""

    def __init__(self) -> None:
        self._key = ""
        self._received: Any = None

    def begin(self) -> None:
        """Returns as soon as the process is there."""

    def call(self, sent: Sequence[Any], argument: Any) -> Any:
        """Does a share, with what was sent to all workers."""
        import ray

        import blockscale
        if sent[0].hex() != self._key:
            self._key, self._received = sent[0].hex(), ray.get(sent[0])
            blockscale.set_num_threads(self._received[2])
        function, state, _ = self._received
        return function(state, argument)


__all__ = ["IN_FLIGHT", "RETRIES", "Cluster", "Share"]
