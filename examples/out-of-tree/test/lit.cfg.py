# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lit suite of this project: its programs, FileCheck and not are in PATH."""

import os

import lit.formats

config.name = "Embed"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tools, "test")
config.environment["PATH"] = os.pathsep.join(
    [config.tools, config.llvm_tools, config.environment["PATH"]])
