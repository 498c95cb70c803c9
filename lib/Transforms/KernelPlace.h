//===- KernelPlace.h - Where a kernel of several ops stands -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_KERNELPLACE_H
#define BLOCKSCALE_LIB_TRANSFORMS_KERNELPLACE_H

#include "mlir/IR/Operation.h"

namespace blockscale {

/// The one of `ops`, in the order of their block, where all can be computed,
/// after slices, constants and scalars that they need have moved before it;
/// null if there is none.
mlir::Operation *findPlace(llvm::ArrayRef<mlir::Operation *> ops);

/// The same, after bringing `ops` into that order.
mlir::Operation *findPlaceOf(llvm::SmallVectorImpl<mlir::Operation *> &ops);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_KERNELPLACE_H
