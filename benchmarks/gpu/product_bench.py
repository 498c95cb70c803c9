# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What benchmarks on a GPU share that pack modules: weight_only.py, plain.py, chain.py and others.

A benchmark is a subclass of `Benchmark` and has two commands. `pack FOLDER` compiles the modules
of its cases and copies all that the other machine needs. `run`, there, prints the head of a log and
a row of a table for each case, and writes NAME.json. With `--checkout`, the compiler, the packages
and the runtime are those of another checkout, which is built in build/.
"""

import argparse
import ctypes
import fnmatch
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("BLOCKSCALE_BUILD_DIR", ROOT / "build"))
CHIP = "sm_90a"


@dataclass(frozen=True)
class Machine:
    """The machine of the GPU: torch, the clock of peers.py, and BlockScale's runtime, with the
    folder of what is packed for it."""

    torch: object
    clock: object
    runtime: object
    device: object
    folder: Path

    def read_about(self, name):
        """What the pack of a benchmark says of itself."""
        return json.loads((self.folder / f"{name}_pack.json").read_text())

    def make_call(self, file, name, tensors):
        """A call of the function `name` of a packed module, and the bf16 tensor that it writes."""
        torch = self.torch
        module = self.device.load(self.runtime.bundle(self.folder / f"{file}.bundle"))
        types = {torch.bfloat16: "uint16", torch.uint8: "uint8", torch.int32: "int32",
                 torch.int64: "int64", torch.float32: "float32"}
        call = module.function(name).call(*((types[t.dtype], tuple(t.shape)) for t in tensors))
        y = torch.full(call.shapes[0], float("nan"), dtype=torch.bfloat16, device="cuda")
        workspace = torch.empty(max(call.workspace_bytes, 1), dtype=torch.uint8, device="cuda")

        def launch():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            call.launch(module, [t.data_ptr() for t in tensors], [y.data_ptr()],
                        workspace.data_ptr(), stream)

        return launch, y


def get_build(checkout):
    """The folder of a checkout's build."""
    return BUILD if checkout == ROOT else checkout / "build"


def describe_error(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:120]


def capture(clock, works, needed):
    """Calls of graphs of `works` by name, and notes on those that have none. A package may fail in
    any way, and the others still count; a failure of one of `needed` is raised."""
    calls, notes = {}, []
    for name, work in works.items():
        try:
            calls[name] = clock.capture(work)
        except Exception as error:
            if name in needed:
                raise
            notes.append(f"{name} failed: {describe_error(error)}")
    return calls, notes


class Benchmark:
    """A benchmark. Its script is `name`.py; a case has a `label`, which `--only`
    selects, and a `file`, which names it in the packed folder."""

    name = ""
    cases = ()
    # The chips that its cases are measured for, the usual one first, and the one that is.
    chips = (CHIP,)
    chip = CHIP
    # The checkout whose compiler packs it.
    checkout = ROOT
    # Scripts of this folder that it needs beside its own and those that all need.
    files = ()
    # The names of the table's columns but for the last one, which has the verdict.
    columns = ()

    def make_modules(self, case):
        """The modules of a case, by the names of their files."""
        raise NotImplementedError

    def get_options(self, name):
        """Options of blockscale-compile for the module of this name."""
        return ()

    def start(self, machine, options, cases):
        """Prepares the run of `cases`. What to say of it above the table."""
        return ""

    def measure(self, machine, case):
        """A row: what the json file has of a case, with its `label`, and `notes`, which are printed
        below it."""
        raise NotImplementedError

    def verdict(self, row):
        """`met`, nothing if there is no bar, or what is wrong. By default rows have a `share` and
        a `bar`, which is None where there is none."""
        if row["problem"] or row["bar"] is None:
            return row["problem"]
        return "met" if row["share"] >= row["bar"] else "MISSED"

    def make_cells(self, row):
        """The cells of a row, by `columns`."""
        raise NotImplementedError

    def finish(self, folder, title, rows):
        """Writes more than the json file."""

    def add_options(self, pack, run):
        """Adds options to the two commands."""

    def pack_more(self, options):
        """Copies more than files into the packed folder."""


def _select(benchmark, options):
    return [case for case in benchmark.cases if fnmatch.fnmatch(case.label, options.only)]


def _pack(benchmark, options):
    benchmark.chip, benchmark.checkout = options.target, options.checkout.resolve()
    checkout, build = benchmark.checkout, get_build(benchmark.checkout)
    sys.path.insert(0, str(ROOT / "scripts"))
    from log_head import describe_commit

    folder, cases = options.folder, _select(benchmark, options)
    folder.mkdir(parents=True)
    for path in [*(HERE / name for name in (f"{benchmark.name}.py", "product_bench.py", "peers.py",
                                            *benchmark.files)),
                 checkout / "python/blockscale_runtime.py", ROOT / "scripts/log_head.py",
                 build / "lib/libBlockScaleRuntime.so"]:
        shutil.copy(path, folder)
    benchmark.pack_more(options)

    def compile_one(module):
        name, text = module
        source = folder / f"{name}.mlir"
        source.write_text(text)
        subprocess.run([build / "bin/blockscale-compile", source, f"--target={options.target}",
                        "--emit=bundle", *benchmark.get_options(name), "-o",
                        folder / f"{name}.bundle"], check=True)
        source.unlink()

    # Cases may share modules.
    modules = {name: text for case in cases for name, text in benchmark.make_modules(case).items()}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, modules.items()))
    (folder / f"{benchmark.name}_pack.json").write_text(json.dumps(
        {"commit": describe_commit(checkout), "chip": options.target,
         "cases": [case.file for case in cases]}))
    return 0


def _print_row(cells):
    print(f"| {' | '.join(cells)} |", flush=True)


def _run(benchmark, options):
    import torch

    import blockscale_runtime
    from log_head import make_head
    from peers import Clock

    torch.manual_seed(0)
    # A folder that cannot be made is an error now, not after the measurements.
    options.out.mkdir(parents=True, exist_ok=True)
    runtime = blockscale_runtime.Runtime(HERE / "libBlockScaleRuntime.so")
    machine = Machine(torch, Clock(torch), runtime, runtime.device(), HERE)
    about, device = machine.read_about(benchmark.name), machine.device
    benchmark.chip = about["chip"]
    print(make_head(about["commit"], f"{device.name}, driver {device.driver_version}",
                    " ".join(["python3", *sys.argv])))
    cases = [case for case in _select(benchmark, options) if case.file in about["cases"]]
    print(f"kernels of {benchmark.chip}")
    started = benchmark.start(machine, options, cases)
    print("; ".join(filter(None, [started, f"torch {torch.__version__}"])), end="\n\n")
    _print_row([*benchmark.columns, ""])
    _print_row(["---"] * (len(benchmark.columns) + 1))
    rows = []
    for case in cases:
        row = benchmark.measure(machine, case)
        rows.append(row)
        _print_row([*benchmark.make_cells(row), benchmark.verdict(row)])
        for note in row["notes"]:
            _print_row([note, *[""] * len(benchmark.columns)])
    (options.out / f"{benchmark.name}.json").write_text(json.dumps(
        {"commit": about["commit"], "device": device.name, "rows": rows}, indent=1) + "\n")
    benchmark.finish(options.out, device.name, rows)
    is_good = bool(rows) and all(benchmark.verdict(row) in ("", "met") for row in rows)
    return 0 if is_good else 1


def main(benchmark, description):
    """The exit status of a command."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    here = commands.add_parser("pack", help="compile the cases into a folder")
    here.add_argument("folder", type=Path, help="is created, and must not exist")
    here.add_argument("--target", default=benchmark.chips[0], choices=benchmark.chips,
                      metavar="CHIP",
                      help=f"compile for one of {', '.join(benchmark.chips)}")
    here.add_argument("--checkout", type=Path, default=ROOT, metavar="FOLDER",
                      help="another checkout of this project, whose compiler in build/ packs")
    here.set_defaults(work=_pack)
    there = commands.add_parser("run", help="time them on the GPU of this machine")
    there.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    there.set_defaults(work=_run)
    for command in (here, there):
        command.add_argument("--only", default="*", metavar="GLOB", help="these cases")
    benchmark.add_options(here, there)
    options = parser.parse_args()
    return options.work(benchmark, options)
