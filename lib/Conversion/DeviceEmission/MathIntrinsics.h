//===- MathIntrinsics.h - Math that is an instruction -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_MATHINTRINSICS_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_MATHINTRINSICS_H

#include "KernelBuilder.h"

namespace blockscale {

/// The intrinsic of LLVM's that `op` of the math dialect is, whose value is
/// exact or rounded once; empty for other ops. The conversion to NVVM would
/// call CUDA's device library for them.
llvm::StringRef getMathIntrinsic(mlir::Operation *op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_MATHINTRINSICS_H
