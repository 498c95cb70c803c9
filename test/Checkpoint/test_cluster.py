# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs on a Ray cluster of four processes of this machine: the bytes of one machine, whatever
workers are lost, from and to folders and object storage."""

import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import blockscale
import blockscale.checkpoint as checkpoint
import cluster_functions
import decoders
from blockscale.checkpoint._jobs._cluster import Share
from blockscale.checkpoint._jobs._remote import MirrorFile, Remote

HAS_RAY = importlib.util.find_spec("ray") is not None
POLICY = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
#: Bytes of a shard: results have several.
SHARD = 100_000
CLUSTER = None


def setUpModule():
    global CLUSTER
    if HAS_RAY:
        # Workers import the modules of this folder.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (
            str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
        CLUSTER = checkpoint.Cluster(workers=4)
        unittest.addModuleCleanup(CLUSTER.__exit__, None, None, None)


def list_workers():
    """The processes that work for Ray at a function of ours."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if command.startswith(b"ray::_Worker") and is_ours(parent):
            found.append(int(folder.name))
    return found


def is_ours(process):
    """Whether a process comes from this one."""
    while process > 1:
        if process == os.getpid():
            return True
        try:
            text = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False
        process = int(text.rpartition(")")[2].split()[1])
    return False


def read_all(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@unittest.skipUnless(HAS_RAY, "scripts/peers.sh checkpoints installs Ray")
class TestCluster(unittest.TestCase):
    """Shares of any function."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def test_shares_in_flight_are_bounded_and_the_largest_come_first(self):
        sizes = [10, 70, 20, 40, 30, 10, 60, 20]
        shares = [Share(f"s{number}", size, (f"s{number}", size))
                  for number, size in enumerate(sizes)]
        results = dict(CLUSTER.run(cluster_functions.note, self.folder, shares, in_flight=100))
        self.assertEqual([results[share][0] for share in shares], [f"s{n}" for n in range(8)])
        notes = [[float(word) for word in path.read_text().split()]
                 for path in Path(self.folder).iterdir()]
        for begin, _, _ in notes:
            together = sum(size for first, last, size in notes if first <= begin < last)
            self.assertLessEqual(together, 100)
        first = min(notes)
        self.assertEqual(first[2], 70)

    def test_a_share_larger_than_the_bound_runs_alone(self):
        shares = [Share("a", 500, ("a", 500)), Share("b", 1, ("b", 1))]
        self.assertEqual(len(list(CLUSTER.run(cluster_functions.note, self.folder, shares,
                                              in_flight=100))), 2)

    def test_lost_workers_lose_nothing(self):
        shares = [Share(f"s{number}", number, (f"s{number}", number % 3)) for number in range(4)]
        results = dict(CLUSTER.run(cluster_functions.die, self.folder, shares))
        self.assertEqual(results, {share: share.key for share in shares})

    def test_a_share_that_ends_each_worker_is_an_error(self):
        shares = [Share("layer", 1, ("layer", 9))]
        with self.assertRaisesRegex(blockscale.DeviceError, "layer: expected a worker to end it, "
                                                            "but 2 were lost"):
            list(CLUSTER.run(cluster_functions.die, self.folder, shares, retries=1))

    def test_errors_of_functions(self):
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected another argument"):
            list(CLUSTER.run(cluster_functions.fail, None, [Share("layer", 1, "ours")]))
        with self.assertRaisesRegex(blockscale.DeviceError, "layer: KeyError: 'other'"):
            list(CLUSTER.run(cluster_functions.fail, None, [Share("layer", 1, "other")]))


@unittest.skipUnless(HAS_RAY, "scripts/peers.sh checkpoints installs Ray")
class TestJobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        cls.source = cls.folder / "moe"
        decoders.write_decoder(cls.source, "moe", shards=3)
        (cls.source / "tokenizer.json").write_text("{}")
        checkpoint.quantize(cls.source, cls.folder / "expected", POLICY, shard_bytes=SHARD)
        cls.expected = read_all(cls.folder / "expected")

    def quantize(self, source, target, **options):
        return checkpoint.quantize(source, target, POLICY, shard_bytes=SHARD, cluster=CLUSTER,
                                   **options)

    def test_the_bytes_of_one_machine(self):
        calls = []
        summary = self.quantize(self.source, self.folder / "same",
                                progress=lambda *call: calls.append(call))
        self.assertEqual(read_all(self.folder / "same"), self.expected)
        # One progress of all workers.
        self.assertEqual(calls[-1][1], calls[-1][2])
        self.assertEqual([call[1] for call in calls], sorted(call[1] for call in calls))
        self.assertGreater(len(summary.quantized), 20)

    def test_a_worker_that_is_killed_loses_nothing(self):
        killed, niceness = [], set()

        def kill(*_):
            if not killed:
                killed.extend(list_workers())
                niceness.update(os.getpriority(os.PRIO_PROCESS, process) for process in killed)
                for process in killed:
                    os.kill(process, signal.SIGKILL)
        with mock.patch("blockscale.checkpoint._jobs._distribute.LEAST_BYTES", 1):
            self.quantize(self.source, self.folder / "killed", progress=kill)
        self.assertTrue(killed)
        self.assertEqual(niceness, {os.nice(0)})
        self.assertEqual(read_all(self.folder / "killed"), self.expected)

    def test_a_job_that_ended_early_goes_on(self):
        class Stop(Exception):
            pass

        def stop(*call):
            if call[1] > call[2] // 2:
                raise Stop
        target = self.folder / "resumed"
        with mock.patch("blockscale.checkpoint._jobs._distribute.LEAST_BYTES", 1):
            with self.assertRaises(Stop):
                self.quantize(self.source, target, progress=stop)
        self.assertFalse(target.exists())
        calls = []
        self.quantize(self.source, target, resume=True, progress=lambda *call: calls.append(call))
        self.assertEqual(read_all(target), self.expected)
        self.assertGreater(calls[0][1], calls[0][2] // 2)

    def test_object_storage(self):
        """local:// is a URL as those of object storage, and is not looked at as a path."""
        for name, source in (("stored", self.source), ("both", f"local://{self.source}")):
            target = self.folder / name
            with self.subTest(name):
                self.quantize(source, f"local://{target}")
                self.assertEqual(read_all(target), self.expected)
        self.quantize(f"local://{self.source}", f"file://{self.folder}/fetched")
        self.assertEqual(read_all(self.folder / "fetched"), self.expected)

    def test_object_storage_has_no_config_before_the_end(self):
        target = self.folder / "early"

        class Stop(Exception):
            pass

        def stop(*_):
            self.assertFalse((target / "config.json").exists())
            raise Stop
        with self.assertRaises(Stop):
            self.quantize(self.source, f"local://{target}", progress=stop)
        self.assertFalse((target / "config.json").exists())
        with self.assertRaisesRegex(blockscale.ArgumentError, "of a job that did not end"):
            self.quantize(self.source, f"local://{target}")
        with self.assertRaisesRegex(blockscale.ArgumentError, "to be of this job"):
            checkpoint.quantize(self.source, f"local://{target}", POLICY, shard_bytes=2 * SHARD,
                                cluster=CLUSTER, resume=True)
        calls = []
        self.quantize(self.source, f"local://{target}", resume=True,
                      progress=lambda *call: calls.append(call))
        self.assertEqual(read_all(target), self.expected)
        self.assertGreater(calls[0][1] - calls[-1][2] // 8, 0)

    def test_a_job_goes_on_with_a_source_in_object_storage(self):
        """Whose mirror is in another folder each time."""
        class Stop(Exception):
            pass

        def stop(*_):
            raise Stop
        for target in (f"local://{self.folder}/far", self.folder / "near"):
            with self.subTest(target):
                with self.assertRaises(Stop):
                    self.quantize(f"local://{self.source}", target, progress=stop)
                self.quantize(f"local://{self.source}", target, resume=True)
        self.assertEqual(read_all(self.folder / "far"), self.expected)
        self.assertEqual(read_all(self.folder / "near"), self.expected)

    def test_a_source_that_is_written_anew(self):
        """With as many bytes as before."""
        copy = self.folder / "written"
        shutil.copytree(self.source, copy)
        path = next(copy.glob("*.safetensors"))

        def change(*_):
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            # At once: a worker that reads meanwhile sees one of both.
            (self.folder / "other").write_bytes(data)
            os.replace(self.folder / "other", path)
        for target in (f"local://{self.folder}/anew", self.folder / "anew-near"):
            with self.subTest(target), self.assertRaisesRegex(
                    blockscale.FileError, f"expected 'local://{copy}/{path.name}' to stay as it "
                                          "was while it was read, but it was written anew"):
                self.quantize(f"local://{copy}", target, progress=change)
        self.assertFalse((self.folder / "anew/config.json").exists())
        self.assertFalse((self.folder / "anew-near").exists())

        def remove(*_):
            (copy / "tokenizer.json").unlink(missing_ok=True)
        with self.assertRaisesRegex(blockscale.FileError, "tokenizer.json' to stay as it was while "
                                                          "it was read, but it is not there any"):
            self.quantize(f"local://{copy}", f"local://{self.folder}/less", progress=remove)

    def test_what_is_refused(self):
        for source, target, options, error in (
                (self.source, f"local://{self.folder}/expected", {}, "to be a new or empty folder"),
                (self.source, f"local://{self.folder}/one.safetensors", {}, "the URL of a folder"),
                (self.source, f"local://{self.folder}/none", {"resume": True},
                 "of a job to resume"),
                (f"local://{self.folder}/none", self.folder / "x", {}, "expected files of tensors"),
                ("nothing://x", self.folder / "x", {}, "a path or a URL of fsspec"),
                (self.source, self.folder / "expected", {}, "something is there")):
            with self.subTest(error), self.assertRaisesRegex(blockscale.ArgumentError, error):
                self.quantize(source, target, **options)

    def test_results_are_checked(self):
        """Also where they are behind a URL, before config.json makes a model of them."""
        tensors = decoders.make_tensors("dense")
        tensors["model.norm.weight"][3] = float("inf")
        decoders.write_folder(self.folder / "infinite", tensors, decoders.CONFIGS["dense"])
        for target in (f"local://{self.folder}/bad", self.folder / "bad-near"):
            with self.subTest(target), self.assertRaisesRegex(
                    blockscale.ArgumentError, "plain-numbers: 'model.norm.weight'"):
                self.quantize(self.folder / "infinite", target)
        self.assertFalse((self.folder / "bad/config.json").exists())
        self.assertFalse((self.folder / "bad-near").exists())

    def test_errors_of_tasks_reach_the_caller(self):
        tensors = decoders.make_tensors("dense")
        tensors["model.layers.0.mlp.up_proj.weight"][3, 5] = float("inf")
        decoders.write_folder(self.folder / "infinite", tensors, decoders.CONFIGS["dense"])
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected numbers that are finite"):
            self.quantize(self.folder / "infinite", self.folder / "never")
        self.assertFalse((self.folder / "never").exists())

    def test_mirrors_hold_what_is_looked_at(self):
        values = bytes(range(256)) * (5 << 12)
        target = self.folder / "large"
        target.mkdir()
        (target / "x.safetensors").write_bytes(decoders.pack_file(
            {"x": decoders.np.frombuffer(values, decoders.np.uint8)}))
        copy = self.folder / "sparse.safetensors"
        head = (target / "x.safetensors").read_bytes()[:200]
        with open(copy, "wb") as file:
            file.write(head)
            file.truncate((target / "x.safetensors").stat().st_size)
        copy = copy.rename(self.folder / "x.safetensors")
        file = MirrorFile(str(copy), Remote(f"local://{target}"))
        tensor, = file.tensors
        self.assertEqual(bytes(file.view_bytes(tensor.offset + 77, 1000)), values[77:1077])
        self.assertLess(copy.stat().st_blocks * 512, 2 << 20)
        self.assertEqual(bytes(file.view(tensor)), values)
        self.assertGreater(copy.stat().st_blocks * 512, 4 << 20)
        file.release(tensor.offset, tensor.nbytes)
        self.assertLess(copy.stat().st_blocks * 512, 3 << 20)
        self.assertEqual(bytes(file.view(tensor)), values)


class TestWithout(unittest.TestCase):
    """What is said where there is no cluster, or no package for it."""

    def test_urls_need_a_cluster(self):
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "what is behind a URL, but got none for 's3://m'"):
            checkpoint.quantize("s3://m", "/tmp/never", POLICY)

    def test_missing_packages(self):
        with mock.patch.dict(sys.modules, {"ray": None}):
            with self.assertRaisesRegex(ImportError, r"pip install blockscale\[cluster\]"):
                checkpoint.Cluster()
        with mock.patch.dict(sys.modules, {"fsspec": None}):
            with self.assertRaisesRegex(ImportError, r"pip install blockscale\[cluster\]"):
                Remote("s3://m")

    def test_numbers_of_workers(self):
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected workers to be 1 or more, "
                                                              "but got 0"):
            checkpoint.Cluster(workers=0)
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected no number of workers"):
            checkpoint.Cluster("auto", workers=2)


if __name__ == "__main__":
    unittest.main()
