# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No NaN of zeros: functions of JAX that a policy quantizes."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import jax.numpy as jnp

from models import import_function

sys.path.append(str(Path(__file__).resolve().parents[1]))

import zeros


class TestZeros(unittest.TestCase):
    def test_policies(self):
        weights = zeros.make_weights()

        def multiply(x, experts):
            return tuple(jnp.matmul(experts if w.ndim == 3 else x, jnp.swapaxes(w, -1, -2))
                         for w in weights.values())
        arrays = next(iter(zeros.make_activations().values()))
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        policy = folder / "policy.json"
        policy.write_text(json.dumps(zeros.make_policy()), encoding="utf-8")
        function = import_function(multiply, *arrays).compile(policy=policy)
        zeros.check(self, function, weights)


if __name__ == "__main__":
    unittest.main()
