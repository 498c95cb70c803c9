# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What layers are: by the class that a configuration names, and by patterns where none is known,
which is said; and which layers share a global scale."""

import contextlib
import io
import itertools
import json
import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale
import checkpoints
from blockscale import checkpoint
from blockscale.checkpoint import _model_table
from blockscale.checkpoint._names import Names

WEIGHT_ONLY = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
VERSION = _model_table.get_version()


def name_class(architecture, **members):
    return Names({"architectures": [architecture], **members})


class TableTest(unittest.TestCase):
    def test_kinds(self):
        for architecture, layer, kind in (
                ("LlamaForCausalLM", "model.embed_tokens", "embedding"),
                ("LlamaForCausalLM", "model.layers.31.self_attn.q_proj", "linear"),
                ("LlamaForCausalLM", "model.layers.0.input_layernorm", "norm"),
                ("LlamaForCausalLM", "lm_head", "head"),
                # Files have names of their own, which transformers changes when it loads them.
                ("MixtralForCausalLM", "model.layers.3.block_sparse_moe.gate", "router"),
                ("MixtralForCausalLM", "model.layers.3.block_sparse_moe.experts.7.w2", "linear"),
                ("MixtralForCausalLM", "model.layers.3.mlp.experts.gate_up_proj", "stack"),
                ("GPTNeoXForCausalLM", "embed_out", "head"),
                ("Qwen3_5ForConditionalGeneration",
                 "model.language_model.layers.0.linear_attn.conv1d", "convolution"),
                ("Qwen3_5ForConditionalGeneration",
                 "model.language_model.layers.0.linear_attn.in_proj_z", "linear"),
                ("GPT2LMHeadModel", "transformer.h.0.attn.c_attn", "transposed"),
                ("DbrxForCausalLM", "transformer.blocks.0.ffn.router.layer", "router"),
                # Words that patterns take for tables, and the reverse.
                ("ElectraForPreTraining", "electra.embeddings_project", "linear"),
                ("OPTForCausalLM", "model.decoder.project_in", "linear"),
                ("XLNetLMHeadModel", "transformer.word_embedding", "embedding"),
                ("ViTForImageClassification", "classifier", "head")):
            with self.subTest(architecture=architecture, layer=layer):
                self.assertEqual(name_class(architecture).find_kind(layer), kind)

    def test_names_with_and_without_the_base(self):
        self.assertEqual(name_class("GPT2LMHeadModel").find_kind("h.3.attn.c_attn"), "transposed")
        self.assertEqual(name_class("BertModel").find_kind("bert.embeddings.word_embeddings"),
                         "embedding")

    def test_layers_of_another_list(self):
        names = name_class("Qwen3MoeForCausalLM")
        self.assertEqual(names.find_kind("mtp.layers.0.mlp.gate"), "router")
        self.assertEqual(names.find_kind("mtp.layers.0.self_attn.q_proj"), "linear")

    def test_experts_of_a_stack(self):
        """Classes that are saved with stacks have layers of each expert where they are
        quantized."""
        names = name_class("Qwen3_5MoeForConditionalGeneration")
        path = "model.language_model.layers.0.mlp.experts."
        self.assertEqual(names.find_kind(path + "gate_up_proj"), "stack")
        self.assertEqual(names.find_kind(path + "5.gate_proj"), "linear")
        self.assertEqual(names.describe([path + "5.gate_proj"]), "")

    def test_modules(self):
        architecture = _model_table.find_architecture("GPTNeoXForCausalLM")
        self.assertEqual(architecture.get_module("embed_out"), "lm_head")
        self.assertEqual(architecture.get_module("gpt_neox.layers.1.mlp.dense_4h_to_h"),
                         "gpt_neox.layers.1.mlp.dense_4h_to_h")
        architecture = _model_table.find_architecture("LlavaForConditionalGeneration")
        self.assertEqual(
            architecture.get_module("language_model.model.layers.11.mlp.up_proj"),
            "model.language_model.layers.11.mlp.up_proj")
        self.assertEqual(architecture.get_module("language_model.lm_head"), "lm_head")

    def test_heads_that_stay_plain(self):
        names = name_class("GPTNeoXForCausalLM")
        self.assertEqual(names.list_left(["embed_out"], {}), ["embed_out", "lm_head"])
        self.assertEqual(names.list_left([], {"embed_out": 4}), [])
        # The head of tied embeddings has no tensor, and is a layer of the model.
        self.assertEqual(name_class("LlamaForCausalLM").list_left(["model.embed_tokens"], {}),
                         ["lm_head"])
        self.assertIn("cls.predictions.decoder", name_class("BertForMaskedLM").list_left([], {}))
        self.assertEqual(Names({"tie_word_embeddings": True}).list_left(["a"], {}),
                         ["a", "lm_head"])
        self.assertEqual(Names({}).list_left(["a"], {}), ["a"])

    def test_obstacles(self):
        for names, layer, text in (
                (name_class("LlamaForCausalLM"), "model.embed_tokens",
                 "expected a layer, but it is a table of embeddings of LlamaForCausalLM"),
                (name_class("MixtralForCausalLM"), "model.layers.0.block_sparse_moe.gate",
                 "expected a layer of many rows, but it is a router of MixtralForCausalLM"),
                (name_class("Qwen3_5ForCausalLM"), "model.layers.0.linear_attn.conv1d",
                 "expected a linear layer, but it is a convolution of Qwen3_5ForCausalLM"),
                (name_class("GPT2LMHeadModel"), "transformer.h.0.mlp.c_fc",
                 "expected a weight [N, K], but GPT2LMHeadModel has [K, N]"),
                (name_class("LlamaForCausalLM", tie_word_embeddings=True), "lm_head",
                 "expected a head of its own, but tie_word_embeddings makes it the embeddings'"),
                (Names({}), "model.embed_tokens",
                 "expected a layer, but its name says that it is a table of embeddings"),
                (Names({"model_type": "gpt2"}), "h.0.mlp.c_fc",
                 "expected a weight [N, K], but gpt2 has [K, N]"),
                (name_class("LlamaForCausalLM"), "extra.router",
                 "expected a layer of many rows, but its name says that it is a router")):
            with self.subTest(layer=layer):
                self.assertEqual(names.find_obstacle(layer), text)
        # By patterns this is a table.
        self.assertEqual(name_class("ElectraForPreTraining").find_obstacle(
            "electra.embeddings_project"), "")
        self.assertNotEqual(Names({}).find_obstacle("electra.embeddings_project"), "")


class SayingTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tensors, self.config = checkpoints.make_model(layers=1)

    def run_all(self):
        """What quantize, list and check say of names."""
        model = checkpoints.write_model(self.folder / "model", self.tensors, self.config)
        result = self.folder / "result"
        summary = checkpoint.quantize(model, result, WEIGHT_ONLY)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            checkpoints.run_command("list", model)
        listed = io.StringIO()
        with contextlib.redirect_stdout(listed):
            checkpoints.run_command("list", "--json", model)
        report = checkpoint.check(result)
        for text, names in ((str(summary), summary.names), (shown.getvalue(), summary.names),
                            (str(report), report.names)):
            self.assertEqual(text.count("patterns of names"), int(bool(names)))
            self.assertIn(names, text)
        self.assertEqual(json.loads(listed.getvalue())["names"], summary.names)
        self.assertEqual(report.to_dict()["names"], report.names)
        self.assertEqual(summary.to_dict()["names"], summary.names)
        self.assertEqual(report.names, summary.names)
        return summary.names

    def test_no_class(self):
        self.assertEqual(self.run_all(), "layers are told by patterns of names: the configuration "
                                         f"names no class of transformers {VERSION}")

    def test_another_class(self):
        self.config["architectures"] = ["NoSuchModel", 7]
        self.assertEqual(self.run_all(), "layers are told by patterns of names: the configuration "
                         f"names 'NoSuchModel' and '7', which transformers {VERSION} does not have")

    def test_a_class(self):
        self.config["architectures"] = ["LlamaForCausalLM"]
        self.assertEqual(self.run_all(), "")

    def test_layers_that_a_class_does_not_have(self):
        self.config["architectures"] = ["LlamaForCausalLM"]
        for number in range(5):
            self.tensors[f"model.extra.{number}.weight"] = self.tensors[
                "model.layers.0.self_attn.o_proj.weight"]
        self.assertEqual(self.run_all(), "'model.extra.0', 'model.extra.1', 'model.extra.2' and 2 "
                         "more are told by patterns of names: LlamaForCausalLM of transformers "
                         f"{VERSION} has no such layers")

    def test_no_layers(self):
        self.assertEqual(Names({}).describe([]), "")


class GroupsTest(unittest.TestCase):
    def test_groups(self):
        path = "model.layers.0."
        for architecture, layers, groups in (
                ("", "a.q_proj a.k_proj a.v_proj a.o_proj b.q_proj", 3),
                ("", "a.wq a.wk a.wv a.wo", 2),
                ("", "m.gate_proj m.up_proj m.down_proj", 2),
                ("", "a.q_a_proj a.kv_a_proj_with_mqa a.q_b_proj", 2),
                ("Qwen3_5ForCausalLM",
                 "a.in_proj_qkv a.in_proj_z a.in_proj_b a.in_proj_a a.out_proj", 3),
                # What only some classes fuse.
                ("KimiLinearForCausalLM", "a.q_proj a.k_proj a.v_proj a.b_proj a.f_a_proj", 1),
                ("LlamaForCausalLM", "a.q_proj a.k_proj a.v_proj a.b_proj a.f_a_proj", 3),
                ("DeepseekV4ForCausalLM", "a.wq_a a.wkv a.c.wkv a.c.wgate", 2),
                ("", "a.wq_a a.wkv a.c.wkv a.c.wgate", 4),
                ("Qwen4ExpForCausalLM", "a.q_proj a.k_proj a.v_proj a.indexer.index_qk_proj", 1),
                ("", "a.q_proj a.k_proj a.v_proj a.indexer.index_qk_proj", 2),
                # A group has words before it, and an expert's layers are its own.
                ("", "experts.0.w1 experts.0.w3 experts.1.w1 experts.1.w3", 2)):
            with self.subTest(architecture=architecture, layers=layers):
                names = [path + each for each in layers.split()]
                found = name_class(architecture).find_groups(names)
                self.assertEqual(sorted(itertools.chain.from_iterable(found)), sorted(names))
                self.assertEqual(len(found), groups)
        self.assertEqual(Names({}).get_group("q_proj"), "q_proj")

    def test_one_global_scale(self):
        random = np.random.default_rng(0)
        with tempfile.TemporaryDirectory() as folder:
            names = {"wq": 1, "wk": 4, "wv": 9, "wo": 2, "in_proj_qkv": 3, "in_proj_z": 5,
                     "in_proj_b": 7, "in_proj_a": 6}
            tensors = {f"layers.0.mix.{name}.weight": (size * random.standard_normal(
                (32, 64))).astype(ml_dtypes.bfloat16) for name, size in names.items()}
            model = checkpoints.write_model(Path(folder) / "model", tensors, {})
            checkpoint.quantize(model, Path(folder) / "result", WEIGHT_ONLY)
            scales = {name: float(checkpoint.open(Path(folder) / "result").weights[
                f"layers.0.mix.{name}"].parts["global_scale"].numpy()) for name in names}
        self.assertEqual(len(set(scales.values())), 4)
        self.assertEqual(scales["wq"], scales["wv"])
        self.assertEqual(scales["in_proj_qkv"], scales["in_proj_z"])
        self.assertEqual(scales["in_proj_b"], scales["in_proj_a"])

    def test_a_narrow_layer_of_a_group(self):
        """What a policy leaves for its size alone, loaders leave with all of its group."""
        with tempfile.TemporaryDirectory() as folder:
            tensors = {f"layers.0.mix.{name}.weight": np.ones((rows, 64), ml_dtypes.bfloat16)
                       for name, rows in (("in_proj_b", 8), ("in_proj_a", 32), ("wo", 32))}
            model = checkpoints.write_model(Path(folder) / "model", tensors, {})
            summary = checkpoint.quantize(model, Path(folder) / "result", WEIGHT_ONLY)
            self.assertEqual([layer.name for layer in summary.quantized], ["layers.0.mix.wo"])
            self.assertEqual({layer.name[-1]: layer.reason for layer in summary.left}["a"],
                             "expected all layers that loaders fuse to be quantized, but "
                             "'layers.0.mix.in_proj_b' is left: policy_c3: expected at least 16 "
                             "rows, as many as a block has elements, but got 8")
            policy = {"version": 1, "rules": [
                {"match": {"location": "*in_proj_b"}, "leave": True},
                {"format": "nvfp4", "weight_only": True}]}
            with self.assertRaisesRegex(blockscale.ArgumentError,
                                        "expected one form for layers that loaders fuse"):
                checkpoint.quantize(model, Path(folder) / "other", policy)


if __name__ == "__main__":
    unittest.main()
