//===- XlaFfi.h - Compiled functions as XLA calls them ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_PYTHON_NATIVE_XLAFFI_H
#define BLOCKSCALE_PYTHON_NATIVE_XLAFFI_H

#include "blockscale-c/Run.h"

#include <cstdint>

/// Makes an executable callable by XLA; returns the number of it, which the
/// attribute `call` of a custom call has. The executable and the arrays that
/// are its last arguments in each call must live from then on.
int64_t addXlaCall(blockscale_executable *executable,
                   const blockscale_array *constants, size_t count);

/// The handler of XLA's typed FFI for all of these.
void *getXlaHandler();

#endif // BLOCKSCALE_PYTHON_NATIVE_XLAFFI_H
