//===- BufferizeKernels.cpp - Bufferize around kernel bodies --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BranchResults.h"
#include "Storage/StorageRules.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_BUFFERIZEKERNELS
#include "blockscale/Transforms/Passes.h.inc"

/// Upstream drops encodings and gives f4 elements a byte each, silently.
static LogicalResult verifyStorageTypes(Operation *op) {
  Type type = findType(op, isPackedOrSwizzled);
  if (!type)
    return success();
  return op->emitOpError() << "expected storage types before bufferization "
                              "(blockscale-materialize-storage), but got "
                           << type;
}

/// Upstream's analysis crashes on loops of branches that carry tensors.
static LogicalResult verifyStructured(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : llvm::drop_begin(region, region.empty() ? 0 : 1))
      for (Type type : block.getArgumentTypes())
        if (isa<TensorType>(type))
          return op->emitOpError()
                 << "expected tensors in structured control flow (scf), but "
                    "got a branch with "
                 << type;
  return success();
}

static LogicalResult verifyBufferizable(ModuleOp module) {
  WalkResult result = module.walk<WalkOrder::PreOrder>([](Operation *op) {
    if (failed(verifyStorageTypes(op)) || failed(verifyStructured(op)))
      return WalkResult::interrupt();
    return isa<KernelOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// What an op makes a tensor of without new elements; null where it does not.
static Value getViewed(Operation *op) {
  if (isa_and_present<tensor::CastOp, tensor::ExpandShapeOp,
                      tensor::CollapseShapeOp, tensor::ExtractSliceOp>(op))
    return op->getOperand(0);
  return {};
}

/// What `value` is a view of, at last.
static Value getWhole(Value value) {
  while (Value viewed = getViewed(value.getDefiningOp()))
    value = viewed;
  return value;
}

/// Whether an op that may execute behind `op` reads `value`, or what is the
/// same tensor in another shape.
static bool isReadBehind(Value value, Operation *op) {
  SmallVector<Value> values = {getWhole(value)};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (getViewed(user))
        values.push_back(user->getResult(0));
      else if (user != op && !(user->getBlock() == op->getBlock() &&
                               user->isBeforeInBlock(op)))
        return true;
    }
  return false;
}

/// Gives an op another tensor to overwrite where what it overwrites is read
/// behind it:
///
///   %z = linalg.generic ins(%y) outs(%y)
///   return %z, %y
/// becomes
///   %e = tensor.empty()
///   %z = linalg.generic ins(%y) outs(%e)
///   return %z, %y
///
/// with a copy of %y in place of %e where the op reads it, as loops do.
/// Otherwise the elimination of empty tensors would let both results of the
/// function have the place of %z.
static void separateInits(RewriterBase &rewriter, Operation *op,
                          MutableArrayRef<OpOperand> inits) {
  if (isa<KernelOp>(op) || op->getParentOfType<KernelOp>())
    return;
  for (OpOperand &init : inits) {
    Value value = init.get();
    if (!isa<RankedTensorType>(value.getType()) ||
        value.getDefiningOp<tensor::EmptyOp>() || !isReadBehind(value, op))
      continue;
    rewriter.setInsertionPoint(op);
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    Value place;
    if (linalgOp && !linalgOp.payloadUsesValueFromOperand(&init))
      place = tensor::EmptyOp::create(
          rewriter, op->getLoc(),
          tensor::getMixedSizes(rewriter, op->getLoc(), value),
          getElementTypeOrSelf(value));
    else
      place = bufferization::AllocTensorOp::create(
          rewriter, op->getLoc(), cast<RankedTensorType>(value.getType()),
          /*dynamicSizes=*/ValueRange(), /*copy=*/value);
    rewriter.modifyOpInPlace(op, [&] { init.set(place); });
  }
}

/// Adds the values that may have the memory of a tensor because `use` takes it.
static void addSharers(OpOperand &use, llvm::SetVector<Value> &values) {
  Operation *user = use.getOwner();
  if (isa<bufferization::AllocTensorOp>(user))
    return;
  if (getViewed(user)) {
    values.insert(user->getResult(0));
  } else if (auto writer = dyn_cast<DestinationStyleOpInterface>(user)) {
    if (writer.isDpsInit(&use))
      values.insert(writer.getTiedOpResult(&use));
  } else {
    // An op may give what it takes, and one with regions what they yield.
    Operation *giver =
        user->hasTrait<OpTrait::IsTerminator>() ? user->getParentOp() : user;
    for (OpResult result : giver->getResults())
      if (result.getType() == use.get().getType())
        values.insert(result);
  }
}

/// Adds all values that may have the memory of those that are there.
static void addAllSharers(llvm::SetVector<Value> &values) {
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses())
      addSharers(use, values);
}

/// Whether `other` may have the memory of `value`.
static bool mayShare(Value value, Value other) {
  llvm::SetVector<Value> values;
  values.insert(getWhole(value));
  addAllSharers(values);
  return values.contains(other);
}

/// Copies tensors that a function, a branch or a loop gives a second time, in
/// the memory of another one that it gives:
///
///   scf.yield %a, %a
/// becomes
///   %c = bufferization.alloc_tensor() copy(%a)
///   scf.yield %a, %c
///
/// The analysis does not see that two results of one op are the same memory,
/// and would let an op overwrite one before the other one is read.
static void separateGiven(RewriterBase &rewriter, Operation *terminator) {
  if (terminator->getParentOfType<KernelOp>())
    return;
  MutableArrayRef<OpOperand> given = terminator->getOpOperands();
  for (size_t i = 0; i < given.size(); ++i) {
    OpOperand &operand = given[i];
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    Value value = operand.get();
    if (!type || llvm::none_of(given.take_front(i), [&](OpOperand &other) {
          return isa<RankedTensorType>(other.get().getType()) &&
                 (mayShare(other.get(), value) || mayShare(value, other.get()));
        }))
      continue;
    rewriter.setInsertionPoint(terminator);
    Value copy = bufferization::AllocTensorOp::create(
        rewriter, terminator->getLoc(), type, /*dynamicSizes=*/ValueRange(),
        /*copy=*/value);
    rewriter.modifyOpInPlace(terminator, [&] { operand.set(copy); });
  }
}

/// Whether something behind `move` reads another value than the one that is
/// moved, in memory that an op has for `empty`:
///
///   %y = linalg.generic outs(%empty)
///   %s = arith.select %c, %y, %x
///   bufferization.materialize_in_destination %s in restrict writable %out
///   bufferization.materialize_in_destination %y in restrict writable %other
///
/// With %out in the place of %empty, %y would be overwritten before it is read:
/// to the analysis, a write to a buffer is no conflict.
static bool isOverwritten(tensor::EmptyOp empty, Operation *user,
                          bufferization::MaterializeInDestinationOp move) {
  Value moved = move.getSource();
  while (auto cast = moved.getDefiningOp<tensor::CastOp>())
    moved = cast.getSource();
  llvm::SetVector<Value> values;
  for (OpOperand &use : empty->getUses())
    if (use.getOwner() == user)
      addSharers(use, values);
  addAllSharers(values);
  return llvm::any_of(values, [&](Value value) {
    return getWhole(value) != moved &&
           llvm::any_of(value.getUsers(), [&](Operation *reader) {
             Operation *before =
                 move->getBlock()->findAncestorOpInBlock(*reader);
             return !before || !before->isBeforeInBlock(move);
           });
  });
}

/// Gives ops the memory in which their results are moved, in place of empty
/// tensors.
static LogicalResult eliminateEmptyTensors(RewriterBase &rewriter,
                                           ModuleOp module) {
  bufferization::OneShotBufferizationOptions options;
  options.allowReturnAllocsFromLoops = true;
  options.bufferizeFunctionBoundaries = true;
  bufferization::OneShotAnalysisState state(module, options);
  if (failed(bufferization::analyzeModuleOp(module, state)))
    return failure();
  auto getPlace = [](RewriterBase &rewriter, SubsetInsertionOpInterface op,
                     tensor::EmptyOp empty, Operation *user) {
    auto move = dyn_cast<bufferization::MaterializeInDestinationOp>(*op);
    if (move && isa<MemRefType>(move.getDest().getType()) &&
        isOverwritten(empty, user, move))
      return Value();
    return bufferization::buildSubsetExtraction(rewriter, op, empty, user);
  };
  return bufferization::eliminateEmptyTensors(rewriter, module, state,
                                              getPlace);
}

namespace {

struct BufferizeKernelsPass
    : public impl::BufferizeKernelsBase<BufferizeKernelsPass> {
  void runOnOperation() override {
    if (failed(verifyBufferizable(getOperation())))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](Operation *op) {
      if (auto writer = dyn_cast<DestinationStyleOpInterface>(op))
        separateInits(rewriter, op, writer.getDpsInitsMutable());
      else if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
        separateInits(rewriter, op, loop.getInitsMutable());
      else if (isa<AmaxOverRanksOp>(op))
        separateInits(rewriter, op, op->getOpOperands());
    });
    getOperation().walk([&](Operation *op) {
      if (isa<scf::YieldOp, scf::ConditionOp, func::ReturnOp>(op))
        separateGiven(rewriter, op);
    });
    resolveBranchSizes(rewriter, getOperation());
    placeBranchResults(rewriter, getOperation());
    if (failed(eliminateEmptyTensors(rewriter, getOperation())))
      return signalPassFailure();
    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.allowReturnAllocsFromLoops = true;
    options.setFunctionBoundaryTypeConversion(
        bufferization::LayoutMapOption::IdentityLayoutMap);
    options.opFilter.denyOperation([](Operation *op) {
      return op->getParentOfType<KernelOp>() != nullptr;
    });
    bufferization::BufferizationState state;
    if (failed(bufferization::runOneShotModuleBufferize(getOperation(), options,
                                                        state)))
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale
