//===- QuantizerPatterns.h - Parts of RaiseQuantizers.h ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_RAISING_QUANTIZERPATTERNS_H
#define BLOCKSCALE_LIB_TRANSFORMS_RAISING_QUANTIZERPATTERNS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Whether `type` is one of data, but for the fixed-point i8.
inline bool isFloatData(mlir::Type type) {
  return llvm::isa<mlir::Float4E2M1FNType, mlir::Float6E2M3FNType,
                   mlir::Float6E3M2FNType, mlir::Float8E4M3FNType,
                   mlir::Float8E5M2Type>(type);
}

/// Casts of scaled elements, as `quantize`.
void populateRaiseCastPatterns(mlir::RewritePatternSet &patterns);

/// Products of elements and scales, as `dequantize`.
void populateRaiseDecoderPatterns(mlir::RewritePatternSet &patterns);

/// Contractions with scales in their body, as products of `dequantize`.
void populateRaiseContractionPatterns(mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_RAISING_QUANTIZERPATTERNS_H
