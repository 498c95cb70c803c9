#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast blockscale-emulate executes.

    python3 benchmarks/emulator.py [--build BUILD] [--rounds N] [--json FILE]

Thread instructions a second of the project's quantizers on 1024x4096 bf16, on one
core: those of --profile, by the processor time of the process less that of one that
only decodes the module and reads the same arrays. And the seconds of whole processes
that run Triton's NVFP4 dot_scaled kernel at 512x512x1024 on two cores; its results
are compared with numpy's. The best of the rounds counts. Prints the bars beside the
figures; the exit status is 1 if one is missed.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "emulator/test/Compilers"))
# The folder is on the path now.
import cases
import run

ROWS, COLUMNS = 1024, 4096
INSTRUCTIONS_BAR = 20e6
SECONDS_BAR = 10.0
FORMS = {"nvfp4": "pointers", "nvfp4_tma": "tensor maps"}

QUANTIZERS = {
    "NVFP4 1x16, global scale, swizzled": """
#swizzled = #blockscale.layout<swizzle_128x4>
func.func @quantize(%x: tensor<RxCxbf16>, %g: tensor<f32>)
    -> (tensor<RxCxf4E2M1FN>, tensor<RxBxf8E4M3FN, #swizzled>) {
  %q, %s = blockscale.quantize %x block [1, 16] recipe torchao
      global_scale(%g : tensor<f32>)
      : tensor<RxCxbf16> -> tensor<RxCxf4E2M1FN>, tensor<RxBxf8E4M3FN, #swizzled>
  return %q, %s : tensor<RxCxf4E2M1FN>, tensor<RxBxf8E4M3FN, #swizzled>
}
""".replace("B", str(COLUMNS // 16)),
    "MXFP8 1x32 rceil": """
func.func @quantize(%x: tensor<RxCxbf16>)
    -> (tensor<RxCxf8E4M3FN>, tensor<RxBxf8E8M0FNU>) {
  %q, %s = blockscale.quantize %x block [1, 32] recipe rceil
      : tensor<RxCxbf16> -> tensor<RxCxf8E4M3FN>, tensor<RxBxf8E8M0FNU>
  return %q, %s : tensor<RxCxf8E4M3FN>, tensor<RxBxf8E8M0FNU>
}
""".replace("B", str(COLUMNS // 32)),
}


def timed(command, check=True):
    """Output, seconds and processor seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run([str(word) for word in command], check=check, text=True,
                          stdout=subprocess.PIPE,
                          stderr=None if check else subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, seconds, (after.ru_utime + after.ru_stime
                                  - before.ru_utime - before.ru_stime)


def compile_quantizer(compiler, module, folder):
    """PTX file and the launch of its kernel, as the plan has it."""
    source = folder / "module.mlir"
    source.write_text(module.replace("RxC", f"{ROWS}x{COLUMNS}").replace("Rx", f"{ROWS}x"))
    for kind in ("ptx", "plan"):
        subprocess.run([compiler, source, "--target=sm_100a", f"--emit={kind}", "-o",
                        folder / f"module.{kind}"], check=True)
    plan = json.loads((folder / "module.plan").read_text())
    function = plan["functions"][0]
    [step] = function["steps"]
    sizes = {buffer["name"]: buffer["bytes"]
             for buffer in function["arguments"] + function["results"]}
    return folder / "module.ptx", step["launch"], sizes


def quantizer_command(tool, module, launch, sizes, folder):
    x = np.random.default_rng(1).standard_normal(ROWS * COLUMNS, dtype=np.float32)
    inputs = {"arg0": (x.view(np.uint32) >> 16).astype(np.uint16),
              "arg1": np.array([0.01], np.float32)}
    arguments = []
    for parameter in launch["parameters"]:
        [(kind, value)] = parameter.items()
        if kind != "buffer":
            arguments.append(f"--arg={kind}:{value}")
        elif value in inputs:
            np.save(folder / f"{value}.npy", inputs[value])
            arguments.append(f"--arg=in:{folder}/{value}.npy")
        else:
            arguments.append(f"--arg=zero:{sizes[value]}")
    return [tool, module, f"--kernel={launch['kernel']}", "--jobs=1", "--profile",
            "--grid=" + ",".join(map(str, launch["grid"])),
            "--block=" + ",".join(map(str, launch["block"])),
            f"--shared={launch['shared']}", *arguments]


def measure_quantizer(build, text, rounds):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        module, launch, sizes = compile_quantizer(
            build / "bin/blockscale-compile", text, folder)
        command = quantizer_command(build / "bin/blockscale-emulate", module, launch,
                                    sizes, folder)
        whole, start_up = [], []
        for _ in range(rounds):
            output, _, seconds = timed(command)
            whole.append(seconds)
            # A limit of one step stops it as soon as it executes.
            start_up.append(timed([*command, "--max-steps=1"], check=False)[2])
    count = int(re.search(r"^thread instructions: (\d+)$", output, re.M)[1])
    seconds = min(whole) - min(start_up)
    return {"thread_instructions": count, "seconds": seconds, "per_second": count / seconds}


def measure_product(build, form, rounds):
    case = cases.nvfp4_case(form, 512, 512, 1024)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        outputs = run.emulate(str(build / "bin/blockscale-emulate"), case,
                              ["--schedule=prompt", "--jobs=2"])
        seconds.append(time.perf_counter() - start)
        if fault := run.judge(case, outputs):
            sys.exit(f"{form}: {fault}")
    return {"seconds": min(seconds)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()

    quantizers = {name: measure_quantizer(options.build, text, options.rounds)
                  for name, text in QUANTIZERS.items()}
    products = {name: measure_product(options.build, name, options.rounds)
                for name in ("nvfp4", "nvfp4_tma")}
    if options.json:
        options.json.write_text(json.dumps({"quantizers": quantizers, "products": products},
                                           indent=2) + "\n")

    are_met = []

    def verdict(is_met):
        are_met.append(is_met)
        return "met" if is_met else "MISSED"

    print(f"| quantizer, {ROWS}x{COLUMNS}, one core | thread instructions | seconds | "
          "millions a second | bar | |\n| --- | --- | --- | --- | --- | --- |")
    for name, row in quantizers.items():
        print(f"| {name} | {row['thread_instructions']} | {row['seconds']:.2f} | "
              f"{row['per_second'] / 1e6:.0f} | {INSTRUCTIONS_BAR / 1e6:.0f} | "
              f"{verdict(row['per_second'] >= INSTRUCTIONS_BAR)} |")
    print("\n| Triton's NVFP4 product, 512x512x1024, two cores | seconds | bar | |\n"
          "| --- | --- | --- | --- |")
    for name, row in products.items():
        print(f"| {FORMS[name]} | {row['seconds']:.2f} | {SECONDS_BAR:.0f} | "
              f"{verdict(row['seconds'] < SECONDS_BAR)} |")
    return 0 if all(are_met) else 1


if __name__ == "__main__":
    sys.exit(main())
