# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of ONNX, and their results by onnx.reference."""

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import blockscale.onnx

TYPES = {
    "f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16,
    "i64": TensorProto.INT64, "i32": TensorProto.INT32, "bool": TensorProto.BOOL,
    "e4m3": TensorProto.FLOAT8E4M3FN, "e5m2": TensorProto.FLOAT8E5M2,
    "e2m1": TensorProto.FLOAT4E2M1, "e8m0": TensorProto.FLOAT8E8M0,
    "e2m3": TensorProto.FLOAT6E2M3, "e3m2": TensorProto.FLOAT6E3M2,
}
DTYPES = {
    "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i64": np.int64,
    "i32": np.int32, "bool": np.bool_, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2, "e2m1": ml_dtypes.float4_e2m1fn,
    "e8m0": ml_dtypes.float8_e8m0fnu, "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
}
#: The newest opset, but for tests of older ones.
NEWEST = onnx.defs.onnx_opset_version()


def node(op, inputs, outputs, name="", domain="", **attributes):
    """A node; "-" leaves an input out."""
    taken = ["" if each == "-" else each for each in inputs.split()]
    return helper.make_node(op, taken, outputs.split(), name=name or op.lower(),
                            domain=domain, **attributes)


def type_of(array):
    return helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)


def make_model(nodes, inputs, outputs, constants=(), opset=NEWEST, domains=("trt",),
               functions=()):
    """A model of nodes.

    inputs: types and shapes by name, as ("f32", ["n", 4]); outputs: types and ranks by name,
    as ("f32", 2); constants: arrays by name.
    """
    graph = helper.make_graph(
        nodes, "graph",
        [helper.make_tensor_value_info(name, TYPES[kind], shape)
         for name, (kind, shape) in dict(inputs).items()],
        [helper.make_tensor_value_info(name, TYPES[kind], [None] * rank)
         for name, (kind, rank) in dict(outputs).items()],
        [numpy_helper.from_array(np.asarray(array), name)
         for name, array in dict(constants).items()])
    opsets = [helper.make_opsetid("", opset), *[helper.make_opsetid(each, 1) for each in domains]]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions),
                             ir_version=helper.find_min_ir_version_for(opsets, True))


def run_reference(model, feeds):
    """The results by onnx.reference, in a list."""
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, dict(feeds))


def run_imported(model, feeds, **options):
    """The results of the imported model, in a list."""
    results = blockscale.onnx.from_model(model, **options).compile()(**feeds)
    return list(results) if isinstance(results, tuple) else [results]


def unpack(codes):
    """Codes of 4 bits, from bytes of two."""
    codes = np.asarray(codes).view(np.uint8)
    return np.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:-1], -1)


def to_bits(array, is_packed=False):
    """An array to compare: codes one by one, other numbers as bits, with one NaN."""
    array = np.asarray(array)
    if is_packed:
        return unpack(array)
    if array.dtype == ml_dtypes.float4_e2m1fn:
        return array.view(np.uint8)
    if array.dtype.kind in "iub":
        return array
    bits = array.view(f"u{array.dtype.itemsize}").copy()
    bits[np.isnan(array)] = 0xFF if array.dtype.itemsize == 1 else 0x7FC0
    return bits
