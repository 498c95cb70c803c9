//===- Xla.h - Functions that XLA calls, from C -------------------*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A custom call of XLA's typed FFI (version 0 of its C interface) to functions
// that this process compiled. XLA calls the handler with the addresses of
// arrays; blockscale.jax of the Python package registers it with JAX.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_C_XLA_H
#define BLOCKSCALE_C_XLA_H

#include "blockscale-c/Run.h"

#ifdef __cplusplus
extern "C" {
#endif

// C names.
// NOLINTBEGIN(readability-identifier-naming)

/// The handler of all functions, an XLA_FFI_Handler to be registered once for
/// XLA's platform "cpu", for the stage of execution. A custom call says by the
/// attribute `call`, an i64, which function it calls. Its operands are the
/// function's first arguments, and its results the function's, stored as Run.h
/// says; scales that are NaN are taken. What is wrong with a call is an error
/// of XLA's, of code 3 (invalid argument).
void *blockscale_xla_handler(void);

/// Makes an executable of the CPU or the emulator callable by the handler, and
/// writes its number. `constants` are its last arguments in each call. Their
/// data and the executable must live as long as the process runs; shapes are
/// copied.
blockscale_status blockscale_xla_add_call(blockscale_executable *executable,
                                          const blockscale_array *constants,
                                          size_t count, int64_t *number);

// NOLINTEND(readability-identifier-naming)

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_XLA_H
