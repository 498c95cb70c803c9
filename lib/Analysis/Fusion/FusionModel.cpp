//===- FusionModel.cpp - What fused kernels take --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/FusionModel.h"

#include "Cost/OpWork.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Instructions.h"
#include "blockscale/Analysis/RowProgram.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

FusionModel::FusionModel(const target::Chip &chip,
                         ArrayRef<int64_t> dynamicSizes)
    : chip(chip), gpu(*target::findGpu(chip.gpu)), dynamicSizes(dynamicSizes) {}

/// The operands that a kernel of `op` loads: constants are in its code.
static SmallVector<Value> getLoaded(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return SmallVector<Value>(op->getOperands());
  SmallVector<Value> loaded = linalgOp.getDpsInputs();
  llvm::erase_if(loaded, [](Value value) {
    return getUniformConstant(value) || getFilledScalar(value.getDefiningOp());
  });
  return loaded;
}

/// Whether `kernel`, one of `kernels`, stores `result`: where none of its ops
/// needs it, or others do that do not compute it.
static bool isStored(OpResult result, FusionModel::KernelOps kernel,
                     ArrayRef<FusionModel::KernelOps> kernels) {
  Operation *op = result.getOwner();
  bool isNeededInside = false, isNeededOutside = false;
  for (Operation *user : result.getUsers()) {
    if (isa<tensor::DimOp>(user))
      continue;
    isNeededInside |= llvm::is_contained(kernel, user);
    bool isInNone = true;
    for (FusionModel::KernelOps other : kernels) {
      if (!llvm::is_contained(other, user))
        continue;
      isInNone = false;
      isNeededOutside |= !llvm::is_contained(other, op);
    }
    isNeededOutside |= isInNone;
  }
  return !isNeededInside || isNeededOutside;
}

static double getProduct(ArrayRef<int64_t> sizes) {
  double product = 1;
  for (int64_t size : sizes)
    product *= static_cast<double>(size);
  return product;
}

/// How often the instructions of `op` run.
static llvm::Expected<double> countElements(Operation *op,
                                            ShapeEvaluator &sizes) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp) {
    auto shape = sizes.getShape(op->getOperand(0));
    if (!shape)
      return shape.takeError();
    return getProduct(*shape);
  }
  SmallVector<int64_t> loops(linalgOp.getNumLoops(), 1);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<ShapedType>(operand.get().getType()))
      continue;
    auto shape = sizes.getShape(operand.get());
    if (!shape)
      return shape.takeError();
    AffineMap map = linalgOp.getMatchingIndexingMap(&operand);
    for (auto [expr, size] : llvm::zip_equal(map.getResults(), *shape))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        loops[dim.getPosition()] = size;
  }
  return getProduct(loops);
}

llvm::Expected<Cost>
FusionModel::getCost(KernelOps kernel,
                     function_ref<bool(OpResult result)> isStored,
                     ShapeEvaluator &sizes) const {
  Work work;
  llvm::SmallSetVector<Value, 8> moved;
  for (Operation *op : kernel) {
    for (Value value : getLoaded(op))
      if (!llvm::is_contained(kernel, value.getDefiningOp()))
        moved.insert(value);
    for (OpResult result : op->getResults())
      if (isStored(result))
        moved.insert(result);
    llvm::Expected<double> elements = countElements(op, sizes);
    if (!elements)
      return elements.takeError();
    // A multiply-add, which counts twice, is one instruction.
    work.flopsOf(target::Unit::F32) +=
        2 * estimateInstructions(op, chip) * *elements;
  }
  if (llvm::Error error = addStoredBytes(moved.getArrayRef(), sizes, work))
    return error;
  return CostModel(gpu, Model::Exact).getCost(work);
}

llvm::Expected<Cost> FusionModel::getCost(ArrayRef<KernelOps> kernels) const {
  ShapeEvaluator sizes(dynamicSizes);
  Cost sum;
  for (KernelOps kernel : kernels) {
    llvm::Expected<Cost> cost = getCost(
        kernel,
        [&](OpResult result) {
          return blockscale::isStored(result, kernel, kernels);
        },
        sizes);
    if (!cost)
      return cost.takeError();
    sum.add(*cost);
  }
  return sum;
}

llvm::Expected<Cost> FusionModel::getCost(KernelOps kernel,
                                          ArrayRef<Value> results) const {
  ShapeEvaluator sizes(dynamicSizes);
  return getCost(
      kernel,
      [&](OpResult result) { return llvm::is_contained(results, result); },
      sizes);
}

} // namespace blockscale
