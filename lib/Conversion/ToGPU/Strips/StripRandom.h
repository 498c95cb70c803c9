//===- StripRandom.h - Random bits of a fragment ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generator gives words for four elements of a row of x
// (Numerics/Philox.h). A fragment whose codes go down its columns has less than
// the 16 columns that are drawn together: threads side by side draw some of its
// rows each, and exchange words.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPRANDOM_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPRANDOM_H

#include "DeviceEmission/RandomWords.h"
#include "FragmentElements.h"

namespace blockscale {

class StripRandom {
public:
  StripRandom(KernelBuilder &b, const StripSpec &spec,
              const StripPosition &position, mlir::Value rng);

  /// The words of a row of a fragment of 16 columns.
  llvm::SmallVector<mlir::Value> drawRow(int64_t row);

  /// The words of the rows of each column of a fragment. They have bytes for
  /// four rows each, where the words of `drawRow` have them for four columns.
  /// All threads of the warp take part.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> drawColumns();

private:
  llvm::SmallVector<mlir::Value> draw(emit::Lanes group);

  KernelBuilder &b;
  const StripSpec &spec;
  const StripPosition &position;
  RandomWords words;
  /// Groups of a row, and the group of the fragment's first row.
  emit::Lanes rowGroups;
  emit::Lanes firstGroup;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPRANDOM_H
