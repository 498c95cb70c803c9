# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the functions of a module on seeded inputs and compares bytes.

Before and after: functions are lowered without canonicalization, then after
--passes also without, then after --passes by the whole CPU pipeline. Passes that
leave the module as it was are an error, since then nothing would be compared.

Among each other: functions GROUP.NAME take the same arguments as the group's
first, and then one f32 for each further argument: 1.0. GROUP.same_* give the
first's bytes; GROUP.other_* must not, on at least one input.

Dynamic sizes are 48.
"""

import argparse
import itertools
import sys
from pathlib import Path

import numpy as np

import values
from expect import first_difference
from module import Module, ModuleError

SEEDS = (1, 2)
DYNAMIC_SIZE = 48


def argument(slot, random):
    shape = tuple(DYNAMIC_SIZE if size is None else size for size in slot.shape)
    if slot.element == "f32" and len(shape) < 2:
        return np.ones(shape, np.float32)
    if slot.element in ("f32", "bf16"):
        return values.floats(random, shape, slot.dtype)
    if slot.element == "f8E4M3FN":
        return values.e4m3(random, shape)
    if slot.element == "f8E8M0FNU":
        return values.e8m0(random, shape)
    if slot.element == "i8":
        return random.integers(0, 256, shape, dtype=np.uint8)
    raise ModuleError(f"no inputs for {slot}")


class Comparison:
    def __init__(self):
        self.equal, self.different, self.failures = 0, 0, []

    def same(self, what, a, b):
        for seed, x, y in zip(SEEDS, a, b, strict=True):
            difference = first_difference(x, y)
            if difference:
                self.failures.append(f"{what}: seed {seed}: {difference}")
                return
        self.equal += 1

    def other(self, what, a, b):
        if any(first_difference(x, y) for x, y in zip(a, b, strict=True)):
            self.different += 1
        else:
            self.failures.append(f"{what}: expected other bytes on some input, but got the same")


def run(module):
    """Each function's results, one list of arrays for each seed."""
    results = {}
    for name in module.functions:
        results[name] = []
        for seed in SEEDS:
            # Arguments of a position are those of every function of the group.
            random = np.random.default_rng([seed, *name.split(".")[0].encode()])
            arguments = [argument(slot, random) for slot in module.arguments(name)]
            results[name].append(module.call(name, *arguments))
    return results


def compare_groups(label, results, comparison):
    groups = {}
    for name in results:
        groups.setdefault(name.split(".")[0], []).append(name)
    for first, *names in groups.values():
        for name in names:
            is_same = name.split(".")[1].startswith("same_")
            check = comparison.same if is_same else comparison.other
            check(f"{label}@{first} and @{name}", results[first], results[name])


def compare(text, label, folder, passes, comparison):
    plain = Module(text, folder, first_stage="form-kernels", optimize=False)
    before = run(plain)
    compare_groups(label, before, comparison)
    after = {"the pipeline": Module(text, folder, passes)}
    if passes:
        after["the passes"] = Module(text, folder, passes, "form-kernels", optimize=False)
        if after["the passes"].text == plain.text:
            comparison.failures.append(f"{label}the passes change nothing")
    for what, module in after.items():
        results = run(module)
        for name in before:
            comparison.same(f"{label}@{name} and after {what}", before[name], results[name])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", type=Path)
    parser.add_argument("folder", type=Path, help="where to compile")
    parser.add_argument("--each", action="append", default=[], metavar="WORD=V1,V2",
                        help="repeat with each value in place of a word of the module")
    parser.add_argument("--passes", default="", help="options of blockscale-opt")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    words = [each.partition("=")[0] for each in options.each]
    lists = [each.partition("=")[2].split(",") for each in options.each]
    comparison = Comparison()
    for chosen in itertools.product(*lists):
        text = options.module.read_text()
        for word, value in zip(words, chosen):
            text = text.replace(word, value)
        label = "".join(f"{value}: " for value in chosen)
        compare(text, label, options.folder, options.passes.split(), comparison)
    for failure in comparison.failures:
        print(f"error: {failure}")
    print(f"{comparison.equal} equal, {comparison.different} different as they must be, "
          f"{len(comparison.failures)} wrong")
    return 1 if comparison.failures or not comparison.equal else 0


if __name__ == "__main__":
    sys.exit(main())
