//===- StripData.h - Codes of a fragment and their places -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPDATA_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPDATA_H

#include "FragmentElements.h"
#include "StripRandom.h"

namespace blockscale {

/// A function that is called with the number of a part.
using PartVisitor = llvm::function_ref<void(int64_t)>;

/// Stores the codes of a fragment at `data`, in rows of x or, transposed, in
/// rows of x's columns. `scale(row, part)` gives the scaled elements of a part
/// of a row of the fragment in order, which are rounded at random where there
/// is `random`. `afterPart` is called when that part of all rows is scaled,
/// where `encodesRowsAhead`.
void emitStripData(
    KernelBuilder &b, const StripSpec &spec, const StripPosition &position,
    CvtEmitter &cvt, mlir::Value data, StripRandom *random,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t, int64_t)> scale,
    PartVisitor afterPart);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPDATA_H
