# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit suite of the emulator alone: it needs blockscale-emulate and no compiler.
What runs kernels of the compiler in the emulator is in the project's test/Emulator.

Substitutions beside the tools' names:
  %python    the project's interpreter, with numpy and ml_dtypes
  %npy       makes, prints and compares .npy files (test/Tools/Inputs/npy.py)
  %data      test/Data of the project
  %libraries what was built, blockscale/libcudart.so.13 among it
Features: `asan`, `tsan` in a build with that sanitizer.
"""

import os
import sys

import lit.formats
from lit.llvm import llvm_config

source = config.blockscale_source_dir

config.name = "BlockScaleEmulator"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.emulator_build_dir

# What scripts/long/environments.sh changes: no test may depend on it.
for name in ("HOME", "BLOCKSCALE_CLOCK_SHIFT", "LANG", "LC_ALL", "TZ", "PYTHONHASHSEED"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

python = os.path.join(source, ".venv/bin/python")
python = python if os.path.exists(python) else sys.executable
# Before lit's own: the first of two equal keys counts, and lit has a %python.
config.substitutions += [
    ("%python", python),
    ("%npy", f"{python} {os.path.join(source, 'test/Tools/Inputs/npy.py')}"),
    ("%data", os.path.join(source, "test/Data")),
    ("%libraries", config.blockscale_libraries_dir),
]
llvm_config.use_default_substitutions()
llvm_config.with_environment(
    "PATH", [config.blockscale_tools_dir, config.llvm_tools_dir], append_path=True)
llvm_config.add_tool_substitutions(["blockscale-emulate", "split-file"],
                                   [config.blockscale_tools_dir, config.llvm_tools_dir])

for sanitizer, feature in (("Address", "asan"), ("Thread", "tsan")):
    if sanitizer in config.blockscale_sanitizer:
        config.available_features.add(feature)
