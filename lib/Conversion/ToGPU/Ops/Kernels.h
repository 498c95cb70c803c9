//===- Kernels.h - One lowering for each op ---------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `lowerKernel` of an op launches the kernels that compute it. What it does not
// compute is an error at the op.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_OPS_KERNELS_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_OPS_KERNELS_H

#include "DeviceEmission/LaunchSite.h"

namespace blockscale {

llvm::LogicalResult lowerKernel(AmaxOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(AmaxPartsOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(DequantizeOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(ExpandScaleOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(GlobalScaleOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(HadamardOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(PadGroupsOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(PrepackOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(ScaleSweepOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(SwizzleOp op, LaunchSite &site);

/// A swizzle with a grouped layout on one side.
void launchGroupedSwizzle(SwizzleOp op, LaunchSite &site);
/// A kernel of elementwise ops.
llvm::LogicalResult lowerElementwise(KernelOp kernel, LaunchSite &site);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_OPS_KERNELS_H
