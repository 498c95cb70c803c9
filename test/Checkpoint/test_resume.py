# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that are killed while they write a checkpoint: nothing is there that looks like a
result, and going on gives the same bytes."""

import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import blockscale
import blockscale.checkpoint as checkpoint
import decoders
from blockscale.checkpoint._jobs._journal import NAME as JOURNAL

PROGRAM = Path(__file__).with_name("quantize_slowly.py")
#: scripts/long/checkpoints.sh sets it.
IS_LONG = "BLOCKSCALE_LONG" in os.environ
KILLS = 20 if IS_LONG else 3
SHARD = 150_000
#: Tasks that a job of these tests has at least.
TASKS = 8
#: Of the tasks behind which jobs are killed: the same on every day, with those that found
#: something once. scripts/long/checkpoints.sh gives one more.
SEEDS = [1, *map(int, os.environ.get("BLOCKSCALE_SEED", "").split())]


def read_all(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class TestResume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        cls.source = cls.folder / "moe"
        decoders.write_decoder(cls.source, "moe")
        (cls.source / "tokenizer.json").write_text("{}")
        checkpoint.quantize(cls.source, cls.folder / "expected", {"version": 1, "rules": [
            {"format": "nvfp4", "weight_only": True}]}, shard_bytes=SHARD)
        cls.expected = read_all(cls.folder / "expected")

    def start(self, target, resume, *event):
        return subprocess.Popen(
            [sys.executable, PROGRAM, self.source, target, str(SHARD),
             "resume" if resume else "new", *map(str, event)],
            stdout=subprocess.PIPE, text=True)

    def end(self, process):
        """The lines that a process said before it ended."""
        text, _ = process.communicate(timeout=1200)
        return text.split()

    def expect_nothing(self, target):
        """Where a process was killed, there is a result or what will be one."""
        if target.exists():
            self.assertEqual({name: data for name, data in read_all(target).items()
                              if name != JOURNAL}, self.expected)
            return
        partial = target.with_name(target.name + ".partial")
        self.assertEqual([path for path in self.folder.iterdir() if path.name.startswith(
            target.name) and path != partial], [])

    def test_kills_behind_random_tasks(self):
        for seed in SEEDS:
            print(f"test_resume: seed {seed}", file=sys.stderr)
            self.kill_behind_random_tasks(seed)

    def kill_behind_random_tasks(self, seed):
        generator = random.Random(seed)
        for number in range(KILLS):
            target = self.folder / f"random-{seed}-{number}"
            with self.subTest(seed=seed, number=number):
                resume = False
                # The first one is killed again while it goes on.
                for _ in range(2 if number == 0 else 1):
                    process = self.start(target, resume)
                    begun = process.stdout.readline()
                    if resume and begun == "ended\n":
                        # Only the result's name was left to be given.
                        self.end(process)
                        break
                    self.assertEqual(begun, "begun\n")
                    for _ in range(generator.randrange(TASKS // 2 if number == 0 else TASKS)):
                        process.stdout.readline()
                    process.kill()
                    self.end(process)
                    self.expect_nothing(target)
                    resume = True
                    if target.exists():
                        break
                if not target.exists():
                    said = self.end(self.start(target, True))
                    self.assertEqual(said[-1], "ended")
                    # What was done is not done again: one line for each task.
                    self.assertLess(said.count("begun"), 32)
                found = read_all(target)
                found.pop(JOURNAL, None)
                self.assertEqual(found, self.expected)

    @unittest.skipUnless(IS_LONG, "scripts/long/checkpoints.sh has the time")
    def test_kills_at_each_step(self):
        """Before each call that changes names or sizes of files."""
        number = 0
        while True:
            number += 1
            target = self.folder / f"step-{number}"
            with self.subTest(number):
                said = self.end(self.start(target, False, number))
                if said[-1:] == ["ended"]:
                    break
                self.expect_nothing(target)
                partial = target.with_name(target.name + ".partial")
                if not target.exists():
                    # A job that had no journal yet is begun anew.
                    resume = (partial / JOURNAL).exists()
                    if not resume and partial.exists():
                        self.assertEqual(list(partial.iterdir()), [])
                    self.assertEqual(self.end(self.start(target, resume))[-1:], ["ended"])
                found = read_all(target)
                found.pop(JOURNAL, None)
                self.assertEqual(found, self.expected)
        self.assertGreater(number, 10)

    def test_another_job_is_not_resumed(self):
        target = self.folder / "other"

        def stop(*_):
            raise KeyboardInterrupt
        policy = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
        with self.assertRaises(KeyboardInterrupt):
            checkpoint.quantize(self.source, target, policy, shard_bytes=SHARD, progress=stop)
        self.expect_nothing(target)
        for change, options, error in (
                ({}, {"resume": False}, "of a job that did not end"),
                ({"format": "mxfp8"}, {}, "policy or options were others"),
                ({}, {"shard_bytes": 2 * SHARD}, "policy or options were others")):
            changed = {"version": 1, "rules": [{**policy["rules"][0], **change}]}
            if change:
                del changed["rules"][0]["weight_only"]
            with self.assertRaisesRegex(blockscale.ArgumentError, error):
                checkpoint.quantize(self.source, target, changed,
                                    **{"shard_bytes": SHARD, "resume": True, **options})
        os.utime(self.source / "model-00001-of-00002.safetensors")
        with self.assertRaisesRegex(blockscale.ArgumentError, "source, policy or options"):
            checkpoint.quantize(self.source, target, policy, shard_bytes=SHARD, resume=True)


if __name__ == "__main__":
    unittest.main()
