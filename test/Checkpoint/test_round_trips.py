# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pair of layouts, there and back, on random weights: what convert() calls exact has the same
numbers, what it says comes back does so bit for bit, and it names every layer that does not."""

import itertools
import os
import tempfile
import unittest
from pathlib import Path

import numpy as np

import blockscale
import blockscale.checkpoint as checkpoint
import decoders

#: scripts/long/checkpoints.sh sets BLOCKSCALE_LONG.
SEEDS = range(12 if "BLOCKSCALE_LONG" in os.environ else 1)
#: Rules that parts of models break, and layers of torchao, which nothing fuses.
PARTS = ("whole-model", "alike-layers", "sizes-of-configuration", "equal-global-scales")
LAYOUTS = ("modelopt", "compressed-tensors", "torchao", "gguf", "gpt-oss")
#: The layouts of each format, and the rule of a policy that makes them.
FORMATS = {
    "nvfp4": (("modelopt", "compressed-tensors", "torchao", "gguf"),
              {"format": "nvfp4", "weight_only": True}),
    "mxfp8": (("modelopt", "compressed-tensors", "torchao"), {"format": "mxfp8"}),
    "mxfp4": (("compressed-tensors", "torchao", "gguf", "gpt-oss"), {"format": "mxfp4"}),
}


def make_tensors(seed, family):
    """A decoder of one layer with weights of random sizes and exponents."""
    random = np.random.RandomState(seed)
    rows, hidden, inner = (64 * random.randint(1, 4) for _ in range(3))
    shapes = {"self_attn.q_proj": (rows, hidden), "self_attn.k_proj": (rows, hidden),
              "self_attn.v_proj": (rows, hidden), "self_attn.o_proj": (hidden, rows),
              "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden),
              "mlp.down_proj": (hidden, inner)}
    tensors = {}
    for name, shape in shapes.items():
        # Half of the weights have blocks whose exponents differ by more than MXFP4 to NVFP4 takes.
        spread = random.choice([2, 20])
        blocks = np.exp2(random.randint(-spread, 1, (shape[0], shape[1] // 32)))
        values = random.standard_normal(shape) * np.repeat(blocks, 32, 1)
        tensors[f"model.layers.0.{name}.weight"] = decoders.bf16(values)
    tensors["model.norm.weight"] = decoders.bf16(random.standard_normal(hidden))
    config = decoders.CONFIGS["dense"] | {"hidden_size": hidden, "intermediate_size": inner,
                                          "num_hidden_layers": 1}
    if family == "gptoss":
        for name in list(tensors):
            if ".mlp." in name:
                del tensors[name]
        for stack, shape in (("gate_up_proj", (3, hidden, 2 * inner)),
                             ("down_proj", (3, inner, hidden))):
            name = f"model.layers.0.mlp.experts.{stack}"
            tensors[name] = decoders.bf16(random.standard_normal(shape))
            tensors[f"{name}_bias"] = decoders.bf16(random.standard_normal((3, shape[2])))
        config = decoders.CONFIGS["gptoss"] | {"hidden_size": hidden, "intermediate_size": inner,
                                               "num_hidden_layers": 1, "num_local_experts": 3}
    return tensors, config


def read_all(path):
    return {name: (tensor.dtype, tensor.shape, tensor.bytes().tobytes())
            for name, tensor in checkpoint.open(path).tensors.items()}


class TestRoundTrips(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.count = 0

    def make_path(self, layout):
        self.count += 1
        return self.folder / f"{self.count}{'.gguf' if layout == 'gguf' else ''}"

    def list_pairs(self, family):
        for format, (layouts, rule) in FORMATS.items():
            for first, second in itertools.permutations(LAYOUTS, 2):
                if first in layouts and not (first == "gpt-oss" and family != "gptoss"):
                    if first == "gguf" and format != "nvfp4":
                        rule = {**rule, "weight_only": True}
                    yield format, rule, first, second

    def test_pairs(self):
        outcomes = {"exact": 0, "inexact": 0, "refused": 0}
        for seed, family in itertools.product(SEEDS, ("dense", "gptoss")):
            tensors, config = make_tensors(seed, family)
            source = self.folder / f"{family}-{seed}"
            decoders.write_folder(source, tensors, config)
            made = {}
            for format, rule, first, second in self.list_pairs(family):
                with self.subTest(seed=seed, family=family, format=format, first=first,
                                  second=second):
                    if (format, first) not in made:
                        made[format, first] = self.make_path(first)
                        checkpoint.quantize(source, made[format, first],
                                            {"version": 1, "rules": [rule]}, layout=first,
                                            allow=PARTS)
                    outcomes[self.check_pair(made[format, first], first, second, format)] += 1
        self.assertGreater(outcomes["exact"], 20)
        self.assertGreater(outcomes["inexact"], 0)
        self.assertGreater(outcomes["refused"], 0)

    def check_pair(self, path, first, second, format):
        """Returns whether the pair is exact."""
        target = self.make_path(second)
        is_known = second in FORMATS[format][0] or (format, second) == ("mxfp4", "modelopt")
        try:
            found = checkpoint.convert(path, target, second, allow=PARTS)
        except blockscale.ArgumentError as error:
            # No closed form, or gpt-oss, which has experts alone.
            self.assertTrue(not is_known or second == "gpt-oss", error)
            self.assertFalse(target.exists())
            return "refused"
        self.assertTrue(is_known)
        changed = {layer.name for layer in found.layers if layer.lost}
        ulps = {layer.name for layer in found.layers if not layer.comes_back}
        self.check_numbers(path, target, changed, ulps)
        self.assertEqual(found.is_exact, not changed)
        if format == "mxfp4" and second == "modelopt":
            return "inexact" if changed else "exact"
        self.assertFalse(changed)
        back = self.make_path(first)
        checkpoint.convert(target, back, first, allow=PARTS)
        before, after = read_all(path), read_all(back)
        if first == "gguf" and any("experts." in name for name in before):
            # What layouts with an expert's own layers had comes back as these layers.
            before = {name: each for name, each in before.items() if "experts." not in name}
            after = {name: each for name, each in after.items() if "experts." not in name}
        self.assertEqual(set(before), set(after))
        different = {name for name in before if before[name] != after[name]}
        self.assertEqual({name for name in different
                          if not any(name.startswith(layer) for layer in ulps)}, set())
        if found.comes_back:
            self.assertEqual(different, set())
        return "exact"

    def check_numbers(self, path, target, changed, ulps):
        """By value: layers differ where it was said, by an ulp where a reciprocal is stored."""
        difference = checkpoint.diff(path, target)
        self.assertEqual((difference.only_first, difference.only_second), ((), ()))
        for tensor in difference.tensors:
            self.assertEqual(tensor.message, "")
            name = tensor.name.removesuffix(".weight")
            if name in changed:
                self.assertGreater(tensor.different, 0)
            elif name in ulps:
                self.assertGreater(tensor.sqnr, 120)
            else:
                self.assertEqual(tensor.different, 0, name)


if __name__ == "__main__":
    unittest.main()
