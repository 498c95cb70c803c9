//===- KernelBody.h - What kernels can have inside --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELBODY_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELBODY_H

#include "ToGPU/Strips/StripKernel.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"

namespace blockscale {

/// Emits an error where ops that need code read a value that is neither an
/// input of the kernel nor computed by it.
llvm::LogicalResult verifyOperands(const KernelBody &body);

/// Verifies operands as `verifyOperands` does, and emits an error also where
/// elementwise ops do not make the x of the other ops, or the result, from what
/// memory holds.
llvm::LogicalResult verifyProducers(KernelOp kernel, const KernelBody &body);

/// The sets of members of a strip kernel, or an error where its ops cannot
/// share one (FusionLegality.h).
llvm::FailureOr<llvm::SmallVector<StripMembers>>
findStripMembers(KernelOp kernel);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELBODY_H
