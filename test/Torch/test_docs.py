# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/Torch.md, docs/BringYourModel.md, docs/TorchCompile.md, docs/SameBits.md,
docs/Sm100OnHopper.md, docs/Training.md, docs/TrainOnHopper.md and docs/FineTuning.md show runs as
written, and the table of the first names every op. test/Transformers has other pages."""

import contextlib
import importlib.util
import io
import os
import re
import socket
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import torch

import blockscale.torch
from blockscale.torch._importer import COMPLEX_HANDLERS, HANDLERS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "Torch.md"
sys.path.append(str(DOCS.parent / "scripts"))

import docs_doors


def get_blocks(page):
    """The examples in Python of a page."""
    return re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text(encoding="utf-8"))


class TestPage(unittest.TestCase):
    def test_the_example(self):
        block = get_blocks(PAGE)[0]
        torch.manual_seed(0)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, str(PAGE), "exec"), {})
        for part in ("blockscale.scaled_mm", "tensor<?x256xbf16>", ".target sm_100a"):
            self.assertIn(part, output.getvalue())

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
    def test_a_model_of_hugging_face(self):
        block = get_blocks(PAGE)[1]
        torch.manual_seed(0)
        exec(compile(block, str(PAGE), "exec"), {})

    def test_the_list_of_ops(self):
        page = docs_doors.PAGE.read_text(encoding="utf-8")
        self.assertEqual(page, docs_doors.fill(page, "torch"),
                         "run scripts/docs_doors.py --write torch")

    def test_the_table(self):
        table = PAGE.read_text(encoding="utf-8").partition("## What is imported")[2]
        # What changes no number, or is told in words.
        quiet = {"_to_copy", "_unsafe_view", "alias", "clone", "contiguous", "detach", "detach_",
                 "dropout", "lift_fresh_copy", "t", "to", "transpose", "unflatten", "unsqueeze"}
        for name in {name.split(".")[1] for name in (*HANDLERS, *COMPLEX_HANDLERS)} - quiet:
            with self.subTest(name):
                self.assertIn(f"`{name}`", table)


class TestRefusedOps(unittest.TestCase):
    """The errors that pages show, but for files and lines."""

    def test_messages(self):
        class Inner(torch.nn.Module):
            def forward(self, x):
                return x.erfinv()

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                return self.inner(x) + x.pow(2.5) + x.lgamma()

        with self.assertRaises(blockscale.torch.UnsupportedError) as raised:
            blockscale.torch.from_export(torch.export.export(Model().eval(), (torch.rand(3, 4),)))
        place = re.compile(r"(?m)^(?:blockscale-import: error: )?\S+\.py:\d+: ")
        found = place.sub("", str(raised.exception)).splitlines()
        for name in ("Torch.md", "BringYourModel.md"):
            text = (DOCS / name).read_text(encoding="utf-8")
            shown = [place.sub("", line) for block in re.findall(r"(?ms)^```text\n(.*?)^```$", text)
                     for line in block.splitlines() if place.match(line)]
            self.assertEqual(len(shown), 2, name)
            for line in shown:
                with self.subTest(name, line=line):
                    self.assertIn(line, found)


class TestBringYourModel(unittest.TestCase):
    def test_the_blocks_in_their_order(self):
        page = DOCS / "BringYourModel.md"
        _, _, text = page.read_text(encoding="utf-8").partition("## From PyTorch")
        blocks = re.findall(r"(?ms)^```(python|sh)\n(.*?)^```$", text)
        self.assertEqual([language for language, _ in blocks], ["python", "sh", "python"])
        known = {"__name__": "page"}
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            program = Path("blockscale-import")
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m blockscale._import "$@"\n')
            program.chmod(0o755)
            path = dict(os.environ, PATH=f"{folder}{os.pathsep}{os.environ['PATH']}")
            for language, block in blocks:
                if language == "python":
                    exec(compile(block, str(page), "exec"), known)
                else:
                    subprocess.run(["sh", "-ec", block], check=True, env=path)


class TestSm100OnHopper(unittest.TestCase):
    def test_the_blocks_in_their_order(self):
        page = DOCS / "Sm100OnHopper.md"
        known = {}
        blocks = re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text(encoding="utf-8"))
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            exec(compile(block, str(page), "exec"), known)
        self.assertEqual(known["y"].shape, (4, 256))


class TestSameBits(unittest.TestCase):
    def test_the_example(self):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            for block in get_blocks(DOCS / "SameBits.md"):
                exec(compile(block, "SameBits.md", "exec"), {})
        self.assertIn("mxfp8, weights only, order chain", output.getvalue())


class TestTorchCompile(unittest.TestCase):
    def test_the_example_prints_what_the_page_shows(self):
        page = DOCS / "TorchCompile.md"
        block, = get_blocks(page)
        shown, = re.findall(r"(?ms)^```text\n(.*?)^```$", page.read_text(encoding="utf-8"))
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(block, "TorchCompile.md", "exec"), {})
        # As on other pages, `...` stands for any text.
        expected = ".*".join(map(re.escape, shown.split("...")))
        self.assertRegex(output.getvalue(), rf"\A{expected}\Z")


class TestTraining(unittest.TestCase):
    def test_the_blocks_in_their_order(self):
        known = {}
        with socket.create_server(("localhost", 0)) as server:
            port = server.getsockname()[1]
        one = dict(RANK="0", WORLD_SIZE="1", MASTER_ADDR="localhost", MASTER_PORT=str(port))
        with (contextlib.redirect_stdout(io.StringIO()) as output,
              unittest.mock.patch.dict(os.environ, one)):
            for block in get_blocks(DOCS / "Training.md"):
                exec(compile(block, "Training.md", "exec"), known)
        self.assertIn("'2': 'forward nvfp4 te by nvfp4 te, 16x16; dgrad", output.getvalue())
        self.assertEqual(known["mixed"].stochastic, ("dgrad_gradient", "dgrad_weight"))
        self.assertEqual(known["y"].shape, (70, 96))
        self.assertTrue(known["weights"].grad.isfinite().all())


class TestTrainOnHopper(unittest.TestCase):
    def test_the_blocks_in_their_order(self):
        known = {}
        for block in get_blocks(DOCS / "TrainOnHopper.md"):
            exec(compile(block, "TrainOnHopper.md", "exec"), known)
        self.assertEqual(known["nearest"].stochastic, ())
        self.assertTrue(all(each.grad.isfinite().all() for each in known["model"].parameters()))
        self.assertEqual(known["y"].shape, (32, 64))


class TestFineTuning(unittest.TestCase):
    def test_the_blocks_in_their_order(self):
        known = {}
        with contextlib.redirect_stdout(io.StringIO()) as output:
            for block in get_blocks(DOCS / "FineTuning.md"):
                if "peft" in block:  # test/Lora has it.
                    continue
                exec(compile(block, "FineTuning.md", "exec"), known)
        self.assertIn("['0.weight']", output.getvalue())
        self.assertLess(known["losses"][-1], known["losses"][0])


class TestReadme(unittest.TestCase):
    def test_the_block(self):
        page = DOCS.parent / "README.md"
        block, = re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text(encoding="utf-8"))
        layers = [torch.nn.Linear(64, 64) for _ in range(2)]
        known = {"model": torch.nn.Sequential(*layers).bfloat16().eval()}
        exec(compile(block, str(page), "exec"), known)
        self.assertIn("nvfp4, weights only", str(known["model"]))
        self.assertIsInstance(known["model"], torch._dynamo.OptimizedModule)


if __name__ == "__main__":
    unittest.main()
