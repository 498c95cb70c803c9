# ===- tools.py - The compiler's tools as processes -----------------------===#
#
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Runs blockscale-run, blockscale-compile and ptxas; arrays travel as .npy."""

import os
import re
import subprocess
import time
from typing import NamedTuple

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHIP = "sm_100a"


class ToolError(Exception):
    """A tool is missing or failed; the message holds its diagnostics."""


class Seconds(NamedTuple):
    """Of a run: the whole process, and the function's call in it."""

    process: float
    call: float


class Tools:
    """The tools of a build folder; their files go to the folder `work`."""

    def __init__(self, build, work):
        self.bin, self.work = os.path.join(build, "bin"), work
        os.makedirs(work, exist_ok=True)
        for tool in ("blockscale-run", "blockscale-compile"):
            if not os.access(os.path.join(self.bin, tool), os.X_OK):
                raise ToolError(f"no {tool} in {self.bin}: build the project first")

    def run(self, module, entry, inputs, outputs, place="cpu"):
        """Runs @entry of the module's text on the CPU, or in the emulator.

        `inputs` maps argument names to arrays in storage form; `outputs` names
        the results. Returns the results by name and the `Seconds` it took.
        """
        command = [os.path.join(self.bin, "blockscale-run"), self._module(module)]
        command += [f"--on={place}", f"--entry={entry}", "--time"]
        for name, array in inputs.items():
            np.save(self._path(f"{name}.npy"), array)
            command += ["--in", self._path(f"{name}.npy")]
        for name in outputs:
            command += ["--out", self._path(f"{name}.npy")]
        start = time.perf_counter()
        printed = _check(command).stdout
        process = time.perf_counter() - start
        call = re.fullmatch(r"seconds (\S+)\s*", printed)
        if not call:
            raise ToolError(f"{command[0]}: expected seconds, but got {printed!r}")
        results = {name: np.load(self._path(f"{name}.npy")) for name in outputs}
        return results, Seconds(process, float(call[1]))

    def compile(self, module, form, name):
        """Compiles the module's text for the chip; the path of its `form`."""
        path = self._path(f"{name}.{form}")
        command = [os.path.join(self.bin, "blockscale-compile"), self._module(module)]
        _check([*command, f"--target={CHIP}", f"--emit={form}", "-o", path])
        return path

    def assemble(self, ptx):
        """What ptxas -v says of a PTX file; None where there is no ptxas."""
        ptxas = self.find_ptxas()
        if ptxas is None:
            return None
        return _check([ptxas, f"-arch={CHIP}", "-v", ptx, "-o", ptx + ".cubin"]).stderr

    @staticmethod
    def find_ptxas():
        script = os.path.join(ROOT, "scripts", "find-ptxas.sh")
        found = subprocess.run([script], capture_output=True, text=True)
        return found.stdout.strip() or None if found.returncode == 0 else None

    def _module(self, text):
        path = self._path("module.mlir")
        with open(path, "w") as file:
            file.write(text)
        return path

    def _path(self, name):
        return os.path.join(self.work, name)


def _check(command):
    """Runs a command; its output, or an exception that quotes it."""
    try:
        result = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise ToolError(f"{command[0]}: {error.strerror}") from error
    if result.returncode:
        quoted = " ".join(command)
        raise ToolError(f"{quoted}\nexit status {result.returncode}\n{result.stderr}")
    return result
