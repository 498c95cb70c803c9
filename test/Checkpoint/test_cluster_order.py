# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shares of a job whose ends Ray reports in another order than that of their worker."""

import types
import unittest

from blockscale.checkpoint._jobs._cluster import Share, _Run


class Lost(Exception):
    """What Ray raises for a share whose worker was lost."""


class Method:
    """A method of a worker: a call is a number that tells the worker and what it was given."""

    def __init__(self, worker, takes_share):
        self.worker, self.takes_share = worker, takes_share

    def remote(self, *arguments):
        argument = arguments[-1] if self.takes_share else None
        return (self.worker.number, argument)


class Worker:
    def __init__(self, number):
        self.number = number
        self.begin, self.call = Method(self, False), Method(self, True)


class Ray:
    """Worker 0 ends the share "a" and is lost at "b", whose loss is reported first."""

    exceptions = types.SimpleNamespace(RayTaskError=ZeroDivisionError, RayError=Lost)

    def put(self, value):
        return value

    def wait(self, calls, num_returns):
        first = min(calls, key=lambda call: (call[1] is not None, call != (0, "b")))
        return [first], [call for call in calls if call != first]

    def get(self, call):
        if call == (0, "b"):
            raise Lost("the worker is gone")
        return call


class Cluster:
    num_workers = 1

    def __init__(self):
        self.ray, self.workers = Ray(), []

    def make_worker(self):
        # Later workers have later numbers.
        self.made = getattr(self, "made", -1) + 1
        self.workers.append(Worker(self.made))
        return self.workers[-1]


class ClusterOrderTest(unittest.TestCase):
    def test_a_loss_before_the_result_of_the_share_before_it(self):
        shares = [Share("a", 2, "a"), Share("b", 1, "b")]
        run = _Run(Cluster(), None, shares, most=100, retries=2)
        found = {share.key: result for share, result in run.take_results()}
        self.assertEqual(found, {"a": (0, "a"), "b": (1, "b")})


if __name__ == "__main__":
    unittest.main()
