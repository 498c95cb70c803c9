# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of checkpoints are made once, by one thread, while others wait or make theirs."""

import threading
import unittest
from unittest import mock

from blockscale.checkpoint import _kernels


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
        both = threading.Barrier(2, timeout=30)

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


if __name__ == "__main__":
    unittest.main()
