# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs and shows bundles for tests.

  bundle.py portable OUT           the kernels of test/Data/cuda/portable.ptx
  bundle.py errors OUT             those of errors.ptx
  bundle.py replace IN FROM TO OUT  with other text in plans and PTX
  bundle.py show IN                what it holds
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))

import blockscale_bundle


def pack(name):
    cuda = ROOT / "test/Data/cuda"
    return blockscale_bundle.write(
        [((cuda / f"{name}.json").read_text(), (cuda / f"{name}.ptx").read_text())],
        [b"hello"] if name == "portable" else [])


def replaced(data, old, new):
    targets, constants = blockscale_bundle.read(data)
    return blockscale_bundle.write(
        [(plan.replace(old, new), ptx.replace(old, new)) for plan, ptx in targets],
        constants)


def show(data):
    targets, constants = blockscale_bundle.read(data)
    for plan, ptx in targets:
        plan = json.loads(plan)
        print(f"target {plan['chip']}: {len(plan['kernels'])} kernels, "
              f"{ptx.count('.visible .entry')} entries")
        for function in plan["functions"]:
            blobs = [constant["blob"] for constant in function["constants"]]
            print(f"  @{function['name']}: constants {blobs}")
    for constant in constants:
        print(f"constant of {len(constant)} bytes: {constant[:16].hex(' ')}")


def main():
    command, *arguments = sys.argv[1:]
    if command in ("portable", "errors"):
        Path(arguments[0]).write_bytes(pack(command))
    elif command == "replace":
        Path(arguments[3]).write_bytes(
            replaced(Path(arguments[0]).read_bytes(), arguments[1], arguments[2]))
    else:
        show(Path(arguments[0]).read_bytes())


main()
