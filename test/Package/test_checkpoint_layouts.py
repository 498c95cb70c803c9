# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts that are only read: FP8 with scales that are numbers, FP4 in F4, and stacks of codes; and
formats that are known by name alone."""

import tempfile
import unittest
from pathlib import Path

import ml_dtypes
import numpy as np

import blockscale
import checkpoints
from blockscale import checkpoint

E4M3, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
N, K, EXPERTS = 160, 256, 3
LAYER, STACK = "model.layers.0.self_attn.q_proj", "model.layers.0.mlp.experts.down_proj"
MODELOPT = {"quant_method": "modelopt", "ignore": []}


def packed(strategy, activations=None, **more):
    """A configuration of compressed-tensors with FP8."""
    return {"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {
        "group_0": {"targets": ["Linear"], "input_activations": activations, "weights": {
            "num_bits": 8, "type": "float", "strategy": strategy, **more}}}}


def blocks(size=(128, 128)):
    return {"quant_method": "fp8", "weight_block_size": list(size)}


#: By title: the layout, the ending of scales, their shape and type, and the configuration.
FP8 = {
    "a tensor": ("ModelOpt FP8", ".weight_scale", (), np.float32,
                 {**MODELOPT, "quant_algo": "FP8"}),
    "rows": ("ModelOpt FP8 of rows", ".weight_scale", (N,), np.float32,
             {**MODELOPT, "quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"}),
    "blocks of ModelOpt": ("ModelOpt FP8 in blocks", ".weight_scale", (2, 1, 2, 1), np.float32,
                           {**MODELOPT, "quant_algo": "FP8_PB_WO"}),
    "packed, a tensor": ("compressed-tensors float-quantized tensor", ".weight_scale", (1,),
                         ml_dtypes.bfloat16, packed("tensor")),
    "packed, rows": ("compressed-tensors float-quantized channel", ".weight_scale", (N, 1),
                     ml_dtypes.bfloat16, packed("channel")),
    "packed, blocks": ("compressed-tensors float-quantized block", ".weight_scale", (2, 2),
                       np.float32, packed("block", block_structure=[128, 128])),
    "AutoFP8": ("FP8 of one scale a tensor", ".weight_scale", (), np.float32,
                {"quant_method": "fp8", "activation_scheme": "dynamic"}),
    "FBGEMM": ("FP8 of one scale a row", ".weight_scale", (N, 1), np.float32,
               {"quant_method": "fbgemm_fp8"}),
    "f32 blocks": ("FP8 in blocks of 128 x 128", ".weight_scale_inv", (2, 2), np.float32, blocks()),
    "bf16 blocks": ("FP8 in blocks of 128 x 128", ".weight_scale_inv", (2, 2), ml_dtypes.bfloat16,
                    blocks()),
    "E8M0 blocks": ("FP8 in blocks of 128 x 128", ".weight_scale_inv", (2, 2), E8M0, blocks()),
}


def make_codes(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32).astype(E4M3)


def make_scales(shape, dtype, seed=1):
    found = np.random.default_rng(seed).uniform(0.004, 0.02, shape).astype(np.float32)
    return np.exp2(np.round(np.log2(found))).astype(dtype) if dtype is E8M0 else found.astype(dtype)


def spread(scales, rows, cols):
    """The factor of each element."""
    numbers = scales.astype(np.float32).reshape([size for size in scales.shape if size != 1] or [1])
    if numbers.ndim == 2:
        return np.repeat(np.repeat(numbers, 128, 0)[:rows], 128, 1)[:, :cols]
    return np.broadcast_to(numbers.reshape(-1, 1), (rows, cols))


class LayoutsTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, tensors, quantization=None, hidden=K):
        config = {"hidden_size": hidden, "dtype": "float32"}
        if quantization is not None:
            config["quantization_config"] = quantization
        return checkpoints.write_model(self.folder / "source", tensors, config)

    def decode(self, source):
        """The tensors of the plain checkpoint that a source becomes, and what became of it."""
        result = self.folder / "plain"
        found = checkpoint.convert(source, result, "plain")
        return {name: tensor.numpy() for name, tensor in checkpoint.open(
            result).tensors.items()}, found

    def test_fp8(self):
        """Codes times scales, in f32, whatever the scales; the checks find nothing."""
        for title, (layout, ending, shape, dtype, quantization) in FP8.items():
            with self.subTest(title):
                self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
                codes, scales = make_codes((N, K)), make_scales(shape, dtype)
                tensors = {f"{LAYER}.weight": codes, LAYER + ending: scales}
                if title == "a tensor":
                    tensors[f"{LAYER}.input_scale"] = np.array(0.01, np.float32)
                source = self.write(tensors, quantization)
                weight = checkpoint.open(source).weights[LAYER]
                self.assertEqual((weight.layout.name, weight.shape), (layout, (N, K)))
                errors = [str(each) for each in checkpoint.check(source).findings
                          if each.rule.severity == "error"]
                self.assertEqual(errors, [])
                found, told = self.decode(source)
                wanted = codes.astype(np.float32) * spread(scales, N, K)
                np.testing.assert_array_equal(found[f"{LAYER}.weight"], wanted)
                self.assertEqual(list(found), [f"{LAYER}.weight"])
                self.assertTrue(told.is_exact)

    def test_rounded(self):
        """Blocks that bf16 rounds are counted."""
        layout = FP8["f32 blocks"]
        source = self.write({f"{LAYER}.weight": make_codes((N, K)),
                             LAYER + layout[1]: make_scales((2, 2), np.float32)}, blocks())
        found = checkpoint.convert(source, self.folder / "bf16", "plain", dtype="bf16")
        self.assertGreater(found.layers[0].lost, 0)
        self.assertLessEqual(found.layers[0].lost, found.layers[0].blocks)

    def test_fp8_to_blocks(self):
        """Codes stay; each block has the scale of the tensor, or its own in f32."""
        for title in ("a tensor", "AutoFP8", "bf16 blocks", "E8M0 blocks", "packed, blocks"):
            with self.subTest(title):
                self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
                _, ending, shape, dtype, quantization = FP8[title]
                codes, scales = make_codes((N, K)), make_scales(shape, dtype)
                tensors = {f"{LAYER}.weight": codes, LAYER + ending: scales}
                if title == "a tensor":
                    tensors[f"{LAYER}.input_scale"] = np.array(0.01, np.float32)
                source = self.write(tensors, quantization)
                told = checkpoint.convert(source, self.folder / "blocks", "fp8-blocks")
                found = checkpoint.open(self.folder / "blocks")
                np.testing.assert_array_equal(found.tensors[f"{LAYER}.weight"].numpy(), codes)
                stored = found.tensors[f"{LAYER}.weight_scale_inv"]
                self.assertEqual((stored.dtype, stored.shape), ("F32", (2, 2)))
                np.testing.assert_array_equal(
                    spread(stored.numpy(), N, K), spread(scales, N, K))
                self.assertTrue(told.is_exact)
        with self.assertRaisesRegex(blockscale.ArgumentError, "its scales have no such form"):
            _, ending, shape, dtype, quantization = FP8["rows"]
            source = checkpoints.write_model(self.folder / "rows", {
                f"{LAYER}.weight": make_codes((N, K)), LAYER + ending: make_scales(shape, dtype)},
                {"quantization_config": quantization})
            checkpoint.convert(source, self.folder / "none", "fp8-blocks")

    def test_small_fp8(self):
        """Scales of one number are those of the configuration's strategy."""
        for strategy in ("tensor", "block"):
            with self.subTest(strategy):
                source = self.write({f"{LAYER}.weight": make_codes((64, 128)),
                                     f"{LAYER}.weight_scale": make_scales((1, 1), np.float32)},
                                    packed(strategy), 128)
                self.assertEqual(checkpoint.open(source).weights[LAYER].layout.name,
                                 f"compressed-tensors float-quantized {strategy}")
                self.assertEqual([str(each) for each in checkpoint.check(source).findings], [])

    def test_sizes_of_blocks(self):
        """Blocks of other sizes are not known, and are not taken for those of 128."""
        source = self.write({f"{LAYER}.weight": make_codes((64, 64)),
                             f"{LAYER}.weight_scale_inv": make_scales((1, 1), np.float32)},
                            blocks((64, 64)))
        self.assertEqual(str(checkpoint.open(source).unknown[0]),
                         "fp8 in blocks of [64, 64] of F8_E4M3, not known here")

    def test_quantize_fp8(self):
        """A source of FP8 is its numbers in bf16, as models compute with them."""
        _, ending, shape, dtype, quantization = FP8["rows"]
        codes, scales = make_codes((N, K)), make_scales(shape, dtype)
        source = self.write({f"{LAYER}.weight": codes, LAYER + ending: scales}, quantization)
        plain = checkpoints.write_model(self.folder / "bf16", {f"{LAYER}.weight": (
            codes.astype(np.float32) * spread(scales, N, K)).astype(ml_dtypes.bfloat16)},
            {"hidden_size": K, "dtype": "float32"})
        policy = {"version": 1, "rules": [{"format": "nvfp4", "weight_only": True}]}
        for each, name in ((source, "one"), (plain, "other")):
            checkpoint.quantize(each, self.folder / name, policy)
        self.assertEqual(checkpoints.read_bytes(self.folder / "one")["model.safetensors"],
                         checkpoints.read_bytes(self.folder / "other")["model.safetensors"])

    def test_f4(self):
        """Shapes of F4 count elements; the type of the scales tells the format."""
        random = np.random.default_rng(0)
        codes = random.integers(0, 256, (N, K // 2), np.uint8)
        for ending in (".weight_scale", ".scale", ".weight_scale_inv"):
            for format, block, dtype in (("mxfp4", 32, E8M0), ("nvfp4", 16, E4M3)):
                with self.subTest(ending + format):
                    self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
                    low, high = (118, 127) if format == "mxfp4" else (40, 126)
                    scales = random.integers(low, high, (N, K // block)).astype(np.uint8)
                    tensors = {f"{LAYER}.weight": ("F4", (N, K), codes.tobytes()),
                               LAYER + ending: scales.view(dtype)}
                    factor = 1.0
                    if format == "nvfp4":
                        factor = np.float32(2.0 ** -8)
                        tensors[f"{LAYER}.weight_scale_2"] = np.array(factor)
                    source = self.write(tensors)
                    self.assertEqual(checkpoint.check(source).count("error"), 0)
                    found, _ = self.decode(source)
                    np.testing.assert_array_equal(found[f"{LAYER}.weight"], checkpoints.decode(
                        format, codes, scales, factor))
                    checkpoint.convert(source, self.folder / "modelopt", "modelopt",
                                       format=format if format == "nvfp4" else None)

    def test_stacks(self):
        """Stacks of codes, [E, K, N] as Llama-4 has them or [E, N, K], are the same numbers."""
        random = np.random.default_rng(0)
        n, k = 64, 128
        codes = random.integers(0, 256, (EXPERTS, n, k // 2), np.uint8)
        scales = random.integers(40, 126, (EXPERTS, n, k // 16)).astype(np.uint8).view(E4M3)
        fp8 = make_codes((EXPERTS, n, k))
        wanted = checkpoints.decode("nvfp4", codes, scales, 2.0 ** -8)
        cases = {
            "nvfp4": (codes, {"_weight_scale": scales,
                              "_weight_scale_2": np.array(2.0 ** -8, np.float32)}, wanted,
                      {**MODELOPT, "quant_algo": "W4A16_NVFP4"}),
            "fp8": (fp8, {"_weight_scale": np.array(0.01, np.float32),
                          "_input_scale": np.array(0.01, np.float32)},
                    fp8.astype(np.float32) * np.float32(0.01), {**MODELOPT, "quant_algo": "FP8"}),
            "fp8 blocks": (fp8, {"_scale_inv": np.full((EXPERTS, 1, 1), 0.01, np.float32)},
                           fp8.astype(np.float32) * np.float32(0.01), blocks()),
        }
        for title, (data, parts, values, quantization) in cases.items():
            for turns in (False, True) if title != "fp8 blocks" else (False,):
                with self.subTest(title, turns=turns):
                    self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

                    def turn(each, turns=turns):
                        return np.ascontiguousarray(each.swapaxes(1, 2)) if (
                            turns and each.ndim == 3) else each
                    source = self.write({STACK: turn(data), **{
                        STACK + ending: turn(part) for ending, part in parts.items()}},
                        quantization, hidden=n)
                    weight = checkpoint.open(source).weights[STACK]
                    self.assertEqual((weight.shape, weight.is_transposed), ((3, n, k), turns))
                    found, _ = self.decode(source)
                    np.testing.assert_array_equal(found[STACK], turn(values))
                    experts = self.folder / "experts"
                    checkpoint.convert(source, experts, "compressed-tensors", format="mxfp8")
                    self.assertEqual(checkpoint.open(experts).weights[
                        "model.layers.0.mlp.experts.2.down_proj"].shape, (n, k))

    def test_unknown(self):
        """Formats without a layout are named by every command."""
        integers = np.ones((16, 8), np.int32)
        floats = np.ones((16, 8), np.float16)
        cases = (
            ({".qweight": integers, ".g_idx": np.zeros(8, np.int64)}, None, "GPTQ"),
            ({".qweight": integers, ".qzeros": integers}, None, "AWQ"),
            ({".qweight": integers, ".qzeros": integers}, {"quant_method": "gptq"}, "GPTQ"),
            ({".weight": np.ones((64, 1), np.uint8), ".weight.absmax": np.ones(2, np.float32)},
             None, "bitsandbytes"),
            ({".W_q": np.ones((16, 8), np.uint8), ".scale": floats, ".zero": floats}, None, "HQQ"),
            ({".weight": ("U32", (16, 8), bytes(512)), ".scales": floats, ".biases": floats},
             None, "MLX"),
            ({".weight": integers, ".weight_scale": floats}, {"quant_method": "quark"}, "Quark"),
            ({".weight": np.ones((16, 8), np.uint8).view(np.int8), ".weight_scale": np.ones(
                (16, 1), np.float32)}, packed("channel") | {"format": "int-quantized"},
             "int-quantized of INT8"),
            ({".weight_packed": integers, ".weight_shape": np.array([16, 64])}, None,
             "pack-quantized"),
            ({".codebooks": floats, ".codes": integers}, None, "AQLM"),
        )
        names = {**checkpoints.NAMES, "int32": "I32", "int8": "I8"}
        for parts, quantization, title in cases:
            with self.subTest(title):
                tensors = {LAYER + ending: part if isinstance(part, tuple) else (
                    names[part.dtype.name], part.shape, part.tobytes())
                    for ending, part in parts.items()}
                source = self.write(tensors, quantization)
                found, = checkpoint.open(source).unknown
                self.assertEqual((found.name, found.title, found.tensors),
                                 (LAYER, title, tuple(sorted(tensors, key=found.tensors.index))))
                report = checkpoint.check(source)
                self.assertIn("known-layout", {each.rule.name for each in report.findings})
                for text in (str(report), report.explain("vLLM")):
                    self.assertIn("not known here", text)
                    self.assertIn(title, text)
                with self.assertRaisesRegex(blockscale.ArgumentError, "not known here"):
                    checkpoint.diff(source, source)

    def test_parameters_of_torchao(self):
        """Stacks of experts are read; other parameters that are no weights of layers have no
        layout, and are named."""
        codes = np.ones((3, 64, 32), np.uint8)
        for path, name in (("model.layers.0.mlp.experts", "down_proj"),
                           ("model.layers.0.mlp", "table")):
            tensors = {f"{path}._{name}_qdata": codes,
                       f"{path}._{name}_scale": np.ones((3, 64, 4), np.float32).astype(E4M3),
                       f"{path}._{name}_per_tensor_scale": np.array(0.5, np.float32)}
            checkpoints.save(self.folder / f"{name}.safetensors", tensors, {
                f"{path}.{name}": '{"_type": "NVFP4Tensor", "_data": {}}'})
        stack = checkpoint.open(self.folder / "down_proj.safetensors")
        self.assertEqual(list(stack.unknown), [])
        weight, = stack.weights.values()
        self.assertEqual((weight.name, weight.layout.name, weight.shape),
                         ("model.layers.0.mlp.experts.down_proj", "torchao NVFP4", (3, 64, 64)))
        found, = checkpoint.open(self.folder / "table.safetensors").unknown
        self.assertEqual((found.name, str(found)), (
            "model.layers.0.mlp.table", "torchao's NVFP4Tensor, not known here"))
        self.assertEqual(found.tensors, tuple(tensors)[:2])

    def test_types_of_gguf(self):
        """Blocks of GGUF without a layout are named by their type."""
        path = self.folder / "model.gguf"
        checkpoints.save(path, {f"{LAYER}.weight": ("Q8_0", (4, 32), bytes(4 * 34))})
        found, = checkpoint.open(path).unknown
        self.assertEqual(str(found), "Q8_0, not known here")

    def test_codes_of_no_size(self):
        """Codes that are one number, or none, are no weight, and no error ends a process."""
        for shape in ((), (0,), (4,), (0, 0)):
            for dtype in ("U8", "I8", "F8_E4M3", "F4"):
                with self.subTest(dtype, shape=shape):
                    count = int(np.prod(shape))
                    if dtype == "F4" and count % 2:
                        continue
                    source = self.write({
                        f"{LAYER}.weight": (dtype, shape, bytes(count // (1 + (dtype == "F4")))),
                        f"{LAYER}.weight_scale": ("U8", (), b"\x7f")})
                    self.assertTrue(checkpoint.check(source).findings)
                    with self.assertRaises(blockscale.ArgumentError):
                        checkpoint.convert(source, self.folder / "none", "plain")

    def test_numbers_that_are_no_codes(self):
        """Masks, positions and indices are of no format."""
        source = self.write({"model.position_ids": np.arange(8).reshape(1, 8),
                             "model.norm.weight": np.ones(8, np.float32)})
        self.assertEqual(checkpoint.open(source).unknown, [])


if __name__ == "__main__":
    unittest.main()
