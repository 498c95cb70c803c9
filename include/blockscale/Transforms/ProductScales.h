//===- ProductScales.h - Scales and biases behind products ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that know no global scales multiply a product by a number. Such a
// product takes the number as a global scale if the result has the same bytes:
//
//  - scale_c1, scale_c2, scale_c4: as in ProductNumber.h.
//  - scale_c3: the number has the type of the result, f32 or, with one rounding
//    before and one after it, that of the product (`global_scaling
//    after_rounding`). A number of another type is rounded otherwise.
//  - scale_c5: a divisor is a constant power of two whose reciprocal f32 holds:
//    the quotient of another one is not the product with its reciprocal.
//  - scale_c6: nothing else uses the product, but for its sizes.
//
// A division of an operand before the product is never a global scale: its
// quotients are rounded, each for itself.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_PRODUCTSCALES_H
#define BLOCKSCALE_TRANSFORMS_PRODUCTSCALES_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Make a number behind a product its global scale, and a bias behind that its
/// bias; give each operand a factor of a global scale that is the product of
/// two. A product that does not meet a clause is kept, with a remark.
void populateFoldProductScalePatterns(mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_PRODUCTSCALES_H
