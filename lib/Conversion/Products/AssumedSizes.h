//===- AssumedSizes.h - Sizes that schedules go by --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_ASSUMEDSIZES_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_ASSUMEDSIZES_H

#include "Product.h"

namespace blockscale::products {

/// Dynamic sizes are assumed to be this where schedules are chosen, but for
/// rows of which the most are known.
inline constexpr int64_t kAssumedSize = 8192;
/// Rows of results in a band: those of B that a band of this height shares are
/// read from memory once for 1024 rows of A.
inline constexpr int64_t kBandRows = 1024;

/// The groups of a product: 1 where it has none, or as many as a call says.
int64_t countGroups(const Product &product);

/// The sizes of each of the products of a kernel: M, N of all products that
/// have columns of a tile, K, and the number of matrices or groups. Groups are
/// taken to be alike.
struct AssumedSizes {
  explicit AssumedSizes(const Product &product);
  /// Those of a product of two matrices.
  AssumedSizes(double rows, double cols, double depth)
      : rows(rows), cols(cols), depth(depth) {}

  double rows, cols, depth, matrices = 1;
  /// Whether types say them all.
  bool areKnown = true;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_ASSUMEDSIZES_H
