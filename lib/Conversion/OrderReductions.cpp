//===- OrderReductions.cpp - Reductions of rows on the CPU ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission/LinalgElement.h"
#include "Emission/LoopEmitter.h"
#include "Emission/ReductionTree.h"
#include "blockscale/Analysis/RowProgram.h"
#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_ORDERREDUCTIONS
#include "blockscale/Conversion/Passes.h.inc"

namespace {

/// Emits a reduction in the order of RowProgram.h.
class OrderedReduction {
public:
  OrderedReduction(linalg::LinalgOp op, Operation *combiner)
      : op(op), combiner(combiner), b(op.getLoc(), op) {}

  void emit();

private:
  void emitRow(ValueRange row);
  Value emitElement(ValueRange place);
  Value combine(Value lhs, Value rhs);
  Value load(Value index) { return memref::LoadOp::create(b, buffer, index); }
  void store(Value value, Value index) {
    memref::StoreOp::create(b, value, buffer, index);
  }
  /// buffer[to] = combination of buffer[first] and buffer[second]
  void emitStep(Value to, Value first, Value second) {
    store(combine(load(first), load(second)), to);
  }

  linalg::LinalgOp op;
  Operation *combiner;
  ImplicitLocOpBuilder b;
  int64_t elements = 0;
  /// The elements of a row.
  Value buffer;
};

} // namespace

Value OrderedReduction::combine(Value lhs, Value rhs) {
  return emit::emitCombination(b, b.getLoc(), combiner, lhs, rhs);
}

/// The value of one element that the reduction combines.
Value OrderedReduction::emitElement(ValueRange place) {
  return emit::LinalgElement(b, op, place)
      .evaluate(emit::emitNeutral(b, combiner))
      .front();
}

/// Reduces `buffer`, whose elements beyond the row are neutral.
void OrderedReduction::emitRow(ValueRange row) {
  Value zero = emit::getIndex(b, 0);
  emit::emitLoop(b, zero, emit::getIndex(b, elements), [&](Value j) {
    SmallVector<Value> place(row);
    place.push_back(j);
    store(emitElement(place), j);
  });
  int64_t count = llvm::divideCeil(elements, kLeafElements);
  emit::emitLoop(b, zero, emit::getIndex(b, count), [&](Value leaf) {
    Value first = emit::mul(b, leaf, kLeafElements);
    for (int64_t half = kLeafElements / 2; half > 0; half /= 2)
      emit::emitLoop(b, first, emit::add(b, first, emit::getIndex(b, half)),
                     [&](Value j) {
                       emitStep(j, j, emit::add(b, j, emit::getIndex(b, half)));
                     });
    store(load(first), leaf);
  });
  for (; count > 1; count = llvm::divideCeil(count, 2)) {
    emit::emitLoop(b, zero, emit::getIndex(b, count / 2), [&](Value i) {
      Value first = emit::mul(b, i, 2);
      emitStep(i, first, emit::add(b, first, emit::getIndex(b, 1)));
    });
    if (count % 2 != 0)
      store(load(emit::getIndex(b, count - 1)), emit::getIndex(b, count / 2));
  }
  OpOperand &init = op.getDpsInitsMutable()[0];
  SmallVector<Value> place(row);
  place.push_back(zero);
  emit::LinalgElement element(b, op, place);
  Value initial = element.load(init);
  element.store(combine(initial, load(zero)), init);
}

void OrderedReduction::emit() {
  elements = op.getStaticLoopRanges().back();
  buffer = emit::allocate(
      b, {static_cast<int64_t>(llvm::alignTo(elements, kLeafElements))},
      b.getF32Type());
  Value none = emit::emitNeutral(b, combiner);
  SmallVector<Range> ranges = op.createLoopRanges(b, b.getLoc());
  SmallVector<Value> place;
  std::function<void()> emitLoops = [&] {
    if (place.size() + 1 == ranges.size()) {
      // Rows leave nothing behind theirs.
      for (int64_t j = elements; j % kLeafElements != 0; ++j)
        store(none, emit::getIndex(b, j));
      return emitRow(place);
    }
    Value size = getValueOrCreateConstantIndexOp(b, b.getLoc(),
                                                 ranges[place.size()].size);
    emit::emitLoop(b, emit::getIndex(b, 0), size, [&](Value i) {
      place.push_back(i);
      emitLoops();
      place.pop_back();
    });
  };
  emitLoops();
  memref::DeallocOp::create(b, buffer);
}

namespace {

struct OrderReductionsPass
    : public impl::OrderReductionsBase<OrderReductionsPass> {
  void runOnOperation() override {
    SmallVector<std::pair<linalg::LinalgOp, Operation *>> found;
    getOperation()->walk([&](linalg::LinalgOp op) {
      Operation *combiner = findOrderedCombiner(op);
      if (combiner && op.hasPureBufferSemantics())
        found.emplace_back(op, combiner);
    });
    for (auto &[op, combiner] : found) {
      OrderedReduction(op, combiner).emit();
      op->erase();
    }
  }
};

} // namespace
} // namespace blockscale
