//===- BelongingRules.h - Operands of one quantization ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_BELONGINGRULES_H
#define BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_BELONGINGRULES_H

#include "mlir/IR/Builders.h"

namespace blockscale {

/// Checks that the scales and the global scale that a product or `dequantize`
/// reads are those that its data were quantized with, emitting an error. What
/// `quantize` ops of the function made is known; anything else passes, and so
/// does an op with `unchecked_origins`.
llvm::LogicalResult verifyBelonging(mlir::Operation *op);

/// The `unchecked_origins` of a `dequantize` that is raised from arithmetic,
/// which means what it says of any operands: absent where these are unknown.
mlir::UnitAttr getRaisedOrigins(mlir::Builder &builder, mlir::Value data);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_BELONGINGRULES_H
