//===- Passes.h - Passes and pipelines, from C --------------------*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_C_PASSES_H
#define BLOCKSCALE_C_PASSES_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Makes the project's passes (`blockscale-form-kernels`, ...) and pipelines
/// (`blockscale-to-cpu`, `blockscale-to-gpu`, `blockscale-to-sm100`) known by
/// name, to mlirOpPassManagerAddPipeline and mlirParsePassPipeline. Any thread
/// may call it any number of times.
MLIR_CAPI_EXPORTED void mlirRegisterBlockScalePasses(void);

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_PASSES_H
