# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models whose linear layers are quantized, as a tool that quantizes models writes them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from blockscale._ops import FORMATS
from blockscale.onnx._recipes import DEFAULTS, DOMAIN, OPSET, make_function


def quantize_layers(model, format, rounds=False):
    """The model with weights and activations of its linear layers in a format, and how many
    layers these are. A layer is a MatMul or Gemm with a weight that is an initializer, and the
    bias that is added to it.

    The quantizers are the functions that blockscale.onnx exports, of x and of a weight [N, K],
    and their results are dequantized in front of the product. Where it `rounds`, what is
    quantized and what layers give is rounded to bf16, as in examples/minilm.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph, nodes, count = result.graph, [], 0
    weights = {each.name: each for each in graph.initializer}
    function = make_function(format, DEFAULTS[format], False, OPSET)
    one = numpy_helper.from_array(np.ones((1, 1, 1), np.float32), "no_global_scale")

    def round_to_bf16(name, result=None):
        """A tensor of float rounded to bf16, in float."""
        narrow, wide = f"{name}.bf16", result or f"{name}.rounded"
        if not any(narrow in node.output for node in nodes):
            nodes.append(helper.make_node("Cast", [name], [narrow], to=TensorProto.BFLOAT16))
            nodes.append(helper.make_node("Cast", [narrow], [wide], to=TensorProto.FLOAT))
        return wide

    def quantize(name, base):
        """What a tensor is after it was quantized."""
        if rounds:
            name = round_to_bf16(name)
        given = [name, one.name] if format == "nvfp4" else [name]
        codes, scales, wide = (f"{base}.{part}" for part in ("codes", "scales", "wide"))
        nodes.append(helper.make_node(function.name, given, [codes, scales], domain=DOMAIN,
                                      name=f"{base}.quantize"))
        if format == "nvfp4":
            nodes.append(helper.make_node("Cast", [scales], [f"{scales}.f32"],
                                          to=TensorProto.FLOAT))
            scales = f"{scales}.f32"
        nodes.append(helper.make_node(
            "DequantizeLinear", [codes, scales], [wide], axis=-1, block_size=FORMATS[format][2],
            output_dtype=TensorProto.FLOAT))
        return wide

    ends = _find_ends(graph, weights)
    for node in graph.node:
        end = node.output[0] if rounds and node.output[0] in ends else None
        if end:
            # What takes the layer's result takes it rounded.
            node.output[0] = f"{end}.exact"
        weight = weights.get(node.input[1]) if node.op_type in ("MatMul", "Gemm") else None
        if weight is None or len(weight.dims) != 2:
            nodes.append(node)
            if end:
                round_to_bf16(node.output[0], end)
            continue
        count += 1
        is_row = any(each.name == "transB" and each.i for each in node.attribute)
        array = numpy_helper.to_array(weight)
        rows = numpy_helper.from_array(np.ascontiguousarray(array if is_row else array.T),
                                       f"{weight.name}.rows{count}")
        graph.initializer.append(rows)
        node.input[0] = quantize(node.input[0], f"layer{count}.x")
        wide = quantize(rows.name, f"layer{count}.w")
        if node.op_type == "MatMul":
            nodes.append(helper.make_node("Transpose", [wide], [f"{wide}.t"], perm=[1, 0]))
            wide = f"{wide}.t"
        elif not is_row:
            node.attribute.append(helper.make_attribute("transB", 1))
        node.input[1] = wide
        nodes.append(node)
        if end:
            round_to_bf16(node.output[0], end)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.append(one)
    result.functions.append(function)
    result.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return result, count


def _find_ends(graph, weights):
    """The results of layers: of the bias where one is added to a product."""
    ends = set()
    for node in graph.node:
        weight = weights.get(node.input[1]) if node.op_type in ("MatMul", "Gemm") else None
        if weight is None or len(weight.dims) != 2:
            continue
        users = [each for each in graph.node if node.output[0] in each.input]
        is_added = (len(users) == 1 and users[0].op_type == "Add"
                    and any(name in weights and len(weights[name].dims) == 1
                            for name in users[0].input))
        ends.add(users[0].output[0] if is_added else node.output[0])
    return ends


def to_opset(model, opset=OPSET):
    """The model in another opset."""
    return onnx.version_converter.convert_version(model, opset)
