# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of the compilers' kernels, and what numpy says of their results.

Each case is PTX with its launch and arguments; `check(outputs)` raises
AssertionError where a result is not numpy's. Nothing here runs anything.
"""

import dataclasses
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np

DATA = Path(__file__).resolve().parents[3] / "test/Data/compilers"
BF16 = ml_dtypes.bfloat16
E4M3 = ml_dtypes.float8_e4m3fn
E2M1_VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


@dataclasses.dataclass
class Buffer:
    """Global memory: `value` before the launch; None of an output, which is
    uninitialised. Results are read where `isOutput`."""
    name: str
    value: np.ndarray | None = None
    shape: tuple = ()
    dtype: np.dtype = dataclasses.field(default_factory=lambda: np.dtype(np.uint8))
    is_output: bool = False


@dataclasses.dataclass
class TensorMap:
    """A tensor map of a row-major tensor in tiles of the shape `box`; `swizzle` in bytes,
    0 for none."""
    buffer: str
    element: str
    shape: tuple
    box: tuple
    swizzle: int


@dataclasses.dataclass
class PlanMap:
    """A tensor map as a launch plan describes it, in the fields of --arg=map."""
    buffer: str
    fields: dict


@dataclasses.dataclass
class Scalar:
    type: str
    value: object


@dataclasses.dataclass
class Case:
    name: str
    text: bytes
    kernel: str
    chip: int
    grid: tuple
    block: int
    shared: int
    buffers: list
    arguments: list
    check: Callable
    cluster: int = 1
    # Whether the last bits come from approximate instructions, which are the
    # chip's own.
    approximate: bool = False
    # Of blockscale-emulate.
    options: tuple = ()


def _read_ptx(name):
    with gzip.open(DATA / (name + ".gz")) as file:
        return file.read()


def _launch_data():
    return json.loads((DATA / "triton.json").read_text())


def _output(name, shape, dtype):
    return Buffer(name, None, shape, np.dtype(dtype), True)


def _ulps(a, b):
    """Distance of two arrays of bf16 or f32 in steps of their format."""
    unsigned, signed = {2: (np.uint16, np.int32), 4: (np.uint32, np.int64)}[a.dtype.itemsize]
    sign = 1 << (8 * a.dtype.itemsize - 1)

    def order(x):
        bits = x.view(unsigned).astype(signed)
        return np.where(bits & sign, sign - bits, bits)
    return np.abs(order(a) - order(b))


def _within(outputs, name, expected, ulps):
    distance = _ulps(outputs[name], expected.astype(outputs[name].dtype))
    assert distance.max() <= ulps, f"{name}: {distance.max()} ulps from numpy's"


def _equal(outputs, name, expected):
    got = outputs[name]
    different = got.view(np.uint8) != expected.astype(got.dtype).view(np.uint8)
    assert not different.any(), f"{name}: {np.count_nonzero(different)} bytes differ from numpy's"


def _silu(rng, meta):
    n = 3000
    x = (rng.standard_normal(n) * 4).astype(BF16)
    wide = x.astype(np.float64)
    return dict(
        grid=(3, 1, 1), buffers=[Buffer("x", x), _output("y", (n,), BF16)],
        arguments=["x", "y", Scalar("u32", n)],
        check=lambda out: _within(out, "y", wide / (1 + np.exp(-wide)), 1))


def _scale_shift(rng, meta):
    n = 1500
    x = (rng.integers(-2048, 2048, n) / 64).astype(np.float32)
    expected = np.maximum(x.astype(np.float64) * 1.5 + 0.75, -2.0).astype(E4M3)
    return dict(
        grid=(3, 1, 1), buffers=[Buffer("x", x), _output("y", (n,), E4M3)],
        arguments=["x", "y", Scalar("u32", n), Scalar("f32", 1.5)],
        check=lambda out: _equal(out, "y", expected))


def _softmax(rng, meta):
    rows, n = 3, 1000
    x = (rng.standard_normal((rows, n)) * 3).astype(BF16)
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(1, keepdims=True))
    return dict(
        grid=(rows, 1, 1), buffers=[Buffer("x", x), _output("y", (rows, n), BF16)],
        arguments=["x", "y", Scalar("u32", n)],
        check=lambda out: _within(out, "y", e / e.sum(1, keepdims=True), 1))


def _reduce(rng, meta):
    n = 5000
    x = (rng.integers(-64, 64, n) / 16).astype(np.float32)
    start = np.array([0.0, -1e30], np.float32)
    total = (x.astype(np.float64) ** 2 + np.sqrt(np.abs(x.astype(np.float64)))).sum()

    def check(out):
        assert abs(out["y"][0] - total) <= 1e-5 * total, "y[0]: far from numpy's sum"
        assert out["y"][1] == x.max(), "y[1]: not numpy's maximum"
    return dict(
        grid=(5, 1, 1), buffers=[Buffer("x", x), Buffer("y", start, (2,), start.dtype, True)],
        arguments=["x", "y", Scalar("u32", n)], check=check)


def _matmul(rng, meta, m, n, k, with_maps=False):
    # Small integers: every sum is exact, in whatever order it is made.
    a = rng.integers(-3, 4, (m, k)).astype(BF16)
    b = rng.integers(-3, 4, (k, n)).astype(BF16)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
    sizes = [Scalar("u32", m), Scalar("u32", n), Scalar("u32", k)]
    arguments = ["a", "b", "c"]
    if with_maps:
        shapes = {"a": (m, k), "b": (k, n), "c": (m, n)}
        arguments = [argument for name, tile in zip("abc", meta["maps"])
                     for argument in _map_arguments(name, "bf16", shapes[name], tile)]
    return dict(
        buffers=[Buffer("a", a), Buffer("b", b), _output("c", (m, n), BF16)],
        arguments=arguments + sizes, check=lambda out: _equal(out, "c", expected))


def _map_arguments(name, element, shape, tile):
    """A tensor descriptor of Triton: the map, its shape and its strides."""
    return [TensorMap(name, element, shape, tuple(tile["block_size"]), 16 << tile["swizzle"] & ~16),
            *(Scalar("u32", size) for size in shape),
            *(Scalar("u64", math.prod(shape[i + 1:])) for i in range(len(shape)))]


def swizzle_scales(scales):
    """128x4 tiles, padded with zeros: byte (r, c) of a tile is at
    r % 32 * 16 + r // 32 * 4 + c."""
    rows, columns = -(-scales.shape[0] // 128) * 128, -(-scales.shape[1] // 4) * 4
    padded = np.zeros((rows, columns), np.uint8)
    padded[:scales.shape[0], :scales.shape[1]] = scales.view(np.uint8)
    return padded.reshape(rows // 128, 4, 32, columns // 4, 4).transpose(0, 3, 2, 1, 4).reshape(-1)


def _scaled(rng, meta, m, n, k, nvfp4, with_maps=False, scales_in_tiles=False):
    block = 16 if nvfp4 else 32

    def operand(rows):
        if nvfp4:
            codes = rng.integers(0, 16, (rows, k))
            data = (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8)
            scales = (rng.integers(1, 32, (rows, k // block)) / 16).astype(E4M3)
            values, factors = E2M1_VALUES[codes], scales.astype(np.float64)
        else:
            data = (rng.integers(-16, 17, (rows, k)) / 4).astype(E4M3)
            scales = rng.integers(120, 131, (rows, k // block)).astype(np.uint8)
            values, factors = data.astype(np.float64), 2.0 ** (scales.astype(int) - 127)
        return data, scales, values * np.repeat(factors, block, axis=1)

    a, sa, wide_a = operand(m)
    b, sb, wide_b = operand(n)
    expected = (wide_a @ wide_b.T).astype(np.float32).astype(BF16)

    # A pair of CTAs asks for K alone.
    sizes = [Scalar("u32", size) for size in ((m, n, k) if meta["ctas"] == 1 else (k,))]
    arguments = ["a", "sa", "b", "sb", "c"]
    if scales_in_tiles:
        sa, sb = swizzle_scales(sa), swizzle_scales(sb)
    if with_maps:
        shapes = {"a": a.shape, "b": b.shape, "c": (m, n)}
        if scales_in_tiles:
            columns = k // block // 4
            shapes |= {"sa": (1, m // 128, columns, 2, 256), "sb": (1, n // 128, columns, 2, 256)}
        maps = iter(meta["maps"])
        arguments = [argument for name in arguments for argument in (
            _map_arguments(name, "bf16" if name == "c" else "u8", shapes[name], next(maps))
            if name in shapes else [name])]
    return dict(
        buffers=[Buffer("a", a), Buffer("sa", sa), Buffer("b", b), Buffer("sb", sb),
                 _output("c", (m, n), BF16)],
        arguments=arguments + sizes,
        check=lambda out: _within(out, "c", expected, 1))


# Name of the kernel, then the recipe: sizes that need several steps and tiles.
_RECIPES = {
    "silu": _silu,
    "scale_shift": _scale_shift,
    "softmax": _softmax,
    "reduce": _reduce,
    "matmul": lambda rng, meta: dict(_matmul(rng, meta, 256, 128, 192), grid=(2, 1, 1)),
    "matmul_small": lambda rng, meta: dict(_matmul(rng, meta, 64, 32, 96), grid=(2, 1, 1)),
    "matmul_tma": lambda rng, meta: dict(_matmul(rng, meta, 128, 256, 384, True), grid=(1, 2, 1)),
    "nvfp4": lambda rng, meta: dict(_scaled(rng, meta, 256, 128, 768, True), grid=(2, 1, 1)),
    "mxfp8": lambda rng, meta: dict(_scaled(rng, meta, 128, 256, 384, False), grid=(1, 2, 1)),
    "nvfp4_tma": lambda rng, meta: dict(_scaled(rng, meta, 128, 256, 768, True, True),
                                        grid=(1, 2, 1)),
    "mxfp8_tma": lambda rng, meta: dict(_scaled(rng, meta, 256, 128, 384, False, True),
                                        grid=(2, 1, 1)),
    "nvfp4_copied": lambda rng, meta: dict(
        _scaled(rng, meta, 128, 256, 768, True, True, True), grid=(1, 2, 1)),
    "mxfp8_copied": lambda rng, meta: dict(
        _scaled(rng, meta, 512, 128, 384, False, True, True), grid=(2, 1, 1)),
    "nvfp4_copied_ring": lambda rng, meta: dict(
        _scaled(rng, meta, 256, 128, 2048, True, True, True), grid=(2, 1, 1)),
    "mxfp8_copied_ring": lambda rng, meta: dict(
        _scaled(rng, meta, 256, 256, 1024, False, True, True), grid=(1, 2, 1)),
    "nvfp4_pair": lambda rng, meta: dict(
        _scaled(rng, meta, 512, 256, 768, True, True, True), grid=(4, 2, 1)),
    "nvfp4_pair_wide": lambda rng, meta: dict(
        _scaled(rng, meta, 256, 512, 768, True, True, True), grid=(2, 2, 1)),
    "mxfp8_pair": lambda rng, meta: dict(
        _scaled(rng, meta, 512, 256, 384, False, True, True), grid=(4, 2, 1)),
}


def _triton_case(file, meta, make=None):
    stem, chip = file.removeprefix("triton_").removesuffix(".ptx").rsplit("_sm_", 1)
    rng = np.random.default_rng(len(stem))
    recipe = (make or _RECIPES[stem])(rng, meta)
    # Two pointers to scratch memory close every list of parameters of Triton.
    recipe["arguments"] = recipe["arguments"] + [Scalar("u64", 0), Scalar("u64", 0)]
    return Case(name=file.removesuffix(".ptx"), text=_read_ptx(file), kernel=meta["kernel"],
                approximate=stem in ("silu", "softmax", "reduce"),
                chip=int(chip), block=meta["threads"], shared=meta["shared"],
                cluster=meta["ctas"], **recipe)


def triton_cases():
    return [_triton_case(file, meta) for file, meta in sorted(_launch_data().items())]


def nvfp4_case(stem, m, n, k):
    """"nvfp4" or "nvfp4_tma" for SM100 at sizes that are multiples of its tiles."""
    file = f"triton_{stem}_sm_100.ptx"
    return _triton_case(file, _launch_data()[file], lambda rng, meta: dict(
        _scaled(rng, meta, m, n, k, True, stem.endswith("_tma")), grid=(m // 128, n // 128, 1)))


# 32-bit words in, 32-bit words out: name, grid, block, shared bytes, words of
# the result. Nothing of a result depends on the order of threads.
_CUDA_KERNELS = [
    ("control", (8, 1, 1), 128, 0, 1000),
    ("integers", (8, 1, 1), 128, 0, 1000),
    ("floats", (32, 1, 1), 128, 0, 4000),
    ("warps", (8, 1, 1), 128, 0, 1000),
    ("blocks", (8, 1, 1), 128, 512, 68),
    ("copies", (4, 1, 1), 128, 0, 512),
    ("matrices", (1, 1, 1), 32, 0, 256),
]


def _cuda_input(name, words):
    rng = np.random.default_rng(words)
    x = rng.integers(0, 1 << 32, max(words, 4096), dtype=np.uint32)
    if name == "floats":
        # Half of them of like size, so that sums and quotients round; the others
        # any bits, NaN and infinities among them.
        near = (rng.standard_normal(x.size).astype(np.float32) * 8).view(np.uint32)
        x = np.where(np.arange(x.size) % 4 < 2, near, x)
    if name == "blocks":
        x = x >> 8
    if name == "copies":
        x = x & 0xFFFF
    if name == "matrices":
        x = (rng.integers(-4, 5, (x.size, 2)).astype(BF16).view(np.uint16).reshape(-1)
             .view(np.uint32))
    return x


def _expect_blocks(x, n, out):
    values = x[:n]
    histogram = np.bincount(np.concatenate([values & 63, np.zeros(1024 - n, int)]), minlength=64)
    assert (out[:64] == histogram).all(), "the histogram is not numpy's"
    blocks = np.resize(np.concatenate([values, np.zeros(1024 - n, np.uint32)]), (8, 128))
    assert out[64] == values.max() and out[66] == values.max() + 1, "not numpy's maximum"
    assert out[65] == np.bitwise_xor.reduce(blocks.max(1)), "not numpy's maxima of blocks"
    bits = sum(1 << i for i in range(8) if (blocks[i] & 1).sum() > 3)
    assert out[67] == bits, "not numpy's count of odd values"


def _expect_copies(x, n, out):
    tiles = x[:4 * 2 * 256].reshape(-1, 256)
    expected = np.zeros((4, 128), np.uint32)
    t = np.arange(128)
    for block in range(4):
        for phase in range(3):
            own, peer = tiles[block + 2 * phase], tiles[(block ^ 1) + 2 * phase]
            expected[block] += peer[t] + own[255 - t] * 3 + own[2 * (127 - t)]
    assert (out == expected.reshape(-1)).all(), "the sums are not numpy's"


def _expect_matrices(x, n, out):
    tile = x[:128].view(np.uint16).view(BF16).astype(np.float32).reshape(32, 8)
    a = np.block([[tile[0:8], tile[16:24]], [tile[8:16], tile[24:32]]])
    # Transposed as it is loaded: its columns are the rows of the tile.
    b = tile[0:16]
    d = np.array(out[:128], np.uint32).view(np.float32).reshape(32, 4)
    lane = np.arange(32)
    for k in range(4):
        row, column = lane // 4 + 8 * (k // 2), lane % 4 * 2 + k % 2
        assert (d[:, k] == (a @ b)[row, column] + k).all(), "the product is not numpy's"


_CUDA_CHECKS = {"blocks": _expect_blocks, "copies": _expect_copies, "matrices": _expect_matrices}


def cuda_cases():
    """What numpy does not say, the results of a GPU do: see `hardware`."""
    cases = []
    for chip in (90, 100):
        for name, grid, block, shared, words in _CUDA_KERNELS:
            x = _cuda_input(name, words)
            start = np.zeros(words, np.uint32)
            arguments = ["in", "out"]
            n = 1000 if name == "blocks" else words
            if name not in ("copies", "matrices"):
                arguments.append(Scalar("u32", n))
            if name == "control":
                polynomial = np.array([0.5, -1.25, 3.0, 0.125], np.float32).tobytes()
                arguments.append(Scalar("bytes", polynomial + np.int32(3).tobytes()))
            check = _CUDA_CHECKS.get(name)
            cases.append(Case(
                name=f"nvcc_{name}_sm_{chip}", text=_read_ptx(f"nvcc_sm_{chip}a.ptx"), kernel=name,
                chip=chip,
                grid=grid, block=block, shared=shared,
                buffers=[Buffer("in", x), Buffer("out", start, start.shape, start.dtype, True)],
                arguments=arguments, cluster=2 if name == "copies" else 1,
                check=lambda out, check=check, x=x, n=n: check and check(x, n, out["out"])))
    return cases


def all_cases():
    return triton_cases() + cuda_cases()


def hardware(name):
    """Results of a case on the GPU named in the report, by buffer; none where it
    did not run there. A kernel for SM100 has those of the same kernel for SM90."""
    archive = np.load(DATA / "hardware.npz") if (DATA / "hardware.npz").exists() else {}
    prefix = name.replace("_sm_100", "_sm_90") + "."
    return {key.removeprefix(prefix): archive[key] for key in archive if key.startswith(prefix)}
