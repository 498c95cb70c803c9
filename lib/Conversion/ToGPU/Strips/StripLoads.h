//===- StripLoads.h - Fragments from memory ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPLOADS_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPLOADS_H

#include "FragmentElements.h"

namespace blockscale {

/// The rows of a fragment as vectors of 16 bytes, from the arguments that its
/// source takes. Rows and columns that do not exist are loaded from others;
/// where blocks may have such a part, it is zero instead. What is kept of what
/// leads to x is stored.
llvm::SmallVector<llvm::SmallVector<mlir::Value>>
loadFragment(KernelBuilder &b, const StripSource &source,
             const StripShape &shape, const StripPosition &position,
             mlir::ValueRange inputs);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPLOADS_H
