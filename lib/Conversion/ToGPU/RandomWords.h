//===- RandomWords.h - Random bits of a row's elements ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_RANDOMWORDS_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_RANDOMWORDS_H

#include "../ToCPU/PhiloxEmitter.h"
#include "KernelBuilder.h"

namespace blockscale {

/// The words of Numerics/Philox.h, for the elements of a chunk of a row.
class RandomWords {
public:
  /// `rng` points to seed and offset. The chunk begins with group `first` (i64)
  /// of row `row` (i64), all leading dimensions counted as rows.
  RandomWords(KernelBuilder &b, mlir::Value rng, mlir::Value row,
              int64_t rowElements, mlir::Value first);

  /// Words of the chunk's elements [begin, begin + count), whole groups, one
  /// for four elements.
  llvm::SmallVector<mlir::Value> draw(int64_t begin, int64_t count);

private:
  KernelBuilder &b;
  mlir::Value firstGroup;
  /// Low and high halves of the operand's numbers.
  llvm::SmallVector<cpu::Lanes, 2> seed, offset;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_RANDOMWORDS_H
