# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single layers of vLLM: tensor parallelism, parts that differ, and what is refused."""

import importlib.util
import os
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

if importlib.util.find_spec("vllm") is None:
    print("test_layers: skipped, no vLLM; scripts/peers.sh vllm installs it")
    raise unittest.SkipTest("no vLLM; scripts/peers.sh vllm installs it")

import torch
from vllm.model_executor.layers.linear import (
    MergedColumnParallelLinear,
    QKVParallelLinear,
    ReplicatedLinear,
    RowParallelLinear,
    UnquantizedLinearMethod,
)
from vllm.model_executor.layers.vocab_parallel_embedding import (
    ParallelLMHead,
    VocabParallelEmbedding,
)

import vllm_stubs as stubs
from blockscale.checkpoint._families import LAYOUTS
from blockscale.vllm._experts import BlockScaleExpertsMethod
from blockscale.vllm._files import Options, Part
from vllm_models import families, load_by_transformers, load_layer, make_rows, read_config

#: A layout in FP8.
FP8 = next(each for each in LAYOUTS if each.format == "fp8_blocks" and each.family == "fp8-blocks")
PATH = "model.layers.0"
QKV = {f"{PATH}.self_attn.{part}_proj": part for part in "qkv"}
MLP = {f"{PATH}.mlp.gate_proj": 0, f"{PATH}.mlp.up_proj": 1}
DOWN = f"{PATH}.mlp.down_proj"


class LayersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        families.save_plain("llama", root / "plain")
        cls.folders = {
            layout: families.quantize(root / "plain", root / layout, layout)
            for layout in ("modelopt-nvfp4", "packed-nvfp4", "modelopt-mxfp8", "fp8-blocks",
                           "blockscale")}
        # Queries, keys and values have a bias there.
        families.save_plain("qwen2", root / "biased")
        cls.biased = families.quantize(root / "biased", root / "qwen2", "modelopt-nvfp4")
        cls.tensors = {layout: families.read_tensors(folder)
                       for layout, folder in cls.folders.items()}

    def setUp(self):
        self.enterContext(stubs.rank_of(0, 1))
        self.layout = "modelopt-nvfp4"

    def read(self, **members):
        return read_config(self.folders[self.layout], **members)

    def make_qkv(self, config=None, bias=False):
        return QKVParallelLinear(128, 32, 4, 2, bias=bias, params_dtype=torch.bfloat16,
                                 quant_config=config or self.read(),
                                 prefix=f"{PATH}.self_attn.qkv_proj")

    def make_mlp(self, config=None):
        return MergedColumnParallelLinear(128, [256, 256], bias=False,
                                          params_dtype=torch.bfloat16,
                                          quant_config=config or self.read(),
                                          prefix=f"{PATH}.mlp.gate_up_proj")

    def make_down(self, config=None, **options):
        return RowParallelLinear(256, 128, bias=False, params_dtype=torch.bfloat16,
                                 quant_config=config or self.read(), prefix=DOWN, **options)

    def test_ranks(self):
        """Each of two ranks has its part of the rows, or of the columns, of a weight."""
        for layout in self.folders:
            with self.subTest(layout):
                self.layout, tensors = layout, self.tensors[layout]
                door = load_by_transformers(self.folders[layout])
                owner = door.get_submodule(f"{PATH}.self_attn")
                x = make_rows(128)
                rows = {}
                for rank in range(2):
                    with stubs.rank_of(rank, 2):
                        if layout == "fp8-blocks":
                            layer, sizes = load_layer(self.make_mlp(), tensors, MLP), [128, 128]
                        else:
                            layer, sizes = load_layer(self.make_qkv(), tensors, QKV), [64, 32, 32]
                        rows[rank] = layer(x)[0].split(sizes, -1)
                if layout == "fp8-blocks":
                    owner = door.get_submodule(f"{PATH}.mlp")
                    layers = [owner.gate_proj, owner.up_proj]
                else:
                    layers = [owner.q_proj, owner.k_proj, owner.v_proj]
                for place, layer in enumerate(layers):
                    found = torch.cat([rows[rank][place] for rank in range(2)], -1)
                    self.assertTrue(torch.equal(found, layer(x)))
                total, x = 0, make_rows(256)
                for rank in range(2):
                    with stubs.rank_of(rank, 2):
                        layer = self.make_down(reduce_results=False)
                        load_layer(layer, tensors, {DOWN: None})
                        total = total + layer(x[:, rank * 128:rank * 128 + 128])[0].float()
                expected = door.get_submodule(DOWN)(x).float()
                self.assertLess((total - expected).norm() / expected.norm(), 0.01)

    def test_keys_and_values_of_few_heads(self):
        """Ranks share a head of keys and values where there are more ranks than heads."""
        tensors = self.tensors[self.layout]
        x, door = make_rows(128), load_by_transformers(self.folders[self.layout])
        expected = door.get_submodule(f"{PATH}.self_attn.k_proj")(x)
        for rank in range(4):
            with stubs.rank_of(rank, 4):
                found = load_layer(self.make_qkv(), tensors, QKV)(x)[0][:, 32:64]
            head = rank // 2
            self.assertTrue(torch.equal(found, expected[:, head * 32:head * 32 + 32]))

    def test_parts_with_scales_of_their_own(self):
        """Parts of a layer may have several global scales, which no quantizer should give them:
        each row has its own then. Scales of activations make several products."""
        for layout in ("modelopt-nvfp4", "packed-nvfp4"):
            with self.subTest(layout):
                self.layout, tensors = layout, dict(self.tensors[layout])
                ending = "weight_scale_2" if layout == "modelopt-nvfp4" else "weight_global_scale"
                for number, path in enumerate(QKV):
                    tensors[f"{path}.{ending}"] = tensors[f"{path}.{ending}"] * 2**number
                layer = load_layer(self.make_qkv(), tensors, QKV)
                x = make_rows(128)
                alike = load_layer(self.make_qkv(), self.tensors[layout], QKV)(x)[0]
                factors = [1, 2, 4] if layout == "modelopt-nvfp4" else [1, 0.5, 0.25]
                expected = torch.cat([part * factor for part, factor in zip(
                    alike.split([128, 64, 64], -1), factors)], -1)
                self.assertTrue(torch.equal(layer(x)[0], expected))
                self.assertEqual(len(layer.blockscale_parts), 1)

    def test_bias(self):
        """A bias is added in front of the rounding; one that vLLM adds later is left to it."""
        tensors = families.read_tensors(self.biased)
        layer = load_layer(self.make_qkv(read_config(self.biased), bias=True), tensors, QKV)
        self.assertTrue(torch.equal(layer.bias, torch.cat([tensors[f"{path}.bias"]
                                                           for path in QKV])))
        x = make_rows(128)
        wide = layer.quant_method.apply(layer, x).float()
        self.assertLess((layer(x)[0].float() - wide - layer.bias.float()).abs().max(), 0.1)
        layer.skip_bias_add = True
        self.assertTrue(torch.equal(layer(x)[0], layer.quant_method.apply(layer, x)))

    def test_what_stays_with_vllm(self):
        """Layers that the checkpoint has plain weights of, and tables."""
        config = self.read()
        head = ParallelLMHead(160, 128, quant_config=config, prefix="lm_head")
        self.assertNotIn("BlockScale", type(head.quant_method).__name__)
        table = VocabParallelEmbedding(160, 128, quant_config=config, prefix="model.embed_tokens")
        self.assertNotIn("BlockScale", type(table.quant_method).__name__)
        plain = ReplicatedLinear(128, 4, quant_config=config, prefix="model.router")
        self.assertIsInstance(plain.quant_method, UnquantizedLinearMethod)

    def test_a_quantized_head(self):
        """A head has rows of padding, and may be quantized as any layer; it is tied to no table."""
        tensors, config = dict(self.tensors[self.layout]), self.read(ignore=[])
        stored = {name: {"dtype": {"torch.uint8": "U8", "torch.float8_e4m3fn": "F8_E4M3",
                                   "torch.float32": "F32"}[str(tensor.dtype)],
                         "shape": list(tensor.shape)}
                  for name, tensor in tensors.items() if name.startswith(f"{PATH}.mlp.up_proj.")}
        stored = {name.replace(f"{PATH}.mlp.up_proj", "lm_head"): each
                  for name, each in stored.items()}
        config._files = type(config.files)(stored, config.scheme)
        head = ParallelLMHead(256, 128, params_dtype=torch.bfloat16, quant_config=config,
                              prefix="lm_head", padding_size=96)
        load_layer(head, tensors, {f"{PATH}.mlp.up_proj": None})
        x = make_rows(128)
        found = head.quant_method.apply(head, x)
        door = load_by_transformers(self.folders[self.layout])
        self.assertTrue(torch.equal(found[:, :256],
                                    door.get_submodule(f"{PATH}.mlp.up_proj")(x)))
        self.assertEqual(found[:, 256:].abs().max(), 0)
        with self.assertRaisesRegex(ValueError, "'lm_head': expected a head with a weight of its"):
            head.tie_weights(None)

    # What is refused.

    def test_options_without_effect(self):
        """Products with weights in FP8 take plain activations, and their sums have no order.
        Weights that a mark says to be for plain activations have no recipe for others."""
        fp8 = "for FP8 in blocks of 128 x 128, .*"
        for layout, variable, value, wanted, found in (
                ("fp8-blocks", "WEIGHT_ONLY", "0", f"plain activations {fp8}", "quantized ones"),
                ("fp8-blocks", "ORDER", "chain", f"sums of order free {fp8}", "chain"),
                ("blockscale", "WEIGHT_ONLY", "0", "plain activations for a weight .*",
                 "quantized ones")):
            self.layout, name = layout, f"BLOCKSCALE_VLLM_{variable}"
            with self.subTest(layout, name=name), mock.patch.dict(os.environ, {name: value}):
                self.expect(rf"'{PATH}\.mlp\.gate.*': {name}: expected {wanted}, but got {found}",
                            self.make_mlp, parts=MLP)
        found = {name: Part(name, FP8, None, ()) for name in ("w1", "w3", "w2")}
        with self.assertRaisesRegex(ValueError, "'x': BLOCKSCALE_VLLM_ORDER: expected sums of order"
                                    f" free {fp8}, but got chain"):
            BlockScaleExpertsMethod(None, "x", found, Options(order="chain"))

    def expect(self, message, make, tensors=None, parts=QKV):
        with self.assertRaisesRegex(ValueError, message):
            load_layer(make(), self.tensors[self.layout] if tensors is None else tensors, parts)

    def test_missing_tensors(self):
        for ending in ("weight", "weight_scale", "weight_scale_2"):
            name = f"{PATH}.self_attn.k_proj.{ending}"
            tensors = {each: tensor for each, tensor in self.tensors[self.layout].items()
                       if each != name}
            self.expect(f"expected a tensor '{name}', but got none", self.make_qkv, tensors)

    def test_missing_bias(self):
        """A layer with a bias has one in the files, or at least a part of it has: models add zeros
        for keys."""
        def make(*parts):
            config = self.read()
            stored = {f"{path}.{ending}": {"dtype": dtype, "shape": shape}
                      for path in QKV for ending, (dtype, shape) in {
                          "weight": ("U8", [64, 64]), "weight_scale": ("F8_E4M3", [64, 8]),
                          "weight_scale_2": ("F32", [])}.items()}
            stored |= {f"{PATH}.self_attn.{part}_proj.bias": {"dtype": "BF16", "shape": [64]}
                       for part in parts}
            config._files = type(config.files)(stored, config.scheme)
            return self.make_qkv(config, bias=True)
        name = f"{PATH}.self_attn.q_proj.bias"
        self.expect(f"expected a tensor '{name}', but got none", make)
        tensors = self.tensors[self.layout]
        self.assertEqual(len(load_layer(make("q", "v"), tensors, QKV).blockscale_parts), 1)

    def test_missing_bias_of_experts(self):
        experts, config = f"{PATH}.mlp.experts", self.read()
        moe = types.SimpleNamespace(intermediate_size=256, hidden_dim=128, num_logical_experts=2,
                                    has_bias=True)
        layer = types.SimpleNamespace(moe_config=moe, ckpt_gate_proj_name="gate_proj",
                                      ckpt_up_proj_name="up_proj", ckpt_down_proj_name="down_proj")
        stored = {f"{experts}.{number}.{name}.{ending}": {"dtype": dtype, "shape": shape}
                  for number in range(2) for name in ("gate_proj", "up_proj", "down_proj")
                  for ending, (dtype, shape) in {
                      "weight": ("U8", [256, 64]), "weight_scale": ("F8_E4M3", [256, 8]),
                      "weight_scale_2": ("F32", [])}.items()}

        def find(*biases):
            own = {each: {"dtype": "BF16", "shape": [256]} for each in biases}
            return BlockScaleExpertsMethod.find(
                layer, experts, type(config.files)({**stored, **own}, config.scheme), Options())
        with self.assertRaisesRegex(ValueError, rf"expected a tensor '{experts}\.0\.gate_proj\."
                                    "bias', or one for all experts, but got none"):
            find(f"{experts}_of_others.w13_bias")
        for name in ("w13_bias", "1.up_proj.bias"):
            self.assertEqual(find(f"{experts}.{name}").name, experts)
        moe.has_bias = False
        self.assertEqual(find().name, experts)

    def test_wrong_tensors(self):
        name = f"{PATH}.self_attn.k_proj.weight"
        self.check(name, lambda each: each[:32],
                   r"qkv_proj\.weight' of part 'k': expected shape \[64, 64\], but got "
                   r"\[32, 64\]")
        self.check(name, lambda each: torch.cat([each, each]), r"\[64, 64\].*\[128, 64\]")
        self.check(name, lambda each: each.float(), "expected torch.uint8, but got torch.float32")
        self.check(f"{name}_scale", lambda each: each.view(torch.uint8),
                   "weight_scale' of part 'k': expected torch.float8_e4m3fn, but got torch.uint8")
        self.check(f"{name}_scale", lambda each: (each.view(torch.uint8) | 0x80).view(each.dtype),
                   "expected scales that are not negative")
        self.check(f"{name}_scale",
                   lambda each: torch.full_like(each.view(torch.uint8), 0x7F).view(each.dtype),
                   "expected scales that are numbers, but got 512 NaN")
        self.check(f"{name}_scale_2", lambda each: -each, "expected a positive, finite number")
        self.layout, name = "blockscale", f"{PATH}.self_attn.k_proj"
        self.check(f"{name}.scales", lambda each: torch.full_like(each, 0x7F),
                   "expected scales that are numbers, but got 512 NaN")
        self.check(f"{name}.global_scale", lambda each: each * 0,
                   "expected a positive, finite number, but got 0.0")

    def check(self, name, change, message):
        with self.subTest(name, message=message):
            tensors = dict(self.tensors[self.layout])
            tensors[name] = change(tensors[name])
            self.expect(message, self.make_qkv, tensors)

    def test_ranks_without_whole_blocks(self):
        with stubs.rank_of(0, 32):
            self.expect("expected ranks of tensor parallelism to have whole blocks of 16 columns, "
                        "but got 8 of 256", self.make_down)
        self.layout = "fp8-blocks"
        with stubs.rank_of(0, 4):
            self.expect("whole blocks of 128 rows, but got 64", self.make_mlp)

    def test_layouts(self):
        """Layouts without modules are named, and layers whose parts have several."""
        config = self.read()
        stored = {f"{PATH}.mlp.{name}.{ending}": {"dtype": dtype, "shape": shape}
                  for name, tensors in {
                      "down_proj": {"qweight": ("I32", [32, 16]), "scales": ("F16", [4, 16])},
                      "gate_proj": {"weight": ("BF16", [256, 128])},
                      "up_proj": {"weight": ("U8", [256, 64]),
                                  "weight_scale": ("F8_E4M3", [256, 8]),
                                  "weight_scale_2": ("F32", [])}}.items()
                  for ending, (dtype, shape) in tensors.items()}
        config._files = type(config.files)(stored, config.scheme)
        self.expect(rf"'{DOWN}': expected NVFP4 or MXFP8 of ModelOpt, .* but got "
                    rf"'{DOWN}\.qweight'", lambda: self.make_down(config))
        self.expect(r"gate_proj': expected ModelOpt NVFP4 .* makes one layer of it, but got a "
                    "plain weight", lambda: self.make_mlp(config))

    def test_dtypes_of_the_head(self):
        """What the head of a file says of a tensor is held against its layout before anything is
        read, in this package's own layout and in scalars, too."""
        path = f"{PATH}.mlp.down_proj"
        own = {"data": ("U8", [128, 128]), "scales": ("U8", [128, 16]), "global_scale": ("F32", []),
               "input_global": ("F32", []), "_extra_state": ("U8", [512])}
        others = {"weight": ("U8", [128, 128]), "weight_scale": ("F8_E4M3", [128, 16]),
                  "weight_scale_2": ("F32", []), "input_scale": ("F32", [])}
        config = self.read()

        def find(tensors, **changed):
            stored = {f"{path}.{ending}": {"dtype": changed.get(ending, dtype), "shape": shape}
                      for ending, (dtype, shape) in tensors.items()}
            return type(config.files)(stored, config.scheme).find(path, [path], 256)

        for tensors, ending, dtype, expected in (
                (own, "data", "F32", "U8"), (own, "scales", "F8_E4M3", "U8"),
                (own, "global_scale", "U8", "F32"), (own, "input_global", "F8_E4M3", "F32"),
                (others, "weight_scale_2", "U8", "F32"), (others, "input_scale", "F8_E4M3", "F32"),
                (others, "input_scale", "F64", "F32")):
            with self.subTest(ending, dtype=dtype):
                self.assertEqual(len(find(tensors)), 1)
                with self.assertRaisesRegex(ValueError, rf"'{path}\.{ending}': expected "
                                            f"{expected}, as .* has it, but got {dtype}"):
                    find(tensors, **{ending: dtype})
        self.assertEqual(find(others, weight_scale_2="BF16")[0].slots[2].dtype, torch.bfloat16)

    def test_chips(self):
        """A chip without products is refused by its number."""
        from blockscale.vllm import _linear
        with (mock.patch.object(_linear, "has_product", return_value=False),
              mock.patch.object(torch.cuda, "get_device_capability", return_value=(7, 5))):
            with self.assertRaisesRegex(ValueError, "'x': expected a chip with products .* but got "
                                        r"compute capability 7\.5"):
                _linear.check_device("x", torch.device("cuda"), self.find_form())
        with self.assertRaisesRegex(ValueError, "expected a CPU or a GPU of NVIDIA, but got xpu"):
            _linear.check_device("x", torch.device("xpu"), None)
        _linear.check_device("x", torch.device("cpu"), self.find_form())

    def find_form(self):
        return load_layer(self.make_qkv(), self.tensors[self.layout], QKV).blockscale_parts[0].form

    def test_options_of_the_environment(self):
        self.layout = "modelopt-mxfp8"
        self.assertIsNotNone(self.find_form().activation)
        with mock.patch.dict(os.environ, BLOCKSCALE_VLLM_WEIGHT_ONLY="1",
                             BLOCKSCALE_VLLM_ORDER="chain"):
            form = self.find_form()
        self.assertIsNone(form.activation)
        self.assertEqual(form.order, "chain")
        # Values that say what layers do anyway.
        for layout in ("fp8-blocks", "blockscale"):
            self.layout = layout
            with mock.patch.dict(os.environ, BLOCKSCALE_VLLM_WEIGHT_ONLY="1",
                                 BLOCKSCALE_VLLM_ORDER="free"):
                load_layer(self.make_mlp(), self.tensors[layout], MLP)
        for variable in ("BLOCKSCALE_VLLM_WEIGHT_ONLY", "BLOCKSCALE_VLLM_ORDER"):
            with (mock.patch.dict(os.environ, {variable: "7"}),
                  self.assertRaisesRegex(ValueError, f"{variable}: expected .* but got '7'")):
                self.read()


if __name__ == "__main__":
    unittest.main()
