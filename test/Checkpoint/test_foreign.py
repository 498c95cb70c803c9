# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of others, made by hand, with every command: each is right, by decoders of their own,
or refused by name. scripts/long/foreign.sh does the same with those that packages write."""

import tempfile
import unittest
from pathlib import Path

from foreign import by_hand, stacks, unknown
from foreign.matrix import REFUSED, RIGHT, WRONG, Matrix, compare, run
from foreign.results import Result, decode, list_unexplained

#: A source of each kind of scales, of stacks, and of mixtures.
KNOWN = ("modelopt_fp8_cache", "modelopt_mixed", "qwen", "ue8m0", "fbgemm", "f4_e8m0", "f4_e4m3",
         "llama4_nvfp4", "llama4_fp8", "mtp", "torchao_stacks")
#: Of each mark by which a format is known, and of a configuration alone.
UNKNOWN = ("gptq_alone", "awq", "nf4_alone", "hqq", "mlx", "quark", "int8", "int4")


class TestForeign(unittest.TestCase):
    def run_all(self, source):
        with tempfile.TemporaryDirectory() as folder:
            cells = list(Matrix(source, Path(folder)).run_all())
        self.assertEqual([cell for cell in cells if cell.outcome == WRONG], [])
        return {cell.command: cell.outcome for cell in cells}

    def test_known_layouts_are_converted_rightly(self):
        for name in KNOWN:
            with self.subTest(name):
                outcomes = self.run_all(by_hand.list_known()[name]())
                for command in ("check", "list", "diff", "convert --to=plain"):
                    self.assertEqual(outcomes[command], RIGHT, command)
                # Or a family has the format, or its own, to which numbers are quantized again.
                for family in ("modelopt", "compressed-tensors", "gguf"):
                    command = f"convert --to={family}"
                    self.assertIn(RIGHT, (outcomes[command], outcomes.get(
                        f"{command} --format=nvfp4")), command)

    def test_formats_without_a_layout_are_refused_by_name(self):
        for name in UNKNOWN:
            with self.subTest(name):
                outcomes = self.run_all(unknown.make_unknown(name))
                self.assertEqual(set(outcomes.values()), {REFUSED})

    def test_what_is_wrong_is_told(self):
        """Codes that no configuration explains, and one number of one weight."""
        source = by_hand.list_known()["modelopt_mixed"]()
        with tempfile.TemporaryDirectory() as folder:
            whole = Result(source.write(Path(folder) / "whole"))
            numbers = decode(whole)
            self.assertEqual((compare(source.truth, numbers), list_unexplained(whole)), ("", []))
            source.config = {}
            bare = Result(source.write(Path(folder) / "bare"))
            decode(bare)
            self.assertEqual(len(list_unexplained(bare)), len(source.quantized))
        name = "model.layers.1.mlp.experts.2.up_proj.weight"
        numbers[name] = numbers[name].copy()
        numbers[name][3, 5] += 0.01
        self.assertRegex(compare(source.truth, numbers), f"{name}: 1 of 8192 numbers differ")
        del numbers[name]
        self.assertEqual(compare(source.truth, numbers), f"{name} is not there")

    def test_stacks_of_torchao_are_described_by_their_own_name(self):
        source = stacks.torchao_stacks()
        name = "model.layers.0.mlp.experts.gate_up_proj"
        for change, wrong in ((lambda metadata: metadata.pop(name),
                               ("expected metadata of the file "
                                f"for '{name}', but got none")),
                              (lambda metadata: metadata.update(tensor_names="[]"),
                               f"expected '{name}' among the tensor_names")):
            source.metadata = dict(stacks.torchao_stacks().metadata)
            change(source.metadata)
            with self.subTest(wrong), tempfile.TemporaryDirectory() as folder:
                ended = run("check", source.write(Path(folder) / "broken"))
                self.assertEqual(ended.status, 1)
                self.assertIn(wrong, ended.out)


if __name__ == "__main__":
    unittest.main()
