//===- RowLoads.cpp - What row programs read ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockElements.h"
#include "DeviceCode.h"
#include "RowEmitter.h"
#include "blockscale/Analysis/ElementwiseBody.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

SmallVector<Value> extractAll(KernelBuilder &b, Value vector) {
  SmallVector<Value> elements;
  int64_t size = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t i = 0; i < size; ++i)
    elements.push_back(b.extract(vector, i));
  return elements;
}

/// Vectors of `type` of consecutive words.
static SmallVector<Value> toPieces(KernelBuilder &b, ArrayRef<Value> vectors,
                                   Type type) {
  SmallVector<Value> words;
  for (Value vector : vectors)
    llvm::append_range(words, extractAll(b, vector));
  int64_t perWord = 32 / type.getIntOrFloatBitWidth();
  size_t pieceWords = RowEmitter::kPieceElements / perWord;
  auto piece = VectorType::get({RowEmitter::kPieceElements}, type);
  SmallVector<Value> pieces;
  for (size_t i = 0; i < words.size(); i += pieceWords)
    pieces.push_back(
        b.bitcast(piece, b.pack(ArrayRef(words).slice(i, pieceWords))));
  return pieces;
}

/// Words of the first `present` elements of a chunk at `pointer`, zeros behind.
SmallVector<Value> RowEmitter::loadOwn(Value pointer, Type type,
                                       int64_t present) {
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  BlockElements elements =
      BlockElements::load(b, pointer, type, layout.chunkElements, present,
                          std::gcd(layout.rowElements * bytes, accessBytes));
  return llvm::to_vector(elements.getWords());
}

/// Words of a chunk at `pointer`, of which `elements` are asked for. Where
/// these are all, the row may have fewer.
SmallVector<Value> RowEmitter::loadChunk(Value pointer, Type type,
                                         int64_t elements) {
  int64_t tail = layout.getTailElements();
  if (tail == 0 || elements == tail || layout.getFullChunks() == 0)
    return loadOwn(pointer, type, tail == 0 ? elements : tail);
  auto getWords = [&](int64_t present) {
    SmallVector<Value> words;
    for (Value vector : loadOwn(pointer, type, present))
      llvm::append_range(words, extractAll(b, vector));
    return words;
  };
  SmallVector<Type> types(
      layout.chunkElements * type.getIntOrFloatBitWidth() / 32, b.getI32Type());
  SmallVector<Value> words = emitIfElse(
      b, isBelow(b, loadedChunk, b.i32(layout.getFullChunks())), types,
      [&] { return getWords(layout.chunkElements); },
      [&] { return getWords(tail); });
  constexpr size_t kVectorWords = 4;
  SmallVector<Value> vectors;
  for (size_t i = 0; i < words.size(); i += kVectorWords)
    vectors.push_back(b.pack(ArrayRef(words).slice(i, kVectorWords)));
  return vectors;
}

SmallVector<Value> RowEmitter::loadElements(Value value, int64_t elements,
                                            bool canStage) {
  Type type = getElementTypeOrSelf(value);
  int64_t typeBytes = type.getIntOrFloatBitWidth() / 8;
  auto getPointer = [&](Value row, Value chunk) {
    Value first = arith::MulIOp::create(b, row, b.i64(layout.rowElements));
    Value inRow =
        arith::MulIOp::create(b, b.zext64(chunk), b.i64(layout.chunkElements));
    return b.offset(arguments.lookup(value), type,
                    arith::AddIOp::create(b, first, inRow));
  };
  auto load = [&] {
    return loadChunk(getPointer(loadedRow, loadedChunk), type, elements);
  };
  int64_t bytes = layout.chunkElements * typeBytes;
  if (!canStage || !stage || bytes != stagedBytes)
    return toPieces(b, load(), type);
  SmallVector<Type> types(bytes / WarpStage::kPieceBytes,
                          VectorType::get({4}, b.getI32Type()));
  SmallVector<Value> words = emitIfElse(
      b, isFullWarp, types,
      [&] {
        return stage->load(b, getPointer(getRowNumber(), chunk), bytes,
                           layout.rowStride * layout.rowElements * typeBytes);
      },
      load);
  return toPieces(b, words, type);
}

/// Of the values of columns that are read when those of rows are known, those
/// that shared memory has room for, where all lanes have columns.
void RowEmitter::startColumns() {
  if (!stage || layout.getPlaces() * layout.chunkElements != layout.rowElements)
    return;
  llvm::SmallSetVector<Value, 2> late, early;
  bool areRowsKnown = true;
  for (const RowOp &row : llvm::reverse(ops)) {
    areRowsKnown &= row.getResultForm() != RowForm::Rows;
    // Others may be computed ahead.
    bool isLate =
        areRowsKnown && llvm::is_contained(row.operands, RowForm::Rows);
    for (auto [i, form] : llvm::enumerate(row.operands)) {
      Value value = row.op->getOperand(i);
      if (form == RowForm::Columns && !getUniformConstant(value))
        (isLate ? late : early).insert(value);
    }
  }
  int64_t begin = 0;
  for (Value value : late) {
    Type type = getElementTypeOrSelf(value);
    int64_t bytes = layout.chunkElements * type.getIntOrFloatBitWidth() / 8;
    int64_t end = begin + RowLayout::kRunLanes * bytes;
    if (early.contains(value) || !stage->canShare(bytes) ||
        end > stage->getBytes())
      continue;
    Value first = arith::MulIOp::create(b, b.zext64(loadedChunk),
                                        b.i64(layout.chunkElements));
    stage->startShared(b, b.offset(arguments.lookup(value), type, first), bytes,
                       begin);
    stagedColumns[value] = begin;
    begin = end;
  }
}

SmallVector<Value> RowEmitter::loadColumns(Value value, int64_t elements) {
  Type type = getElementTypeOrSelf(value);
  if (auto found = stagedColumns.find(value); found != stagedColumns.end())
    return toPieces(b,
                    stage->readShared(b,
                                      layout.chunkElements *
                                          type.getIntOrFloatBitWidth() / 8,
                                      found->second),
                    type);
  Value first = arith::MulIOp::create(b, b.zext64(loadedChunk),
                                      b.i64(layout.chunkElements));
  Value pointer = b.offset(arguments.lookup(value), type, first);
  return toPieces(b, loadChunk(pointer, type, elements), type);
}

Value RowEmitter::loadScalar(Value value, Value index) {
  Type type = getElementTypeOrSelf(value);
  Value pointer = arguments.lookup(value);
  if (index)
    pointer = b.offset(pointer, type, index);
  return b.load(type, pointer, type.getIntOrFloatBitWidth() / 8);
}

} // namespace blockscale
