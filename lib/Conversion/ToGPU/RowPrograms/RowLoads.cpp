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

static constexpr int64_t kPieceBytes = WarpStage::kPieceBytes;
static constexpr int64_t kPieceWords = WarpStage::kPieceWords;

/// Vectors of `type` of consecutive words.
static SmallVector<Value> toPieces(KernelBuilder &b, ArrayRef<Value> vectors,
                                   Type type) {
  SmallVector<Value> words;
  for (Value vector : vectors)
    llvm::append_range(words, b.extractAll(vector));
  int64_t perWord = 32 / type.getIntOrFloatBitWidth();
  size_t pieceWords = RowEmitter::kPieceElements / perWord;
  auto piece = VectorType::get({RowEmitter::kPieceElements}, type);
  SmallVector<Value> pieces;
  for (size_t i = 0; i < words.size(); i += pieceWords)
    pieces.push_back(
        b.bitcast(piece, b.pack(ArrayRef(words).slice(i, pieceWords))));
  return pieces;
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
      llvm::append_range(words, b.extractAll(vector));
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

/// Loads the lane's part of those values of columns that shared memory has room
/// for, where all lanes have columns. They are on their way with the inputs.
void RowEmitter::loadSharedColumns() {
  if (!stage || layout.getPlaces() * layout.chunkElements != layout.rowElements)
    return;
  int64_t chunkBytes = layout.chunkElements * kWordBytes, begin = 0;
  if (!stage->canShare(chunkBytes))
    return;
  Value lane =
      arith::MulIOp::create(b, position.run, b.i32(RowLayout::kRunLanes));
  lane = arith::AddIOp::create(b, lane, position.lane);
  Value first = arith::MulIOp::create(
      b, position.warp, b.i32(RowLayout::kRunLanes * layout.chunkElements));
  first = arith::AddIOp::create(
      b, first, arith::MulIOp::create(b, lane, b.i32(kPieceWords)));
  for (Value value : getWidenedColumns(ops)) {
    int64_t end = begin + RowLayout::kRunLanes * chunkBytes;
    if (end > stage->getBytes())
      return;
    Type type = getElementTypeOrSelf(value);
    int64_t bytes = kPieceWords * type.getIntOrFloatBitWidth() / 8;
    auto piece = VectorType::get({kPieceWords}, type);
    Value pointer = b.offset(arguments.lookup(value), type, first);
    SharedColumn &column = sharedColumns[value];
    column.begin = begin;
    for (int64_t at = 0; at < end - begin; at += kWarpThreads * kPieceBytes)
      column.loaded.push_back(b.load(
          piece, b.offset(pointer, type, b.i64(at / kWordBytes)), bytes));
    begin = end;
  }
}

/// Stores the loaded values of columns, widened to f32, to the shared memory
/// that chunks had, which are in registers now.
void RowEmitter::shareColumns() {
  if (sharedColumns.empty())
    return;
  WarpStage::release(b);
  auto words = VectorType::get({kPieceWords}, b.getI32Type());
  int64_t chunkBytes = layout.chunkElements * kWordBytes;
  for (auto &[value, column] : sharedColumns)
    for (auto [piece, place] : llvm::zip_equal(
             column.loaded, stage->getShared(b, chunkBytes, column.begin))) {
      if (getElementTypeOrSelf(value).isBF16())
        piece = emitExtendBf16(b, piece);
      b.store(b.bitcast(words, piece), place, kPieceBytes);
    }
  WarpStage::release(b);
}

SmallVector<Value> RowEmitter::loadColumns(Value value, int64_t elements) {
  Type type = getElementTypeOrSelf(value);
  if (auto found = sharedColumns.find(value); found != sharedColumns.end())
    return toPieces(b,
                    stage->readShared(b, layout.chunkElements * kWordBytes,
                                      found->second.begin),
                    b.getF32Type());
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
