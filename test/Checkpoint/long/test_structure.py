# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What check() says a model must have, against the parameters of a class of each model type of
transformers: none lacks a layer, a norm or a head, and none has another size than its configuration
says."""

import contextlib
import importlib.util
import json
import unittest
from collections import namedtuple

from blockscale.checkpoint._check import _experts, _layers, _sizes, _strangers

Files = namedtuple("Files", "tensors config")
#: Model types of which a class must have been made on the meta device, of some 660.
LEAST = 500


def list_classes():
    """By model type: a class, for text where there is one."""
    import transformers
    from transformers.models.auto import modeling_auto
    found = {}
    for name in dir(modeling_auto):
        if name.startswith("MODEL_") and name.endswith("MAPPING_NAMES"):
            for kind, names in getattr(modeling_auto, name).items():
                found.setdefault(kind, []).extend([names] if isinstance(names, str) else names)

    def rank(name):
        return (not name.endswith("ForCausalLM"), not name.endswith("ForConditionalGeneration"),
                not name.endswith("Model"), name)
    for kind in sorted(found):
        with contextlib.suppress(Exception):  # Classes of packages that are not installed.
            yield kind, getattr(transformers, min(found[kind], key=rank))


def make_files(cls):
    """Shapes by name, and the configuration, of a model of the sizes that are the default."""
    import torch
    config = cls.config_class()
    with torch.device("meta"):
        model = cls(config)
    config.architectures = [cls.__name__]
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    return Files({name: tuple(tensor.shape) for name, tensor in model.state_dict().items()
                  if name not in tied}, json.loads(config.to_json_string(use_diff=True)))


class TestStructure(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
    def test_all_model_types(self):
        count = 0
        for kind, cls in list_classes():
            try:
                files = make_files(cls)
            except Exception:  # Configurations that need values of their own.
                continue
            count += 1
            members, config = files
            found = [*_layers.check_numbers(members, config), *_layers.check_alike(members, config),
                     *_layers.check_ends(members, config), *_sizes.check_sizes(members, config),
                     *_sizes.check_biases(members, config), *_experts.check_numbered(files),
                     *_experts.check_stacks(members, config),
                     *_layers.check_partners(members, config), *_strangers.check_names(files)]
            with self.subTest(kind):
                self.assertEqual(list(map(str, found)), [])
        self.assertGreater(count, LEAST)


if __name__ == "__main__":
    unittest.main()
