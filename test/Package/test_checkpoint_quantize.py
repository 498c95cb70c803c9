# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blockscale.checkpoint.quantize: bytes by the formulas of each recipe, groups that share a scale,
policies, and jobs that end in the middle."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import ml_dtypes
import numpy as np

import blockscale
import checkpoints
from blockscale import checkpoint
from blockscale.checkpoint._jobs import _journal

E4M3 = ml_dtypes.float8_e4m3fn
WEIGHT_ONLY = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
Q, K, V = (f"model.layers.0.self_attn.{name}_proj" for name in "qkv")


def modelopt_nvfp4(weight, amax):
    """Codes, scales and global scale by ModelOpt's formulas."""
    x = weight.astype(np.float32)
    ws2 = np.float32(amax) / np.float32(2688)
    blocks = x.reshape(len(x), -1, 16)
    scales = np.abs(blocks).max(-1) / (np.float32(6) * ws2)
    scales = np.clip(scales, np.float32(2 ** -9), np.float32(448)).astype(E4M3)
    scaled = blocks / (scales.astype(np.float32) * ws2)[..., None]
    distance = np.abs(np.clip(np.abs(scaled), 0, 6)[..., None] - checkpoints.VALUES[:8])
    # Ties go to even codes.
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    codes = np.array(order, np.uint8)[distance[..., order].argmin(-1)]
    codes = (codes | (scaled < 0).astype(np.uint8) << 3).reshape(x.shape)
    return codes[:, 0::2] | codes[:, 1::2] << 4, scales, ws2


class QuantizeTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tensors, self.config = checkpoints.make_model()
        self.result = self.folder / "result"

    def write(self, **options):
        return checkpoints.write_model(self.folder / "model", self.tensors, self.config, **options)

    def quantize(self, policy=WEIGHT_ONLY, **options):
        summary = checkpoint.quantize(self.write(), self.result, policy, **options)
        return checkpoint.open(self.result), summary

    def refuse(self, message, policy=WEIGHT_ONLY, **options):
        with self.assertRaises(blockscale.ArgumentError) as caught:
            checkpoint.quantize(self.write(), self.result, policy, **options)
        self.assertIn(message, str(caught.exception))
        self.assertFalse(self.result.exists())

    def test_modelopt_bytes(self):
        """Each group of fused layers has one global scale, that of its largest number; experts in
        a stack are experts one by one."""
        found, summary = self.quantize(shard_bytes=20000)
        self.assertGreater(len(found.files), 2)
        groups = [[Q, K, V], ["model.layers.0.self_attn.o_proj"],
                  ["model.layers.0.mlp.gate_proj", "model.layers.0.mlp.up_proj"],
                  ["model.layers.0.mlp.down_proj"]]
        plain = {name: self.tensors[f"{name}.weight"] for group in groups for name in group}
        path = "model.layers.1.mlp.experts."
        for number in range(3):
            stack = self.tensors[f"{path}gate_up_proj"][number]
            names = [f"{path}{number}.gate_proj", f"{path}{number}.up_proj"]
            plain.update(zip(names, (stack[:128], stack[128:])))
            plain[f"{path}{number}.down_proj"] = self.tensors[f"{path}down_proj"][number]
            groups += [names, [f"{path}{number}.down_proj"]]
        for group in groups:
            amax = max(np.abs(plain[name].astype(np.float32)).max() for name in group)
            for name in group:
                with self.subTest(name):
                    data, scales, ws2 = modelopt_nvfp4(plain[name], amax)
                    self.assertEqual(found.tensors[f"{name}.weight_scale_2"].numpy(), ws2)
                    np.testing.assert_array_equal(
                        found.tensors[f"{name}.weight_scale"].bytes(),
                        scales.view(np.uint8).reshape(-1))
                    np.testing.assert_array_equal(found.tensors[f"{name}.weight"].numpy(), data)
        for name in ("model.embed_tokens.weight", "lm_head.weight", f"{Q}.bias",
                     "model.layers.1.mlp.gate.weight"):
            np.testing.assert_array_equal(found.tensors[name].numpy(), self.tensors[name])
        self.assertEqual({each.name for each in summary.left},
                         {"model.embed_tokens", "lm_head", "model.layers.1.mlp.gate"})
        self.assertEqual((self.result / "tokenizer.json").read_text(), '{"model": {}}')
        self.assertEqual(found.scheme.describe(), "modelopt (W4A16_NVFP4)")

    def test_configurations_of_modelopt(self):
        found, _ = self.quantize()
        quantization = found.quantization["quantization"]
        self.assertEqual(quantization["quant_algo"], "W4A16_NVFP4")
        self.assertEqual(quantization["group_size"], 16)
        self.assertEqual(sorted(quantization["exclude_modules"]),
                         ["lm_head", "model.layers.1.mlp.gate"])
        self.assertEqual(found.quantization["producer"]["name"], "modelopt")
        inner = found.config["quantization_config"]
        self.assertEqual((inner["quant_method"], inner["ignore"]),
                         ("modelopt", quantization["exclude_modules"]))
        self.assertEqual(found.config["hidden_size"], 64)

    def test_every_format_of_every_layout(self):
        """The numbers of weights are near those of the source, by tables of the test."""
        for layout, format, weight_only, least in (
                ("modelopt", "nvfp4", True, 18), ("modelopt", "mxfp8", False, 29),
                ("compressed-tensors", "nvfp4", True, 18),
                ("compressed-tensors", "mxfp4", True, 16),
                ("compressed-tensors", "mxfp8", True, 29)):
            with self.subTest(layout, format=format):
                self.result = self.folder / f"{layout}-{format}"
                found, summary = self.quantize({"version": 1, "rules": [
                    {"format": format, "weight_only": weight_only}]}, layout=layout, measured=1)
                self.assertEqual({weight.layout.family for weight in found.weights.values()},
                                 {layout, "plain"})
                for name in (Q, K, "model.layers.0.mlp.down_proj"):
                    parts = found.weights[name].parts
                    scale = 1.0
                    if format == "nvfp4":
                        scale = parts["global_scale"].numpy().reshape(())
                        scale = 1 / scale if layout == "compressed-tensors" else scale
                    values = checkpoints.decode(format, parts["data"].numpy(),
                                                parts["scales"].numpy(), scale)
                    wanted = self.tensors[f"{name}.weight"].astype(np.float32)
                    noise = ((values - wanted) ** 2).sum()
                    ratio = 10 * np.log10((wanted ** 2).sum() / noise)
                    self.assertGreater(ratio, least)
                    layer = next(each for each in summary.layers if each.name == name)
                    self.assertAlmostEqual(layer.sqnr, ratio, 3)
                    self.assertEqual(layer.count, wanted.size)

    def test_activations(self):
        """Layers that loaders fuse get the largest amax of theirs, experts one of their stack or
        of a name with a star."""
        path = "model.layers.1.mlp.experts."
        amaxes = dict.fromkeys(("model.layers.0.self_attn.o_proj", "model.layers.0.mlp.gate_proj",
                                "model.layers.0.mlp.down_proj", "model.layers.1.self_attn.q_proj",
                                "model.layers.1.self_attn.o_proj", f"{path}gate_up_proj",
                                f"{path}*.down_proj"), 1.0)
        amaxes.update({Q: 2.0, K: 5.0, "unknown": 7})
        file = self.folder / "amaxes.json"
        file.write_text(json.dumps(amaxes))
        policy = {"version": 1, "rules": [{"format": "nvfp4"}]}
        found, summary = self.quantize(policy, amaxes=file)
        for name in (Q, K, V):
            self.assertEqual(found.tensors[f"{name}.input_scale"].numpy(),
                             np.float32(5) / np.float32(2688))
        self.assertEqual(found.tensors[f"{path}2.up_proj.input_scale"].numpy(),
                         np.float32(1) / np.float32(2688))
        self.assertEqual(summary.unused, ("unknown",))
        self.assertEqual(found.scheme.find(Q).algorithm, "NVFP4")
        self.result = self.folder / "packed"
        found, _ = self.quantize(policy, amaxes=amaxes, layout="compressed-tensors")
        encode = found.tensors[f"{V}.input_global_scale"].numpy()
        # In bf16, as the package computes.
        inverse = (np.float32(1) / np.float32(5)).astype(ml_dtypes.bfloat16).astype(np.float32)
        wanted = (inverse * np.float32(2688)).astype(ml_dtypes.bfloat16)
        self.assertEqual((encode.shape, encode[0]), ((1,), np.float32(wanted)))

    def test_orders_of_stacks(self):
        """[E, K, N] and alternating rows give the same experts."""
        found, _ = self.quantize()
        wanted = checkpoints.read_bytes(self.result)["model.safetensors"]
        plain = dict(self.tensors)
        for name in [name for name in plain if "experts" in name]:
            self.tensors[name] = np.ascontiguousarray(plain[name].transpose(0, 2, 1))
        self.result = self.folder / "transposed"
        self.quantize()
        self.assertEqual(checkpoints.read_bytes(self.result)["model.safetensors"], wanted)
        stack = plain["model.layers.1.mlp.experts.gate_up_proj"]
        both = np.stack([stack[:, :128], stack[:, 128:]], 2).reshape(stack.shape)
        bias = np.arange(3 * 256, dtype=np.float32).reshape(3, 256)
        self.tensors = {**plain, "model.layers.1.mlp.experts.gate_up_proj": both,
                        "model.layers.1.mlp.experts.gate_up_proj_bias": bias}
        self.config["model_type"] = "gpt_oss"
        self.result = self.folder / "alternating"
        other, _ = self.quantize()
        name = "model.layers.1.mlp.experts.2.up_proj"
        np.testing.assert_array_equal(other.tensors[f"{name}.weight"].numpy(),
                                      found.tensors[f"{name}.weight"].numpy())
        np.testing.assert_array_equal(other.tensors[f"{name}.bias"].numpy(), bias[2, 1::2])
        self.result = self.folder / "stacks"
        stacks, _ = self.quantize(layout="gguf")
        name = "model.layers.1.mlp.experts.gate_up_proj_bias"
        np.testing.assert_array_equal(stacks.tensors[name].numpy(), bias)

    def test_gpt_oss(self):
        """Stacks stay stacks, whatever the order of the source; nothing else is quantized."""
        self.tensors, self.config = checkpoints.make_model(transposed=True)
        self.config["model_type"] = "gpt_oss"
        found, summary = self.quantize({"version": 1, "rules": [
            {"format": "mxfp4", "weight_only": True}]}, layout="gpt-oss")
        path = "model.layers.1.mlp.experts."
        for name, shape in (("gate_up_proj", (3, 256, 2, 16)), ("down_proj", (3, 64, 4, 16))):
            blocks = found.tensors[f"{path}{name}_blocks"].numpy()
            scales = found.tensors[f"{path}{name}_scales"].numpy()
            self.assertEqual((blocks.shape, scales.shape), (shape, shape[:3]))
            plain = self.tensors[f"{path}{name}"].astype(np.float32).transpose(0, 2, 1)
            values = checkpoints.decode("mxfp4", blocks.reshape(*shape[:2], -1), scales)
            self.assertLess(((values - plain) ** 2).sum(), (plain ** 2).sum() / 40)
        reasons = {each.name: each.reason for each in summary.left}
        self.assertIn("as gpt-oss quantizes nothing else", reasons[Q])
        inner = found.config["quantization_config"]
        self.assertEqual(inner["quant_method"], "mxfp4")
        self.assertIn(Q, inner["modules_to_not_convert"])
        self.assertEqual(checkpoint.check(self.result).findings, ())

    def test_blocks_of_fp8(self):
        """A source of E4M3 with a scale for each 128 x 128 is its numbers in bf16."""
        random = np.random.default_rng(0)
        codes = random.standard_normal((160, 256), dtype=np.float32).astype(E4M3)
        scales = random.uniform(0.01, 0.1, (2, 2)).astype(np.float32)
        plain = codes.astype(np.float32) * np.repeat(np.repeat(scales, 128, 0), 128, 1)[:160]
        plain = plain.astype(ml_dtypes.bfloat16)
        self.tensors = {"a.down_proj.weight": codes, "a.down_proj.weight_scale_inv": scales,
                        "a.small.weight": codes[:8], "a.small.weight_scale_inv": scales[:1]}
        self.config["quantization_config"] = {"quant_method": "fp8",
                                              "weight_block_size": [128, 128]}
        found, _ = self.quantize()
        data, _, ws2 = modelopt_nvfp4(plain, np.abs(plain.astype(np.float32)).max())
        np.testing.assert_array_equal(found.tensors["a.down_proj.weight"].numpy(), data)
        self.assertEqual(found.tensors["a.down_proj.weight_scale_2"].numpy(), ws2)
        # What a policy leaves has plain numbers, since the result is of another family.
        np.testing.assert_array_equal(found.tensors["a.small.weight"].numpy(), plain[:8])
        self.assertNotIn("a.small.weight_scale_inv", found.tensors)

    def test_zeros_and_numbers_that_are_not_finite(self):
        self.tensors["model.layers.0.mlp.down_proj.weight"][:] = 0
        found, _ = self.quantize()
        name = "model.layers.0.mlp.down_proj"
        self.assertEqual(found.tensors[f"{name}.weight_scale_2"].numpy(), 1)
        self.assertFalse(found.tensors[f"{name}.weight"].numpy().any())
        self.assertTrue((found.tensors[f"{name}.weight_scale"].numpy() == 1).all())
        for number in (np.nan, np.inf, -np.inf):
            self.result = self.folder / f"{number}"
            self.tensors[f"{K}.weight"][3, 5] = number
            self.refuse(f"'{K}': expected numbers that are finite")

    def test_policies(self):
        """Rules go by names of layers; f32 can be rounded before."""
        self.tensors, self.config = checkpoints.make_model(np.float32)
        policy = {"version": 1, "rules": [
            {"match": {"location": "*.self_attn.*"}, "leave": True},
            {"match": {"location": "*.down_proj"}, "format": "mxfp8"},
            {"match": {"location": "*.experts.*"}, "leave": True},
            {"format": "nvfp4", "cast": "bf16", "weight_only": True}]}
        found, summary = self.quantize(policy)
        forms = {each.name: each.form or each.reason for each in summary.layers}
        self.assertIn("policy_c1", forms[Q])
        self.assertEqual(forms["model.layers.0.mlp.down_proj"], "mxfp8")
        self.assertIn("expected all stacks of these experts to be quantized",
                      forms["model.layers.1.mlp.experts.down_proj"])
        gate, up = (self.tensors[f"model.layers.0.mlp.{name}_proj.weight"].astype(
            ml_dtypes.bfloat16) for name in ("gate", "up"))
        amax = max(np.abs(gate.astype(np.float32)).max(), np.abs(up.astype(np.float32)).max())
        data, _, _ = modelopt_nvfp4(up, amax)
        np.testing.assert_array_equal(
            found.tensors["model.layers.0.mlp.up_proj.weight"].numpy(), data)
        self.assertEqual(found.quantization["quantization"]["quant_algo"], "MIXED_PRECISION")
        self.assertEqual(found.scheme.find("model.layers.0.mlp.down_proj").format, "mxfp8")

    def test_tied_heads_are_left(self):
        self.config["tie_word_embeddings"] = True
        self.tensors["lm_head.weight"] = self.tensors["model.embed_tokens.weight"]
        policy = {**WEIGHT_ONLY, "leave_last_projection": False}
        _, summary = self.quantize(policy)
        reasons = {each.name: each.reason for each in summary.left}
        self.assertIn("tie_word_embeddings", reasons["lm_head"])
        self.config["tie_word_embeddings"] = False
        self.result = self.folder / "head"
        _, summary = self.quantize(policy)
        self.assertIn("lm_head", [each.name for each in summary.quantized])

    def test_refused(self):
        for policy, options, message in (
                (WEIGHT_ONLY, {"layout": "awq"}, "expected layout to be one of modelopt, "),
                ({"version": 1, "rules": [{"format": "mxfp6_e2m3"}]}, {},
                 "rule 1 of the policy: expected a format that modelopt has (nvfp4, mxfp8) for"),
                ({"version": 1, "rules": [{"format": "nvfp4", "rht": True}]}, {}, "no 'rht'"),
                ({"version": 1, "rules": [{"format": "nvfp4"}]}, {},
                 "expected the amax of the activations of"),
                ({"version": 1, "rules": [{"format": "nvfp4", "activations": {
                    "format": "nvfp4"}, "recipe": "rceil"}]}, {}, "'recipe'"),
                ({"version": 1, "rules": [{"match": {"location": "*.q_proj"}, "leave": True},
                                          {"format": "mxfp8", "match": {"location": "*.k_proj"}},
                                          {"format": "nvfp4", "weight_only": True}]}, {},
                 "expected one form for layers that loaders fuse"),
                ({"version": 1, "rules": [{"format": "mxfp8", "weight_only": True}]}, {},
                 "expected quantized activations for"),
                ({"version": 1, "rules": [{"format": "mxfp4"}]}, {"layout": "gguf"},
                 "expected plain activations for"),
                ({"version": 1, "rules": []}, {}, "expected at least one layer to quantize"),
                (WEIGHT_ONLY, {"on": "tpu"}, "expected on to be cpu or cuda, but got 'tpu'"),
                (WEIGHT_ONLY, {"amaxes": {"x": -1}}, "expected the amax of 'x'"),
                (WEIGHT_ONLY, {"amaxes": {"x": "1"}}, "expected the amax of 'x'"),
                (WEIGHT_ONLY, {"measured": 0}, "expected measured to be 1 or more"),
                (WEIGHT_ONLY, {"threads": 0}, "expected threads to be 1 or more"),
                (WEIGHT_ONLY, {"resume": True}, "of a job to resume, but it is not there")):
            with self.subTest(message):
                self.refuse(message, policy, **options)
                self.assertFalse(self.folder.joinpath("result.partial").exists())

    @unittest.skipIf(importlib.util.find_spec("torch"), "there is PyTorch")
    def test_a_gpu_needs_torch(self):
        with self.assertRaisesRegex(ImportError, r"pip install 'blockscale\[torch\]'"):
            self.quantize(on="cuda")
        self.assertFalse(self.result.exists())

    def test_what_is_quantized_already(self):
        self.quantize()
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected plain weights to quantize"):
            checkpoint.quantize(self.result, self.folder / "again", WEIGHT_ONLY)

    def test_a_destination_that_is_there(self):
        self.result.mkdir()
        self.quantize()
        with self.assertRaisesRegex(blockscale.ArgumentError, "but something is there"):
            self.quantize()

    def test_one_file(self):
        path = self.folder / "one.safetensors"
        checkpoint.quantize(self.write(), path, WEIGHT_ONLY)
        self.quantize()
        self.assertEqual(path.read_bytes(), (self.result / "model.safetensors").read_bytes())
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()),
                         ["model", "one.safetensors", "result"])

    def test_threads_give_the_same_bytes(self):
        self.quantize(threads=1)
        wanted = checkpoints.read_bytes(self.result)
        self.result = self.folder / "many"
        self.quantize(threads=4)
        self.assertEqual(checkpoints.read_bytes(self.result), wanted)

    def test_reports(self):
        _, summary = self.quantize()
        self.assertEqual(len(json.loads(summary.to_json())["worst"]), 10)
        self.assertIn(" of the bytes saved", str(summary))
        self.assertEqual(summary.to_svg().count("<rect"), 1 + len(summary.quantized))


class StopError(Exception):
    pass


class ResumeTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.source = checkpoints.write_model(self.folder / "model", *checkpoints.make_model())
        self.result = self.folder / "result"
        self.partial = self.folder / "result.partial"

    def stop_after(self, count):
        """Ends a job with an error when so many tasks are done."""
        def stop(*_):
            nonlocal count
            count -= 1
            if count == 0:
                raise StopError
        with self.assertRaises(StopError):
            checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, progress=stop, threads=1)
        self.assertFalse(self.result.exists())

    def test_goes_on(self):
        """What is done is not done again, and the bytes are those of one job."""
        checkpoint.quantize(self.source, self.folder / "whole", WEIGHT_ONLY)
        self.stop_after(4)
        journal = (self.partial / ".blockscale-journal").read_text().splitlines()
        with self.assertRaisesRegex(blockscale.ArgumentError, "one of a job that did not end"):
            checkpoint.quantize(self.source, self.result, WEIGHT_ONLY)
        done = []
        checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True,
                            progress=lambda name, *_: done.append(name))
        self.assertEqual(checkpoints.read_bytes(self.result),
                         checkpoints.read_bytes(self.folder / "whole"))
        self.assertFalse(self.partial.exists())
        total = len(done) + sum('"task"' in line for line in journal)
        self.assertGreater(total, len(done) + 3)

    def test_other_jobs_do_not_go_on(self):
        self.stop_after(2)
        with self.assertRaisesRegex(blockscale.ArgumentError, "to be of this job"):
            checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True,
                                layout="compressed-tensors")
        os.utime(self.source / "model.safetensors", ns=(1, 1))
        with self.assertRaisesRegex(blockscale.ArgumentError, "to be of this job"):
            checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True)

    def test_lines_that_do_not_hold(self):
        """After a crash of the system only data hold that were on the disk; a line that was cut
        off never was."""
        checkpoint.quantize(self.source, self.folder / "whole", WEIGHT_ONLY)
        self.stop_after(3)
        path = self.partial / ".blockscale-journal"
        first, *tasks = [json.loads(line.partition(" ")[2])
                         for line in path.read_text().splitlines()]
        path.unlink()
        with mock.patch.object(_journal, "_read_boot", lambda: "another"):
            journal = _journal.Journal(self.partial, first["job"])
        for number, task in enumerate(tasks):
            journal.add(task["task"], task["found"])
            if number == 0:
                journal.sync(1)
        journal.close()
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"task": 9, "fou')
        # All but the task that was on the disk are done again.
        done = []
        checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True,
                            progress=lambda name, *_: done.append(name))
        self.assertEqual(checkpoints.read_bytes(self.result),
                         checkpoints.read_bytes(self.folder / "whole"))
        names = []
        checkpoint.quantize(self.source, self.folder / "third", WEIGHT_ONLY,
                            progress=lambda name, *_: names.append(name))
        self.assertEqual(len(done), len(names) - 1)

    def test_a_damaged_journal(self):
        self.stop_after(2)
        with open(self.partial / ".blockscale-journal", "a", encoding="utf-8") as file:
            file.write("x\n")
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected lines of a journal"):
            checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True)

    def test_lines_of_a_journal_that_are_not_as_they_were(self):
        """Lines that are JSON, too, and would say that a task is done which is not."""
        self.stop_after(4)
        path = self.partial / ".blockscale-journal"
        lines = path.read_bytes().splitlines(keepends=True)
        for changed in (lines[1:], [lines[0], *lines[2:]], [*lines, lines[-1]],
                        [lines[0], lines[2], lines[1], *lines[3:]],
                        [lines[0], lines[1].replace(b'"task":', b'"task":1'), *lines[2:]]):
            path.write_bytes(b"".join(changed))
            with self.assertRaisesRegex(blockscale.ArgumentError, "expected lines of a journal"):
                checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True)

    def test_links_of_others_are_not_followed(self):
        """Who can put a link where a file is going to be gets nothing written through it."""
        victim = self.folder / "victim"
        victim.write_bytes(b"precious")
        for name, resume in (("model.safetensors", True), (".blockscale-journal", True)):
            self.stop_after(2)
            path = self.partial / name
            path.unlink()
            path.symlink_to(victim)
            with self.assertRaisesRegex(blockscale.FileError, f"cannot write .*{name}'"):
                checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=resume)
            self.assertEqual(victim.read_bytes(), b"precious")
            shutil.rmtree(self.partial)
        # Files that are written at once replace a link.
        (self.source / "tokenizer.json").write_text("{}")
        self.stop_after(2)
        for name in ("config.json", "tokenizer.json"):
            (self.partial / name).unlink(missing_ok=True)
            (self.partial / name).symlink_to(victim)
        checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True)
        self.assertFalse((self.result / "config.json").is_symlink())
        self.assertEqual(victim.read_bytes(), b"precious")

    def test_folders_of_others_are_refused(self):
        """A result is made where nobody else can change it."""
        def refuse(message):
            for resume in (False, True):
                with self.assertRaisesRegex(
                        blockscale.ArgumentError, f"expected '{self.partial}' to be a folder "
                        f"that only this user can write to, but {message}"):
                    checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=resume)

        other = self.folder / "other"
        other.mkdir()
        self.partial.symlink_to(other)
        refuse("it is a link")
        self.partial.unlink()
        self.partial.write_text("")
        refuse("it is a file")
        self.partial.unlink()
        self.partial.mkdir()
        self.partial.chmod(0o757)
        refuse("its mode is 0757")
        if os.geteuid() == 0:
            self.partial.chmod(0o755)
            os.chown(self.partial, 12345, 12345)
            # What root makes there is root's.
            refuse("user 12345 owns it")
            os.chown(self.partial, 0, 0)
        # One that is empty, which the user may have made, is taken.
        self.partial.chmod(0o775)
        checkpoint.quantize(self.source, self.result, WEIGHT_ONLY)
        self.assertTrue((self.result / "config.json").exists())

    def test_a_mask_without_bits_lets_nobody_else_write(self):
        previous = os.umask(0)
        try:
            self.stop_after(2)
            self.assertEqual(self.partial.stat().st_mode & 0o777, 0o775)
            checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True)
        finally:
            os.umask(previous)

    def test_kills(self):
        """Wherever the process is killed: there is no result, and resuming gives its bytes."""
        checkpoint.quantize(self.source, self.folder / "whole", WEIGHT_ONLY)
        wanted = checkpoints.read_bytes(self.folder / "whole")
        code = ("import sys, time\nfrom blockscale import checkpoint\n"
                "def wait(*_):\n    print('x', flush=True)\n    time.sleep(0.02)\n"
                f"checkpoint.quantize({str(self.source)!r}, {str(self.result)!r}, {WEIGHT_ONLY!r}, "
                "resume='resume' in sys.argv, progress=wait)\n")
        command = [sys.executable, "-c", code]
        for kills in (1, 6):
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            for _ in range(kills):
                process.stdout.read(2)
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
            self.assertFalse(self.result.exists())
            command = [sys.executable, "-c", code, "resume"]
        checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True)
        self.assertEqual(checkpoints.read_bytes(self.result), wanted)

    def test_a_disk_that_is_full(self):
        """An error of the system names the file; the job can go on."""
        with mock.patch("os.pwrite", side_effect=OSError(28, "No space left on device")):
            with self.assertRaisesRegex(blockscale.FileError, "No space left on device"):
                checkpoint.quantize(self.source, self.result, WEIGHT_ONLY)
        checkpoint.quantize(self.source, self.result, WEIGHT_ONLY, resume=True)
        self.assertTrue((self.result / "config.json").exists())


if __name__ == "__main__":
    unittest.main()
