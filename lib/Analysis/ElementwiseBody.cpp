//===- ElementwiseBody.cpp - Bodies that kernels evaluate -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/ElementwiseBody.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscale {

bool isElementFloat(Type type) {
  return type.isF32() || type.isBF16() || type.isF16();
}

static bool isElement(Type type) {
  return isElementFloat(type) || type.isInteger(1) || type.isInteger(8) ||
         type.isInteger(16) || type.isInteger(32) || type.isInteger(64);
}

/// Whether the extf or truncf `op` is between f32 and bf16 or f16, to the
/// nearest.
static bool isCast(Operation *op) {
  Type source = op->getOperand(0).getType();
  Type result = op->getResult(0).getType();
  if (isa<arith::ExtFOp>(op))
    return result.isF32();
  return source.isF32() &&
         isNearest(cast<arith::TruncFOp>(op).getRoundingmode());
}

bool isEvaluable(Operation *op) {
  if (!llvm::all_of(op->getOperandTypes(), isElement) ||
      !llvm::all_of(op->getResultTypes(), isElement))
    return false;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return isCast(op);
  // What moves elements takes bf16 and f16, arithmetic f32.
  if (isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(op))
    return true;
  auto isWide = [](Type type) { return type.isF32() || type.isInteger(); };
  if (!llvm::all_of(op->getOperandTypes(), isWide))
    return false;
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::CmpFOp,
             arith::CmpIOp, arith::AddIOp, arith::SubIOp, arith::MulIOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ShLIOp,
             arith::ShRSIOp, arith::ShRUIOp, arith::MaxSIOp, arith::MinSIOp,
             arith::MaxUIOp, arith::MinUIOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp, math::AbsFOp,
             math::CeilOp, math::FloorOp, math::FmaOp, math::RoundEvenOp,
             math::SqrtOp, math::TruncOp>(op);
}

Operation *getUnaryOp(linalg::GenericOp generic) {
  if (!linalg::isaElemwiseSingleUnaryOpInterface(generic) ||
      !llvm::all_of(generic.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return nullptr;
  Block &body = *generic.getBody();
  // It may be about what is around the body.
  bool isOfInput =
      llvm::equal(body.front().getOperands(), body.getArguments().take_front());
  return isOfInput ? &body.front() : nullptr;
}

Operation *findUnevaluable(Block &body) {
  for (Operation &op : body.without_terminator())
    if (!isEvaluable(&op))
      return &op;
  return nullptr;
}

StringRef describeEvaluable() {
  return "arithmetic on f32 and integers, casts of bf16 and f16 to f32 and "
         "back, and math that blockscale-expand-math expands";
}

bool isNearest(std::optional<arith::RoundingMode> mode) {
  return !mode || *mode == arith::RoundingMode::to_nearest_even;
}

TypedAttr getUniformConstant(Value value) {
  TypedAttr constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(constant))
    return dense.isSplat()
               ? dyn_cast<TypedAttr>(dense.getSplatValue<Attribute>())
               : TypedAttr();
  return isa<ElementsAttr>(constant) ? TypedAttr() : constant;
}

} // namespace blockscale
