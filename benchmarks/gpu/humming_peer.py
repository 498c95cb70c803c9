# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of bf16 activations and block-scaled weights by Humming, a peer of weight_only.py.

Humming (PyPI: humming-kernels) is what vLLM multiplies such weights by. It compiles its kernels on
the machine that runs them, so it may be missing, fail, or take long. Therefore a process of its own
tries it first, within a time: it compiles the kernels, which stay on disk, and runs them. What was
tried well is then called in the process that measures.

  humming_peer.py FORMAT ROWS...     # the trial, of weights of 8192x8192; prints the version
"""

import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from product_bench import describe_error

HERE = Path(__file__).resolve().parent
NAME = "Humming"
PACKAGE = "humming-kernels"
WHEELS = "wheels"
# Seconds that all trials may take together.
LIMIT = 180
# How Humming describes weights of a format.
SCHEMES = {"NVFP4": {"quant_method": "modelopt", "quant_algo": "nvfp4"},
           "MXFP4": {"quant_method": "mxfp4"},
           "MXFP8": {"quant_method": "modelopt", "quant_algo": "mxfp8"}}


def pack(wheels, folder):
    """Copies wheels to where `Humming` looks for them."""
    (folder / WHEELS).mkdir()
    for wheel in wheels:
        shutil.copy(wheel, folder / WHEELS)


def unpack(wheels, folder):
    """Unpacks wheels with the modes of their files, some of which are programs."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                path = archive.extract(entry, folder)
                if mode := entry.external_attr >> 16 & 0o777:
                    os.chmod(path, mode)


def last_line(text):
    return (text.strip().splitlines() or ["no output"])[-1][:160]


def run_within(command, seconds):
    """The exit status, output and errors of a process, which is ended after a time with all that
    it started."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        output, errors = process.communicate(timeout=max(seconds, 0))
        return process.returncode, output, errors
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise


class Humming:
    """The peer, for the formats of which a trial went well. `problems` has the reasons for others,
    by format."""

    def __init__(self, cases):
        """Tries the formats of `cases`."""
        self.kept = tempfile.TemporaryDirectory()
        folder = Path(self.kept.name)
        # The trials' processes find the packages and the kernels where this one does.
        os.environ.setdefault("HUMMING_CACHE_DIR", str(folder / "kernels"))
        sys.path.append(str(folder / "packages"))
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, [os.environ.get("PYTHONPATH"), str(folder / "packages")]))
        self.rows, self.problems, self.version = {}, {}, ""
        for case in cases:
            self.rows.setdefault(case.name, []).append(case.rows)
        try:
            unpack(sorted((HERE / WHEELS).glob("*.whl")), folder / "packages")
        except Exception as error:
            self.problems = dict.fromkeys(self.rows, describe_error(error))
            return
        end = time.monotonic() + LIMIT
        for name in self.rows:
            self.try_format(name, end - time.monotonic())

    def try_format(self, name, seconds):
        command = [sys.executable, HERE / "humming_peer.py", name, *map(str, self.rows[name])]
        try:
            status, output, errors = run_within(command, seconds)
            if status:
                self.problems[name] = last_line(errors)
            else:
                self.version = last_line(output)
        except subprocess.TimeoutExpired:
            self.problems[name] = f"not tried to the end within {LIMIT} s"
        except Exception as error:
            self.problems[name] = describe_error(error)

    def __str__(self):
        reasons = [f"no {NAME} of {name}: {why}" for name, why in self.problems.items()]
        return "; ".join([f"{NAME} {self.version}"] * bool(self.version) + reasons)

    def has(self, case):
        return case.rows in self.rows.get(case.name, ()) and case.name not in self.problems

    def make_work(self, torch, case, codes, scales, x):
        """A call, and the tensor that it writes."""
        return make_work(torch, case, codes, scales, x, self.rows[case.name])


def make_work(torch, case, codes, scales, x, rows):
    """A call of Humming's layer, prepared as for inference, and the tensor that it writes. Kernels
    are compiled for all of `rows` at once."""
    from humming.layer import HummingLayer
    from humming.tune import get_heuristics_config

    layer = HummingLayer(shape_n=case.cols, shape_k=case.depth, torch_dtype=torch.bfloat16,
                         weight_config=dict(SCHEMES[case.name])).cuda()
    tensors = {"weight": codes, "weight_scale": scales}
    if case.format.bytes_of_two == 2:
        tensors["weight"] = codes.view(torch.float8_e4m3fn)
    if case.format.block == 16:
        tensors["weight_scale"] = scales.view(torch.float8_e4m3fn)
        tensors["weight_scale_2"] = torch.ones(1, device="cuda")
    layer.load_from_tensors(tensors)
    layer.transform()
    configs = pick_configs(get_heuristics_config(layer.humming_config), rows)
    y = torch.full((case.rows, case.cols), float("nan"), dtype=torch.bfloat16, device="cuda")
    return lambda: layer(x, outputs=y, tuning_config=configs), y


def pick_configs(configs, rows):
    """Of Humming's choices for intervals of rows, (first, last, choice) without the first, those
    that `rows` need. One row is always asked for, because a launch looks for it."""
    return [config for config in configs
            if any(config[0] < m <= config[1] for m in {1, *rows})]


def main(name, *rows):
    import torch

    import weight_only
    rows = [int(each) for each in rows]
    for m in rows:
        case = weight_only.Case(name, m, *weight_only.WEIGHTS[0])
        codes, scales, _ = weight_only.make_weights(torch, case)
        x = torch.randn((m, case.depth), device="cuda").to(torch.bfloat16)
        make_work(torch, case, codes, scales, x, rows)[0]()
        torch.cuda.synchronize()
    print(importlib.metadata.version(PACKAGE))


if __name__ == "__main__":
    main(*sys.argv[1:])
