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

using emit::Lanes;

RowEmitter::RowEmitter(KernelBuilder &b, const RowLayout &layout,
                       int64_t accessBytes, ArrayRef<RowOp> ops,
                       const IRMapping &arguments, const RowPosition &position,
                       Lanes rows)
    : b(b), layout(layout), accessBytes(accessBytes), ops(ops),
      arguments(arguments), position(position), rows(rows) {
  loadedRow = minUnsigned(position.fragment.row, rows - 1);
  loadedRow = position.fragment.matrix * rows + loadedRow;
  firstPass = getPass({});
}

RowPass RowEmitter::getPass(Lanes number) const {
  RowPass pass;
  pass.fragment = position.fragment.fragment;
  if (number)
    pass.fragment =
        number * (layout.warpsPerRowSet * layout.runLanes) + pass.fragment;
  pass.loadedFragment = pass.fragment;
  if (layout.getPlaces() != layout.fragments)
    pass.loadedFragment =
        minUnsigned(pass.fragment, pass.fragment.like(layout.fragments - 1));
  return pass;
}

Lanes RowEmitter::isFragmentBelow(const RowPass &pass, int64_t bound) const {
  if (bound >= layout.getPlaces())
    return {};
  return isBelow(pass.fragment, bound);
}

const RowOp *RowEmitter::findOp(Value value) const {
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

/// An operand that is the same for all elements of a row.
Value RowEmitter::getScalar(RowForm form, Value value) {
  if (form == RowForm::Rows)
    return getRow(value);
  return isa<ShapedType>(value.getType()) ? loadScalar(value, Value())
                                          : arguments.lookup(value);
}

SmallVector<Value> FragmentVectors::get(Value value) {
  if (const auto *found = pass.inputs.find(value); found != pass.inputs.end())
    return found->second;
  if (auto *found = known.find(value); found != known.end())
    return found->second;
  const RowOp *op = rows.findOp(value);
  SmallVector<Value> vectors =
      op ? evaluate(*op, cast<OpResult>(value).getResultNumber())
         : rows.loadElements(pass, value, elements, /*canStage=*/false);
  known[value] = vectors;
  return vectors;
}

/// Vector number `vector` of an operand.
Value FragmentVectors::getOperand(const RowOp &op, OpOperand &operand,
                                  int64_t vector) {
  Value value = operand.get();
  RowForm form = op.operands[operand.getOperandNumber()];
  if (form == RowForm::Elements)
    return get(value)[vector];
  if (form != RowForm::Columns)
    return rows.b.splat(rows.getScalar(form, value),
                        RowEmitter::kVectorElements);
  if (!known.contains(value))
    known[value] = rows.loadColumns(pass, value, elements);
  return known[value][vector];
}

SmallVector<Value> FragmentVectors::evaluate(const RowOp &op, unsigned result) {
  constexpr int64_t size = RowEmitter::kVectorElements;
  SmallVector<Value> vectors;
  int64_t count = llvm::divideCeil(elements, size);
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> neutral;
    if (op.combiner)
      neutral.push_back(rows.b.f32Splat(
          getNeutralElement(op.combiner).convertToFloat(), size));
    vectors.push_back(emitLinalgOp(
        rows.b, op.op, size,
        [&](OpOperand &operand) { return getOperand(op, operand, i); },
        [&](Value outer) { return rows.arguments.lookup(outer); },
        neutral)[result]);
  }
  return vectors;
}

/// A result of an op on values that rows have one of.
Value RowEmitter::evaluateRow(const RowOp &op, unsigned result) {
  // Arithmetic is emitted for two elements.
  constexpr int64_t size = 2;
  Value pair = emitLinalgOp(
      b, op.op, size,
      [&](OpOperand &operand) -> Value {
        RowForm form = op.operands[operand.getOperandNumber()];
        return b.splat(getScalar(form, operand.get()), size);
      },
      [&](Value outer) { return arguments.lookup(outer); })[result];
  return b.extract(pair, 0);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value RowEmitter::getInitial(const RowOp &op) const {
  if (TypedAttr constant = getUniformConstant(op.initial))
    return arith::ConstantOp::create(b, constant);
  return arguments.lookup(op.initial);
}

Lanes RowEmitter::combine(const RowOp &op, Value lhs, Value rhs) const {
  return {b, emit::emitCombination(b, b.getLoc(), op.combiner, lhs, rhs)};
}

/// Joins pairs of neighbours until one value is left.
template <typename Combine>
static Lanes reduceNeighbours(SmallVector<Lanes> values, Combine combine) {
  while (values.size() > 1) {
    SmallVector<Lanes> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(combine(values[i], values[i + 1]));
    if (values.size() % 2 != 0)
      next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

/// Reduces the values of the lanes of the warp that have the same row.
Lanes RowEmitter::reduceLanes(const RowOp &op, Lanes value) const {
  for (int64_t mask = 1; mask < layout.runLanes; mask *= 2)
    value =
        combine(op, value, b.toFloat(emitShuffle(b, b.toBits(value), mask)));
  return value;
}

/// Reduces the thread's fragment, and then the fragments of all lanes of the
/// warp that have the same row.
Lanes RowEmitter::reduceFragment(const RowOp &op, const RowPass &pass) {
  auto join = [&](Lanes lhs, Lanes rhs) { return combine(op, lhs, rhs); };
  Lanes none = b.f32(getNeutralElement(op.combiner).convertToFloat());
  SmallVector<Value> vectors =
      FragmentVectors(*this, pass, layout.fragmentElements).evaluate(op, 0);

  // The last fragment of a row may lack elements, and be all that a thread has.
  int64_t tail = layout.getTailElements();
  if (tail % kLeafElements != 0) {
    Lanes isFull = isFragmentBelow(pass, layout.getFullFragments());
    for (auto [i, vector] : llvm::enumerate(vectors)) {
      int64_t present = tail - static_cast<int64_t>(i) * kVectorElements;
      if (present >= kVectorElements)
        continue;
      SmallVector<Value> elements;
      for (int64_t j = 0; j < kVectorElements; ++j) {
        Lanes element = b.extract(vector, j);
        if (j >= present)
          element = isFull ? select(isFull, element, none) : none;
        elements.push_back(element);
      }
      vector = b.pack(elements);
    }
  }
  SmallVector<Lanes> leaves;
  constexpr int64_t leafVectors = kLeafElements / kVectorElements;
  for (size_t i = 0; i < vectors.size(); i += leafVectors) {
    SmallVector<Value> parts(ArrayRef(vectors).slice(i, leafVectors));
    for (size_t half = leafVectors / 2; half > 0; half /= 2)
      for (size_t j = 0; j < half; ++j)
        parts[j] = combine(op, parts[j], parts[j + half]);
    Value part = parts.front();
    for (int64_t half = kVectorElements / 2; half > 1; half /= 2)
      part = combine(op, b.slice(part, 0, half), b.slice(part, half, half));
    Lanes leaf = combine(op, b.extract(part, 0), b.extract(part, 1));
    // The number of fragments of a row that have this leaf.
    int64_t first = static_cast<int64_t>(i) * kVectorElements;
    int64_t have = layout.getFullFragments() + (first < tail ? 1 : 0);
    if (Lanes hasLeaf = isFragmentBelow(pass, have))
      leaf = select(hasLeaf, leaf, none);
    leaves.push_back(leaf);
  }
  return reduceLanes(op, reduceNeighbours(leaves, join));
}

/// Reduces the values in `parts`, shared memory that has one value for each
/// part of the row.
Lanes RowEmitter::reduceParts(const RowOp &op, Value parts) const {
  auto join = [&](Lanes lhs, Lanes rhs) { return combine(op, lhs, rhs); };
  auto load = [&](Lanes index) {
    return b.load(b.getF32Type(), b.offset(parts, b.getF32Type(), index),
                  sizeof(float));
  };
  int64_t count = layout.getParts();
  SmallVector<Lanes> values;
  constexpr int64_t kMostLoads = 16;
  if (count <= kMostLoads) {
    for (int64_t i = 0; i < count; ++i)
      values.push_back(load(b.i32(i)));
    return reduceNeighbours(values, join);
  }
  // A lane takes neighbours, as many as each.
  Lanes none = b.f32(getNeutralElement(op.combiner).convertToFloat());
  int64_t all = llvm::PowerOf2Ceil(count);
  int64_t perLane = all / layout.runLanes;
  Lanes first = position.lane * perLane;
  for (int64_t i = 0; i < perLane; ++i) {
    Lanes index = first + i;
    Lanes isPart = isBelow(index, count);
    index = select(isPart, index, index.like(0));
    values.push_back(select(isPart, load(index), none));
  }
  return reduceLanes(op, reduceNeighbours(values, join));
}

Lanes RowEmitter::reduceRow(const RowOp &op) {
  int64_t count = layout.getParts();
  if (count == 1)
    return reduceFragment(op, firstPass);
  int64_t rowSetRows = layout.getRowSetRows();
  Value all = createSharedArray(b, "parts" + std::to_string(reductions++),
                                b.getF32Type(),
                                layout.rowSetsPerBlock * rowSetRows * count);
  Lanes row = position.rowSet * rowSetRows + position.run;
  Value parts = b.offset(all, b.getF32Type(), row * count);
  auto emitPart = [&](const RowPass &pass, Lanes first) {
    Lanes value = reduceFragment(op, pass);
    Lanes isFirst = isEqual(position.lane, 0);
    Lanes part = first + position.warp;
    emit::emitIf(b, isFirst, [&] {
      b.store(value, b.offset(parts, b.getF32Type(), part), sizeof(float));
    });
  };
  if (layout.passes == 1)
    emitPart(firstPass, b.i32(0));
  else
    emitPasses([&](Lanes number, const RowPass &pass) {
      emitPart(pass, number * layout.warpsPerRowSet);
    });
  gpu::BarrierOp::create(b);
  return reduceParts(op, parts);
}

void RowEmitter::emitPasses(
    function_ref<void(Lanes, const RowPass &)> body) const {
  emit::emitLoop(
      b, emit::getIndex(b, 0), emit::getIndex(b, layout.passes),
      [&](Lanes index) {
        Lanes number(b, arith::IndexCastUIOp::create(b, b.getI32Type(), index));
        body(number, getPass(number));
      });
}

Lanes RowEmitter::emitPasses(
    Value init, function_ref<Value(Lanes, const RowPass &)> body) const {
  return emit::emitReduction(
      b, emit::getIndex(b, 0), emit::getIndex(b, layout.passes), init,
      [&](Lanes index, Lanes carried) {
        Lanes number(b, arith::IndexCastUIOp::create(b, b.getI32Type(), index));
        return body(carried, getPass(number));
      });
}

/// Makes the optimizer forget what was computed from inputs.
void RowEmitter::hideInputs() {
  for (auto &[value, vectors] : firstPass.inputs)
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
      linalg::LinalgOp op = row.op;
      Value value = op->getOperand(i);
      if (form == RowForm::Elements && !findOp(value) &&
          !getUniformConstant(value) &&
          !op.getBlock()->getArgument(i).use_empty() &&
          !llvm::is_contained(loaded, value))
        loaded.push_back(value);
    }
  // All are under way before one is waited for.
  for (Value value : llvm::reverse(loaded))
    firstPass.inputs[value] =
        loadElements(firstPass, value, layout.fragmentElements,
                     /*canStage=*/value == loaded.front());
}

/// Computes what depends on no values of rows but those that are known, where
/// it takes no more registers than what nothing else needs then: a sum of two
/// tensors say, or behind a maximum the exponentials of the elements. With
/// `onlyReduced`, it is what a reduction that follows needs, too.
void RowEmitter::computeEarly(bool onlyReduced) {
  RowVectors &inputs = firstPass.inputs;
  FragmentVectors vectors(*this, firstPass, layout.fragmentElements);
  auto getBits = [](Value value) {
    return getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  };
  for (const RowOp &row : ops) {
    linalg::LinalgOp op = row.op;
    auto isKnown = [&](OpOperand &operand) {
      return row.operands[operand.getOperandNumber()] != RowForm::Rows ||
             rowValues.contains(operand.get());
    };
    auto isToReduce = [&](Operation *user) {
      auto reduction = dyn_cast<linalg::LinalgOp>(user);
      return reduction && reduction.getNumReductionLoops() != 0 &&
             !computed.contains(user);
    };
    if (row.getResultForm() != RowForm::Elements || computed.contains(op) ||
        !llvm::all_of(op->getOpOperands(), isKnown) ||
        (onlyReduced && llvm::none_of(op->getUsers(), isToReduce)))
      continue;
    computed.insert(op);
    auto isComputed = [&](Operation *user) {
      return computed.contains(user) || isa<tensor::DimOp>(user);
    };
    SmallVector<Value> last;
    for (Value operand : op.getDpsInputs())
      if (inputs.contains(operand) && !llvm::is_contained(last, operand) &&
          llvm::all_of(operand.getUsers(), isComputed))
        last.push_back(operand);
    unsigned before = 0, after = 0;
    for (Value operand : last)
      before += getBits(operand);
    for (Value result : op->getResults())
      after += getBits(result);
    if (after > before) {
      computed.erase(op);
      continue;
    }
    for (OpResult result : op->getResults())
      inputs[result] = vectors.evaluate(row, result.getResultNumber());
    for (Value operand : last)
      inputs.erase(operand);
  }
}

void RowEmitter::emitRows(const StagedMoves *moves) {
  staged = moves;
  if (layout.passes == 1) {
    loadSharedColumns();
    loadInputs();
    shareColumns();
    computeEarly(/*onlyReduced=*/false);
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
    computed.insert(row.op);
    if (layout.passes == 1)
      computeEarly(/*onlyReduced=*/true);
  }
}

} // namespace blockscale
