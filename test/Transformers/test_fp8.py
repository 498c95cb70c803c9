# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights in FP8, those of several layouts in one checkpoint, and gpt-oss's MXFP4."""

import importlib.util
import json
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("transformers") is None:
    print("test_fp8: skipped, no transformers; scripts/peers.sh transformers installs it")
    raise unittest.SkipTest("no transformers; scripts/peers.sh transformers installs it")

import torch
import transformers

import blockscale
import blockscale.torch
import blockscale.transformers
from blockscale.torch._fp8 import Fp8Linear, Fp8Stack
from blockscale.transformers import BlockScaleConfig
from families import (
    find_difference,
    load,
    make_checkpoint,
    make_inputs,
    quiet,
    read_tensors,
    save_plain,
    taken_over,
    write_tensors,
)

UP, DOWN = "model.layers.0.mlp.up_proj", "model.layers.1.mlp.down_proj"


def quantize(weight, dim=None):
    """Codes of E4M3 and their scale: one for all, or for each row."""
    amax = weight.float().abs().amax() if dim is None else weight.float().abs().amax(dim, True)
    scale = amax / 448
    return (weight.float() / scale).to(torch.float8_e4m3fn), scale


class Fp8Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        save_plain("llama", cls.root / "plain")
        cls.enterClassContext(taken_over())
        cls.x = make_inputs("llama")

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, source, tensors, members):
        config = json.loads((source / "config.json").read_text())
        config["quantization_config"] = members
        (self.folder / "config.json").write_text(json.dumps(config))
        write_tensors(tensors, self.folder)

    def check(self, values):
        """The model has these values, and is saved with the bytes that it was loaded from."""
        model = load(self.folder)
        for name, value in values.items():
            layer = model.get_submodule(name)
            self.assertIsInstance(layer, Fp8Linear)
            self.assertEqual(layer.data.dtype, torch.uint8)
            self.assertTrue(torch.equal(layer.decode(torch.bfloat16), value.bfloat16()))
        plain = load(self.root / "plain")
        for name, value in values.items():
            plain.get_submodule(name).weight.copy_(value)
        with quiet():
            model.save_pretrained(self.folder / "saved")
        self.assertEqual(find_difference(read_tensors(self.folder),
                                         read_tensors(self.folder / "saved")), [])
        self.assertEqual(*(json.loads((folder / "config.json").read_text())["quantization_config"]
                           for folder in (self.folder, self.folder / "saved")))
        return model, plain

    def test_scales(self):
        """One scale for a tensor and for each row, of several packages. Products are those of
        decoded weights, and input scales are saved again."""
        cases = [
            ("fp8 tensor", None, {"quant_method": "fp8", "activation_scheme": "static"},
             ".weight_scale", {".input_scale": torch.tensor(0.5)}),
            ("fbgemm row", -1, {"quant_method": "fbgemm_fp8"}, ".weight_scale", {}),
            ("packed row", -1, {"quant_method": "compressed-tensors", "format": "float-quantized",
                                "quantization_status": "compressed", "config_groups": {"group_0": {
                                    "targets": ["Linear"], "weights": {
                                        "num_bits": 8, "type": "float", "strategy": "channel"}}}},
             ".weight_scale", {}),
            ("modelopt", None, {"quant_method": "modelopt", "quant_algo": "FP8"}, ".weight_scale",
             {".input_scale": torch.tensor(0.5)})]
        for name, dim, members, ending, others in cases:
            with self.subTest(name):
                tensors, values = read_tensors(self.root / "plain"), {}
                for path in (UP, DOWN):
                    codes, scale = quantize(tensors[f"{path}.weight"], dim)
                    tensors.update({f"{path}.weight": codes, path + ending: scale})
                    tensors.update({path + each: value.clone()
                                    for each, value in others.items()})
                    values[path] = codes.float() * scale
                self.write(self.root / "plain", tensors, members)
                model, plain = self.check(values)
                self.assertTrue(torch.equal(model(**self.x).logits, plain(**self.x).logits))
                self.assertEqual(model.to(torch.float32).get_submodule(UP).data.dtype, torch.uint8)

    def test_a_head(self):
        """A head in FP8 has no other number of rows."""
        tensors = read_tensors(self.root / "plain")
        codes, scale = quantize(tensors["lm_head.weight"])
        tensors.update({"lm_head.weight": codes, "lm_head.weight_scale": scale})
        self.write(self.root / "plain", tensors, {"quant_method": "fp8"})
        model, _ = self.check({"lm_head": codes.float() * scale})
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "expected a plain head.*got one in FP8 of one scale a tensor"):
            model.resize_token_embeddings(176)
        self.assertEqual(model.get_input_embeddings().num_embeddings, 160)

    def test_a_mixed_checkpoint(self):
        """ModelOpt's, some of whose layers are NVFP4 and others FP8."""
        make_checkpoint("llama", "modelopt-nvfp4", self.root)
        tensors = read_tensors(self.root / "quantized")
        source = read_tensors(self.root / "plain")[f"{UP}.weight"]
        codes, scale = quantize(source)
        del tensors[f"{UP}.weight_scale_2"]
        tensors.update({f"{UP}.weight": codes, f"{UP}.weight_scale": scale})
        paths = {name.removesuffix(".weight_scale") for name in tensors
                 if name.endswith(".weight_scale")}
        layers = {path: {"quant_algo": "FP8" if path == UP else "W4A16_NVFP4"} for path in paths}
        self.write(self.root / "quantized", tensors, {
            "quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers,
            "ignore": ["lm_head"]})
        model, _ = self.check({UP: codes.float() * scale})
        kinds = {path: type(model.get_submodule(path)).__name__ for path in paths}
        self.assertEqual(set(kinds.values()), {"Fp8Linear", "QuantizedLinear"})
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "expected the family modelopt, since ModelOpt FP8 stays"):
            blockscale.transformers.set_family(model, "compressed-tensors")

    def test_experts(self):
        """A stack of experts has the codes of their layers."""
        make_checkpoint("mixtral", "fp8-blocks", self.folder)
        model = load(self.folder / "quantized")
        stack = model.model.layers[0].mlp.experts.gate_up_proj
        self.assertIsInstance(stack, Fp8Stack)
        self.assertEqual(list(stack.scales.shape), [4, 4, 1])
        rows = torch.randn(7, 128).bfloat16()
        found = stack(rows, torch.tensor([2, 2, 5, 6], dtype=torch.int32))
        for number, (begin, end) in enumerate(((0, 2), (2, 2), (2, 5), (5, 6))):
            expected = rows[begin:end] @ stack.decode(torch.bfloat16, number).t()
            torch.testing.assert_close(found[begin:end], expected)
        self.assertFalse(found[6].any())

    def test_options_without_effect(self):
        """Products with weights in FP8 take plain activations, and their sums have no order."""
        tensors = read_tensors(self.root / "plain")
        for path in (UP, DOWN):
            codes, scale = quantize(tensors[f"{path}.weight"])
            tensors.update({f"{path}.weight": codes, f"{path}.weight_scale": scale})
        self.write(self.root / "plain", tensors, {"quant_method": "fp8"})
        plain = "which is multiplied by no others, but got quantized ones"
        free = "which PyTorch multiplies, but got chain"
        for options, wanted, found in (
                ({"weight_only": False}, "weight_only: expected plain activations", plain),
                ({"order": "chain"}, "order: expected sums of order free", free)):
            expected = f"{wanted} for FP8 of one scale a tensor, {found}"
            with self.subTest(**options):
                with self.assertRaises(blockscale.ArgumentError) as caught:
                    load(self.folder, quantization_config=BlockScaleConfig(**options))
                self.assertEqual(str(caught.exception).split("\n"),
                                 [f"'{path}': {expected}" for path in (UP, DOWN)])
        config = BlockScaleConfig(weight_only=True, order="free")
        self.assertIsInstance(load(self.folder, quantization_config=config).get_submodule(UP),
                              Fp8Linear)

    def test_refused(self):
        """Wrong tensors in FP8, all in one error."""
        tensors = read_tensors(self.root / "plain")
        for path in (UP, DOWN):
            codes, scale = quantize(tensors[f"{path}.weight"])
            tensors.update({f"{path}.weight": codes, f"{path}.weight_scale": scale})
        codes = tensors[f"{UP}.weight"].view(torch.uint8).clone()
        codes[3, 5] = 0x7F
        tensors[f"{UP}.weight"] = codes.view(torch.float8_e4m3fn)
        tensors[f"{DOWN}.weight_scale"] = torch.tensor(float("inf"))
        self.write(self.root / "plain", tensors, {"quant_method": "fp8"})
        with self.assertRaises(blockscale.ArgumentError) as caught:
            load(self.folder)
        self.assertEqual(str(caught.exception).split("\n"), [
            f"'{UP}.weight': expected numbers, but got 1 that are none",
            f"'{DOWN}.weight_scale': expected numbers, but got 1 that are none"])

    def test_gpt_oss(self):
        """Its stacks stay stacks, and its biases are read."""
        torch.manual_seed(0)
        config = transformers.GptOssConfig(
            hidden_size=128, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=32, vocab_size=160, num_local_experts=4,
            num_experts_per_tok=2, layer_types=["sliding_attention", "full_attention"])
        model = transformers.GptOssForCausalLM(config).bfloat16().eval().requires_grad_(False)
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) / 8)
        with quiet():
            model.save_pretrained(self.folder / "plain")
        model = load(self.folder / "plain")
        blockscale.torch.quantize_(model, {"version": 1, "rules": [
            {"format": "mxfp4", "weight_only": True, "match": {"location": "*experts*"}}]})
        blockscale.transformers.set_family(model, "gpt-oss")
        with quiet():
            model.save_pretrained(self.folder / "saved")
        tensors = read_tensors(self.folder / "saved")
        path = "model.layers.0.mlp.experts.gate_up_proj"
        self.assertEqual(list(tensors[f"{path}_blocks"].shape), [4, 256, 4, 16])
        again = load(self.folder / "saved")
        self.assertEqual(type(again.model.layers[0].mlp.experts).__name__,
                         type(model.model.layers[0].mlp.experts).__name__)
        self.assertTrue(torch.equal(again(**self.x).logits, model(**self.x).logits))
        with quiet():
            again.save_pretrained(self.folder / "again")
        self.assertEqual(find_difference(tensors, read_tensors(self.folder / "again")), [])
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected a weight in nvfp4, mxfp8"):
            blockscale.transformers.set_family(model, "modelopt")
        with self.assertRaisesRegex(blockscale.ArgumentError, "but they alternate in this model"):
            blockscale.transformers.set_family(model, "compressed-tensors")


if __name__ == "__main__":
    unittest.main()
