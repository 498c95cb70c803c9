//===- KernelBody.cpp - What a kernel consists of -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "ToGPU/RowPrograms/RowKernel.h"
#include "blockscale/Analysis/FusionLegality.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace blockscale {

Value getSource(Operation *op) {
  if (!isa<AmaxOp, HadamardOp, QuantizeOp>(op))
    return {};
  Value x = op->getOperand(0);
  auto hadamard = x.getDefiningOp<HadamardOp>();
  return hadamard && !isa<HadamardOp>(op) ? hadamard.getX() : x;
}

KernelBody::KernelBody(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (isa<linalg::LinalgOp>(op))
      producers.push_back(&op);
    else if (!isa<tensor::EmptyOp, tensor::DimOp, arith::ConstantOp>(op))
      others.push_back(&op);
}

bool KernelBody::hasOneResultOp() const {
  return llvm::count_if(
             others, [](Operation *op) { return !isa<HadamardOp>(op); }) == 1;
}

bool isRowKernel(QuantizeOp op) {
  bool isDynamic = ShapedType::isDynamic(op.getX().getType().getShape().back());
  return op.getBlock()[0] == 1 && (!isDynamic || findOneReadObstacle(op));
}

/// Whether a kernel with several results may have `op`.
static bool isShareable(Operation *op, bool isAlone) {
  if (auto quantize = dyn_cast<QuantizeOp>(op))
    return !findOneReadObstacle(quantize, isAlone);
  auto amax = dyn_cast<AmaxOp>(op);
  return isa<HadamardOp>(op) || (amax && !findOneReadObstacle(amax));
}

SmallVector<PatchMember> findPatchMembers(KernelOp kernel) {
  KernelBody body(kernel);
  if (isRowProgram(kernel) || body.others.empty())
    return {};
  auto only = dyn_cast<QuantizeOp>(body.others.front());
  if (body.others.size() == 1 && (only || body.producers.empty())) {
    if (!only || isRowKernel(only))
      return {};
    return {PatchMember{{only}, {}}};
  }
  bool isAlone = body.hasOneResultOp();
  llvm::MapVector<Value, PatchMember> members;
  for (Operation *op : body.others) {
    if (!isShareable(op, isAlone))
      return {};
    PatchMember &member = members[getSource(op)];
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      member.quantizes.push_back(quantize);
    else if (auto amax = dyn_cast<AmaxOp>(op))
      member.amaxes.push_back(amax);
  }
  auto found = llvm::map_to_vector(
      members, [](const auto &member) { return member.second; });
  bool isAlike = llvm::all_of(found, [&](const PatchMember &member) {
    return member.quantizes.size() == found.front().quantizes.size() &&
           member.amaxes.size() == found.front().amaxes.size() &&
           !(member.quantizes.empty() && member.amaxes.empty());
  });
  return isAlike ? found : SmallVector<PatchMember>();
}

} // namespace blockscale
