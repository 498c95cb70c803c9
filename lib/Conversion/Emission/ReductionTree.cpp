//===- ReductionTree.cpp - Reductions of rows in registers ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tree over leaves is built as a binary counter counts: after n leaves,
// level l holds the value of 2^l leaves if bit l of n is set. A new leaf is a
// carry: it is combined with the level that it meets and goes on to the next,
// up to the first that is empty.
//
//===----------------------------------------------------------------------===//

#include "ReductionTree.h"
#include "LoopEmitter.h"
#include "blockscale/Analysis/RowProgram.h"

using namespace mlir;

namespace blockscale::emit {

namespace {

class ReductionTree {
public:
  ReductionTree(ImplicitLocOpBuilder &b, function_ref<Value(Value)> element,
                function_ref<Value(Value, Value)> combine)
      : b(b), element(element), combine(combine) {}

  Value emit(int64_t count);

private:
  Value emitLeaf(Value first, int64_t count);
  SmallVector<Value> emitCarry(Value number, Value leaf, ValueRange levels);

  ImplicitLocOpBuilder &b;
  function_ref<Value(Value)> element;
  function_ref<Value(Value, Value)> combine;
};

} // namespace

/// The first `count` elements of a leaf that begins at `first`.
Value ReductionTree::emitLeaf(Value first, int64_t count) {
  SmallVector<Value> values(kLeafElements);
  for (int64_t j = 0; j < count; ++j)
    values[j] = element(add(b, first, getIndex(b, j)));
  for (int64_t half = kLeafElements / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j)
      if (values[j + half])
        values[j] = combine(values[j], values[j + half]);
  return values.front();
}

/// The levels after leaf `number`, a value of the loop.
SmallVector<Value> ReductionTree::emitCarry(Value number, Value leaf,
                                            ValueRange levels) {
  Value zero = getIndex(b, 0);
  Value isCarried = arith::ConstantOp::create(b, b.getBoolAttr(true));
  SmallVector<Value> after;
  for (auto [level, value] : llvm::enumerate(levels)) {
    Value bit =
        arith::AndIOp::create(b, number, getIndex(b, int64_t(1) << level));
    Value isFull =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, zero);
    Value isEmpty =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bit, zero);
    Value stays = arith::AndIOp::create(b, isCarried, isEmpty);
    after.push_back(arith::SelectOp::create(b, stays, leaf, value));
    isCarried = arith::AndIOp::create(b, isCarried, isFull);
    leaf = arith::SelectOp::create(b, isCarried, combine(value, leaf), leaf);
  }
  return after;
}

Value ReductionTree::emit(int64_t count) {
  int64_t leaves = count / kLeafElements, rest = count % kLeafElements;
  // The levels of all full leaves but the last, which like the elements behind
  // it is carried by code of its own.
  int64_t looped = rest == 0 ? leaves - 1 : leaves;
  SmallVector<Value> levels;
  if (looped > 0) {
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(b.getF32Type()));
    levels.assign(llvm::Log2_64(looped) + 1, none);
    levels = emitReduction(b, getIndex(b, 0), getIndex(b, looped), levels,
                           [&](Value number, ValueRange carried) {
                             Value leaf = emitLeaf(
                                 mul(b, number, kLeafElements), kLeafElements);
                             return emitCarry(number, leaf, carried);
                           });
  }
  Value value = emitLeaf(getIndex(b, looped * kLeafElements),
                         rest == 0 ? kLeafElements : rest);
  // The last leaf is combined with every level that holds something.
  for (auto [level, earlier] : llvm::enumerate(levels))
    if (looped >> level & 1)
      value = combine(earlier, value);
  return value;
}

Value emitReductionTree(ImplicitLocOpBuilder &b, int64_t count,
                        function_ref<Value(Value)> element,
                        function_ref<Value(Value, Value)> combine) {
  return ReductionTree(b, element, combine).emit(count);
}

Value emitCombination(OpBuilder &b, Location loc, Operation *combiner,
                      Value lhs, Value rhs) {
  return b
      .create(loc, combiner->getName().getIdentifier(), {lhs, rhs},
              {lhs.getType()})
      ->getResult(0);
}

Value emitNeutral(ImplicitLocOpBuilder &b, Operation *combiner) {
  return arith::ConstantOp::create(
      b, b.getFloatAttr(b.getF32Type(), getNeutralElement(combiner)));
}

} // namespace blockscale::emit
