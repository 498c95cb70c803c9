#!/usr/bin/env python3
# ===- make_ptx_vectors.py - What a GPU gives for PTX instructions --------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Writes ptx/sm_90.npz beside this file: results of single PTX instructions.

  python3 make_ptx_vectors.py --compile FILE.cubin   needs ptxas, no GPU
  python3 make_ptx_vectors.py --run FILE.cubin       needs a GPU of sm_90, numpy

Every instruction is a kernel that reads its sources from columns of 64-bit
words and writes the destination register, zero-extended. The archive holds the
columns, `in__SET` of shape (sources, rows) but for all16_1 (below), and for each instruction the
results over the rows of its set, `SET__INSTRUCTION`, at the width of the destination. `meta` names
the GPU and the driver.
"""

import argparse
import ctypes
import itertools
import os
import subprocess
import tempfile

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ptx")
ROWS = 192  # at least, of sets that are not exhaustive

# ===----------------------------------------------------------------------===#
# Sources
# ===----------------------------------------------------------------------===#

F32 = [0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF,
       0x00800000, 0x80800000, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x3F800001,
       0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345,
       0x7F800001, 0x40490FDB, 0x3EAAAAAB, 0x33800000, 0xB3000001, 0x5F000000,
       # Two whose product is 2^-126 * (1 - 2^-47): tiny, but not once rounded.
       0x3F000000 | 13264529 - (1 << 23), 0x00800000 | 10610063 - (1 << 23)]
F64 = [0, 1 << 63, 1, 0x8000000000000001, 0x000FFFFFFFFFFFFF, 0x0010000000000000,
       0x3FF0000000000000, 0xBFF0000000000000, 0x3FEFFFFFFFFFFFFF,
       0x3FF0000000000001, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF,
       0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
       0xFFF8000000012345, 0x7FF0000000000001, 0x400921FB54442D18,
       0x3CA0000000000000, 0xBC90000000000001, 0x43E0000000000000,
       # Just below the least normal f32.
       0x380FFFFFFFFFFFFF, 0xB80FFFFFC0000000, 0x380FFFFFF0000000]
F16 = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x3C00,
       0xBC00, 0x3BFF, 0x3C01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE12,
       0x7C01, 0x4248, 0x3555, 0x1000, 0x8C01, 0x6400]
BF16 = sorted({v >> 16 for v in F32} | {0x3F81, 0x7F7F, 0x007F, 0x0081, 0x7F81, 0xFF85})
INT = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 0x7FFF,
       0x8000, 0xFFFF, 0x7FFFFF, 0x800000, 0x1000001, 0x7FFFFFFF, 0x80000000,
       0xFFFFFFFF, 0x20000000000001, 0x7FFFFFFFFFFFFFFF, 1 << 63, 2**64 - 1,
       2**64 - 31, 2**64 - 128]
WIDTH = {"f32": 32, "f64": 64, "f16": 16, "bf16": 16, "i": 64}
SPECIAL = {"f32": F32, "f64": F64, "f16": F16, "bf16": BF16, "i": INT}
MANTISSA = {"f32": 23, "f64": 52, "f16": 10, "bf16": 7}


def numbers(rng, kind, count):
    """Random patterns; of floats, most with exponents near that of one."""
    mask = (1 << WIDTH[kind]) - 1
    values = [int(v) & mask for v in rng.integers(0, 2**64, count, np.uint64)]
    if kind == "i":
        return [v >> int(s) for v, s in zip(values, rng.integers(0, 64, count))]
    bits = MANTISSA[kind]
    one = {"f32": 127, "f64": 1023, "f16": 15, "bf16": 127}[kind]
    near = rng.integers(one - 6, one + 7, count)
    keep = rng.integers(0, 4, count) == 0
    sign = 1 << (WIDTH[kind] - 1)
    return [v if k else (v & sign) | int(e) << bits | v & ((1 << bits) - 1)
            for v, e, k in zip(values, near, keep)]


def cast_inputs(rng):
    """f32 around every place where some cast changes its result."""
    values = list(F32)
    for exponent in [1, 2, 96, 103, *range(109, 148), 253, 254]:
        for mantissa in (0, 0x7FFFFF, 0x400000, 0x600000, 0x0FF000, 0x003000, 0x018000):
            value = exponent << 23 | mantissa
            values += [value, value | 1 << 31, value + 1, value - 1]
    return values + numbers(rng, "f32", 200)


def sets():
    """The columns of each set, by its name."""
    rng = np.random.default_rng(20260801)
    result = {}
    for kind, special in SPECIAL.items():
        result[kind + "_1"] = [(v,) for v in special + numbers(rng, kind, 200)]
        pairs = list(itertools.product(special, repeat=2))
        more = zip(numbers(rng, kind, ROWS), numbers(rng, kind, ROWS))
        result[kind + "_2"] = pairs + list(more)
        mixed = special + numbers(rng, kind, 3 * len(special))
        result[kind + "_3"] = [tuple(mixed[int(i)] for i in row)
                               for row in rng.integers(0, len(mixed), (3 * ROWS, 3))]
    result["fns_3"] = [(int(m), int(b), int(o) & 0xFFFFFFFF) for m, b, o in zip(
        rng.integers(0, 2**32, ROWS), rng.integers(0, 32, ROWS),
        rng.integers(-6, 7, ROWS))]
    casts = cast_inputs(rng)
    result["cast_1"] = [(v,) for v in casts]
    result["cast_2"] = [(v, casts[-1 - i]) for i, v in enumerate(casts)]
    result["all8_1"] = [(v | (255 - v) << 8,) for v in range(256)]
    result["all16_1"] = [(v | (65535 - v) << 16,) for v in range(65536)]
    result["small_3"] = [tuple(int(v) for v in row) for row in
                         np.stack([rng.integers(0, 2**63, ROWS),
                                   rng.integers(0, 70, ROWS),
                                   rng.integers(0, 70, ROWS)], 1)]
    return {name: np.array(rows, np.uint64).T.copy() for name, rows in result.items()}


# ===----------------------------------------------------------------------===#
# Instructions: (text without operands, destination, sources, set)
# ===----------------------------------------------------------------------===#

CMP = ["eq", "ne", "lt", "le", "gt", "ge"]
CMPU = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
INTS = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]
FLOATS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"}


def float_instructions():
    for rnd in ("rn", "rz", "rm", "rp"):
        for ftz in ("", ".ftz"):
            for sat in ("", ".sat"):
                for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
                    yield f"{op}.{rnd}{ftz}{sat}.f32", "b32", ["b32"] * n, f"f32_{n}"
            yield f"div.{rnd}{ftz}.f32", "b32", ["b32"] * 2, "f32_2"
            for op in ("rcp", "sqrt"):
                yield f"{op}.{rnd}{ftz}.f32", "b32", ["b32"], "f32_1"
        for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("fma", 3),
                      ("rcp", 1), ("sqrt", 1)):
            yield f"{op}.{rnd}.f64", "b64", ["b64"] * n, f"f64_{n}"
    for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
        for mods in ("", ".ftz", ".sat", ".ftz.sat") + ((".relu",) if n == 3 else ()):
            yield f"{op}.rn{mods}.f16", "b16", ["b16"] * n, f"f16_{n}"
        yield f"{op}.rn.bf16", "b16", ["b16"] * n, f"bf16_{n}"
    yield "fma.rn.relu.bf16", "b16", ["b16"] * 3, "bf16_3"
    for kind, bits in (("f32", "b32"), ("f16", "b16"), ("bf16", "b16"), ("f64", "b64")):
        ftzs = ("", ".ftz") if kind in ("f32", "f16") else ("",)
        for ftz in ftzs:
            for op in ("abs", "neg"):
                yield f"{op}{ftz}.{kind}", bits, [bits], f"{kind}_1"
            for op in ("min", "max"):
                forms = ("",) if kind == "f64" else ("", ".NaN", ".xorsign.abs",
                                                     ".NaN.xorsign.abs")
                for form in forms:
                    yield f"{op}{ftz}{form}.{kind}", bits, [bits] * 2, f"{kind}_2"
            for cmp in CMP + CMPU:
                yield f"setp.{cmp}{ftz}.{kind}", "pred", [bits] * 2, f"{kind}_2"
    for kind, bits in (("f32", "b32"), ("f64", "b64")):
        yield f"copysign.{kind}", bits, [bits] * 2, f"{kind}_2"
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield f"testp.{test}.{kind}", "pred", [bits], f"{kind}_1"
    for op in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"):
        for ftz in ("", ".ftz"):
            yield f"{op}.approx{ftz}.f32", "b32", ["b32"], "f32_1"
    yield "tanh.approx.f32", "b32", ["b32"], "f32_1"
    for kind, ftz in (("f16", ""), ("bf16", ".ftz")):
        yield f"ex2.approx{ftz}.{kind}", "b16", ["b16"], f"{kind}_1"
        yield f"tanh.approx.{kind}", "b16", ["b16"], f"{kind}_1"
    for form in ("approx", "approx.ftz", "full", "full.ftz"):
        yield f"div.{form}.f32", "b32", ["b32"] * 2, "f32_2"
    for op in ("rcp", "rsqrt"):
        yield f"{op}.approx.ftz.f64", "b64", ["b64"], "f64_1"


def integer_instructions():
    for t in ("u16", "u32", "u64", "s16", "s32", "s64"):
        b = "b" + t[1:]
        for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"):
            yield f"{op}.{t}", b, [b] * 2, "i_2"
        for op in ("mad.lo", "mad.hi", "sad"):
            yield f"{op}.{t}", b, [b] * 3, "i_3"
        if t[1:] != "64":
            wide = "b32" if t[1:] == "16" else "b64"
            yield f"mul.wide.{t}", wide, [b] * 2, "i_2"
            yield f"mad.wide.{t}", wide, [b, b, wide], "i_3"
        yield f"shr.{t}", b, [b, "b32"], "i_2"
        for cmp in CMP:
            yield f"setp.{cmp}.{t}", "pred", [b] * 2, "i_2"
        if t[0] == "s":
            yield f"abs.{t}", b, [b], "i_1"
            yield f"neg.{t}", b, [b], "i_1"
        if t[1:] != "16":
            yield f"bfe.{t}", b, [b, "b32", "b32"], "small_3"
            yield f"bfind.{t}", "b32", [b], "i_1"
            yield f"bfind.shiftamt.{t}", "b32", [b], "i_1"
    for op in ("add.sat", "sub.sat", "min.relu", "max.relu"):
        yield f"{op}.s32", "b32", ["b32"] * 2, "i_2"
    yield "mad.hi.sat.s32", "b32", ["b32"] * 3, "i_3"
    for t in ("u32", "s32"):
        for half in ("lo", "hi"):
            yield f"mul24.{half}.{t}", "b32", ["b32"] * 2, "i_2"
        for u in ("u32", "s32"):
            yield f"dp4a.{t}.{u}", "b32", ["b32"] * 3, "i_3"
            for half in ("lo", "hi"):
                yield f"dp2a.{half}.{t}.{u}", "b32", ["b32"] * 3, "i_3"
        for mode in ("clamp", "wrap"):
            yield f"szext.{mode}.{t}", "b32", ["b32", "b32"], "small_3"
    for mode in ("clamp", "wrap"):
        yield f"bmsk.{mode}.b32", "b32", ["b32", "b32"], "i_2"
        for side in ("l", "r"):
            yield f"shf.{side}.{mode}.b32", "b32", ["b32"] * 3, "small_3"
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield f"prmt.b32{mode}", "b32", ["b32"] * 3, "i_3"
    for t in ("u16x2", "s16x2"):
        for op in ("add", "min", "max"):
            yield f"{op}.{t}", "b32", ["b32"] * 2, "i_2"
    for op in ("min.relu", "max.relu"):
        yield f"{op}.s16x2", "b32", ["b32"] * 2, "i_2"
    for b in ("b32", "b64"):
        for op in ("popc", "clz"):
            yield f"{op}.{b}", "b32", [b], "i_1"
        yield f"brev.{b}", b, [b], "i_1"
        yield f"bfi.{b}", b, [b, b, "b32", "b32"], "small_3"
    for b in ("b16", "b32", "b64"):
        yield f"shl.{b}", b, [b, "b32"], "i_2"
        yield f"cnot.{b}", b, [b], "i_1"
    yield "fns.b32", "b32", ["b32"] * 3, "fns_3"


def convert_instructions():
    def bits(t):
        return "b" + str(max(16, int(t.lstrip("busf"))))

    for to in INTS:
        for source in INTS:
            for sat in ("", ".sat"):
                # Where the range of the destination has it all, .sat is illegal.
                wide = int(to[1:]) - (to[0] == "s"), int(source[1:]) - (source[0] == "s")
                covers = wide[0] >= wide[1] and (to[0] == "s" or source[0] == "u")
                if not (sat and covers):
                    yield f"cvt{sat}.{to}.{source}", bits(to), [bits(source)], "i_1"
        for kind in FLOATS:
            if kind == "bf16" and to[1:] == "8":  # ptxas asks for an 8-bit register
                continue
            for rnd in ("rni", "rzi", "rmi", "rpi"):
                yield f"cvt.{rnd}.{to}.{kind}", bits(to), [bits(kind)], f"{kind}_1"
            if kind == "f32":
                yield f"cvt.rpi.ftz.{to}.f32", bits(to), ["b32"], "f32_1"
            for rnd in ("rn", "rz", "rm", "rp"):
                yield f"cvt.{rnd}.{kind}.{to}", bits(kind), [bits(to)], "i_1"
    order = {"f16": 0, "bf16": 0, "f32": 1, "f64": 2}
    for to, source in itertools.product(FLOATS, repeat=2):
        rnds = [".rn", ".rz", ".rm", ".rp"]
        if to == source:
            rnds = [".rni", ".rzi", ".rmi", ".rpi"]
        elif order[to] > order[source]:
            rnds = [""]
        name = "cast_1" if source == "f32" else f"{source}_1"
        for rnd in rnds:
            for sat in ("", ".sat"):
                if sat and "bf16" in (to, source):
                    continue
                yield f"cvt{rnd}{sat}.{to}.{source}", bits(to), [bits(source)], name
    for rnd in (".rn", ".rz"):
        for to in ("f16", "bf16"):
            for mods in (".relu", ".satfinite", ".relu.satfinite"):
                yield f"cvt{rnd}{mods}.{to}.f32", "b16", ["b32"], "cast_1"
            for mods in ("", ".relu", ".satfinite"):
                yield f"cvt{rnd}{mods}.{to}x2.f32", "b32", ["b32"] * 2, "cast_2"
        for mods in ("", ".relu"):
            yield f"cvt{rnd}{mods}.tf32.f32", "b32", ["b32"], "cast_1"
    for mods in ("", ".satfinite"):
        yield f"cvt.rna{mods}.tf32.f32", "b32", ["b32"], "cast_1"
    for ftz in ("cvt.rn.ftz.f16.f32", "cvt.ftz.f32.f16", "cvt.rn.ftz.f32.f64",
                "cvt.rni.ftz.f32.f32", "cvt.ftz.sat.f32.f32", "cvt.sat.f32.f32"):
        to, source = ftz.split(".")[-2:]
        name = "cast_1" if source == "f32" else f"{source}_1"
        yield ftz, bits(to), [bits(source)], name
    for to in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            yield f"cvt.rn.satfinite{relu}.{to}.f32", "b16", ["b32"] * 2, "cast_2"
            yield f"cvt.rn.satfinite{relu}.{to}.f16x2", "b16", ["b32"], "all16_1"
            yield f"cvt.rn{relu}.f16x2.{to}", "b32", ["b16"], "all8_1"
    yield "cvt.pack.sat.u16.s32", "b32", ["b32"] * 2, "i_2"
    yield "cvt.pack.sat.s16.s32", "b32", ["b32"] * 2, "i_2"
    for t in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield f"cvt.pack.sat.{t}.s32.b32", "b32", ["b32"] * 3, "i_3"


def instructions():
    seen = set()
    for family in (float_instructions, integer_instructions, convert_instructions):
        for text, to, sources, name in family():
            if text not in seen:
                seen.add(text)
                yield text, to, sources, name


def kernel(index, text, to, sources):
    registers = {"b16": "%h", "b32": "%r", "b64": "%d"}
    body = []
    for i, kind in enumerate(sources):
        body.append(f"ld.global.u64 %d10, [%d{2 + min(i, 2)}];")
        if kind == "b64":
            body.append(f"mov.b64 %d{20 + i}, %d10;")
        else:
            body.append(f"cvt.u{kind[1:]}.u64 {registers[kind]}{20 + i}, %d10;")
    operands = ", ".join(f"{registers[k]}{20 + i}" for i, k in enumerate(sources))
    if to == "pred":
        body += [f"{text} %p1, {operands};", "selp.u64 %d9, 1, 0, %p1;"]
    else:
        body.append(f"{text} {registers[to]}9, {operands};")
        if to != "b64":
            body.append(f"cvt.u64.u{to[1:]} %d9, {registers[to]}9;")
    lines = "\n  ".join(body)
    return f"""
.visible .entry k{index}(.param .u64 a, .param .u64 b, .param .u64 c,
                         .param .u64 o, .param .u32 n) {{
  .reg .pred %p<4>; .reg .b16 %h<30>; .reg .b32 %r<30>; .reg .b64 %d<30>;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mad.lo.u32 %r3, %r0, %r1, %r2; ld.param.u32 %r4, [n];
  setp.ge.u32 %p0, %r3, %r4; @%p0 bra done;
  mul.wide.u32 %d0, %r3, 8;
  ld.param.u64 %d2, [a]; ld.param.u64 %d3, [b]; ld.param.u64 %d4, [c];
  ld.param.u64 %d5, [o];
  add.u64 %d2, %d2, %d0; add.u64 %d3, %d3, %d0; add.u64 %d4, %d4, %d0;
  add.u64 %d5, %d5, %d0;
  {lines}
  st.global.u64 [%d5], %d9;
done:
  ret;
}}
"""


def compile_all(path):
    parts = [".version 8.1\n.target sm_90\n.address_size 64\n"]
    parts += [kernel(i, text, to, sources)
              for i, (text, to, sources, _) in enumerate(instructions())]
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write("".join(parts))
        file.flush()
        subprocess.run(["ptxas", "-arch=sm_90", "-O1", file.name, "-o", path], check=True)


# ===----------------------------------------------------------------------===#
# Run
# ===----------------------------------------------------------------------===#


class Driver:
    """The few calls of the CUDA driver that are needed."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name, version = ctypes.create_string_buffer(100), ctypes.c_int()
        self.call("cuDeviceGetName", name, 100, device)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.name = f"{name.value.decode()}, CUDA driver API {version.value}"

    def call(self, function, *arguments):
        status = getattr(self.cuda, function)(*arguments)
        if status:
            raise RuntimeError(f"{function} gave {status}")

    def upload(self, array):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(array.nbytes))
        self.call("cuMemcpyHtoD_v2", pointer, array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(array.nbytes))
        return pointer


def run_all(path):
    driver, arrays = Driver(), {}
    module = ctypes.c_void_p()
    with open(path, "rb") as file:
        driver.call("cuModuleLoadData", ctypes.byref(module), file.read())
    columns = sets()
    device = {name: [driver.upload(np.ascontiguousarray(row)) for row in rows]
              for name, rows in columns.items()}
    # Sources beyond a set's last column repeat it.
    for rows in device.values():
        rows += [rows[-1]] * (3 - len(rows))
    result = np.zeros(65536, np.uint64)
    output = driver.upload(result)
    for index, (text, to, _, name) in enumerate(instructions()):
        count = columns[name].shape[1]
        function = ctypes.c_void_p()
        driver.call("cuModuleGetFunction", ctypes.byref(function), module,
                    f"k{index}".encode())
        arguments = [*device[name], output, ctypes.c_uint32(count)]
        pointers = (ctypes.c_void_p * len(arguments))(
            *[ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in arguments])
        driver.call("cuLaunchKernel", function, (count + 127) // 128, 1, 1, 128, 1, 1,
                    0, None, pointers, None)
        driver.call("cuMemcpyDtoH_v2", result.ctypes.data_as(ctypes.c_void_p), output,
                    ctypes.c_size_t(count * 8))
        width = {"pred": "u1", "b16": "u2", "b32": "u4", "b64": "u8"}[to]
        arrays[f"{name}__{text}"] = result[:count].astype(width)
    arrays.update({f"in__{name}": rows for name, rows in columns.items()
                   if name != "all16_1"})
    os.makedirs(FOLDER, exist_ok=True)
    np.savez_compressed(os.path.join(FOLDER, "sm_90.npz"), meta=driver.name, **arrays)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", metavar="CUBIN")
    parser.add_argument("--run", metavar="CUBIN")
    options = parser.parse_args()
    if options.compile:
        compile_all(options.compile)
    if options.run:
        run_all(options.run)


if __name__ == "__main__":
    main()
