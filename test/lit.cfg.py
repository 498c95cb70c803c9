# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit suite: every .mlir file below test/, and .test files for the tools.

Substitutions beside the tools' names:
  %python    the project's interpreter, with numpy and ml_dtypes
  %examples  the examples folder
  %data      test/Data
  %include   the project's headers
  %mlir-include MLIR's
  %libraries libBlockScaleC.so, libBlockScalePlugin.so and
             libBlockScaleRuntime.so are there
  %source    the project, and %build what was built of it
  %cmake-options for projects that use it
  %emulated-cuda a driver whose GPU is the emulator (emulator/lib/CudaRuntime)
  %fake-cuda a driver without a GPU, whose calls can fail (unittests/Runtime/FakeCuda.cpp)
  %llvm-version that of LLVM, as 22.1.8
Features: `ptxas` where one of CUDA 13 or later is found, `no-ptxas` where none
is; `asan`, `tsan` in a build with that sanitizer; the release of LLVM, as
`llvm-22`.
"""

import os
import subprocess
import sys

import lit.formats
from lit.llvm import llvm_config

source = config.blockscale_source_dir

config.name = "BlockScale"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Conformance", "Data", "Inputs", "Python"]
config.test_source_root = os.path.join(source, "test")
config.test_exec_root = os.path.join(config.blockscale_build_dir, "test")

# The second line is what scripts/long/environments.sh changes: no test may depend on it.
for name in ("BLOCKSCALE_PTXAS", "CUDA_ROOT", "CUDA_HOME", "CUDA_PATH", "HOME",
             "BLOCKSCALE_CLOCK_SHIFT", "LANG", "LC_ALL", "TZ", "PYTHONHASHSEED",
             "CCACHE_DIR", "CCACHE_BASEDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# As scripts/run_suites.py has it: one core for each test.
config.environment["OPENBLAS_NUM_THREADS"] = "1"
# As scripts/build.sh has them, so that what it compiled is found.
config.environment.setdefault("CCACHE_BASEDIR", source)
config.environment["CCACHE_NOHASHDIR"] = "1"
config.environment["CCACHE_DEPEND"] = "1"
config.environment["CCACHE_SLOPPINESS"] = (
    "pch_defines,time_macros,include_file_mtime,include_file_ctime")

python = os.path.join(source, ".venv/bin/python")
# Before lit's own: the first of two equal keys counts, and lit has a %python.
config.substitutions += [
    ("%python", python if os.path.exists(python) else sys.executable),
    ("%examples", os.path.join(source, "examples")),
    ("%data", os.path.join(source, "test/Data")),
    ("%source", source),
    ("%build", config.blockscale_build_dir),
    ("%cmake-options", config.cmake_options),
    ("%include", os.path.join(source, "include")),
    ("%mlir-include", config.mlir_include_dir),
    ("%llvm-version", config.llvm_version),
    ("%libraries", os.path.join(config.blockscale_build_dir, "lib")),
    ("%emulated-cuda",
     os.path.join(config.blockscale_build_dir, "lib/blockscale/libcuda.so.1")),
    ("%fake-cuda",
     os.path.join(config.blockscale_build_dir, "lib/fake-cuda/libcuda.so.1")),
]
llvm_config.use_default_substitutions()
llvm_config.with_environment(
    "PATH", [config.blockscale_tools_dir, config.llvm_tools_dir], append_path=True)
llvm_config.add_tool_substitutions(
    ["blockscale-opt", "blockscale-roofline",
     "blockscale-compile", "blockscale-run", "blockscale-reduce", "blockscale-report",
     "blockscale-read-bytecode",
     "blockscale-emulate", "blockscale-launch", "blockscale-lsp-server", "mlir-opt",
     "split-file"],
    [config.blockscale_tools_dir, config.llvm_tools_dir])

ptxas = subprocess.run([os.path.join(source, "scripts/find-ptxas.sh")],
                       stdout=subprocess.DEVNULL)
config.available_features.add("ptxas" if ptxas.returncode == 0 else "no-ptxas")
config.available_features.add(f"llvm-{config.llvm_version.split('.')[0]}")
for sanitizer, feature in (("Address", "asan"), ("Thread", "tsan")):
    if sanitizer in config.blockscale_sanitizer:
        config.available_features.add(feature)
