//===- ProductNumber.h - Numbers behind products ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A number that a product is multiplied by is its global scale where the
// roundings are the same: those of the clauses below, and where the number has
// the type of the product. An f32 product multiplies its sum, which needs no
// rounding before; a narrower one is rounded, multiplied and rounded again
// (`global_scaling after_rounding`).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_PRODUCTNUMBER_H
#define BLOCKSCALE_IR_PRODUCTNUMBER_H

#include "blockscale/IR/BlockScaleDialect.h"

namespace blockscale {

/// A clause that a product, or a number behind it, does not meet.
struct NumberObstacle {
  /// Its name, for example `scale_c1`.
  llvm::StringRef clause;
  std::string expected;
  std::string found;
};

/// Whether a constant may be a global scale: it is positive and finite.
bool isGlobalScale(const llvm::APFloat &value);

/// Why `product` takes no number behind it as its global scale:
///
///  - scale_c1: the product is one of NVFP4. MX has no global scales.
///  - scale_c2: the product has neither global scales nor a bias: each is
///    another rounding before that of the number.
std::optional<NumberObstacle>
findProductNumberObstacle(ProductOpInterface product);

/// Why a number of `type` is no global scale of `product`; `constant` is null
/// where it is known at run time only:
///
///  - scale_c4: a constant is positive and finite, as global scales are. Beside
///    groups it is a constant: rows of no group stay 0.
std::optional<NumberObstacle>
findNumberObstacle(ProductOpInterface product,
                   const std::optional<llvm::APFloat> &constant,
                   mlir::Type type);

} // namespace blockscale

#endif // BLOCKSCALE_IR_PRODUCTNUMBER_H
