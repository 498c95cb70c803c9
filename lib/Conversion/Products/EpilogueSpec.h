//===- EpilogueSpec.h - What a kernel makes of its products -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_EPILOGUESPEC_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_EPILOGUESPEC_H

#include "Sink.h"

namespace blockscale::products {

/// The elementwise ops that follow products in their kernel, and its sink.
struct EpilogueSpec {
  /// `hasFragments` says that threads have fragments of a row of sums. Others
  /// choose what they have.
  EpilogueSpec(const Epilogue &epilogue, const target::Chip &chip,
               bool hasFragments);

  /// Inputs of the elementwise ops that are no products.
  llvm::SmallVector<ElementSource::Input> getOtherInputs() const;
  std::string getName() const;

  const target::Chip *chip;
  ElementSource source;
  /// Columns that a thread computes at a time: those of a fragment, or, where
  /// it stores values as they are, so many that it stores 16 bytes, and threads
  /// beside each other whole lines.
  int64_t width;
  /// Whether the columns of a row are known to be a multiple of these.
  bool isWhole;
  static constexpr int64_t kNone = -1;
  /// For each input of `source` the number of the product that it is; `kNone`
  /// for inputs that are no products.
  llvm::SmallVector<int64_t> productOf;
  std::unique_ptr<const Sink> sink;
  /// A product whose results are stored, too, and what stores them.
  struct Kept {
    int64_t product;
    std::unique_ptr<const Sink> store;
  };
  llvm::SmallVector<Kept, 2> kept;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_EPILOGUESPEC_H
