# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs from and to S3: s3fs, moto's server, and a proxy between them that cuts connections and says
that there are too many requests. Two workers of Ray work, each with a temporary folder that nobody
else sees where the tests run as root: they share nothing but the store. Results are those of one
machine, byte for byte."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import blockscale
import blockscale.checkpoint as checkpoint
import decoders
import servers
from blockscale.checkpoint._jobs._remote import Mirror, Remote

POLICY = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
#: Bytes of a shard: results have several.
SHARD = 40_000
SEED = int(os.environ.get("BLOCKSCALE_SEED", "0"))
STORE = PROXY = CLUSTER = SCRATCH = None


def setUpModule():
    global STORE, PROXY, SCRATCH
    scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    unittest.addModuleCleanup(scratch.cleanup)
    SCRATCH = Path(scratch.name)
    STORE = servers.Store()
    unittest.addModuleCleanup(STORE.close)
    PROXY = servers.Proxy(STORE, SEED)
    unittest.addModuleCleanup(PROXY.close)
    os.environ.update(AWS_ENDPOINT_URL=PROXY.url, AWS_ACCESS_KEY_ID="test",
                      AWS_SECRET_ACCESS_KEY="test", AWS_DEFAULT_REGION="us-east-1",
                      RAY_USAGE_STATS_ENABLED="0")
    start_cluster()


def start_cluster():
    """Two workers, each with a temporary folder of its own (private/sitecustomize.py)."""
    global CLUSTER
    private = SCRATCH / "private"
    private.mkdir()
    os.environ["BLOCKSCALE_PRIVATE"] = str(private)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (
        str(Path(__file__).with_name("private")), os.environ.get("PYTHONPATH"))))
    CLUSTER = checkpoint.Cluster(workers=2)
    unittest.addModuleCleanup(CLUSTER.__exit__, None, None, None)


def list_namespaces():
    """The file systems that workers of Ray see, as the kernel names them."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            environment = (folder / "environ").read_bytes()
            if command.startswith(b"ray::_Worker") and os.fsencode(SCRATCH) in environment:
                found.add(os.readlink(folder / "ns/mnt"))
        except OSError:
            continue
    return found


def read_all(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def read_store(url):
    """The files of a folder of the store, whatever the proxy does."""
    remote = Remote(url)
    return {name: remote.read_all(name) for name in remote.list()}


class TestStore(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = SCRATCH / "moe"
        decoders.write_decoder(cls.source, "moe", shards=3)
        (cls.source / "tokenizer.json").write_text("{}")
        checkpoint.quantize(cls.source, SCRATCH / "expected", POLICY, shard_bytes=SHARD)
        cls.expected = read_all(SCRATCH / "expected")
        cls.url = f"s3://{servers.BUCKET}/moe"
        remote = Remote(cls.url)
        for name in read_all(cls.source):
            remote.put(str(cls.source / name), name)

    def setUp(self):
        self.addCleanup(self.mend)
        PROXY.broken.clear()
        PROXY.seen.clear()
        self.target = f"s3://{servers.BUCKET}/{self.id().rpartition('.')[2]}"

    def mend(self):
        PROXY.share, PROXY.is_out, PROXY.out_after = 0.0, False, None

    def quantize(self, target=None, source=None, **options):
        return checkpoint.quantize(source or self.url, target or self.target, POLICY,
                                   shard_bytes=SHARD, cluster=CLUSTER, **options)

    def list_shards(self):
        """How often each shard of the target was sent."""
        return sorted(path.split("?")[0].rpartition("/")[2] for path in PROXY.seen
                      if path.startswith("PUT") and self.target.partition("//")[2] in path
                      and ".safetensors" in path and "index" not in path)

    def test_two_workers_that_share_the_store_alone(self):
        self.quantize()
        self.assertEqual(read_store(self.target), self.expected)
        # Nothing of it is where others look.
        self.assertEqual(list((SCRATCH / "private").iterdir()), [])
        if os.geteuid() == 0:
            self.assertEqual(len(list_namespaces() | {os.readlink("/proc/self/ns/mnt")}), 3)
        self.assertEqual(len(self.list_shards()),
                         len([name for name in self.expected if name.endswith(".safetensors")]))
        # Files by which loaders take the folder for a model come last.
        sent = [path.rpartition("/")[2] for path in PROXY.seen
                if path.startswith("PUT") and path.rpartition("/")[0].endswith(
                    self.target.rpartition("/")[2])]
        self.assertEqual(sent[-1], "config.json")

    def test_convert_from_and_to_the_store(self):
        checkpoint.convert(SCRATCH / "expected", SCRATCH / "packed", "compressed-tensors",
                           shard_bytes=SHARD)
        remote = Remote(f"{self.target}-source")
        for name in self.expected:
            remote.put(str(SCRATCH / "expected" / name), name)
        checkpoint.convert(f"{self.target}-source", self.target, "compressed-tensors",
                           shard_bytes=SHARD, cluster=CLUSTER)
        self.assertEqual(read_store(self.target), read_all(SCRATCH / "packed"))

    def test_cut_connections_and_throttling(self):
        """Three of ten requests are broken, of each kind some."""
        PROXY.share = 0.3
        self.quantize()
        broken = dict(PROXY.broken)
        self.mend()
        self.assertEqual(read_store(self.target), self.expected)
        self.assertEqual(set(broken), set(servers.KINDS))
        print(f"broken: {broken}, answered: {len(PROXY.seen)}")

    def test_a_store_that_goes_away(self):
        """The job ends with an error, and leaves no model; another one goes on where it was."""
        PROXY.out_after = 30
        with self.assertRaisesRegex(blockscale.FileError, r"cannot (read|write) 's3://"):
            self.quantize()
        self.assertTrue(PROXY.is_out)
        self.mend()
        names = set(Remote(self.target).list())
        self.assertNotIn("config.json", names)
        self.assertIn(".blockscale-journal", names)
        with self.assertRaisesRegex(blockscale.ArgumentError, "of a job that did not end"):
            self.quantize()
        PROXY.seen.clear()
        self.quantize(resume=True)
        self.assertEqual(read_store(self.target), self.expected)
        self.assertLess(len(self.list_shards()), len(
            [name for name in self.expected if name.endswith(".safetensors")]))

    def test_a_store_that_is_not_there(self):
        PROXY.is_out = True
        with self.assertRaisesRegex(blockscale.FileError, "cannot read 's3://"):
            self.quantize()

    def test_a_bucket_that_is_not_there(self):
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected files of tensors"):
            self.quantize(source="s3://none/moe")
        with self.assertRaisesRegex(blockscale.FileError,
                                    "cannot write 's3://none/moe/.blockscale-journal'"):
            self.quantize("s3://none/moe")

    def test_what_others_wrote_since_is_seen(self):
        """s3fs keeps what it listed."""
        remote = Remote(self.target)
        self.assertEqual(remote.list(), {})
        subprocess.run(
            [sys.executable, "-c",
             ("import sys; from blockscale.checkpoint._jobs._remote import Remote; "
              "Remote(sys.argv[1]).write('x', b'1')"), self.target], check=True)
        self.assertEqual(list(remote.list()), ["x"])
        with self.assertRaisesRegex(blockscale.ArgumentError, "to be a new or empty folder"):
            self.quantize()

    def test_a_source_that_is_written_anew(self):
        """While it is read, with as many bytes as before."""
        name = next(name for name in sorted(read_all(self.source)) if name.endswith("tensors"))
        copy = f"{self.target}-source"
        remote = Remote(copy)
        for each in read_all(self.source):
            remote.put(str(self.source / each), each)
        data = bytearray((self.source / name).read_bytes())
        done = []

        def change(*_):
            # Other bytes each time: the store tells the same ones apart by a time in seconds alone.
            if not done:
                done.append(1)
                data[-1] ^= 1
                remote.write(name, bytes(data))
        with self.assertRaisesRegex(blockscale.FileError,
                                    f"expected '{copy}/{name}' to stay as it was while it was "
                                    "read, but it was written anew"):
            self.quantize(source=copy, progress=change)
        self.assertNotIn("config.json", Remote(self.target).list())
        # What was made of the other bytes is not gone on with.
        with self.assertRaisesRegex(blockscale.ArgumentError, "to be of this job"):
            self.quantize(source=copy, resume=True)
        # Nor does a result on a disk take its name.
        done.clear()
        with self.assertRaisesRegex(blockscale.FileError, "was written anew"):
            self.quantize(SCRATCH / "mounted", source=copy, progress=change)
        self.assertFalse((SCRATCH / "mounted").exists())

    def test_a_source_that_lost_bytes(self):
        """Between the look at its files and the look at its tensors."""
        copy = f"{self.target}-source"
        remote = Remote(copy)
        for each in read_all(self.source):
            remote.put(str(self.source / each), each)
        snapshot = Mirror.take(copy)
        name = next(name for name in snapshot.files if name.endswith("tensors"))
        remote.write(name, (self.source / name).read_bytes()[:-100])
        with tempfile.TemporaryDirectory() as folder:
            file = Mirror(folder, snapshot).open(os.path.join(folder, name))
            with self.assertRaisesRegex(blockscale.FileError, f"cannot read '{copy}/{name}': "
                                                              "expected"):
                file.view(file.tensors[-1])


if __name__ == "__main__":
    unittest.main()
