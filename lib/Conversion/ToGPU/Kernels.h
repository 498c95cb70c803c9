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

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELS_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELS_H

#include "LaunchSite.h"

namespace blockscale {

llvm::LogicalResult lowerKernel(AmaxOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(DequantizeOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(ExpandScaleOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(GlobalScaleOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(HadamardOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(ScaleSweepOp op, LaunchSite &site);
llvm::LogicalResult lowerKernel(SwizzleOp op, LaunchSite &site);

/// A swizzle with a grouped layout on one side.
void launchGroupedSwizzle(SwizzleOp op, LaunchSite &site);
/// A kernel of elementwise ops.
llvm::LogicalResult lowerElementwise(KernelOp kernel, LaunchSite &site);

/// What a kernel makes of one x: quantizations of x or of its transforms, and
/// amaxes of one value for all or for each matrix.
struct PatchMember {
  /// Or a transform of it.
  mlir::Value getX() const;

  llvm::SmallVector<QuantizeOp> quantizes;
  llvm::SmallVector<AmaxOp> amaxes;
};

/// Of blocks of several rows, or of several results of one x. Several members
/// are the same but for their numbers of rows.
llvm::LogicalResult lowerPatchKernel(llvm::ArrayRef<PatchMember> members,
                                     LaunchSite &site);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELS_H
