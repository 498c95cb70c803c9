# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchao's quantizers of NVFP4 training on the CPU.

torchao has them as kernels in Triton alone, for Blackwell. The Python code of these kernels is run
here, whole, with functions of PyTorch under the names of Triton's: a tensor of PyTorch is a tile,
and one program computes all of them. Three things are stated here and not torchao's:

  * division: rounded to nearest, where Triton's `/` may be a GPU's approximation;
  * products of the Hadamard matrix: exact sums, rounded to f32 and then, by the kernel, to bf16;
  * E2M1: `cvt.rn.satfinite.e2m1x2` as ml_dtypes casts, for the kernels have it as PTX.
"""

import functools
import types
from unittest import mock

import ml_dtypes
import torch

with mock.patch("torch.utils._triton.has_triton", lambda: True):
    from torchao.prototype.moe_training.nvfp4_training import (
        hadamard_amax_triton,
        hadamard_quantize_row_col_triton,
        hadamard_utils,
        quantize_2d_triton,
    )


class Tile(torch.Tensor):
    """A tensor with the methods that Triton's have."""

    def split(self):
        return self.unbind(-1)

    def __rtruediv__(self, other):
        # PyTorch's own multiplies by a reciprocal.
        return torch.full_like(self, other) / self


class Pointer:
    """The place in a buffer where `offset` elements, a number or a tensor of them, lie before."""

    def __init__(self, buffer, offset=0):
        self.buffer, self.offset = buffer, offset

    def __add__(self, offset):
        return Pointer(self.buffer, self.offset + offset)


def to_buffer(x):
    return x.buffer if isinstance(x, Pointer) else x


class Descriptor:
    """A view of a buffer, as tensor descriptors are, in tiles of a shape."""

    def __init__(self, buffer, shape, strides, block_shape):
        assert list(strides) == list(torch.empty(shape, device="meta").stride())
        self.buffer, self.block = to_buffer(buffer).view(shape), block_shape

    def get_tile(self, offsets):
        return self.buffer[tuple(slice(i, i + n) for i, n in zip(offsets, self.block))]

    def load(self, offsets):
        return self.get_tile(offsets).as_subclass(Tile)

    def store(self, offsets, value):
        tile = self.get_tile(offsets)
        assert tile.shape == value.shape
        tile.copy_(value)


def max_of(x, axis, keep_dims=False):
    """Of f32, as Triton's is where x is bf16."""
    return (x.float() if x.dtype == torch.bfloat16 else x).amax(axis, keepdim=keep_dims)


def store_atomic_max(buffer, value):
    buffer.copy_(torch.maximum(buffer, value))


def ignore(*_):
    """What compilers are told of a pointer."""


def store(pointer, value, mask):
    assert mask.all()
    pointer.buffer.view(-1)[pointer.offset] = value


def minimum(a, b):
    if isinstance(a, int):
        return min(a, b)
    return torch.minimum(a, torch.tensor(b, dtype=torch.float32))


#: What the kernels name of triton.language.
LANGUAGE = types.SimpleNamespace(
    float32=torch.float32, int32=torch.int32, bfloat16=torch.bfloat16,
    float8e4nv=torch.float8_e4m3fn, PropagateNan=types.SimpleNamespace(ALL=None),
    make_tensor_descriptor=Descriptor, program_id=lambda _: 0, cdiv=lambda a, b: -(-a // b),
    range=lambda start, end, step, **_: range(start, end, step), load=lambda x: x.as_subclass(Tile),
    trans=lambda x: x.t(), reshape=lambda x, shape: x.reshape(shape),
    permute=lambda x, dims: x.permute(dims), expand_dims=lambda x, axis: x.unsqueeze(axis),
    dot=lambda a, b: (a.double() @ b.double()).float(), abs=torch.abs, max=max_of,
    where=lambda condition, a, b: torch.where(condition, a, b), clamp=torch.clamp,
    minimum=minimum, arange=torch.arange, store=store, multiple_of=ignore, max_contiguous=ignore,
    maximum=lambda a, b, propagate_nan: torch.maximum(a, b.float()),
    zeros=lambda shape, dtype: torch.zeros(shape, dtype=dtype).as_subclass(Tile),
    atomic_max=store_atomic_max)


def round_pairs(pairs):
    """A byte of each two numbers, the first one in its low half."""
    low, high = (torch.from_numpy(each.numpy().astype(ml_dtypes.float4_e2m1fn).view("uint8"))
                 for each in pairs)
    return low | high << 4


@functools.cache
def to_function(jitted):
    """The Python function of a kernel, or of a function that kernels call, over tiles."""
    while not isinstance(jitted, types.FunctionType):
        jitted = jitted.fn
    names = {"tl": LANGUAGE, "convert_8xfp32_to_4xfp4_packed": round_pairs}
    for name in jitted.__code__.co_names:
        value = jitted.__globals__.get(name)
        if name not in names and hasattr(value, "fn"):
            names[name] = to_function(value)
    return types.FunctionType(jitted.__code__, {**jitted.__globals__, **names})


def run(kernel, *arguments, m, n, **options):
    """One program for tiles of 128x128, one of the shapes that torchao measures."""
    to_function(kernel)(*arguments, m, n, BLOCK_M=128, BLOCK_N=128, GROUP_SIZE_N=8, NUM_SMS=1,
                        NUM_STAGES=1, **options)


def make_results(rows, cols):
    """Codes and scales, in tiles of 128x4, of a matrix."""
    return (torch.empty(rows, cols // 2, dtype=torch.uint8),
            Pointer(torch.empty(rows // 128, cols // 64, 32, 16, dtype=torch.float8_e4m3fn)))


def to_rows(scales):
    """Scales by rows, of those in tiles."""
    outer, inner = scales.buffer.shape[:2]
    tiles = scales.buffer.view(torch.uint8).view(outer, inner, 32, 4, 4)
    return tiles.permute(0, 3, 2, 1, 4).reshape(outer * 128, inner * 4)


def quantize_weight(x):
    """Rows and columns in squares, each as codes, scales and the amax."""
    (m, n), amax = x.shape, x.float().abs().max().reshape(1)
    rows, columns = make_results(m, n), make_results(n, m)
    run(quantize_2d_triton.triton_quantize_2d_weight, x, *rows, *columns, amax, m=m, n=n)
    return [(codes, to_rows(scales), amax) for codes, scales in (rows, columns)]


def quantize_rows(x, signs):
    """Rows of x, or of a gradient, and transformed columns, rounded to nearest."""
    m, n = x.shape
    matrix = hadamard_utils.get_rht_matrix(signs, "cpu", torch.bfloat16, 16)
    of_columns, of_rows = torch.zeros(1), torch.zeros(1)
    run(hadamard_amax_triton._hadamard_amax_kernel, x, matrix, of_columns, of_rows, m=m, n=n)
    rows, columns = make_results(m, n), make_results(n, m)
    run(hadamard_quantize_row_col_triton._hadamard_quantize_row_col_kernel, x, matrix, of_columns,
        of_rows, *columns, *rows, None, None, None, None, m=m, n=n, STOCHASTIC_ROUNDING=False)
    return [(codes, to_rows(scales), amax)
            for (codes, scales), amax in ((rows, of_rows), (columns, of_columns))]
