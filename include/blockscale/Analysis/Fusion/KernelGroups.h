//===- KernelGroups.h - Groups of quantizations -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Quantizations of several tensors with one name in `blockscale.group` are the
// members of a group, numbered in their order. One kernel computes them, so
// they must agree in everything but shapes, values and whether there is a
// global one.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_FUSION_KERNELGROUPS_H
#define BLOCKSCALE_ANALYSIS_FUSION_KERNELGROUPS_H

#include "blockscale/IR/BlockScaleDialect.h"

namespace blockscale {

/// The name of the group; null if there is none.
mlir::StringAttr getGroup(QuantizeOp op);

/// Members of each group by its name and block.
using KernelGroups = llvm::MapVector<std::pair<mlir::StringAttr, mlir::Block *>,
                                     llvm::SmallVector<QuantizeOp>>;
KernelGroups findGroups(llvm::ArrayRef<mlir::Operation *> ops);

/// An error at a member that differs from the first one of its group, with the
/// numbers of both and what they have.
llvm::LogicalResult verifyGroups(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_FUSION_KERNELGROUPS_H
