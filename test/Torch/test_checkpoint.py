# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""load_quantized_: checkpoints that are written here by the formulas of their packages, decoded by
tables, and what is refused."""

import copy
import itertools
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import torch
from torch import nn

import blockscale
import blockscale.torch
from blockscale import checkpoint
from blockscale._native._checkpoint import lay_out
from blockscale.checkpoint._quantize import _gpu, _quantize
from test_quantize_model import Model

DTYPES = {torch.int64: "I64", torch.bfloat16: "BF16", torch.float32: "F32", torch.uint8: "U8",
          torch.float8_e4m3fn: "F8_E4M3"}
VALUES = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
VALUES = torch.cat([VALUES, -VALUES])


def setUpModule():
    unittest.enterModuleContext(torch.no_grad())


def save_file(tensors, path):
    rows = [(name, DTYPES[x.dtype], tuple(x.shape)) for name, x in tensors.items()]
    layout = lay_out("safetensors", rows)
    data = bytearray(layout.nbytes)
    data[:len(layout.header)] = layout.header
    for offset, x in zip(layout.offsets, tensors.values()):
        data[offset:offset + x.nbytes] = x.reshape(-1).view(torch.uint8).numpy().tobytes()
    Path(path).write_bytes(data)


def round_codes(x):
    """Codes of E2M1 nearest to numbers in [-6, 6]: ties cannot be seen in random numbers."""
    return (x.clamp(-6, 6)[..., None] - VALUES).abs().argmin(-1).to(torch.uint8)


def pack(codes):
    return codes[..., 0::2] | codes[..., 1::2] << 4


def unpack(data):
    return VALUES[torch.stack([data & 15, data >> 4], -1).flatten(-2).long()]


def modelopt_nvfp4(weight, input_amax=None):
    """Tensors of a layer, and the values that they stand for."""
    ws2 = weight.abs().max() / (6 * 448)
    blocks = weight.view(len(weight), -1, 16)
    scales = (blocks.abs().amax(-1) / (6 * ws2)).clamp(2 ** -9, 448).to(torch.float8_e4m3fn)
    factors = scales.float()[..., None] * ws2
    data = pack(round_codes(blocks / factors).flatten(1))
    found = {"weight": data, "weight_scale": scales, "weight_scale_2": ws2}
    if input_amax is not None:
        found["input_scale"] = torch.tensor(input_amax / (6 * 448))
    return found, (unpack(data).view(blocks.shape) * factors).flatten(1)


def packed_nvfp4(weight, input_amax=None):
    """compressed-tensors': scalars are reciprocals."""
    g = 448 * 6 / weight.abs().max()
    blocks = weight.view(len(weight), -1, 16)
    scales = (blocks.abs().amax(-1) / 6 * g).clamp(max=448).to(torch.float8_e4m3fn)
    factors = scales.float()[..., None] / g
    data = pack(round_codes(blocks / factors).flatten(1))
    found = {"weight_packed": data, "weight_scale": scales, "weight_global_scale": g[None]}
    if input_amax is not None:
        found["input_global_scale"] = torch.tensor([448 * 6 / input_amax])
    return found, (unpack(data).view(blocks.shape) * factors).flatten(1)


def mx(weight, is_fp4):
    blocks = weight.view(*weight.shape[:-1], -1, 32)
    exponents = torch.ceil(torch.log2(blocks.abs().amax(-1) / (6 if is_fp4 else 448))).clamp(
        -127, 127)
    factors = torch.exp2(exponents)[..., None]
    scales = (exponents + 127).to(torch.uint8)
    if is_fp4:
        data = pack(round_codes(blocks / factors).flatten(-2))
        return data, scales, (unpack(data).view(blocks.shape) * factors).flatten(-2)
    codes = (blocks / factors).to(torch.float8_e4m3fn)
    return codes.flatten(-2), scales, (codes.float() * factors).flatten(-2)


def mxfp8(weight, _=None):
    data, scales, values = mx(weight, False)
    return {"weight": data, "weight_scale": scales}, values


def mxfp4(weight, _=None):
    data, scales, values = mx(weight, True)
    return {"weight_packed": data, "weight_scale": scales}, values


def make(**options):
    torch.manual_seed(0)
    return Model(**options).bfloat16().eval(), torch.randn(6, 64).bfloat16()


def with_byte(x, byte):
    """A copy of bytes with another one in it."""
    changed = x.contiguous().view(torch.uint8).clone()
    changed.view(-1)[3] = byte
    return changed.view(x.dtype)


def write(model, layer, input_amax=None):
    """The tensors of a checkpoint, whose head is plain, and a model with the values that they
    stand for."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    plain = copy.deepcopy(model).float()

    def put(prefix, weight):
        tensors, values = layer(weight.float().contiguous(), input_amax)
        state.update({prefix + name: value for name, value in tensors.items()})
        return values
    for name in ("up", "down"):
        weight = state.pop(f"{name}.weight")
        getattr(plain, name).weight.copy_(put(f"{name}.", weight))
    for name, parts in (("gate_up_proj", ("gate_proj", "up_proj")), ("down_proj", ("down_proj",))):
        stack = state.pop(f"experts.{name}")
        for number, weight in enumerate(stack):
            if layer in (modelopt_nvfp4, packed_nvfp4):
                # Rows of one expert share a global scale, as exporters see to.
                largest = weight.abs().max()
                weight = weight.clone()
                for rows in weight.chunk(len(parts)):
                    rows[0, 0] = largest
            values = [put(f"experts.{number}.{part}.", rows)
                      for part, rows in zip(parts, weight.chunk(len(parts)))]
            getattr(plain.experts, name)[number].copy_(torch.cat(values))
    return state, plain


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def save(self, state, config=None, parts=1):
        names = sorted(state)
        for number in range(parts):
            save_file({name: state[name].contiguous() for name in names[number::parts]},
                      self.folder / f"model-{number}.safetensors")
        if config is not None:
            (self.folder / "config.json").write_text(json.dumps({"quantization_config": config}))

    def test_weights(self):
        """Of each package: the values of weights are those that the formulas give."""
        for layer, name in ((modelopt_nvfp4, "ModelOpt NVFP4"),
                            (packed_nvfp4, "compressed-tensors nvfp4-pack-quantized"),
                            (mxfp8, "ModelOpt MXFP8"),
                            (mxfp4, "compressed-tensors mxfp4-pack-quantized")):
            with self.subTest(name):
                model, x = make(has_bias=False)
                state, plain = write(model, layer)
                self.save(state, parts=3)
                summary = blockscale.torch.load_quantized_(model, self.folder)
                self.assertEqual({each.form.partition(" of ")[2] for each in summary.quantized},
                                 {name})
                self.assertEqual([each.name for each in summary.left], ["head"])
                torch.testing.assert_close(model.up.weight.float(), plain.up.weight, rtol=2 ** -8,
                                           atol=1e-6)
                torch.testing.assert_close(model(x).float(), plain(x.float()), rtol=0.05, atol=0.05)

    def test_activations(self):
        """An input scale, or a configuration, says that activations are quantized."""
        cases = [(modelopt_nvfp4, 4.0, None, None, "scale"),
                 (packed_nvfp4, 4.0, None, None, "scale"),
                 (modelopt_nvfp4, 4.0, None, True, None),
                 (modelopt_nvfp4, None, None, False, "dynamic"),
                 (mxfp8, None, {"quant_method": "modelopt", "quant_algo": "MXFP8"}, None, "none"),
                 (mxfp4, None, {"quant_method": "compressed-tensors", "config_groups": {
                     "group_0": {"input_activations": None}}}, None, None)]
        for layer, amax, config, weight_only, scaling in cases:
            with self.subTest(layer.__name__, amax=amax, config=config):
                model, x = make(has_bias=False)
                state, plain = write(model, layer, amax)
                self.save(state, config or {})
                blockscale.torch.load_quantized_(model, self.folder, weight_only=weight_only)
                activation = model.up.form.activation
                self.assertEqual(activation and activation.scaling, scaling)
                if scaling == "scale":
                    self.assertAlmostEqual(model.up.input_global.item(), 4.0 / 2688, 7)
                if scaling:
                    found, wanted = model(x).float(), plain(x.float())
                    self.assertLess(((found - wanted).norm() / wanted.norm()).item(), 0.25)

    def test_gpt_oss(self):
        model, x = make(is_transposed=True)
        plain = copy.deepcopy(model).float()
        state = dict(model.state_dict())
        for name in ("gate_up_proj", "down_proj"):
            stack = state.pop(f"experts.{name}").transpose(1, 2).float()
            data, scales, values = mx(stack.contiguous(), True)
            state[f"experts.{name}_blocks"] = data.view(*data.shape[:-1], -1, 16)
            state[f"experts.{name}_scales"] = scales
            getattr(plain.experts, name).copy_(values.transpose(1, 2))
        self.save(state)
        summary = blockscale.torch.load_quantized_(model, self.folder / "model-0.safetensors")
        self.assertEqual([each.name for each in summary.quantized],
                         ["experts.gate_up_proj", "experts.down_proj"])
        torch.testing.assert_close(model(x).float(), plain(x.float()), rtol=0.05, atol=0.05)

    def test_biases_of_experts(self):
        """Experts with layers of their own have biases of their own, too."""
        model, x = make()
        state, plain = write(model, modelopt_nvfp4)
        for name, parts in (("gate_up_proj", ("gate_proj", "up_proj")),
                            ("down_proj", ("down_proj",))):
            for number, bias in enumerate(state.pop(f"experts.{name}_bias")):
                state.update({f"experts.{number}.{part}.bias": rows
                              for part, rows in zip(parts, bias.chunk(len(parts)))})
        self.save(state)
        biases = {name: each for name, each in model.named_parameters() if name.endswith("_bias")}
        for bias in biases.values():
            bias.zero_()
        blockscale.torch.load_quantized_(model, self.folder)
        torch.testing.assert_close(model(x).float(), plain(x.float()), rtol=0.05, atol=0.05)
        del state["experts.2.down_proj.bias"], state["up.bias"]
        self.save(state)
        with self.assertRaisesRegex(blockscale.ArgumentError,
                                    "expected a tensor 'up.bias', but got none"):
            blockscale.torch.load_quantized_(make()[0], self.folder)

    def test_meta(self):
        model, x = make(has_bias=False)
        state, _ = write(model, modelopt_nvfp4)
        self.save(state)
        blockscale.torch.load_quantized_(model, self.folder)
        with torch.device("meta"):
            empty = Model(has_bias=False).bfloat16().eval()
        blockscale.torch.load_quantized_(empty, [self.folder / "model-0.safetensors"])
        self.assertTrue(torch.equal(empty(x), model(x)))

    # Names of one parameter need one tensor, and have one parameter behind that. Two of them have
    # the same values, and a class that may share them is no model that does.
    def test_shared_parameters(self):
        def make_tied(is_tied):
            made = nn.Sequential(nn.Embedding(8, 32), nn.Linear(32, 8, bias=False))
            made._tied_weights_keys = ["1.weight"]
            if is_tied:
                made[1].weight = made[0].weight
            return made
        weight, both = torch.randn(8, 32), ("0.weight", "1.weight")
        for names in (both, both[:1], both[1:]):
            self.save(dict.fromkeys(names, weight))
            for place in ("cpu", "meta"):
                with torch.device(place):
                    tied, untied = make_tied(True), make_tied(False)
                with self.assertWarns(UserWarning):  # That no layer has codes.
                    blockscale.torch.load_quantized_(tied, self.folder)
                self.assertIs(tied[0].weight, tied[1].weight)
                self.assertTrue(torch.equal(tied[0].weight, weight))
                if len(names) == 1:
                    missing, = set(both) - set(names)
                    with self.assertRaisesRegex(blockscale.ArgumentError,
                                                f"expected a tensor '{missing}', but got none"):
                        blockscale.torch.load_quantized_(untied, self.folder)
        self.save({"0.weight": weight, "1.weight": weight + 1})
        with self.assertRaisesRegex(blockscale.ArgumentError, "'1.weight': expected the values of "
                                    "'0.weight', which is the same tensor of the model"):
            blockscale.torch.load_quantized_(make_tied(True), self.folder)

    def test_transforms(self):
        """A layer that reads other activations than those in front of it would compute others."""
        model, _ = make(has_bias=False)
        state, _ = write(model, packed_nvfp4)
        members = {"quant_method": "compressed-tensors", "config_groups": {},
                   "format": "nvfp4-pack-quantized", "transform_config": {}}
        self.save(state, members)
        blockscale.torch.load_quantized_(copy.deepcopy(model), self.folder)
        members["transform_config"] = {"config_groups": {"R4": {"type": "hadamard"}}}
        self.save(state, members)
        with self.assertRaisesRegex(blockscale.ArgumentError, "quantization_config: expected no "
                                    "transform_config, whose transforms of activations no layer"):
            blockscale.torch.load_quantized_(model, self.folder)
        state["up.pre_quant_scale"] = torch.ones(64)
        self.save(state, {**members, "transform_config": None})
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected no factors of activations, "
                                    "which .* but got 'up.pre_quant_scale'"):
            blockscale.torch.load_quantized_(model, self.folder)

    def test_other_activations(self):
        """Activations in another format than the weight are none that layers have."""
        model, _ = make(has_bias=False)
        operand = {"num_bits": 4, "type": "float"}
        group = {"targets": ["Linear"], "weights": operand, "input_activations": operand}
        packed = {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
                  "config_groups": {"group_0": group}}
        cases = [(packed_nvfp4, packed, ""), (modelopt_nvfp4, {"quant_algo": "NVFP4"}, ""),
                 (packed_nvfp4, {**packed, "config_groups": {"group_0": {
                     **group, "input_activations": {"num_bits": 8, "type": "float"}}}},
                  "float of 8 bits"),
                 (modelopt_nvfp4, {"quant_algo": "W4A8_NVFP4_FP8"},
                  "those of 'W4A8_NVFP4_FP8', which is not known")]
        for layer, members, message in cases:
            state, _ = write(model, layer, 4.0)
            self.save(state, {"quant_method": "modelopt", **members})
            for weight_only in (None, True):
                made = copy.deepcopy(model)
                if not message or weight_only:
                    blockscale.torch.load_quantized_(made, self.folder, weight_only=weight_only)
                    continue
                with self.assertRaisesRegex(
                        blockscale.ArgumentError, "'up': expected activations in nvfp4, as the "
                        f"weight is, but got {message}; weight_only=True leaves them plain"):
                    blockscale.torch.load_quantized_(made, self.folder)

    def test_refused(self):
        model, _ = make(has_bias=False)
        state, _ = write(model, modelopt_nvfp4, 4.0)

        def change(**changes):
            changed = dict(state)
            for name, value in changes.items():
                key = name.replace("__", ".")
                if value is None:
                    del changed[key]
                else:
                    changed[key] = value
            return changed
        cases = [
            (change(up__weight=state["up.weight"][1:]), r"'up.weight': expected shape \[96, 32\]"),
            (change(up__weight_scale=state["up.weight_scale"][:, 1:]),
             r"'up.weight_scale': expected shape \[96, 4\]"),
            (change(up__weight_scale_2=None), "expected 'up.weight_scale_2', as ModelOpt NVFP4"),
            (change(up__weight_scale_2=torch.tensor([1.0, 2.0])), "expected one number"),
            (change(up__weight_scale_2=torch.tensor(0.0)), "expected a positive, finite number"),
            (change(up__input_scale=torch.tensor(float("nan"))), "finite number, but got nan"),
            (change(up__weight_scale=(state["up.weight_scale"].view(torch.uint8) | 0x80)
                    .view(torch.float8_e4m3fn)), "scales that are not negative"),
            (change(up__bias=torch.zeros(3)), r"'up.bias': expected shape \[96\]"),
            (change(experts__1__up_proj__weight=None), "'experts.1.up_proj': expected ModelOpt"),
            (change(experts__1__up_proj__weight_scale_2=torch.tensor(3.0)),
             "expected the global scale of the other rows"),
            (change(head__weight=None), "expected a tensor 'head.weight', but got none"),
            (change(head__weight=torch.zeros(3, 3)), r"'head.weight': expected shape \[32, 64\]"),
            (change(up__weight_scale=with_byte(state["up.weight_scale"], 0x7F)),
             "'up.weight_scale': expected scales that are numbers, but got 1 NaN"),
            (change(up__weight_scale_2=torch.tensor(1)),
             "'up.weight_scale_2': expected numbers of F32, BF16, F16, F64, but got I64"),
            (change(up__bias=torch.zeros(96, dtype=torch.int64)), "'up.bias': expected numbers"),
            (change(head__weight=state["head.weight"].to(torch.float8_e4m3fn)),
             "'head.weight': expected numbers of F32, BF16, F16, F64, but got F8_E4M3"),
            # Biases of layers that have none, of one and of all experts, and of one alone.
            (change(down__bias=torch.zeros(64)), "'down.bias': expected a tensor of the model"),
            (change(**{f"experts__{number}__down_proj__bias": torch.zeros(64)
                       for number in range(len(model.experts.down_proj))}),
             "'experts.down_proj_bias': expected a tensor of the model, but it has no"),
            (change(experts__1__down_proj__bias=torch.zeros(64)),
             "expected a tensor 'experts.0.down_proj.bias', as other experts have one, but got"),
            (change(experts__1__down_proj__input_scale=None),
             "expected a tensor 'experts.1.down_proj.input_scale', as other experts have one"),
            (change(up__factors=torch.ones(64)), "'up.factors': expected a tensor of"),
        ]
        for changed, message in cases:
            with self.subTest(message):
                for file in self.folder.iterdir():
                    file.unlink()
                self.save(changed)
                model, _ = make(has_bias=False)
                with self.assertRaisesRegex(blockscale.ArgumentError, message):
                    blockscale.torch.load_quantized_(model, self.folder)
                # It is as it was.
                self.assertEqual([type(each) for each in model.modules()],
                                 [type(each) for each in make(has_bias=False)[0].modules()])
                self.assertTrue(torch.equal(model.head.weight, state["head.weight"]))

    def test_codes_and_scales_that_are_no_numbers(self):
        """NaN among codes and among scales, of each format; the largest number is none."""
        for layer, name, byte, largest in (
                (mxfp8, "weight", 0x7F, 0x7E), (mxfp8, "weight", 0xFF, 0xFE),
                (mxfp8, "weight_scale", 0xFF, 0xFE), (mxfp4, "weight_scale", 0xFF, 0xFE),
                (modelopt_nvfp4, "weight_scale", 0x7F, 0x7E),
                (packed_nvfp4, "weight_scale", 0x7F, 0x7E)):
            for prefix in ("up", "experts.2.gate_proj"):
                with self.subTest(layer.__name__, name=name, byte=byte, prefix=prefix):
                    model, _ = make(has_bias=False)
                    state, _ = write(model, layer)
                    key = f"{prefix}.{name}"
                    what = "codes" if name == "weight" else "scales"
                    self.save({**state, key: with_byte(state[key], byte)})
                    with self.assertRaisesRegex(
                            blockscale.ArgumentError,
                            f"'{key}': expected {what} that are numbers, but got 1 NaN"):
                        blockscale.torch.load_quantized_(model, self.folder)
                    self.save({**state, key: with_byte(state[key], largest)})
                    blockscale.torch.load_quantized_(model, self.folder)

    def test_nothing_quantized(self):
        model, _ = make(has_bias=False)
        self.save(model.state_dict())
        with self.assertWarnsRegex(UserWarning, "'up' is left: the checkpoint has a plain weight"):
            summary = blockscale.torch.load_quantized_(model, self.folder)
        self.assertEqual(summary.before, summary.after)
        self.assertEqual(summary.after, sum(each.nbytes for each in model.parameters()))

    def test_a_state_dict_of_a_checkpoint(self):
        """It has the recipe of the checkpoint's layout: a model quantized by a policy of that
        recipe takes it, and one of another does not."""
        model, x = make(has_bias=False)
        state, _ = write(model, modelopt_nvfp4)
        self.save(state)
        fresh = copy.deepcopy(model)
        blockscale.torch.load_quantized_(model, self.folder)
        rule = {"format": "nvfp4", "recipe": "modelopt", "weight_only": True,
                "match": {"location": "[!h]*"}}
        other = copy.deepcopy(fresh)
        blockscale.torch.quantize_(fresh, {"version": 1, "rules": [rule]})
        fresh.load_state_dict(model.state_dict())
        self.assertTrue(torch.equal(fresh(x), model(x)))
        blockscale.torch.quantize_(other, {"version": 1, "rules": [{**rule, "recipe": "te"}]})
        with self.assertRaisesRegex(RuntimeError, "expected recipe of weights te, as the layer "
                                                  "has it, but got recipe of weights modelopt"):
            other.load_state_dict(model.state_dict())

    def test_files_that_are_refused(self):
        model, _ = make(has_bias=False)
        load = blockscale.torch.load_quantized_
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected files of tensors"):
            load(model, self.folder)
        with self.assertRaisesRegex(blockscale.FileError, "none.safetensors"):
            load(model, self.folder / "none.safetensors")
        broken = self.folder / "broken.safetensors"
        broken.write_bytes(b"\x08" + bytes(7) + b"notjson!")
        with self.assertRaisesRegex(blockscale.FileError, "broken.safetensors"):
            load(model, broken)
        broken.unlink()
        self.save({"head.weight": torch.zeros(32, 64)})
        path = self.folder / "model-0.safetensors"
        with self.assertRaisesRegex(blockscale.ArgumentError, "each tensor once"):
            load(model, [path, path])
        (self.folder / "config.json").write_text("{")
        with self.assertRaisesRegex(blockscale.ArgumentError, "config.json' to be JSON"):
            load(model, self.folder)
        for given, options, message in ((3, {}, "Module, but got int"),
                                        (model, {"weight_only": "no"}, "True, False or None")):
            with self.assertRaisesRegex(blockscale.ArgumentError, message):
                load(given, path, **options)
        self.assertIsInstance(model.up, nn.Linear)


class QuantizeTest(unittest.TestCase):
    """What goes to a GPU, on the CPU: scripts/gpu/check_torch.py runs it on a GPU."""

    def test_functions_of_a_gpu_give_the_same_bytes(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        torch.manual_seed(0)
        for name, dtype in (("bf16", torch.bfloat16), ("f32", torch.float32)):
            save_file({"a.down_proj.weight": torch.randn(48, 64).to(dtype)},
                      folder / f"{name}.safetensors")
        for source, layout, rule in (
                ("bf16", "modelopt", {"format": "nvfp4", "weight_only": True}),
                ("bf16", "compressed-tensors", {"format": "nvfp4", "weight_only": True}),
                ("f32", "modelopt", {"format": "mxfp8"}),
                ("f32", "modelopt", {"format": "nvfp4", "weights": {"sweep": True}, "cast": "bf16",
                                     "weight_only": True})):
            with self.subTest(layout, rule=rule, source=source):
                files = []
                for on in ("cpu", "cuda"):
                    path = folder / f"{len(list(folder.iterdir()))}.safetensors"
                    with (mock.patch.object(_gpu, "DEVICE", "cpu"),
                          mock.patch.object(_quantize, "check_gpu")):
                        checkpoint.quantize(folder / f"{source}.safetensors", path,
                                            {"version": 1, "rules": [rule]}, layout=layout, on=on)
                    files.append(path.read_bytes())
                self.assertEqual(*files)

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU")
    def test_no_gpu(self):
        with self.assertRaisesRegex(blockscale.ArgumentError, "expected a GPU for on='cuda'"):
            checkpoint.quantize("a", "b", {"version": 1, "rules": []}, on="cuda")


class ViewTest(unittest.TestCase):
    def test_views_are_no_copies(self):
        path = Path(self.enterContext(tempfile.TemporaryDirectory()), "x.safetensors")
        x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
        y = torch.arange(8, dtype=torch.uint8).view(torch.float8_e4m3fn)
        save_file({"x": x, "y": y}, path)
        found = checkpoint.open(path).tensors
        self.assertTrue(torch.equal(found["x"].torch(), x))
        self.assertEqual(found["y"].torch().dtype, torch.float8_e4m3fn)
        self.assertEqual(found["x"].torch().data_ptr(), found["x"].numpy().ctypes.data)
        save_file({"y": y[:3], "x": x}, path.with_name("odd.safetensors"))
        found = checkpoint.open(path.with_name("odd.safetensors")).tensors
        with self.assertRaisesRegex(blockscale.ArgumentError, "at a multiple of 4 bytes"):
            found["x"].torch()
        self.assertTrue(torch.equal(found["x"].torch(copy=True), x))


class TablesTest(unittest.TestCase):
    def test_schemes_are_told_apart(self):
        """By their tensors, but for MXFP8, whose family a configuration says."""
        from blockscale.torch._checkpoint import SCHEMES
        for one, other in itertools.combinations(SCHEMES, 2):
            if {one.format, other.format} == {"mxfp8"}:
                self.assertNotEqual(one.family, other.family)
                continue
            self.assertNotEqual((one.data, one.scales, one.is_stack),
                                (other.data, other.scales, other.is_stack))
