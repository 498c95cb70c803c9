# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of GGUF: their blocks by formulas of their own, by the package gguf's quantizer (stored),
and by its reader where it is installed."""

import importlib.util
import tempfile
import unittest
from pathlib import Path

import numpy as np

import blockscale.checkpoint as checkpoint
import decoders
import oracles
from blockscale._native import _checkpoint as native

HAS_GGUF = importlib.util.find_spec("gguf") is not None
VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
VALUES = np.concatenate([VALUES, -VALUES])


def make_policy(format, **more):
    return {"version": 1, "rules": [{"format": format, "weight_only": True, **more}]}


def get_codes(data):
    """[.., K / 2] bytes -> [.., K] codes, the even one in the low nibble."""
    return np.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)


def pack_halves(codes, block):
    """Bytes with an element of the first half of a block and one of the second half."""
    halves = codes.reshape(*codes.shape[:-1], -1, 2, block // 2)
    return halves[..., 0, :] | halves[..., 1, :] << 4


def pack_nvfp4(data, scales):
    """Row-major codes and scales -> blocks of GGUF: four scales, then the codes of 64 elements."""
    codes = pack_halves(get_codes(data), 16)
    rows = codes.reshape(*codes.shape[:-2], -1, 32)
    blocks = np.concatenate([scales.view(np.uint8).reshape(*rows.shape[:-1], 4) & 0x7F, rows], -1)
    return blocks.reshape(*blocks.shape[:-2], -1)


def unpack_mxfp4(blocks):
    """Blocks of GGUF -> (scales, codes)."""
    parts = blocks.reshape(*blocks.shape[:-1], -1, 17)
    codes = np.concatenate([parts[..., 1:] & 15, parts[..., 1:] >> 4], -1)
    return parts[..., 0], codes.reshape(*codes.shape[:-2], -1)


def decode_mxfp4(blocks):
    scales, codes = unpack_mxfp4(blocks)
    factors = np.ldexp(np.float32(1), scales.astype(np.int32) - 127).astype(np.float32)
    return VALUES[codes] * np.repeat(factors, 32, -1)


class TestGguf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        cls.sources = {family: decoders.write_decoder(cls.folder / family, family)
                       for family in decoders.CONFIGS}

    def quantize(self, family, name, policy, **options):
        target = self.folder / name
        checkpoint.quantize(self.folder / family, target, policy, **options)
        return target

    def test_the_quantizer_of_ggml(self):
        """Whose ties go to the lower code."""
        for family, source in self.sources.items():
            oracle = oracles.Oracle(f"gguf__mxfp4__{family}")
            self.assertGreater(len(oracle.tensors), 10)
            for name, (_, shape, _) in oracle.tensors.items():
                array = source[name]
                values = np.ascontiguousarray(array.swapaxes(1, 2) if array.ndim == 3 else array)
                rows = values.reshape(-1, values.shape[-1])
                blocks = native.quantize_gguf("MXFP4", "BF16", *rows.shape, rows).reshape(shape)
                blocks = decoders.blank_tiny_blocks(blocks, values)
                self.assertEqual(oracle.describe_difference(name, blocks), "")

    def test_files_of_mxfp4_are_those_of_ggml(self):
        oracle = oracles.Oracle("gguf__mxfp4__dense")
        path = self.quantize("dense", "dense-ggml.gguf", make_policy("mxfp4"), layout="gguf")
        tensors = checkpoint.open(path).tensors
        names = [name for name, tensor in tensors.items() if tensor.dtype == "MXFP4"]
        self.assertGreater(len(names), 10)
        for name in names:
            found = tensors[name].bytes().reshape(oracle.tensors[name][1])
            found = decoders.blank_tiny_blocks(found, self.sources["dense"][name])
            self.assertEqual(oracle.describe_difference(name, found), "")

    def test_floor_differs_from_ggml_at_ties_alone(self):
        """The ties of this recipe go to even codes."""
        policy = make_policy("mxfp4")
        policy["rules"][-1]["recipe"] = "floor"
        path = self.quantize("dense", "dense-mxfp4.gguf", policy, layout="gguf")
        oracle = oracles.Oracle("gguf__mxfp4__dense")
        name = "model.layers.1.self_attn.k_proj.weight"
        found = checkpoint.open(path).tensors[name].bytes().reshape(oracle.whole[name].shape)
        found = decoders.blank_tiny_blocks(found, self.sources["dense"][name])
        (scales, codes), (theirs, others) = unpack_mxfp4(found), unpack_mxfp4(oracle.whole[name])
        np.testing.assert_array_equal(scales, theirs)
        factors = np.ldexp(1.0, np.repeat(scales, 32, -1).astype(np.int32) - 127)
        exact = np.abs(self.sources["dense"][name].astype(np.float64)) / factors
        different = (codes & 7) != (others & 7)
        self.assertGreater(different.sum(), 0)
        middle = (VALUES[codes & 7].astype(np.float64) + VALUES[others & 7]) / 2
        np.testing.assert_array_equal(exact[different], middle[different])

    def test_nvfp4_has_the_codes_of_modelopt(self):
        """And its scales, in other places."""
        for family in ("dense", "moe"):
            path = self.quantize(family, f"{family}-nvfp4.gguf", make_policy("nvfp4"),
                                 layout="gguf")
            found = checkpoint.open(path).tensors
            expected = decoders.read_folder(
                self.quantize(family, f"{family}-modelopt", make_policy("nvfp4")))
            count = 0
            for name, array in expected.items():
                layer = name.removesuffix(".weight_scale")
                if layer == name:
                    continue
                count += 1
                blocks = pack_nvfp4(expected[f"{layer}.weight"], array)
                tensor = found[f"{layer}.weight"]
                self.assertEqual(tensor.dtype, "NVFP4")
                np.testing.assert_array_equal(tensor.bytes().reshape(blocks.shape), blocks)
                np.testing.assert_array_equal(found[f"{layer}.scale"].numpy().reshape(-1),
                                              expected[f"{layer}.weight_scale_2"].reshape(-1))
            self.assertGreater(count, 10)

    def test_files_are_clean(self):
        for format in ("nvfp4", "mxfp4"):
            path = self.quantize("dense", f"clean-{format}.gguf", make_policy(format),
                                 layout="gguf")
            report = checkpoint.check(path)
            self.assertTrue(report.is_clean, report)

    def test_no_scale_of_the_tensor_is_a_warning(self):
        path = self.quantize("dense", "no-scale.gguf", make_policy("nvfp4"), layout="gguf")
        tensors = checkpoint.open(path).tensors
        kept = [tensor for name, tensor in tensors.items() if not name.endswith("q_proj.scale")]
        layout = native.lay_out("gguf", [(each.name, each.dtype, each.shape) for each in kept])
        data = bytearray(layout.nbytes)
        data[:len(layout.header)] = layout.header
        for offset, tensor in zip(layout.offsets, kept):
            data[offset:offset + tensor.nbytes] = tensor.bytes().tobytes()
        changed = self.folder / "changed.gguf"
        changed.write_bytes(data)
        report = checkpoint.check(changed)
        self.assertEqual({finding.rule.name for finding in report.findings}, {"has-tensor-scale"},
                         report)
        self.assertFalse(report.has_faults)

    @unittest.skipUnless(HAS_GGUF, "scripts/peers.sh checkpoints installs gguf")
    def test_gguf_reads_the_same_values(self):
        import gguf
        for family, source in self.sources.items():
            for format in ("mxfp4", "nvfp4"):
                path = self.quantize(family, f"{family}-{format}-read.gguf", make_policy(format),
                                     layout="gguf")
                plain = self.folder / f"{family}-{format}-plain"
                checkpoint.convert(path, plain, "plain", dtype="f32")
                ours = decoders.read_folder(plain)
                reader = gguf.GGUFReader(path)
                theirs = {tensor.name: tensor for tensor in reader.tensors}
                self.assertEqual(set(theirs), set(checkpoint.open(path).tensors))
                count = 0
                for name, tensor in theirs.items():
                    if tensor.tensor_type.name != format.upper():
                        continue
                    count += 1
                    if name not in ours:
                        # Stacks of gpt-oss, plain: [E, K, N].
                        stack = ours[name.removesuffix(".weight")]
                        self.assertEqual(stack.shape, source[name.removesuffix(".weight")].shape)
                        ours[name] = stack.swapaxes(1, 2)
                    values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
                    scale = theirs.get(name.removesuffix(".weight") + ".scale")
                    if scale is None:
                        np.testing.assert_array_equal(ours[name].reshape(values.shape), values)
                    else:
                        # The block's scale times the tensor's, or the expert's, is rounded first
                        # here.
                        factors = scale.data.reshape(-1, *[1] * (values.ndim - 1))
                        np.testing.assert_array_max_ulp(ours[name].reshape(values.shape),
                                                        values * factors)
                    self.assertEqual(list(reversed(tensor.shape)), list(ours[name].shape))
                self.assertGreater(count, 10)
                for name, array in source.items():
                    if name in theirs and theirs[name].tensor_type.name == "BF16":
                        self.assertEqual(theirs[name].data.tobytes(), array.tobytes())

    def test_mxfp4_decodes_by_its_formula(self):
        path = self.quantize("moe", "decoded.gguf", make_policy("mxfp4"), layout="gguf")
        plain = self.folder / "decoded"
        checkpoint.convert(path, plain, "plain", dtype="f32")
        ours = decoders.read_folder(plain)
        for name, tensor in checkpoint.open(path).tensors.items():
            if tensor.dtype == "MXFP4":
                blocks = tensor.bytes().reshape(*tensor.shape[:-1], -1)
                np.testing.assert_array_equal(ours[name], decode_mxfp4(blocks))


if __name__ == "__main__":
    unittest.main()
