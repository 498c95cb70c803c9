# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the PTX that mlir-opt with the plugin and upstream's passes makes of a module with
that of blockscale-compile.

Usage: compare_ptx.py MODULE PLUGIN CHIP...
"""

import re
import subprocess
import sys

KERNELS = "convert-scf-to-cf,convert-gpu-to-nvvm,convert-nvvm-to-llvm,reconcile-unrealized-casts"
MAP = re.compile(r"\.param \.align 64 \.b8 \w+\[128\]")

module, plugin, *chips = sys.argv[1:]
for chip in chips:
    wanted = subprocess.run(["blockscale-compile", module, f"--target={chip}", "--emit=ptx", "-o",
                             "-"],
                            check=True, capture_output=True).stdout
    passes = (f"builtin.module(blockscale-to-gpu{{chip={chip}}},gpu.module({KERNELS}),"
              "blockscale-pass-tensor-maps,gpu-module-to-binary{format=isa})")
    text = subprocess.run(["mlir-opt", f"--load-dialect-plugin={plugin}",
                           f"--load-pass-plugin={plugin}",
                           module, f"--pass-pipeline={passes}"],
                          check=True, capture_output=True, text=True).stdout
    [quoted] = re.findall(r'assembly = "((?:[^"\\]|\\.)*)"', text)
    # MLIR escapes bytes by two digits.
    found = re.sub(rb"\\([0-9A-F]{2}|.)",
                   lambda m: bytes([int(m[1], 16)]) if len(m[1]) == 2 else m[1],
                   quoted.encode()).rstrip(b"\0")
    maps = "tensor maps" if MAP.search(wanted.decode()) else "no tensor map"
    equal = found.strip() == wanted.strip()
    print(f"{chip}: {f'the same {len(wanted.strip())} bytes' if equal else 'other bytes'}, {maps}")
