//===- Kernels.h - Products by plain mma.sync -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOMMA_KERNELS_H
#define BLOCKSCALE_LIB_CONVERSION_TOMMA_KERNELS_H

#include "DeviceEmission/LaunchSite.h"

namespace blockscale::gemm {

/// Launches a kernel that computes `ops`, a product of an operand with scales
/// and a plain one and what may follow it ("blockscale/Analysis/Epilogue.h"),
/// on a chip with `hasPlainMma`. What it has no kernel for is an error at the
/// op, with the clause of docs/Products.md.
llvm::LogicalResult lowerMmaProducts(llvm::ArrayRef<mlir::Operation *> ops,
                                     LaunchSite &site);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOMMA_KERNELS_H
