# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What threads of a job share: kernels, which one makes while others wait or make theirs, mapped
pages, and files, to which one writes at a time."""

import os
import tempfile
import threading
import types
import unittest
from unittest import mock

import numpy as np

from blockscale.checkpoint import _kernels
from blockscale.checkpoint._jobs import _run
from blockscale.checkpoint._quantize import _group as _quantize_group


class OnceTest(unittest.TestCase):
    def test_threads_that_ask_for_the_same_wait(self):
        begun, go_on = threading.Event(), threading.Event()
        calls = []

        def make(*key):
            calls.append(key)
            begun.set()
            self.assertTrue(go_on.wait(30))
            return object()
        get = _kernels._once(make)
        found = []
        threads = [threading.Thread(target=lambda: found.append(get("a", 1))) for _ in range(3)]
        for thread in threads:
            thread.start()
        self.assertTrue(begun.wait(30))
        self.assertFalse(found)
        go_on.set()
        for thread in threads:
            thread.join()
        self.assertEqual(calls, [("a", 1)])
        self.assertEqual(len(set(map(id, found))), 1)
        self.assertIs(get("a", 1), found[0])

    def test_threads_that_ask_for_others_do_not_wait(self):
        """Each waits until both are at work."""
        both = threading.Barrier(2, timeout=600)

        def make(key):
            both.wait()
            return key
        get = _kernels._once(make)
        found = []
        threads = [threading.Thread(target=lambda key=key: found.append(get(key)))
                   for key in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found), [1, 2])

    def test_an_error_is_told_and_not_kept(self):
        make = mock.Mock(side_effect=[ValueError("first"), "second"])
        get = _kernels._once(lambda: make())
        with self.assertRaisesRegex(ValueError, "first"):
            get()
        self.assertEqual([get(), get()], ["second", "second"])


class AheadTest(unittest.TestCase):
    def test_all_are_made_once(self):
        made = []
        with mock.patch.object(_kernels, "_get_quantizer", lambda *key: made.append(key)), \
                mock.patch.object(_kernels, "_get_dequantizer", lambda *key: made.append(key)), \
                _kernels.make_ahead([("nvfp4", "te", "f32", False, True)] * 2,
                                    [("nvfp4", True, "f32"), ("mxfp8", False, "f32")]):
            pass
        self.assertEqual(sorted(made, key=str),
                         [("mxfp8", False, "f32"), ("nvfp4", "te", "f32", False, True),
                          ("nvfp4", True, "f32")])

    def test_what_goes_wrong_is_an_error_where_it_is_needed(self):
        with _kernels.make_ahead([("nvfp4", "no recipe", "f32", False, True)], []):
            pass
        with self.assertRaisesRegex(Exception, "no recipe"):
            _kernels._get_quantizer("nvfp4", "no recipe", "f32", False, True)

    def test_nothing_to_make(self):
        with _kernels.make_ahead([], []):
            pass


class BudgetTest(unittest.TestCase):
    def test_what_is_taken_comes_back(self):
        budget = _quantize_group._Budget(100)
        with budget.take(60) as first, budget.take(41) as second, budget.take(40) as third:
            self.assertEqual((first, second, third), (True, False, True))
        with self.assertRaises(ValueError), budget.take(100) as taken:
            self.assertTrue(taken)
            raise ValueError
        with budget.take(100) as taken:
            self.assertTrue(taken)


class SinkTest(unittest.TestCase):
    def test_a_file_takes_one_write_at_a_time(self):
        """Two files take one each."""
        names = ("a", "b")
        shards = [types.SimpleNamespace(name=name, offsets={name: 8}) for name in names]
        job = types.SimpleNamespace(shards=shards, places={"a": 0, "b": 1})
        writing, most = {}, {}
        both = threading.Barrier(2, timeout=600)
        pwrite = os.pwrite

        def write(handle, data, at):
            writing[handle] = writing.get(handle, 0) + 1
            most[handle] = max(most.get(handle, 0), writing[handle])
            both.wait()
            count = pwrite(handle, data, at)
            writing[handle] -= 1
            return count
        with tempfile.TemporaryDirectory() as folder:
            sink = _run.Sink(job, folder)
            self.addCleanup(sink.close)
            data = np.arange(4, dtype=np.uint8)
            threads = [threading.Thread(target=sink.write, args=(name, data, 4 * i))
                       for name in names for i in range(3)]
            with mock.patch("os.pwrite", write):
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertEqual(file.read(), bytes(8) + 3 * data.tobytes())
        self.assertEqual(list(most.values()), [1, 1])


if __name__ == "__main__":
    unittest.main()
