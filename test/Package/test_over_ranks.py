# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that take amaxes over ranks: ranks have the codes of one process."""

import re
import tempfile
import threading
import unittest
from pathlib import Path

import numpy as np

import blockscale as bs

RANKS = 2


@bs.jit
def quantize(x: bs.Spec((None, 64), "f32")):
    """Codes and scales of rows, the amax over all ranks, and its global scale."""
    amax = bs.amax_over_ranks(bs.amax(x))
    return (*bs.quantize(x, recipe="te", global_amax=amax), amax,
            bs.global_scale(amax, recipe="te"))


@bs.jit
def quantize_groups(x: bs.Spec((None, 64), "f32"), ends: bs.Spec((None,), "i32")):
    """An amax for each group."""
    amaxes = bs.amax_over_ranks(bs.amax(x, offsets=ends))
    return (*bs.quantize(x, offsets=ends, recipe="te", global_amax=amaxes), amaxes)


class Ranks:
    """Functions of ranks that are threads of this process: each waits for the others, and takes
    the largest numbers."""

    def __init__(self):
        self._given = [None] * RANKS
        self._barrier = threading.Barrier(RANKS, timeout=60)

    def __getitem__(self, rank):
        def reduce(reduction):
            self._given[rank] = reduction.array.copy()
            self._barrier.wait()
            reduction.array[:] = np.max(self._given, axis=0)
            self._barrier.wait()
        return reduce


def draw(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class OverRanksTest(unittest.TestCase):
    def check_parts(self, parts, whole, count):
        """The first `count` results are rows of those of one process, the rest are the same."""
        for number, wanted in enumerate(whole):
            found = [part[number] for part in parts]
            if number < count:
                np.testing.assert_array_equal(np.concatenate(found), wanted)
            else:
                for each in found:
                    np.testing.assert_array_equal(each, wanted)

    def test_threads_in_the_emulator(self):
        x = draw(0, 40, 64)
        x[33] *= 100
        for chip in ("sm_90a", "sm_100a"):
            with self.subTest(chip):
                compiled = bs.compile(quantize.trace(), target=chip)
                self.assertTrue(compiled.reduces_over_ranks)
                whole = compiled(x, over_ranks=bs.one_rank)
                ranks, parts = Ranks(), [None] * RANKS

                def run(rank, compiled=compiled, ranks=ranks, parts=parts):
                    parts[rank] = compiled(np.split(x, RANKS)[rank], over_ranks=ranks[rank])

                threads = [threading.Thread(target=run, args=(rank,)) for rank in range(RANKS)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.check_parts(parts, whole, 2)

    def test_one_after_the_other(self):
        """On the CPU, where calls of a process are one after the other: the numbers of both are
        taken first."""
        for function, arguments in (
                (quantize, [(draw(1, 16, 64),), (draw(2, 16, 64) * 9,)]),
                (quantize_groups, [(draw(3, 48, 64), np.array([16, 48], np.int32)),
                                   (draw(4, 48, 64) * 9, np.array([16, 48], np.int32))])):
            with self.subTest(function.__name__):
                compiled = bs.compile(function.trace())
                given = []

                def take(reduction, given=given):
                    self.assertEqual((reduction.kind, reduction.device, reduction.stream),
                                     ("max", None, 0))
                    given.append(reduction.array.copy())

                for each in arguments:
                    compiled(*each, over_ranks=take)
                largest = np.max(given, axis=0)

                def give(reduction, largest=largest):
                    reduction.array[:] = largest

                parts = [compiled(*each, over_ranks=give) for each in arguments]
                for part in parts:
                    np.testing.assert_array_equal(part[2].reshape(-1), largest)
                if function is quantize:
                    whole = compiled(np.concatenate([each[0] for each in arguments]),
                                     over_ranks=bs.one_rank)
                    self.check_parts(parts, whole, 2)

    def test_places_agree(self):
        x, ends = draw(5, 48, 64), np.array([16, 48], np.int32)

        def give(reduction):
            reduction.array[:] *= 3

        wanted = bs.compile(quantize_groups.trace())(x, ends, over_ranks=give)
        found = bs.compile(quantize_groups.trace(), target="sm_100a")(x, ends, over_ranks=give)
        for a, b in zip(found, wanted):
            np.testing.assert_array_equal(a, b)

    def test_nothing_is_taken_for_granted(self):
        x = draw(6, 4, 64)
        for target in ("cpu", "sm_100a"):
            compiled = bs.compile(quantize.trace(), target=target)
            with self.assertRaisesRegex(bs.ArgumentError, re.escape(
                    "@quantize: expected a function that reduces amaxes over ranks (launch_c4), "
                    "but got none")):
                compiled(x)

            def refuse(_):
                raise KeyError("a rank is gone")

            with self.assertRaisesRegex(KeyError, "a rank is gone"):
                compiled(x, over_ranks=refuse)
            compiled(x, over_ranks=bs.one_rank)

    def test_functions_that_reduce_nothing(self):
        @bs.jit
        def amax(x: bs.Spec((4, 64), "f32")):
            return bs.amax(x)

        def refuse(_):
            raise AssertionError

        for target in ("cpu", "sm_100a"):
            compiled = bs.compile(amax.trace(), target=target)
            self.assertFalse(compiled.reduces_over_ranks)
            compiled(draw(7, 4, 64), over_ranks=refuse)

    def test_saved_functions_know_it(self):
        x = draw(8, 4, 64)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "f.bsf"
            bs.compile_ahead(quantize.trace(), path, targets=["cpu", "sm_90a"])
            for target, on in (("cpu", "cpu"), ("sm_90a", "emulator")):
                loaded = bs.load(path, on=on)
                self.assertTrue(loaded.reduces_over_ranks)
                wanted = bs.compile(quantize.trace(), target=target)(x, over_ranks=bs.one_rank)
                for a, b in zip(loaded(x, over_ranks=bs.one_rank), wanted):
                    np.testing.assert_array_equal(a, b)


if __name__ == "__main__":
    unittest.main()
