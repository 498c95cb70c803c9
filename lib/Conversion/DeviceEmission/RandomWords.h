//===- RandomWords.h - Random bits of groups of elements --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_RANDOMWORDS_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_RANDOMWORDS_H

#include "Emission/Lanes.h"
#include "KernelBuilder.h"

namespace blockscale {

/// Draws the random words of Numerics/Philox.h.
class RandomWords {
public:
  /// `rng` points to seed and offset.
  RandomWords(KernelBuilder &b, mlir::Value rng);

  /// The group of x's first element in a larger tensor, and the groups of a row
  /// of that one, from behind seed and offset.
  static std::pair<emit::Lanes, emit::Lanes> loadPlace(KernelBuilder &b,
                                                       mlir::Value rng);

  /// The words of group `group` (i64), one for four elements.
  llvm::SmallVector<mlir::Value> draw(emit::Lanes group);

private:
  /// Low and high halves of the operand's numbers.
  llvm::SmallVector<emit::Lanes, 2> seed, offset;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_RANDOMWORDS_H
