//===- StripData.h - Codes of a fragment and their places -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPDATA_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPDATA_H

#include "StripRandom.h"
#include "StripScales.h"

namespace blockscale {

/// A function that is called with the number of a part.
using PartVisitor = llvm::function_ref<void(int64_t)>;

/// Where a fragment's codes, and the values that they stand for, are stored;
/// null where they are not.
struct StripBuffers {
  mlir::Value data, decoded;
  /// The shared memory of the warp for values that its threads store together,
  /// where `sharesColumns`.
  mlir::Value stage;
};

/// Stores the codes of a fragment, and what they are decoded to, in rows of x
/// or, transposed, in rows of x's columns. `scales` gives scaled elements,
/// which are rounded at random where there is `random`, and factors of
/// decoding. `afterPart` is called when that part of all rows is scaled, where
/// `encodesRowsAhead`.
void emitStripData(KernelBuilder &b, const StripSpec &spec,
                   const StripPosition &position, CvtEmitter &cvt,
                   const StripBuffers &buffers, StripScales &scales,
                   StripRandom *random, PartVisitor afterPart);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPDATA_H
