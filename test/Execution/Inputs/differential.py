# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the functions of generated modules on the CPU and in the emulator, as kernels of
several chips, with kernels of several ops and with one for each op, and compares the bytes.

Usage: differential.py FOLDER [--seed SEED] [--modules N | --minutes N | --only N]...

Module N of a seed is what blockscale-fuzz makes of bytes that are drawn for it, and so are
the arguments of its functions: special values among them. The seed is 1 unless it is given; it
is printed, and `--seed SEED --only N` runs one module again. Before the modules of
the seed run those of the folder FOUND, which showed something once; `--keep FOLDER` adds each
that differs to a folder.

Products are only compared byte by byte where every sum is exact: their operands are then
arguments, small integers, with scales that are powers of two or without scales. What depends on
other products is left out, and counted.

A module that is refused for a chip says why; the shares of what is lowered have floors.
"""

import argparse
import collections
import math
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from expect import first_difference
from gpu_calls import run_places
from ops import with_one_nan

ON_CPU = ("--on=cpu", "--optimize=0")
# For each chip: a kernel for each op, and kernels of several.
CHIPS = {"sm_100a": ("--nan-scales",), "sm_80": ()}
PLACES = {chip: [("--on=emulator", f"--target={chip}", *options, "--schedule=random",
                  f"--fuse={fuse}") for fuse in ("true", "false")]
          for chip, options in CHIPS.items()}
# Of the functions that run on the CPU, those that have to run elsewhere. Products have no
# kernels on sm_80.
FLOORS = {"sm_100a": 0.55, "sm_80": 0.35}
LEAST_FUNCTIONS = 40  # for the floors to mean something
MOST_ELEMENTS = 1 << 20  # of an argument
MOST_SECONDS = 1200  # of all runs of a function, also on a busy machine
PLANTED = 97  # Of the self-test: one byte in so many is changed.
# Modules that showed something once. The first line has the seed and the number by which their
# arguments are drawn.
FOUND = Path(__file__).with_name("differential")
FIRST_LINE = "// seed {}, module {}\n"

FUNCTION = re.compile(r"func\.func (private )?@(\w+)\((.*?)\) (?:-> (?:\((.*?)\)|(\S.*?)) "
                      r")?\{\n(.*?)\n\}\n",
                      re.DOTALL)
CALL = re.compile(r"call @(\w+)\(([^)]*)\)")
ARGUMENT = re.compile(r"(%\w+): (tensor<[^>]*(?:<[^>]*>)?[^>]*>|\w+)(?:, |$)")
RESULT = re.compile(r"(tensor<[^>]*(?:<[^>]*>)?[^>]*>|\w+)(?:, |$)")
TENSOR = re.compile(r"tensor<((?:[\d?]+x)*)(\w+)(?:, (.*))?>$", re.DOTALL)
MOVES = ("arith.select", "tensor.cast", "tensor.extract_slice", "tensor.collapse_shape",
         "tensor.expand_shape", "blockscale.swizzle", "blockscale.prepack")
SCALES = r"scales\((%\w+), (%\w+)\)|dequantize %\w+, (%\w+)|(?:swizzle|expand_scale) (%\w+)"
# Offsets or sizes that arguments give, or sizes of the tensor that they give: out of bounds a
# slice has no meaning.
MOVING_SLICE = re.compile(r"(?:extract|insert)_slice (?:[^:\n]*\[[^\]\n]*%|[^\n]*\?)")
CODES = {"f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E4M3FN", "f8E5M2", "i8"}
# The operand of a product that has no scales: the first or the second one.
PLAIN_OPERANDS = re.compile(r"blockscale\.scaled_(?:grouped_)?mm (?:(%\w+), %\w+[^:\n]*scales\(none"
                            r"|%\w+, (%\w+)[^:\n]*scales\([^,\n]*, none)")
# Codes of small integers, and scales of 1/2, 1 and 2.
INTEGERS = {"f4E2M1FN": (0, 2, 4, 5, 6, 10, 12, 14), "f6E2M3FN": (0, 8, 16, 20, 24, 40, 48),
            "f6E3M2FN": (0, 12, 16, 18, 20, 44, 48), "f8E4M3FN": (0, 0x38, 0x40, 0x44, 0xB8, 0xC0),
            "f8E5M2": (0, 0x3C, 0x40, 0x42, 0xBC, 0xC0), "i8": (0, 64, 128, 192)}


@dataclass
class Function:
    name: str
    arguments: list  # names and types
    results: list  # types
    body: str
    is_private: bool
    others: dict  # all functions of the module by name, to follow calls

    @staticmethod
    def all_of(text):
        functions = {}
        for match in FUNCTION.finditer(text):
            functions[match[2]] = Function(
                match[2], ARGUMENT.findall(match[3]), RESULT.findall(match[4] or match[5] or ""),
                match[6], bool(match[1]), functions)
        return list(functions.values())

    def find_calls(self):
        """Functions that this one calls, with what it gives them."""
        return [(self.others[name], re.findall(r"%\w+", given))
                for name, given in CALL.findall(self.body) if name in self.others]

    def find_plain(self):
        """Names of arguments that products take as they are, without scales."""
        names = {name for name, _ in self.arguments}
        return {each for operands in PLAIN_OPERANDS.findall(self.body) for each in operands} & names

    def find_inexact(self):
        """Positions of the results that depend on products whose sums may round."""
        exact = {name for name, _ in self.arguments}
        plain = self.find_plain()
        inexact = set()
        has_regions = "scf." in self.body
        for line in self.body.splitlines():
            left, found, right = line.strip().partition(" = ")
            used = set(re.findall(r"%\w+", right if found else line))
            made = set(re.findall(r"%\w+", left)) if found else set()
            called = CALL.search(right)
            if called and called[1] in self.others and self.others[called[1]].has_products():
                inexact |= made
            elif re.match(r"blockscale\.scaled_(grouped_)?mm", right):
                taken = {each for operands in PLAIN_OPERANDS.findall(right) for each in operands}
                if not used <= exact or not taken - {""} <= plain:
                    inexact |= made
            elif used & inexact:
                inexact |= made
            elif right.startswith(MOVES) and used <= exact:
                exact |= made
        returned = re.findall(r"%\w+", self.body.splitlines()[-1].partition(":")[0])
        if has_regions and inexact:
            return set(range(len(returned)))
        return {i for i, name in enumerate(returned) if name in inexact}

    def find_scales(self):
        """Names that some op takes as block scales, here or in a function that is called."""
        found = {name for names in re.findall(SCALES, self.body) for name in names if name}
        for callee, given in self.find_calls():
            scales = callee.find_scales()
            found |= {mine for mine, (name, _) in zip(given, callee.arguments) if name in scales}
        return found

    def has_products(self):
        return "blockscale.scaled_" in self.body or any(
            callee.has_products() for callee, _ in self.find_calls())


class Unsupported(Exception):
    """An argument that cannot be drawn, and why."""


def storage_shape(shape, element, encoding):
    """The shape of an argument's array."""
    if encoding and "groups" in encoding:
        raise Unsupported("a grouped layout as an argument")
    if encoding and "data_layout" in encoding:
        raise Unsupported("prepacked data as an argument")
    if encoding and "swizzle_128x4" in encoding:
        return (*shape[:-2], -(-shape[-2] // 128), -(-shape[-1] // 4), 32, 4, 4)
    if element == "f4E2M1FN":
        if shape[-1] % 2:
            raise Unsupported("half a byte")
        return (*shape[:-1], shape[-1] // 2)
    return shape


def draw_floats(random, shape):
    """f32, some of them special."""
    x = random.standard_normal(shape) * 2.0 ** random.integers(-4, 5)
    if random.random() < 0.5:
        special = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1e-40, -1e-42, 6e-8, 448.0, 6.0,
                            0.25, 5.0, 3e38, 65504.0])
        chosen = random.random(shape) < 0.02
        x = np.where(chosen, random.choice(special, shape), x)
    if random.random() < 0.2 and len(shape) > 1 and shape[-2]:
        x[..., random.integers(shape[-2]), :] = 0
    return x.astype(np.float32)


def draw(random, type, size, has_products, is_scale, is_plain):
    """An argument's array; dynamic dimensions have this size."""
    match = TENSOR.match(type)
    if not match:
        if type == "index":
            return np.array(random.choice((0, 0, size)), np.int64)
        if type == "f32":
            return np.array(random.uniform(0.25, 4), np.float32)
        if type == "i1":
            return np.array(random.integers(2), np.uint8)
        raise Unsupported(f"an argument of type {type}")
    shape = tuple(size if dim == "?" else int(dim) for dim in match[1].split("x")[:-1])
    if math.prod(max(1, each) for each in shape) > MOST_ELEMENTS:
        raise Unsupported("too large an argument")
    element, stored = match[2], storage_shape(shape, match[2], match[3])
    if element in ("f32", "bf16", "f16"):
        few = len(shape) < 2
        x = np.asarray(random.integers(-3, 4, shape).astype(np.float32) if is_plain
                       else random.uniform(0.25, 4, shape).astype(np.float32) if few
                       else draw_floats(random, shape))
        if element == "f32":
            return x
        with np.errstate(over="ignore"):
            if element == "f16":
                return x.astype(np.float16)
        return (x.view(np.uint32) >> 16).astype(np.uint16)
    if element == "i32":
        return np.sort(32 * random.integers(0, 8, shape)).astype(np.int32)
    if element == "i64":
        return random.integers(0, 1 << 30, shape)
    is_scale |= element == "f8E8M0FNU" or bool(match[3])
    if is_scale and has_products:
        powers = (126, 127, 128) if element == "f8E8M0FNU" else (0x30, 0x38, 0x40)
        return random.choice(powers, stored).astype(np.uint8)
    if element == "f8E8M0FNU":
        return random.integers(100, 150, stored).astype(np.uint8)
    if element not in CODES:
        raise Unsupported(f"an argument of type {type}")
    if has_products:
        codes = random.choice(INTEGERS[element], stored)
        if element == "f4E2M1FN":
            codes = codes | random.choice(INTEGERS[element], stored) << 4
        return codes.astype(np.uint8)
    limit = 127 if is_scale else 64 if element.startswith("f6") else 256
    return random.integers(0, limit, stored).astype(np.uint8)


def with_bytes_for_bits(text, function):
    """The module's text with i8 in place of the i1 arguments of a function, which arrays do
    not have."""
    bits = [name for name, type in function.arguments if type == "i1"]
    if not bits:
        return text
    head = text.index(f"func.func @{function.name}(")
    end = text.index("{\n", head)
    line = text[head:end]
    for name in bits:
        line = line.replace(f"{name}: i1", f"{name}_bits: i8")
    casts = "".join(f"  {name} = arith.trunci {name}_bits : i8 to i1\n" for name in bits)
    return text[:head] + line + "{\n" + casts + text[end + 2:]


def read_found():
    """Seed, number and text of each module of FOUND."""
    for path in sorted(FOUND.glob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        seed, number = re.match(FIRST_LINE.format(r"(\d+)", r"(\d+)"), text).groups()
        yield int(seed), int(number), text


def generate(folder, seed, numbers):
    """Seed, number and text of the modules of a seed."""
    paths = []
    for number in numbers:
        random = np.random.default_rng((seed, number))
        path = folder / f"bytes{number}"
        path.write_bytes(b"\x80" + random.bytes(int(random.integers(16, 256))))
        paths.append(path)
    printed = subprocess.run(["blockscale-fuzz", "-print", *paths], capture_output=True,
                             text=True, check=True).stdout
    texts = printed.split("\n// -----\n")[:-1]
    return [(seed, number, text) for number, text in zip(numbers, texts, strict=True)]


def find_reason(problem):
    """The rule in the diagnostic of a refusal."""
    clause = re.search(r"\((\w+_c\d+)\)", problem)
    if clause:
        return clause[1]
    said = re.search(r"error: (.*)", problem)
    text = said[1] if said else problem
    return re.sub(r"'[^']*'|\d+|@\w+|%\w+", "..", text)[:90]


class Counts:
    """What became of functions."""

    def __init__(self):
        self.lowered = collections.Counter()  # by chip
        self.refused = collections.Counter()  # by chip and reason
        self.functions = self.results = self.inexact = 0
        self.invalid = collections.Counter()  # why a function does not run on the CPU
        self.differences = []


def is_refusal(problem):
    """Whether a compiler or a check said no, rather than that a run went wrong."""
    return re.search(r"exit status 1\b", problem) and " error: " in problem and not re.search(
        r"findings|deadlock|hazard|out-of-bounds|misaligned|trap|uninitialised|to be written, but",
        problem)


def run_function(text, function, inexact, random, folder, plant):
    """What Counts add for one function, as a function of them."""
    size = int(random.choice((32, 32, 64, 16, 1)))
    try:
        executed = text if "call @" in function.body else function.body
        if MOVING_SLICE.search(executed):
            raise Unsupported("a slice that may leave its tensor")
        if "tensor.empty" in executed:
            raise Unsupported("values that nothing has written")
        arrays = [draw(random, type, size, function.has_products(), name in function.find_scales(),
                       name in function.find_plain()) for name, type in function.arguments]
    except Unsupported as unsupported:
        reason = str(unsupported)
        return lambda counts: counts.invalid.update([reason])
    text = with_bytes_for_bits(text, function)
    entry = (f"--entry={function.name}",)
    places = [ON_CPU, *(place for each in PLACES.values() for place in each)]
    try:
        runs = run_places(text, arrays, len(function.results), folder,
                          [(*place, *entry) for place in places], timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        said = f"{function.name}: no end within {MOST_SECONDS} s"
        return lambda counts: counts.differences.append(said)
    problem, wanted = runs[0]

    def add(counts):
        if problem:
            counts.invalid[find_reason(problem)] += 1
            if not is_refusal(problem):
                counts.differences.append(f"{function.name} on the CPU: {problem}")
            return
        counts.functions += 1
        for (place, chip), (said, got) in zip(
                [(place, chip) for chip, each in PLACES.items() for place in each], runs[1:]):
            where = f"{function.name}, {' '.join(place)}"
            if said:
                if is_refusal(said):
                    counts.refused[chip, find_reason(said)] += 1
                else:
                    counts.differences.append(f"{where}: {said}")
                continue
            counts.lowered[chip] += 1
            for i, type in enumerate(function.results):
                if i in inexact:
                    counts.inexact += 1
                    continue
                counts.results += 1
                match = TENSOR.match(type)
                element = match[2] if match else type
                try:
                    a, b = (with_one_nan(array, element) for array in (wanted[i], got[i]))
                    different = first_difference([a], [with_faults(b) if plant else b])
                except (IndexError, TypeError, ValueError) as error:
                    different = f"no comparison: {type_name(error)}: {error}"
                if different:
                    counts.differences.append(f"{where}: result {i} {type}: {different}")
    return add


def type_name(error):
    return type(error).__name__


def with_faults(array):
    """The array with one bit changed in each PLANTED-th byte."""
    stored = np.frombuffer(array.tobytes(), np.uint8).copy()
    stored[::PLANTED] ^= 1
    return stored.view(array.dtype).reshape(array.shape)


def run_module(seed, number, text, folder, plant):
    folder.mkdir(exist_ok=True)
    functions = Function.all_of(text)
    valid = subprocess.run(["blockscale-opt", "-", "-o", os.devnull], input=text, text=True,
                           capture_output=True)
    if valid.returncode or not functions:
        return [lambda counts: counts.invalid.update(["not valid"])]
    random = np.random.default_rng((seed, number, 1))
    return [run_function(text, function, function.find_inexact(), random,
                         folder / function.name, plant)
            for function in functions if function.results and not function.is_private]


def run_modules(pool, modules, options, counts):
    """Runs modules, which have a seed, a number and a text, and prints what differs."""
    jobs = [(*module, pool.submit(run_module, *module, options.folder / "-".join(
        map(str, ("module", *module[:2]))), options.plant)) for module in modules]
    for seed, number, text, job in jobs:
        before = len(counts.differences)
        for add in job.result():
            add(counts)
        for said in counts.differences[before:]:
            print(f"DIFFERENT module {number} (--seed {seed} --only {number}): {said}",
                  flush=True)
        if len(counts.differences) == before:
            if options.only is None:
                shutil.rmtree(options.folder / f"module-{seed}-{number}", ignore_errors=True)
        elif options.keep:
            path = options.keep / f"{seed}-{number}.mlir"
            path.write_text(FIRST_LINE.format(seed, number) + text, encoding="utf-8")
            print(f"kept as {path}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--modules", type=int, default=60, metavar="N")
    parser.add_argument("--minutes", type=float, help="as many modules as that takes")
    parser.add_argument("--only", type=int, metavar="N", help="this module alone")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where to keep what differs")
    parser.add_argument("--plant", action="store_true",
                        help="change what the emulator gives, which must be noticed")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}")
    counts, end = Counts(), time.monotonic() + 60 * (options.minutes or 0)
    batch, first = 20, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if options.only is not None:
            run_modules(pool, generate(options.folder, options.seed, [options.only]), options,
                        counts)
            return report(counts, 1)
        found = list(read_found())
        run_modules(pool, found, options, counts)
        while first < options.modules if options.minutes is None else time.monotonic() < end:
            last = first + batch
            if options.minutes is None:
                last = min(last, options.modules)
            run_modules(pool, generate(options.folder, options.seed, range(first, last)), options,
                        counts)
            first = last
    return report(counts, first + len(found))


def report(counts, modules):
    """Prints the counts; the exit status."""
    print(f"{modules} modules: {counts.functions} functions ran on the CPU; {counts.results} "
          f"results compared, {counts.inexact} of products that round left out")
    failed = len(counts.differences)
    for chip in CHIPS:
        share = counts.lowered[chip] / max(1, 2 * counts.functions)
        print(f"  {chip}: {100 * share:.0f} % of them lowered")
        if counts.functions >= LEAST_FUNCTIONS and share < FLOORS[chip]:
            print(f"FAIL {chip}: expected at least {100 * FLOORS[chip]:.0f} %")
            failed += 1
        for (at, reason), count in counts.refused.most_common():
            if at == chip:
                print(f"    {count // 2} refused: {reason}")
    for reason, count in counts.invalid.most_common(8):
        print(f"  {count} not run: {reason}")
    print(f"{counts.results - len(counts.differences)} passed, {failed} failed")
    return 1 if failed or not counts.results else 0


if __name__ == "__main__":
    sys.exit(main())
