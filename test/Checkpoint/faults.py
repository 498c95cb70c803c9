# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All faults that are planted into checkpoints without faults (fault_files.py)."""

import faults_config
import faults_shapes
import faults_tensors
import faults_untold
import faults_values
from fault_files import FAULTS, UNTOLD, Files

__all__ = ["FAULTS", "UNTOLD", "Files", "faults_config", "faults_shapes", "faults_tensors",
           "faults_untold", "faults_values"]
