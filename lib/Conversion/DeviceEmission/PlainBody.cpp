//===- PlainBody.cpp - Bodies of plain kernels ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainBody.h"
#include "Emission/AssertReport.h"
#include "Emission/LoopEmitter.h"
#include "ErrorWriter.h"
#include "MathIntrinsics.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace blockscale {

//===----------------------------------------------------------------------===//
// What kernels can have
//===----------------------------------------------------------------------===//

/// Why a kernel cannot have `op`; empty if it can.
static StringRef findBodyObstacle(Operation *op, scf::ParallelOp loop) {
  if (isa<memref::LoadOp, memref::StoreOp>(op)) {
    Value memref = op->getOperand(isa<memref::StoreOp>(op) ? 1 : 0);
    return loop.isDefinedOutsideOfLoop(memref)
               ? ""
               : "of a buffer that is made in the loop";
  }
  if (isa<cf::AssertOp>(op))
    return "";
  // A remainder of floats would be a call of CUDA's device library, and so
  // would other math.
  if (isa<arith::RemFOp>(op))
    return "whose value depends on the target's library";
  if (isa<math::MathDialect>(op->getDialect()))
    return getMathIntrinsic(op).empty()
               ? "whose value depends on the target's library"
               : "";
  bool isKnown = isa<affine::AffineApplyOp, ub::PoisonOp, scf::ForOp, scf::IfOp,
                     scf::WhileOp, scf::ConditionOp, scf::IndexSwitchOp,
                     scf::YieldOp, scf::ReduceOp>(op) ||
                 isa<arith::ArithDialect>(op->getDialect());
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  if (isKnown && llvm::all_of(op->getOperandTypes(), isScalar) &&
      llvm::all_of(op->getResultTypes(), isScalar))
    return "";
  return "in a loop over elements";
}

LogicalResult verifyPlainBody(scf::ParallelOp loop) {
  if (loop.getNumResults() != 0)
    return loop.emitOpError("expected a parallel loop without results, which "
                            "store what they reduce, but got ")
           << loop.getNumResults();
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    StringRef obstacle = findBodyObstacle(op, loop);
    if (obstacle.empty())
      return WalkResult::advance();
    op->emitOpError() << obstacle
                      << " has no form on a GPU: expected scalar arithmetic, "
                         "math that blockscale-expand-math expands, scf, "
                         "assertions, and loads and stores of the function's "
                         "buffers";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The type that memory holds an element as.
static Type getStoredType(Type element, KernelBuilder &b) {
  if (element.isIndex())
    return b.getI64Type();
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits <= 8)
    return b.getI8Type();
  return element;
}

static unsigned getBytes(Type stored) {
  return llvm::divideCeil(stored.getIntOrFloatBitWidth(), 8);
}

static Value emitElementAddress(KernelBuilder &b, const PlainMemory &memory,
                                Type stored, ValueRange indices) {
  Value place = emit::getIndex(b, 0);
  for (auto [index, stride] : llvm::zip_equal(indices, memory.strides))
    place = emit::add(b, place, emit::mul(b, index, stride));
  place = arith::IndexCastOp::create(b, b.getI64Type(), place);
  return b.offset(memory.pointer, stored, place);
}

/// memref.load %x[%i, %j] becomes
///
///   %p = llvm.getelementptr %px[%i * %stride + %j]
///   llvm.load %p
static void lowerLoad(KernelBuilder &b, memref::LoadOp op,
                      const PlainMemory &memory) {
  Type element = op.getType();
  Type stored = getStoredType(element, b);
  Value value =
      b.load(stored, emitElementAddress(b, memory, stored, op.getIndices()),
             getBytes(stored));
  if (element.isIndex())
    value = arith::IndexCastOp::create(b, element, value);
  else if (element.isInteger(1))
    value = arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne, value,
        arith::ConstantOp::create(b, b.getIntegerAttr(stored, 0)));
  else if (element.isInteger() && stored != element)
    value = arith::TruncIOp::create(b, element, value);
  else if (stored != element)
    value = arith::BitcastOp::create(b, element, value);
  op.replaceAllUsesWith(value);
}

static void lowerStore(KernelBuilder &b, memref::StoreOp op,
                       const PlainMemory &memory) {
  Value value = op.getValueToStore();
  Type element = value.getType();
  Type stored = getStoredType(element, b);
  if (element.isIndex())
    value = arith::IndexCastOp::create(b, stored, value);
  else if (element.isInteger() && stored != element)
    value = arith::ExtUIOp::create(b, stored, value);
  else if (stored != element)
    value = arith::BitcastOp::create(b, stored, value);
  b.store(value, emitElementAddress(b, memory, stored, op.getIndices()),
          getBytes(stored));
}

//===----------------------------------------------------------------------===//
// Assertions
//===----------------------------------------------------------------------===//

/// cf.assert %holds, "text" becomes
///
///   scf.if !%holds {
///     // writes the error record
///   }
///
/// The thread goes on, as it would do without the assertion.
static void lowerAssert(KernelBuilder &b, cf::AssertOp op) {
  using emit::Lanes;
  Lanes holds(b, op.getArg());
  emit::emitIf(b, holds ^ holds.like(1), [&] {
    emit::AssertReport broken(op);
    emitErrorRecord(b, broken.getText(), Lanes(b, broken.emitExpected(b)),
                    Lanes(b, broken.emitFound(b)));
  });
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

static void lowerOp(KernelBuilder &b, Operation *op,
                    const llvm::MapVector<Value, PlainMemory> &memories) {
  b.setLoc(op->getLoc());
  b.setInsertionPoint(op);
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    lowerLoad(b, load, memories.lookup(load.getMemRef()));
  } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
    lowerStore(b, store, memories.lookup(store.getMemRef()));
  } else if (auto check = dyn_cast<cf::AssertOp>(op)) {
    lowerAssert(b, check);
  } else if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    std::optional<SmallVector<Value, 8>> index = affine::expandAffineMap(
        b, b.getLoc(), apply.getAffineMap(), apply.getMapOperands());
    apply.replaceAllUsesWith(index->front());
  } else if (StringRef name = getMathIntrinsic(op); !name.empty()) {
    op->getResult(0).replaceAllUsesWith(
        b.callIntrinsic(name, op->getOperands()));
  } else {
    return;
  }
  op->erase();
}

void lowerPlainOps(KernelBuilder &b, ArrayRef<Operation *> ops,
                   const llvm::MapVector<Value, PlainMemory> &memories) {
  OpBuilder::InsertionGuard guard(b);
  for (Operation *op : ops)
    op->walk<WalkOrder::PostOrder>(
        [&](Operation *inside) { lowerOp(b, inside, memories); });
}

void emitPlainBody(KernelBuilder &b, scf::ParallelOp loop, IRMapping &values,
                   const llvm::MapVector<Value, PlainMemory> &memories) {
  SmallVector<Operation *> ops;
  for (Operation &op : loop.getBody()->without_terminator())
    ops.push_back(b.clone(op, values));
  lowerPlainOps(b, ops, memories);
}

} // namespace blockscale
