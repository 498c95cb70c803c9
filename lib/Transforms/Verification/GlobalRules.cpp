//===- GlobalRules.cpp - Where global operands come from ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GlobalRules.h"
#include "Origins.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace blockscale;

static LogicalResult verifyIsScale(Operation *op, StringRef name,
                                   Value global) {
  auto amax = getAmaxOrigin(global);
  if (!amax)
    return success();
  InFlightDiagnostic diag =
      op->emitOpError() << "expected " << name
                        << " to be a decode scale, which "
                           "'blockscale.global_scale' makes of an amax, but "
                           "got an amax";
  diag.attachNote(amax.getLoc()) << "computed here";
  return diag;
}

static LogicalResult verifyIsAmax(Operation *op, StringRef name, Value global) {
  auto scale = getOrigin<GlobalScaleOp>(global);
  if (!scale)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected " << name
                            << " to be an amax, but got a decode scale";
  diag.attachNote(scale.getLoc()) << "computed here";
  return diag;
}

/// 4over6 alone has another range of block scales, 1.75 times smaller.
static LogicalResult verifyRange(Operation *op, Recipe recipe, StringRef what,
                                 Operation *origin, Recipe found) {
  if (isFourOverSix(recipe) == isFourOverSix(found))
    return success();
  InFlightDiagnostic diag =
      op->emitOpError() << "expected " << what
                        << " to be made for the range of recipe "
                        << stringifyRecipe(recipe) << ", but got one of recipe "
                        << stringifyRecipe(found);
  diag.attachNote(origin->getLoc()) << "made here";
  return diag;
}

static LogicalResult verifyGlobals(QuantizerOpInterface op, Recipe recipe) {
  GlobalOperand global = op.getGlobalOperand();
  if (numerics::isAmax(global.kind))
    return verifyIsAmax(op, "global_amax", global.value);
  if (failed(verifyIsScale(op, "global_scale", global.value)))
    return failure();
  auto scale = getOrigin<GlobalScaleOp>(global.value);
  if (!scale)
    return success();
  return verifyRange(op, recipe, "global_scale", scale,
                     scale.getEffectiveRecipe());
}

static LogicalResult verifyDequantizeGlobals(DequantizeOp op) {
  // Without an amax the recipe is not asked for.
  auto quantize = getOrigin<QuantizeOp>(op.getData());
  Recipe recipe = op.getEffectiveRecipe();
  if (quantize && op.getGlobalAmax() &&
      failed(verifyRange(op, recipe, "data", quantize,
                         quantize.getEffectiveRecipe())))
    return failure();
  if (quantize && !op.getGlobalAmax())
    recipe = quantize.getEffectiveRecipe();
  return verifyGlobals(op, recipe);
}

static LogicalResult verifyProductGlobal(Operation *op, StringRef name,
                                         Value global, Value data) {
  if (failed(verifyIsScale(op, name, global)))
    return failure();
  auto scale = getOrigin<GlobalScaleOp>(global);
  auto quantize = getOrigin<QuantizeOp>(data);
  if (!scale || !quantize)
    return success();
  return verifyRange(op, quantize.getEffectiveRecipe(), name, scale,
                     scale.getEffectiveRecipe());
}

static LogicalResult verifyProductGlobals(ProductOpInterface op) {
  if (failed(verifyProductGlobal(op, "global_scale_a",
                                 op.getGlobalOperandA().value, op.getA())))
    return failure();
  return verifyProductGlobal(op, "global_scale_b", op.getGlobalOperandB().value,
                             op.getB());
}

LogicalResult blockscale::verifyGlobalOrigins(Operation *op) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<DequantizeOp>(verifyDequantizeGlobals)
      // The largest scale need not be that of the largest amax.
      .Case<AmaxOverRanksOp>([](AmaxOverRanksOp op) {
        return verifyIsAmax(op, "amax", op.getAmax());
      })
      .Case<QuantizerOpInterface>([](QuantizerOpInterface op) {
        return verifyGlobals(op, op.getEffectiveRecipe());
      })
      .Case<ProductOpInterface>(verifyProductGlobals)
      .Default([](Operation *) { return success(); });
}
