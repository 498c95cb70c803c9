# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blockscale.checkpoint.check: planted faults are found, each by its rule, and clean checkpoints
have none."""

import copy
import json
import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale
import checkpoints
from blockscale import checkpoint
from blockscale._native._checkpoint import Metadata
from blockscale.checkpoint._check import _claims, _loaders
from blockscale.checkpoint._check._claims import LOADERS
from blockscale.checkpoint._check._rules import RULES

Q, K, V = (f"model.layers.0.self_attn.{name}_proj" for name in "qkv")
DOWN = "model.layers.0.mlp.down_proj"
EXPERT = "model.layers.1.mlp.experts.1.gate_proj"
NVFP4 = {"version": 1, "rules": [{"format": "nvfp4", "activations": {
    "global_scale": {"amax": 6.0}}}]}


def make_structured_model():
    """A model whose hidden state has large and small channels, as those of real ones."""
    tensors, config = checkpoints.make_model()
    channels = np.exp(np.random.default_rng(1).standard_normal(64)).astype(np.float32)
    for name, tensor in tensors.items():
        if tensor.ndim >= 2 and tensor.shape[-1] == 64:
            tensors[name] = (tensor.astype(np.float32) * channels).astype(tensor.dtype)
    return tensors, {**config, "num_hidden_layers": 2}


class Files:
    """The tensors and configurations of a checkpoint, to break."""

    def __init__(self, folder):
        found = checkpoint.open(folder)
        self.tensors = {}
        for name, tensor in found.tensors.items():
            self.tensors[name] = np.array(tensor.numpy())
        self.config = copy.deepcopy(found.config)
        self.quantization = copy.deepcopy(found.quantization)
        self.metadata = {each.key: each.value for mapped in found.files.values()
                         for each in mapped.metadata}

    def write(self, folder):
        folder.mkdir()
        checkpoints.save(folder / "model.safetensors", self.tensors, self.metadata)
        (folder / "config.json").write_text(json.dumps(self.config))
        if self.quantization:
            (folder / "hf_quant_config.json").write_text(json.dumps(self.quantization))
        return folder

    def edit(self, name, function):
        self.tensors[name] = np.ascontiguousarray(function(self.tensors[name]))

    def edit_bytes(self, name, function):
        """Changes the bytes of a tensor in place."""
        function(self.tensors[name].view(np.uint8).reshape(-1))

    @property
    def inner(self):
        return self.quantization["quantization"]

    @property
    def outer(self):
        return self.config["quantization_config"]


def set_byte(value):
    def change(data):
        data[3] = value
    return change


def swap_nibbles(data):
    return data >> 4 | data << 4


def drop_plain(files, name):
    del files.tensors[f"{name}.weight_scale"], files.tensors[f"{name}.weight_scale_2"]
    del files.tensors[f"{name}.input_scale"]
    files.tensors[f"{name}.weight"] = np.zeros((32, 64), ml_dtypes.bfloat16)


#: Of ModelOpt's NVFP4: a name, the rule that finds it, and what breaks the files.
FAULTS = (
    ("no configuration", "has-configuration",
     lambda f: (f.config.pop("quantization_config"), f.quantization.clear())),
    ("a plain weight that the configuration quantizes", "configured-weights",
     lambda f: [drop_plain(f, name) for name in (Q, K, V)]),
    ("codes of a layer that is ignored", "ignored-weights",
     lambda f: f.outer["ignore"].append(DOWN)),
    ("codes of another format than the configuration says", "configured-format",
     lambda f: (f.outer.update(quant_algo="MXFP8"), f.inner.update(quant_algo="MXFP8"))),
    ("an algorithm that nobody knows", "known-algorithm",
     lambda f: (f.outer.update(quant_algo="NVFP5"), f.inner.update(quant_algo="NVFP5"))),
    ("no exclude_modules", "complete-configuration", lambda f: f.inner.pop("exclude_modules")),
    ("a group size of 32", "group-size", lambda f: f.inner.update(group_size=32)),
    ("configurations that disagree", "one-configuration",
     lambda f: f.inner["exclude_modules"].append(DOWN)),
    ("a quantized head of tied embeddings", "ties",
     lambda f: (f.config.update(tie_word_embeddings=True), f.tensors.update({
         name.replace(K, "lm_head"): value for name, value in list(f.tensors.items())
         if name.startswith(f"{K}.")}))),
    ("no block scales", "has-scales", lambda f: f.tensors.pop(f"{DOWN}.weight_scale")),
    ("no global scale", "has-global-scale", lambda f: f.tensors.pop(f"{DOWN}.weight_scale_2")),
    ("no input scale", "has-input-scale", lambda f: f.tensors.pop(f"{DOWN}.input_scale")),
    ("an input scale of weights alone", "needs-input-scale",
     lambda f: (f.outer.update(quant_algo="W4A16_NVFP4"),
                f.inner.update(quant_algo="W4A16_NVFP4"))),
    ("no codes", "has-codes", lambda f: f.tensors.pop(f"{DOWN}.weight")),
    ("scales of the wrong type", "types-of-parts",
     lambda f: f.edit(f"{DOWN}.weight_scale", lambda x: x.view(np.uint8))),
    ("a plain part of a fused group", "whole-fused-groups",
     lambda f: (drop_plain(f, K), f.outer["ignore"].append(K),
                f.inner["exclude_modules"].append(K))),
    ("an expert that is not there", "all-experts",
     lambda f: [f.tensors.pop(name) for name in list(f.tensors) if ".experts.1." in name]),
    ("a part of an expert that is not there", "all-experts",
     lambda f: f.tensors.pop(f"{EXPERT}.weight_scale_2")),
    ("a layer that is not there", "all-layers", lambda f: f.config.update(num_hidden_layers=3)),
    ("a transform of activations", "has-transform",
     lambda f: f.tensors.update({f"{DOWN}.pre_quant_scale": np.ones(128, np.float32)})),
    ("scales of too few blocks", "shape-of-scales",
     lambda f: f.edit(f"{DOWN}.weight_scale", lambda x: x[:, :-1])),
    ("transposed scales", "order-of-scales",
     lambda f: f.edit(f"{DOWN}.weight_scale", lambda x: x.T)),
    ("scales in tiles", "order-of-scales",
     lambda f: f.edit(f"{DOWN}.weight_scale", lambda x: np.zeros((128, 8), x.dtype))),
    ("a transposed weight", "orientation",
     lambda f: (f.edit(f"{DOWN}.weight", lambda x: np.zeros((128, 32), x.dtype)),
                f.edit(f"{DOWN}.weight_scale", lambda x: np.ones((128, 4), x.dtype)))),
    ("rows of 60", "whole-blocks",
     lambda f: (f.edit(f"{DOWN}.weight", lambda x: x[:, :-2]))),
    ("a scale that is NaN", "scales-are-numbers",
     lambda f: f.edit_bytes(f"{DOWN}.weight_scale", set_byte(0x7F))),
    ("a negative scale", "scales-are-positive",
     lambda f: f.edit_bytes(f"{DOWN}.weight_scale", set_byte(0xB8))),
    ("a scale of zero", "no-lost-blocks",
     lambda f: f.edit_bytes(f"{DOWN}.weight_scale", set_byte(0))),
    ("a global scale of zero", "global-scale-is-positive",
     lambda f: f.edit(f"{DOWN}.weight_scale_2", lambda x: 0 * x)),
    ("a global scale that is NaN", "global-scale-is-positive",
     lambda f: f.edit(f"{DOWN}.weight_scale_2", lambda x: x * np.float32("nan"))),
    ("a negative input scale", "input-scale-is-positive",
     lambda f: f.edit(f"{DOWN}.input_scale", lambda x: -x)),
    ("the reciprocal of a global scale", "direction-of-global-scale",
     lambda f: f.edit(f"{DOWN}.weight_scale_2", lambda x: 1 / x)),
    ("the reciprocal of an input scale", "direction-of-input-scale",
     lambda f: f.edit(f"{DOWN}.input_scale", lambda x: 1 / x)),
    ("another global scale of k", "equal-global-scales",
     lambda f: f.edit(f"{K}.weight_scale_2", lambda x: 2 * x)),
    ("another global scale of an expert's gate", "equal-global-scales",
     lambda f: f.edit(f"{EXPERT}.weight_scale_2", lambda x: 2 * x)),
    ("another input scale of v", "equal-input-scales",
     lambda f: f.edit(f"{V}.input_scale", lambda x: 2 * x)),
    ("scales that are too small for their type", "scales-in-range",
     lambda f: f.edit(f"{DOWN}.weight_scale",
                      lambda x: (x.astype(np.float32) / 64).astype(x.dtype))),
    ("codes that were never written", "codes-are-there",
     lambda f: f.edit(f"{DOWN}.weight", lambda x: 0 * x)),
    ("swapped nibbles", "order-of-nibbles",
     lambda f: [f.edit(name, swap_nibbles) for name in f.tensors
                if f.tensors[name].dtype == np.uint8 and name.endswith(".weight")]),
    ("swapped nibbles of one weight", "order-of-nibbles",
     lambda f: f.edit(f"{Q}.weight", swap_nibbles)),
    ("a norm that is infinite", "plain-numbers",
     lambda f: f.edit("model.norm.weight", lambda x: x + np.inf)),
    ("a scale of keys that is zero", "cache-scales",
     lambda f: f.tensors.update({f"{K}.k_scale": np.zeros((), np.float32)})),
    ("a quantized cache without scales", "cache-scales",
     lambda f: f.inner.update(kv_cache_quant_algo="FP8")),
)


class CheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.plain = checkpoints.write_model(cls.root / "plain", *make_structured_model())
        cls.modelopt = cls.root / "modelopt"
        checkpoint.quantize(cls.plain, cls.modelopt, NVFP4)

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, files, **options):
        return checkpoint.check(files.write(self.folder / "broken"), **options)

    def test_clean_checkpoints(self):
        """Every layout, as it is written, has no fault."""
        self.assertEqual(str(checkpoint.check(self.modelopt)).splitlines()[-1], "no faults found")
        mixed = {"version": 1, "rules": [{"match": {"location": "*.self_attn.*"},
                                          "format": "mxfp8"}, *NVFP4["rules"]]}
        weights = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
        cases = [("plain", None, ""), ("mixed", mixed, "modelopt"),
                 ("packed", NVFP4, "compressed-tensors"), ("weights", weights, "torchao"),
                 ("mxfp4", {"version": 1, "rules": [{"format": "mxfp4"}]}, "compressed-tensors"),
                 ("mxfp8", {"version": 1, "rules": [{"format": "mxfp8"}]}, "modelopt")]
        for name, policy, layout in cases:
            with self.subTest(name):
                result = self.plain
                if policy is not None:
                    result = self.folder / name
                    checkpoint.quantize(self.plain, result, policy, layout=layout)
                report = checkpoint.check(result)
                self.assertEqual(report.findings, ())
                self.assertFalse(report.has_faults)

    def test_planted_faults(self):
        for name, rule, plant in FAULTS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                files = Files(self.modelopt)
                plant(files)
                report = checkpoint.check(files.write(Path(folder, "broken")))
                found = {finding.rule.name for finding in report.findings}
                self.assertIn(rule, found)
                severity = next(each.severity for each in RULES if each.name == rule)
                self.assertEqual(report.has_faults, severity != "warning" or len(found) > 1)
                self.assertTrue(all("expected" in finding.message for finding in report.findings))

    def test_one_fault_is_one_finding(self):
        """A fault of a number is not told as another one, too."""
        alone = ("equal-global-scales", "no-lost-blocks", "scales-are-numbers", "plain-numbers",
                 "global-scale-is-positive", "direction-of-input-scale", "codes-are-there",
                 "has-global-scale", "order-of-nibbles", "group-size", "all-layers")
        for name, rule, plant in FAULTS:
            if rule not in alone or "NaN" in name:
                continue
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                files = Files(self.modelopt)
                plant(files)
                report = checkpoint.check(files.write(Path(folder, "broken")))
                self.assertEqual({finding.rule.name for finding in report.findings}, {rule})

    def test_tensor_parallel(self):
        """128 columns in 8 parts are whole blocks of 16; in 16 parts they are cut."""
        self.assertEqual(checkpoint.check(self.modelopt, tensor_parallel=[2, 4]).findings, ())
        report = checkpoint.check(self.modelopt, tensor_parallel=[16])
        found = {(finding.rule.name, finding.name) for finding in report.findings}
        self.assertIn(("tensor-parallel-blocks", DOWN), found)
        self.assertIn(("tensor-parallel-blocks", "model.layers.0.self_attn.o_proj"), found)
        report = checkpoint.check(self.modelopt, tensor_parallel=[3])
        self.assertIn(("tensor-parallel-rows", Q),
                      {(finding.rule.name, finding.name) for finding in report.findings})

    def test_faults_of_other_layouts(self):
        packed = self.folder / "packed"
        checkpoint.quantize(self.plain, packed, NVFP4, layout="compressed-tensors")
        files = Files(packed)
        files.edit(f"{DOWN}.weight_global_scale", lambda x: 1 / x)
        self.assertEqual({each.rule.name for each in self.check(files).findings},
                         {"direction-of-global-scale"})
        mxfp4 = self.folder / "mxfp4"
        checkpoint.quantize(self.plain, mxfp4, {"version": 1, "rules": [{"format": "mxfp4"}]},
                            layout="compressed-tensors")
        files = Files(mxfp4)
        files.edit(f"{DOWN}.weight_scale", lambda x: x - np.uint8(100))
        self.folder = self.folder / "other"
        self.folder.mkdir()
        self.assertEqual({each.rule.name for each in self.check(files).findings},
                         {"exponents-in-range"})

    def test_metadata_of_torchao(self):
        result = self.folder / "torchao"
        checkpoint.quantize(self.plain, result, {"version": 1, "rules": [
            {"format": "nvfp4", "weight_only": True}]}, layout="torchao")
        files = Files(result)
        described = json.loads(files.metadata[f"{Q}.weight"])
        described["_data"]["is_swizzled_scales"] = False
        files.metadata[f"{Q}.weight"] = json.dumps(described)
        del files.metadata[f"{DOWN}.weight"]
        report = self.check(files)
        self.assertEqual(sorted((each.rule.name, each.name) for each in report.findings),
                         [("described-tensors", DOWN), ("described-tensors", Q)])

    def test_shards_without_an_index(self):
        folder = checkpoints.write_model(self.folder / "many", *make_structured_model(), shards=2)
        self.assertEqual(checkpoint.check(folder).findings, ())
        (folder / "model.safetensors.index.json").unlink()
        report = checkpoint.check(folder)
        self.assertEqual([each.rule.name for each in report.findings], ["has-index"])
        self.assertFalse(report.has_faults)

    def test_names_of_gguf(self):
        """Tensors of llama.cpp's names have types that it reads; it does not find others."""
        blocks = np.zeros((4, 36), np.uint8)
        blocks[:, :4], blocks[:, 4:] = 0x38, 0x21
        scale = np.ones(1, np.float32).tobytes()
        for layer, expected in (
                ("blk.0.attn_q", "reads these types"), ("output", "reads these types"),
                ("model.layers.0.self_attn.q_proj", ("does not find tensors by these names; its "
                                                     "converter gives them others"))):
            path = self.folder / "x.gguf"
            checkpoints.save(path, {f"{layer}.weight": ("NVFP4", (4, 64), blocks.tobytes()),
                                    f"{layer}.scale": ("F32", (1,), scale)})
            report = checkpoint.check(path)
            self.assertEqual(report.findings, ())
            self.assertEqual(report.explain("llama.cpp"), expected)

    def test_layers_of_gguf(self):
        """Their metadata say how many there are."""
        path, scale = self.folder / "x.gguf", np.ones(1, np.float32).tobytes()
        blocks = np.full((4, 36), 0x38, np.uint8).tobytes()
        for count, expected in ((2, []), (3, [("expected 3 layers, as llama.block_count says, but "
                                               "got none with number 2")]),
                                (1, [("expected 1 layers, as llama.block_count says, but got one "
                                      "with number 1, too")])):
            tensors = {}
            for number in range(2):
                tensors[f"blk.{number}.attn_q.weight"] = ("NVFP4", (4, 64), blocks)
                tensors[f"blk.{number}.attn_q.scale"] = ("F32", (1,), scale)
            checkpoints.save(path, tensors, [Metadata("llama.block_count", "u32", count)])
            self.assertEqual([each.message for each in checkpoint.check(path).findings
                              if each.rule.name == "all-layers"], expected)

    def test_naive_gguf(self):
        path = self.folder / "x.gguf"
        blocks = np.zeros((4, 36), np.uint8)
        blocks[:, :4], blocks[:, 4:] = 0x38, 0x21
        checkpoints.save(path, {"blk.0.attn_q.weight": ("NVFP4", (4, 64), blocks.tobytes())})
        report = checkpoint.check(path)
        self.assertEqual([each.rule.name for each in report.findings], ["has-tensor-scale"])
        self.assertEqual(report.explain("llama.cpp"), "C42 has-tensor-scale: not known here")
        self.assertEqual(report.explain("vLLM"), "not known here: GGUF")
        blocks[2, 1] = 0x7F
        checkpoints.save(path, {"blk.0.attn_q.weight": ("NVFP4", (4, 64), blocks.tobytes())})
        self.assertIn("scales-are-numbers",
                      [each.rule.name for each in checkpoint.check(path).findings])

    def test_what_loaders_do(self):
        files = Files(self.modelopt)
        files.edit(f"{K}.weight_scale_2", lambda x: 2 * x)
        report = self.check(files, loaders=["vllm", "TensorRT-LLM", "transformers"])
        self.assertIn("takes the largest of the group", report.explain("vLLM"))
        self.assertIn("asserts that they are equal", str(report))
        members = json.loads(report.to_json())
        self.assertEqual(list(members["loaders"]), ["vLLM", "TensorRT-LLM", "transformers"])
        self.assertEqual(members["loaders"]["transformers"], "does not read modelopt nvfp4: "
                         "skips a quant_method that it does not list, with a warning, and refuses "
                         "the shape of codes")
        told = members["findings"][0]["loaders"]["TensorRT-LLM"]
        self.assertEqual(told["text"], "stops: it asserts that they are equal")
        self.assertIn("modules/linear.py@", told["source"])
        self.assertEqual((members["errors"], members["findings"][0]["rule"]),
                         (1, "C34 equal-global-scales"))

    def test_what_is_known_of_loaders(self):
        """A loader reads what a row says, and nothing is said of others."""
        forms = {("SGLang", "compressed-tensors", "mxfp8", None): "does not read ",
                 ("vLLM", "compressed-tensors", "mxfp8", None): "",
                 ("TensorRT-LLM", "compressed-tensors", "nvfp4", False): "does not read ",
                 ("TensorRT-LLM", "compressed-tensors", "nvfp4", True): "",
                 ("TensorRT-LLM", "compressed-tensors", "nvfp4", None): "not known here: ",
                 ("TensorRT-LLM", "torchao", "mxfp8", None): "not known here: torchao mxfp8",
                 ("transformers", "gguf", "nvfp4", None): "not known here: gguf nvfp4",
                 ("vLLM", "plain", "", None): ""}
        for (loader, *form), expected in forms.items():
            with self.subTest(loader=loader, form=form):
                found = _loaders.explain_forms(loader, [_loaders.Form(*form)])
                self.assertTrue(found.startswith(expected) and bool(found) == bool(expected), found)

    def test_no_loader_reads_what_is_not_known(self):
        """Nor what has a fault, of which nothing is known."""
        empty = self.folder / "empty.safetensors"
        checkpoints.save(empty, {"a.weight": np.zeros(8, np.int64)})
        files = Files(self.modelopt)
        files.inner["kv_cache_quant_algo"] = "FP8"
        for report in (checkpoint.check(empty), self.check(files)):
            for loader in LOADERS:
                with self.subTest(report.path, loader=loader):
                    self.assertNotIn("reads it", report.explain(loader))
        self.assertEqual(report.explain("TensorRT-LLM"), "C08 one-configuration: not known here"
                         if report.findings[0].rule.number == 8 else
                         "C41 cache-scales: not known here")

    def test_sources(self):
        """Each statement about a loader has a place in its code, with a version or a commit."""
        claims = [claim for rule in RULES for claim in rule.loaders.values()]
        claims += [row.claim for row in _loaders.ROWS] + [_loaders.GGUF_ALONE]
        self.assertEqual({claim.source for claim in claims}, set(_claims.SOURCES))
        for place in _claims.SOURCES.values():
            self.assertRegex(place, r"^[\w.-]+/[\w.-]+:[\w./-]+@[\w.-]+$")
        for row in _loaders.ROWS:
            self.assertIn(row.loader, LOADERS)

    def test_loaders_of_experts_and_without_a_configuration(self):
        """transformers makes stacks of experts, and goes by configurations alone."""
        for family, format, is_expert, is_configured, is_read in (
                ("compressed-tensors", "nvfp4", True, True, False),
                ("compressed-tensors", "nvfp4", False, True, True),
                ("compressed-tensors", "mxfp8", True, True, False),
                ("compressed-tensors", "mxfp4", True, True, True),
                ("torchao", "nvfp4", False, True, True), ("torchao", "mxfp8", True, True, False),
                ("torchao", "mxfp8", False, False, False)):
            form = _loaders.Form(family, format, None, is_expert, is_configured)
            with self.subTest(form):
                self.assertEqual(_loaders.find_row("transformers", form).is_read, is_read)

    def test_many_findings_are_cut(self):
        files = Files(self.modelopt)
        for name in [name for name in files.tensors if name.endswith("weight_scale_2")]:
            del files.tensors[name]
        text = str(self.check(files))
        self.assertRegex(text, "and [0-9]+ more")

    def test_refused(self):
        for options, message in (({"tensor_parallel": [0]}, "degrees of tensor parallelism"),
                                 ({"loaders": ["ollama"]}, "expected loaders of vLLM, ")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                checkpoint.check(self.modelopt, **options)

    def test_rules(self):
        """Rules are numbered from 1 on, and tell of loaders that are known."""
        self.assertEqual([rule.number for rule in RULES], list(range(1, len(RULES) + 1)))
        self.assertEqual(len({rule.name for rule in RULES}), len(RULES))
        for rule in RULES:
            self.assertLessEqual(set(rule.loaders), set(LOADERS))
        tested = {rule for _, rule, _ in FAULTS}
        # Others are in this file, too, or in test/Checkpoint/faults.py.
        self.assertEqual({rule.name for rule in RULES if rule.number < 45} - tested, {
            "has-index", "tensor-parallel-blocks", "tensor-parallel-rows", "exponents-in-range",
            "has-tensor-scale", "described-tensors", "place-of-scales"})


if __name__ == "__main__":
    unittest.main()
