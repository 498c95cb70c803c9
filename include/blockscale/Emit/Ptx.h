//===- Ptx.h - PTX of a lowered module --------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMIT_PTX_H
#define BLOCKSCALE_EMIT_PTX_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace blockscale {

/// Registers the interfaces that the pipeline below converts and translates
/// through, for embedders that do not register all of MLIR's.
void registerPtxTranslations(mlir::DialectRegistry &registry);

/// Adds passes on a builtin module that lower its gpu.modules to the LLVM
/// dialect and replace each by a gpu.binary of PTX for its target. Host code
/// stays as it is.
void buildPtxPipeline(mlir::OpPassManager &pm);

/// Runs that pipeline on a module with one gpu.module, as
/// `blockscale-lower-kernels-to-gpu` leaves it, and returns the PTX. Errors are
/// diagnostics.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp module);

} // namespace blockscale

#endif // BLOCKSCALE_EMIT_PTX_H
