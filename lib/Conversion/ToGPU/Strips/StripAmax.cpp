//===- StripAmax.cpp - Amaxes that a strip kernel takes -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripAmax.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// The signs of the transform that makes `x`, or nullopt.
static std::optional<uint64_t> findSignMask(Value x) {
  auto hadamard = x.getDefiningOp<HadamardOp>();
  return hadamard ? std::optional<uint64_t>(hadamard.getSignMask())
                  : std::nullopt;
}

StripAmax::StripAmax(AmaxOp op)
    : signMask(findSignMask(op.getX())),
      perMatrix(op.getAmax().getType().getRank() > 0 && !op.getOffsets()),
      perGroup(op.getOffsets() != nullptr) {}

StripAmax::StripAmax(AmaxPartsOp op)
    : signMask(findSignMask(op.getX())),
      parts(op.getParts().getType().getDimSize(1)) {}

std::string StripAmax::getName() const {
  std::string name = signMask ? "rht" + std::to_string(*signMask) + "_" : "";
  return name + (parts != 0      ? "amax_parts"
                 : perMatrix     ? "amax_each"
                 : !perGroup     ? "amax"
                 : hasSameGroups ? "amax_same_groups"
                                 : "amax_row_groups");
}

SmallVector<Value> emitRowAmaxes(KernelBuilder &b,
                                 const FragmentElements &elements) {
  SmallVector<Value> bits;
  for (Lanes amax : elements.extractRows(elements.computeRowAmaxes()))
    bits.push_back(b.toBits(amax));
  return bits;
}

Value emitStripAmax(KernelBuilder &b, const FragmentElements &elements,
                    const StripShape &shape, bool hasRowAmaxes) {
  auto max = [&](Value lhs, Value rhs) -> Value {
    return arith::MaximumFOp::create(b, lhs, rhs);
  };
  if (hasRowAmaxes) {
    Value pair = reduceInTree(elements.computeRowAmaxes(), max);
    return b.toBits(reduceInTree(
        llvm::to_vector_of<Value>(elements.extractRows(pair)), max));
  }
  return b.toBits(elements.reduceColumns(
      elements.computeColumnAmaxes(0, shape.fragmentRows), 0,
      shape.fragmentColumns));
}

} // namespace blockscale
