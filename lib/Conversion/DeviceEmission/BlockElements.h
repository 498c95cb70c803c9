//===- BlockElements.h - One block in registers -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_BLOCKELEMENTS_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_BLOCKELEMENTS_H

#include "CvtEmitter.h"

namespace blockscale {

/// The elements of one block as one thread holds them.
class BlockElements {
public:
  /// Loads the first `present` of `count` elements of `type` (bf16, f16 or f32)
  /// in accesses of `loadBytes`, to which `pointer` is aligned and which divide
  /// both. The others are 0.
  static BlockElements load(KernelBuilder &b, mlir::Value pointer,
                            mlir::Type type, int64_t count, int64_t present,
                            int64_t loadBytes);

  /// A block of `words`, vectors of 32-bit words.
  static BlockElements fromWords(llvm::ArrayRef<mlir::Value> words,
                                 mlir::Type type);
  llvm::ArrayRef<mlir::Value> getWords() const { return words; }

  /// max |x| as f32. NaN propagates.
  emit::Lanes computeAmax(KernelBuilder &b, CvtEmitter &cvt) const;

  /// Each element as f32 after `map`, which is applied to whole vectors of f32
  /// and must be elementwise.
  llvm::SmallVector<mlir::Value>
  mapToF32(KernelBuilder &b,
           llvm::function_ref<emit::Lanes(emit::Lanes)> map) const;

private:
  /// The elements as they were loaded: vectors of 32-bit words.
  llvm::SmallVector<mlir::Value> words;
  mlir::Type type;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_BLOCKELEMENTS_H
