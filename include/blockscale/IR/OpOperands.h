//===- OpOperands.h - Operands that several ops share -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_IR_OPOPERANDS_H
#define BLOCKSCALE_IR_OPOPERANDS_H

#include "blockscale/Numerics/GlobalScale.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include "mlir/IR/Value.h"

namespace blockscale {

/// What a global operand says: nothing where it is absent, the scale that
/// decodes, or the amax from which a recipe derives that.
using GlobalKind = numerics::GlobalScale::Kind;

/// The kind of an amax, which is taken as no 0 where `isNonzero`.
inline GlobalKind getAmaxKind(bool isNonzero) {
  return isNonzero ? GlobalKind::NonzeroAmax : GlobalKind::Amax;
}

/// What has a global value of its own.
enum class GlobalExtent : uint8_t { Tensor, Matrix, Row, Group };

/// The global operand of an op.
struct GlobalOperand {
  /// An operand of an op on tensors of rank `rank` that has `value`, a scalar
  /// or a tensor, or null. A tensor has one value for all, for each matrix, for
  /// each row, or, where the op has groups, for each of these.
  static GlobalOperand get(mlir::Value value, GlobalKind kind, int64_t rank,
                           bool hasGroups);

  bool isPresent() const { return kind != GlobalKind::Absent; }
  /// Whether there is one value for everything.
  bool isSingle() const { return extent == GlobalExtent::Tensor; }

  mlir::Value value;
  GlobalKind kind = GlobalKind::Absent;
  GlobalExtent extent = GlobalExtent::Tensor;
  /// Whether the value is a scalar rather than in memory.
  bool byValue = false;
};

using GroupDim = numerics::GroupDim;

/// The groups of an op.
struct GroupOperand {
  explicit operator bool() const { return dim != GroupDim::None; }

  GroupDim dim = GroupDim::None;
  /// The ends of groups; null where there are none.
  mlir::Value ends;
};

} // namespace blockscale

#endif // BLOCKSCALE_IR_OPOPERANDS_H
