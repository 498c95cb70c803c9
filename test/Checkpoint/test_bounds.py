# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files take memory and time by their size, whatever they say of themselves; what they say is shown
without characters that a terminal obeys. Each command has 2 GiB and 10 s."""

import io
import json
import struct
import tempfile
import tracemalloc
import unittest
import zipfile
from pathlib import Path

import numpy as np

import blockscale
import decoders
from blockscale._native._checkpoint import lay_out
from blockscale.checkpoint import _patterns, check, quantize
from limited import SECONDS, Limited

VALUES = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 64 - 30
LAYER = {f"model.layers.0.mlp.{name}.weight": VALUES
         for name in ("gate_proj", "up_proj", "down_proj")}
NESTED = "[" * 100_000 + "]" * 100_000
SLOW = "re:(?!x)(a|aa)+$"
#: The terminal's escape, a return, a change of direction, a line of its own, a C1 control, and half
#: of a surrogate pair.
EVIL = "a\x1b[2Jb\rc\u202ed\ne\x9bf"


def header(members):
    text = json.dumps(members).encode()
    return struct.pack("<Q", len(text)) + text


class BoundsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.limited = cls.enterClassContext(Limited())

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, tensors=LAYER, config="{}", metadata=None, name="model"):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        data = tensors if isinstance(tensors, bytes) else decoders.pack_file(tensors, metadata)
        (folder / "model.safetensors").write_bytes(data)
        (folder / "config.json").write_text(
            config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
        return folder

    def expect(self, arguments, status, message):
        return self.expect_outcome(self.limited.command(*arguments), status, message)

    def expect_outcome(self, outcome, status, message):
        self.assertEqual(outcome.find_fault(), "", outcome.text)
        self.assertEqual(outcome.status, status, outcome.text)
        self.assertRegex(outcome.text, message)
        self.assertLess(outcome.memory, 1 << 28)
        return outcome

    def test_numbers_of_layers(self):
        for text, status, message in (
                ("1000000000", 1, "expected 1000000000 layers, .* number 1, 2, 3, 4, 5, 6, 7, 8"),
                ("1", 0, "no faults found"), ("null", 0, "no faults found"),
                ("1e9", 2, "integer from 0 to 2147483647, but got 1000000000.0"),
                ("2147483648", 2, "but got 2147483648"), ("-1", 2, "but got -1"),
                ("true", 2, "but got True"), ('"1"', 2, "but got '1'"), ("{}", 2, "but got {}"),
                ("NaN", 2, "but got nan"), ("Infinity", 2, "but got inf"),
                ("1e400", 2, "'1e400', which no f64 is"),
                ("9" * 400, 2, "an integer of 400 digits, of which at most 24"),
                ("9" * 5000, 2, "an integer of 5000 digits, of which at most 24")):
            for config in ('{"num_hidden_layers": %s}',
                           '{"text_config": {"num_hidden_layers": %s}}'):
                with self.subTest(text[:40], config=config):
                    self.expect(["check", self.write(config=config % text)], status, message)

    def test_amaxes_of_activations(self):
        """Scales that f32 has as 0 or as infinity are errors, and leave nothing."""
        folder, target = self.write(), self.folder / "result"
        policy = {"version": 1, "rules": [{"format": "nvfp4"}]}
        for amax, message in ((1e39, r"but got 1e\+39"), (1e-46, "but got 1e-46"),
                              (10 ** 400, "but got 1000"), (float("nan"), "but got nan"),
                              (True, "but got True"), ("3", "but got '3'")):
            amaxes = dict.fromkeys((name.removesuffix(".weight") for name in LAYER), amax)
            with self.subTest(amax), self.assertRaisesRegex(
                    blockscale.ArgumentError,
                    f"the amax of '.*gate_proj' to be positive and finite in f32, {message}"):
                quantize(folder, target, policy, amaxes=amaxes)
            self.assertEqual([path.name for path in self.folder.iterdir()], ["model"])

    def test_numbers_that_are_not_finite(self):
        """Also where a policy gives the amax of weights."""
        policy = {"version": 1, "rules": [
            {"format": "nvfp4", "weight_only": True, "cast": "bf16",
             "global_scale": {"amax": 40.0}}]}
        quantize(self.write(), self.folder / "finite", policy)
        for number in (np.inf, -np.inf, np.nan):
            name, values = "model.layers.0.mlp.up_proj.weight", VALUES.copy()
            values[3, 5] = number
            folder = self.write({**LAYER, name: values}, name="not")
            with self.subTest(number), self.assertRaisesRegex(
                    blockscale.ArgumentError, "up_proj': expected numbers that are finite"):
                quantize(folder, self.folder / f"result{number}", policy)

    def test_a_result_that_is_a_link(self):
        """It is refused before anything is done: a folder could not take its place."""
        folder, policy = self.write(), {"version": 1, "rules": [{"format": "mxfp8"}]}
        (self.folder / "empty").mkdir()
        for name, target in (("to nothing", "none"), ("to a folder", "empty")):
            (self.folder / name).symlink_to(target)
            for written in (name, f"{name}/"):
                with self.subTest(written), self.assertRaisesRegex(
                        blockscale.ArgumentError, f"'.*{written}' to be a new .*, but got a link"):
                    quantize(folder, f"{self.folder}/{written}", policy)
            self.assertTrue((self.folder / name).is_symlink())
        self.assertEqual(len(list(self.folder.iterdir())), 4)

    def test_names_that_have_nothing_in_common(self):
        """What layers, experts and scales of the cache are held against grows with the file."""
        count, config = 8000, {"num_hidden_layers": 8000, "vocab_size": 8}
        for name, status in (("model.layers.{0}.p{0}.weight", 0),
                             ("model.layers.1.p{0}.weight", 1),
                             ("model.layers.0.m{0}.experts.0.up_proj.weight", 1),
                             ("model.layers.0.mlp.experts.{0}.x{0}.weight", 1),
                             ("m.layers.{0}.self_attn.a{0}.k_scale", 1)):
            with self.subTest(name):
                tensors = {name.format(number): np.zeros(1, np.float32) for number in range(count)}
                self.expect(["check", self.write(tensors, config)], status, "no faults|expected")

    def test_memory_of_check(self):
        """It goes through tensors in parts, whatever their names make them."""
        rows, columns = 4096, 16384
        for name, kind, size in (("w.weight", "NVFP4", 36 / 64), ("w.weight", "MXFP4", 17 / 32),
                                 ("w.weight", "BF16", 2), ("w.k_scale", "BF16", 2)):
            path = self.folder / f"{kind}.gguf"
            layout = lay_out("gguf", [(name, kind, (rows, columns))])
            with open(path, "wb") as file:
                file.write(layout.header)
                file.truncate(layout.nbytes)
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            check(path)
            peak = tracemalloc.get_traced_memory()[1]
            self.assertLess(peak, rows * columns * size / 2, f"{name} {kind}")
            self.assertLess(peak, 24 << 20, f"{name} {kind}")
            path.unlink()

    def test_memory_of_one_row(self):
        """Rows that are looked at are no more than a part of a weight."""
        for name, kind in (("a.q_proj.weight", "NVFP4"), ("a.q_proj.weight", "BF16"),
                           ("embed_tokens.weight", "BF16")):
            path = self.folder / f"{kind}.gguf"
            layout = lay_out("gguf", [(name, kind, (1, 1 << 26))])
            with open(path, "wb") as file:
                file.write(layout.header + bytes(64 - len(layout.header) % 64))
                file.truncate(layout.nbytes)
            tracemalloc.start()
            self.addCleanup(tracemalloc.stop)
            check(path)
            self.assertLess(tracemalloc.get_traced_memory()[1], 24 << 20, name)

    def test_hidden_size(self):
        """It tells the order of stacks."""
        stack = {"model.layers.0.mlp.experts.down_proj": np.ones((2, 32, 64), np.float32)}
        for command in ("list", "check"):
            self.expect([command, self.write(stack, '{"hidden_size": 1e9}')], 2,
                        "expected hidden_size to be an integer")
            # Some models have sizes for each layer.
            self.expect([command, self.write(stack, '{"hidden_size": [1, 2]}')], 0, "done")

    def test_numbers_of_experts(self):
        for number, message in (
                ("1000000000", ("expected experts 0 to 1000000000, but got none with number 1, 2, "
                                "3, 4, 5, 6, 7, 8")),
                ("9" * 18, "expected experts 0 to " + "9" * 18)):
            folder = self.write({f"model.layers.0.mlp.experts.{each}.up_proj.weight": VALUES
                                 for each in ("0", number)})
            self.expect(["check", folder], 1, message)
        for number in ("9" * 400, "\u0663"):  # No number, and one of Arabic.
            folder = self.write({
                f"model.layers.{each}.mlp.experts.{each}.up_proj.weight": VALUES * factor
                for factor, each in ((1, "0"), (2, number))})
            self.expect(["check", folder], 0, "no faults found")

    def test_names_that_are_too_long(self):
        folder = self.write({"a" * 1025: VALUES})
        for command in ("list", "check"):
            self.expect([command, folder], 2,
                        "expected names of at most 1024 characters, but got 'aaa")
        self.expect(["list", self.write({"a" * 1017 + ".weight": VALUES})], 0, "1 tensors|a{1000}")

    def test_sizes_without_elements(self):
        for shape in ([1 << 60, 0, 32], [1 << 60, 0], [0, 1 << 60], [1 << 40, 32, 0], [0, 0]):
            with self.subTest(shape):
                entries = {name: {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}
                           for name in ("model.layers.0.mlp.experts.down_proj", "up_proj.weight")}
                folder = self.write(header(entries), {"hidden_size": 32})
                for arguments in (["list", folder], ["check", folder], ["diff", folder, folder]):
                    self.expect(arguments, 0, "done")

    def test_quantized_sizes_without_elements(self):
        for shape in ([1 << 60, 0], [0, 1 << 59], [1 << 50, 0, 16]):
            entries = {"w.weight": {"dtype": "U8", "shape": shape, "data_offsets": [0, 0]},
                       "w.weight_scale": {"dtype": "F8_E4M3", "shape": shape,
                                          "data_offsets": [0, 0]}}
            folder = self.write(header(entries))
            for arguments in (["list", folder], ["check", folder],
                              ["convert", folder, self.folder / "result", "--to=plain"]):
                outcome = self.limited.command(*arguments)
                self.assertEqual(outcome.find_fault(), "", outcome.text)

    def test_threads_in_few_addresses(self):
        """Threads that allocate from memory of their own would take all addresses there are."""
        outcome = self.limited.call("addresses", "measure", self.write())
        self.assertEqual(outcome.status, 0, outcome.text)

    def test_members_that_are_packed(self):
        """A small file of compile_ahead() would be a large one."""
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("manifest.json", bytes(64 << 20))
        self.assertLess(len(file.getvalue()), 1 << 17)
        with self.assertRaisesRegex(blockscale.FileError, "expected 'manifest.json' as it is, but "
                                                          "got it compressed"):
            blockscale.load(file.getvalue())

    def test_expressions(self):
        config = {"quantization_config": {
            "quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
            "config_groups": {"g": {"targets": ["Linear"]}}, "ignore": []}}
        members = config["quantization_config"]
        long = {"a" * 100 + "b.weight": VALUES}
        for pattern, message in (("re:(", "a regular expression behind 're:', but got"),
                                 ("re:(?=x)" + "(" * 900, "a regular expression")):
            for place in ("ignore", "targets"):
                members["ignore"] = [pattern] if place == "ignore" else []
                members["config_groups"]["g"]["targets"] = (
                    [pattern] if place == "targets" else ["Linear"])
                with self.subTest(pattern[:20], place=place):
                    self.expect(["check", self.write(long, config)], 2,
                                f"config.json: quantization_config: expected .*{message}")
        members["ignore"] = [r"re:(.*\.)*a+$", "re:(a+)+$", "re:(?!model)a+b"]
        self.expect(["check", self.write(long, config)], 0, "no faults found")
        members["ignore"] = [SLOW]
        self.expect_outcome(
            self.limited.call("hasty", "check", self.write(long, config)), 2,
            "config.json: quantization_config: expected regular expressions that match all names "
            "of layers within 0.3 s, but they take longer")
        self.assertLess(_patterns.SECONDS, SECONDS / 3)

    def test_nested_metadata(self):
        """Metadata of torchao are text of JSON in text of JSON."""
        for text in (NESTED, '{"_type": ' + NESTED + "}", "9" * 5000, '"\\ud800"', "[" + NESTED):
            with self.subTest(text[:20]):
                metadata = {"w.weight": text, "tensor_names": text}
                folder = self.write(metadata=metadata)
                for command in ("list", "check"):
                    self.expect([command, folder], 0, "done")

    def test_names_that_terminals_obey(self):
        shown = r"a\\x1b\[2Jb\\x0dc\\u202ed\\x0ae\\x9bf"
        first = self.write({f"{EVIL}.weight": VALUES, f"{EVIL}.bias": VALUES[0] * np.nan})
        second = self.write({f"{EVIL}.weight": VALUES + 1, f"{EVIL}.s": VALUES}, name="second")
        self.expect(["list", first], 0, shown)
        self.expect(["list", "--tensors", first], 0, shown)
        self.expect(["check", first], 1, f"{shown}.bias: expected finite")
        self.expect(["diff", first, second], 1, f"only the second has '{shown}.s'")
        good = self.write({f"{EVIL}.weight": VALUES.astype(decoders.DTYPES["BF16"])}, name="good")
        self.expect(["quantize", first, self.folder / "r", "--format=nvfp4", "--weight-only"], 2,
                    f"error: '{shown}': policy_c5")
        self.expect(["quantize", good, self.folder / "r", "--format=nvfp4", "--weight-only",
                     f"--plot={self.folder / 'r.svg'}"], 0, shown)
        self.assertIn("a\\x1b[2Jb", (self.folder / "r.svg").read_text())
        self.expect(["check", self.folder / "r"], 0, "done")
        self.expect(["convert", self.folder / "r", self.folder / "c", "--to=torchao"], 0, "done")
        # Errors of this package, of its library, and of the system.
        bad = {f"{EVIL}": {"dtype": "F32", "shape": [7], "data_offsets": [0, 4]}}
        self.expect(["list", self.write(header(bad) + bytes(4), name="bad")], 2, shown)
        self.expect(["list", self.folder / f"{EVIL}.safetensors"], 2, shown)
        evil = json.dumps({"quantization_config": {"quant_method": EVIL}})
        self.expect(["list", self.write(config=evil)], 0, shown)
        for config in (('{"quantization_config": {"quant_method": "modelopt", "ignore": '
                        '{"%s": 1}}}'), '{"%s": 1, "%s": 2}'):
            text = config.replace("%s", json.dumps(EVIL)[1:-1])
            self.expect(["check", self.write(config=text)], 2, r"a\\x1b\[2Jb")


if __name__ == "__main__":
    unittest.main()
