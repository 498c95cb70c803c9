# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A checkpoint of 20 GiB in less than 2 GiB of memory, by each command: anonymous memory, and all
of it with the pages of files that the process has mapped.

The source is sparse: 1 MiB of each tensor are numbers, the rest are zeros that no disk has."""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

import decoders

LIMIT = 2 << 30
LAYERS = 30
HIDDEN, INNER, VOCABULARY = 6144, 12288, 262144
#: What the processes write at most, and some room.
NEEDED = 18 << 30


def list_shapes():
    shapes = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN)}
    for layer in range(LAYERS):
        for name, shape in (("self_attn.q_proj", (HIDDEN, HIDDEN)),
                            ("self_attn.k_proj", (HIDDEN // 4, HIDDEN)),
                            ("self_attn.v_proj", (HIDDEN // 4, HIDDEN)),
                            ("self_attn.o_proj", (HIDDEN, HIDDEN)),
                            ("mlp.gate_proj", (INNER, HIDDEN)),
                            ("mlp.up_proj", (INNER, HIDDEN)),
                            ("mlp.down_proj", (HIDDEN, INNER))):
            shapes[f"model.layers.{layer}.{name}.weight"] = shape
    shapes["model.norm.weight"] = (HIDDEN,)
    return shapes


def write_sparse(folder, shards=4):
    """Writes the checkpoint; returns the bytes of its tensors."""
    folder.mkdir()
    random = np.random.RandomState(0)
    shapes = list(list_shapes().items())
    index, total = {}, 0
    for number in range(shards):
        header, offset = {}, 0
        for name, shape in shapes[number::shards]:
            nbytes = 2 * math.prod(shape)
            header[name] = {"dtype": "BF16", "shape": list(shape),
                            "data_offsets": [offset, offset + nbytes]}
            offset += nbytes
        file = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        index |= dict.fromkeys(header, file)
        start = decoders.pack_header(header)
        with open(folder / file, "wb") as stream:
            stream.write(start)
            for each in header.values():
                stream.seek(len(start) + each["data_offsets"][0])
                stream.write(decoders.bf16(random.standard_normal(1 << 19)).tobytes())
            stream.truncate(len(start) + offset)
        total += offset
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (folder / "config.json").write_text(json.dumps(decoders.CONFIGS["dense"] | {
        "hidden_size": HIDDEN, "intermediate_size": INNER, "vocab_size": VOCABULARY,
        "num_attention_heads": HIDDEN // 128, "num_key_value_heads": HIDDEN // 512,
        "head_dim": 128, "num_hidden_layers": LAYERS, "tie_word_embeddings": True}))
    return total


def measure(arguments):
    """Runs the command; its exit status, output, seconds, and peaks of RssAnon and of all memory,
    in bytes."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "blockscale.checkpoint._command", *map(str, arguments)],
            stdout=output, stderr=subprocess.STDOUT)
        anonymous = highest = 0
        while process.poll() is None:
            try:
                text = Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
            if "VmHWM" in fields:
                anonymous = max(anonymous, int(fields["RssAnon"].split()[0]) << 10)
                highest = max(highest, int(fields["VmHWM"].split()[0]) << 10)
            time.sleep(0.02)
        status = process.wait()
        output.seek(0)
        return status, output.read().decode(), time.monotonic() - begin, anonymous, highest


class TestMemory(unittest.TestCase):
    def test_a_checkpoint_of_20_gib(self):
        scratch = tempfile.TemporaryDirectory(dir=os.environ.get("BLOCKSCALE_SCRATCH"))
        self.addCleanup(scratch.cleanup)
        folder = Path(scratch.name)
        room = os.statvfs(folder)
        self.assertGreater(room.f_bavail * room.f_frsize, NEEDED, "expected room on the disk")
        total = write_sparse(folder / "model")
        self.assertGreaterEqual(total, 20 << 30)
        for name, expected, arguments in (
                ("quantize", 0, ["quantize", folder / "model", folder / "nvfp4", "--format=nvfp4",
                                 "--weight-only", "--quiet"]),
                # Weights that are zeros but for a corner are no faults, but strange.
                ("check", None, ["check", folder / "nvfp4"]),
                ("convert", 0, ["convert", folder / "nvfp4", folder / "packed",
                                "--to=compressed-tensors"]),
                ("diff", 0, ["diff", folder / "nvfp4", folder / "packed", "--sqnr=100"])):
            with self.subTest(name):
                status, text, seconds, anonymous, highest = measure(arguments)
                print(f"{name}: {total / 2**30:.1f} GiB, {seconds:.0f} s, peak RssAnon "
                      f"{anonymous / 2**20:.0f} MiB, VmHWM {highest / 2**20:.0f} MiB", flush=True)
                self.assertIn(status, (0, 1) if expected is None else (expected,), text[-2000:])
                self.assertLess(anonymous, LIMIT)
                self.assertLess(highest, LIMIT)


if __name__ == "__main__":
    unittest.main()
