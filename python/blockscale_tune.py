#!/usr/bin/env python3
# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures which schedules of matrix products are the fastest.

  blockscale_tune.py pack FOLDER MODULE... --target=CHIP       # where the compiler is
  python3 FOLDER/blockscale_tune.py measure FOLDER CHOICES     # where the GPU is
  blockscale-compile MODULE --target=CHIP --tuned=CHOICES ...  # where the compiler is
  blockscale_tune.py table CHOICES                             # predicted against measured

`pack` compiles each product of the modules by the schedules that the cost model finds best, one
bundle for each, into a folder that has all that the other machine needs but Python, NumPy and the
driver. `measure` times them and writes one file for each product and bucket of sizes. The
compiler reads these files and never measures. docs/Tuning.md has the details.
"""

import argparse
import hashlib
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import blockscale_choices as choices

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LIBRARY = "libBlockScaleRuntime.so"
PACK = "pack.json"
FLUSH_BYTES = 256 << 20
REPLAYS, ROUNDS = 25, 3
# A best one that is not faster than the model's by this part is as fast.
NOISE = 0.01
# What the table checks: default over tuned, and how far predictions may be off.
MOST_MEAN, MOST_WORST, MOST_OFF = 1.08, 1.20, 0.15


class Failure(Exception):
    """What was expected and what was found."""


def find_tool(options, name):
    folders = [options.bin] if options.bin else [
        Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build")) / "bin"]
    found = shutil.which(name, path=str(folders[0])) or (
        None if options.bin else shutil.which(name))
    if not found:
        raise Failure(f"expected {name} in {folders[0]}" +
                      ("" if options.bin else " or PATH") + "; --bin names its folder")
    return found


def run_tool(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{Path(command[0]).name} failed:\n{done.stderr.rstrip()}")
    return done


# --- pack ---------------------------------------------------------------------------------------

def compile_candidate(compiler, module, target, about, choice, candidate, bundle):
    """Compiles a module with one candidate, by a choice that says so."""
    with tempfile.TemporaryDirectory() as root:
        folder = choices.open_environment(root, {
            "chip": target, "compiler": about["compiler"], "gpu": "any", "multiprocessors": 0,
            "driver": "any", "policy": "none", "unit": "ns"})
        choices.write_choice(folder, choice["name"], choice["key"], candidate["schedule"],
                             "nowhere", [])
        run_tool([compiler, module, f"--target={target}", "--emit=bundle", "--branch-on-rows=0",
                  f"--tuned={root}", "-o", bundle])
    if b'"source": "tuned"' not in bundle.read_bytes():
        raise Failure(f"expected {module} to be compiled with {candidate['schedule']}")


def compute_sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pack(options):
    compiler = find_tool(options, "blockscale-compile")
    if options.candidates < 1:
        raise Failure(f"expected --candidates to be positive, but got {options.candidates}")
    if any(size < 1 for size in options.dynamic_sizes):
        raise Failure("expected --dynamic-sizes to be positive, but got "
                      + ",".join(map(str, options.dynamic_sizes)))
    folder = options.folder
    if (folder / PACK).exists():
        raise Failure(f"expected {folder} to hold no pack")
    folder.mkdir(parents=True, exist_ok=True)
    cases, works, about = [], [], None
    for module in options.modules:
        about = json.loads(run_tool(
            [compiler, module, f"--target={options.target}", "--emit=choices",
             "--branch-on-rows=0", f"--candidates={options.candidates}", "-o", "-"]).stdout)
        for choice in about["choices"]:
            if choice["source"] != "model" or "candidates" not in choice:
                print(f"{module}: the schedule in @{choice['function']} is by "
                      f"{choice['source']}, and left as it is")
                continue
            case = {name: choice[name] for name in ("function", "name", "key")}
            case |= {"module": module.name, "sizes": options.dynamic_sizes, "candidates": []}
            for candidate in choice["candidates"]:
                bundle = f"{len(cases)}_{len(case['candidates'])}.bundle"
                works.append((module, about, choice, candidate, folder / bundle))
                case["candidates"].append(candidate | {"bundle": bundle})
            cases.append(case)
    if not cases:
        raise Failure("expected a product whose schedule the model chooses, but the modules "
                      "have none")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda work: compile_candidate(compiler, work[0], options.target,
                                                     *work[1:]), works))
    for case in cases:
        for candidate in case["candidates"]:
            candidate["sha256"] = compute_sha256(folder / candidate["bundle"])
    library = options.runtime or Path(compiler).resolve().parents[1] / "lib" / LIBRARY
    carried = [HERE / f"blockscale_{name}.py"
               for name in ("tune", "choices", "operands", "runtime")]
    for path in carried + ([library] if library.exists() else []):
        shutil.copy(path, folder)
    # The last file, so that a folder that has it is whole.
    (folder / PACK).write_text(json.dumps(
        {"version": choices.VERSION, "chip": about["chip"], "compiler": about["compiler"],
         "cases": cases}, indent=1) + "\n")
    print(f"{len(cases)} products, {len(works)} bundles in {folder}")
    return 0


# --- measure ------------------------------------------------------------------------------------

def read_pack(folder):
    path = folder / PACK
    try:
        about = json.loads(path.read_text())
        found = about["version"]
        for case in about["cases"]:
            for candidate in case["candidates"]:
                if not isinstance(candidate["predicted_ns"], int):
                    raise ValueError("expected predicted_ns to be an integer")
                if not isinstance(candidate["sha256"], str):
                    raise ValueError("expected sha256 to be a text")
                if not (folder / candidate["bundle"]).exists():
                    raise ValueError(f"expected {candidate['bundle']} beside it")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"{path} is no pack: {type(error).__name__}: {error}") from None
    if found != choices.VERSION:
        raise Failure(f"expected {path} to be of version {choices.VERSION}, but got {found}")
    return about


class Gpu:
    """Times bundles on a GPU."""

    def __init__(self, options, runtime, about):
        self.runtime = runtime
        self.device = runtime.device(options.device, options.driver)
        self.manifest = {
            "chip": about["chip"], "compiler": about["compiler"], "gpu": self.device.name,
            "multiprocessors": self.device.multiprocessors,
            "driver": f"CUDA {self.device.driver_version // 1000}",
            "policy": f"CUDA graphs, {FLUSH_BYTES >> 20} MiB overwritten before each replay, "
                      f"median of {REPLAYS}, best of {ROUNDS} rounds",
            "unit": "ns"}

    def measure(self, bundles, name, case):
        """Nanoseconds of the function of each bundle, all in turn."""
        from blockscale_operands import make_arguments
        addresses, works = [], []

        def allocate(size):
            addresses.append(self.device.allocate(size))
            return addresses[-1]

        try:
            modules = [self.device.load(self.runtime.bundle(path)) for path in bundles]
            first = modules[0].function(name)
            arrays = make_arguments(first, case["key"], case["sizes"])
            inputs = []
            for buffer, array in zip(first.arguments, arrays):
                inputs.append(0 if buffer.is_scalar else allocate(array.nbytes))
                if not buffer.is_scalar:
                    self.device.upload(inputs[-1], array)
            outputs = None
            for module in modules:
                function = module.function(name)
                call = function.call(*arrays)
                outputs = outputs or [allocate(call.bytes(1, i))
                                      for i in range(len(function.results))]
                works.append((call, module, allocate(call.workspace_bytes)))
            rounds = [[statistics.median(call.time(module, inputs, outputs, workspace,
                                                   FLUSH_BYTES, REPLAYS))
                       for call, module, workspace in works] for _ in range(ROUNDS)]
            return [round(1000 * min(times)) for times in zip(*rounds)]
        finally:
            for address in addresses:
                self.device.free(address)


class Emulator:
    """Counts the instructions of bundles in the emulator."""

    def __init__(self, options, runtime, about):
        self.runtime = runtime
        self.emulate = find_tool(options, "blockscale-emulate")
        self.launch = find_tool(options, "blockscale-launch")
        self.manifest = {
            "chip": about["chip"], "compiler": about["compiler"], "gpu": "emulator",
            "multiprocessors": 0, "driver": "none",
            "policy": "instructions of warps, all launches of a call",
            "unit": "instructions"}

    def measure(self, bundles, name, case):
        """Instructions of the function of each bundle."""
        import numpy as np

        from blockscale_operands import make_arguments
        function = self.runtime.bundle(bundles[0]).function(name)
        counts = []
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for i, array in enumerate(make_arguments(function, case["key"], case["sizes"])):
                files += ["--in", Path(folder) / f"in{i}.npy"]
                np.save(files[-1], array)
            for i in range(len(function.results)):
                files += ["--out", Path(folder) / f"out{i}.npy"]
            for bundle in bundles:
                done = run_tool([self.emulate, f"--chip={self.manifest['chip']}", "--profile",
                                 "--program", self.launch, bundle, f"--entry={name}", *files])
                found = re.findall(r": (\d+) warp instructions", done.stderr)
                if not found:
                    raise Failure(f"expected counts of {bundle}, but got none")
                counts.append(sum(map(int, found)))
        return counts


def measure(options):
    import blockscale_runtime
    folder = options.folder
    about = read_pack(folder)
    library = options.runtime or next(
        (path for path in (folder / LIBRARY, ROOT / "build/lib" / LIBRARY) if path.exists()),
        folder / LIBRARY)
    if not library.exists():
        raise Failure(f"expected {library}; --runtime names the library")
    place = Emulator if options.on == "emulator" else Gpu
    try:
        place = place(options, blockscale_runtime.Runtime(library), about)
        environment = choices.open_environment(options.choices, place.manifest)
        for case in about["cases"]:
            measure_case(options, folder, environment, place, case)
    except blockscale_runtime.Error as error:
        raise Failure(str(error)) from None
    print(f"choices of {place.manifest['gpu']} in {environment}")
    return 0


def measure_case(options, folder, environment, place, case):
    name, candidates = case["name"], case["candidates"]
    if not options.again and choices.read_choice(environment, name):
        print(f"{name}: is there")
        return
    for each in candidates:
        # The bundle of another schedule would be measured as this one.
        if compute_sha256(folder / each["bundle"]) != each["sha256"]:
            raise Failure(f"expected {folder / each['bundle']} to be the file that was packed, but "
                          "got another one")
    measured = place.measure([folder / each["bundle"] for each in candidates],
                             case["function"], case)
    results = [{"schedule": each["schedule"], "predicted_ns": each["predicted_ns"],
                "measured": count} for each, count in zip(candidates, measured)]
    best = min(results, key=lambda each: each["measured"])
    if best["measured"] > (1 - NOISE) * measured[0]:
        best = results[0]
    choices.write_choice(environment, name, case["key"], best["schedule"],
                         f"@{case['function']} of {case['module']}", results)
    unit = place.manifest["unit"]
    print(f"{name}: {format_schedule(best['schedule'])}, {best['measured']} {unit}; the model's "
          f"{format_schedule(results[0]['schedule'])}, {measured[0]} {unit}", flush=True)


# --- table --------------------------------------------------------------------------------------

def format_schedule(schedule):
    """The parameters that candidates differ by."""
    return (f"{schedule['rows']}x{schedule['cols']}"
            + (f" by {schedule['multicast']}" if schedule["multicast"] > 1 else "")
            + (f" in {schedule['splits']} parts" if schedule["splits"] > 1 else ""))


def list_rows(manifest, found):
    """Lines of the table of an environment, the ratios of default to tuned, and the errors of
    the predictions."""
    is_time = manifest["unit"] == "ns"
    unit, divisor = ("us", 1000) if is_time else ("instructions", 1)
    lines = [(f"| product | schedule | predicted, us | measured, {unit} | "
              "predicted / measured | of the fastest | |"), "|" + " --- |" * 7]
    ratios, errors = [], []
    for name, choice in found.items():
        candidates = choice["candidates"]
        if not candidates or not all(each["measured"] > 0 for each in candidates):
            continue
        tuned = [each["measured"] for each in candidates
                 if each["schedule"] == choice["schedule"]]
        if not tuned:
            continue
        ratios.append(candidates[0]["measured"] / tuned[0])
        fastest = min(each["measured"] for each in candidates)
        for i, each in enumerate(candidates):
            share = each["predicted_ns"] / each["measured"]
            if is_time:
                errors.append(abs(share - 1))
            marks = ["model"] * (i == 0) + ["tuned"] * (each["schedule"] == choice["schedule"])
            lines.append(
                f"| {name} | {format_schedule(each['schedule'])} | "
                f"{each['predicted_ns'] / 1000:.1f} | "
                f"{each['measured'] / divisor:.{1 if is_time else 0}f} | "
                f"{f'{share:.2f}' if is_time else ''} | {each['measured'] / fastest:.3f} | "
                f"{', '.join(marks)} |")
    return lines, ratios, errors


def table(options):
    environments = choices.find_environments(options.choices)
    if not environments:
        raise Failure(f"expected {options.choices} to have choices, but it has none")
    is_good, is_printed = True, False
    for folder, manifest in environments:
        lines, ratios, errors = list_rows(manifest, choices.read_choices(folder))
        if not ratios:
            continue
        if is_printed:
            print()
        is_printed = True
        print(f"{manifest['gpu']}, {manifest['multiprocessors']} multiprocessors, "
              f"{manifest['driver']}, {manifest['chip']}, kernels of {manifest['compiler']}; "
              f"{manifest['policy']}\n")
        print(*lines, sep="\n")
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\ndefault over tuned, {len(ratios)} products: geometric mean {mean:.3f}, "
              f"worst {max(ratios):.3f} (bars {MOST_MEAN:.2f} and {MOST_WORST:.2f})")
        if errors:
            off = sum(error > MOST_OFF for error in errors)
            print(f"predictions off by more than {100 * MOST_OFF:.0f} %: {off} of {len(errors)}, "
                  f"at most by {100 * max(errors):.0f} %")
        is_good &= mean <= MOST_MEAN and max(ratios) <= MOST_WORST
    return 0 if is_good or not options.check else 1


# --- options ------------------------------------------------------------------------------------

def parse_sizes(text):
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError("expected sizes with commas between, but got "
                                         f"'{text}'") from None


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="blockscale_tune.py", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add = commands.add_parser("pack", help="compile the model's best into a folder")
    add.add_argument("folder", type=Path, help="is created")
    add.add_argument("modules", type=Path, nargs="+", metavar="MODULE",
                     help="a module; times are those of whole functions, so one product each")
    add.add_argument("--target", required=True, metavar="CHIP", help="as of blockscale-compile")
    add.add_argument("--candidates", type=int, default=4, metavar="N",
                     help="schedules of a product (default 4)")
    add.add_argument("--dynamic-sizes", type=parse_sizes, default=[8192], metavar="N,...",
                     help="the dims of a function in order, as blockscale-launch --list prints "
                          "them; the last one serves all that follow (default 8192, as the "
                          "model assumes)")
    add.set_defaults(work=pack)
    add = commands.add_parser("measure", help="measure what was packed, and write choices")
    add.add_argument("folder", type=Path, help="what pack made")
    add.add_argument("choices", type=Path, help="folder of choices; is created")
    add.add_argument("--on", choices=("gpu", "emulator"), default="gpu",
                     help="time on a GPU (default), or count instructions in the emulator")
    add.add_argument("--device", type=int, default=0, metavar="N", help="GPU (default 0)")
    add.add_argument("--driver", type=Path, metavar="FILE", help="library of the driver")
    add.add_argument("--again", action="store_true", help="also where there is a choice")
    add.set_defaults(work=measure)
    for command in commands.choices.values():
        command.add_argument("--bin", type=Path, metavar="FOLDER",
                             help="that of the project's tools (default: bin of the build, PATH)")
        command.add_argument("--runtime", type=Path, metavar="FILE",
                             help=f"{LIBRARY} to use, instead of a search")
    add = commands.add_parser("table", help="print predicted against measured")
    add.add_argument("choices", type=Path, help="folder of choices, or of one environment")
    add.add_argument("--check", action="store_true",
                     help=f"fail where default over tuned is above {MOST_MEAN} on the geometric "
                          f"mean, or above {MOST_WORST} at worst")
    add.set_defaults(work=table)
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    try:
        return options.work(options)
    except (Failure, OSError) as error:
        print(f"blockscale_tune.py: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
