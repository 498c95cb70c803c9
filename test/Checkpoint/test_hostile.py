# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that were made to break a reader are errors of the command: with the rule, soon, without a
result. Each is one change of a good checkpoint."""

import contextlib
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

import decoders
from blockscale.checkpoint import _command

#: Seconds in which any file is refused.
LIMIT = 5
VALUES = np.arange(64, dtype=np.float32).reshape(2, 32)
NESTED = "[" * 100_000 + "]" * 100_000


def entry(shape=(2, 32), dtype="F32", offsets=(0, 256)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def header(*entries, **named):
    """The bytes of a file with these entries of its header and 512 bytes behind it."""
    return decoders.pack_header(dict(entries, **named)) + bytes(512)


def text_header(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data + bytes(512)


#: Files of safetensors: name -> (bytes, what the error says).
SAFETENSORS = {
    "empty": (b"", "got|empty|bytes"),
    "shorter than a length": (b"\1\2\3", "bytes"),
    "header past the end": (struct.pack("<Q", 1 << 20) + b"{}", "header"),
    "header of 2^63 bytes": (struct.pack("<Q", 1 << 63) + b"{}", "header"),
    "header of 2^64 - 1 bytes": (struct.pack("<Q", 2 ** 64 - 1) + b"{}", "header"),
    "header of no bytes": (struct.pack("<Q", 0), "expected"),
    "no JSON": (text_header("{x"), "JSON|expected"),
    "no object": (text_header("[1, 2]"), "expected"),
    "nested": (text_header('{"a":' + NESTED + "}"), "expected|nest"),
    "not UTF-8": (text_header(b'{"\xff\xfe": 1}'), "UTF-8|expected"),
    "tensor past the end": (header(w=entry(offsets=(0, 1024), shape=(8, 32))), "512|end"),
    "tensor of 2^60 bytes": (header(w=entry(offsets=(0, 1 << 60), shape=(1 << 58,))), "expected"),
    "end before begin": (header(w=entry(offsets=(256, 0))), "expected"),
    "negative offset": (header(w=entry(offsets=(-256, 0))), "expected"),
    "offset that is no integer": (header(w=entry(offsets=(0, 256.5))), "expected"),
    "one offset": (header(w=entry(offsets=(0,))), "expected"),
    "overlapping tensors": (header(a=entry(offsets=(0, 256)), b=entry(offsets=(128, 384))),
                            "overlap|begin|expected"),
    "tensors in one place": (header(a=entry(), b=entry()), "overlap|begin|expected"),
    "other size than the shape": (header(w=entry(shape=(2, 31))), "expected"),
    "shape whose product overflows": (header(w=entry(shape=(1 << 33, 1 << 33), offsets=(0, 0))),
                                      "expected"),
    "shape that overflows to its size": (
        header(w=entry(shape=(1 << 62, 16, 64), dtype="U8", offsets=(0, 0))), "expected"),
    "negative shape": (header(w=entry(shape=(-2, -32))), "expected"),
    "shape that is no list": (header(w={"dtype": "F32", "shape": 64, "data_offsets": [0, 256]}),
                              "expected"),
    "unknown dtype": (header(w=entry(dtype="F128")), "F128"),
    "dtype that is no text": (header(w=entry(dtype=7)), "expected"),
    "no offsets": (header(w={"dtype": "F32", "shape": [2, 32]}), "data_offsets"),
    "entry that is no object": (header(w=3), "expected"),
    "one name twice": (text_header('{{"w":{},"w":{}}}'.format(json.dumps(entry()), json.dumps(
        entry(offsets=(256, 512))))), "once|twice"),
    "metadata that is no text": (header(("__metadata__", {"a": 1}), w=entry()), "expected"),
}


def gguf_text(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf(tensors=b"", count=0, pairs=b"", pair_count=0, magic=b"GGUF", version=3):
    return magic + struct.pack("<IQQ", version, count, pair_count) + pairs + tensors + bytes(512)


def gguf_tensor(name="w", shape=(32, 2), kind=0, offset=0, rank=None):
    return (gguf_text(name) + struct.pack("<I", len(shape) if rank is None else rank)
            + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", kind, offset))


def gguf_nested(depth):
    return gguf_text("a") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * depth + struct.pack(
        "<IQ", 4, 0)


GGUF = {
    "other magic": (gguf(magic=b"GGML"), "expected"),
    "version 1": (gguf(version=1), "version"),
    "version 99": (gguf(version=99), "version"),
    "cut off": (gguf(gguf_tensor(), 1)[:30], "expected|end"),
    "2^60 tensors": (gguf(count=1 << 60), "expected"),
    "2^60 pairs": (gguf(pair_count=1 << 60), "expected"),
    "name of 2^60 bytes": (gguf(struct.pack("<Q", 1 << 60), 1), "expected"),
    "rank of 2^32 - 1": (gguf(gguf_tensor(rank=2 ** 32 - 1), 1), "rank|dimensions|expected"),
    "shape whose product overflows": (gguf(gguf_tensor(shape=(1 << 33, 1 << 33)), 1), "expected"),
    "type that is unknown": (gguf(gguf_tensor(kind=1000), 1), "1000|type"),
    "row that is no whole block": (gguf(gguf_tensor(shape=(31, 2), kind=39), 1), "32|block"),
    "tensor past the end": (gguf(gguf_tensor(shape=(1 << 20, 2)), 1), "end|expected"),
    "offset past the end": (gguf(gguf_tensor(offset=1 << 40), 1), "end|expected"),
    "offset of 2^64 - 32": (gguf(gguf_tensor(offset=2 ** 64 - 32), 1), "expected"),
    "offset that is not aligned": (gguf(gguf_tensor(offset=7), 1), "multiple|align"),
    "overlapping tensors": (gguf(gguf_tensor("a") + gguf_tensor("b", offset=32), 2),
                            "overlap|expected"),
    "one name twice": (gguf(gguf_tensor("a") + gguf_tensor("a", offset=256), 2), "once|twice"),
    "unknown type of metadata": (gguf(pairs=gguf_text("a") + struct.pack("<I", 77), pair_count=1),
                                 "77|type"),
    "array of 2^60 elements": (gguf(pairs=gguf_text("a") + struct.pack("<IIQ", 9, 4, 1 << 60),
                                    pair_count=1), "expected"),
    "nested arrays": (gguf(pairs=gguf_nested(20_000), pair_count=1), "nest|depth|expected"),
    "alignment of 0": (gguf(pairs=gguf_text("general.alignment") + struct.pack("<II", 4, 0),
                            pair_count=1), "alignment"),
    "alignment of 2^31": (gguf(gguf_tensor(), 1, gguf_text("general.alignment") + struct.pack(
        "<II", 4, 1 << 31), 1), "alignment|end|expected"),
}

INDEX = {
    "a shard above the folder": ({"w": "../outside.safetensors"}, "same folder"),
    "a shard by an absolute path": ({"w": "/etc/passwd.safetensors"}, "same folder"),
    "a shard in a folder": ({"w": "inside/model.safetensors"}, "same folder"),
    "a shard by a name with NUL": ({"w": "model\0.safetensors"}, "same folder"),
    "a shard that is the index": ({"w": "model.safetensors.index.json"}, "ends in"),
    "a shard that is not there": ({"w": "other.safetensors"}, "is not there"),
    "a shard of no name": ({"w": ""}, "names of files"),
    "a shard that is no text": ({"w": 7}, "names of files"),
    "a tensor that is not in its shard": ({"w": "model.safetensors", "v": "model.safetensors"},
                                          "'v' in 'model.safetensors'"),
    "a tensor that is not in the index": ({"x": "model.safetensors"}, "expected"),
    "no tensors": ({}, "weight_map"),
    "no object": ([], "weight_map"),
}

CONFIGS = {
    "no JSON": ("{", "JSON"),
    "no object": ("[]", "object"),
    "nested": ('{"quantization_config":' + NESTED + "}", "JSON"),
    "one member twice": ('{"a": 1, "a": 2}', "twice"),
    "quantization as text": ('{"quantization_config": "nvfp4"}', "object"),
    "groups as a list": (('{"quantization_config": {"quant_method": "compressed-tensors", '
                          '"config_groups": [1]}}'), "object"),
    "ignored as a number": (('{"quantization_config": {"quant_method": "modelopt", "quant_algo": '
                             '"NVFP4", "ignore": 3}}'), "list of names"),
    "layers as a list": (('{"quantization_config": {"quant_method": "modelopt", "quant_algo": '
                          '"MIXED_PRECISION", "quantized_layers": []}}'), "object"),
}


class TestHostile(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, data, config="{}"):
        """A folder with one file of tensors."""
        folder = self.folder / "model"
        folder.mkdir(exist_ok=True)
        (folder / "model.safetensors").write_bytes(data)
        (folder / "config.json").write_text(config, encoding="utf-8")
        return folder

    def expect_refused(self, source, message):
        """By each command that reads checkpoints."""
        target = self.folder / "result"
        for arguments in (["list", source], ["check", source],
                          ["quantize", source, target, "--format=mxfp8"]):
            said, begin = io.StringIO(), time.process_time()
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                status = _command.main([str(each) for each in arguments])
            self.assertLess(time.process_time() - begin, LIMIT)
            self.assertEqual(status, 2, said.getvalue())
            self.assertRegex(said.getvalue(), f"^blockscale-checkpoint: error: .*({message})")
            self.assertNotIn("Traceback", said.getvalue())
            self.assertEqual([path.name for path in self.folder.iterdir()
                              if path.name.startswith("result")], [])

    def test_safetensors(self):
        for name, (data, message) in SAFETENSORS.items():
            with self.subTest(name):
                self.expect_refused(self.write(data), message)

    def test_gguf(self):
        for name, (data, message) in GGUF.items():
            with self.subTest(name):
                path = self.folder / "model.gguf"
                path.write_bytes(data)
                self.expect_refused(path, message)

    def test_a_header_larger_than_memory(self):
        """A sparse file of 1 TiB, all of which says that it is its header."""
        folder = self.write(b"")
        size = 1 << 40
        with open(folder / "model.safetensors", "wb") as file:
            file.write(struct.pack("<Q", size - 8))
            file.truncate(size)
        self.expect_refused(folder, "header")

    def test_index(self):
        for name, (found, message) in INDEX.items():
            with self.subTest(name):
                folder = self.write(decoders.pack_file({"w": VALUES}))
                (self.folder / "outside.safetensors").write_bytes(
                    decoders.pack_file({"w": VALUES}))
                index = folder / "model.safetensors.index.json"
                index.write_text(json.dumps({"weight_map": found}))
                self.expect_refused(folder, message)
                self.expect_refused(index, message)
                index.unlink()

    def test_one_name_in_two_shards(self):
        folder = self.write(decoders.pack_file({"w": VALUES}))
        (folder / "other.safetensors").write_bytes(decoders.pack_file({"w": VALUES}))
        self.expect_refused(folder, "each tensor once")

    def test_configurations(self):
        for name, (text, message) in CONFIGS.items():
            with self.subTest(name):
                self.expect_refused(self.write(decoders.pack_file({"w.weight": VALUES}), text),
                                    message)

    def test_a_configuration_that_is_a_pipe(self):
        folder = self.write(decoders.pack_file({"w.weight": VALUES}))
        (folder / "config.json").unlink()
        os.mkfifo(folder / "config.json")
        self.expect_refused(folder, "regular file")

    def test_places(self):
        """What is no checkpoint at all."""
        (self.folder / "empty").mkdir()
        (self.folder / "text.txt").write_text("no checkpoint")
        os.mkfifo(self.folder / "pipe.safetensors")
        (self.folder / "cycle").symlink_to("cycle")
        for name, message in (("none", "cannot|expected"), ("empty", "got none"),
                              ("text.txt", "ends in"), ("pipe.safetensors", "cannot|expected"),
                              ("cycle", "cannot|expected")):
            with self.subTest(name):
                self.expect_refused(self.folder / name, message)
        pipe = self.folder / "pipe"
        pipe.mkdir()
        os.mkfifo(pipe / "model.safetensors")
        self.expect_refused(pipe, "regular file")

    def test_the_program(self):
        """As users call it."""
        folder = self.write(SAFETENSORS["header past the end"][0])
        done = subprocess.run([sys.executable, "-m", "blockscale.checkpoint._command", "check",
                               str(folder)], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
