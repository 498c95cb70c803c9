//===- RowKernel.h - Kernels of row programs --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWKERNEL_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWKERNEL_H

#include "DeviceEmission/LaunchSite.h"

namespace blockscale {

/// Launches the kernel of a row program. The body of `kernel` has linalg ops
/// (RowProgram.h), at most one quantization of what they compute, and empty
/// tensors, constants and sizes for them.
llvm::LogicalResult lowerRowProgram(KernelOp kernel, LaunchSite &site);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWPROGRAMS_ROWKERNEL_H
