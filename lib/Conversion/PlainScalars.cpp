//===- PlainScalars.cpp - Scalars that the host does not have -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainScalars.h"
#include "DeviceEmission/DevicePlaces.h"
#include "Emission/PlainLoop.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

static bool isScalar(Type type) { return type.isIntOrIndexOrFloat(); }

/// Whether a thread of the device can compute `op` instead of the host.
static bool isScalarOp(Operation *op) {
  if (isa<memref::LoadOp, memref::StoreOp, cf::AssertOp>(op))
    return true;
  return op->getNumRegions() == 0 && isPure(op) &&
         !op->hasTrait<OpTrait::IsTerminator>() &&
         llvm::all_of(op->getOperandTypes(), isScalar) &&
         llvm::all_of(op->getResultTypes(), isScalar);
}

namespace {

/// Moves the scalars of a block.
class ScalarMover {
public:
  explicit ScalarMover(Block &block) : block(block) {}

  LogicalResult move();

private:
  void gatherAssertions();
  bool isMoved(Operation *op) const;
  FailureOr<scf::ParallelOp> moveRun();
  LogicalResult share(OpResult value, scf::ParallelOp loop);
  LogicalResult replace(OpOperand &use, Value buffer);

  Block &block;
  /// Ops that become the body of one loop; nothing between them reads or writes
  /// memory.
  llvm::SetVector<Operation *> run;
};

} // namespace

/// Lets each assertion have its comparison in front of it, so that both are in
/// one kernel, which says the numbers.
void ScalarMover::gatherAssertions() {
  for (auto check : block.getOps<cf::AssertOp>()) {
    auto compare = check.getArg().getDefiningOp<arith::CmpIOp>();
    if (!compare || compare->getNextNode() == check)
      continue;
    OpBuilder builder(check);
    check.getArgMutable().assign(builder.clone(*compare)->getResult(0));
  }
}

bool ScalarMover::isMoved(Operation *op) const {
  if (op->hasAttr(kPlaceAttrName))
    return false;
  if (isa<memref::LoadOp, memref::StoreOp>(op))
    return true;
  return isScalarOp(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
           return operand.getDefiningOp() &&
                  run.contains(operand.getDefiningOp());
         });
}

/// Lets a use read what a loop has left in a buffer.
LogicalResult ScalarMover::replace(OpOperand &use, Value buffer) {
  Operation *user = use.getOwner();
  OpBuilder builder(user);
  auto loop = user->getParentOfType<scf::ParallelOp>();
  for (auto outer = loop; outer;
       outer = outer->getParentOfType<scf::ParallelOp>())
    loop = outer;
  if (loop)
    builder.setInsertionPointToStart(loop.getBody());
  else if (!isScalarOp(user))
    return user->emitOpError()
           << "expected operand " << use.getOperandNumber()
           << " to be known to the host before anything runs, as constants, "
              "sizes and integer arguments are, but got a value that the "
              "device computes from an element of memory";
  use.set(memref::LoadOp::create(builder, user->getLoc(), buffer));
  return success();
}

/// Gives a value of the body of `loop` to its uses outside.
LogicalResult ScalarMover::share(OpResult value, scf::ParallelOp loop) {
  SmallVector<OpOperand *> outside;
  for (OpOperand &use : value.getUses())
    if (!loop->isProperAncestor(use.getOwner()))
      outside.push_back(&use);
  if (outside.empty())
    return success();
  OpBuilder builder(loop);
  Value buffer = memref::AllocOp::create(builder, value.getLoc(),
                                         MemRefType::get({}, value.getType()));
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  memref::StoreOp::create(builder, value.getLoc(), value, buffer);
  for (OpOperand *use : outside)
    if (failed(replace(*use, buffer)))
      return failure();
  return success();
}

/// Moves the run into a loop behind its last op.
FailureOr<scf::ParallelOp> ScalarMover::moveRun() {
  SmallVector<Operation *> ops = run.takeVector();
  ImplicitLocOpBuilder b(ops.front()->getLoc(), ops.back()->getContext());
  b.setInsertionPointAfter(ops.back());
  scf::ParallelOp loop =
      emit::createPlainLoop(b, {}, "scalars", [](ValueRange) {});
  for (Operation *op : ops)
    op->moveBefore(loop.getBody()->getTerminator());
  for (Operation *op : ops)
    for (OpResult result : op->getResults())
      if (failed(share(result, loop)))
        return failure();
  return loop;
}

LogicalResult ScalarMover::move() {
  gatherAssertions();
  // The region of an scf.forall.in_parallel may be empty.
  for (Operation *op = block.empty() ? nullptr : &block.front(); op;) {
    bool isBetween = op->getNumRegions() == 0 &&
                     (isMemoryEffectFree(op) || isa<memref::AllocOp>(op)) &&
                     !op->hasTrait<OpTrait::IsTerminator>();
    if (isMoved(op)) {
      run.insert(op);
    } else if (!isBetween && !run.empty()) {
      FailureOr<scf::ParallelOp> loop = moveRun();
      if (failed(loop))
        return failure();
      // Loads of what the run has left may stand from here on.
      op = *loop;
    }
    op = op->getNextNode();
  }
  return success();
}

LogicalResult moveScalars(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp, scf::ParallelOp>(op))
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        blocks.push_back(&block);
    return WalkResult::advance();
  });
  for (Block *block : blocks)
    if (failed(ScalarMover(*block).move()))
      return failure();
  return success();
}

void dropElementAssertions(func::FuncOp function) {
  SmallVector<cf::AssertOp> dropped;
  function->walk([&](cf::AssertOp check) {
    llvm::SetVector<Operation *> slice;
    (void)getBackwardSlice(check.getArg(), &slice, {});
    if (llvm::any_of(slice, llvm::IsaPred<memref::LoadOp>))
      dropped.push_back(check);
  });
  for (cf::AssertOp check : dropped)
    check.erase();
}

} // namespace blockscale
