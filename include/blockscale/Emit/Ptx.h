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
} // namespace mlir

namespace blockscale {

/// Registers the interfaces that `emitPtx` converts and translates through, for
/// embedders that do not register all of MLIR's.
void registerPtxTranslations(mlir::DialectRegistry &registry);

/// Lowers the one gpu.module of a module, as `blockscale-lower-kernels-to-gpu`
/// leaves it, replaces it by a gpu.binary of PTX for its target, and returns
/// the PTX. Host code stays as it is. Errors are diagnostics; calls of CUDA's
/// device library are one.
mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp module);

} // namespace blockscale

#endif // BLOCKSCALE_EMIT_PTX_H
