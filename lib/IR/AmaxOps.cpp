//===- AmaxOps.cpp - amax, amax_parts, global_scale, scale_sweep, .. ------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReifiedSizes.h"
#include "Verification.h"
#include "blockscale/IR/GlobalChain.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::verification;

//===----------------------------------------------------------------------===//
// amax
//===----------------------------------------------------------------------===//

bool AmaxOp::isPerRow() {
  return !getOffsets() &&
         getAmax().getType().getRank() == getX().getType().getRank() - 1;
}

LogicalResult AmaxOp::verify() {
  RankedTensorType x = getX().getType(), amax = getAmax().getType();
  auto groupDim = static_cast<int64_t>(getGroupDim());
  // amax_c1: x has rank 2 or more and no encoding.
  if (failed(verifyPlainMatrix(*this, "x", x)))
    return failure();
  // amax_c4: the grouped dimension.
  if (failed(verifyGroupDim(*this, groupDim, getOffsets())))
    return failure();
  if (amax.getEncoding())
    return emitOpError() << "expected the result to have no encoding, but got "
                         << amax.getEncoding();
  // amax_c3: one value a group.
  if (TypedValue<RankedTensorType> offsets = getOffsets()) {
    if (failed(verifyGroupedMatrix(*this, "x", x, offsets.getType())))
      return failure();
    return verifyShape(*this, "the result", offsets.getType().getShape(),
                       amax.getShape());
  }
  // amax_c2: one value, one a batch element, or one a row.
  return verifyShapeAmong(*this, "the result", amax.getShape(),
                          getGlobalShapes(x.getShape()));
}

LogicalResult AmaxOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes = getReifiedSizes(
      builder, getOffsets() ? Value(getOffsets()) : Value(getX()));
  sizes.resize(getAmax().getType().getRank());
  shapes.push_back(withStaticSizes(builder, getAmax().getType(), sizes));
  return success();
}

//===----------------------------------------------------------------------===//
// amax_parts
//===----------------------------------------------------------------------===//

LogicalResult AmaxPartsOp::verify() {
  RankedTensorType x = getX().getType(), parts = getParts().getType();
  // amax_parts_c1: x has rank 2 or more and no encoding.
  if (failed(verifyPlainMatrix(*this, "x", x)))
    return failure();
  // amax_parts_c2: one row of numbers.
  if (!isPartsType(parts))
    return emitOpError() << "expected the result to be a row of a multiple of "
                         << kPartsUnit << " numbers, at most " << kMostParts
                         << ", but got " << parts;
  return success();
}

LogicalResult
AmaxPartsOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(
      getAsIndexOpFoldResult(getContext(), getParts().getType().getShape()));
  return success();
}

//===----------------------------------------------------------------------===//
// amax_over_ranks
//===----------------------------------------------------------------------===//

LogicalResult AmaxOverRanksOp::verify() {
  // amax_over_ranks_c1: a result of a tensor alone.
  Type amax = getAmax().getType();
  bool isTensor = isa<RankedTensorType>(amax);
  if (!isTensor && getResult())
    return emitOpError()
           << "expected no result with a memref, which is reduced "
              "in place, but got one of type "
           << getResult().getType();
  if (isTensor && !getResult())
    return emitOpError() << "expected a result of type " << amax
                         << ", but got none";
  if (isTensor && getResult().getType() != amax)
    return emitOpError() << "expected a result of type " << amax << ", but got "
                         << getResult().getType();
  // amax_over_ranks_c2: one call at a time.
  Operation *around = (*this)->getParentWithTrait<OpTrait::HasParallelRegion>();
  if (auto kernel = (*this)->getParentOfType<KernelOp>(); kernel && !around)
    around = kernel;
  if (around)
    return emitOpError() << "expected to be in no kernel, and in no loop whose "
                            "iterations run at the same time, but got one in '"
                         << around->getName() << "'";
  return success();
}

/// A tensor is a value: of equal ops one is enough, and one without a reader is
/// none too many, on all ranks alike.
void AmaxOverRanksOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (!isa<MemRefType>(getAmax().getType()))
    return;
  effects.emplace_back(MemoryEffects::Read::get(), &getAmaxMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getAmaxMutable());
}

LogicalResult
AmaxOverRanksOp::reifyResultShapes(OpBuilder &builder,
                                   ReifiedRankedShapedTypeDims &shapes) {
  if (getResult())
    shapes.push_back(getReifiedSizes(builder, getAmax()));
  return success();
}

//===----------------------------------------------------------------------===//
// global_scale
//===----------------------------------------------------------------------===//

Recipe GlobalScaleOp::getEffectiveRecipe() {
  return getRecipeOrDefault(getRecipe(), numerics::ScaleFormat::E4M3);
}

numerics::Recipe GlobalScaleOp::getArithmetic() {
  MLIRContext *context = getContext();
  return blockscale::getArithmetic(
      getEffectiveRecipe(), Float8E4M3FNType::get(context),
      Float4E2M1FNType::get(context), Float32Type::get(context));
}

GlobalKind GlobalScaleOp::getAmaxKind() {
  return blockscale::getAmaxKind(getNonzeroAmax());
}

// global_scale_c1: the recipe is an NVFP4 recipe.
LogicalResult GlobalScaleOp::verify() {
  return verifyRecipe(*this, getEffectiveRecipe(),
                      Float8E4M3FNType::get(getContext()));
}

LogicalResult
GlobalScaleOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(getReifiedSizes(builder, getAmax()));
  return success();
}

//===----------------------------------------------------------------------===//
// scale_sweep
//===----------------------------------------------------------------------===//

/// Elements of a block of the sweep.
static constexpr int64_t kSweepBlock = 16;

LogicalResult ScaleSweepOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, upstream::Properties properties,
    RegionRange regions, SmallVectorImpl<Type> &types) {
  auto x = operands.empty() ? RankedTensorType()
                            : dyn_cast<RankedTensorType>(operands[0].getType());
  if (!x || x.getRank() < 1)
    return emitOptionalError(location,
                             "expected x to be a ranked tensor of rank 2 or "
                             "more");
  SmallVector<int64_t> shape(x.getShape());
  if (!ShapedType::isDynamic(shape.back()))
    shape.back() = llvm::divideCeil(shape.back(), kSweepBlock);
  types.push_back(RankedTensorType::get(shape, Float32Type::get(context)));
  return success();
}

bool ScaleSweepOp::isCompatibleReturnTypes(TypeRange inferred,
                                           TypeRange found) {
  return succeeded(verifyCompatibleShapes(inferred, found));
}

GlobalOperand ScaleSweepOp::getGlobalOperand() {
  return GlobalOperand::get(getGlobalAmax(), getAmaxKind(getNonzeroAmax()),
                            getX().getType().getRank(), /*hasGroups=*/false);
}

LogicalResult ScaleSweepOp::verify() {
  RankedTensorType x = getX().getType(), blocks = getBlockAmax().getType();
  // scale_sweep_c1: x has rank 2 or more and no encoding.
  if (failed(verifyPlainMatrix(*this, "x", x)))
    return failure();
  // scale_sweep_c2: whole blocks.
  if (failed(verifyBlockMultiple(*this, "x", x.getShape().back(), kSweepBlock)))
    return failure();
  // scale_sweep_c3: the global amax.
  SmallVector<SmallVector<int64_t>> perBatch = getGlobalShapes(x.getShape());
  perBatch.pop_back();
  if (failed(verifyGlobalOperand(*this, "global_amax", getGlobalAmax(),
                                 /*isNvfp4=*/true, perBatch)))
    return failure();
  // scale_sweep_c4: one value a block.
  if (failed(verifyPlainMatrix(*this, "the result", blocks)) ||
      failed(verifyShape(*this, "the result",
                         getScaleShape(x.getShape(), kSweepBlock),
                         blocks.getShape())))
    return failure();
  // scale_sweep_c5: one matrix for each block of columns.
  if (!getHessian())
    return success();
  return verifyShape(*this, "hessian",
                     {getScaleShape(x.getShape(), kSweepBlock).back(),
                      kSweepBlock, kSweepBlock},
                     getHessian().getType().getShape());
}

LogicalResult
ScaleSweepOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(withStaticSizes(
      builder, getBlockAmax().getType(),
      getScaleSizes(builder, getLoc(), getReifiedSizes(builder, getX()),
                    kSweepBlock)));
  return success();
}
