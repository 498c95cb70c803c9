//===- StripKernel.h - Kernels whose threads have fragments -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPKERNEL_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPKERNEL_H

#include "DeviceEmission/LaunchSite.h"
#include "blockscale/Analysis/Fusion/PaddingLegality.h"

namespace blockscale {

/// The results that a kernel makes of one x: quantizations of x or of its
/// transforms, and amaxes of one value for all or for each matrix; or parts of
/// amaxes alone.
struct StripMember {
  /// The x of the results, or a transform of it.
  mlir::Value getX() const;
  /// What pads the groups of x; null where nothing does.
  PadGroupsOp getPadding() const { return blockscale::getPadding(getX()); }

  llvm::SmallVector<QuantizeOp> quantizes;
  llvm::SmallVector<AmaxOp> amaxes;
  llvm::SmallVector<AmaxPartsOp> parts;
};

/// Members that have the same code, as they differ in their numbers of rows
/// alone.
using StripMembers = llvm::SmallVector<StripMember, 1>;

/// Launches a strip kernel: one whose blocks have several rows, or that
/// makes several results of one x. If there are several sets of members, each
/// has CTAs and code of its own.
llvm::LogicalResult lowerStripKernel(llvm::ArrayRef<StripMembers> sets,
                                     LaunchSite &site);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPKERNEL_H
