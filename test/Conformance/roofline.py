# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torchao's roofline: seconds of GPUs, recipes and shapes, as
blockscale-roofline, the tool beside blockscale-run, prints them."""

import csv
import os

import numpy as np

from contract import compare_close
from jobs import Check, Job
from runner import call

RELATIVE = 1e-12
SIZES = ("M", "K", "N")


class RooflineJob(Job):
    """A table, which no function of a module computes."""

    def __init__(self, case):
        super().__init__(case.name)
        self.meta = case.meta
        self.rows = case.expected["table"]
        check = Check(
            "table",
            self.rows,
            lambda table: table,
            lambda got: compare_close(got, self.rows, RELATIVE),
        )
        self.outputs.append((1, [check]))

    def execute(self, tool):
        """The tables, one, in the order of the expected rows."""
        tool = os.path.join(os.path.dirname(tool), "blockscale-roofline")
        columns = self.meta["columns"]
        assert tuple(columns[:5]) == ("gpu", "recipe", *SIZES)
        found = {}
        for gpu, name in enumerate(self.meta["gpus"]):
            for line in self._print(tool, name):
                recipe = self.meta["recipes"].index(line["recipe"])
                key = (gpu, recipe, *(int(line[size]) for size in SIZES))
                found[key] = [float(line[column]) for column in columns[5:]]
        table = [[*row[:5], *found[tuple(map(int, row[:5]))]] for row in self.rows]
        return [np.array(table)]

    def _print(self, tool, gpu):
        shapes = sorted({tuple(map(int, row[2:5])) for row in self.rows})
        command = [
            tool,
            # "NVIDIA B300 SXM6 AC" is B300 here.
            f"--gpu={gpu.split()[1]}",
            f"--recipe={','.join(self.meta['recipes'])}",
            f"--shape={','.join('x'.join(map(str, shape)) for shape in shapes)}",
            "--format=csv",
        ]
        return csv.DictReader(call(command).splitlines())


def roofline_jobs(case):
    return [RooflineJob(case)] if "table" in case.expected else []
