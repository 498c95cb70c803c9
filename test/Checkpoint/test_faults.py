# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check() names the rule of each planted fault and no other, finds none in clean files, and nothing
in files with a fault that the documentation says cannot be told."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

import blockscale.checkpoint as checkpoint
import decoders
import fault_files
import faults
import faults_shapes

#: By name: the decoder, the layout, and the rule of a policy.
CLEAN = {
    "modelopt-nvfp4": ("dense", "modelopt", {"format": "nvfp4"}),
    "modelopt-w4a16": ("dense", "modelopt", {"format": "nvfp4", "weight_only": True}),
    "modelopt-mxfp8": ("moe", "modelopt", {"format": "mxfp8"}),
    "compressed-tensors-nvfp4": ("moe", "compressed-tensors", {"format": "nvfp4"}),
    "gpt-oss-mxfp4": ("gptoss", "gpt-oss", {"format": "mxfp4"}),
    "torchao-nvfp4": ("dense", "torchao", {"format": "nvfp4", "weight_only": True}),
}


#: The same of what is no layout to write: whether scales are those of blocks.
FP8 = {"modelopt-fp8": False, "fp8-blocks": True}


def write_fp8(folder, is_blocks):
    """The dense decoder in FP8, as ModelOpt writes it with a scale for each tensor, or as DeepSeek
    does with one for each 128 x 128."""
    tensors = {}
    for name, array in decoders.make_tensors("dense").items():
        if not name.endswith("proj.weight"):
            tensors[name] = array
            continue
        values, layer = array.astype(np.float32), name.removesuffix(".weight")
        rows, columns = (-(-size // 128) if is_blocks else 1 for size in values.shape)
        padded = np.pad(values, [(0, -size % 128) for size in values.shape])
        blocks = padded.reshape(rows, -1, columns, padded.shape[1] // columns)
        scales = (np.abs(blocks).max((1, 3)) / 448).astype(np.float32)
        codes = (blocks / scales[:, None, :, None]).reshape(padded.shape)
        tensors[name] = codes[:len(values), :values.shape[1]].astype(fault_files.F8)
        if is_blocks:
            tensors[f"{layer}.weight_scale_inv"] = scales
        else:
            tensors[f"{layer}.weight_scale"] = scales.reshape(())
            tensors[f"{layer}.input_scale"] = np.array(0.02, np.float32)
    members = ({"quant_method": "fp8", "activation_scheme": "dynamic",
                "weight_block_size": [128, 128]} if is_blocks else
               {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"]})
    decoders.write_folder(folder, tensors, decoders.CONFIGS["dense"] | {
        "quantization_config": members})


def find_amaxes(tensors):
    """Amaxes of activations of every layer; those of one input are the same."""
    return {name.removesuffix(".weight"): 12.0 for name in tensors if name.endswith("proj.weight")}


def write_clean(folder):
    """Writes all checkpoints without faults; returns them by name."""
    clean = {}
    for name, (family, layout, rule) in CLEAN.items():
        tensors = decoders.write_decoder(folder / f"{name}-source", family, shards=1)
        checkpoint.quantize(folder / f"{name}-source", folder / name,
                            {"version": 1, "rules": [rule]}, layout=layout,
                            amaxes=find_amaxes(tensors))
        clean[name] = faults.Files.read(folder / name)
    for name, is_blocks in FP8.items():
        write_fp8(folder / name, is_blocks)
        clean[name] = faults.Files.read(folder / name)
    return clean


class TestFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.clean = write_clean(cls.folder)

    def test_clean_files(self):
        for name in (*CLEAN, *FP8):
            with self.subTest(name):
                # As they were written, and as the functions of this test write them.
                self.assertTrue(checkpoint.check(self.folder / name).is_clean)
                self.clean[name].copy().write(self.folder / f"{name}-copy")
                report = checkpoint.check(self.folder / f"{name}-copy")
                self.assertTrue(report.is_clean, report)

    def test_even_numbers_are_no_fault(self):
        """Layers that were never trained have numbers that are spread evenly: nearly half of the
        blocks have the largest scale. Where the global scale is too small, more have it."""
        random = np.random.default_rng(3)
        weight = random.uniform(-0.0625, 0.0625, (256, 256)).astype(np.float32)
        name = "model.layers.0.mlp.up_proj"
        decoders.write_folder(self.folder / "even", {f"{name}.weight": decoders.bf16(weight)}, {})
        for number, (layout, rule) in enumerate([
                ("torchao", {"format": "nvfp4", "weight_only": True}),
                ("torchao", {"format": "mxfp4"}), ("torchao", {"format": "mxfp8"}),
                ("modelopt", {"format": "nvfp4", "weight_only": True})]):
            with self.subTest(layout=layout, rule=rule):
                folder = self.folder / f"even-{number}"
                checkpoint.quantize(self.folder / "even", folder, {"version": 1, "rules": [rule]},
                                    layout=layout)
                self.assertTrue(checkpoint.check(folder).is_clean)
        files = faults.Files.read(folder)
        scales = files.tensors[f"{name}.weight_scale"]
        scales[:] = (scales.astype(np.float32) * 1.25).clip(None, 448).astype(fault_files.F8)
        files.write(self.folder / "even-clipped")
        self.assertEqual({each.rule.name for each in checkpoint.check(
            self.folder / "even-clipped").findings}, {"scales-in-range"})

    def test_faults(self):
        for name, file, rule, plant, options in faults.FAULTS:
            with self.subTest(name):
                files = self.clean[file].copy()
                plant(files)
                files.write(self.folder / name)
                report = checkpoint.check(self.folder / name, **options)
                self.assertEqual({finding.rule.name for finding in report.findings}, {rule},
                                 "\n".join(map(str, report.findings[:6])))

    def test_what_cannot_be_told(self):
        for name, file, _, plant in faults.UNTOLD:
            with self.subTest(name):
                files = self.clean[file].copy()
                plant(files)
                files.write(self.folder / name)
                self.assertFalse(checkpoint.check(self.folder / name).findings)

    def test_what_scales_tell_of_their_order(self):
        """Of E8M0, too; and nothing where rows and columns are alike."""
        random = np.random.default_rng(1)
        values = random.standard_normal((256, 1024), np.float32)
        gains = np.exp(random.standard_normal(1024)).astype(np.float32)
        for name, weight, expected in (("channels", values * gains, {"place-of-scales"}),
                                       ("alike", values, set())):
            decoders.write_folder(self.folder / f"{name}-plain", {
                "model.layers.0.mlp.down_proj.weight": decoders.bf16(weight)}, {})
            checkpoint.quantize(self.folder / f"{name}-plain", self.folder / f"{name}-mxfp8",
                                {"version": 1, "rules": [{"format": "mxfp8"}]})
            files = faults.Files.read(self.folder / f"{name}-mxfp8")
            self.assertTrue(checkpoint.check(self.folder / f"{name}-mxfp8").is_clean)
            scales = "model.layers.0.mlp.down_proj.weight_scale"
            files.tensors[scales] = faults_shapes.to_tiles(files.tensors[scales])
            files.write(self.folder / f"{name}-tiles")
            report = checkpoint.check(self.folder / f"{name}-tiles")
            self.assertEqual({finding.rule.name for finding in report.findings}, expected, report)

    def test_how_many_there_are(self):
        """Faults of all kinds, and of every rule but those that say why not."""
        self.assertGreaterEqual(len(faults.FAULTS), 60)
        self.assertGreaterEqual(len(faults.UNTOLD), 10)
        self.assertGreaterEqual({rule.name for rule in checkpoint.RULES}, {
            rule for _, _, rule, _, _ in faults.FAULTS})
        planted = {rule for _, _, rule, _, _ in faults.FAULTS}
        # In test_gguf.py: files of GGUF. In test/Package/test_checkpoint_layouts.py: formats that
        # are no fault of a layout.
        self.assertEqual({rule.name for rule in checkpoint.RULES} - planted,
                         {"has-tensor-scale", "known-layout"})


if __name__ == "__main__":
    unittest.main()
