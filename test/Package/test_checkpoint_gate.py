# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What convert and quantize refuse: sources with errors, weights that nothing explains, and results
with errors; what they let through when they are told to; and configurations that stay."""

import json
import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale
import checkpoints
from blockscale import checkpoint

Q = "model.layers.0.self_attn.q_proj"
WEIGHT_ONLY = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
MXFP8 = {"version": 1, "rules": [{"format": "mxfp8"}]}


def read_tensors(folder):
    """All tensors of a folder as (type, shape, bytes)."""
    return {name: (tensor.dtype, tensor.shape, tensor.bytes().tobytes())
            for name, tensor in checkpoint.open(folder).tensors.items()}


class GateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.tensors, cls.config = checkpoints.make_model()
        cls.plain = checkpoints.write_model(cls.root / "plain", cls.tensors, cls.config)
        cls.nvfp4 = cls.root / "nvfp4"
        checkpoint.quantize(cls.plain, cls.nvfp4, WEIGHT_ONLY)

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.result = self.folder / "result"

    def change(self, change, source=None):
        """A source whose tensors and configurations a function has changed."""
        source = source or self.nvfp4
        tensors = read_tensors(source)
        configs = {path.name: json.loads(path.read_text()) for path in source.glob("*.json")
                   if path.name != "tokenizer.json"}
        change(tensors, configs)
        changed = self.folder / f"changed-{len(list(self.folder.iterdir()))}"
        checkpoints.write_model(changed, tensors, {})
        for name, members in configs.items():
            (changed / name).write_text(json.dumps(members))
        return changed

    def refuse(self, message, run):
        with self.assertRaises(blockscale.ArgumentError) as caught:
            run()
        self.assertIn(message, str(caught.exception))
        self.assertFalse(self.result.exists())
        self.assertFalse(self.result.with_name("result.partial").exists())

    # --- Sources ---------------------------------------------------------------------------------

    def test_sources_with_errors(self):
        """Nothing is written of a source that check finds an error in, whatever the target."""
        def no_global(tensors, _):
            del tensors[f"{Q}.weight_scale_2"]

        def global_of_bf16(tensors, _):
            value = np.frombuffer(tensors[f"{Q}.weight_scale_2"][2], np.float32)
            tensors[f"{Q}.weight_scale_2"] = value[:1].astype(ml_dtypes.bfloat16).reshape(())

        def transposed(tensors, _):
            dtype, shape, data = tensors[f"{Q}.weight_scale"]
            tensors[f"{Q}.weight_scale"] = dtype, shape[::-1], data

        def nan(tensors, _):
            dtype, shape, data = tensors[f"{Q}.weight_scale"]
            tensors[f"{Q}.weight_scale"] = dtype, shape, b"\x7f" + data[1:]
        for change, rule in ((no_global, "has-global-scale"), (global_of_bf16, "types-of-parts"),
                             (transposed, "order-of-scales"), (nan, "scales-are-numbers")):
            source = self.change(change)
            for to in ("plain", "compressed-tensors", "modelopt"):
                with self.subTest(rule, to=to):
                    self.refuse(f"{rule}: '{Q}", lambda to=to, source=source:
                                checkpoint.convert(source, self.result, to))
            with self.subTest(rule, to="quantize"):
                self.refuse(rule, lambda source=source: checkpoint.quantize(
                    source, self.result, WEIGHT_ONLY))

    def test_allowed(self):
        """A rule that is allowed is told, and others are not allowed by it."""
        def more_layers(_, configs):
            configs["config.json"]["num_hidden_layers"] = 3
        for source, run in (
                (self.change(more_layers), lambda source, **options: checkpoint.convert(
                    source, self.result, "plain", **options)),
                (self.change(more_layers, self.plain), lambda source, **options:
                 checkpoint.quantize(source, self.result, WEIGHT_ONLY, **options))):
            for allow in ("all-layers", ["C18"]):
                self.result = self.folder / f"{len(list(self.folder.iterdir()))}"
                self.refuse("allow all-layers to go on nevertheless", lambda run=run, source=source:
                            run(source))
                self.refuse("all-layers", lambda run=run, source=source: run(
                    source, allow=["has-scales"]))
                found = run(source, allow=allow)
                self.assertEqual([each.split(":")[1] for each in found.allowed],
                                 [" C18 all-layers"])
                self.assertIn("allowed: error: C18 all-layers", str(found))
                self.assertEqual(json.loads(found.to_json())["allowed"], list(found.allowed))
        for rule, message in (("nothing", "expected rules of docs/CheckpointFaults.md"),
                              ("known-layout", "leave names weights")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                checkpoint.convert(self.nvfp4, self.folder / "none", "plain", allow=[rule])

    def test_no_scale_is_one(self):
        """A global scale that is not there is no 1, though its absence is allowed."""
        def no_global(tensors, _):
            del tensors[f"{Q}.weight_scale_2"]
        source = self.change(no_global)
        self.refuse(f"'{Q}' is ModelOpt NVFP4 without all its parts", lambda: checkpoint.convert(
            source, self.result, "plain", allow=["has-global-scale", "configured-weights"]))
        with self.assertRaisesRegex(blockscale.ArgumentError, "without all its parts"):
            checkpoint.diff(self.nvfp4, source)

    def test_plain_numbers(self):
        """Numbers that are not finite are found where tensors are copied, and where weights are
        quantized without an amax."""
        def change_norm(tensors, _):
            dtype, shape, data = tensors["model.norm.weight"]
            tensors["model.norm.weight"] = dtype, shape, b"\xc0\x7f" + data[2:]

        def change_weight(tensors, _):
            dtype, shape, data = tensors[f"{Q}.weight"]
            tensors[f"{Q}.weight"] = dtype, shape, data[:-2] + b"\x80\x7f"
        source = self.change(change_norm, self.plain)
        self.refuse("plain-numbers: 'model.norm.weight'", lambda: checkpoint.quantize(
            source, self.result, WEIGHT_ONLY))
        found = checkpoint.quantize(source, self.folder / "allowed", WEIGHT_ONLY,
                                    allow=["plain-numbers"])
        self.assertEqual(len(found.allowed), 1)
        source = self.change(change_norm)
        self.refuse("plain-numbers: 'model.norm.weight'", lambda: checkpoint.convert(
            source, self.result, "compressed-tensors"))
        source = self.change(change_weight, self.plain)
        with self.assertRaisesRegex(blockscale.ArgumentError, "an amax of inf"):
            checkpoint.quantize(source, self.folder / "mxfp8", MXFP8)

    # --- Results ---------------------------------------------------------------------------------

    def test_results_with_errors(self):
        """A result is looked at before it takes its name."""
        def large(tensors, _):
            value = np.array(1e4, np.float32)
            for name in tensors:
                if name.endswith("weight_scale_2"):
                    tensors[name] = value
        source = self.change(large)
        self.refuse("plain-numbers", lambda: checkpoint.convert(source, self.result, "plain",
                                                                dtype="f16"))
        file = self.folder / "result.safetensors"
        with self.assertRaisesRegex(blockscale.ArgumentError, "plain-numbers"):
            checkpoint.convert(source, file, "plain", dtype="f16")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["changed-0"])

    # --- Weights that nothing explains -----------------------------------------------------------

    def make_mixed(self):
        """A source in which ModelOpt's INT8 is beside its NVFP4."""
        def change(tensors, configs):
            for name in [name for name in tensors if name.startswith(Q + ".w")]:
                del tensors[name]
            tensors[f"{Q}.weight"] = "I8", (64, 64), bytes(range(64)) * 64
            tensors[f"{Q}.weight_scale"] = "F32", (64,), np.full(64, 0.01, np.float32).tobytes()
            inner = configs["hf_quant_config.json"]["quantization"]
            outer = configs["config.json"]["quantization_config"]
            layers = {name: {"quant_algo": "W4A16_NVFP4", "group_size": 16}
                      for name, weight in checkpoint.open(self.nvfp4).weights.items()
                      if not weight.layout.is_plain and name != Q}
            layers[Q] = {"quant_algo": "INT8_WO"}
            outer.pop("config_groups")
            for each in (inner, outer):
                each |= {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}
        return self.change(change)

    def test_unknown_weights(self):
        """They are refused, or stay with their configuration where they are named."""
        source = self.make_mixed()
        allow = ["whole-fused-groups"]
        for to in ("plain", "modelopt", "compressed-tensors"):
            self.refuse("INT8, not known here", lambda to=to: checkpoint.convert(
                source, self.result, to, allow=allow))
        self.refuse("has a place for the configuration of", lambda: checkpoint.convert(
            source, self.result, "compressed-tensors", allow=allow, leave=[Q]))
        self.refuse("'lm_head' is none", lambda: checkpoint.convert(
            source, self.result, "plain", allow=allow, leave=[Q, "lm_head"]))
        for to in ("plain", "modelopt"):
            with self.subTest(to):
                self.result = self.folder / to
                found = checkpoint.convert(source, self.result, to, allow=allow, leave="*q_proj")
                self.assertEqual(found.kept, (Q,))
                self.assertIn(f"stay as they are, with their configuration: '{Q}'", str(found))
                before, after = read_tensors(source), read_tensors(self.result)
                for name in (f"{Q}.weight", f"{Q}.weight_scale"):
                    self.assertEqual(before[name], after[name])
                opened = checkpoint.open(self.result)
                self.assertEqual(opened.scheme.find(Q).algorithm, "INT8_WO")
                other = opened.scheme.find("model.layers.0.mlp.down_proj")
                self.assertEqual(other and other.algorithm,
                                 None if to == "plain" else "W4A16_NVFP4")
                errors = {each.rule.name for each in checkpoint.check(self.result).findings
                          if each.rule.severity == "error"}
                self.assertLessEqual(errors, {"known-layout", "whole-fused-groups"})

    def test_unknown_weights_beside_plain_ones(self):
        """quantize leaves them as convert does."""
        def change(tensors, configs):
            tensors[f"{Q}.weight"] = "I8", (64, 64), bytes(range(64)) * 64
            tensors[f"{Q}.weight_scale"] = "F32", (64,), np.full(64, 0.01, np.float32).tobytes()
            configs["config.json"]["quantization_config"] = {
                "quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "ignore": [],
                "quantized_layers": {Q: {"quant_algo": "INT8_WO"}}}
        source = self.change(change, self.plain)
        allow = ["whole-fused-groups"]
        self.refuse("INT8, not known here", lambda: checkpoint.quantize(
            source, self.result, WEIGHT_ONLY, allow=allow))
        self.refuse("has a place for the configuration of", lambda: checkpoint.quantize(
            source, self.result, WEIGHT_ONLY, allow=allow, leave=[Q], layout="torchao"))
        found = checkpoint.quantize(source, self.result, WEIGHT_ONLY, allow=allow, leave=[Q])
        self.assertEqual((found.kept, json.loads(found.to_json())["kept"]), ((Q,), [Q]))
        self.assertEqual(read_tensors(source)[f"{Q}.weight"],
                         read_tensors(self.result)[f"{Q}.weight"])
        scheme = checkpoint.open(self.result).scheme
        self.assertEqual([scheme.find(name).algorithm for name in (
            Q, "model.layers.0.mlp.down_proj")], ["INT8_WO", "W4A16_NVFP4"])

    def test_unknown_groups(self):
        """The groups of compressed-tensors stay, too."""
        packed = self.folder / "packed"
        checkpoint.convert(self.nvfp4, packed, "compressed-tensors")

        def change(tensors, configs):
            for name in [name for name in tensors if name.startswith(Q + ".w")]:
                del tensors[name]
            tensors[f"{Q}.weight"] = "I8", (64, 64), bytes(range(64)) * 64
            tensors[f"{Q}.weight_scale"] = "F32", (64, 1), np.full(64, 0.01, np.float32).tobytes()
            members = configs["config.json"]["quantization_config"]
            members["config_groups"] = {"eight": {
                "format": "int-quantized", "targets": [Q], "input_activations": None,
                "weights": {"num_bits": 8, "type": "int", "strategy": "channel"}},
                **members["config_groups"]}
        source = self.change(change, packed)
        allow = ["whole-fused-groups"]
        self.refuse("not known here", lambda: checkpoint.convert(
            source, self.result, "plain", allow=allow))
        for to in ("plain", "compressed-tensors"):
            with self.subTest(to):
                self.result = self.folder / to
                checkpoint.convert(source, self.result, to, allow=allow, leave=[Q])
                scheme = checkpoint.open(self.result).scheme
                self.assertEqual(scheme.find(Q).algorithm, "int-quantized")
                other = scheme.find("model.layers.0.mlp.down_proj")
                self.assertEqual(other and other.format, None if to == "plain" else "nvfp4")

    def test_unknown_alone(self):
        """A checkpoint of a family that is not known stays what it is."""
        def change(tensors, configs):
            tensors.clear()
            tensors[f"{Q}.qweight"] = "I32", (8, 64), bytes(2048)
            tensors[f"{Q}.g_idx"] = "I32", (64,), bytes(256)
            configs["config.json"]["quantization_config"] = {"quant_method": "gptq", "bits": 4}
        source = self.change(change, self.plain)
        self.refuse("GPTQ, not known here", lambda: checkpoint.convert(
            source, self.result, "plain"))
        checkpoint.convert(source, self.result, "plain", leave=["*"])
        self.assertEqual(checkpoint.open(self.result).config["quantization_config"],
                         {"quant_method": "gptq", "bits": 4})

    # --- Configurations --------------------------------------------------------------------------

    def test_transforms(self):
        """Rotations stay in their family, and are refused in others."""
        packed = self.folder / "packed"
        checkpoint.convert(self.nvfp4, packed, "compressed-tensors")
        transforms = {"config_groups": {"R1": {"type": "hadamard", "apply": []}}}

        def change(_, configs):
            configs["config.json"]["quantization_config"]["transform_config"] = transforms
        source = self.change(change, packed)
        for to in ("plain", "modelopt", "torchao", "gguf"):
            self.refuse(f"expected no transforms, as {to} has none, but got 'transform_config'",
                        lambda to=to: checkpoint.convert(source, self.result, to))
        checkpoint.convert(source, self.result, "compressed-tensors")
        found = checkpoint.open(self.result).config["quantization_config"]
        self.assertEqual(found["transform_config"], transforms)

    def test_caches(self):
        """How the KV cache is quantized stays said, or is told where there is no place for it."""
        scales = {f"model.layers.{layer}.self_attn.{name}_proj.{name}_scale":
                  ("F32", (), np.array(0.02, np.float32).tobytes())
                  for layer in range(2) for name in "kv"}

        def change(kind, tensors, configs):
            tensors |= scales
            configs["hf_quant_config.json"]["quantization"]["kv_cache_quant_algo"] = kind
        for kind in ("FP8", "NVFP4"):
            source = self.change(lambda *both, kind=kind: change(kind, *both))
            # config.json is what loaders read; it says nothing of the cache here.
            members = json.loads((source / "config.json").read_text())
            members["quantization_config"]["kv_cache_scheme"] = (
                {"dynamic": False, "num_bits": 8, "type": "float"} if kind == "FP8" else
                {"dynamic": True, "num_bits": 4, "type": "float"})
            (source / "config.json").write_text(json.dumps(members))
            for to in ("modelopt", "compressed-tensors", "torchao", "plain"):
                with self.subTest(kind, to=to):
                    self.result = self.folder / f"{kind}-{to}"
                    found = checkpoint.convert(source, self.result, to)
                    opened = checkpoint.open(self.result)
                    self.assertLessEqual(set(scales), set(opened.tensors))
                    stays = to == "modelopt" or (kind == "FP8" and to == "compressed-tensors")
                    self.assertEqual(bool(opened.scheme.kv_cache), stays)
                    self.assertEqual(any("KV cache" in each for each in found.dropped), not stays)
        fp8 = self.folder / "fp8"
        codes = np.ones((64, 64), np.float32).astype(ml_dtypes.float8_e4m3fn)
        checkpoints.write_model(fp8, {
            f"{Q}.weight": codes, f"{Q}.weight_scale": np.array(0.5, np.float32),
            f"{Q}.input_scale": np.array(0.5, np.float32), **scales},
            {"hidden_size": 64, "quantization_config": {
                "quant_method": "modelopt", "quant_algo": "FP8", "ignore": [],
                "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"}}})
        for layout, stays in (("modelopt", True), ("torchao", False)):
            found = checkpoint.quantize(fp8, self.folder / f"fp8-{layout}", WEIGHT_ONLY,
                                        layout=layout)
            scheme = checkpoint.open(self.folder / f"fp8-{layout}").scheme
            self.assertEqual((scheme.kv_cache, bool(found.dropped)),
                             ("FP8", False) if stays else ("", True))

    def test_ties(self):
        """A head that is tied is named among layers that are not quantized."""
        def change(tensors, configs):
            del tensors["lm_head.weight"]
            configs["config.json"]["tie_word_embeddings"] = True
            for each in (configs["config.json"]["quantization_config"]["ignore"],
                         configs["hf_quant_config.json"]["quantization"]["exclude_modules"]):
                each.remove("lm_head")
        source = self.change(change)
        checkpoint.convert(source, self.result, "compressed-tensors")
        found = checkpoint.open(self.result).config["quantization_config"]
        self.assertIn("lm_head", found["ignore"])

    def test_plain_stacks(self):
        """Stacks that stay plain are named, too."""
        tensors = {**read_tensors(self.plain), "mtp.layers.0.mlp.experts.down_proj":
                   ("BF16", (3, 64, 128), bytes(2 * 3 * 64 * 128))}
        source = checkpoints.write_model(self.folder / "stacks", tensors, self.config)
        policy = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True,
                                           "match": {"location": "model.layers.*"}}]}
        checkpoint.quantize(source, self.folder / "quantized", policy)
        checkpoint.convert(self.folder / "quantized", self.result, "compressed-tensors")
        for folder in (self.folder / "quantized", self.result):
            self.assertTrue(checkpoint.open(folder).scheme.ignores(
                "mtp.layers.0.mlp.experts.down_proj"))

    def test_unequal_scales(self):
        """Layers that loaders fuse need one global scale, which other families do not have."""
        source = self.folder / "torchao"
        checkpoint.quantize(self.plain, source, WEIGHT_ONLY, layout="torchao")
        self.refuse("expected one global scale for layers that loaders fuse", lambda:
                    checkpoint.convert(source, self.result, "modelopt"))
        found = checkpoint.convert(source, self.result, "modelopt", format="nvfp4")
        ways = {layer.name: layer.way for layer in found.layers}
        self.assertEqual((ways[Q], ways["model.layers.0.mlp.down_proj"]),
                         ("quantized again", "codes and scales stay"))

    # --- Files -----------------------------------------------------------------------------------

    def test_consolidated(self):
        """A model that is there under two sets of names is one."""
        source = self.change(lambda *_: None, self.plain)
        checkpoints.save(source / "consolidated.safetensors", {"layers.0.wq.weight": np.ones(
            (64, 64), np.float32)})
        self.assertEqual(list(checkpoint.open(source).tensors), list(self.tensors))
        (source / "model.safetensors").unlink()
        self.assertEqual(list(checkpoint.open(source).tensors), ["layers.0.wq.weight"])
        checkpoints.save(source / "model.gguf", {"a": np.ones(4, np.float32)})
        with self.assertRaisesRegex(blockscale.ArgumentError, "but got both"):
            checkpoint.open(source)

    def test_command(self):
        def more_layers(_, configs):
            configs["config.json"]["num_hidden_layers"] = 3
        source = self.change(more_layers)
        arguments = ["convert", str(source), str(self.result), "--to=plain", "--quiet"]
        self.assertEqual(checkpoints.run_command(*arguments), 2)
        self.assertFalse(self.result.exists())
        self.assertEqual(checkpoints.run_command(*arguments, "--allow=all-layers"), 0)
        mixed = self.make_mixed()
        self.assertEqual(checkpoints.run_command(
            "convert", mixed, self.folder / "mixed", "--to=plain", "--quiet", "--allow=C16",
            f"--leave={Q}"), 0)


if __name__ == "__main__":
    unittest.main()
