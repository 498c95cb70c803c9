//===- GroupRules.h - What the ends of groups have to keep ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ends of groups are numbers in memory, which only who reads them can
// check: the CPU before a kernel runs, and kernels of GPUs themselves
// (DeviceEmission/GroupCheck.h). Both find the same fault of the same group,
// the first one that has any.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_GROUPRULES_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_GROUPRULES_H

#include "CallSite.h"
#include "Lanes.h"
#include "blockscale/Runtime/ErrorRecord.h"

namespace blockscale::emit {

/// The rules of the groups of an op, in elements.
struct GroupRules {
  runtime::ErrorOp op = runtime::ErrorOp::None;
  /// What ends are multiples of.
  int64_t unit = 1;
  /// What groups that are not empty begin at multiples of.
  int64_t beginUnit = 1;
};

GroupRules getGroupRules(AmaxOp op);
GroupRules getGroupRules(PadGroupsOp op);
GroupRules getGroupRules(QuantizeOp op);
GroupRules getGroupRules(SwizzleOp op);
GroupRules getGroupRules(ScaledGroupedMMOp op);

/// What is wrong with a group: i64 values, of which `rule` is a
/// runtime::ErrorRule, 0 where nothing is.
struct GroupFault {
  Lanes rule, expected, found;
};

/// The fault of a group from `begin` to `end` in a dimension of `extent`
/// elements, all i64. Groups before it are taken to have none, so that `begin`
/// is the end of the one before.
GroupFault findFault(const GroupRules &rules, Lanes end, Lanes begin,
                     Lanes extent);

/// The ends that the kernel of an op reads.
struct GroupEndsInMemory {
  /// A memref of i32; null where the op has no groups.
  mlir::Value offsets;
  /// The size of the dimension in elements, of index type.
  mlir::Value extent;
  GroupRules rules;
  /// The sizes of x or, for products, of the result, of index type, without
  /// those that leave tiles of groups to write where they are 0. A kernel has
  /// nothing to do where one is 0, and reads no ends.
  llvm::SmallVector<mlir::Value> sizes;
};

GroupEndsInMemory getGroupEnds(AmaxOp op, CallSite &site);
GroupEndsInMemory getGroupEnds(PadGroupsOp op, CallSite &site);
GroupEndsInMemory getGroupEnds(QuantizeOp op, CallSite &site);
GroupEndsInMemory getGroupEnds(SwizzleOp op, CallSite &site);
GroupEndsInMemory getGroupEnds(ScaledGroupedMMOp op, CallSite &site);

/// Other ops have no groups.
template <typename OpTy>
GroupEndsInMemory getGroupEnds(OpTy, CallSite &) {
  return {};
}

/// The fault of the first group that has one, and the number of that group,
/// i64.
struct FirstFault {
  mlir::Value rule, group, expected, found;
};

/// Looks for the first fault, one group after the other.
FirstFault findFirstFault(mlir::ImplicitLocOpBuilder &b,
                          const GroupEndsInMemory &ends);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_GROUPRULES_H
