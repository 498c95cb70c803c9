#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the PTX of other compilers in the emulator, under both schedules, and
compares with numpy and with what a GPU gave.

    run.py [--emulate PROGRAM] [--filter TEXT] [--chip N] [--seeds N] [--out FILE.npz]
           [--reference FOLDER [--mlir-opt PROGRAM]]

With --reference, the kernels of a folder of poc_*.mlir instead. Prints a line a
case; fails where a result is wrong or the emulator reports
something. --out writes the results of the prompt schedule, as `gpu.py` reads them.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import cases
from log_head import describe_commit
from reference_kernels import reference_cases

SWIZZLES = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}
ELEMENTS = {"u8": "UINT8", "bf16": "BFLOAT16"}


def _plain(array):
    """The array as integers of the same bits, which every reader of .npy knows."""
    return array.view(f"u{array.dtype.itemsize}")


def _options(case, folder):
    options = []
    for buffer in case.buffers:
        result = folder / f"{buffer.name}.out.npy"
        if buffer.value is None:
            shape = "x".join(map(str, buffer.shape))
            spec = f"out:{result}:uint{8 * buffer.dtype.itemsize}:{shape}"
        else:
            source = folder / f"{buffer.name}.npy"
            np.save(source, _plain(buffer.value))
            spec = f"inout:{source}:{result}" if buffer.is_output else f"in:{source}"
        options.append(f"--buffer={buffer.name}={spec}")
    for argument in case.arguments:
        if isinstance(argument, str):
            options.append(f"--arg=buffer:{argument}")
        elif isinstance(argument, cases.TensorMap):
            # The innermost dimension is the first of a map, and the last of a shape.
            dims, box = ("x".join(map(str, reversed(x))) for x in (argument.shape, argument.box))
            options.append(f"--arg=map:{argument.buffer},type={ELEMENTS[argument.element]},"
                           f"dims={dims},box={box},swizzle={SWIZZLES[argument.swizzle]}")
        elif isinstance(argument, cases.PlanMap):
            fields = ",".join(f"{key}=" + ("x".join(map(str, value)) if isinstance(value, list)
                                           else str(value))
                              for key, value in argument.fields.items())
            options.append(f"--arg=map:{argument.buffer},{fields}")
        elif argument.type == "bytes":
            path = folder / "struct.bin"
            path.write_bytes(argument.value)
            options.append(f"--arg=bytes:{path}")
        else:
            options.append(f"--arg={argument.type}:{argument.value}")
    return options


def emulate(program, case, schedule):
    """Results by buffer, or the text of what went wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ptx = folder / "module.ptx"
        ptx.write_bytes(case.text)
        command = [program, str(ptx), f"--kernel={case.kernel}",
                   "--grid=" + ",".join(map(str, case.grid)), f"--block={case.block}",
                   f"--cluster={case.cluster}", f"--shared={case.shared}", *case.options,
                   *schedule, *_options(case, folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr or f"exit status {done.returncode}"
        results = {}
        for buffer in case.buffers:
            path = folder / f"{buffer.name}.out.npy"
            if not buffer.is_output:
                continue
            if not path.exists():
                return f"{buffer.name}: not written"
            results[buffer.name] = np.load(path).view(buffer.dtype).reshape(buffer.shape)
        return results


def judge(case, outputs):
    """What is wrong with the results, or nothing."""
    if isinstance(outputs, str):
        return outputs
    try:
        case.check(outputs)
    except AssertionError as error:
        return str(error)
    if case.approximate:
        return ""
    for name, expected in cases.hardware(case.name).items():
        got = outputs[name].reshape(-1).view(np.uint8)
        if not np.array_equal(got, expected):
            return f"{name}: {np.count_nonzero(got != expected)} bytes differ from the GPU's"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--emulate", default="blockscale-emulate", help="the tool")
    parser.add_argument("--filter", default="", help="only cases whose name has it")
    parser.add_argument("--chip", type=int, help="only cases for it")
    parser.add_argument("--seeds", type=int, default=2, help="runs of the adversarial schedule")
    parser.add_argument("--out", help="where to write the results")
    parser.add_argument("--reference", type=Path, help="run the kernels of this folder instead")
    parser.add_argument("--mlir-opt", default="mlir-opt", help="what compiles them")
    options = parser.parse_args()
    chosen = (reference_cases(options.reference, options.mlir_opt) if options.reference
              else cases.all_cases())
    schedules = [["--schedule=prompt"]] + [
        ["--schedule=adversarial", f"--seed={seed}"] for seed in range(options.seeds)]
    results, passed, failed = {}, 0, 0
    for case in chosen:
        if options.filter not in case.name or options.chip not in (None, case.chip):
            continue
        faults = []
        for schedule in schedules:
            outputs = emulate(options.emulate, case, schedule)
            if fault := judge(case, outputs):
                faults.append(f"{' '.join(schedule)}: {fault}")
            if schedule is schedules[0] and not isinstance(outputs, str):
                for name, value in outputs.items():
                    results[f"{case.name}.{name}"] = value.reshape(-1).view(np.uint8)
        passed += not faults
        failed += bool(faults)
        print(f"{'FAIL' if faults else 'ok  '} {case.name}", *faults, sep="\n     ")
    if options.out:
        np.savez_compressed(options.out, commit=np.array(describe_commit(ROOT)), **results)
    print(f"{passed} passed, {failed} failed")
    # Nothing that runs is nothing that was proved.
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
