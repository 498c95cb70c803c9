# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The structures of include/blockscale-c, field by field, and the types of callbacks."""

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int64,
    c_size_t,
    c_uint,
    c_uint64,
    c_void_p,
)


class Diagnostic(ctypes.Structure):
    pass


Diagnostic._fields_ = [
    ("severity", c_int), ("message", c_char_p), ("file", c_char_p), ("line", c_uint),
    ("column", c_uint), ("notes", POINTER(Diagnostic)), ("note_count", c_size_t)]

DiagnosticCallback = ctypes.CFUNCTYPE(None, POINTER(Diagnostic), c_void_p)
ProgressCallback = ctypes.CFUNCTYPE(c_int, c_char_p, c_size_t, c_size_t, c_void_p)


class Reduction(ctypes.Structure):
    _fields_ = [("address", c_uint64), ("count", c_uint64), ("dtype", c_int), ("kind", c_int),
                ("stream", c_void_p)]


ReduceCallback = ctypes.CFUNCTYPE(c_int, POINTER(Reduction), c_void_p)


class Config(ctypes.Structure):
    """A configuration, which begins with its size. What is not set has its default, 0."""

    def __init__(self, **fields: object):
        super().__init__(**fields)
        self.struct_size = ctypes.sizeof(self)


class CompileConfig(Config):
    _fields_ = [
        ("struct_size", c_size_t), ("targets", POINTER(c_char_p)), ("target_count", c_size_t),
        ("emission", c_int), ("source_name", c_char_p), ("cpu", c_char_p),
        ("features", c_char_p), ("ptxas", c_char_p), ("no_fusion", c_int), ("remarks", c_int),
        ("keep_stages", c_int), ("on_diagnostic", DiagnosticCallback),
        ("on_progress", ProgressCallback), ("user", c_void_p), ("bytecode_reader", c_char_p),
        ("tuned", c_char_p), ("policy", c_char_p), ("machine_code", c_int), ("no_checks", c_int),
        ("overlap_launches", c_int)]


class ExecutableConfig(Config):
    _fields_ = [
        ("struct_size", c_size_t), ("place", c_int), ("entry", c_char_p), ("chip", c_char_p),
        ("device", c_int), ("no_fusion", c_int), ("remarks", c_int), ("source_name", c_char_p),
        ("on_diagnostic", DiagnosticCallback), ("on_progress", ProgressCallback),
        ("user", c_void_p), ("bytecode_reader", c_char_p), ("tuned", c_char_p),
        ("policy", c_char_p), ("cpu", c_char_p), ("keep_code", c_int),
        ("ptxas", c_char_p), ("no_checks", c_int), ("overlap_launches", c_int)]


class CallConfig(Config):
    _fields_ = [
        ("struct_size", c_size_t), ("stream", c_void_p), ("accept_nan_scales", c_int),
        ("adversarial", c_int), ("seed", c_uint64), ("on_progress", ProgressCallback),
        ("user", c_void_p), ("no_wait", c_int), ("workspace", c_void_p),
        ("workspace_bytes", c_uint64), ("max_steps", c_uint64), ("reduce", ReduceCallback),
        ("reduce_user", c_void_p)]


class Slot(ctypes.Structure):
    _fields_ = [("type", c_char_p), ("dtype", c_int), ("rank", c_size_t),
                ("shape", POINTER(c_int64)), ("is_scalar", c_int)]


class Array(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int), ("rank", c_size_t), ("shape", c_void_p),
                ("strides", c_void_p)]


class StorageType(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("block_elements", c_int64), ("block_bytes", c_int64),
                ("in_safetensors", c_int), ("gguf_number", c_int)]


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", POINTER(StorageType)), ("rank", c_size_t),
                ("shape", POINTER(c_int64)), ("offset", c_uint64), ("bytes", c_uint64)]


class Metadata(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("type", c_int), ("element_type", c_int), ("count", c_uint64),
                ("value", c_void_p), ("bytes", c_uint64)]


class NewTensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("rank", c_size_t),
                ("shape", POINTER(c_int64))]


class Statistics(ctypes.Structure):
    _fields_ = [("count", c_uint64), ("nan", c_uint64), ("infinite", c_uint64),
                ("zero", c_uint64), ("negative", c_uint64), ("min", c_float), ("max", c_float),
                ("least", c_float)]


class CodeStatistics(ctypes.Structure):
    _fields_ = [("codes", c_uint64 * 16 * 2), ("largest", c_uint64 * 8)]


class Difference(ctypes.Structure):
    _fields_ = [("count", c_uint64), ("different", c_uint64), ("incomparable", c_uint64),
                ("reference_squares", c_double), ("difference_squares", c_double),
                ("largest", c_double), ("largest_index", c_int64)]


class CallArgument(ctypes.Structure):
    """blockscale_argument of Runtime.h."""

    _fields_ = [("dtype", c_int), ("rank", c_size_t), ("shape", POINTER(c_int64)),
                ("scalar", c_void_p)]


class OperandForm(ctypes.Structure):
    _fields_ = [("format", c_char_p), ("recipe", c_char_p), ("scaling", c_int), ("amax", c_float),
                ("is_swept", c_int)]


class LayerForm(ctypes.Structure):
    _fields_ = [("weight", OperandForm), ("activation", OperandForm), ("is_transformed", c_int),
                ("cast", c_char_p), ("order", c_char_p)]


class Layer(Config):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("function", c_char_p),
                ("n", c_int64), ("k", c_int64), ("is_last", c_int), ("type", c_char_p),
                ("m", c_int64)]


class Decision(ctypes.Structure):
    _fields_ = [("is_quantized", c_int), ("form", LayerForm), ("rule", c_char_p),
                ("clause", c_char_p), ("expected", c_char_p), ("found", c_char_p),
                ("max_m", c_int64)]
