//===- RowEmitter.cpp - Ops of a row program in registers -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/LinalgBody.h"
#include "DeviceEmission/WarpExchange.h"
#include "Emission/ReductionTree.h"
#include "blockscale/Analysis/ElementwiseBody.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

RowEmitter::RowEmitter(KernelBuilder &b, const RowLayout &layout,
                       int64_t accessBytes, ArrayRef<RowOp> ops,
                       const IRMapping &arguments, const RowPosition &position,
                       Value rows)
    : b(b), layout(layout), accessBytes(accessBytes), ops(ops),
      arguments(arguments), position(position), rows(rows) {
  Value last = arith::SubIOp::create(b, rows, b.i64(1));
  loadedRow = arith::MinUIOp::create(b, position.fragment.row, last);
  Value before = arith::MulIOp::create(b, position.fragment.matrix, rows);
  loadedRow = arith::AddIOp::create(b, before, loadedRow);
  setPass({});
}

void RowEmitter::setPass(Value pass) {
  fragment = position.fragment.fragment;
  if (pass) {
    Value before = arith::MulIOp::create(
        b, pass, b.i32(layout.warpsPerRowSet * RowLayout::kRunLanes));
    fragment = arith::AddIOp::create(b, before, fragment);
  }
  loadedFragment = fragment;
  if (layout.getPlaces() != layout.fragments)
    loadedFragment =
        arith::MinUIOp::create(b, fragment, b.i32(layout.fragments - 1));
  inputs.clear();
}

Value RowEmitter::getRowNumber() {
  Value before = arith::MulIOp::create(b, position.fragment.matrix, rows);
  return arith::AddIOp::create(b, before, position.fragment.row);
}

Value RowEmitter::hasRow() { return isBelow(b, position.fragment.row, rows); }

Value RowEmitter::isFragmentBelow(int64_t bound) {
  if (bound >= layout.getPlaces())
    return {};
  return isBelow(b, fragment, b.i32(bound));
}

const RowOp *RowEmitter::findOp(Value value) {
  Operation *definition = value.getDefiningOp();
  const RowOp *found = llvm::find_if(
      ops, [&](const RowOp &row) { return row.op == definition; });
  return found == ops.end() ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value RowEmitter::getRow(Value value) {
  if (Value found = rowValues.lookup(value))
    return found;
  return rowValues[value] = loadScalar(value, loadedRow);
}

SmallVector<Value> RowEmitter::getElements(Value value, int64_t elements) {
  if (auto *found = inputs.find(value); found != inputs.end())
    return found->second;
  if (auto *found = known.find(value); found != known.end())
    return found->second;
  const RowOp *op = findOp(value);
  SmallVector<Value> vectors =
      op ? evaluate(*op, cast<OpResult>(value).getResultNumber(), elements)
         : loadElements(value, elements, /*canStage=*/false);
  known[value] = vectors;
  return vectors;
}

/// The argument that stands for an operand in the body of `op`.
static BlockArgument getBodyArgument(const RowOp &op, unsigned operand) {
  linalg::LinalgOp linalgOp = op.op;
  return linalgOp.getBlock()->getArgument(operand);
}

/// A vector for an operand in the body of `op`.
Value RowEmitter::getArgument(const RowOp &op, unsigned operand, int64_t vector,
                              int64_t elements) {
  linalg::LinalgOp linalgOp = op.op;
  Value value = linalgOp->getOperand(operand);
  BlockArgument inside = getBodyArgument(op, operand);
  int64_t size = op.iterations == RowForm::Elements ? kVectorElements : 2;
  auto type = VectorType::get({size}, inside.getType());
  if (inside.use_empty())
    return LLVM::PoisonOp::create(b, type);
  if (TypedAttr constant = getUniformConstant(value))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, constant));
  switch (op.operands[operand]) {
  case RowForm::Elements:
    return getElements(value, elements)[vector];
  case RowForm::Columns:
    if (!known.contains(value))
      known[value] = loadColumns(value, elements);
    return known[value][vector];
  case RowForm::Rows:
    return b.splat(getRow(value), size);
  case RowForm::Scalar:
    break;
  }
  if (!isa<ShapedType>(value.getType()))
    return b.splat(arguments.lookup(value), size);
  return b.splat(loadScalar(value, Value()), size);
}

SmallVector<Value> RowEmitter::evaluate(const RowOp &op, unsigned result,
                                        int64_t elements) {
  linalg::LinalgOp linalgOp = op.op;
  SmallVector<Value> vectors;
  int64_t count = llvm::divideCeil(elements, kVectorElements);
  for (int64_t vector = 0; vector < count; ++vector) {
    SmallVector<Value> values;
    for (unsigned i = 0; i < linalgOp.getNumDpsInputs(); ++i)
      values.push_back(getArgument(op, i, vector, elements));
    if (op.combiner)
      // It gives what it would combine.
      values.push_back(b.f32Splat(
          getNeutralElement(op.combiner).convertToFloat(), kVectorElements));
    vectors.push_back(
        emitLinalgBody(b, *linalgOp.getBlock(), values, [&](Value outer) {
          return b.splat(arguments.lookup(outer), kVectorElements);
        })[result]);
  }
  return vectors;
}

Value RowEmitter::evaluateRow(const RowOp &op, unsigned result) {
  linalg::LinalgOp linalgOp = op.op;
  SmallVector<Value> values;
  for (unsigned i = 0; i < linalgOp.getNumDpsInputs(); ++i)
    values.push_back(getArgument(op, i, 0, 0));
  Value pair =
      emitLinalgBody(b, *linalgOp.getBlock(), values, [&](Value outer) {
        return b.splat(arguments.lookup(outer), 2);
      })[result];
  return b.extract(pair, 0);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value RowEmitter::getInitial(const RowOp &op) {
  if (TypedAttr constant = getUniformConstant(op.initial))
    return arith::ConstantOp::create(b, constant);
  return arguments.lookup(op.initial);
}

Value RowEmitter::combine(const RowOp &op, Value lhs, Value rhs) {
  return emit::emitCombination(b, b.getLoc(), op.combiner, lhs, rhs);
}

/// Joins pairs of neighbours until one value is left.
template <typename Combine>
static Value reduceNeighbours(SmallVector<Value> values, Combine combine) {
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(combine(values[i], values[i + 1]));
    if (values.size() % 2 != 0)
      next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

/// Reduces the thread's fragment, and then the fragments of all lanes of the
/// warp that have the same row.
Value RowEmitter::reduceFragment(const RowOp &op) {
  auto join = [&](Value lhs, Value rhs) { return combine(op, lhs, rhs); };
  APFloat neutral = getNeutralElement(op.combiner);
  Value none = b.f32(neutral.convertToFloat());
  SmallVector<Value> vectors = evaluate(op, 0, layout.fragmentElements);
  known.clear();

  // The last fragment of a row may lack elements, and be all that a thread has.
  int64_t tail = layout.getTailElements();
  if (tail % kLeafElements != 0) {
    Value isFull = isFragmentBelow(layout.getFullFragments());
    for (auto [i, vector] : llvm::enumerate(vectors)) {
      int64_t present = tail - static_cast<int64_t>(i) * kVectorElements;
      if (present >= kVectorElements)
        continue;
      SmallVector<Value> elements;
      for (int64_t j = 0; j < kVectorElements; ++j) {
        Value element = b.extract(vector, j);
        if (j >= present)
          element = isFull ? arith::SelectOp::create(b, isFull, element, none)
                                 .getResult()
                           : none;
        elements.push_back(element);
      }
      vector = b.pack(elements);
    }
  }
  SmallVector<Value> leaves;
  constexpr int64_t leafVectors = kLeafElements / kVectorElements;
  for (size_t i = 0; i < vectors.size(); i += leafVectors) {
    SmallVector<Value> parts(ArrayRef(vectors).slice(i, leafVectors));
    for (size_t half = leafVectors / 2; half > 0; half /= 2)
      for (size_t j = 0; j < half; ++j)
        parts[j] = combine(op, parts[j], parts[j + half]);
    Value part = parts.front();
    for (int64_t half = kVectorElements / 2; half > 1; half /= 2)
      part = combine(op, b.slice(part, 0, half), b.slice(part, half, half));
    Value leaf = combine(op, b.extract(part, 0), b.extract(part, 1));
    // The number of fragments of a row that have this leaf.
    int64_t first = static_cast<int64_t>(i) * kVectorElements;
    int64_t have = layout.getFullFragments() + (first < tail ? 1 : 0);
    if (Value hasLeaf = isFragmentBelow(have))
      leaf = arith::SelectOp::create(b, hasLeaf, leaf, none);
    leaves.push_back(leaf);
  }
  Value value = reduceNeighbours(leaves, join);
  for (int64_t mask = 1; mask < RowLayout::kRunLanes; mask *= 2)
    value =
        combine(op, value, b.toFloat(emitShuffle(b, b.toBits(value), mask)));
  return value;
}

/// Reduces the values in `parts`, shared memory that has one value for each
/// part of the row.
Value RowEmitter::reduceParts(const RowOp &op, Value parts) {
  auto join = [&](Value lhs, Value rhs) { return combine(op, lhs, rhs); };
  auto load = [&](Value index) {
    return b.load(b.getF32Type(), b.offset(parts, b.getF32Type(), index),
                  sizeof(float));
  };
  int64_t count = layout.getParts();
  SmallVector<Value> values;
  constexpr int64_t kMostLoads = 16;
  if (count <= kMostLoads) {
    for (int64_t i = 0; i < count; ++i)
      values.push_back(load(b.i32(i)));
    return reduceNeighbours(values, join);
  }
  // A lane takes neighbours, as many as each.
  Value none = b.f32(getNeutralElement(op.combiner).convertToFloat());
  int64_t all = llvm::PowerOf2Ceil(count);
  int64_t perLane = all / RowLayout::kRunLanes;
  Value first = arith::MulIOp::create(b, position.lane, b.i32(perLane));
  for (int64_t i = 0; i < perLane; ++i) {
    Value index = arith::AddIOp::create(b, first, b.i32(i));
    Value isPart = isBelow(b, index, b.i32(count));
    index = arith::SelectOp::create(b, isPart, index, b.i32(0));
    values.push_back(arith::SelectOp::create(b, isPart, load(index), none));
  }
  Value value = reduceNeighbours(values, join);
  for (int64_t mask = 1; mask < RowLayout::kRunLanes; mask *= 2)
    value =
        combine(op, value, b.toFloat(emitShuffle(b, b.toBits(value), mask)));
  return value;
}

Value RowEmitter::reduceRow(const RowOp &op) {
  int64_t count = layout.getParts();
  if (count == 1)
    return reduceFragment(op);
  constexpr int64_t rowSetRows = ThreadMapping::kRowSetRows;
  Value all = createSharedArray(b, "parts" + std::to_string(reductions++),
                                b.getF32Type(),
                                layout.rowSetsPerBlock * rowSetRows * count);
  Value row = arith::AddIOp::create(
      b, arith::MulIOp::create(b, position.rowSet, b.i32(rowSetRows)),
      position.run);
  Value parts = b.offset(all, b.getF32Type(),
                         arith::MulIOp::create(b, row, b.i32(count)));
  auto emitPart = [&](Value first) {
    Value value = reduceFragment(op);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                          position.lane, b.i32(0));
    Value part = arith::AddIOp::create(b, first, position.warp);
    emit::emitIf(b, isFirst, [&] {
      b.store(value, b.offset(parts, b.getF32Type(), part), sizeof(float));
    });
  };
  if (layout.passes == 1) {
    emitPart(b.i32(0));
  } else {
    emit::emitLoop(b, emit::getIndex(b, 0), emit::getIndex(b, layout.passes),
                   [&](Value index) {
                     Value pass =
                         arith::IndexCastUIOp::create(b, b.getI32Type(), index);
                     setPass(pass);
                     emitPart(arith::MulIOp::create(
                         b, pass, b.i32(layout.warpsPerRowSet)));
                   });
    setPass({});
  }
  gpu::BarrierOp::create(b);
  return reduceParts(op, parts);
}

/// Makes the optimizer forget what was computed from inputs.
void RowEmitter::hideInputs() {
  for (auto &[value, vectors] : inputs)
    for (Value &vector : vectors) {
      Type type = vector.getType();
      int64_t words = kVectorElements *
                      cast<VectorType>(type).getElementTypeBitWidth() / 32;
      SmallVector<Value> hidden = b.extractAll(
          b.bitcast(VectorType::get({words}, b.getI32Type()), vector));
      for (Value &word : hidden)
        word = b.hide(word);
      vector = b.bitcast(type, b.pack(hidden));
    }
}

void RowEmitter::loadInputs() {
  SmallVector<Value> loaded;
  for (const RowOp &row : ops)
    for (auto [i, form] : llvm::enumerate(row.operands)) {
      Value value = row.op->getOperand(i);
      if (form == RowForm::Elements && isFromMemory(value) &&
          !getUniformConstant(value) && !getBodyArgument(row, i).use_empty() &&
          !llvm::is_contained(loaded, value))
        loaded.push_back(value);
    }
  // All are under way before one is waited for.
  for (Value value : llvm::reverse(loaded))
    inputs[value] = loadElements(value, layout.fragmentElements,
                                 /*canStage=*/value == loaded.front());
}

/// Computes what depends on no values of rows where it takes no more registers
/// than what nothing else needs then, a sum of two tensors say.
void RowEmitter::computeEarly() {
  llvm::SmallPtrSet<Operation *, 4> early;
  auto getBits = [](Value value) {
    return getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  };
  for (const RowOp &row : ops) {
    linalg::LinalgOp op = row.op;
    if (row.getResultForm() != RowForm::Elements ||
        llvm::is_contained(row.operands, RowForm::Rows))
      continue;
    early.insert(op);
    auto isEarly = [&](Operation *user) {
      return early.contains(user) || isa<tensor::DimOp>(user);
    };
    SmallVector<Value> last;
    for (Value operand : op.getDpsInputs())
      if (inputs.contains(operand) && !llvm::is_contained(last, operand) &&
          llvm::all_of(operand.getUsers(), isEarly))
        last.push_back(operand);
    unsigned before = 0, after = 0;
    for (Value operand : last)
      before += getBits(operand);
    for (Value result : op->getResults())
      after += getBits(result);
    if (after > before) {
      early.erase(op);
      continue;
    }
    for (OpResult result : op->getResults())
      inputs[result] =
          evaluate(row, result.getResultNumber(), layout.fragmentElements);
    for (Value operand : last)
      inputs.erase(operand);
  }
  known.clear();
}

void RowEmitter::emitRows() {
  if (layout.passes == 1) {
    loadSharedColumns();
    loadInputs();
    shareColumns();
    computeEarly();
  }
  for (const RowOp &row : ops) {
    if (row.getResultForm() != RowForm::Rows)
      continue;
    for (OpResult result : row.op->getResults()) {
      if (!row.combiner) {
        rowValues[result] = evaluateRow(row, result.getResultNumber());
        continue;
      }
      rowValues[result] = combine(row, getInitial(row), reduceRow(row));
      hideInputs();
    }
  }
}

} // namespace blockscale
