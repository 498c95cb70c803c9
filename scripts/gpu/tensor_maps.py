#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks a CUDA driver which tensor maps it makes and which it refuses, and compares the answers
of two drivers: NVIDIA's on a GPU, and the emulator's (emulator/lib/CudaRuntime).

    scripts/gpu/tensor_maps.py --library LIBRARY --out ANSWERS.json.gz [--commit TEXT]
    scripts/gpu/tensor_maps.py --compare SILICON.json.gz EMULATOR.json.gz

The cases are calls of cuTensorMapEncodeTiled: the maps of the project's kernels and tests
(test/Data/tensor_maps/products.json, made by test/Data/make_tensor_maps.py), and drawn ones
around each of its rules, legal and illegal. They are drawn alike everywhere. Only the code that
a call returns is compared, since the 128 bytes of a map are not public.

The first form needs a driver of CUDA 12.0 or later and Python alone. The second one prints how
many cases of each group are answered alike, and the differences that EXCEPTIONS does not name;
it fails where there is one, and where an exception has no case. The answers of an H200 are
test/Data/tensor_maps/h200.json.gz, with which test/Python/test_tensor_maps.py compares those of
the emulator.
"""

import argparse
import ctypes
import datetime
import gzip
import hashlib
import itertools
import json
import os
import random
import sys
import traceback
from collections import Counter
from ctypes import c_int, c_uint32, c_uint64, c_void_p
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from driver import Cuda, find_driver_release

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from log_head import describe_commit, make_head

PRODUCTS = ROOT / "test/Data/tensor_maps/products.json"

# Numbers and names of the driver's enumerations.
TYPES = ("UINT8", "UINT16", "UINT32", "INT32", "UINT64", "INT64", "FLOAT16", "FLOAT32",
         "FLOAT64", "BFLOAT16", "FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ", "16U4_ALIGN8B",
         "16U4_ALIGN16B", "16U6_ALIGN16B")
BITS = (8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6)
U8, U16, F64, BF16, U4, U4_PADDED, U6_PADDED = 0, 1, 8, 9, 13, 14, 15
INTERLEAVES = ("NONE", "16B", "32B")
SWIZZLES = ("NONE", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B",
            "128B_ATOM_64B")
SPANS = (0, 32, 64, 128, 128, 128, 128)
PROMOTIONS = ("NONE", "64B", "128B", "256B")
FILLS = ("ZERO", "NAN")

CUDA_SUCCESS, CUDA_INVALID_VALUE = 0, 1
STATES = ("before cuInit", "without a context", "after a kernel's trap")
TRAP = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry stop()
{
  trap;
}
"""
ADDRESS = 0x7F40_0000_0000
# Arrays are as long as the largest rank that is asked for, so that no driver reads past them.
MOST_DIMS = 8


@dataclass(frozen=True)
class Map:
    """The arguments of a call; dimension 0 is the innermost."""
    type: int
    rank: int
    dims: tuple
    strides: tuple  # of the dimensions from 1 on, in bytes
    box: tuple
    steps: tuple = (1,) * 5
    address: int = ADDRESS
    interleave: int = 0
    swizzle: int = 0
    promotion: int = 0
    fill: int = 0
    # The remainder of the address at which the map is to be written, divided by 64.
    place: int = 0
    # Names of arrays for which the call gives a null pointer; "map" for the map itself.
    nulls: tuple = ()


def is_padded(type):
    return type in (U4_PADDED, U6_PADDED)


def change(values, index, value):
    return (*values[:index], value, *values[index + 1:])


def make_base(type=U8, rank=3, interleave=0, swizzle=0):
    """A map that breaks no rule of documentation, if the modes go together."""
    bits = BITS[type]
    inner = 32 if interleave else SPANS[swizzle] or 64
    columns = 128 if is_padded(type) else min(256, inner * 8 // bits)
    dims = (1024, 300, 16, 8, 4)[:rank]
    strides, size = [], dims[0] * bits // 8
    for count in dims[1:]:
        strides.append(size)
        size *= count
    return Map(type, rank, dims, tuple(strides), (columns, 8, 2, 2, 1)[:rank], (1,) * rank,
               interleave=interleave, swizzle=swizzle)


MODES = ((0, 0), (0, 3), (1, 0), (2, 1))  # interleave and swizzle
ADDRESSES = (0, 1, 4, 8, 15, 16, 32, 48, 64, 128, 2**32, 2**40, 2**47 - 64, 2**47, 2**48, 2**52,
             2**56, 2**57 - 64, 2**57, 2**57 + 64, 2**63, 2**64 - 64)
DIMS = (0, 1, 2, 3, 7, 63, 64, 126, 127, 128, 129, 130, 192, 256, 384, 2**16, 2**31, 2**32 - 128,
        2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1, 2**32 + 128, 2**33, 2**40, 2**63)
STRIDES = (0, 1, 4, 8, 15, 16, 17, 24, 32, 48, 64, 96, 528, 2**31, 2**32, 2**36, 2**40 - 32,
           2**40 - 16, 2**40 - 8, 2**40, 2**40 + 32, 2**41, 2**63, 2**64 - 32)
BOXES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128,
         129, 192, 255, 256, 257, 258, 512, 65536, 2**31, 2**32 - 1)
STEPS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 255, 256, 257, 2**31, 2**32 - 1)


def draw_changes(base):
    """Groups and maps that differ from `base` in one thing."""
    for address in (*ADDRESSES, *(ADDRESS + offset for offset in (1, 8, 16, 32, 48, 64))):
        yield "address", replace(base, address=address)
    for dim in range(base.rank):
        for size in DIMS:
            yield "sizes", replace(base, dims=change(base.dims, dim, size))
        for count in BOXES:
            yield "box", replace(base, box=change(base.box, dim, count))
        for step in STEPS:
            yield "element strides", replace(base, steps=change(base.steps, dim, step))
            # As many steps as a larger box has elements.
            yield "element strides", replace(base, steps=change(base.steps, dim, step),
                                             box=change(base.box, dim, 256))
    for dim in range(base.rank - 1):
        near = (base.strides[dim] + offset for offset in (-32, -16, 8, 16, 32))
        for stride in (*STRIDES, *near):
            yield "strides", replace(base, strides=change(base.strides, dim, stride))
    for promotion in range(-1, len(PROMOTIONS) + 2):
        yield "promotion", replace(base, promotion=promotion)
    for fill in range(-1, len(FILLS) + 2):
        yield "fill", replace(base, fill=fill)


def draw_modes():
    """All modes with each other, and boxes that fill the span of a swizzle or not."""
    for type in range(len(TYPES)):
        for interleave in range(len(INTERLEAVES)):
            for swizzle in range(len(SWIZZLES)):
                for rank in range(1, 6):
                    base = make_base(type, rank, interleave, swizzle)
                    yield "modes", base
                    for inner in (8, 16, 32, 48, 64, 96, 128, 144, 256):
                        columns = inner * 8 // BITS[type]
                        yield "spans", replace(base, box=change(base.box, 0, columns))


def draw_calls():
    """Ranks, enumerations and pointers that are none."""
    base = make_base()
    # NVIDIA's driver follows the arrays of a larger rank wherever that leads.
    for rank in range(MOST_DIMS + 1):
        for interleave, swizzle in MODES:
            yield "rank", replace(base, rank=rank, dims=(64,) * rank, strides=(64,) * rank,
                                  box=(16,) * min(rank, 3) + (1,) * (rank - 3),
                                  steps=(1,) * rank, interleave=interleave, swizzle=swizzle)
    for number in (-2**31, -1, len(TYPES), len(TYPES) + 1, 100, 2**31 - 1):
        yield "enumerations", replace(base, type=number)
    for number in (-1, len(INTERLEAVES), 100):
        yield "enumerations", replace(base, interleave=number)
    for number in (-1, len(SWIZZLES), 100):
        yield "enumerations", replace(base, swizzle=number)
    for place in (1, 8, 16, 32, 48):
        yield "place of the map", replace(base, place=place)
    # Each array alone; none of these is followed where a driver looks at the pointers first.
    for name in ("map", "dims", "strides", "box", "steps"):
        for rank in (1, 2):
            yield "null pointers", replace(make_base(rank=rank), nulls=(name,))
    # Boxes as large as shared memory, 227 KiB and 1 KiB that is reserved, and near it.
    for type in (U8, U16, F64, U4, U4_PADDED, U6_PADDED):
        for interleave, swizzle in MODES:
            base = make_base(type, 5, interleave, swizzle)
            for size in (196608, 229376, 231424, 232432, 232448, 232464, 233472, 233520, 237568,
                         262144, 524288, 2**24):
                for columns in sorted({base.box[0], 128 // BITS[type]}):
                    rest, remainder = divmod(size * 8, columns * BITS[type])
                    for box in draw_boxes(rest) if not remainder else ():
                        yield "large boxes", replace(base, box=(columns, *box))
    # Of a box with steps, only what they leave is copied; along dimension 0 nothing is left out.
    for type, interleave in ((U8, 0), (BF16, 0), (U8, 1), (BF16, 2)):
        base = make_base(type, 3, interleave, interleave // 2)
        for steps in ((2, 1, 1), (1, 2, 1), (1, 1, 2), (8, 1, 1), (1, 8, 1), (1, 3, 3)):
            for box in ((64, 64, 64), (64, 64, 112), (64, 64, 113), (64, 64, 114), (64, 64, 128),
                        (256, 64, 64), (256, 64, 128), (256, 256, 32), (256, 32, 226),
                        (256, 32, 227), (256, 32, 228), (256, 32, 229), (256, 8, 228),
                        (256, 8, 229), (256, 8, 230), (256, 256, 256)):
                yield "large boxes", replace(base, box=box, steps=steps)


def draw_boxes(count):
    """Boxes of four dimensions with so many elements, some of which no dimension exceeds."""
    def split(count, dims):
        if not dims:
            return [()] if count == 1 else []
        factors = [i for i in range(256, 0, -1) if count % i == 0]
        return [(factor, *rest) for factor in factors[:2]
                for rest in split(count // factor, dims - 1)[:1]]

    return split(count, 4)


def draw_random(count):
    """Maps of which about half break a rule, or two."""
    source = random.Random(1)

    def pick(values):
        return values[int(source.random() * len(values))]

    for _ in range(count):
        interleave, swizzle = pick(MODES + tuple((0, i) for i in range(len(SWIZZLES))))
        base = make_base(pick(range(len(TYPES))), 1 + int(source.random() * 5), interleave, swizzle)
        for _ in range(int(source.random() * 4)):
            dim = int(source.random() * base.rank)
            kind = int(source.random() * 6)
            if kind == 0:
                base = replace(base, address=ADDRESS + 16 * int(source.random() * 8))
            elif kind == 1:
                base = replace(base, dims=change(base.dims, dim, pick(DIMS)))
            elif kind == 2:
                base = replace(base, box=change(base.box, dim, pick(BOXES[1:])))
            elif kind == 3:
                base = replace(base, steps=change(base.steps, dim, pick(STEPS[:11])))
            elif kind == 4 and dim:
                stride = 16 * int(source.random() * 2**pick((4, 10, 20, 36)))
                base = replace(base, strides=change(base.strides, dim - 1, stride))
            else:
                base = replace(base, fill=pick((0, 1)), promotion=pick(range(4)))
        yield "at random", base


def draw():
    """All drawn cases: groups and maps, the same on every machine."""
    cases = [*draw_calls(), *draw_modes()]
    for type in range(len(TYPES)):
        for interleave, swizzle in MODES:
            cases += draw_changes(make_base(type, 3, interleave, swizzle))
    for rank in (1, 2, 5):
        cases += draw_changes(make_base(BF16, rank))
    return [*cases, *draw_random(4000)]


def from_plan(map):
    """The map of a launch plan, as the runtime encodes it (lib/Runtime/CudaSteps.cpp). Buffers
    are aligned more than any map asks for."""
    address = ADDRESS + map["address"].get("offset", 0)
    return Map(TYPES.index(map["element"]), len(map["dims"]), tuple(map["dims"]),
               tuple(map["strides"]), tuple(map["box"]), tuple(map["element_strides"]), address,
               INTERLEAVES.index(map["interleave"]), SWIZZLES.index(map["swizzle"]),
               PROMOTIONS.index(map["l2_promotion"]), FILLS.index(map["fill"]))


def list_cases(products=PRODUCTS):
    maps = json.loads(products.read_text())
    return [("the project's", from_plan(map)) for map in maps] + draw()


def digest(cases):
    text = json.dumps([(group, asdict(map)) for group, map in cases])
    return hashlib.sha256(text.encode()).hexdigest()


def encode(library, map):
    """The code that a driver returns."""
    def array(type, name, values):
        if name in map.nulls:
            return None
        return (type * MOST_DIMS)(*values, *(1,) * (MOST_DIMS - len(values)))

    memory = ctypes.create_string_buffer(256)
    start = ctypes.addressof(memory)
    start += -start % 64 + map.place
    return library.cuTensorMapEncodeTiled(
        c_void_p(None if "map" in map.nulls else start), c_int(map.type), c_uint32(map.rank),
        c_void_p(map.address), array(c_uint64, "dims", map.dims),
        array(c_uint64, "strides", map.strides), array(c_uint32, "box", map.box),
        array(c_uint32, "steps", map.steps), c_int(map.interleave), c_int(map.swizzle),
        c_int(map.promotion), c_int(map.fill))


def run_apart(calls):
    """What calls return, one after another in another process. A call that ends the process
    returns 'signal N', as a driver may follow a null pointer; the calls behind it go on in a new
    one. The first call makes ready, and is made in each process."""
    begin, *calls = calls
    results = []
    while len(results) < len(calls):
        to_read, to_write = os.pipe()
        child = os.fork()
        if not child:
            try:
                begin()
                for call in calls[len(results):]:
                    os.write(to_write, f"{call()}\n".encode())
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        os.close(to_write)
        with os.fdopen(to_read) as pipe:
            results += map(int, pipe)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            results.append(f"signal {os.WTERMSIG(status)}")
        elif status:
            raise RuntimeError("expected a driver that can be called")
    return results


def break_context(cuda):
    """Runs a kernel that ends in a trap."""
    cuda.launch(cuda.find(cuda.load(TRAP), "stop"), (1, 1, 1), 1, 0, ())
    cuda.lib.cuStreamSynchronize(None)


def ask(path, cases, commit):
    """The answers of a driver. `states` are the codes of a legal map in the states of STATES."""
    library = ctypes.CDLL(path)
    base = make_base()
    begins = (lambda: None, lambda: library.cuInit(0), lambda: break_context(Cuda(path)))
    states = [run_apart([begin, lambda: encode(library, base)]) for begin in begins]
    codes = run_apart([lambda: Cuda(path),
                       *(lambda map=map: encode(library, map) for _, map in cases)])
    # This process must not have called the driver before it forks.
    cuda = Cuda(path)
    return {"date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC",
            "commit": commit, "device": cuda.name,
            "driver": f"{find_driver_release()} of CUDA {cuda.version}", "cases": digest(cases),
            "states": list(itertools.chain.from_iterable(states)), "codes": codes}


def write_answers(path, answers):
    # Without the time, so that equal answers are equal files.
    path.write_bytes(gzip.compress(json.dumps(answers).encode(), mtime=0))


def read_answers(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def describe(map):
    def name(names, number):
        return names[number] if 0 <= number < len(names) else number

    special = "".join([f", map at 64 n + {map.place}" * bool(map.place),
                       f", null {', '.join(map.nulls)}" * bool(map.nulls)])
    return (f"type {name(TYPES, map.type)}, rank {map.rank}, address {map.address:#x}, "
            f"dims {map.dims}, strides {map.strides}, box {map.box}, element strides {map.steps}, "
            f"interleave {name(INTERLEAVES, map.interleave)}, "
            f"swizzle {name(SWIZZLES, map.swizzle)}, promotion {name(PROMOTIONS, map.promotion)}, "
            f"fill {name(FILLS, map.fill)}{special}")


# Where the emulator answers otherwise on purpose: a name with the reason, whether a map is one
# of these, and the two codes. It is stricter where documentation is.
EXCEPTIONS = (
    ("types of SM100, which the driver refuses on a GPU of SM90",
     lambda map: U4 <= map.type < len(TYPES), (CUDA_INVALID_VALUE, CUDA_SUCCESS)),
    ("swizzles of SM100, which the driver refuses on a GPU of SM90",
     lambda map: 4 <= map.swizzle < len(SWIZZLES), (CUDA_INVALID_VALUE, CUDA_SUCCESS)),
    ("maps at no multiple of 64, which documentation forbids and the driver accepts",
     lambda map: map.place, (CUDA_SUCCESS, CUDA_INVALID_VALUE)),
    ("interleaves of 32 bytes with another swizzle than that of 32 bytes, likewise",
     lambda map: map.interleave == 2 and map.swizzle != 1, (CUDA_SUCCESS, CUDA_INVALID_VALUE)))


def find_exception(map, codes):
    for name, applies, expected in EXCEPTIONS:
        if codes == expected and applies(map):
            return name
    return None


def compare(silicon, emulator, cases, most=20):
    """Lines, and whether all is as it should be. At most `most` differences of a group are
    listed."""
    wanted = digest(cases)
    for answers in (silicon, emulator):
        if answers["cases"] != wanted:
            return [(f"expected answers to the cases {wanted[:12]}, which this script draws, but "
                     f"got {answers['cases'][:12]} of {answers['device']}")], False
    lines = [f"{emulator['device']}, commit {emulator['commit']}, {emulator['date']}"]
    totals, accepted, equal, excepted, listed = (Counter() for _ in range(5))
    different = []
    for state, *codes in zip(STATES, silicon["states"], emulator["states"]):
        lines.append(f"  {state}: {codes[0]}")
        if codes[0] != codes[1]:
            different.append(f"{state}: {codes[0]}, but {codes[1]} in the emulator")
    for (group, map), *codes in zip(cases, silicon["codes"], emulator["codes"]):
        totals[group] += 1
        accepted[group] += codes[0] == CUDA_SUCCESS
        exception = find_exception(map, tuple(codes)) if codes[0] != codes[1] else None
        equal[group] += codes[0] == codes[1]
        excepted[exception] += exception is not None
        if codes[0] != codes[1] and not exception:
            listed[group] += 1
            if listed[group] <= most:
                different.append(f"{group}: {codes[0]}, but {codes[1]} in the emulator: "
                                 f"{describe(map)}")
    for group, total in totals.items():
        lines.append(f"  {group}: {total} calls, {accepted[group]} accepted by the GPU's driver, "
                     f"{equal[group]} answered alike")
    lines += different
    lines += [f"  {group}: {count - most} differences more" for group, count in listed.items()
              if count > most]
    is_right = not different
    for name, *_ in EXCEPTIONS:
        lines.append(f"exception: {name}: {excepted[name]} calls")
        is_right &= excepted[name] > 0
    lines.append(f"{sum(equal.values())} of {sum(totals.values())} calls answered alike, "
                 f"{excepted.total()} excepted, {listed.total()} different")
    return lines + ["passed" if is_right else "failed"], is_right


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="libcuda.so.1", help="the driver's library")
    parser.add_argument("--out", type=Path, metavar="ANSWERS", help="where to write the answers")
    parser.add_argument("--commit", help="what to name as the commit (default: ask git)")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("SILICON", "EMULATOR"))
    parser.add_argument("--most", type=int, default=20, metavar="N",
                        help="list at most N differences of a group")
    options = parser.parse_args()
    if bool(options.out) == bool(options.compare):
        parser.error("expected either --out or --compare")
    cases = list_cases()
    if options.out:
        answers = ask(options.library, cases, options.commit or describe_commit(ROOT))
        write_answers(options.out, answers)
        print(f"{answers['device']}, driver {answers['driver']}: {len(cases)} calls, "
              f"{answers['codes'].count(CUDA_SUCCESS)} accepted")
        return 0
    silicon, emulator = map(read_answers, options.compare)
    lines, is_right = compare(silicon, emulator, cases, options.most)
    command = " ".join(["scripts/gpu/tensor_maps.py --compare", *map(str, options.compare)])
    print(make_head(silicon["commit"], f"{silicon['device']}, driver {silicon['driver']}", command,
                    date=silicon["date"]))
    print(*lines, sep="\n")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
