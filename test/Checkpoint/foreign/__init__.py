# Part of the BlockScale project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints as other packages write them, the numbers that they stand for, and what each command
does with them. Nothing here uses BlockScale but `matrix`, which runs its commands."""
