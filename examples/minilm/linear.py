# ===- linear.py - The encoder with compiled linear layers ----------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""The whole model in a scheme: each layer is given what the quantized ones before it
computed, so that errors add up as they do where a model is served.

Linear layers take and give bf16. What is between them is f64, whose last bits differ
from machine to machine but do not reach bf16; compiled code does not differ. So the
figures are the same everywhere.
"""

import dataclasses
import os

import numpy as np

from blockscale_object import Object
from blockscale_reference import from_bf16, to_bf16
from encoder import Encoder


class CompiledEncoder(Encoder):
    """`outputs` maps names of linear layers, and `hidden` names of encoder layers, to
    what they gave for each sentence, [T, N]."""

    def __init__(self, model, scheme, compiler, folder):
        wide = {name: t.astype(np.float64) for name, t in model.tensors.items()}
        super().__init__(dataclasses.replace(model, tensors=wide))
        self.scheme = scheme
        stem = os.path.join(folder, scheme.name.replace("+", "-"))
        self.object = Object(compiler, scheme.module(), stem)
        self.weights, self.outputs, self.hidden = {}, {}, {}

    @property
    def weight_bytes(self):
        """What the weights of linear layers take, in storage form."""
        return sum(array.nbytes for arrays in self.weights.values() for array in arrays)

    def _linear(self, x, name):
        if name not in self.weights:
            self.weights[name] = self._quantize(to_bf16(self.tensors[name + ".weight"]))
        bias = self.tensors[name + ".bias"].astype(np.float32)
        y = np.empty((len(x), len(bias)), np.uint16)
        self.object.call("linear", to_bf16(x), *self.weights[name], bias, y)
        y = from_bf16(y)
        self.outputs.setdefault(name, []).append(y)
        return y.astype(np.float64)

    def _layer(self, x, name):
        y, seen = super()._layer(x, name)
        self.hidden.setdefault(name, []).append(y)
        return y, seen

    def _quantize(self, w):
        if self.scheme.format is None:
            return [w]
        arrays = self.scheme.weight_like(*w.shape)
        self.object.call("weight", w, *arrays)
        return arrays


def sqnr(values, wanted):
    """Signal to quantization noise of lists of arrays, in dB."""
    values, wanted = (np.concatenate(a).astype(np.float64) for a in (values, wanted))
    noise = np.square(values - wanted).sum()
    return float(10 * np.log10(np.square(wanted).sum() / noise))
