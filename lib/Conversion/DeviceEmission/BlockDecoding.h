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

/// What a `dequantize` makes of codes and scales that a thread has just
/// computed (Analysis/RoundTrip.h). Its global value, f32, is null where it has
/// none.
struct BlockDecoding {
  explicit BlockDecoding(DequantizeOp op);

  int64_t getValueBits() const { return type.getIntOrFloatBitWidth(); }
  /// The part of the name of a kernel that says that it decodes.
  std::string getName() const;

  /// The factor of the values of a block with number `block` of those whose
  /// scale bytes are in `pairs` (i16).
  emit::Lanes emitFactor(KernelBuilder &b, llvm::ArrayRef<emit::Lanes> pairs,
                         int64_t block, mlir::Value globalValue = {}) const;
  /// The values, as i32 words, of the codes in `words`; `getFactor` gives the
  /// factor of a code by its number.
  llvm::SmallVector<mlir::Value>
  emitValues(KernelBuilder &b, mlir::ValueRange words,
             llvm::function_ref<emit::Lanes(int64_t)> getFactor,
             mlir::Value globalValue = {}) const;

  /// The values of whole blocks of one row as i32 words: of the codes in
  /// `words`, and the bytes of their scales in `pairs` (i16).
  llvm::SmallVector<mlir::Value> emit(KernelBuilder &b, mlir::ValueRange words,
                                      llvm::ArrayRef<emit::Lanes> pairs) const;

  /// Whether values follow from scaled elements without their codes.
  bool roundsElements() const { return !numerics::isFixedPoint(format); }
  /// The values, as i32 words, of scaled elements (f32); `getFactor` gives the
  /// factor of an element by its number. They are those of the codes: of those
  /// nearest, or under random words where there are any.
  llvm::SmallVector<mlir::Value>
  emitRounded(KernelBuilder &b, mlir::ValueRange scaled,
              llvm::function_ref<emit::Lanes(int64_t)> getFactor,
              mlir::Value globalValue, mlir::ValueRange randomWords) const;

  /// Whether values of two elements of `x` side by side, quantized without a
  /// global scale, are computed at once, in bf16: no value has more bits, and
  /// all have the signs of their elements.
  bool roundsPairs(mlir::Type x) const;
  /// Whether such pairs are scaled in bf16, too: factors are powers of two, so
  /// that nothing but the rounding to the format changes a number, if it does
  /// not leave the range of bf16.
  bool scalesPairs() const {
    return scaleFormat == numerics::ScaleFormat::E8M0;
  }
  /// The value of a pair of elements, an i32, whose factors are vectors of two
  /// bf16: that of the quantizer, and that of the values.
  emit::Lanes emitRoundedPair(KernelBuilder &b, emit::Lanes word,
                              emit::Lanes scale, emit::Lanes decode) const;
  /// The same of two elements that were scaled to f32.
  emit::Lanes emitRoundedPair(KernelBuilder &b, emit::Lanes word,
                              mlir::ValueRange scaled,
                              emit::Lanes decode) const;

  numerics::Recipe recipe;
  numerics::ElementFormat format;
  numerics::ScaleFormat scaleFormat;
  GlobalKind global;
  int64_t blockElements;
  /// The type of the values.
  mlir::Type type;

private:
  emit::Lanes emitMagnitude(KernelBuilder &b, emit::Lanes scaled) const;
  emit::Lanes emitPair(KernelBuilder &b, emit::Lanes word, emit::Lanes rounded,
                       emit::Lanes decode) const;
  emit::Lanes getGlobalFactor(KernelBuilder &b, mlir::Value globalValue) const;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_BLOCKDECODING_H
