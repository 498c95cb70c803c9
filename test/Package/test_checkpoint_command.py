# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blockscale-checkpoint: every command, every option with good and bad input, and the bar."""

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import checkpoints
from blockscale import checkpoint
from blockscale.checkpoint import _command
from blockscale.checkpoint._bar import Bar, format_time
from blockscale.checkpoint._summary import format_bytes


def run(*arguments):
    """The exit status of a command, and what it writes."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            status = checkpoints.run_command(*arguments)
        except SystemExit as ended:
            status = ended.code
    return status, out.getvalue(), error.getvalue()


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.plain = checkpoints.write_model(cls.root / "plain", *checkpoints.make_model())
        cls.nvfp4 = cls.root / "nvfp4"
        run("quantize", cls.plain, cls.nvfp4, "--format=nvfp4", "--weight-only")

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_kernels_are_kept(self):
        """The first process compiles them, and the next one finds them."""
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder)}
        environment.pop("BLOCKSCALE_CACHE_DIR", None)
        found = []
        for number in range(2):
            result = self.folder / str(number)
            subprocess.run([sys.executable, "-m", _command.__name__, "quantize", self.plain, result,
                            "--format=nvfp4", "--weight-only", "--quiet"], env=environment,
                           check=True)
            self.assertEqual(checkpoints.read_bytes(result), checkpoints.read_bytes(self.nvfp4))
            found.append({path: path.stat().st_mtime_ns
                          for path in (self.folder / "blockscale").rglob("*.bsf")})
        self.assertEqual(len(found[0]), 2)
        self.assertEqual(found[0], found[1])

    def test_where_kernels_are_kept(self):
        """In the user's cache, unless the environment names another folder, or none."""
        name = "BLOCKSCALE_CACHE_DIR"
        for given, expected in (({"HOME": "/home"}, "/home/.cache/blockscale"),
                                ({"HOME": "/home", "XDG_CACHE_HOME": "/cache"},
                                 "/cache/blockscale"),
                                ({"HOME": "/home", "XDG_CACHE_HOME": ""},
                                 "/home/.cache/blockscale"),
                                ({"XDG_CACHE_HOME": "relative"}, None),
                                ({"HOME": "/home", name: "/named"}, "/named"),
                                ({"HOME": "/home", name: ""}, "")):
            with (mock.patch.dict(os.environ, given),
                  contextlib.redirect_stdout(io.StringIO())):
                for each in {name, "XDG_CACHE_HOME"} - given.keys():
                    os.environ.pop(each, None)
                self.assertEqual(_command.main(["list", str(self.nvfp4)]), 0)
                self.assertEqual(os.environ.get(name), expected, given)

    def test_list(self):
        status, out, _ = run("list", self.nvfp4)
        self.assertEqual(status, 0)
        self.assertIn("ModelOpt NVFP4  64x64", " ".join(out.split(" ")))
        self.assertIn("modelopt (W4A16_NVFP4)", out)
        _, out, _ = run("list", self.nvfp4, "--tensors")
        self.assertIn("model.layers.0.self_attn.q_proj.weight_scale_2", out)
        _, out, _ = run("list", self.nvfp4, "--json")
        members = json.loads(out)
        self.assertEqual(len(members["tensors"]), len(checkpoint.open(self.nvfp4).tensors))
        weight = next(each for each in members["weights"] if each["name"].endswith("0.mlp.up_proj"))
        self.assertEqual((weight["format"], weight["shape"]), ("nvfp4", [128, 64]))

    def test_check(self):
        """The exit status is 1 for faults, and for warnings where they count."""
        self.assertEqual(run("check", self.nvfp4)[0], 0)
        status, out, _ = run("check", self.nvfp4, "--tensor-parallel=2,16", "--loader=vllm")
        self.assertEqual(status, 1)
        self.assertIn("error: C25 tensor-parallel-blocks", out)
        self.assertIn("vLLM: C25", out)
        self.assertNotIn("SGLang", out)
        status, out, _ = run("check", self.nvfp4, "--tensor-parallel=16", "--json")
        self.assertEqual((status, json.loads(out)["warnings"]), (1, 0))
        many = checkpoints.write_model(self.folder / "many", *checkpoints.make_model(), shards=2)
        (many / "model.safetensors.index.json").unlink()
        self.assertEqual(run("check", many)[0], 0)
        self.assertEqual(run("check", many, "--strict")[0], 1)

    def test_quantize(self):
        """A table, JSON and a picture."""
        status, out, error = run(
            "quantize", self.plain, self.folder / "a", "--format=nvfp4", "--weight-only",
            "--recipe=te_4over6_mse", f"--json={self.folder}/a.json",
            f"--plot={self.folder}/a.svg", "--measured=1", "--threads=1", "--sync",
            "--shard-size=30KB")
        self.assertEqual((status, error), (0, ""))
        self.assertIn("% of the bytes saved", out)
        self.assertIn("worst: ", out)
        members = json.loads((self.folder / "a.json").read_text())
        layers = [each for each in members["layers"] if each["form"]]
        self.assertTrue(all(each["sqnr_db"] > 18 for each in layers))
        self.assertIn("<svg", (self.folder / "a.svg").read_text())
        self.assertGreater(len(list((self.folder / "a").glob("*.safetensors"))), 2)
        status, out, _ = run("quantize", self.plain, self.folder / "b", "--format=nvfp4",
                             "--weight-only", "--sweep", "--quiet", "--layout=compressed-tensors")
        self.assertEqual((status, out), (0, ""))

    def test_policies_and_amaxes(self):
        policy, amaxes = self.folder / "policy.json", self.folder / "amaxes.json"
        policy.write_text(json.dumps({"version": 1, "rules": [
            {"match": {"location": "*.down_proj"}, "format": "nvfp4"},
            {"match": {"location": "*experts*"}, "format": "nvfp4"}]}))
        amaxes.write_text(json.dumps({"model.layers.0.mlp.down_proj": 3.5,
                                      "model.layers.1.mlp.experts.gate_up_proj": 2,
                                      "model.layers.1.mlp.experts.down_proj": 2, "other": 1}))
        status, out, _ = run("quantize", self.plain, self.folder / "a", f"--policy={policy}",
                             f"--amaxes={amaxes}")
        self.assertEqual(status, 0)
        self.assertIn("no layer took the amaxes of 'other'", out)

    def test_convert_and_diff(self):
        packed = self.folder / "packed"
        status, out, _ = run("convert", self.nvfp4, packed, "--to=compressed-tensors", "--exact",
                             f"--json={self.folder}/c.json")
        self.assertEqual(status, 0)
        self.assertIn("codes and scales stay", out)
        self.assertTrue(json.loads((self.folder / "c.json").read_text())["is_exact"])
        status, out, _ = run("diff", self.nvfp4, packed, "--sqnr=120")
        self.assertEqual(status, 0)
        status, out, _ = run("diff", self.plain, self.nvfp4, "--shown=2", "--threads=1")
        self.assertEqual(status, 1)
        self.assertIn("and 18 more", out)
        status, out, _ = run("diff", self.plain, self.plain, "--json")
        self.assertEqual((status, json.loads(out)["is_equal"]), (0, True))
        status, out, _ = run("convert", self.nvfp4, self.folder / "plain", "--to=plain",
                             "--dtype=bf16", "--exact", "--quiet")
        self.assertEqual((status, out), (1, ""))

    def test_what_cannot_be_done(self):
        """One line for each thing that is wrong, the exit status 2, and nothing is written."""
        broken = self.folder / "broken.safetensors"
        broken.write_bytes(b"\xff" * 16)
        empty = self.folder / "empty.txt"
        empty.write_text("\n \n")
        result = self.folder / "result"
        good = ["--format=nvfp4", "--weight-only"]
        cases = [
            ((), "the following arguments are required: COMMAND"),
            (("melt", self.plain), "invalid choice: 'melt'"),
            (("list", self.folder / "none.safetensors"), "none.safetensors"),
            (("list", broken), "broken.safetensors"),
            (("check", self.plain, "--tensor-parallel=2,x"), "expected numbers of parts as 2,4,8"),
            (("check", self.plain, "--tensor-parallel=0"), "expected numbers of parts as 2,4,8"),
            (("check", self.plain, "--loader=ollama"), "expected loaders of vLLM, "),
            (("quantize", self.plain, result), "expected --policy or --format, but got neither"),
            (("quantize", self.plain, result, *good, "--policy=x"), "but got both"),
            (("quantize", self.plain, result, "--policy=x", "--sweep"), "expected --sweep with"),
            (("quantize", self.plain, result, "--policy=x", "--weight-only"),
             "expected --weight-only with --format"),
            (("quantize", self.plain, result, "--policy=x", "--recipe=te"), "expected --recipe"),
            (("quantize", self.plain, result, f"--policy={self.folder}/none.json"), "none.json"),
            (("quantize", self.plain, result, "--format=int4"), "invalid choice: 'int4'"),
            (("quantize", self.plain, result, *good, "--recipe=rceil"), "'recipe'"),
            (("quantize", self.plain, result, *good, "--layout=awq"), "invalid choice: 'awq'"),
            (("quantize", self.plain, result, *good, "--on=tpu"), "invalid choice: 'tpu'"),
            (("quantize", self.plain, result, *good, f"--amaxes={broken}"), "to be JSON"),
            (("quantize", self.plain, result, *good, "--measured=0"),
             "expected a number from 1 on, but got '0'"),
            (("quantize", self.plain, result, *good, "--threads=-1"), "expected a number from 1"),
            (("quantize", self.plain, result, *good, "--shard-size=5XB"),
             "expected a size as 5GB or 512MiB, but got '5XB'"),
            (("quantize", self.plain, result, *good, "--shard-size=0"), "expected a size as"),
            (("quantize", self.plain, result, *good, "--resume"), "of a job to resume"),
            (("quantize", self.plain, result, *good, "--progress=loud"), "invalid choice"),
            (("quantize", self.plain, self.plain, *good), "but something is there"),
            (("calibrate", self.plain, self.folder / "none.txt", "-o", result), "none.txt"),
            (("calibrate", self.plain, empty, "-o", result), "expected lines of text in"),
            (("calibrate", self.plain, broken, "-o", result), "to be text in UTF-8, but got byte"),
            (("calibrate", self.plain, broken), "arguments are required: -o"),
            (("calibrate", self.plain, broken, "-o", result, "--tokens=0"), "a number from 1 on"),
            (("convert", self.nvfp4, result), "arguments are required: --to"),
            (("convert", self.nvfp4, result, "--to=awq"), "invalid choice: 'awq'"),
            (("convert", self.nvfp4, result, "--to=gpt-oss"), "expected a format that gpt-oss has"),
            (("convert", self.nvfp4, result, "--to=plain", "--dtype=f8"), "invalid choice: 'f8'"),
            (("diff", self.nvfp4, self.folder / "none"), "none"),
            (("diff", self.nvfp4, self.nvfp4, "--shown=0"), "expected a number from 1 on"),
            (("diff", self.nvfp4, self.nvfp4, "--sqnr=much"), "invalid float value"),
        ]
        for arguments, message in cases:
            with self.subTest(" ".join(map(str, arguments))):
                status, out, error = run(*arguments)
                self.assertEqual((status, out), (2, ""))
                self.assertIn(message, error)
                self.assertIn("error: ", error)
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()),
                         ["broken.safetensors", "empty.txt"])

    def test_interrupted(self):
        with mock.patch("blockscale.checkpoint._quantize._quantize.quantize",
                        side_effect=KeyboardInterrupt):
            status, _, error = run("quantize", self.plain, self.folder / "a", "--format=mxfp8")
        self.assertEqual(status, 2)
        self.assertIn("interrupted; the same command with --resume goes on", error)

    def test_names_of_the_package(self):
        """All names are there, listed too, and no others."""
        for name in checkpoint.__all__:
            self.assertIsNotNone(getattr(checkpoint, name), name)
        self.assertLessEqual({*checkpoint.__all__}, {*dir(checkpoint)})
        self.assertEqual({name for names in checkpoint._MODULES.values() for name in names},
                         {*checkpoint.__all__})
        with self.assertRaisesRegex(AttributeError, "has no attribute 'quantise'"):
            _ = checkpoint.quantise

    def test_imports(self):
        """A program that is about to choose a command has imported none of them."""
        program = ("import sys, blockscale.checkpoint._command; print(*(name for name in ("
                   "'_quantize._calibrate', '_check._check', '_convert._convert', '_diff', "
                   "'_quantize._quantize') "
                   "if 'blockscale.checkpoint.' + name in sys.modules))")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("\n", ""))

    def test_help(self):
        """Each command and option says what it is for."""
        parser = _command._make_parser()
        commands = next(action for action in parser._actions
                        if isinstance(action, argparse._SubParsersAction))
        for name, command in commands.choices.items():
            self.assertTrue(command.description, name)
            for action in command._actions:
                self.assertTrue(action.help, f"{name}: {action.dest}")
        self.assertIn("blockscale-checkpoint ", run("--version")[1])


class BarTest(unittest.TestCase):
    def test_rate_and_time_left(self):
        """The rate is that of this process: what a job did before it was resumed is no part."""
        times = iter([0.0, 1.0, 3.0, 3.01, 5.0])
        file = io.StringIO()
        bar = Bar(file, lambda: next(times))
        bar("a", 100 << 20, 1000 << 20)
        bar("b", 400 << 20, 1000 << 20)
        self.assertIn(" 40 % of 1000.0 MiB, 100.0 MiB/s, 0:06 left  b", file.getvalue())
        shown = file.getvalue()
        bar("c", 410 << 20, 1000 << 20)  # too soon after
        self.assertEqual(file.getvalue(), shown)
        bar("d", 1000 << 20, 1000 << 20)
        self.assertIn("########################  100 %".replace("  ", " "), file.getvalue())
        bar.close()
        self.assertTrue(file.getvalue().endswith("\r\x1b[K"))

    def test_numbers(self):
        self.assertEqual([format_bytes(each) for each in (5, 2048, 3 << 20, 5 << 30)],
                         ["5 B", "2.0 KiB", "3.0 MiB", "5.0 GiB"])
        self.assertEqual([format_time(each) for each in (5.4, 65, 3725)],
                         ["0:05", "1:05", "1:02:05"])


if __name__ == "__main__":
    unittest.main()
