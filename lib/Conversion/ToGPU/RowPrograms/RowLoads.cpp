//===- RowLoads.cpp - What row programs read ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/BlockElements.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/LinalgBody.h"
#include "RowEmitter.h"
#include "blockscale/Analysis/ElementwiseBody.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static constexpr int64_t kPartBytes = WarpBuffer::kPartBytes;
static constexpr int64_t kPartWords = WarpBuffer::kPartWords;

/// Vectors of `type` of consecutive words.
static SmallVector<Value> toVectors(KernelBuilder &b, ArrayRef<Value> loaded,
                                    Type type) {
  SmallVector<Value> words;
  for (Value value : loaded)
    llvm::append_range(words, b.extractAll(value));
  int64_t perWord = 32 / type.getIntOrFloatBitWidth();
  size_t vectorWords = RowEmitter::kVectorElements / perWord;
  auto vector = VectorType::get({RowEmitter::kVectorElements}, type);
  SmallVector<Value> vectors;
  for (size_t i = 0; i < words.size(); i += vectorWords)
    vectors.push_back(
        b.bitcast(vector, b.pack(ArrayRef(words).slice(i, vectorWords))));
  return vectors;
}

/// The values of columns that bodies read only as f32.
static llvm::SmallSetVector<Value, 2> getWidenedColumns(ArrayRef<RowOp> ops) {
  llvm::SmallSetVector<Value, 2> columns, others;
  for (const RowOp &row : ops)
    for (auto [i, form] : llvm::enumerate(row.operands)) {
      linalg::LinalgOp op = row.op;
      Value value = op->getOperand(i);
      BlockArgument inside = op.getBlock()->getArgument(i);
      if (form == RowForm::Columns && !getUniformConstant(value) &&
          !inside.use_empty())
        (isReadAsF32(inside) ? columns : others).insert(value);
    }
  columns.set_subtract(others);
  return columns;
}

/// Words of the first `present` elements of a fragment at `pointer`, zeros
/// behind.
SmallVector<Value> RowEmitter::loadOwn(Value pointer, Type type,
                                       int64_t present) const {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  BlockElements elements =
      BlockElements::load(b, pointer, type, layout.fragmentElements, present,
                          std::gcd(layout.rowElements * bytes, accessBytes));
  return llvm::to_vector(elements.getWords());
}

/// Words of a fragment at `pointer`, of which `elements` are asked for. Where
/// these are all, the row may have fewer.
SmallVector<Value> RowEmitter::loadFragment(const RowPass &pass, Value pointer,
                                            Type type, int64_t elements) const {
  int64_t tail = layout.getTailElements();
  if (tail == 0 || elements == tail || layout.getFullFragments() == 0)
    return loadOwn(pointer, type, tail == 0 ? elements : tail);
  auto getWords = [&](int64_t present) {
    SmallVector<Value> words;
    for (Value vector : loadOwn(pointer, type, present))
      llvm::append_range(words, b.extractAll(vector));
    return words;
  };
  SmallVector<Type> types(layout.fragmentElements *
                              type.getIntOrFloatBitWidth() / 32,
                          b.getI32Type());
  SmallVector<Value> words = emitIfElse(
      b, isBelow(pass.loadedFragment, layout.getFullFragments()), types,
      [&] { return getWords(layout.fragmentElements); },
      [&] { return getWords(tail); });
  constexpr size_t kVectorWords = 4;
  SmallVector<Value> vectors;
  for (size_t i = 0; i < words.size(); i += kVectorWords)
    vectors.push_back(b.pack(ArrayRef(words).slice(i, kVectorWords)));
  return vectors;
}

SmallVector<Value> RowEmitter::loadElements(const RowPass &pass, Value value,
                                            int64_t elements,
                                            bool canStage) const {
  Type type = getElementTypeOrSelf(value);
  int64_t typeBytes = type.getIntOrFloatBitWidth() / 8;
  auto getPointer = [&](Lanes row, Lanes fragment) {
    Lanes first = row * layout.rowElements;
    Lanes inRow = extend(fragment, 64) * layout.fragmentElements;
    return b.offset(arguments.lookup(value), type, first + inRow);
  };
  auto load = [&] {
    return loadFragment(pass, getPointer(loadedRow, pass.loadedFragment), type,
                        elements);
  };
  int64_t bytes = layout.fragmentElements * typeBytes;
  if (!canStage || !staged || bytes != staged->getFragmentBytes())
    return toVectors(b, load(), type);
  return toVectors(
      b,
      staged->load(
          b, [&] { return getPointer(getRowNumber(), pass.fragment); },
          layout.rowStride * layout.rowElements * typeBytes, load),
      type);
}

/// Loads the lane's part of those values of columns that shared memory has room
/// for, where all lanes have columns. They are on their way with the inputs.
void RowEmitter::loadSharedColumns() {
  if (!staged ||
      layout.getPlaces() * layout.fragmentElements != layout.rowElements)
    return;
  const WarpBuffer &buffer = staged->getBuffer();
  int64_t fragmentBytes = layout.fragmentElements * kWordBytes, begin = 0;
  if (!buffer.canShare(fragmentBytes))
    return;
  Lanes lane = position.run * layout.runLanes + position.lane;
  Lanes first = position.warp * (layout.runLanes * layout.fragmentElements) +
                lane * kPartWords;
  for (Value value : getWidenedColumns(ops)) {
    int64_t end = begin + layout.runLanes * fragmentBytes;
    if (end > buffer.getBytes())
      return;
    Type type = getElementTypeOrSelf(value);
    int64_t bytes = kPartWords * type.getIntOrFloatBitWidth() / 8;
    auto part = VectorType::get({kPartWords}, type);
    Value pointer = b.offset(arguments.lookup(value), type, first);
    SharedColumn &column = sharedColumns[value];
    column.begin = begin;
    for (int64_t at = 0; at < end - begin; at += kWarpThreads * kPartBytes)
      column.loaded.push_back(
          b.load(part, b.offset(pointer, type, b.i64(at / kWordBytes)), bytes));
    begin = end;
  }
}

/// Stores the loaded values of columns, widened to f32, to the shared memory
/// that fragments had, which are in registers now.
void RowEmitter::shareColumns() {
  if (sharedColumns.empty())
    return;
  WarpBuffer::release(b);
  auto words = VectorType::get({kPartWords}, b.getI32Type());
  int64_t fragmentBytes = layout.fragmentElements * kWordBytes;
  for (auto &[value, column] : sharedColumns)
    for (auto [part, place] : llvm::zip_equal(
             column.loaded,
             staged->getBuffer().getShared(b, fragmentBytes, column.begin))) {
      if (!getElementTypeOrSelf(value).isF32())
        part = emitExtend(b, part);
      b.store(b.bitcast(words, part), place, kPartBytes);
    }
  WarpBuffer::release(b);
}

void RowEmitter::loadEarly(ArrayRef<Value> columns) {
  for (Value value : columns)
    earlyColumns[value] =
        loadColumns(firstPass, value, layout.fragmentElements);
}

SmallVector<Value> RowEmitter::loadColumns(const RowPass &pass, Value value,
                                           int64_t elements) const {
  if (const auto *found = earlyColumns.find(value); found != earlyColumns.end())
    return llvm::to_vector(
        ArrayRef(found->second)
            .take_front(llvm::divideCeil(elements, kVectorElements)));
  Type type = getElementTypeOrSelf(value);
  if (const auto *found = sharedColumns.find(value);
      found != sharedColumns.end())
    return toVectors(
        b,
        staged->getBuffer().readShared(b, layout.fragmentElements * kWordBytes,
                                       found->second.begin),
        b.getF32Type());
  Lanes first = extend(pass.loadedFragment, 64) * layout.fragmentElements;
  Value pointer = b.offset(arguments.lookup(value), type, first);
  return toVectors(b, loadFragment(pass, pointer, type, elements), type);
}

Value RowEmitter::loadScalar(Value value, Value index) const {
  Type type = getElementTypeOrSelf(value);
  Value pointer = arguments.lookup(value);
  if (index)
    pointer = b.offset(pointer, type, index);
  return b.load(type, pointer, type.getIntOrFloatBitWidth() / 8);
}

} // namespace blockscale
