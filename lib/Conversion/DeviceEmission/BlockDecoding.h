//===- BlockDecoding.h - Values of codes in registers -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_BLOCKDECODING_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_BLOCKDECODING_H

#include "KernelBuilder.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/IR/OpOperands.h"
#include "blockscale/Numerics/Recipe.h"

namespace blockscale {

/// What a `dequantize` without a global operand makes of codes and scales that
/// a thread has just computed (Analysis/RoundTrip.h).
struct BlockDecoding {
  explicit BlockDecoding(DequantizeOp op);

  int64_t getValueBits() const { return type.getIntOrFloatBitWidth(); }
  /// The part of the name of a kernel that says that it decodes.
  std::string getName() const;

  /// The factor of the values of a block with number `block` of those whose
  /// scale bytes are in `pairs` (i16).
  emit::Lanes emitFactor(KernelBuilder &b, llvm::ArrayRef<emit::Lanes> pairs,
                         int64_t block) const;
  /// The values, as i32 words, of the codes in `words`; `getFactor` gives the
  /// factor of a code by its number.
  llvm::SmallVector<mlir::Value>
  emitValues(KernelBuilder &b, mlir::ValueRange words,
             llvm::function_ref<emit::Lanes(int64_t)> getFactor) const;

  /// The values of whole blocks of one row as i32 words: of the codes in
  /// `words`, and the bytes of their scales in `pairs` (i16).
  llvm::SmallVector<mlir::Value> emit(KernelBuilder &b, mlir::ValueRange words,
                                      llvm::ArrayRef<emit::Lanes> pairs) const;

  numerics::Recipe recipe;
  numerics::ElementFormat format;
  numerics::ScaleFormat scaleFormat;
  GlobalKind global;
  int64_t blockElements;
  /// The type of the values.
  mlir::Type type;

private:
  emit::Lanes getGlobalFactor(KernelBuilder &b) const;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_BLOCKDECODING_H
