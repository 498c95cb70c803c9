//===- StripRandom.h - Random bits of a fragment ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generator gives words for four elements of a row of x
// (Numerics/Philox.h). A fragment may have less than the 16 columns that are
// drawn together: threads side by side draw some of its rows each, and exchange
// words.
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

  /// The words of a row. All threads of the warp take part, and rows come in
  /// their order.
  llvm::SmallVector<mlir::Value> drawRow(int64_t row);

  /// The words of the rows of each column of a fragment. They have bytes for
  /// four rows each, where the words of `drawRow` have them for four columns.
  /// All threads of the warp take part.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> drawColumns();

private:
  llvm::SmallVector<mlir::Value> draw(emit::Lanes group);
  /// The words of `count` rows, which threads share: a list for each four
  /// columns of the fragment, with a word for each row.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> drawRows(int64_t first,
                                                             int64_t count);
  /// Threads whose fragments have the columns that are drawn together.
  int64_t countSharing() const;

  KernelBuilder &b;
  const StripSpec &spec;
  const StripPosition &position;
  RandomWords words;
  /// Groups of a row, and the group of the fragment's first row.
  emit::Lanes rowGroups;
  emit::Lanes firstGroup;
  /// The words of the last rows that threads drew for `drawRow`.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> drawn;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPRANDOM_H
