//===- TorchaoWork.cpp - Bytes and FLOP of ops, as torchao counts them ----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpWork.h"

#include "blockscale/IR/TypeRules.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

/// A kernel of a linear layer and its sizes; without a kernel, what torchao
/// counts as nothing.
struct Counted {
  std::optional<KernelFormula> kernel;
  LinearShape shape = {1, 1, 1};
};

static llvm::Error unknown(Operation *op) {
  return llvm::createStringError(
      "expected an op that torchao's formulas count (amax of a tensor and "
      "quantize by rows, of bf16; scaled_mm of two matrices to bf16; "
      "global_scale), or the model 'exact', but got a '" +
      op->getName().getStringRef() + "' that they do not");
}

static const LinearRecipe *findRecipe(Type data, Type scale) {
  if (isa<Float8E4M3FNType, Float8E5M2Type>(data))
    return findLinearRecipe("mxfp8");
  if (!isa<Float4E2M1FNType>(data))
    return nullptr;
  return findLinearRecipe(isNvfp4ScaleType(scale) ? "nvfp4_no_global_scale"
                                                  : "mxfp4");
}

/// Rows of all batch elements, and their length.
static llvm::Expected<LinearShape> getRows(Value x, ShapeEvaluator &sizes) {
  auto shape = sizes.getShape(x);
  if (!shape)
    return shape.takeError();
  double rows = 1;
  for (int64_t size : llvm::drop_end(*shape))
    rows *= size;
  return LinearShape{rows, static_cast<double>(shape->back()), 1};
}

static llvm::Expected<Counted> count(AmaxOp op, ShapeEvaluator &sizes) {
  if (op.getAmax().getType().getRank() != 0 ||
      !op.getX().getType().getElementType().isBF16())
    return unknown(op);
  auto shape = getRows(op.getX(), sizes);
  if (!shape)
    return shape.takeError();
  // One pass that reads.
  return Counted{KernelFormula{{{{2, kK | kM, {}}}}, {}}, *shape};
}

static llvm::Expected<Counted> count(QuantizeOp op, ShapeEvaluator &sizes) {
  const LinearRecipe *recipe =
      findRecipe(op.getData().getType().getElementType(),
                 op.getScale().getType().getElementType());
  if (!recipe || !op.hasRowBlocks() || op.getOffsets() || op.getBlockAmax() ||
      !op.getX().getType().getElementType().isBF16())
    return unknown(op);
  auto shape = getRows(op.getX(), sizes);
  if (!shape)
    return shape.takeError();
  return Counted{getQuantization(Model::Torchao, *recipe).front(), *shape};
}

static llvm::Expected<Counted> count(ScaledMMOp op, ShapeEvaluator &sizes) {
  RankedTensorType a = op.getA().getType(), b = op.getB().getType();
  if (!op.getScaleA() || !op.getScaleB())
    return unknown(op);
  const LinearRecipe *recipe =
      findRecipe(a.getElementType(), op.getScaleElementType());
  if (!recipe || a.getRank() != 2 || a.getElementType() != b.getElementType() ||
      !op.getType().getElementType().isBF16())
    return unknown(op);
  auto rowsA = getRows(op.getA(), sizes), rowsB = getRows(op.getB(), sizes);
  if (!rowsA) {
    llvm::consumeError(rowsB.takeError());
    return rowsA.takeError();
  }
  if (!rowsB)
    return rowsB.takeError();
  return Counted{getProduct(Model::Torchao, *recipe),
                 {rowsA->m, rowsA->k, rowsB->m}};
}

llvm::Expected<Work> getTorchaoWork(Operation *op, ShapeEvaluator &sizes) {
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    if (!kernel.getSingleOp())
      return unknown(op);
    return getTorchaoWork(kernel.getSingleOp(), sizes);
  }
  auto counted = llvm::TypeSwitch<Operation *, llvm::Expected<Counted>>(op)
                     .Case<AmaxOp, QuantizeOp, ScaledMMOp>(
                         [&](auto op) { return count(op, sizes); })
                     .Case([](GlobalScaleOp) { return Counted{}; })
                     .Default([](Operation *op) { return unknown(op); });
  if (!counted)
    return counted.takeError();
  Work work;
  work.isLaunched = counted->kernel.has_value();
  if (counted->kernel) {
    work.bytes = counted->kernel->bytes.evaluate(counted->shape);
    work.flopsOf(counted->kernel->unit) =
        counted->kernel->flops.evaluate(counted->shape);
  }
  return work;
}

} // namespace blockscale
