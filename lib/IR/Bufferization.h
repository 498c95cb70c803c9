//===- Bufferization.h - What models of bufferization share -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_BUFFERIZATION_H
#define BLOCKSCALE_LIB_IR_BUFFERIZATION_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"

namespace blockscale {

/// Memory without gaps for the elements of `buffer`, which are not copied.
mlir::FailureOr<mlir::Value>
allocateLike(mlir::RewriterBase &rewriter, mlir::Value buffer,
             const mlir::bufferization::BufferizationOptions &options);

/// Attaches the model of `blockscale.amax_over_ranks`.
void attachAmaxOverRanksModel(mlir::MLIRContext &context);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_BUFFERIZATION_H
