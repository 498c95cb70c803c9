//===- KernelWrapping.cpp - Ops as the body of a kernel -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelWrapping.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/PrepackedCodes.h"
#include "blockscale/Analysis/Producers.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/Analysis/RowMoves.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace blockscale {

static Value createEmptyTensor(OpBuilder &builder, Location loc,
                               RankedTensorType type,
                               ArrayRef<OpFoldResult> sizes) {
  SmallVector<Value> dynamic;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (type.isDynamicDim(dim))
      dynamic.push_back(getValueOrCreateConstantIndexOp(builder, loc, size));
  return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                 type.getElementType(), dynamic,
                                 type.getEncoding());
}

/// The memory of tiles of a dynamic number of groups, which the offsets say, is
/// made in its storage form, whose sizes a tensor.empty can have:
///
///   %g = tensor.dim %ends, %c0
///   %n = affine.apply (tiles of %m x %k scales in %g groups)
///   %e = tensor.empty(%n) : tensor<?x32x4x4xf8>
///   %s = builtin.unrealized_conversion_cast %e
///       : tensor<?x32x4x4xf8> to tensor<?x?xf8, #groups>
Value createEmptyTensor(OpBuilder &builder, OpResult result,
                        ArrayRef<OpFoldResult> sizes) {
  Location loc = result.getLoc();
  auto type = cast<RankedTensorType>(result.getType());
  if (!hasDynamicGroups(type))
    return createEmptyTensor(builder, loc, type, sizes);
  Value offsets = getGroupOffsets(result.getOwner());
  OpFoldResult groups = tensor::getMixedSize(builder, loc, offsets, 0);
  Value tiles = createEmptyTensor(
      builder, loc, cast<RankedTensorType>(getStorageType(type)),
      getStorageSizes(builder, loc, type, sizes, groups));
  return UnrealizedConversionCastOp::create(builder, loc, type, tiles)
      .getResult(0);
}

/// The sizes of the result of an op of linalg, from an input that has them all,
/// or of which it permutes the dimensions. `mapping` gives the input.
static SmallVector<OpFoldResult> getResultSizes(OpBuilder &builder,
                                                linalg::LinalgOp op,
                                                const IRMapping &mapping) {
  Value like = getSameSizedInput(op);
  SmallVector<int64_t> permutation;
  if (!like) {
    permutation = getPermutation(op);
    like = op.getDpsInputs().front();
  }
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(
      builder, op.getLoc(), mapping.lookupOrDefault(like));
  if (!permutation.empty())
    applyPermutationToVector(sizes, permutation);
  return sizes;
}

/// A copy of `op` in the body of a kernel. Elementwise ops take constants and a
/// destination there along.
static void cloneInto(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  auto producer = dyn_cast<linalg::LinalgOp>(op);
  if (!producer) {
    builder.clone(*op, mapping);
    return;
  }
  llvm::SetVector<Value> constants;
  getUsedValuesDefinedAbove(op->getRegions(), constants);
  for (Value input : producer.getDpsInputs())
    if (getUniformConstant(input))
      constants.insert(input);
  for (Value constant : constants)
    if (!mapping.contains(constant))
      builder.clone(*constant.getDefiningOp(), mapping);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value init = tensor::EmptyOp::create(
      builder, op->getLoc(), getResultSizes(builder, producer, mapping),
      type.getElementType());
  Operation *clone = builder.clone(*op, mapping);
  cast<linalg::LinalgOp>(clone).setDpsInitOperand(0, init);
}

KernelOp replaceByKernel(
    OpBuilder &builder, Location loc, ArrayRef<Operation *> ops,
    ValueRange inputs, ValueRange outputs, ValueRange results,
    function_ref<void(OpBuilder &, Operation *, IRMapping &)> clone) {
  auto kernel = KernelOp::create(builder, loc, results.getTypes(), inputs,
                                 outputs, KernelFamilyAttr());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&kernel.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Value output : outputs)
    body->addArgument(output.getType(), loc);
  for (Operation *op : ops)
    clone(builder, op, mapping);
  YieldOp::create(builder, loc, llvm::map_to_vector(results, [&](Value result) {
                    return mapping.lookup(result);
                  }));
  for (auto [result, ofKernel] : llvm::zip_equal(results, kernel.getResults()))
    result.replaceAllUsesWith(ofKernel);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  return kernel;
}

static LogicalResult reifySizes(OpBuilder &builder, Operation *op,
                                ReifiedRankedShapedTypeDims &shapes) {
  // Destinations may come later than the kernel.
  if (auto elementwise = dyn_cast<linalg::LinalgOp>(op)) {
    shapes.push_back(getResultSizes(builder, elementwise, IRMapping()));
    return success();
  }
  if (succeeded(reifyResultShapes(builder, op, shapes)))
    return success();
  return op->emitOpError("expected result sizes that can be computed from "
                         "the operands");
}

/// Computes sizes that ops take from `result` from the operands of its op.
static LogicalResult replaceSizes(OpBuilder &builder, OpResult result) {
  OpBuilder::InsertionGuard guard(builder);
  for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
    auto dim = dyn_cast<tensor::DimOp>(user);
    std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
    if (!index)
      continue;
    builder.setInsertionPoint(dim);
    ReifiedRankedShapedTypeDims shapes;
    if (failed(reifySizes(builder, result.getOwner(), shapes)))
      return failure();
    dim.replaceAllUsesWith(getValueOrCreateConstantIndexOp(
        builder, dim.getLoc(), shapes[result.getResultNumber()][*index]));
    dim.erase();
  }
  return success();
}

LogicalResult replaceUnstoredSizes(OpBuilder &builder,
                                   ArrayRef<Operation *> ops, Operation *op) {
  auto quantize = dyn_cast<QuantizeOp>(op);
  if (!quantize || (!llvm::is_contained(ops, findDecoder(quantize)) &&
                    !llvm::is_contained(ops, findPrepack(quantize))))
    return success();
  for (OpResult result : op->getResults())
    if (failed(replaceSizes(builder, result)))
      return failure();
  return success();
}

/// Moves what `ops` need before `place`, which one of them has, from after it.
static void moveOperands(ArrayRef<Operation *> ops, Operation *place) {
  llvm::SetVector<Operation *> needed;
  auto insert = [&](Operation *op) {
    for (Value value : getInputs(op)) {
      Operation *definition = value.getDefiningOp();
      if (definition && definition->getBlock() == place->getBlock() &&
          !definition->isBeforeInBlock(place) &&
          !llvm::is_contained(ops, definition))
        needed.insert(definition);
    }
  };
  llvm::for_each(ops, insert);
  for (size_t i = 0; i < needed.size(); ++i)
    insert(needed[i]);
  SmallVector<Operation *> moved = needed.takeVector();
  llvm::sort(moved,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : moved)
    op->moveBefore(place);
}

FailureOr<KernelOp> wrapInKernel(ArrayRef<Operation *> ops, ValueRange results,
                                 Operation *place) {
  OpBuilder builder(place);
  // What follows a product does not need it for its sizes.
  for (Operation *op : ops)
    if (ops.size() > 1 && isProduct(op) &&
        failed(replaceSizes(builder, op->getResult(0))))
      return failure();
  moveOperands(ops, place);
  llvm::SmallSetVector<Value, 4> inputs;
  SmallVector<Value> outputs;
  for (Operation *op : ops) {
    bool takesConstants = isa<linalg::LinalgOp>(op);
    for (Value operand : getInputs(op))
      if (!llvm::is_contained(ops, operand.getDefiningOp()) &&
          !(takesConstants && getUniformConstant(operand)))
        inputs.insert(operand);
    ReifiedRankedShapedTypeDims shapes;
    if (failed(reifySizes(builder, op, shapes)))
      return failure();
    for (auto [result, sizes] : llvm::zip_equal(op->getResults(), shapes))
      if (llvm::is_contained(results, result))
        outputs.push_back(createEmptyTensor(builder, result, sizes));
  }
  // The kernel comes after the sizes of its outputs.
  for (Operation *op : llvm::reverse(ops)) {
    if (ops.size() > 1 && isProduct(op) &&
        failed(replaceSizes(builder, op->getResult(0))))
      return failure();
    if (failed(replaceUnstoredSizes(builder, ops, op)))
      return failure();
    if (ops.size() > 1 &&
        (isa<PadGroupsOp, tensor::ConcatOp>(op) || getGatheredRows(op)))
      for (OpResult result : op->getResults())
        if (failed(replaceSizes(builder, result)))
          return failure();
    // Memory of so many groups does not tell the rows and columns.
    for (OpResult result : op->getResults())
      if (hasDynamicGroups(result.getType()) &&
          failed(replaceSizes(builder, result)))
        return failure();
    if (Value source = getSameSizedSource(op))
      for (Operation *user :
           llvm::make_early_inc_range(op->getResult(0).getUsers()))
        if (isa<tensor::DimOp>(user))
          user->setOperand(0, source);
  }
  return replaceByKernel(builder, ops.front()->getLoc(), ops,
                         inputs.getArrayRef(), outputs, results, cloneInto);
}

} // namespace blockscale
