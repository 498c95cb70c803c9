# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What configurations say of layers: every family's form, patterns of names, and thousands of
them."""

import importlib.util
import time
import unittest
import unittest.mock

from blockscale import ArgumentError
from blockscale.checkpoint._config import Group, Scheme
from blockscale.checkpoint._families import read_scheme
from blockscale.checkpoint._patterns import Budget, Patterns

LINEAR = {"targets": ["Linear"], "weights": {}}


class SchemeTest(unittest.TestCase):
    def find(self, config, name, quantization=None):
        found = read_scheme({"quantization_config": config} if config else {}, quantization or {})
        group = found.find(name)
        return found.family, group and (group.algorithm, group.format,
                                        group.quantizes_activations, group.has_static_scale)

    def test_families(self):
        for config, wanted in (
                ({"quant_method": "modelopt", "quant_algo": "NVFP4"},
                 ("modelopt", ("NVFP4", "nvfp4", True, True))),
                ({"quant_algo": "W4A16_NVFP4"},
                 ("modelopt", ("W4A16_NVFP4", "nvfp4", False, False))),
                ({"quant_method": "modelopt", "quant_algo": "MXFP8"},
                 ("modelopt", ("MXFP8", "mxfp8", True, False))),
                ({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
                  "config_groups": {"group_0": {**LINEAR, "input_activations": {
                      "dynamic": "local"}}}},
                 ("compressed-tensors", ("nvfp4-pack-quantized", "nvfp4", True, True))),
                ({"quant_method": "compressed-tensors", "format": "mixed-precision",
                  "config_groups": {"group_0": {**LINEAR, "format": "mxfp8-quantized",
                                                "input_activations": {"dynamic": True}}}},
                 ("compressed-tensors", ("mxfp8-quantized", "mxfp8", True, False))),
                ({"quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
                  "config_groups": {"group_0": {**LINEAR, "input_activations": None}}},
                 ("compressed-tensors", ("mxfp4-pack-quantized", "mxfp4", False, False))),
                ({"quant_method": "mxfp4"}, ("gpt-oss", ("mxfp4", "mxfp4", False, False))),
                ({"quant_method": "fp8", "weight_block_size": [128, 128]},
                 ("fp8-blocks", ("fp8", "fp8_blocks", True, False))),
                ({"quant_method": "torchao", "quant_type": {"default": {
                    "_type": "MXDynamicActivationMXWeightConfig", "_data": {"weight_dtype": {
                        "_type": "torch.dtype", "_data": "float4_e2m1fn_x2"}}}}},
                 ("torchao", ("MXDynamicActivationMXWeightConfig", "mxfp4", True, False))),
                ({"quant_method": "awq"}, ("awq", None)), (None, ("", None))):
            with self.subTest(config):
                self.assertEqual(self.find(config, "model.layers.0.mlp.down_proj"), wanted)

    def test_names_of_compressed_tensors(self):
        """A name that is ignored means a module itself and not what is in it, as in its matcher;
        groups that name a layer come before those of its class."""
        group = {"weights": {}, "input_activations": None}
        config = {"quant_method": "compressed-tensors", "ignore": [
            "model.layers.0.self_attn", "lm_head", "re:.*gate$", "model.layers.1.mlp.experts"],
            "config_groups": {
                "a": {**group, "targets": ["Linear"], "format": "nvfp4-pack-quantized"},
                "b": {**group, "targets": ["re:.*down_proj"], "format": "mxfp4-pack-quantized"},
                "c": {**group, "targets": ["Embedding"], "format": "mxfp8-quantized"}}}
        for name, wanted in (("model.layers.0.self_attn.q_proj", "nvfp4"), ("lm_head", None),
                             ("model.lm_head", None), ("model.layers.0.mlp.gate", None),
                             ("model.layers.0.mlp.down_proj", "mxfp4"),
                             ("model.layers.0.mlp.up_proj", "nvfp4"),
                             ("model.layers.1.mlp.experts.down_proj", None)):
            with self.subTest(name):
                found = self.find(config, name)[1]
                self.assertEqual(found and found[1], wanted)
        # ModelOpt's names mean what is in a module, too.
        config = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": [
            "model.layers.0.self_attn"]}
        self.assertIsNone(self.find(config, "model.layers.0.self_attn.q_proj")[1])

    def test_hf_quant_config(self):
        """It counts where config.json says nothing."""
        inner = {"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}}
        self.assertEqual(self.find(None, "a.b", inner)[1][0], "NVFP4")
        self.assertEqual(self.find(None, "lm_head", inner), ("modelopt", None))
        self.assertEqual(self.find({"quant_method": "mxfp4"}, "a.b", inner)[0], "gpt-oss")

    def test_mixed_precision(self):
        config = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
            "a.b": {"quant_algo": "NVFP4"}, "a.c": {"quant_algo": "MXFP8"}}}
        self.assertEqual(self.find(config, "a.b")[1][0], "NVFP4")
        self.assertEqual(self.find(config, "a.c")[1][0], "MXFP8")
        self.assertIsNone(self.find(config, "a.d")[1])

    def test_patterns(self):
        for pattern, name, wanted in (
                ("lm_head", "lm_head", True), ("lm_head", "model.lm_head", True),
                ("lm_head", "lm_heads", False), ("a.b", "a.b.c", True), ("a.b", "a.bc", False),
                ("b.c", "a.b.c", True), ("a.b.weight", "a.b", True),
                ("model.layers.*.self_attn", "model.layers.3.self_attn.q_proj", True),
                ("model.layers.*.self_attn", "model.layers.3.mlp.up_proj", False),
                ("*router*", "a.router.w", True), ("layers.[01].x", "layers.1.x", True),
                ("layers.?.x", "layers.12.x", False), ("re:.*lm_head", "model.lm_head", True),
                ("re:lm_head", "model.lm_head", False),
                # Text with escapes, up to the end, needs no engine; what goes on does.
                (r"re:a\.b-c/d\.1$", "a.b-c/d.1", True), (r"re:a\.b$", "a.b.c", False),
                (r"re:a\.b", "a.b.c", True), (r"re:a.b$", "axb", True),
                (r"re:a\d$", "a7", True), (r"re:a\d$", "ad", False),
                # RE2 lacks what looks ahead and back, and reads some syntax otherwise.
                (r"re:model(?!.*lm_head)\..*", "model.x", True),
                (r"re:model(?!.*lm_head)\..*", "model.lm_head", False),
                (r"re:(a|b)\.\1", "b.b", True), (r"re:(a|b)\.\1", "a.b", False),
                ("re:x{,3}y$", "xxy", True), ("re:x{,3}y$", "x{,3}y", False)):
            with self.subTest(pattern, name=name):
                self.assertEqual(Patterns([pattern], Budget("here")).match(name), wanted)

    def test_patterns_without_re2(self):
        """The other package gives the same answers."""
        with unittest.mock.patch.dict("sys.modules", {"re2": None}):
            self.test_patterns()

    @unittest.mock.patch("blockscale.checkpoint._patterns.SECONDS", 0.25)
    def test_patterns_that_are_none(self):
        for pattern, reason in (
                ("re:(", "behind 're:', but got '\\(': missing"),
                ("re:(?=x)" + "(" * 900 + ")" * 900, "recursion"),
                ("re:(?=x)" + "a" * 3000, "at most 2000 characters, but got 3005"),
                ("*" * 3000, "wildcards of at most 2000 characters, but got 3000"),
                ("re:(?!x)(a|aa)+$", "match all names of layers within 0.25 s, but they take lon"),
                ("re:(?=a)(((a{1,999}){1,999}){1,999}){1,999}$", "they take longer")):
            with self.subTest(pattern[:40]):
                with self.assertRaisesRegex(ArgumentError, f"^here: expected .*{reason}"):
                    Patterns([pattern], Budget("here")).match("a" * 99 + "!")

    def test_patterns_that_would_take_for_ever(self):
        """RE2 takes a time that goes with the name, as do wildcards."""
        if importlib.util.find_spec("re2") is None:
            self.skipTest("google-re2 is not installed")
        start = time.process_time()
        for pattern in ("re:(a+)+$", "re:(a|aa)+$", "re:(.*)*(.*)*x", "re:((a*)*)*b",
                        "*a" * 40 + "b"):
            self.assertFalse(Patterns([pattern], Budget("here")).match("a" * 1000 + "!"), pattern)
        self.assertLess(time.process_time() - start, 2)

    @unittest.mock.patch("blockscale.checkpoint._patterns.SECONDS", 0.25)
    def test_patterns_share_their_time(self):
        """Each group of a configuration may have some that take long."""
        start = time.process_time()
        slow = [f"re:(?!x)(a|aa)+{number}" for number in range(50)]
        scheme = Scheme("f", tuple(Group("g", "nvfp4", False, targets=(each,)) for each in slow),
                        origin="config.json")
        with self.assertRaisesRegex(ArgumentError, "config.json: expected .* take longer"):
            scheme.find("a" * 99)
        self.assertLess(time.process_time() - start, 2)

    def test_as_many_patterns_as_layers(self):
        """The time goes with the number of layers, not with its square."""
        names = [f"model.layers.{layer}.mlp.experts.{expert}.up_proj"
                 for layer in range(60) for expert in range(256)]
        patterns = Patterns([*names[::2], "model.layers.*.self_attn*"], Budget("here"))
        start = time.process_time()
        self.assertEqual(sum(map(patterns.match, names)), len(names) // 2)
        self.assertLess(time.process_time() - start, 3)


if __name__ == "__main__":
    unittest.main()
